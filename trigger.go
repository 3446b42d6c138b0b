package lineshaft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
type TriggerFilter struct { //nolint:recvcheck // MarshalJSON has to work for a trigger that is a value
	WebhookIDs []string
	Webhooks   []string
	// Payload is a payload filter as JSON; empty matches every delivery.
	Payload json.RawMessage
	// Sets are all other keys, under the names that they were written with. Which
	// keys an event has is for the catalogue of events to say.
	Sets map[string]*Choice
}

// Keys of a filter that are not among its Sets.
const (
	KeyWebhookIDs = "webhook_ids"
	KeyWebhooks   = "webhooks"
	KeyPayload    = "payload"
)

// Keys of a filter on runs that have finished.
const (
	KeyAgents      = "agents"
	KeyAutomations = "automations"
	KeyStates      = "states"
	KeyFactories   = "factories"
)

// Set is one of the filter's sets; nil when it has none of that name, or one that imposes
// nothing.
func (f *TriggerFilter) Set(key string) *Choice {
	if c := f.Sets[key]; !c.Empty() {
		return c
	}
	return nil
}

// Keys are the names of the filter's sets, sorted; also of those that impose nothing, since
// a name may be misspelt.
func (f *TriggerFilter) Keys() []string { return slices.Sorted(maps.Keys(f.Sets)) }

// Put sets one of the filter's sets; one that imposes nothing is left out.
func (f *TriggerFilter) Put(key string, c *Choice) {
	if c.Empty() {
		return
	}
	if f.Sets == nil {
		f.Sets = map[string]*Choice{}
	}
	f.Sets[key] = c
}

// MarshalJSON writes the sets beside the other keys.
func (f TriggerFilter) MarshalJSON() ([]byte, error) {
	out := make(map[string]any, len(f.Sets)+3)
	for key, c := range f.Sets {
		if !c.Empty() {
			out[key] = c
		}
	}
	if len(f.WebhookIDs) > 0 {
		out[KeyWebhookIDs] = f.WebhookIDs
	}
	if len(f.Webhooks) > 0 {
		out[KeyWebhooks] = f.Webhooks
	}
	if len(f.Payload) > 0 {
		out[KeyPayload] = f.Payload
	}
	// A payload filter is read as it was written, so nothing is escaped for HTML here.
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(out)
	return bytes.TrimSpace(text.Bytes()), err
}

// UnmarshalJSON reads the keys of a filter. Null, {} and empty lists impose nothing. Its errors name the key.
func (f *TriggerFilter) UnmarshalJSON(text []byte) error {
	*f = TriggerFilter{}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return Invalid("", "a filter is an object of keys, such as {\"labels\": [\"bug\"]}")
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := f.read(key, keys[key]); err != nil {
			return err
		}
	}
	return nil
}

// ReadTriggerFilter reads a filter that is at a field; without text there is no filter. Its errors
// name the key below the field. Keys that an event does not have are refused by the catalogue.
func ReadTriggerFilter(field string, text []byte) (filter TriggerFilter, err error) {
	if len(text) > 0 {
		err = Rename(json.Unmarshal(text, &filter), Below(field))
	}
	return filter, err
}

func (f *TriggerFilter) read(key string, text json.RawMessage) error {
	if key == KeyPayload {
		if string(text) != "null" {
			f.Payload = text
		}
		return nil
	}
	var c Choice
	if string(text) != "null" && json.Unmarshal(text, &c) != nil {
		return Invalid(key, `must be a list of values, or an object with in and not_in, such as ["a"] or {"not_in": ["b"]}`)
	}
	if key != KeyWebhookIDs && key != KeyWebhooks {
		if f.Sets == nil {
			f.Sets = map[string]*Choice{}
		}
		f.Sets[key] = &c
		return nil
	}
	if len(c.NotIn) > 0 || c.Whole {
		return Invalid(key, "names webhooks; write a list of them, without not_in")
	}
	if key == KeyWebhooks {
		f.Webhooks = c.In
	} else {
		f.WebhookIDs = c.In
	}
	return nil
}

// Choice is a set of allowed values, and one of refused ones. On the wire it is a
// list, or an object with in and not_in. An empty list imposes nothing.
type Choice struct {
	In    []string
	NotIn []string
	// Whole says that the values are whole numbers and written as such.
	Whole bool
}

type choiceWire struct {
	In    json.RawMessage `json:"in,omitempty"`
	NotIn json.RawMessage `json:"not_in,omitempty"`
}

// Empty says that a choice imposes nothing.
func (c *Choice) Empty() bool { return c == nil || len(c.In) == 0 && len(c.NotIn) == 0 }

// MarshalJSON writes the short form where it says the same.
func (c *Choice) MarshalJSON() ([]byte, error) {
	if len(c.NotIn) == 0 {
		return c.list(c.In)
	}
	var wire choiceWire
	var err, other error
	if len(c.In) > 0 {
		wire.In, err = c.list(c.In)
	}
	wire.NotIn, other = c.list(c.NotIn)
	if err = errors.Join(err, other); err != nil {
		return nil, err
	}
	return json.Marshal(wire)
}

func (c *Choice) list(values []string) ([]byte, error) {
	if c.Whole {
		return []byte("[" + strings.Join(values, ",") + "]"), nil
	}
	if values == nil {
		values = []string{}
	}
	return json.Marshal(values)
}

// UnmarshalJSON reads a list, or an object with in and not_in.
func (c *Choice) UnmarshalJSON(text []byte) error {
	*c = Choice{}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		var err error
		c.In, err = c.values(text)
		return err
	}
	var sets map[string]json.RawMessage
	if err := json.Unmarshal(text, &sets); err != nil {
		return err
	}
	for name := range sets {
		if name != "in" && name != "not_in" {
			return fmt.Errorf("a choice has in and not_in, not %q", name)
		}
	}
	var err, other error
	c.In, err = c.values(sets["in"])
	c.NotIn, other = c.values(sets["not_in"])
	return errors.Join(err, other)
}

// errMixed is for sets that are neither texts nor whole numbers.
var errMixed = errors.New("values are texts, or all of them whole numbers")

// values reads one list. Texts and numbers do not mix.
func (c *Choice) values(text json.RawMessage) ([]string, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var list []any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&list); err != nil {
		return nil, err
	}
	var values []string
	for i, item := range list {
		value, isText := item.(string)
		if number, isNumber := item.(json.Number); isNumber && WholeNumber(number.String()) {
			value = number.String()
		} else if !isText {
			return nil, errMixed
		}
		if first := i == 0 && len(c.In) == 0; first {
			c.Whole = !isText
		}
		if c.Whole == isText {
			return nil, errMixed
		}
		values = append(values, value)
	}
	return values, nil
}

// WholeNumber says whether a text is a whole number as people count with.
func WholeNumber(text string) bool {
	number, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(number, 10) == text
}

// Allows says whether a value passes; empty is a missing value, which fails in and
// passes not_in. No choice at all lets everything through.
func (c *Choice) Allows(value string) bool {
	if c == nil {
		return true
	}
	return (len(c.In) == 0 || value != "" && slices.Contains(c.In, value)) && (value == "" || !slices.Contains(c.NotIn, value))
}

// Values are all that the choice names.
func (c *Choice) Values() []string {
	if c == nil {
		return nil
	}
	return slices.Concat(c.In, c.NotIn)
}

// MaxChoices bounds the values of a choice.
const MaxChoices = 100

// Validate checks a choice's sizes and that it can be met.
func (c *Choice) Validate(field string) error {
	if c == nil {
		return nil
	}
	if len(c.In) > MaxChoices || len(c.NotIn) > MaxChoices {
		return Invalid(field, "at most %d values are allowed", MaxChoices)
	}
	for i, value := range c.Values() {
		if value == "" || len(value) > 256 {
			return Invalid(field, "value %d must have 1 to 256 bytes", i+1)
		}
		if i < len(c.In) && slices.Contains(c.NotIn, value) {
			return Invalid(field, "%q is both in in and in not_in; keep one of them", Clip(value, 80))
		}
	}
	return checkText(field, c.Values()...)
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
	ProviderLinear   = "linear"
	ProviderSlack    = "slack"
	ProviderJira     = "jira"
)

// Providers whose triggers are kept and never fire.
const (
	ProviderTeams       = "teams"
	ProviderAzureDevOps = "azure_devops"
	ProviderFactory     = "factory"
)

// SendingProviders lists the providers that send their events to webhooks which check
// the signature scheme of the same name.
func SendingProviders() []string {
	return []string{ProviderGitHub, ProviderGitLab, ProviderLinear, ProviderSlack, ProviderJira}
}

// DormantProviders lists the providers of the published grammar whose triggers are
// taken but never fire here.
func DormantProviders() []string {
	return []string{ProviderTeams, ProviderAzureDevOps, ProviderFactory}
}

// Providers lists every provider that a trigger may name.
func Providers() []string {
	return slices.Concat([]string{ProviderWebhook, ProviderSchedule, ProviderRun}, SendingProviders(), DormantProviders())
}

// Sent says whether the trigger is about events that their provider sends to a webhook.
func (t Trigger) Sent() bool { return slices.Contains(SendingProviders(), t.Provider) }

// Delivered says whether deliveries to webhooks fire the trigger.
func (t Trigger) Delivered() bool { return t.Provider == ProviderWebhook || t.Sent() }

// Dormant says whether the trigger never fires here.
func (t Trigger) Dormant() bool { return slices.Contains(DormantProviders(), t.Provider) }

// KeyScheduleIDs names schedules that exist already, instead of a cron expression.
const KeyScheduleIDs = "schedule_ids"

// Validate checks what can be checked without the store. Events and their filter keys
// are checked by the catalogue of events, cron expressions by their parser.
func (t Trigger) Validate(field string) error {
	if t.Provider == "" || t.Event == "" {
		return Invalid(field, "needs a provider and an event, such as webhook and received")
	}
	if !slices.Contains(Providers(), t.Provider) {
		return Invalid(field+".provider", "%q is not one of %s", Clip(t.Provider, 40), strings.Join(Providers(), ", "))
	}
	event := t.Event
	if t.Sent() {
		event = strings.TrimSuffix(event, "*") // issue_* is every event about issues
	}
	if len(event) > 80 || !plainCharacters(event) {
		return Invalid(field+".event", "%q is not an event", Clip(t.Event, 40))
	}
	if err := t.validateSchedule(field); err != nil {
		return err
	}
	return t.validateFilter(field + ".filter")
}

func (t Trigger) validateSchedule(field string) error {
	named := t.Filter.Set(KeyScheduleIDs) != nil
	switch {
	case t.Provider != ProviderSchedule && t.Schedule != nil:
		return Invalid(field+".schedule", "is only for provider schedule")
	case t.Provider != ProviderSchedule:
		return nil
	case t.Schedule != nil && named:
		return Invalid(field+".filter."+KeyScheduleIDs, "there is also an inline schedule; keep one of the two")
	case t.Schedule == nil && named:
		return nil
	case t.Schedule == nil:
		return Invalid(field+".schedule", "needs a cron expression such as \"0 9 * * 1-5\", @daily or @every 1h")
	}
	return t.Schedule.Validate(field + ".schedule")
}

func (t Trigger) validateFilter(field string) error {
	named := len(t.Filter.WebhookIDs) + len(t.Filter.Webhooks)
	if t.Provider == ProviderWebhook && named == 0 || named > MaxTriggerHooks {
		return Invalid(field, "name 1 to %d webhooks in webhook_ids or webhooks", MaxTriggerHooks)
	}
	if named > 0 && !t.Delivered() {
		return Invalid(field, "webhooks are only for provider webhook, %s", strings.Join(SendingProviders(), ", "))
	}
	if len(t.Filter.Payload) > 0 && !t.Delivered() {
		return Invalid(field+".payload", "is only for provider webhook, %s", strings.Join(SendingProviders(), ", "))
	}
	for _, key := range t.Filter.Keys() {
		if err := t.Filter.Sets[key].Validate(field + "." + key); err != nil {
			return err
		}
	}
	return nil
}
