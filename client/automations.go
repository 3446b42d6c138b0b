package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
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
	Enabled    bool   `json:"enabled"`
	// Agent is the name of one of the factory's agents; empty means the foreman.
	Agent    string    `json:"agent"`
	Triggers []Trigger `json:"triggers"`
	// Config is what the automation says about the configuration of its runs.
	Config      *AgentConfig `json:"config,omitempty"`
	Concurrency *Concurrency `json:"concurrency,omitempty"`
	// MaxRunsPerHour is a brake; 0 means none.
	MaxRunsPerHour int       `json:"max_runs_per_hour"`
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
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
	WebhookIDs []string `json:"webhook_ids,omitempty"`
	Webhooks   []string `json:"webhooks,omitempty"`
	// Payload is a payload filter; nil matches every delivery.
	Payload json.RawMessage `json:"payload,omitempty"`

	// Of github and gitlab; nil does not limit.
	Repos        *Choice `json:"repos,omitempty"`
	Labels       *Choice `json:"labels,omitempty"`
	Authors      *Choice `json:"authors,omitempty"`
	Branches     *Choice `json:"branches,omitempty"`
	BaseBranches *Choice `json:"base_branches,omitempty"`
	Paths        *Choice `json:"paths,omitempty"`
	Conclusions  *Choice `json:"conclusions,omitempty"`

	// Of run; nil does not limit, but for factories, where it is the automation's own.
	Agents      *Choice `json:"agents,omitempty"`
	Automations *Choice `json:"automations,omitempty"`
	States      *Choice `json:"states,omitempty"`
	Factories   *Choice `json:"factories,omitempty"`
}

// Choice is a set of allowed values and one of refused ones. The API also writes it
// as a list when nothing is refused.
type Choice struct {
	In    []string `json:"in,omitzero"`
	NotIn []string `json:"not_in,omitzero"`
}

// UnmarshalJSON reads both forms.
func (c *Choice) UnmarshalJSON(text []byte) error {
	*c = Choice{}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		return json.Unmarshal(text, &c.In)
	}
	type object Choice
	return json.Unmarshal(text, (*object)(c))
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
