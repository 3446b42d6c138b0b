package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) automationCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:     "automation",
		Aliases: []string{"automations"},
		Short:   "Create, list, change, enable, disable and delete what starts runs",
		Example: example(
			"lineshaft automation list", "of the only factory",
			"lineshaft automation update triage --filter @filter.json", "other deliveries from now on",
			"lineshaft automation disable triage --factory shop", "stop one for now",
		),
	}
	factoryFlag(cmd, &factory)
	cmd.AddCommand(
		sh.automationListCommand(&factory), sh.automationGetCommand(&factory), sh.automationCreateCommand(&factory), sh.automationUpdateCommand(&factory),
		sh.automationSwitchCommand(&factory, true), sh.automationSwitchCommand(&factory, false), sh.automationDeleteCommand(&factory),
	)
	group(cmd)
	return cmd
}

func (sh *shell) automationListCommand(factory *string) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the automations of a factory by name",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft automation list --factory shop", "names, what starts them, agents", "lineshaft automation list -o json", "with their filters"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, uid, err := sh.inFactory(cmd.Context(), *factory)
			if err != nil {
				return err
			}
			list, err := automations(cmd.Context(), c, uid)
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return documents(sh, map[string]any{"automations": list}, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(sh.err, "-- no automations; make one: lineshaft automation create NAME --prompt TEXT --webhook WEBHOOK")
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

func automations(ctx context.Context, c *client.Client, factoryUID string) ([]client.Automation, error) {
	list := []client.Automation{}
	for a, err := range c.Automations.All(ctx, factoryUID, client.AutomationQuery{Limit: 500}) {
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func (sh *shell) showAutomations(list []client.Automation, there webhookRefs) {
	var rows [][]cell
	for _, a := range list {
		rows = append(rows, []cell{
			plain(oneLine(a.UID)), automationState(a), plain(orDash(oneLine(a.Agent))), plain(clip(oneLine(strings.Join(there.startedBy(a), ", ")), 40)), plain(oneLine(a.Name)),
		})
	}
	sh.table([]string{"UID", "STATE", "AGENT", "STARTED BY", "NAME"}, rows)
}

func automationState(a client.Automation) cell {
	if !a.Enabled {
		return cell{"disabled", styleDim}
	}
	return cell{"enabled", styleGood}
}

func (sh *shell) automationGetCommand(factory *string) *cobra.Command {
	return &cobra.Command{
		Use:     "get AUTOMATION",
		Short:   "Show an automation with its filters and its prompt",
		Args:    needs(1, 1, automationRefs),
		Example: example("lineshaft automation get triage", "by name or uid", "lineshaft automation get triage -o json", "everything about it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, err := sh.inFactory(cmd.Context(), *factory)
			if err != nil {
				return err
			}
			found, err := sh.automationUID(cmd.Context(), c, uid, args[0])
			if err != nil {
				return err
			}
			a, err := c.Automations.Get(cmd.Context(), uid, found)
			if err != nil {
				return err
			}
			return sh.showAutomation(cmd.Context(), c, a)
		},
	}
}

const automationRefs = "an automation by name or uid (`lineshaft automation list` shows them)"

func (sh *shell) showAutomation(ctx context.Context, c *client.Client, a *client.Automation) error {
	if !sh.forPeople() {
		return sh.document(a)
	}
	there, err := webhooksOf(ctx, c, a.FactoryUID)
	if err != nil {
		return err
	}
	state := automationState(*a)
	list := [][2]string{
		{"Automation", oneLine(a.UID)},
		{"Name", oneLine(a.Name)},
		{"Factory", oneLine(a.FactoryUID)},
		{"State", sh.paint(sh.outWidth, state.style, state.text)},
		{"Agent", oneLine(a.Agent)},
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
		list = append(list, [2]string{"Trigger", oneLine(line)})
		list = append(list, filterPairs(t.Filter)...)
	}
	if a.Title != "" {
		list = append(list, [2]string{"Title", oneLine(a.Title)})
	}
	if a.Concurrency != nil {
		list = append(list, [2]string{"Concurrency", oneLine(strings.TrimSpace(a.Concurrency.Key + " " + a.Concurrency.Policy))})
	}
	if a.MaxRunsPerHour > 0 {
		list = append(list, [2]string{"Brake", count(a.MaxRunsPerHour, "run") + " an hour"})
	}
	if a.Config != nil {
		list = append(list, configPairs(a.Config)[1:]...) // the first is the name for runs
	}
	for _, notice := range a.Notices {
		list = append(list, [2]string{"Notice", oneLine(notice)})
	}
	sh.pairs(append(list, [2]string{"Created", sh.when(a.CreatedAt)}, [2]string{"Updated", sh.when(a.UpdatedAt)}))
	fmt.Fprintf(sh.out, "\n%s\n", strings.TrimRight(clean(a.Prompt), "\n"))
	return nil
}

// filterPairs are the conditions of a trigger: its payload filter, then its keys by name.
func filterPairs(filter client.TriggerFilter) [][2]string {
	var list [][2]string
	if len(filter.Payload) > 0 {
		list = append(list, [2]string{"Filter", oneLine(string(filter.Payload))})
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
		list = append(list, [2]string{"Filter", oneLine(key + " " + strings.Join(parts, " and "))})
	}
	return list
}

// automationUID finds an automation of a factory by uid or name.
func (sh *shell) automationUID(ctx context.Context, c *client.Client, factoryUID, ref string) (string, error) {
	if looksLikeUID(ref) {
		return ref, nil
	}
	list, err := automations(ctx, c, factoryUID)
	if err != nil {
		return "", err
	}
	for _, a := range list { // names are unique in a factory
		if a.Name == ref {
			return a.UID, nil
		}
	}
	return "", &hintError{
		code: exitNotFound, message: fmt.Sprintf("the factory has no automation named %q", ref),
		hint: didYouMean(ref, namesOf(list, func(a client.Automation) string { return a.Name })) + "`lineshaft automation list` shows the automations of a factory.",
	}
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

func (sh *shell) automationCreateCommand(factory *string) *cobra.Command {
	var f automationFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an automation; its uid goes to standard output",
		Long: "Create an automation: each delivery to one of its webhooks that the filter matches starts a run of its\n" +
			"agent. A filter is a JSON object that mirrors the payload; docs/factories.md tells what it may say.",
		Args: needs(1, 1, "a name for the automation"),
		Example: example(
			`lineshaft automation create triage --prompt "Label the new issue" --webhook issues`, "for every delivery",
			`lineshaft automation create deploy --prompt-file deploy.md --webhook ci --filter '{"branch":["main"]}'`, "for some",
			"lineshaft automation create fix --prompt-file - --webhook ci --filter @filter.json", "prompt from standard input, filter from a file",
			`lineshaft automation create review --prompt "Review it" --trigger github/pull_request_opened`, "for webhooks of a forge",
			`lineshaft automation create sweep --prompt "Close stale issues" --schedule "0 6 * * 1"`, "on Mondays at six",
			`lineshaft automation create reply --prompt "Answer it" --webhook issues --secret TRACKER_TOKEN`, "its runs get that secret",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.req.Name = args[0]
			req, err := f.request(sh)
			if err != nil {
				return err
			}
			c, uid, err := sh.inFactory(cmd.Context(), *factory)
			if err != nil {
				return err
			}
			there, err := webhooksOf(cmd.Context(), c, uid)
			if err != nil {
				return err
			}
			if len(f.webhooks) > 0 {
				if err := there.name(&req.Triggers[0].Filter, f.webhooks); err != nil {
					return err
				}
			}
			made, err := c.Automations.Create(cmd.Context(), uid, req)
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return sh.document(made)
			}
			fmt.Fprintln(sh.out, oneLine(made.UID))
			for _, notice := range made.Notices {
				fmt.Fprintln(sh.err, "-- "+oneLine(notice))
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.disabled, "disabled", false, "create it switched off")
	cmd.Flags().StringVar(&f.schedule.Cron, "schedule", "", "`CRON` expression of times at which it starts a run, with or without webhooks")
	cmd.Flags().StringArrayVar(&f.others, "trigger", nil, "any other `TRIGGER`, as PROVIDER/EVENT or as JSON with a filter, or @FILE; repeatable")
	cmd.Flags().StringVar(&f.schedule.Timezone, "timezone", "", "IANA `NAME` of the schedule's time zone (default UTC)")
	return cmd
}

// add makes the flags that creating and changing have in common.
func (f *automationFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.req.Prompt, "prompt", "", "what its runs are told, as `TEXT`")
	flags.StringVar(&f.promptFile, "prompt-file", "", "the same from a `FILE`; - is standard input")
	flags.StringArrayVar(&f.webhooks, "webhook", nil, "`WEBHOOK` to listen to, by name or uid; repeatable")
	flags.StringVar(&f.filter, "filter", "", "payload filter as `JSON`, or @FILE")
	flags.StringVar(&f.req.Title, "title", "", "`TEXT` that its runs are called; may hold {{payload.path}} (default: the sender's words)")
	flags.StringVar(&f.req.Agent, "agent", "", "`NAME` of the agent to run (default: the foreman)")
	flags.StringVar(&f.concurrency.Key, "concurrency-key", "", "at most one live run for each `KEY`, which may hold {{payload.path}}")
	flags.StringVar(&f.concurrency.Policy, "concurrency-policy", "", "`POLICY` when the key is taken: queue, skip, cancel_previous or followup (default queue)")
	flags.IntVar(&f.req.MaxRunsPerHour, "max-runs-per-hour", 0, "brake: at most this `NUMBER` of runs; 0 is no limit")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a managed secret that its runs get as a variable; repeatable")
	completeWords(cmd, "concurrency-policy", concurrencyPolicies()...)
}

// set puts the flags that are fields by themselves into a change.
func (f *automationFlags) set(cmd *cobra.Command, change *client.AutomationUpdate) {
	ifChanged(cmd, "prompt", &change.Prompt, f.req.Prompt)
	ifChanged(cmd, "name", &change.Name, f.req.Name)
	ifChanged(cmd, "title", &change.Title, f.req.Title)
	ifChanged(cmd, "agent", &change.Agent, f.req.Agent)
	ifChanged(cmd, "max-runs-per-hour", &change.MaxRunsPerHour, f.req.MaxRunsPerHour)
}

func concurrencyPolicies() []string { return []string{"queue", "skip", "cancel_previous", "followup"} }

// check is about the values of flags.
func (f *automationFlags) check() error {
	if f.req.MaxRunsPerHour < 0 {
		return usage(fmt.Sprintf("--max-runs-per-hour %d is less than none", f.req.MaxRunsPerHour), "Give a number of runs; 0 is no limit.")
	}
	return oneOf("concurrency-policy", f.concurrency.Policy, concurrencyPolicies())
}

// secretRefs are the secrets of the flags; an empty name stands for none.
func (f *automationFlags) secretRefs() []client.SecretRef {
	var refs []client.SecretRef
	for _, name := range f.secrets {
		if name != "" {
			refs = append(refs, client.SecretRef{Name: name})
		}
	}
	return refs
}

// request makes the body of the call from the flags, but for the webhooks, which the
// server has to be asked about.
func (f *automationFlags) request(sh *shell) (client.AutomationRequest, error) {
	req := f.req
	switch {
	case (req.Prompt == "") == (f.promptFile == ""):
		return req, usage("an automation needs one prompt", "Add --prompt TEXT or --prompt-file FILE, not both.")
	case len(f.webhooks) == 0 && f.schedule.Cron == "" && len(f.others) == 0:
		return req, usage("an automation needs a webhook to listen to", "Add --webhook NAME; `lineshaft webhook list` shows them. For given times: --schedule CRON. For what else there is: --trigger, see docs/triggers.md.")
	case f.schedule.Cron == "" && f.schedule.Timezone != "":
		return req, usage("--timezone is for --schedule, which is not given", `Add --schedule "0 9 * * 1-5".`)
	case len(f.webhooks) == 0 && f.filter != "":
		return req, usage("--filter is for deliveries, but there is no webhook", "Add --webhook NAME.")
	case f.concurrency.Key == "" && f.concurrency.Policy != "":
		return req, usage("--concurrency-policy says what happens when a key is taken, but there is no key", "Add --concurrency-key KEY.")
	}
	if err := f.check(); err != nil {
		return req, err
	}
	var err error
	if f.promptFile != "" {
		if req.Prompt, err = sh.textFile(f.promptFile); err != nil {
			return req, err
		}
	}
	trigger := client.Trigger{Provider: "webhook", Event: "received"}
	if trigger.Filter.Payload, err = sh.jsonOrFile("filter", f.filter); err != nil {
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
	if refs := f.secretRefs(); refs != nil {
		req.Config = &client.AgentConfig{Secrets: refs}
	}
	if f.disabled {
		enabled := false
		req.Enabled = &enabled
	}
	return req, nil
}

// textFile reads a file, or standard input for "-".
func (sh *shell) textFile(path string) (string, error) {
	if path == "-" {
		return sh.textOrStdin(path)
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return "", usage(path+" is a folder", "Name a file in it; - reads standard input.")
	}
	if err == nil && info.Size() > maxStdin {
		return "", usage(fmt.Sprintf("%s has more than %d bytes", path, maxStdin), "Say it shorter.")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", usage(fmt.Sprintf("cannot read the file: %v", err), "Check its name; - reads standard input.")
	}
	return string(data), nil
}

// jsonMistake tells where text stops to be JSON, and why; empty if it does not.
func jsonMistake(text string) string {
	var whole json.RawMessage
	err := json.Unmarshal([]byte(text), &whole)
	if err == nil {
		return ""
	}
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err.Error()
	}
	before := text[:min(max(int(wrong.Offset)-1, 0), len(text))]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
	return fmt.Sprintf("line %d, column %d: %s", line+1, column+1, wrong.Error())
}

// jsonOrFile reads a flag that holds JSON, or @ and the name of a file with it.
func (sh *shell) jsonOrFile(flag, text string) (json.RawMessage, error) {
	return sh.jsonFrom("--"+flag, fmt.Sprintf(`Write --%s '{"action": ["opened"]}' with quotes around the whole, or --%s @FILE.`, flag, flag), text)
}

// jsonFrom is jsonOrFile for text that comes from elsewhere, with what to do about a mistake.
func (sh *shell) jsonFrom(from, hint, text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	if path, ok := strings.CutPrefix(text, "@"); ok {
		var err error
		from = path
		if text, err = sh.textFile(path); err != nil {
			return nil, err
		}
	}
	if place := jsonMistake(text); place != "" {
		return nil, usage(fmt.Sprintf("%s is not JSON: %s", from, place), hint)
	}
	return json.RawMessage(text), nil
}

func (sh *shell) automationSwitchCommand(factory *string, on bool) *cobra.Command {
	verb, short := "enable", "Let automations start runs"
	if !on {
		verb, short = "disable", "Stop automations from starting runs"
	}
	return sh.eachAutomation(factory, cobra.Command{
		Use: verb + " AUTOMATION...", Short: short, Example: example("lineshaft automation "+verb+" triage", "by name or uid"),
	}, verb+"d", func(ctx context.Context, c *client.Client, factoryUID, uid string) error {
		_, err := c.Automations.Update(ctx, factoryUID, uid, client.AutomationUpdate{Enabled: &on})
		return err
	})
}

func (sh *shell) automationDeleteCommand(factory *string) *cobra.Command {
	return sh.eachAutomation(factory, cobra.Command{
		Use: "delete AUTOMATION...", Short: "Delete automations; their runs stay", Example: example("lineshaft automation delete triage", "by name or uid"),
	}, "deleted", func(ctx context.Context, c *client.Client, factoryUID, uid string) error {
		return c.Automations.Delete(ctx, factoryUID, uid)
	})
}

// eachAutomation completes a command that does one thing to each of several
// automations of a factory.
func (sh *shell) eachAutomation(factory *string, cmd cobra.Command, done string, do func(ctx context.Context, c *client.Client, factoryUID, uid string) error) *cobra.Command {
	cmd.Args = needs(1, -1, automationRefs)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, factoryUID, err := sh.inFactory(cmd.Context(), *factory)
		if err != nil {
			return err
		}
		return sh.each(cmd.Context(), args, done, func(ctx context.Context, ref string) error {
			uid, err := sh.automationUID(ctx, c, factoryUID, ref)
			if err != nil {
				return err
			}
			return do(ctx, c, factoryUID, uid)
		})
	}
	return &cmd
}
