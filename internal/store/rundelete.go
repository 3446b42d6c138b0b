package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

// deleteChunk is how many rows one write removes.
const deleteChunk = 1000

// DeleteRunRows removes everything that belongs to a run whose own row is gone,
// some rows in each write. It may be repeated after a crash.
func (s *Store) DeleteRunRows(ctx context.Context, runID string) error {
	for {
		var n int64
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
			n, err = tx.exec(ctx, `DELETE FROM events WHERE run_id = $1 AND sequence IN
				(SELECT sequence FROM events WHERE run_id = $1 ORDER BY sequence LIMIT $2)`, runID, deleteChunk)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete events: %w", err)
		}
		if n < deleteChunk {
			break
		}
	}
	if err := s.forgetBodies(ctx, runID); err != nil {
		return err
	}
	blobs, err := s.texts(ctx, "SELECT id FROM blobs WHERE run_id = $1", runID)
	if err != nil {
		return err
	}
	for _, blob := range blobs {
		if err := s.DeleteBlob(ctx, blob); err != nil {
			return err
		}
	}
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.deleteAttachments(ctx, runID); err != nil {
			return err
		}
		for _, table := range []string{"followups", "artifacts", "executions", "run_bodies", "run_usage", "run_trees"} {
			if _, err := tx.exec(ctx, "DELETE FROM "+table+" WHERE run_id = $1", runID); err != nil {
				return fmt.Errorf("delete from %s: %w", table, err)
			}
		}
		_, err := tx.exec(ctx, "DELETE FROM deleted_runs WHERE run_id = $1", runID)
		return err
	})
}

// forgetBodies empties what callbacks said about a run. Those that are still to be sent
// keep theirs until they end (FinishNotificationAttempt). They are updated all the same:
// the update waits for an attempt that is being noted, and sees how it ended.
func (s *Store) forgetBodies(ctx context.Context, runID string) error {
	for after := ""; ; {
		ids, err := s.texts(ctx, "SELECT id FROM notification_deliveries WHERE run_id = $1 AND id > $2 ORDER BY id LIMIT $3", runID, after, deleteChunk)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
			var args []any
			_, err := tx.exec(ctx, "UPDATE notification_deliveries SET body = CASE WHEN status = 'pending' THEN body ELSE '' END WHERE id IN "+list(&args, ids), args...)
			return err
		}); err != nil {
			return fmt.Errorf("forget bodies of callbacks: %w", err)
		}
		after = ids[len(ids)-1]
	}
}

// DeleteRun takes an ended run out of every list at once. The rest goes later: what
// lists read when it is settled, everything else in small steps (DeleteRunRows).
func (tx *Tx) DeleteRun(ctx context.Context, runID string) error {
	if _, err := tx.exec(ctx, "DELETE FROM runs WHERE id = $1", runID); err != nil {
		return fmt.Errorf("delete run: %w", err)
	}
	if _, err := tx.exec(ctx, "DELETE FROM run_tags WHERE run_id = $1", runID); err != nil {
		return fmt.Errorf("delete tags: %w", err)
	}
	_, err := tx.exec(ctx, "INSERT INTO deleted_runs (run_id) VALUES ($1) ON CONFLICT (run_id) DO NOTHING", runID)
	return err
}

// ListDeletedRuns finds runs whose rows are still to be removed.
func (r reader) ListDeletedRuns(ctx context.Context, limit int) ([]string, error) {
	return r.texts(ctx, "SELECT run_id FROM deleted_runs ORDER BY run_id LIMIT $1", limit)
}

// ListOldRuns finds runs that ended before a time and were left alone since, among those
// that are settled.
func (r reader) ListOldRuns(ctx context.Context, before time.Time, limit int) ([]string, error) {
	var ids []string
	for _, state := range []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Errored, lineshaft.Cancelled} {
		found, err := r.texts(ctx, "SELECT id FROM run_list WHERE "+fmt.Sprintf(r.d.follow, "state", "$1")+
			" AND updated_at < $2 AND "+unchanged("run_list.id")+" ORDER BY state, updated_at, id LIMIT $3", state, micros(before), limit)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	return ids, nil
}

// ListOverdue finds queued runs whose time in the queue is over.
func (r reader) ListOverdue(ctx context.Context, now time.Time, limit int) ([]string, error) {
	return r.texts(ctx, "SELECT id FROM runs WHERE state = 'QUEUED' AND queue_deadline < $1 ORDER BY queue_deadline LIMIT $2", micros(now), limit)
}
