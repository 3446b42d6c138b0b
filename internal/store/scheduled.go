package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

// TimedAutomation is the timer of an automation's schedule, with the names of both.
type TimedAutomation struct {
	Timer

	Factory       string
	AutomationUID string
	Automation    string
	Paused        bool
}

// ListTimed reads timers of automations. Their owner is automation/<uid>/<digest>, and
// a uid has 36 characters.
func (r reader) ListTimed(ctx context.Context, limit int) ([]TimedAutomation, error) {
	return collect(ctx, r, "list timers of automations",
		`SELECT t.owner, t.factory_uid, t.timing, t.next_at, f.name, f.paused, a.uid, a.name
		FROM timers t JOIN factories f ON f.uid = t.factory_uid JOIN automations a ON a.uid = substr(t.owner, 12, 36)
		WHERE t.factory_uid > '' ORDER BY t.factory_uid LIMIT $1`, []any{limit}, func(scan rowScan) (*TimedAutomation, error) {
			t := &TimedAutomation{}
			var next int64
			err := scan(&t.Owner, &t.FactoryUID, toJSON(&t.Timing), &next, &t.Factory, toFlag(&t.Paused), &t.AutomationUID, &t.Automation)
			t.NextAt = fromNext(next)
			return t, err
		})
}

// ScheduledRun is the newest run of a schedule.
type ScheduledRun struct {
	ID         string
	FactoryUID string
	Title      string
	State      lineshaft.RunState
	CreatedAt  time.Time
}

// NewestScheduled reads the newest run of each of some schedules that has one.
func (r reader) NewestScheduled(ctx context.Context, scheduleIDs []string) (map[string]ScheduledRun, error) {
	found := map[string]ScheduledRun{}
	if len(scheduleIDs) == 0 {
		return found, nil
	}
	query, args := "WITH s (id) AS (VALUES ", []any{}
	for i, one := range scheduleIDs {
		if i > 0 {
			query += ", "
		}
		args = append(args, one)
		query += fmt.Sprintf("(CAST($%d AS TEXT))", len(args))
	}
	query += `) SELECT s.id, r.id, r.factory_uid, r.title, r.state, r.created_at FROM s
		JOIN runs r ON r.id = (SELECT id FROM runs WHERE schedule_id = s.id ORDER BY id DESC LIMIT 1)`
	err := r.each(ctx, query, args, func(scan rowScan) error {
		var scheduleID string
		var run ScheduledRun
		err := scan(&scheduleID, &run.ID, toText(&run.FactoryUID), &run.Title, &run.State, toTime(&run.CreatedAt))
		found[scheduleID] = run
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read runs of schedules: %w", err)
	}
	return found, nil
}
