package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// IndexSearch puts new runs into the search index; it returns how many.
func (s *Service) IndexSearch(ctx context.Context) (int, error) {
	return s.store.IndexSearch(ctx, sweepBatch)
}

// Purge removes what nobody needs any more, in small steps: answers kept for
// idempotency, old browser sessions, blobs without an owner, rows of deleted runs
// and, if so set, old runs.
func (s *Service) Purge(ctx context.Context) error {
	now := s.store.Now()
	for {
		var n int64
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.DeleteOldKeys(ctx, now.Add(-answerLife), 500)
			return err
		})
		if err != nil {
			return fmt.Errorf("purge idempotency keys: %w", err)
		}
		if n == 0 {
			break
		}
	}
	if err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.DeleteOldSessions(ctx, now), tx.DeleteOldWorkers(ctx, now.Add(-24*time.Hour)), tx.DeleteOldSpending(ctx, now))
	}); err != nil {
		return fmt.Errorf("purge sessions and workers: %w", err)
	}
	for {
		dead, err := s.store.ListDeadBlobs(ctx, now.Add(-24*time.Hour), now, sweepBatch)
		if err != nil {
			return fmt.Errorf("list dead blobs: %w", err)
		}
		for _, blob := range dead {
			if err := s.store.DeleteBlob(ctx, blob); err != nil {
				return err
			}
		}
		if len(dead) < sweepBatch {
			break
		}
	}
	if err := s.purgeFires(ctx); err != nil {
		return err
	}
	if s.cfg.RunRetention > 0 {
		if err := s.purgeRuns(ctx, now.Add(-s.cfg.RunRetention)); err != nil {
			return err
		}
	}
	return s.RemoveDeleted(ctx)
}

// purgeRuns deletes ended runs that were created before a time, until none is left
// that can be deleted.
func (s *Service) purgeRuns(ctx context.Context, before time.Time) error {
	for {
		old, err := s.store.ListOldRuns(ctx, before, sweepBatch)
		if err != nil {
			return fmt.Errorf("list old runs: %w", err)
		}
		deleted := 0
		for _, runID := range old {
			err := s.DeleteRun(ctx, system(), runID)
			if ignoreGone(err) != nil {
				return fmt.Errorf("delete old run: %w", err)
			}
			if err == nil {
				deleted++
			}
		}
		if deleted == 0 {
			return nil
		}
	}
}

// RemoveDeleted removes the rows of runs that were deleted.
func (s *Service) RemoveDeleted(ctx context.Context) error {
	for {
		gone, err := s.store.ListDeletedRuns(ctx, sweepBatch)
		if err != nil {
			return fmt.Errorf("list deleted runs: %w", err)
		}
		for _, runID := range gone {
			if err := s.store.DeleteRunRows(ctx, runID); err != nil {
				return err
			}
		}
		if len(gone) < sweepBatch {
			return nil
		}
	}
}

func ignoreGone(err error) error {
	if code := lineshaft.CodeOf(err); code == lineshaft.CodeNotFound || code == lineshaft.CodeConflict {
		return nil
	}
	return err
}
