package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const schedulesPath = "/agent/schedules"

// SchedulesService manages what starts runs at given times. It is part of a Client.
type SchedulesService struct{ c *Client }

// Schedule starts a run at given times.
type Schedule struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// CronSchedule has five fields, or is @daily and the like, or @every 1h.
	CronSchedule string `json:"cron_schedule"`
	// Timezone is an IANA name; empty is UTC.
	Timezone string `json:"timezone,omitempty"`
	// Overlap is skip or queue while the last run is live; empty starts the next beside it.
	Overlap string `json:"overlap,omitempty"`
	Enabled bool   `json:"enabled"`
	Prompt  string `json:"prompt"`
	// PromptTruncated says that a list shows the first 4096 bytes of longer prompts, or not
	// all of the configuration; Get has all of it.
	PromptTruncated bool              `json:"prompt_truncated,omitempty"`
	AgentConfig     *AgentConfig      `json:"agent_config,omitempty"`
	AgentUID        string            `json:"agent_uid,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	// Environment is the one of AgentConfig, as it is now.
	Environment *EnvironmentConfig `json:"environment,omitempty"`
	Scope       *Scope             `json:"scope,omitempty"`
	History     ScheduleHistory    `json:"history"`
	// LastSpawnError is why the last fire started no run; nil when it did.
	LastSpawnError *string    `json:"last_spawn_error"`
	CreatedBy      *Principal `json:"created_by,omitempty"`
	UpdatedBy      *Principal `json:"updated_by,omitempty"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
}

// ScheduleHistory tells when a schedule started a run and when it will; nil is never,
// and not while it is paused.
type ScheduleHistory struct {
	LastRan *time.Time `json:"last_ran"`
	NextRun *time.Time `json:"next_run"`
}

// ScheduleRequest asks for a schedule.
type ScheduleRequest struct {
	Name         string `json:"name"`
	CronSchedule string `json:"cron_schedule"`
	Timezone     string `json:"timezone,omitempty"`
	Overlap      string `json:"overlap,omitempty"`
	Prompt       string `json:"prompt,omitempty"`
	// Enabled is true when nil.
	Enabled     *bool             `json:"enabled,omitempty"`
	AgentUID    string            `json:"agent_uid,omitempty"`
	AgentConfig *AgentConfig      `json:"agent_config,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// ScheduleUpdate replaces a schedule: what is empty is cleared.
type ScheduleUpdate struct {
	Name         string            `json:"name"`
	CronSchedule string            `json:"cron_schedule"`
	Enabled      bool              `json:"enabled"`
	Timezone     string            `json:"timezone,omitempty"`
	Overlap      string            `json:"overlap,omitempty"`
	Prompt       string            `json:"prompt,omitempty"`
	AgentUID     string            `json:"agent_uid,omitempty"`
	AgentConfig  *AgentConfig      `json:"agent_config,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
}

// Create makes a schedule; it fires from now on. It is not sent again by itself:
// names are not unique, so that there could be two.
func (s *SchedulesService) Create(ctx context.Context, req ScheduleRequest) (*Schedule, error) {
	var out Schedule
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: schedulesPath, body: req, out: &out}))
}

// Get reads one schedule.
func (s *SchedulesService) Get(ctx context.Context, id string) (*Schedule, error) {
	return s.one(ctx, http.MethodGet, id, "", nil)
}

// List reads all schedules by name.
func (s *SchedulesService) List(ctx context.Context) ([]Schedule, error) {
	return readAll(url.Values{}, func(query url.Values) ([]Schedule, PageInfo, error) {
		var page struct {
			Schedules []Schedule `json:"schedules"`
			PageInfo  PageInfo   `json:"page_info"`
		}
		err := s.c.do(ctx, call{method: http.MethodGet, path: schedulesPath, query: query, out: &page, replay: true})
		return page.Schedules, page.PageInfo, err
	})
}

// Update replaces a schedule. Sending it twice does the same.
func (s *SchedulesService) Update(ctx context.Context, id string, req ScheduleUpdate) (*Schedule, error) {
	return s.one(ctx, http.MethodPut, id, "", req)
}

// Pause stops a schedule until it is resumed.
func (s *SchedulesService) Pause(ctx context.Context, id string) (*Schedule, error) {
	return s.one(ctx, http.MethodPost, id, "/pause", nil)
}

// Resume lets a schedule fire from now on; what it missed is not made up.
func (s *SchedulesService) Resume(ctx context.Context, id string) (*Schedule, error) {
	return s.one(ctx, http.MethodPost, id, "/resume", nil)
}

func (s *SchedulesService) one(ctx context.Context, method, id, verb string, body any) (*Schedule, error) {
	part, err := segment("schedule", id)
	if err != nil {
		return nil, err
	}
	var out Schedule
	return result(&out, s.c.do(ctx, call{method: method, path: schedulesPath + "/" + part + verb, body: body, out: &out, replay: true}))
}

// Delete removes a schedule. Its runs stay.
func (s *SchedulesService) Delete(ctx context.Context, id string) error {
	part, err := segment("schedule", id)
	if err != nil {
		return err
	}
	return s.c.remove(ctx, schedulesPath+"/"+part)
}
