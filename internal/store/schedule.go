package store

import (
	"context"
	"errors"
	"time"

	"github.com/lineshaft/lineshaft"
)

const scheduleColumns = "id, name, timing, enabled, prompt, agent_uid, factory_uid, config, metadata, last_error, last_run, creator_uid, editor_uid, created_at, updated_at"

// readSchedules has the time of the next run, which is the timer's, and finally its creator and last editor.
const readSchedules = `SELECT s.id, s.name, s.timing, s.enabled, s.prompt, s.agent_uid, s.factory_uid, s.config, s.metadata, s.last_error, s.last_run,
	s.created_at, s.updated_at, t.next_at, c.uid, c.type, c.display_name, c.email, e.uid, e.type, e.display_name, e.email
	FROM schedules s JOIN timers t ON t.owner = 'schedule/' || s.id JOIN principals c ON c.uid = s.creator_uid JOIN principals e ON e.uid = s.editor_uid `

// PutSchedule stores a schedule, new or changed. It keeps the last run, the reason why
// it did not run, and the creator.
func (tx *Tx) PutSchedule(ctx context.Context, s lineshaft.Schedule) error {
	timing, timingErr := encode(s.Timing)
	config, configErr := encode(s.Config)
	metadata, metadataErr := encode(s.Metadata)
	if err := errors.Join(timingErr, configErr, metadataErr); err != nil {
		return err
	}
	return tx.do(ctx, "put schedule",
		`INSERT INTO schedules (`+scheduleColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', 0, $10, $11, $12, $13)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, timing = excluded.timing, enabled = excluded.enabled, prompt = excluded.prompt,
		agent_uid = excluded.agent_uid, factory_uid = excluded.factory_uid, config = excluded.config, metadata = excluded.metadata,
		editor_uid = excluded.editor_uid, updated_at = excluded.updated_at`,
		s.ID, s.Name, timing, flag(s.Enabled), s.Prompt, s.AgentUID, s.FactoryUID, config, metadata, s.Creator.UID, s.Editor.UID, micros(s.CreatedAt), micros(s.UpdatedAt))
}

// NoteSpawn records that a schedule started a run at a time, or why it did not.
func (tx *Tx) NoteSpawn(ctx context.Context, id string, at time.Time, problem string) error {
	query, args := "UPDATE schedules SET last_error = '', last_run = $2 WHERE id = $1", []any{id, micros(at)}
	if problem != "" {
		query, args = "UPDATE schedules SET last_error = $2 WHERE id = $1", []any{id, problem}
	}
	return tx.do(ctx, "note run of schedule", query, args...)
}

// DeleteSchedule removes a schedule and its timer; its runs stay.
func (tx *Tx) DeleteSchedule(ctx context.Context, id string) error {
	if err := tx.DeleteTimers(ctx, []string{ScheduleTimer(id)}); err != nil {
		return err
	}
	return tx.change(ctx, "delete schedule", "schedule", id, "DELETE FROM schedules WHERE id = $1", id)
}

// GetSchedule reads a schedule.
func (r reader) GetSchedule(ctx context.Context, id string) (*lineshaft.Schedule, error) {
	return only(r.schedules(ctx, "WHERE s.id = $1", id)).orNotFound("schedule", id)
}

// ScheduleKey is a place in the list of schedules.
type ScheduleKey struct{ Name, ID string }

// PageSchedules reads a page of schedules by name, as lists show them: all, or those whose
// agents are of factories that are named.
func (r reader) PageSchedules(ctx context.Context, factoryUIDs []string, after ScheduleKey, limit int) ([]lineshaft.Schedule, bool, error) {
	args := []any{after.Name, after.ID}
	end := "WHERE (s.name, s.id) > ($1, $2)"
	if len(factoryUIDs) > 0 {
		end += " AND s.factory_uid IN " + list(&args, factoryUIDs)
	}
	return readPage(ctx, r, listing[lineshaft.Schedule]{
		sizes: "SELECT octet_length(s.prompt) + octet_length(s.config) FROM schedules s", end: end + " ORDER BY s.name, s.id", args: args, read: r.schedules,
		cut: func(one *lineshaft.Schedule) { one.Truncated = cutTexts(&one.Config, &one.Prompt) },
	}, limit)
}

// ScheduleExtent is how many schedules there are.
func (r reader) ScheduleExtent(ctx context.Context) (Extent, error) {
	return r.extent(ctx, "SELECT count(*), 0 FROM schedules")
}

func (r reader) schedules(ctx context.Context, end string, args ...any) ([]lineshaft.Schedule, error) {
	return collect(ctx, r, "read schedules", readSchedules+end, args, func(scan rowScan) (*lineshaft.Schedule, error) {
		s := &lineshaft.Schedule{}
		var next int64
		err := scan(&s.ID, &s.Name, toJSON(&s.Timing), toFlag(&s.Enabled), &s.Prompt, &s.AgentUID, &s.FactoryUID, toJSON(&s.Config), toJSON(&s.Metadata),
			&s.LastError, toTime(&s.LastRun), toTime(&s.CreatedAt), toTime(&s.UpdatedAt), &next, &s.Creator.UID, &s.Creator.Type, &s.Creator.DisplayName,
			&s.Creator.Email, &s.Editor.UID, &s.Editor.Type, &s.Editor.DisplayName, &s.Editor.Email)
		s.NextRun = fromNext(next)
		return s, err
	})
}
