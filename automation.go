package lineshaft

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of an automation.
const (
	MaxTriggers       = 20
	MaxTriggerHooks   = 50
	MaxRunsPerHourCap = 100_000
	// MaxRunsPerDelivery is how many runs one delivery may start (W-7).
	MaxRunsPerDelivery = 100
)

// Automation starts a run of its agent when one of its triggers fires.
type Automation struct {
	UID        string
	FactoryUID string
	Name       string
	Prompt     string
	Enabled    bool
	// Agent is the name of one of the factory's agents; empty means the foreman.
	Agent    string
	Triggers []Trigger
	// Config is the automation's layer of its runs' configuration. The key of its
	// concurrency rule may hold {{payload.path}}.
	Config AgentConfig
	// Title is what its runs are called, and may hold {{payload.path}}; empty takes the
	// words of the provider that sends, or the name.
	Title string
	// MaxRunsPerHour is a brake; 0 means none.
	MaxRunsPerHour int
	// Truncated says that this is what lists show: long texts are cut.
	Truncated bool
	// Notices say what of it has no effect on this server, and why. They are made for
	// answers and not stored.
	Notices   []string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Validate checks what can be checked without the store; payload filters are
// compiled by the part that can.
func (a Automation) Validate() error {
	if err := CheckPartName("name", a.Name); err != nil {
		return err
	}
	if strings.TrimSpace(a.Prompt) == "" || len(a.Prompt) > MaxPromptBytes {
		return Invalid("prompt", "an automation needs a prompt of at most %d bytes", MaxPromptBytes)
	}
	if err := checkText("prompt", a.Prompt); err != nil {
		return err
	}
	if utf8.RuneCountInString(a.Title) > MaxTitleRunes {
		return Invalid("title", "longer than %d characters; make it shorter", MaxTitleRunes)
	}
	if err := checkText("title", a.Title); err != nil {
		return err
	}
	if err := checkTemplate("title", a.Title); err != nil {
		return err
	}
	if a.MaxRunsPerHour < 0 || a.MaxRunsPerHour > MaxRunsPerHourCap {
		return Invalid("max_runs_per_hour", "must be 0 (no limit) to %d", MaxRunsPerHourCap)
	}
	if len(a.Triggers) == 0 || len(a.Triggers) > MaxTriggers {
		return Invalid("triggers", "an automation needs 1 to %d triggers", MaxTriggers)
	}
	for i, trigger := range a.Triggers {
		if err := trigger.Validate(fieldAt("triggers", i)); err != nil {
			return err
		}
	}
	if err := a.checkScheduleNames(); err != nil {
		return err
	}
	if err := a.Config.Validate(); err != nil {
		return err
	}
	if err := a.Config.CheckModel(); err != nil {
		return err
	}
	if rule := a.Config.Concurrency; rule != nil {
		return checkTemplate("concurrency.key", rule.Key)
	}
	return nil
}

// checkScheduleNames requires the names of schedules to tell them apart.
func (a Automation) checkScheduleNames() error {
	seen := map[string]bool{}
	for i, t := range a.Triggers {
		if t.Schedule == nil || t.Schedule.Name == "" {
			continue
		}
		if name := t.Schedule.Name; seen[name] {
			return Invalid(fieldAt("triggers", i)+".schedule.name", "another schedule of the automation is named %q; give this one another name", Clip(name, 80))
		} else {
			seen[name] = true
		}
	}
	return nil
}

// checkTemplate refuses what could never be filled in from a payload.
func checkTemplate(field, template string) error {
	for rest := template; ; {
		_, after, found := strings.Cut(rest, "{{")
		if !found {
			return nil
		}
		name, next, closed := strings.Cut(after, "}}")
		path, known := strings.CutPrefix(strings.TrimSpace(name), "payload.")
		if !closed || !known || path == "" {
			return Invalid(field, "only {{payload.path}} can be filled in, such as {{payload.issue.number}}; correct what is between the braces")
		}
		rest = next
	}
}

// AutomationChange says what to change in an automation; nil keeps. Triggers and the
// configuration are replaced as a whole. The concurrency rule is separate: a rule
// without a key removes it.
type AutomationChange struct {
	Name           *string
	Prompt         *string
	Enabled        *bool
	Agent          *string
	Triggers       []Trigger
	Config         *AgentConfig
	Concurrency    *Concurrency
	Title          *string
	MaxRunsPerHour *int
}

// Apply writes the change into a and names the fields that were given, for the audit log.
func (change AutomationChange) Apply(a *Automation) (fields []string) {
	Change(&fields, "name", &a.Name, change.Name)
	Change(&fields, "prompt", &a.Prompt, change.Prompt)
	Change(&fields, "enabled", &a.Enabled, change.Enabled)
	Change(&fields, "agent", &a.Agent, change.Agent)
	Change(&fields, "title", &a.Title, change.Title)
	Change(&fields, "max_runs_per_hour", &a.MaxRunsPerHour, change.MaxRunsPerHour)
	if change.Triggers != nil {
		a.Triggers, fields = change.Triggers, append(fields, "triggers")
	}
	rule := a.Config.Concurrency
	Change(&fields, "config", &a.Config, change.Config)
	a.Config.Concurrency = rule
	if change.Concurrency != nil {
		a.Config.Concurrency, fields = nil, append(fields, "concurrency")
		if change.Concurrency.Key != "" {
			a.Config.Concurrency = change.Concurrency
		}
	}
	return fields
}

// Change writes a value that is given, and notes its field.
func Change[T any](fields *[]string, name string, to, given *T) {
	if given != nil {
		*to, *fields = *given, append(*fields, name)
	}
}
