package factories

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func (sh Commands) automationCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:     "automation",
		Aliases: []string{"automations"},
		Short:   "Create, list, change, enable, disable and delete the rules that start runs",
	}
	factoryFlag(cmd, &factory)
	of := shell.Noun[automationIn]{
		Sh: sh.Shell, Word: "automation", Sample: "triage", Refs: automationRefs,
		Open: func(ctx context.Context) (shell.Find[automationIn], error) { return sh.findAutomation(ctx, factory) },
	}
	return shell.Group(cmd,
		sh.automationListCommand(&factory), sh.automationCreateCommand(&factory), sh.automationUpdateCommand(&factory),
		of.Get("Show an automation with its filters and its prompt", func(ctx context.Context, c *client.Client, at automationIn) error {
			a, err := c.Automations.Get(ctx, at.factory, at.uid)
			if err != nil {
				return err
			}
			return sh.showAutomation(ctx, c, a)
		}, "lineshaft automation get triage", "by name or uid", "lineshaft automation get triage -o json", "everything about it"),
		of.Each("enable", "enabled", "Let automations start runs", "by name or uid", automationSwitch(true)),
		of.Each("disable", "disabled", "Stop automations from starting runs", "by name or uid", automationSwitch(false)),
		of.Each("delete", "deleted", "Delete automations; their runs stay", "by name or uid",
			func(ctx context.Context, c *client.Client, at automationIn) error {
				return c.Automations.Delete(ctx, at.factory, at.uid)
			}),
	)
}

func (sh Commands) automationListCommand(factory *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the automations of a factory by name",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, uid, err := sh.InFactory(cmd.Context(), *factory)
			if err != nil {
				return err
			}
			list, err := Automations(cmd.Context(), c, uid)
			if err != nil {
				return err
			}
			if !sh.ForPeople() {
				return shell.Documents(sh.Shell, map[string]any{"automations": list}, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(sh.Err, "-- no automations; create one: lineshaft automation create NAME --prompt TEXT --webhook WEBHOOK")
				return nil
			}
			there, err := webhooksOf(cmd.Context(), c, uid)
			if err != nil {
				return err
			}
			sh.showAutomations(list, there)
			return nil
		},
	}
}

// Automations reads all automations of a factory.
func Automations(ctx context.Context, c *client.Client, factoryUID string) ([]client.Automation, error) {
	return shell.Collect(c.Automations.All(ctx, factoryUID, client.AutomationQuery{Limit: 500}))
}

func (sh Commands) showAutomations(list []client.Automation, there webhookRefs) {
	var rows [][]shell.Cell
	for _, a := range list {
		rows = append(rows, shell.Cells(
			a.UID, AutomationState(a), shell.OrDash(a.Agent), shell.Clip(shell.OneLine(strings.Join(there.startedBy(a), ", ")), 40), a.Name,
		))
	}
	sh.Table([]string{"UID", "STATE", "AGENT", "STARTED BY", "NAME"}, rows)
}

// AutomationState says whether an automation starts runs.
func AutomationState(a client.Automation) shell.Cell {
	if !a.Enabled {
		return shell.Styled("disabled", shell.StyleDim)
	}
	return shell.Styled("enabled", shell.StyleGood)
}

const automationRefs = "an automation by name or uid (`lineshaft automation list` shows them)"

func (sh Commands) showAutomation(ctx context.Context, c *client.Client, a *client.Automation) error {
	if !sh.ForPeople() {
		return sh.Document(a)
	}
	there, err := webhooksOf(ctx, c, a.FactoryUID)
	if err != nil {
		return err
	}
	state := AutomationState(*a)
	list := [][2]string{
		{"Automation", a.UID},
		{"Name", a.Name},
		{"Factory", a.FactoryUID},
		{"State", state.Text},
		{"Agent", a.Agent},
	}
	for _, t := range a.Triggers {
		one := client.Automation{Triggers: []client.Trigger{t}}
		line := t.Provider + " " + t.Event
		if hooks := there.listensTo(one); len(hooks) > 0 {
			line += ": " + strings.Join(hooks, ", ")
		}
		if at := t.Schedule; at != nil {
			line += ": " + strings.TrimSpace(at.Cron+" "+at.Timezone+" "+at.Overlap)
		}
		list = append(list, [2]string{"Trigger", line})
		list = append(list, filterPairs(t.Filter)...)
	}
	if a.Title != "" {
		list = append(list, [2]string{"Title", a.Title})
	}
	if a.Concurrency != nil {
		list = append(list, [2]string{"Concurrency", strings.TrimSpace(a.Concurrency.Key + " " + a.Concurrency.Policy)})
	}
	if a.MaxRunsPerHour > 0 {
		list = append(list, [2]string{"Brake", shell.Count(a.MaxRunsPerHour, "run") + " an hour"})
	}
	if a.Config != nil {
		list = append(list, shell.ConfigPairs(a.Config)[1:]...) // the first is the name for runs
	}
	for _, notice := range a.Notices {
		list = append(list, [2]string{"Notice", notice})
	}
	sh.Pairs(append(list, [2]string{"Created", sh.When(a.CreatedAt)}, [2]string{"Updated", sh.When(a.UpdatedAt)}), shell.Styled("State", state.Style))
	fmt.Fprintf(sh.Out, "\n%s\n", strings.TrimRight(shell.Clean(a.Prompt), "\n"))
	return nil
}

// filterPairs are the conditions of a trigger: its payload filter, then its keys by name.
func filterPairs(filter client.TriggerFilter) [][2]string {
	var list [][2]string
	if len(filter.Payload) > 0 {
		list = append(list, [2]string{"Filter", string(filter.Payload)})
	}
	for _, key := range slices.Sorted(maps.Keys(filter.Sets)) {
		set := filter.Sets[key]
		var parts []string
		if len(set.In) > 0 {
			parts = append(parts, "in "+strings.Join(set.In, ", "))
		}
		if len(set.NotIn) > 0 {
			parts = append(parts, "not in "+strings.Join(set.NotIn, ", "))
		}
		list = append(list, [2]string{"Filter", key + " " + strings.Join(parts, " and ")})
	}
	return list
}

// automationUID finds an automation of a factory by uid or name.
func (sh Commands) automationUID(ctx context.Context, c *client.Client, factoryUID, ref string) (string, error) {
	if shell.LooksLikeUID(ref) {
		return ref, nil
	}
	list, err := Automations(ctx, c, factoryUID)
	if err != nil {
		return "", err
	}
	found, err := shell.Pick(list, ref, func(a *client.Automation) string { return a.Name },
		"the factory has no automation named %q", "`lineshaft automation list` shows the automations of a factory.", nil) // names are unique
	if err != nil {
		return "", err
	}
	return found.UID, nil
}

// automationFlags are what an automation can be given on the command line.
type automationFlags struct {
	req                client.AutomationRequest
	promptFile, filter string
	webhooks, secrets  []string
	others             []string // triggers
	concurrency        client.Concurrency
	schedule           client.TriggerSchedule
	disabled           bool
}

func (sh Commands) automationCreateCommand(factory *string) *cobra.Command {
	var f automationFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an automation; its uid goes to standard output",
		Args:  shell.Needs(1, 1, "a name for the automation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.req.Name = args[0]
			req, err := f.request(sh)
			if err != nil {
				return err
			}
			c, uid, err := sh.InFactory(cmd.Context(), *factory)
			if err != nil {
				return err
			}
			there, err := webhooksOf(cmd.Context(), c, uid)
			if err != nil {
				return err
			}
			if len(f.webhooks) > 0 {
				if err := there.name(&req.Triggers[0].Filter, f.webhooks, cmp.Or(*factory, uid)); err != nil {
					return err
				}
			}
			made, err := c.Automations.Create(cmd.Context(), uid, req)
			if err != nil {
				return err
			}
			return sh.Show(made, func() {
				fmt.Fprintln(sh.Out, shell.OneLine(made.UID))
				for _, notice := range made.Notices {
					fmt.Fprintln(sh.Err, "-- "+shell.OneLine(notice))
				}
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.disabled, "disabled", false, "create it disabled")
	cmd.Flags().StringVar(&f.schedule.Cron, "schedule", "", "`CRON` expression for when it starts a run, with or without webhooks")
	cmd.Flags().StringArrayVar(&f.others, "trigger", nil, "any other `TRIGGER`, as PROVIDER/EVENT or as JSON with a filter, or @FILE; repeatable")
	cmd.Flags().StringVar(&f.schedule.Timezone, "timezone", "", "IANA `NAME` of the schedule's time zone (default UTC)")
	return cmd
}

func (f *automationFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.req.Prompt, "prompt", "", "the task of its runs, as `TEXT`")
	flags.StringVar(&f.promptFile, "prompt-file", "", "the same from a `FILE`; - is standard input")
	flags.StringArrayVar(&f.webhooks, "webhook", nil, "`WEBHOOK` to listen to, by name or uid; repeatable")
	flags.StringVar(&f.filter, "filter", "", "payload filter as `JSON`, or @FILE")
	flags.StringVar(&f.req.Title, "title", "", "`TITLE` of its runs; may contain {{payload.path}} (default: from the sender)")
	flags.StringVar(&f.req.Agent, "agent", "", "`NAME` of the agent to run (default: the foreman)")
	flags.StringVar(&f.concurrency.Key, "concurrency-key", "", "at most one live run for each `KEY`, which may contain {{payload.path}}")
	flags.StringVar(&f.concurrency.Policy, "concurrency-policy", "", "`POLICY` when the key is taken: queue, skip, cancel_previous or followup (default queue)")
	flags.IntVar(&f.req.MaxRunsPerHour, "max-runs-per-hour", 0, "limit: at most this `NUMBER` of runs; 0 means no limit")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a managed secret that its runs get as a variable; repeatable")
	shell.CompleteWords(cmd, "concurrency-policy", concurrencyPolicies()...)
}

// set puts the flags that are fields by themselves into a change.
func (f *automationFlags) set(cmd *cobra.Command, change *client.AutomationUpdate) {
	shell.IfChanged(cmd, "prompt", &change.Prompt, f.req.Prompt)
	shell.IfChanged(cmd, "name", &change.Name, f.req.Name)
	shell.IfChanged(cmd, "title", &change.Title, f.req.Title)
	shell.IfChanged(cmd, "agent", &change.Agent, f.req.Agent)
	shell.IfChanged(cmd, "max-runs-per-hour", &change.MaxRunsPerHour, f.req.MaxRunsPerHour)
}

func concurrencyPolicies() []string { return []string{"queue", "skip", "cancel_previous", "followup"} }

func (f *automationFlags) check() error {
	if f.req.MaxRunsPerHour < 0 {
		return shell.Usage(fmt.Sprintf("--max-runs-per-hour %d is negative", f.req.MaxRunsPerHour),
			"Give a number of runs; 0 means no limit.")
	}
	return shell.OneOf("concurrency-policy", f.concurrency.Policy, concurrencyPolicies())
}

// request makes the body of the call from the flags, but for the webhooks, which only
// the server knows.
func (f *automationFlags) request(sh Commands) (client.AutomationRequest, error) {
	req := f.req
	switch {
	case (req.Prompt == "") == (f.promptFile == ""):
		return req, shell.Usage("an automation needs one prompt", "Add --prompt TEXT or --prompt-file FILE, not both.")
	case len(f.webhooks) == 0 && f.schedule.Cron == "" && len(f.others) == 0:
		return req, shell.Usage("an automation needs a webhook to listen to", "Add --webhook NAME; `lineshaft webhook list` shows them. For fixed times use --schedule CRON; for other events use --trigger, see docs/triggers.md.")
	case f.schedule.Cron == "" && f.schedule.Timezone != "":
		return req, shell.Usage("--timezone is for --schedule, which is not given", `Add --schedule "0 9 * * 1-5".`)
	case len(f.webhooks) == 0 && f.filter != "":
		return req, shell.Usage("--filter is for deliveries, but there is no webhook", "Add --webhook NAME.")
	case f.concurrency.Key == "" && f.concurrency.Policy != "":
		return req, shell.Usage("--concurrency-policy says what happens when a key is taken, but there is no key",
			"Add --concurrency-key KEY.")
	}
	if err := f.check(); err != nil {
		return req, err
	}
	var err error
	if f.promptFile != "" {
		if req.Prompt, err = sh.TextFile(f.promptFile); err != nil {
			return req, err
		}
	}
	trigger := client.Trigger{Provider: "webhook", Event: "received"}
	if trigger.Filter.Payload, err = sh.JSONOrFile("filter", f.filter); err != nil {
		return req, err
	}
	if len(f.webhooks) > 0 {
		req.Triggers = []client.Trigger{trigger}
	}
	if f.schedule.Cron != "" {
		req.Triggers = append(req.Triggers, client.Trigger{Provider: "schedule", Event: "cron_fired", Schedule: &f.schedule})
	}
	others, err := sh.triggers(f.others)
	if err != nil {
		return req, err
	}
	req.Triggers = append(req.Triggers, others...)
	if f.concurrency.Key != "" {
		req.Concurrency = &f.concurrency
	}
	if refs := shell.SecretRefs(f.secrets); refs != nil {
		req.Config = &client.AgentConfig{Secrets: refs}
	}
	if f.disabled {
		enabled := false
		req.Enabled = &enabled
	}
	return req, nil
}

// automationIn is an automation and its factory, by their uids.
type automationIn struct{ factory, uid string }

// findAutomation connects and finds the factory; the automation is then found in it.
func (sh Commands) findAutomation(ctx context.Context, factory string) (shell.Find[automationIn], error) {
	c, factoryUID, err := sh.InFactory(ctx, factory)
	return func(ctx context.Context, ref string) (*client.Client, automationIn, error) {
		uid, err := sh.automationUID(ctx, c, factoryUID, ref)
		return c, automationIn{factoryUID, uid}, err
	}, err
}

func automationSwitch(on bool) func(context.Context, *client.Client, automationIn) error {
	return func(ctx context.Context, c *client.Client, at automationIn) error {
		_, err := c.Automations.Update(ctx, at.factory, at.uid, client.AutomationUpdate{Enabled: &on})
		return err
	}
}

// triggers reads what --trigger was given: PROVIDER/EVENT, JSON, or @ and a file with it.
func (sh Commands) triggers(texts []string) ([]client.Trigger, error) {
	var list []client.Trigger
	for _, text := range texts {
		if provider, event, ok := strings.Cut(text, "/"); ok && !strings.ContainsAny(text, "{[@\"") {
			list = append(list, client.Trigger{Provider: provider, Event: event})
			continue
		}
		raw, err := sh.JSONOrFile("trigger", text)
		if err != nil || raw == nil {
			return nil, shell.Usage(fmt.Sprintf("--trigger %q is neither PROVIDER/EVENT nor JSON", shell.Clip(text, 40)), triggerAdvice)
		}
		var t client.Trigger
		if err := json.Unmarshal(raw, &t); err != nil || t.Provider == "" || t.Event == "" {
			return nil, shell.Usage(fmt.Sprintf("--trigger %s is not a trigger", shell.Clip(shell.OneLine(string(raw)), 40)), triggerAdvice)
		}
		list = append(list, t)
	}
	return list, nil
}

const triggerAdvice = `Write --trigger github/push, or --trigger '{"provider":"github","event":"push","filter":{"branches":["main"]}}'; docs/triggers.md lists them all.`

func (there webhookRefs) startedBy(a client.Automation) []string {
	list := there.listensTo(a)
	for _, t := range a.Triggers {
		switch {
		case t.Provider == "webhook":
		case t.Schedule != nil:
			list = append(list, t.Schedule.Cron)
		default:
			list = append(list, t.Provider+"/"+t.Event)
		}
	}
	return list
}

// webhookRefs are the names and uids of the webhooks that a factory has.
type webhookRefs struct{ names, uids map[string]bool }

func webhooksOf(ctx context.Context, c *client.Client, factoryUID string) (webhookRefs, error) {
	there := webhookRefs{map[string]bool{}, map[string]bool{}}
	list, err := c.Webhooks.List(ctx, factoryUID)
	for i := range list {
		there.names[list[i].Name], there.uids[list[i].UID] = true, true
	}
	return there, err
}

// name makes a filter listen to the webhooks that were given, each by its name or uid.
func (there webhookRefs) name(filter *client.TriggerFilter, refs []string, factory string) error {
	filter.Webhooks, filter.WebhookIDs = nil, nil
	for _, ref := range refs {
		switch {
		case there.names[ref]:
			filter.Webhooks = append(filter.Webhooks, ref)
		case there.uids[ref]:
			filter.WebhookIDs = append(filter.WebhookIDs, ref)
		default:
			return shell.NotFound(fmt.Sprintf("the factory has no webhook %q", ref),
				shell.DidYouMean(ref, slices.Sorted(maps.Keys(there.names)))+
					fmt.Sprintf("`lineshaft webhook list --factory %s` shows them; `lineshaft webhook create` adds one.", shell.ShellWord(factory)))
		}
	}
	return nil
}

// listensTo are the webhooks of an automation, each once, and marked if it is gone.
func (there webhookRefs) listensTo(a client.Automation) []string {
	var list []string
	add := func(refs []string, known map[string]bool) {
		for _, ref := range refs {
			if !known[ref] {
				ref += " (gone)"
			}
			if !slices.Contains(list, ref) {
				list = append(list, ref)
			}
		}
	}
	for _, t := range a.Triggers {
		add(t.Filter.Webhooks, there.names)
		add(t.Filter.WebhookIDs, there.uids)
	}
	return list
}
