package lineshaft

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Trigger says what starts an automation.
type Trigger struct {
	Provider string        `json:"provider"`
	Event    string        `json:"event"`
	Filter   TriggerFilter `json:"filter"`
	// Schedule is for schedule/cron_fired only.
	Schedule *Timing `json:"schedule,omitempty"`
}

// TriggerFilter narrows a trigger. Webhooks are named by UID or by name.
type TriggerFilter struct {
	WebhookIDs []string `json:"webhook_ids,omitempty"`
	Webhooks   []string `json:"webhooks,omitempty"`
	// Payload is a payload filter as JSON; empty matches every delivery.
	Payload json.RawMessage `json:"payload,omitempty"`

	// Of events of a forge.
	Repos        *Choice `json:"repos,omitempty"`
	Labels       *Choice `json:"labels,omitempty"`
	Authors      *Choice `json:"authors,omitempty"`
	Branches     *Choice `json:"branches,omitempty"`
	BaseBranches *Choice `json:"base_branches,omitempty"`
	Paths        *Choice `json:"paths,omitempty"`
	Conclusions  *Choice `json:"conclusions,omitempty"`

	// Of a run that has finished: agents and automations by name, factories by uid.
	Agents      *Choice `json:"agents,omitempty"`
	Automations *Choice `json:"automations,omitempty"`
	States      *Choice `json:"states,omitempty"`
	Factories   *Choice `json:"factories,omitempty"`
}

// Choice is a set of allowed values, and one of refused ones. On the wire it is a
// list, or an object with in and not_in.
type Choice struct {
	// In is nil when anything is allowed; an empty list allows nothing.
	In    []string
	NotIn []string
}

type choiceWire struct {
	In    []string `json:"in,omitzero"`
	NotIn []string `json:"not_in,omitzero"`
}

// MarshalJSON writes the short form where it says the same.
func (c *Choice) MarshalJSON() ([]byte, error) {
	if c.NotIn == nil && c.In != nil {
		return json.Marshal(c.In)
	}
	return json.Marshal(choiceWire(*c))
}

// UnmarshalJSON reads a list, or an object with in and not_in.
func (c *Choice) UnmarshalJSON(text []byte) error {
	*c = Choice{}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		return json.Unmarshal(text, &c.In)
	}
	var wire choiceWire
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wire); err != nil {
		return err
	}
	c.In, c.NotIn = wire.In, wire.NotIn
	return nil
}

// Allows says whether a value passes; empty is one that is not there, which fails in
// and passes not_in. No choice at all lets everything through.
func (c *Choice) Allows(value string) bool {
	if c == nil {
		return true
	}
	return (c.In == nil || value != "" && slices.Contains(c.In, value)) && (value == "" || !slices.Contains(c.NotIn, value))
}

// MaxChoices bounds the values of a choice.
const MaxChoices = 100

// Validate checks a choice's sizes and that it can be met.
func (c *Choice) Validate(field string) error {
	if c == nil {
		return nil
	}
	if len(c.In) == 0 && len(c.NotIn) == 0 {
		return Invalid(field, "names nothing; write a list of values, or in and not_in")
	}
	if len(c.In) > MaxChoices || len(c.NotIn) > MaxChoices {
		return Invalid(field, "at most %d values are allowed", MaxChoices)
	}
	for i, value := range slices.Concat(c.In, c.NotIn) {
		if value == "" || len(value) > 256 {
			return Invalid(field, "value %d must have 1 to 256 bytes", i+1)
		}
		if i < len(c.In) && slices.Contains(c.NotIn, value) {
			return Invalid(field, "%q is both in in and in not_in", clip(value, 80))
		}
	}
	return checkText(field, slices.Concat(c.In, c.NotIn)...)
}

// Triggers that this server fires.
const (
	ProviderWebhook  = "webhook"
	EventReceived    = "received"
	ProviderSchedule = "schedule"
	EventCronFired   = "cron_fired"
	ProviderRun      = "run"
	EventFinished    = "finished"
	ProviderGitHub   = "github"
	ProviderGitLab   = "gitlab"
)

// DormantProviders lists the providers of the published grammar whose triggers are
// taken but never fire here.
func DormantProviders() []string {
	return []string{"azure_devops", "jira", "linear", "microsoft-teams", "slack"}
}

// Providers lists every provider that a trigger may name.
func Providers() []string {
	return append([]string{ProviderWebhook, ProviderSchedule, ProviderRun, ProviderGitHub, ProviderGitLab}, DormantProviders()...)
}

// Forge says whether the trigger is about events of a forge.
func (t Trigger) Forge() bool { return t.Provider == ProviderGitHub || t.Provider == ProviderGitLab }

// Dormant says whether the trigger never fires here.
func (t Trigger) Dormant() bool { return slices.Contains(DormantProviders(), t.Provider) }

// Validate checks what can be checked without the store. Payload filters, events of
// a forge and cron expressions are checked by whoever knows them.
func (t Trigger) Validate(field string) error {
	if t.Provider == "" || t.Event == "" {
		return Invalid(field, "needs a provider and an event, such as webhook and received")
	}
	if !slices.Contains(Providers(), t.Provider) {
		return Invalid(field+".provider", "%q is none of %s", clip(t.Provider, 40), strings.Join(Providers(), ", "))
	}
	if only := map[string]string{ProviderWebhook: EventReceived, ProviderSchedule: EventCronFired, ProviderRun: EventFinished}[t.Provider]; only != "" && t.Event != only {
		return Invalid(field+".event", "provider %s has the event %s only", t.Provider, only)
	}
	event := t.Event
	if t.Forge() {
		event = strings.TrimSuffix(event, "*") // issue_* is every event about issues
	}
	if len(event) > 80 || !plainCharacters(event) {
		return Invalid(field+".event", "%q is no event", clip(t.Event, 40))
	}
	if err := t.validateSchedule(field); err != nil {
		return err
	}
	return t.validateFilter(field + ".filter")
}

func (t Trigger) validateSchedule(field string) error {
	if t.Provider != ProviderSchedule {
		if t.Schedule != nil {
			return Invalid(field+".schedule", "goes with provider schedule only")
		}
		return nil
	}
	if t.Schedule == nil {
		return Invalid(field+".schedule", "needs a cron expression such as \"0 9 * * 1-5\", @daily or @every 1h")
	}
	return t.Schedule.Validate(field + ".schedule")
}

// choices are the filter's sets with the providers that have them.
func (f TriggerFilter) choices() []struct {
	name      string
	choice    *Choice
	providers []string
} {
	forge, run := []string{ProviderGitHub, ProviderGitLab}, []string{ProviderRun}
	return []struct {
		name      string
		choice    *Choice
		providers []string
	}{
		{"repos", f.Repos, forge},
		{"labels", f.Labels, forge},
		{"authors", f.Authors, forge},
		{"branches", f.Branches, forge},
		{"base_branches", f.BaseBranches, forge},
		{"paths", f.Paths, forge},
		{"conclusions", f.Conclusions, forge},
		{"agents", f.Agents, run},
		{"automations", f.Automations, run},
		{"states", f.States, run},
		{"factories", f.Factories, run},
	}
}

// ForgeChoice is the first of the filter's sets that only events of a forge have; ""
// when there is none.
func (f TriggerFilter) ForgeChoice() string {
	for _, c := range f.choices() {
		if c.choice != nil && slices.Contains(c.providers, ProviderGitHub) {
			return c.name
		}
	}
	return ""
}

func (t Trigger) validateFilter(field string) error {
	named := len(t.Filter.WebhookIDs) + len(t.Filter.Webhooks)
	if t.Provider == ProviderWebhook && named == 0 || named > MaxTriggerHooks {
		return Invalid(field, "name 1 to %d webhooks in webhook_ids or webhooks", MaxTriggerHooks)
	}
	if named > 0 && t.Provider != ProviderWebhook && !t.Forge() && !t.Dormant() {
		return Invalid(field, "webhooks go with provider webhook, github or gitlab only")
	}
	if len(t.Filter.Payload) > 0 && t.Provider != ProviderWebhook && !t.Forge() && !t.Dormant() {
		return Invalid(field+".payload", "goes with provider webhook, github or gitlab only")
	}
	for _, c := range t.Filter.choices() {
		if c.choice == nil {
			continue
		}
		if !t.Dormant() && !slices.Contains(c.providers, t.Provider) {
			return Invalid(field+"."+c.name, "goes with provider %s only", strings.Join(c.providers, " or "))
		}
		if err := c.choice.Validate(field + "." + c.name); err != nil {
			return err
		}
	}
	return t.validateStates(field)
}

func (t Trigger) validateStates(field string) error {
	if t.Filter.States == nil {
		return nil
	}
	for _, state := range slices.Concat(t.Filter.States.In, t.Filter.States.NotIn) {
		if !RunState(state).Terminal() {
			return Invalid(field+".states", "%q is no state that a run ends in; use SUCCEEDED, FAILED, ERROR or CANCELLED", clip(state, 40))
		}
	}
	return nil
}
