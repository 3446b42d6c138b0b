package trigger

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// NewSchedule is what people say of a schedule.
type NewSchedule struct {
	Name     string
	Timing   lineshaft.Timing
	Enabled  bool
	Prompt   string
	AgentUID string
	Config   lineshaft.AgentConfig
	Metadata map[string]string
}

func (n NewSchedule) apply(s *lineshaft.Schedule) {
	s.Name, s.Timing, s.Enabled, s.Prompt, s.AgentUID, s.Config, s.Metadata = n.Name, n.Timing, n.Enabled, n.Prompt, n.AgentUID, n.Config, n.Metadata
}

// CreateSchedule makes a schedule; it fires from now on.
func (s *Triggers) CreateSchedule(ctx context.Context, c lineshaft.Caller, n NewSchedule) (*lineshaft.Schedule, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	id, at := s.Store.NewID()
	made := lineshaft.Schedule{ID: id, Creator: c.Principal, CreatedAt: at}
	n.apply(&made)
	if err := s.checkSchedule(ctx, c, &made); err != nil {
		return nil, err
	}
	var stored *lineshaft.Schedule
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return base.PutWithin(ctx, "schedules", store.Extent{Rows: lineshaft.MaxSchedules}, tx.ScheduleExtent, func() (err error) {
			stored, err = s.writeSchedule(ctx, tx, c, made, nil, "schedule.create")
			return err
		})
	})
	return stored, err
}

// writeSchedule writes a schedule with its timer; old is the one that it has.
func (s *Triggers) writeSchedule(ctx context.Context, tx *store.Tx, c lineshaft.Caller, made lineshaft.Schedule, old *store.Timer, action string) (*lineshaft.Schedule, error) {
	made.Editor, made.UpdatedAt = c.Principal, s.Store.Now()
	if err := s.setTimer(ctx, tx, made, old); err != nil {
		return nil, err
	}
	principal := schedulePrincipal(made)
	if err := tx.PutPrincipal(ctx, c.Principal, made.UpdatedAt); err != nil {
		return nil, err
	}
	if err := tx.PutPrincipal(ctx, principal, made.CreatedAt); err != nil {
		return nil, err
	}
	if err := tx.RenamePrincipal(ctx, principal); err != nil {
		return nil, err
	}
	if err := tx.PutSchedule(ctx, made); err != nil {
		return nil, err
	}
	if err := s.Audit(ctx, tx, c, action, "schedule", made.ID, scheduleDetail(made)); err != nil {
		return nil, err
	}
	return tx.GetSchedule(ctx, made.ID)
}

func scheduleDetail(s lineshaft.Schedule) map[string]string {
	return map[string]string{"name": s.Name, "cron": s.Timing.Cron, "timezone": s.Timing.Timezone, "enabled": strconv.FormatBool(s.Enabled)}
}

func schedulePrincipal(s lineshaft.Schedule) lineshaft.Principal {
	return lineshaft.Principal{UID: base.SchedulePrincipalPrefix + s.ID, Type: lineshaft.ServiceAccount, DisplayName: s.Name}
}

// checkSchedule checks all of a schedule and finds its factory.
func (s *Triggers) checkSchedule(ctx context.Context, c lineshaft.Caller, made *lineshaft.Schedule) error {
	if err := made.Validate(); err != nil {
		return scheduleField(err)
	}
	if err := checkTiming(made.Timing, made.Config.Concurrency); err != nil {
		return scheduleField(err)
	}
	// A key that is limited to factories could not see a schedule without one.
	if made.AgentUID == "" && !c.MaySeeFactory("") {
		return lineshaft.Denied("your key is limited to factories; name one of their agents in agent_uid, or use another key")
	}
	// As if it fired now: what cannot start today is reported today.
	req := lineshaft.NewRun{AgentUID: made.AgentUID, Config: made.Config}
	d, err := s.runs.DefinitionsOf(ctx, s.Store, c, req, &store.Lineage{})
	if err == nil {
		_, _, err = s.runs.ResolveConfig(ctx, s.Store, c, made.Config, d)
	}
	if err != nil {
		return scheduleField(err)
	}
	made.FactoryUID = ""
	if d.Agent != nil {
		made.FactoryUID = d.Agent.FactoryUID
	}
	return scheduleField(s.secrets.CheckSecrets(ctx, c, made.Config))
}

// setTimer makes the timer of a schedule. With an unchanged timing it keeps its next
// time; otherwise it begins now, and times missed meanwhile are not made up.
func (s *Triggers) setTimer(ctx context.Context, tx *store.Tx, made lineshaft.Schedule, old *store.Timer) error {
	same := old != nil && old.Timing.Cron == made.Timing.Cron && old.Timing.Timezone == made.Timing.Timezone
	if made.Enabled && same && !old.NextAt.IsZero() {
		old.Timing = made.Timing
		return tx.PutTimer(ctx, *old)
	}
	now, err := s.TimerClock(ctx, tx)
	if err != nil {
		return err
	}
	timer, err := newTimer(store.ScheduleTimer(made.ID), made.Timing, now)
	if err != nil {
		return err
	}
	if !made.Enabled {
		timer = store.Timer{Owner: timer.Owner, Timing: timer.Timing, Anchor: timer.Anchor}
	}
	return tx.PutTimer(ctx, timer)
}

// GetSchedule reads a schedule that the caller's key reaches.
func (s *Triggers) GetSchedule(ctx context.Context, c lineshaft.Caller, id string) (*lineshaft.Schedule, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	return visibleSchedule(ctx, s.Store, c, id)
}

func visibleSchedule(ctx context.Context, r interface {
	GetSchedule(ctx context.Context, id string) (*lineshaft.Schedule, error)
}, c lineshaft.Caller, id string,
) (*lineshaft.Schedule, error) {
	found, err := r.GetSchedule(ctx, id)
	if err == nil && !c.MaySeeFactory(found.FactoryUID) {
		return nil, lineshaft.NotFound("schedule", id)
	}
	return found, err
}

// ListSchedules reads a page of the schedules that the caller's key reaches, by name: of
// all, or of those of one factory.
func (s *Triggers) ListSchedules(ctx context.Context, c lineshaft.Caller, factoryUID string, limit int, cursor string) (base.Page[lineshaft.Schedule], error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return base.Page[lineshaft.Schedule]{}, err
	}
	factories, ok := base.ListedFactories(c, factoryUID)
	if !ok {
		return base.Page[lineshaft.Schedule]{}, nil
	}
	return base.ReadPage("schedules\x00"+factoryUID, cursor,
		func(one *lineshaft.Schedule) store.ScheduleKey { return store.ScheduleKey{Name: one.Name, ID: one.ID} },
		func(after store.ScheduleKey) ([]lineshaft.Schedule, bool, error) {
			return s.Store.PageSchedules(ctx, factories, after, limit)
		})
}

// UpdateSchedule replaces a schedule as a whole.
func (s *Triggers) UpdateSchedule(ctx context.Context, c lineshaft.Caller, id string, n NewSchedule) (*lineshaft.Schedule, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	if _, err := s.GetSchedule(ctx, c, id); err != nil {
		return nil, err
	}
	var checked lineshaft.Schedule
	n.apply(&checked)
	if err := s.checkSchedule(ctx, c, &checked); err != nil {
		return nil, err
	}
	return s.changeSchedule(ctx, c, id, "schedule.update", func(one *lineshaft.Schedule) {
		n.apply(one)
		one.FactoryUID = checked.FactoryUID
	})
}

// SetScheduleEnabled pauses or resumes a schedule. Resumed, it fires from now on.
func (s *Triggers) SetScheduleEnabled(ctx context.Context, c lineshaft.Caller, id string, enabled bool) (*lineshaft.Schedule, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	action := "schedule.pause"
	if enabled {
		action = "schedule.resume"
	}
	return s.changeSchedule(ctx, c, id, action, func(one *lineshaft.Schedule) { one.Enabled = enabled })
}

// changeSchedule changes a schedule. Its timer is locked first, as when it fires.
func (s *Triggers) changeSchedule(ctx context.Context, c lineshaft.Caller, id, action string, change func(*lineshaft.Schedule)) (*lineshaft.Schedule, error) {
	var stored *lineshaft.Schedule
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		timer, err := tx.LockTimer(ctx, store.ScheduleTimer(id))
		if base.IgnoreNotFound(err) != nil {
			return err
		}
		found, err := visibleSchedule(ctx, tx, c, id)
		if err != nil {
			return err
		}
		change(found)
		stored, err = s.writeSchedule(ctx, tx, c, *found, timer, action)
		return err
	})
	return stored, err
}

// DeleteSchedule removes a schedule; its runs stay.
func (s *Triggers) DeleteSchedule(ctx context.Context, c lineshaft.Caller, id string) error {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockTimer(ctx, store.ScheduleTimer(id)); base.IgnoreNotFound(err) != nil {
			return err
		}
		found, err := visibleSchedule(ctx, tx, c, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteSchedule(ctx, id); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "schedule.delete", "schedule", id, scheduleDetail(*found))
	})
}

// draftScheduled drafts the run of a schedule.
func (s *Triggers) draftScheduled(ctx context.Context, tx *store.Tx, f *firing) error {
	one, err := tx.GetSchedule(ctx, strings.TrimPrefix(f.timer.Owner, scheduleTimer))
	if err != nil {
		return err
	}
	// The author's rights were checked when the schedule was saved. Its runs reach only
	// those of their own factory.
	author := lineshaft.Caller{Principal: schedulePrincipal(*one), Role: lineshaft.RoleManager}
	f.start = &runs.RunStart{Caller: author, FactoryUID: one.FactoryUID}
	if one.FactoryUID != "" {
		f.start.Caller.FactoryUIDs = []string{one.FactoryUID}
		factory, err := tx.GetFactory(ctx, one.FactoryUID)
		if err != nil {
			return err
		}
		if f.start.Paused = factory.Paused; factory.Paused {
			return nil
		}
	}
	req := lineshaft.NewRun{
		Prompt: one.Prompt, Title: one.Name, Config: one.Config, Source: lineshaft.SourceSchedule, AgentUID: one.AgentUID, Metadata: one.Metadata,
		FiredBy: &lineshaft.FiredBy{ScheduleID: one.ID, Name: one.Name, Cron: one.Timing.Cron, Slot: f.slot.Name},
	}
	if one.Timing.Overlap != lineshaft.OverlapAllow {
		req.Config.Concurrency = f.overlap()
	}
	if f.run, f.start.Budget, err = s.runs.NewRun(ctx, tx, author, req); err != nil {
		return scheduleField(err)
	}
	f.setOverlapKey()
	return nil
}

// InField puts a path before the field that an error names.
func InField(err error, prefix string) error {
	public, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return err
	}
	blamed := *public
	blamed.Field = prefix + public.Field
	return &blamed
}

// scheduleField gives the field of an error the name that it has in a schedule.
func scheduleField(err error) error {
	public, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return err
	}
	blamed := *public
	if rest, ok := strings.CutPrefix(public.Field, "config."); ok {
		blamed.Field = "agent_config." + rest
	}
	switch public.Field {
	case "cron":
		blamed.Field = "cron_schedule"
	case "cron_schedule.overlap":
		blamed.Field = "overlap"
	case "agent_identity_uid":
		blamed.Field = "agent_uid"
	}
	return &blamed
}
