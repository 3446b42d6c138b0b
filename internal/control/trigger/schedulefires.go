package trigger

import (
	"context"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/cron"
	"github.com/lineshaft/lineshaft/internal/store"
)

// maxTimed bounds how many timers of automations are listed.
const maxTimed = 500

// PreviewFires says when a timing would fire if it were saved now. The times are in
// its zone.
func (s *Triggers) PreviewFires(ctx context.Context, c lineshaft.Caller, timing lineshaft.Timing, n int) ([]time.Time, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	if err := timing.Validate("cron"); err != nil {
		return nil, err
	}
	now, err := s.TimerClock(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	return TriggerFires(timing, now, n)
}

// NextFires returns the next times of a timing, of which the first is known; none for a
// timing that is paused or can no longer be read. The times are in its zone.
func NextFires(timing lineshaft.Timing, first time.Time, n int) []time.Time {
	parsed, err := cron.Parse(timing)
	if err != nil || first.IsZero() || n < 1 {
		return nil
	}
	// A timing that counts from an anchor continues from any of its times alike.
	return append([]time.Time{first.In(parsed.Zone())}, fires(parsed.Anchored(first), first, n-1)...)
}

func fires(parsed *cron.Schedule, after time.Time, n int) []time.Time {
	var times []time.Time
	for slot, ok := parsed.Next(after); ok && len(times) < n; slot, ok = parsed.Next(slot.At) {
		times = append(times, slot.At.In(parsed.Zone()))
	}
	return times
}

// TimedAutomation is a schedule that a trigger of an automation has.
type TimedAutomation struct {
	FactoryUID    string
	Factory       string
	AutomationUID string
	Automation    string
	Timing        lineshaft.Timing
	NextRun       time.Time
	// Paused says that its factory is paused, so it starts nothing.
	Paused bool
}

// RunsID is what runs of the automation name as their schedule.
func (t TimedAutomation) RunsID() string { return automationTimer + t.AutomationUID }

// ListTimed reads the schedules of enabled automations that the caller's key reaches,
// the next to fire first. It lists so many at most, and no page is missed by people.
func (s *Triggers) ListTimed(ctx context.Context, c lineshaft.Caller) ([]TimedAutomation, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	found, err := s.Store.ListTimed(ctx, maxTimed)
	if err != nil {
		return nil, err
	}
	var list []TimedAutomation
	for _, t := range found {
		if c.MaySeeFactory(t.FactoryUID) {
			list = append(list, TimedAutomation{
				FactoryUID: t.FactoryUID, Factory: t.Factory, AutomationUID: t.AutomationUID, Automation: t.Automation,
				Timing: t.Timing, NextRun: t.NextAt, Paused: t.Paused,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b TimedAutomation) int { return a.NextRun.Compare(b.NextRun) })
	return list, nil
}

// ScheduledRun is the newest run of a schedule.
type ScheduledRun = store.ScheduledRun

// NewestScheduled reads the newest run of each of some schedules, by the schedule's id.
// Only schedules that the caller has been shown may be asked for.
func (s *Triggers) NewestScheduled(ctx context.Context, c lineshaft.Caller, scheduleIDs []string) (map[string]ScheduledRun, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	found, err := s.Store.NewestScheduled(ctx, scheduleIDs)
	for id, run := range found {
		if !c.MaySeeFactory(run.FactoryUID) {
			delete(found, id)
		}
	}
	return found, err
}

// TriggerFires are the next times of a trigger's schedule, at most n, in its zone.
func TriggerFires(timing lineshaft.Timing, after time.Time, n int) ([]time.Time, error) {
	schedule, err := cron.Parse(timing)
	if err != nil {
		return nil, err
	}
	return fires(schedule.Anchored(after), after, n), nil
}
