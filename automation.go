package lineshaft

import (
	"strings"
	"time"
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
	// MaxRunsPerHour is a brake; 0 means none.
	MaxRunsPerHour int
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Validate checks what can be checked without the store; payload filters are
// compiled by whoever can.
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
	if a.MaxRunsPerHour < 0 || a.MaxRunsPerHour > MaxRunsPerHourCap {
		return Invalid("max_runs_per_hour", "must be 0 (no brake) to %d", MaxRunsPerHourCap)
	}
	if len(a.Triggers) == 0 || len(a.Triggers) > MaxTriggers {
		return Invalid("triggers", "an automation needs 1 to %d triggers", MaxTriggers)
	}
	for i, trigger := range a.Triggers {
		if err := trigger.Validate(fieldAt("triggers", i)); err != nil {
			return err
		}
	}
	if err := a.Config.Validate(); err != nil {
		return err
	}
	if rule := a.Config.Concurrency; rule != nil {
		return checkKeyTemplate(rule.Key)
	}
	return nil
}

// checkKeyTemplate refuses what could never be filled in from a payload.
func checkKeyTemplate(key string) error {
	for rest := key; ; {
		_, after, found := strings.Cut(rest, "{{")
		if !found {
			return nil
		}
		name, next, closed := strings.Cut(after, "}}")
		path, known := strings.CutPrefix(strings.TrimSpace(name), "payload.")
		if !closed || !known || path == "" {
			return Invalid("concurrency.key", "only {{payload.path}} can be filled in, such as {{payload.issue.number}}; mend what stands between the braces")
		}
		rest = next
	}
}
