package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"
)

// AutomationsService manages the automations of factories. It is part of a Client.
type AutomationsService struct{ c *Client }

// Automation starts a run when one of its triggers fires.
type Automation struct {
	UID        string `json:"uid"`
	FactoryUID string `json:"factory_uid"`
	Name       string `json:"name"`
	Prompt     string `json:"prompt"`
	// PromptTruncated says that a list shows the first 4096 bytes of longer prompts, or not
	// all of the configuration; Get has all of it.
	PromptTruncated bool `json:"prompt_truncated,omitempty"`
	Enabled         bool `json:"enabled"`
	// Agent is the name of one of the factory's agents; empty means the foreman.
	Agent    string    `json:"agent"`
	Triggers []Trigger `json:"triggers"`
	// Config is what the automation says about the configuration of its runs.
	Config      *AgentConfig `json:"config,omitempty"`
	Concurrency *Concurrency `json:"concurrency,omitempty"`
	// Title is what its runs are called; empty takes the provider's words or the name.
	Title string `json:"title"`
	// MaxRunsPerHour is a brake; 0 means none.
	MaxRunsPerHour int `json:"max_runs_per_hour"`
	// Notices say what of it has no effect on the server, and why; lists do not have them.
	Notices   []string  `json:"notices,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Trigger says what starts an automation, such as webhook and received.
type Trigger struct {
	Provider string        `json:"provider"`
	Event    string        `json:"event"`
	Filter   TriggerFilter `json:"filter"`
	// Schedule is for provider schedule only.
	Schedule *TriggerSchedule `json:"schedule,omitempty"`
}

// TriggerSchedule says when a trigger of provider schedule fires.
type TriggerSchedule struct {
	// Cron has five fields, or is @daily and the like, or @every 1h.
	Cron string `json:"cron"`
	// Timezone is an IANA name; empty is UTC.
	Timezone string `json:"timezone,omitempty"`
	// Overlap is skip or queue while the last run is live.
	Overlap string `json:"overlap,omitempty"`
}

// TriggerFilter names the webhooks of a trigger, by uid or by name, and which of
// their deliveries count.
type TriggerFilter struct {
	WebhookIDs []string
	Webhooks   []string
	// Payload is a payload filter; nil matches every delivery.
	Payload json.RawMessage
	// Sets are all other keys, such as labels or channel_ids; which of them an event
	// has, the list of events says.
	Sets map[string]Choice
}

// MarshalJSON writes the sets beside the other keys.
func (f TriggerFilter) MarshalJSON() ([]byte, error) {
	keys := map[string]any{}
	for key, set := range f.Sets {
		keys[key] = set
	}
	if len(f.WebhookIDs) > 0 {
		keys["webhook_ids"] = f.WebhookIDs
	}
	if len(f.Webhooks) > 0 {
		keys["webhooks"] = f.Webhooks
	}
	if len(f.Payload) > 0 {
		keys["payload"] = f.Payload
	}
	return encodeJSON(keys)
}

// UnmarshalJSON reads every key, also those that a newer server has.
func (f *TriggerFilter) UnmarshalJSON(text []byte) error {
	*f = TriggerFilter{}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return err
	}
	for key, value := range keys {
		if key == "payload" {
			f.Payload = value
			continue
		}
		var set Choice
		if err := json.Unmarshal(value, &set); err != nil {
			return fmt.Errorf("filter key %s: %w", key, err)
		}
		switch {
		case key == "webhook_ids" && set.NotIn == nil:
			f.WebhookIDs = set.In
		case key == "webhooks" && set.NotIn == nil:
			f.Webhooks = set.In
		default:
			if f.Sets == nil {
				f.Sets = map[string]Choice{}
			}
			f.Sets[key] = set
		}
	}
	return nil
}

// Choice is a set of allowed values and one of refused ones. The API also writes it
// as a list when nothing is refused.
type Choice struct {
	In    []string
	NotIn []string
	// Whole says that the values are whole numbers, as those of pr_numbers are.
	Whole bool
}

// MarshalJSON writes in and not_in, as far as they are there.
func (c Choice) MarshalJSON() ([]byte, error) {
	lists := map[string]any{}
	for key, values := range map[string][]string{"in": c.In, "not_in": c.NotIn} {
		if values != nil {
			lists[key] = writtenValues(values, c.Whole)
		}
	}
	return encodeJSON(lists)
}

func writtenValues(values []string, whole bool) any {
	if !whole {
		return values
	}
	numbers := make([]json.Number, len(values))
	for i, value := range values {
		numbers[i] = json.Number(value)
	}
	return numbers
}

// UnmarshalJSON reads both forms.
func (c *Choice) UnmarshalJSON(text []byte) error {
	*c = Choice{}
	var lists struct {
		In    []choiceValue `json:"in"`
		NotIn []choiceValue `json:"not_in"`
	}
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		err = json.Unmarshal(text, &lists.In)
	} else {
		err = json.Unmarshal(text, &lists)
	}
	c.In, c.NotIn = textsOf(lists.In), textsOf(lists.NotIn)
	c.Whole = slices.ContainsFunc(slices.Concat(lists.In, lists.NotIn), func(v choiceValue) bool { return v.whole })
	return err
}

func textsOf(values []choiceValue) []string {
	if values == nil {
		return nil
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = value.text
	}
	return texts
}

// choiceValue is a text or a number.
type choiceValue struct {
	text  string
	whole bool
}

func (v *choiceValue) UnmarshalJSON(data []byte) error {
	var number json.Number
	if bytes.HasPrefix(data, []byte(`"`)) {
		return json.Unmarshal(data, &v.text)
	}
	err := json.Unmarshal(data, &number)
	v.text, v.whole = number.String(), true
	return err
}

// AutomationRequest asks for an automation.
type AutomationRequest struct {
	Name     string    `json:"name"`
	Prompt   string    `json:"prompt"`
	Triggers []Trigger `json:"triggers"`
	// Enabled is true when nil.
	Enabled *bool `json:"enabled,omitempty"`
	// Agent is the name of one of the factory's agents; empty means the foreman.
	Agent  string       `json:"agent,omitempty"`
	Config *AgentConfig `json:"config,omitempty"`
	// Concurrency is a rule whose key may hold {{payload.path}}.
	Concurrency    *Concurrency `json:"concurrency,omitempty"`
	Title          string       `json:"title,omitempty"`
	MaxRunsPerHour int          `json:"max_runs_per_hour,omitempty"`
}

// AutomationUpdate changes an automation; nil keeps. An empty agent means the
// foreman again; the triggers and the configuration are replaced as a whole.
type AutomationUpdate struct {
	Name           *string      `json:"name,omitempty"`
	Prompt         *string      `json:"prompt,omitempty"`
	Enabled        *bool        `json:"enabled,omitempty"`
	Agent          *string      `json:"agent,omitempty"`
	Triggers       []Trigger    `json:"triggers,omitempty"`
	Config         *AgentConfig `json:"config,omitempty"`
	Concurrency    *Concurrency `json:"concurrency,omitempty"`
	Title          *string      `json:"title,omitempty"`
	MaxRunsPerHour *int         `json:"max_runs_per_hour,omitempty"`
}

// AutomationQuery selects a page of automations.
type AutomationQuery struct {
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// AutomationPage is one page of automations.
type AutomationPage struct {
	Automations []Automation `json:"automations"`
	PageInfo    PageInfo     `json:"page_info"`
}

// Create makes an automation. Sending it twice is a conflict, not a second one.
func (s *AutomationsService) Create(ctx context.Context, factoryUID string, req AutomationRequest) (*Automation, error) {
	path, err := factoryPath(factoryUID, "/automations")
	if err != nil {
		return nil, err
	}
	var out Automation
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out}))
}

// Get reads one automation.
func (s *AutomationsService) Get(ctx context.Context, factoryUID, uid string) (*Automation, error) {
	path, err := automationPath(factoryUID, uid)
	if err != nil {
		return nil, err
	}
	return get[Automation](ctx, s.c, path, nil)
}

// List reads one page of a factory's automations, by name.
func (s *AutomationsService) List(ctx context.Context, factoryUID string, q AutomationQuery) (*AutomationPage, error) {
	path, err := factoryPath(factoryUID, "/automations")
	if err != nil {
		return nil, err
	}
	return get[AutomationPage](ctx, s.c, path, pageQuery(q.Limit, q.Cursor))
}

// All goes through all automations of a factory, page by page.
func (s *AutomationsService) All(ctx context.Context, factoryUID string, q AutomationQuery) iter.Seq2[Automation, error] {
	return pages(q.Cursor, func(cursor string) ([]Automation, PageInfo, error) {
		q.Cursor = cursor
		page, err := s.List(ctx, factoryUID, q)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return page.Automations, page.PageInfo, nil
	})
}

// Update changes what the request names. Sending it twice does the same.
func (s *AutomationsService) Update(ctx context.Context, factoryUID, uid string, req AutomationUpdate) (*Automation, error) {
	path, err := automationPath(factoryUID, uid)
	if err != nil {
		return nil, err
	}
	var out Automation
	return result(&out, s.c.do(ctx, call{method: http.MethodPatch, path: path, body: req, out: &out, replay: true}))
}

// Delete removes an automation. Its runs stay.
func (s *AutomationsService) Delete(ctx context.Context, factoryUID, uid string) error {
	path, err := automationPath(factoryUID, uid)
	if err != nil {
		return err
	}
	return s.c.remove(ctx, path)
}

func automationPath(factoryUID, uid string) (string, error) {
	part, err := segment("automation", uid)
	if err != nil {
		return "", err
	}
	return factoryPath(factoryUID, "/automations/"+part)
}

// TriggerEvent is an event that automations can be triggered by.
type TriggerEvent struct {
	// Event is its name; * stands for any, of a provider whose events are not established.
	Event string `json:"event"`
	// FilterFields are the keys that its filters may have.
	FilterFields     []string          `json:"filter_fields"`
	FilterFieldSpecs []FilterFieldSpec `json:"filter_field_specs"`
	// Notice is why a trigger with it never fires on this server.
	Notice string `json:"notice,omitempty"`
}

// FilterFieldSpec is a key of a trigger's filter.
type FilterFieldSpec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Type of the values is string or integer; Value is what one is.
	Type  string `json:"type"`
	Value string `json:"value,omitempty"`
	// Match is exact, any_case, pattern or part.
	Match string `json:"match"`
	// Forms are list, in and not_in.
	Forms []string `json:"forms"`
	// AliasOf is the key that it stands for; the two exclude each other.
	AliasOf  string `json:"alias_of,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Notice is why events usually do not have it.
	Notice string `json:"notice,omitempty"`
}

// Events lists the events of a provider, such as github or slack, with the keys of their
// filters.
func (s *AutomationsService) Events(ctx context.Context, provider string) ([]TriggerEvent, error) {
	part, err := segment("provider", provider)
	if err != nil {
		return nil, err
	}
	out, err := get[struct {
		Events []TriggerEvent `json:"events"`
	}](ctx, s.c, factoriesPath+"/automations/events/"+part, nil)
	if err != nil {
		return nil, err
	}
	return out.Events, nil
}
