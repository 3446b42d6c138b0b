package api

import (
	"context"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// ScheduledAgentItem starts a run at given times.
type ScheduledAgentItem struct {
	ID              string                  `json:"id"`
	Name            string                  `json:"name"`
	CronSchedule    string                  `json:"cron_schedule"`
	Timezone        string                  `json:"timezone,omitempty" doc:"An IANA name; absent is UTC."`
	Overlap         string                  `json:"overlap,omitempty" enum:"skip,queue" doc:"What happens while the last run is live; if absent, the next one starts anyway."`
	Enabled         bool                    `json:"enabled"`
	Prompt          string                  `json:"prompt"`
	PromptTruncated bool                    `json:"prompt_truncated,omitempty" doc:"In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too long to be shown in full. Get the schedule to read all of it."`
	AgentConfig     *AmbientAgentConfig     `json:"agent_config,omitempty"`
	AgentUID        string                  `json:"agent_uid,omitempty"`
	Metadata        Metadata                `json:"metadata,omitempty"`
	Environment     *CloudEnvironmentConfig `json:"environment,omitempty" doc:"The environment of agent_config, as it is now."`
	History         ScheduleHistory         `json:"history"`
	LastSpawnError  *string                 `json:"last_spawn_error" doc:"Why it started no run at its last time; null if it did."`
	CreatedBy       RunCreatorInfo          `json:"created_by"`
	UpdatedBy       RunCreatorInfo          `json:"updated_by"`
	CreatedAt       string                  `json:"created_at" format:"date-time"`
	UpdatedAt       string                  `json:"updated_at" format:"date-time"`
	Scope           Scope                   `json:"scope"`
}

// ScheduleHistory says when a schedule started a run and when it will.
type ScheduleHistory struct {
	LastRan *string `json:"last_ran" format:"date-time" doc:"When it last started a run; null if it never did."`
	NextRun *string `json:"next_run" format:"date-time" doc:"Null while it is paused."`
}

// CreateScheduledAgentRequest asks for a schedule.
type CreateScheduledAgentRequest struct {
	Name         string              `json:"name" minLength:"1" maxLength:"200"`
	CronSchedule string              `json:"cron_schedule" minLength:"1" maxLength:"256" doc:"Five cron fields, @daily and the like, or @every 1h."`
	Timezone     string              `json:"timezone,omitempty" maxLength:"256" doc:"An IANA name such as Europe/Berlin; UTC when absent."`
	Overlap      string              `json:"overlap,omitempty" doc:"skip or queue: what happens while the last run is live. If absent, the next one starts anyway. Not together with agent_config.concurrency."`
	Prompt       string              `json:"prompt,omitempty" maxLength:"1048576" doc:"Required unless agent_config names a skill."`
	Mode         RunMode             `json:"mode,omitempty"`
	Enabled      *bool               `json:"enabled,omitempty" doc:"True when absent."`
	AgentUID     string              `json:"agent_uid,omitempty" doc:"The agent for its runs."`
	AgentConfig  *AmbientAgentConfig `json:"agent_config,omitempty"`
	Team         *bool               `json:"team,omitempty" doc:"Accepted; every schedule belongs to the team."`
	Metadata     Metadata            `json:"metadata,omitempty" doc:"Given to its runs."`
}

// UpdateScheduledAgentRequest replaces a schedule: what is absent is cleared.
type UpdateScheduledAgentRequest struct {
	Name         string              `json:"name" minLength:"1" maxLength:"200"`
	CronSchedule string              `json:"cron_schedule" minLength:"1" maxLength:"256"`
	Enabled      bool                `json:"enabled"`
	Timezone     string              `json:"timezone,omitempty" maxLength:"256"`
	Overlap      string              `json:"overlap,omitempty" doc:"skip or queue."`
	Prompt       string              `json:"prompt,omitempty" maxLength:"1048576"`
	Mode         RunMode             `json:"mode,omitempty"`
	AgentUID     string              `json:"agent_uid,omitempty"`
	AgentConfig  *AmbientAgentConfig `json:"agent_config,omitempty"`
	Metadata     Metadata            `json:"metadata,omitempty"`
}

// ListScheduledAgentsResponse has schedules by name.
type ListScheduledAgentsResponse struct {
	Schedules []ScheduledAgentItem `json:"schedules"`
	PageInfo  *PageInfo            `json:"page_info,omitempty" doc:"Absent if the list is complete."`
}

// DeleteScheduledAgentResponse says that a schedule is gone.
type DeleteScheduledAgentResponse struct {
	Success bool `json:"success"`
}

// RunSchedule says which schedule started a run, as it was then.
type RunSchedule struct {
	ScheduleID   string `json:"schedule_id"`
	ScheduleName string `json:"schedule_name"`
	CronSchedule string `json:"cron_schedule"`
	Slot         string `json:"slot,omitempty" doc:"The time that the run is for, by the wall clock of the schedule's time zone." example:"2026-10-25T02:30"`
}

// SchedulePath is the part of a path that names a schedule.
type SchedulePath struct {
	ScheduleID string `path:"scheduleId" doc:"The id of a schedule."`
}

type updateScheduleInput struct {
	SchedulePath
	Body UpdateScheduledAgentRequest
}

func (s *server) createSchedule(ctx context.Context, in *given[CreateScheduledAgentRequest]) (*answer[ScheduledAgentItem], error) {
	b := &in.Body
	n, err := newSchedule(UpdateScheduledAgentRequest{
		Name: b.Name, CronSchedule: b.CronSchedule, Enabled: b.Enabled == nil || *b.Enabled, Timezone: b.Timezone, Overlap: b.Overlap,
		Prompt: b.Prompt, Mode: b.Mode, AgentUID: b.AgentUID, AgentConfig: b.AgentConfig, Metadata: b.Metadata,
	})
	if err != nil {
		return nil, err
	}
	return s.scheduleAnswer(ctx)(s.Control.CreateSchedule(ctx, callerOf(ctx), n))
}

func (s *server) updateSchedule(ctx context.Context, in *updateScheduleInput) (*answer[ScheduledAgentItem], error) {
	n, err := newSchedule(in.Body)
	if err != nil {
		return nil, err
	}
	return s.scheduleAnswer(ctx)(s.Control.UpdateSchedule(ctx, callerOf(ctx), in.ScheduleID, n))
}

func newSchedule(b UpdateScheduledAgentRequest) (trigger.NewSchedule, error) {
	if err := b.Mode.check(); err != nil {
		return trigger.NewSchedule{}, err
	}
	config, err := automationConfig(b.AgentConfig)
	if err != nil {
		return trigger.NewSchedule{}, inAgentConfig(err)
	}
	return trigger.NewSchedule{
		Name: b.Name, Timing: lineshaft.Timing{Cron: b.CronSchedule, Timezone: b.Timezone, Overlap: lineshaft.Overlap(b.Overlap)}, Enabled: b.Enabled,
		Prompt: b.Prompt, AgentUID: b.AgentUID, Config: config, Metadata: b.Metadata,
	}, nil
}

// inAgentConfig names a field of a configuration as schedules do.
func inAgentConfig(err error) error {
	return lineshaft.Rename(err, func(field string) string {
		if strings.HasPrefix(field, "config") {
			return "agent_" + field
		}
		return field
	})
}

func (s *server) scheduleAnswer(ctx context.Context) func(*lineshaft.Schedule, error) (*answer[ScheduledAgentItem], error) {
	return func(found *lineshaft.Schedule, err error) (*answer[ScheduledAgentItem], error) {
		if err != nil {
			return nil, err
		}
		return reply(s.wireSchedule(ctx, found))
	}
}

func (s *server) listSchedules(ctx context.Context, in *ListQuery) (*answer[ListScheduledAgentsResponse], error) {
	if err := s.takeTurn(ctx, weightList); err != nil {
		return nil, err
	}
	page, err := s.Control.ListSchedules(ctx, callerOf(ctx), "", in.Limit, in.Cursor)
	if err != nil {
		return nil, err
	}
	schedules, info, err := fillPage(page, func(one *lineshaft.Schedule) (ScheduledAgentItem, error) { return s.wireSchedule(ctx, one) })
	return reply(ListScheduledAgentsResponse{schedules, whenMore(info)}, err)
}

func (s *server) getSchedule(ctx context.Context, in *SchedulePath) (*answer[ScheduledAgentItem], error) {
	return s.scheduleAnswer(ctx)(s.Control.GetSchedule(ctx, callerOf(ctx), in.ScheduleID))
}

func (s *server) pauseSchedule(ctx context.Context, in *SchedulePath) (*answer[ScheduledAgentItem], error) {
	return s.scheduleAnswer(ctx)(s.Control.SetScheduleEnabled(ctx, callerOf(ctx), in.ScheduleID, false))
}

func (s *server) resumeSchedule(ctx context.Context, in *SchedulePath) (*answer[ScheduledAgentItem], error) {
	return s.scheduleAnswer(ctx)(s.Control.SetScheduleEnabled(ctx, callerOf(ctx), in.ScheduleID, true))
}

func (s *server) deleteSchedule(ctx context.Context, in *SchedulePath) (*answer[DeleteScheduledAgentResponse], error) {
	return reply(DeleteScheduledAgentResponse{Success: true}, s.Control.DeleteSchedule(ctx, callerOf(ctx), in.ScheduleID))
}

func (s *server) wireSchedule(ctx context.Context, one *lineshaft.Schedule) (ScheduledAgentItem, error) {
	item := ScheduledAgentItem{
		ID: one.ID, Name: one.Name, CronSchedule: one.Timing.Cron, Timezone: one.Timing.Timezone, Overlap: string(one.Timing.Overlap), Enabled: one.Enabled,
		Prompt: one.Prompt, PromptTruncated: one.Truncated, AgentConfig: wireConfig(one.Config), AgentUID: one.AgentUID, Metadata: one.Metadata,
		History:   ScheduleHistory{LastRan: stampOrNull(one.LastRun), NextRun: stampOrNull(one.NextRun)},
		CreatedBy: wirePrincipal(one.Creator), UpdatedBy: wirePrincipal(one.Editor),
		CreatedAt: stamp(one.CreatedAt), UpdatedAt: stamp(one.UpdatedAt), Scope: Scope{Type: "Team"},
	}
	if one.LastError != "" {
		item.LastSpawnError = &one.LastError
	}
	if one.Config.EnvironmentID == "" {
		return item, nil
	}
	environment, err := s.Control.GetEnvironment(ctx, callerOf(ctx), one.Config.EnvironmentID)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return item, nil // it is gone; the next fire will say so
	}
	if err == nil {
		config := wireEnvironmentConfig(environment.Config)
		item.Environment = &config
	}
	return item, err
}

func wireFiredBy(f *lineshaft.FiredBy) *RunSchedule {
	if f == nil {
		return nil
	}
	return &RunSchedule{f.ScheduleID, f.Name, f.Cron, f.Slot}
}
