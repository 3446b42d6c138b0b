package factories

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// automationForm is an automation as the editor has it.
type automationForm struct {
	Factory *lineshaft.Factory
	// Automation is what was typed; its uid is empty for a new one.
	lineshaft.Automation

	// What and Limits are its fields; the prompt and the title are among the first.
	What, Limits []page.Field
	Triggers     []triggerForm
	Hooks        []lineshaft.Webhook
	Past         []pastDelivery
	Trial        *trial
	Backtest     *factories.DraftBacktest
	// BacktestProblem is why nothing was counted.
	BacktestProblem string
	Subject         trialSubject

	agents       []lineshaft.Agent
	environments []page.Option
	key, policy  string
	// maxCost and maxTokens are the budget of a run, as people write them.
	maxCost, maxTokens string
	harness            string
	Tools              toolForms
	// Offered is what its fields offer while one types.
	Offered page.Suggestions
	// wrong is the first field that could not be read.
	wrong error
}

// fields are the rows of the form. Another field of an automation is another row here,
// and another in facts.
func (f *automationForm) fields() (what, limits []page.Field) {
	a, agents := &f.Automation, []page.Option{}
	for _, agent := range f.agents {
		agents = append(agents, page.Option{Value: agent.Name, Name: agent.Name})
	}
	what = []page.Field{
		{Name: "name", Label: "Name", Into: &a.Name, Most: 100, Placeholder: "triage"},
		{Name: "agent", Label: "Agent", Into: &a.Agent, None: "The foreman, " + f.Factory.Foreman, Options: agents, Gone: " (gone)"},
		{
			Name: "prompt", Label: "Prompt", Into: &a.Prompt, Rows: 6, Placeholder: "Find out what the new issue is about and label it.",
			Hint: "Each run gets this after the agent’s own prompt, word for word. What set it off is in its workspace as " +
				"<code>event-payload.json</code>, and a note names the webhook and the delivery: write “the issue in event-payload.json”. " +
				"Nothing is filled into the prompt itself, so no sender can write to it.",
		},
		{
			Name: "title", Label: "Title of its runs", Into: &a.Title, Most: 200, Placeholder: "the sender’s words, such as #7 Fix it",
			Hint: "May hold <code>{{payload.path}}</code>, the value at that path of the delivery. " +
				"Empty: the sender’s words, or the name.",
		},
	}
	limits = []page.Field{
		{Name: "max_runs_per_hour", Label: "Runs an hour, at most", Into: &a.MaxRunsPerHour, Numeric: true, Placeholder: "no limit"},
		{
			Name: "timeout_minutes", Blame: "config.timeout_minutes", Label: "Minutes that a run may take", Into: &a.Config.TimeoutMinutes,
			Numeric: true, Placeholder: "the agent’s or 60",
		},
		{
			Name: "max_cost", Blame: "config.budget", Label: "US dollars a run, at most", Into: &f.maxCost,
			Newer: true, Placeholder: "the agent’s or no limit",
		},
		{
			Name: "max_tokens", Label: "Tokens a run, at most", Into: &f.maxTokens, Numeric: true,
			Newer: true, Placeholder: "the agent’s or no limit",
		},
		{
			Name: "concurrency_key", Blame: "concurrency.key", Label: "One run at a time for", Into: &f.key, Code: true,
			Placeholder: "issue-{{payload.issue.number}}",
			Hint: "<code>{{payload.path}}</code> is the value at that path of the delivery, so each issue has its own run. " +
				"Empty: any number of runs.",
		},
		{Name: "concurrency_policy", Label: "While that run is live", Into: &f.policy, Options: busyOptions()},
		{
			Name: "harness", Blame: "config.harness.type", Label: "Harness", Into: &f.harness, None: "The agent’s", Options: harnesses(),
			Newer: true,
		},
		{
			Name: "model_id", Blame: "config.model_id", Label: "Model", Into: &a.Config.ModelID, Code: true, List: "models",
			Placeholder: "the agent’s",
		},
		{Name: "environment_id", Label: "Environment", Into: &a.Config.EnvironmentID, None: "The agent’s", Options: f.environments},
		{Name: "worker_host", Label: "Worker", Into: &a.Config.WorkerHost, Code: true, List: "hosts", Placeholder: "the agent’s"},
		{
			Name: "runner_id", Blame: "config.runner_id", Label: "Runner", Into: &a.Config.RunnerID, Code: true, Placeholder: "the agent’s",
			Newer: true,
		},
		{
			Name: "secrets", Label: "Secrets", Into: &a.Config.Secrets, Code: true, Placeholder: "TRACKER_TOKEN",
			Hint: "Runs that deliveries start get these and no others.",
		},
	}
	return what, limits
}

func harnesses() []page.Option {
	list := []page.Option{}
	for _, name := range lineshaft.HarnessTypes() {
		list = append(list, page.Option{Value: name, Name: name})
	}
	return list
}

// fact is a line of what an automation is set up with.
type fact struct {
	Label  string
	Values []string
	// Code is for what programs read, Href for where it leads, and After what is said besides.
	Code        bool
	Href, After string
}

// facts are the fields as the automation's page shows them; those without a value are left
// out unless they are among the first and the last.
func facts(a *lineshaft.Automation) []fact {
	limit, secrets := fact{Label: "Limit"}, fact{Label: "Secrets", Values: a.Config.Secrets, Code: true}
	if a.MaxRunsPerHour > 0 {
		limit.Values = []string{page.Count(a.MaxRunsPerHour) + " runs an hour"}
	}
	rule, minutes := cmp.Or(a.Config.Concurrency, &lineshaft.Concurrency{}), ""
	if a.Config.TimeoutMinutes != nil {
		minutes = strconv.Itoa(*a.Config.TimeoutMinutes) + " min"
	}
	harness := cmp.Or(a.Config.Harness, &lineshaft.HarnessConfig{})
	list := []fact{limit}
	for _, one := range []fact{
		{Label: "Title of runs", Values: []string{a.Title}},
		{Label: "One at a time", Values: []string{rule.Key}, Code: true, After: "; " + busyWords(rule.Policy)},
		{Label: "Harness", Values: []string{harness.Type}},
		{Label: "Model", Values: []string{cmp.Or(harness.ModelID, a.Config.ModelID)}, Code: true},
		{Label: "Environment", Values: []string{a.Config.EnvironmentID}, Code: true, Href: "/environments/"},
		{Label: "Runs on", Values: []string{a.Config.WorkerHost}, Code: true},
		{Label: "Runner", Values: []string{a.Config.RunnerID}, Code: true},
		{Label: "Time limit", Values: []string{minutes}},
		{Label: "Budget of a run", Values: []string{budgetWords(a.Config.Budget)}},
	} {
		if one.Values[0] != "" {
			list = append(list, one)
		}
	}
	if len(a.Config.MCPServers) > 0 {
		list = append(list, fact{Label: "Tool servers", Values: slices.Sorted(maps.Keys(a.Config.MCPServers))})
	}
	return append(list, secrets)
}

// busyOptions are what may happen while another run of the same key is live.
func busyOptions() []page.Option {
	return []page.Option{
		{Value: string(lineshaft.PolicyQueue), Name: "Wait until the other run is over"},
		{Value: string(lineshaft.PolicySkip), Name: "Start nothing"},
		{Value: string(lineshaft.PolicyCancelPrevious), Name: "Cancel the other run"},
		{Value: string(lineshaft.PolicyFollowup), Name: "Send it to the other run as a follow-up"},
	}
}

// busyWords is what happens meanwhile, within a sentence; without a policy, the first of them.
func busyWords(policy lineshaft.ConcurrencyPolicy) string {
	options := busyOptions()
	at := max(0, slices.IndexFunc(options, func(o page.Option) bool { return o.Value == string(policy) }))
	return "meanwhile: " + strings.ToLower(options[at].Name[:1]) + options[at].Name[1:]
}

// budgetWords is a budget as people read it; empty for none.
func budgetWords(b *lineshaft.Budget) string {
	var limits []string
	if b != nil && b.MaxCostMicros > 0 {
		limits = append(limits, page.Dollars(b.MaxCostMicros))
	}
	if b != nil && b.MaxTokens > 0 {
		limits = append(limits, page.Count(b.MaxTokens)+" tokens")
	}
	return strings.Join(limits, " or ")
}

// Limited says that a field of the limits has a value.
func (f *automationForm) Limited() bool {
	return len(f.Tools.Rows) > 0 || slices.ContainsFunc(f.Limits, func(one page.Field) bool {
		return one.Value != "" && (one.Options == nil || one.None != "")
	})
}

// Save is where the form goes.
func (f *automationForm) Save() string {
	if f.UID == "" {
		return page.FactoryAddress(f.Factory.UID) + "/automations"
	}
	return page.AutomationAddress(f.Factory.UID, f.UID)
}

// Draft is where the parts of the form are asked about before that.
func (f *automationForm) Draft() string {
	return page.FactoryAddress(f.Factory.UID) + "/automations/draft"
}

// Kinds lists the triggers that can be added.
func (*automationForm) Kinds() []condition {
	var list []condition
	for _, provider := range slices.Concat([]string{lineshaft.ProviderWebhook}, lineshaft.SendingProviders(), []string{lineshaft.ProviderSchedule, lineshaft.ProviderRun}) {
		list = append(list, condition{provider, providerName(provider)})
	}
	return list
}

// triggerForm is a trigger as the editor has it.
type triggerForm struct {
	Index           int
	Provider, Event string
	Name            string
	Events          []string
	Hooks           []hookChoice
	Text            string
	Timing          lineshaft.Timing
	Check           triggerCheck
	// Fresh is set for one that was just added.
	Fresh bool
	// Fields are those of a delivery that the filter can ask for; FieldsProblem says why there are none.
	Fields        []payloadField
	FieldsProblem string
	// Draft is where it is checked, NewHook where a webhook is made.
	Draft, NewHook string
	// read is the trigger that the form says.
	read lineshaft.Trigger
}

// Filtered says that the trigger has a text of conditions.
func (t triggerForm) Filtered() bool { return t.Provider != lineshaft.ProviderSchedule }

// Payloads says that the filter may ask something of payloads.
func (t triggerForm) Payloads() bool {
	return t.Provider == lineshaft.ProviderWebhook || t.Events != nil
}

// Example is a text to begin with.
func (t triggerForm) Example() string {
	switch t.Provider {
	case lineshaft.ProviderWebhook:
		return "action: [opened, reopened]\nissue:\n  labels:\n    name: {not_in: [wontfix]}"
	case lineshaft.ProviderRun:
		return "states: [FAILED, ERROR]\nagents: [implementer]"
	case lineshaft.ProviderSlack:
		return "channel_ids: [C0123456789]\nkeywords: [deploy]"
	case lineshaft.ProviderLinear:
		return "teams: [ENG]\nlabels: [bug]"
	case lineshaft.ProviderJira:
		return "project_keys: [OPS]\nlabels: [bug]"
	}
	return "repos: [acme/*]\nlabels: [bug]"
}

// hookChoice is a webhook that a trigger may listen to. Value keeps how it is named:
// by "id:" and its uid, or by its name.
type hookChoice struct {
	Value, Name   string
	Checked, Gone bool
}

// triggerCheck is what is said about a trigger while it is typed.
type triggerCheck struct {
	Index    int
	Problems []lineshaft.FileProblem
	View     triggerView
	Doubt    string
	// All says that every event fires it.
	All bool
	// Unticked says that no webhook is chosen; Told, that it is time to say so.
	Unticked, Told bool
}

func (s pages) newAutomationForm(r *page.Request, f *lineshaft.Factory) (*automationForm, error) {
	form := &automationForm{Factory: f, policy: string(lineshaft.PolicyQueue)}
	agents, err := s.Control.ListAgents(r.Context(), r.Caller, f.UID, base.MaxPage, "")
	if err != nil {
		return form, err
	}
	form.agents = agents.Items
	if form.Hooks, err = s.Control.ListWebhooks(r.Context(), r.Caller, f.UID); err != nil {
		return form, err
	}
	if form.environments, err = s.EnvironmentOptions(r); err != nil {
		return form, err
	}
	form.Offered = s.Suggestions(r)
	form.Past, err = s.pastDeliveries(r, f.UID, form.Hooks)
	return form, err
}

func (f *automationForm) show(a lineshaft.Automation) {
	f.Automation = a
	if rule := a.Config.Concurrency; rule != nil {
		f.key, f.policy = rule.Key, string(rule.Policy)
	}
	f.began(a.Config)
	what, limits := f.fields()
	f.What, f.Limits = page.ShowFields(what), page.ShowFields(limits)
	for i, t := range a.Triggers {
		f.Triggers = append(f.Triggers, f.trigger(i, t, factories.WriteTriggerFilter(t)))
	}
	heard := listening(a.Triggers, f.Hooks)
	if i := slices.IndexFunc(f.Past, func(d pastDelivery) bool {
		return len(a.Triggers) == 0 || slices.ContainsFunc(heard, func(h lineshaft.Webhook) bool { return h.Name == d.Webhook })
	}); i >= 0 {
		f.Subject.Delivery = f.Past[i].ID // the newest that may concern it, to begin a trial with
	}
}

// began takes over what fields do not have word for word.
func (f *automationForm) began(config lineshaft.AgentConfig) {
	if config.Budget != nil {
		f.maxCost, f.maxTokens = budgetFields(*config.Budget)
	}
	if config.Harness != nil {
		f.harness = config.Harness.Type
	}
	f.Tools = showTools(config.MCPServers, f.Draft(), "Without any, those of the agent count.")
}

// trigger makes the form of a trigger, with what is to be said about it.
func (f *automationForm) trigger(index int, t lineshaft.Trigger, text string) triggerForm {
	form := triggerForm{Index: index, Provider: t.Provider, Event: t.Event, Name: providerName(t.Provider), Text: text, Draft: f.Draft(), NewHook: page.FactoryAddress(f.Factory.UID) + "/webhooks/new"}
	if t.Sent() {
		form.Events = factories.TriggerEvents(t.Provider)
	}
	if t.Schedule != nil {
		form.Timing = *t.Schedule
	}
	form.Hooks = hookChoices(t, f.Hooks)
	form.Check.Index = index
	if form.Check.Unticked = unticked(t); form.Check.Unticked {
		t.Filter.Webhooks = []string{"any"} // so that the text is checked all the same
	}
	form.read, form.Check.Problems = factories.ReadTrigger(t, text)
	form.Check.Told = text != ""
	if len(form.Check.Problems) == 0 && !form.Check.Unticked {
		form.Check.View, form.Check.Doubt = viewTrigger(form.read, f.Hooks, 5), factories.FilterDoubt(form.read.Filter.Payload)
		form.Check.All = form.Filtered() && len(form.Check.View.Conditions) == 0
	}
	return form
}

// unticked says that a trigger listens to webhooks and none is chosen.
func unticked(t lineshaft.Trigger) bool {
	return t.Provider == lineshaft.ProviderWebhook && len(t.Filter.WebhookIDs)+len(t.Filter.Webhooks) == 0
}

// hookChoices are the webhooks that a trigger may listen to, and those that it names but
// that no longer exist.
func hookChoices(t lineshaft.Trigger, hooks []lineshaft.Webhook) []hookChoice {
	if !t.Delivered() {
		return nil
	}
	ids, names := slices.Clone(t.Filter.WebhookIDs), slices.Clone(t.Filter.Webhooks)
	var list []hookChoice
	for _, h := range hooks {
		one := hookChoice{Value: h.Name, Name: h.Name, Checked: slices.Contains(names, h.Name)}
		if slices.Contains(ids, h.UID) {
			one.Value, one.Checked = "id:"+h.UID, true
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == h.Name })
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == h.UID })
		if t.Sent() && h.SignatureScheme != t.Provider && !one.Checked {
			continue // no event of the provider comes there
		}
		list = append(list, one)
	}
	for _, name := range names {
		list = append(list, hookChoice{Value: name, Name: name, Checked: true, Gone: true})
	}
	for _, id := range ids {
		list = append(list, hookChoice{Value: "id:" + id, Name: id, Checked: true, Gone: true})
	}
	return list
}

// read takes what was typed; stored is what the form began with.
func (f *automationForm) read(r *page.Request, stored lineshaft.Automation) {
	value := r.PostFormValue
	f.Automation = stored
	f.began(stored.Config)
	f.Tools.read(r)
	f.Enabled = value("enabled") == "true"
	f.What, f.Limits = f.fields()
	f.wrong = cmp.Or(r.ReadFields(f.What), r.ReadFields(f.Limits))
	f.Subject = trialSubject{Delivery: value("delivery"), Body: value("body"), Event: value("payload_event")}
	for i, index := range r.PostForm["trigger"] {
		if i == lineshaft.MaxTriggers {
			break
		}
		f.Triggers = append(f.Triggers, f.readTrigger(r, len(f.Triggers), "t"+index+"."))
	}
}

func (f *automationForm) readTrigger(r *page.Request, index int, prefix string) triggerForm {
	value := func(name string) string { return r.Text(prefix + name) }
	t := lineshaft.Trigger{Provider: value("provider"), Event: value("event")}
	if t.Provider == lineshaft.ProviderSchedule {
		t.Schedule = &lineshaft.Timing{Name: value("schedule_name"), Cron: value("cron"), Timezone: value("timezone"), Overlap: lineshaft.Overlap(value("overlap"))}
	}
	for _, ref := range r.PostForm[prefix+"webhook"] {
		if id, ok := strings.CutPrefix(ref, "id:"); ok {
			t.Filter.WebhookIDs = append(t.Filter.WebhookIDs, id)
		} else {
			t.Filter.Webhooks = append(t.Filter.Webhooks, ref)
		}
	}
	return f.trigger(index, t, page.FormText(r.PostFormValue(prefix+"filter")))
}

// asked is the automation that the form asks for, or what is wrong with it.
func (f *automationForm) asked() (lineshaft.Automation, error) {
	n := f.Automation
	n.Config.Concurrency, n.Triggers = nil, nil
	if f.key != "" {
		n.Config.Concurrency = &lineshaft.Concurrency{Key: f.key, Policy: lineshaft.ConcurrencyPolicy(f.policy)}
	}
	if f.wrong != nil {
		return n, f.wrong
	}
	budget, err := readBudget(f.maxCost, f.maxTokens)
	if err != nil {
		return n, err
	}
	if before := n.Config.Budget; before == nil || *before != budget { // one that limits nothing stays as it is
		if n.Config.Budget = &budget; budget == (lineshaft.Budget{}) {
			n.Config.Budget = nil
		}
	}
	n.Config.Harness = withHarness(n.Config.Harness, f.harness)
	servers, err := f.Tools.servers()
	if err != nil {
		return n, err
	}
	if n.Config.MCPServers = servers; len(servers) == 0 {
		n.Config.MCPServers = nil
		if f.Tools.None() {
			n.Config.MCPServers = servers
		}
	}
	for i, t := range f.Triggers {
		n.Triggers = append(n.Triggers, t.read)
		for _, p := range t.Check.Problems {
			return n, triggerProblem(i, p)
		}
		if t.Check.Unticked {
			f.Triggers[i].Check.Told = true
			return n, lineshaft.Invalid(fmt.Sprintf("triggers[%d].webhooks", i), "tick at least one webhook that it listens to")
		}
	}
	return n, nil
}

// withHarness is a harness of another type. What only the type before could have goes with it.
func withHarness(before *lineshaft.HarnessConfig, name string) *lineshaft.HarnessConfig {
	h := *cmp.Or(before, &lineshaft.HarnessConfig{})
	if h.Type != "" && h.Type != name {
		h = lineshaft.HarnessConfig{Permissions: h.Permissions}
	}
	if h.Type = name; name != "" && !slices.Contains(lineshaft.KeyedHarnesses(), name) {
		h.Auth = nil
	}
	if h.IsZero() {
		return nil
	}
	return &h
}

// wholeChange makes an automation what a form asks for, which says all of it.
func wholeChange(asked lineshaft.Automation) factories.AutomationChange {
	rule := asked.Config.Concurrency
	if rule == nil {
		rule = &lineshaft.Concurrency{} // takes it away
	}
	return factories.AutomationChange{
		Name: &asked.Name, Prompt: &asked.Prompt, Enabled: &asked.Enabled, Agent: &asked.Agent, Triggers: asked.Triggers,
		Config: &asked.Config, Concurrency: rule, Title: &asked.Title, MaxRunsPerHour: &asked.MaxRunsPerHour,
	}
}

func triggerProblem(i int, p lineshaft.FileProblem) error {
	field, place := fmt.Sprintf("triggers[%d]", i), ""
	if p.Line > 0 {
		field, place = field+".filter", fmt.Sprintf("line %d, column %d: ", p.Line, p.Column)
	}
	message := place + p.Message
	if p.Hint != "" {
		message += "; " + p.Hint
	}
	return lineshaft.Invalid(field, "%s", message)
}

// soundTriggers are the triggers that could be read, for trying them.
func (f *automationForm) soundTriggers() (sound []lineshaft.Trigger, mistakes int) {
	for _, t := range f.Triggers {
		if len(t.Check.Problems) > 0 || t.Check.Unticked {
			mistakes++
			continue
		}
		sound = append(sound, t.read)
	}
	return sound, mistakes
}

// addTrigger adds an empty trigger of a kind.
func (f *automationForm) addTrigger(provider string) {
	t := lineshaft.Trigger{Provider: provider}
	switch provider {
	case lineshaft.ProviderSchedule:
		t.Event, t.Schedule = lineshaft.EventCronFired, &lineshaft.Timing{Cron: "0 9 * * 1-5"}
	case lineshaft.ProviderRun:
		t.Event = lineshaft.EventFinished
	case lineshaft.ProviderGitHub:
		t.Event = "issue_opened"
	case lineshaft.ProviderGitLab:
		t.Event = "merge_request"
	case lineshaft.ProviderLinear, lineshaft.ProviderJira:
		t.Event = "issue_created"
	case lineshaft.ProviderSlack:
		t.Event = "app_mention"
	default:
		t.Provider, t.Event = lineshaft.ProviderWebhook, lineshaft.EventReceived
		if len(f.Hooks) == 1 {
			t.Filter.Webhooks = []string{f.Hooks[0].Name}
		}
	}
	made := f.trigger(len(f.Triggers), t, "")
	made.Fresh = true
	f.Triggers = append(f.Triggers, made)
}

// FireTimes shows the times of a schedule in its own time zone.
func (c triggerCheck) FireTimes() []string {
	var list []string
	for _, at := range c.View.Fires {
		list = append(list, at.Format("Mon 2 Jan 2006, 15:04 MST"))
	}
	return list
}
