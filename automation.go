package lineshaft

import (
	"encoding/json"
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

// Trigger says what starts an automation.
type Trigger struct {
	Provider string        `json:"provider"`
	Event    string        `json:"event"`
	Filter   TriggerFilter `json:"filter"`
}

// TriggerFilter narrows a trigger. Webhooks are named by UID or by name.
type TriggerFilter struct {
	WebhookIDs []string `json:"webhook_ids,omitempty"`
	Webhooks   []string `json:"webhooks,omitempty"`
	// Payload is a payload filter as JSON; empty matches every delivery.
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Trigger kinds that this server fires.
const (
	ProviderWebhook = "webhook"
	EventReceived   = "received"
)

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
		if err := trigger.validate(fieldAt("triggers", i)); err != nil {
			return err
		}
	}
	return a.Config.Validate()
}

func (t Trigger) validate(field string) error {
	if t.Provider != ProviderWebhook || t.Event != EventReceived {
		if t.Provider == "" || t.Event == "" {
			return Invalid(field, "needs a provider and an event, such as webhook and received")
		}
		return NotSupported(field, "this server has no trigger %s/%s; use webhook/received", clip(t.Provider, 40), clip(t.Event, 40))
	}
	if n := len(t.Filter.WebhookIDs) + len(t.Filter.Webhooks); n == 0 || n > MaxTriggerHooks {
		return Invalid(field+".filter", "name 1 to %d webhooks in webhook_ids or webhooks", MaxTriggerHooks)
	}
	return nil
}
