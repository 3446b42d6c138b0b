package web

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// automationForm is an automation as the editor has it.
type automationForm struct {
	Factory *lineshaft.Factory
	// Automation is what was typed; its uid is empty for a new one.
	lineshaft.Automation

	Triggers     []triggerForm
	Agents       []lineshaft.Agent
	Environments []lineshaft.EnvironmentDetail
	Hooks        []lineshaft.Webhook
	Past         []pastDelivery
	Trial        *trial
	Backtest     *factories.DraftBacktest
	// BacktestProblem is why nothing was counted.
	BacktestProblem string
	// Secrets, Timeout and Brake are as they were typed.
	Secrets, Timeout, Brake string
	Key                     string
	Policy                  lineshaft.ConcurrencyPolicy
	Subject                 trialSubject
}

// Save is where the form goes.
func (f *automationForm) Save() string {
	if f.UID == "" {
		return factoryAddress(f.Factory.UID) + "/automations"
	}
	return automationAddress(f.Factory.UID, f.UID)
}

// Draft is where the parts of the form are asked about before that.
func (f *automationForm) Draft() string { return factoryAddress(f.Factory.UID) + "/automations/draft" }

// Policies lists the policies of concurrency with what they mean.
func (*automationForm) Policies() []condition {
	return []condition{
		{string(lineshaft.PolicyQueue), "Wait until the other run is over"},
		{string(lineshaft.PolicySkip), "Start nothing"},
		{string(lineshaft.PolicyCancelPrevious), "Cancel the other run"},
		{string(lineshaft.PolicyFollowup), "Send it to the other run as a follow-up"},
	}
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
	// Draft is where it is checked, NewHook where a webhook is made.
	Draft, NewHook string
	// read is the trigger that the form says.
	read lineshaft.Trigger
}

// Filtered says that the trigger has a text of conditions.
func (t triggerForm) Filtered() bool { return t.Provider != lineshaft.ProviderSchedule }

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

func (s *server) newAutomationForm(r *http.Request, c lineshaft.Caller, f *lineshaft.Factory) (automationForm, error) {
	form := automationForm{Factory: f, Policy: lineshaft.PolicyQueue}
	var err error
	agents, err := s.Control.ListAgents(r.Context(), c, f.UID, base.MaxPage, "")
	if err != nil {
		return form, err
	}
	form.Agents = agents.Items
	if form.Hooks, err = s.Control.ListWebhooks(r.Context(), c, f.UID); err != nil {
		return form, err
	}
	if form.Environments, err = s.Control.ListEnvironments(r.Context(), c, secrets.EnvironmentsByName); err != nil {
		return form, err
	}
	form.Past, err = s.pastDeliveries(r.Context(), c, f.UID, form.Hooks)
	return form, err
}

// show fills the form with what is stored.
func (f *automationForm) show(a lineshaft.Automation) {
	f.Automation, f.Secrets = a, strings.Join(a.Config.Secrets, " ")
	if a.MaxRunsPerHour > 0 {
		f.Brake = strconv.Itoa(a.MaxRunsPerHour)
	}
	if a.Config.TimeoutMinutes != nil {
		f.Timeout = strconv.Itoa(*a.Config.TimeoutMinutes)
	}
	if rule := a.Config.Concurrency; rule != nil {
		f.Key, f.Policy = rule.Key, rule.Policy
	}
	for i, t := range a.Triggers {
		f.Triggers = append(f.Triggers, f.trigger(i, t, factories.WriteTriggerFilter(t)))
	}
}

// trigger makes the form of a trigger, with what is to be said about it.
func (f *automationForm) trigger(index int, t lineshaft.Trigger, text string) triggerForm {
	form := triggerForm{Index: index, Provider: t.Provider, Event: t.Event, Name: providerName(t.Provider), Text: text, Draft: f.Draft(), NewHook: factoryAddress(f.Factory.UID) + "/webhooks/new"}
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
		form.Check.View, form.Check.Doubt = viewTrigger(form.read, 5), factories.FilterDoubt(form.read.Filter.Payload)
		form.Check.All = form.Filtered() && len(form.Check.View.Conditions) == 0
	}
	return form
}

// unticked says that a trigger listens to webhooks and none is chosen.
func unticked(t lineshaft.Trigger) bool {
	return t.Provider == lineshaft.ProviderWebhook && len(t.Filter.WebhookIDs)+len(t.Filter.Webhooks) == 0
}

// hookChoices are the webhooks that a trigger may listen to, and those it names that
// are gone.
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
func (f *automationForm) read(r *http.Request, stored lineshaft.Automation) {
	value := r.PostFormValue
	f.Automation = stored
	f.Automation.Name, f.Prompt, f.Agent = value("name"), formText(value("prompt")), value("agent")
	f.Title, f.Enabled = strings.TrimSpace(value("title")), value("enabled") == "true"
	f.Secrets, f.Timeout, f.Brake = value("secrets"), strings.TrimSpace(value("timeout_minutes")), strings.TrimSpace(value("max_runs_per_hour"))
	f.Key, f.Policy = value("concurrency_key"), lineshaft.ConcurrencyPolicy(value("concurrency_policy"))
	f.Config.ModelID, f.Config.EnvironmentID, f.Config.WorkerHost = value("model_id"), value("environment_id"), value("worker_host")
	if named := strings.FieldsFunc(f.Secrets, separates); len(named) > 0 || len(stored.Config.Secrets) > 0 {
		f.Config.Secrets = named // an empty list replaces that of the agent
	}
	f.Subject = trialSubject{Delivery: value("delivery"), Body: value("body"), Event: value("payload_event")}
	for i, index := range r.PostForm["trigger"] {
		if i == lineshaft.MaxTriggers {
			break
		}
		f.Triggers = append(f.Triggers, f.readTrigger(r, len(f.Triggers), "t"+index+"."))
	}
}

func (f *automationForm) readTrigger(r *http.Request, index int, prefix string) triggerForm {
	value := func(name string) string { return strings.TrimSpace(r.PostFormValue(prefix + name)) }
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
	return f.trigger(index, t, formText(r.PostFormValue(prefix+"filter")))
}

// asked is the automation that the form asks for, or what is wrong with it.
func (f *automationForm) asked() (lineshaft.Automation, error) {
	n := lineshaft.Automation{Name: f.Automation.Name, Prompt: f.Prompt, Enabled: f.Enabled, Agent: f.Agent, Config: f.Config, Title: f.Title}
	n.Config.Concurrency = nil
	if f.Key != "" {
		n.Config.Concurrency = &lineshaft.Concurrency{Key: f.Key, Policy: f.Policy}
	}
	var err error
	if brake, err := optionalNumber("max_runs_per_hour", f.Brake); err != nil {
		return n, err
	} else if brake != nil {
		n.MaxRunsPerHour = *brake
	}
	if n.Config.TimeoutMinutes, err = optionalNumber("timeout_minutes", f.Timeout); err != nil {
		return n, err
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

// FireTimes tells the times of a schedule in its own time zone.
func (c triggerCheck) FireTimes() []string {
	var list []string
	for _, at := range c.View.Fires {
		list = append(list, at.Format("Mon 2 Jan 2006, 15:04 MST"))
	}
	return list
}
