package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// SettleRuns brings what lists look at up to the runs as they are now, some of them at a
// time. More says that there are others.
func (s *Service) SettleRuns(ctx context.Context) (more bool, err error) {
	if more, err = s.base.Store.SettleRuns(ctx, store.SettleAhead); more {
		return more, err
	}
	more, failed := s.base.Store.UpgradeLists(ctx, store.SettleBatch)
	return more, errors.Join(err, failed)
}

// SettleDeliveries puts deliveries into the logs of their webhooks, some of them at a time.
func (s *Service) SettleDeliveries(ctx context.Context) (more bool, err error) {
	return s.base.Store.SettleDeliveries(ctx)
}

// Purge removes what nobody needs any more, in small steps: answers kept for
// idempotency, old browser sessions, blobs without an owner, rows of deleted runs
// and, if so set, old runs.
func (s *Service) Purge(ctx context.Context) error {
	now := s.base.Store.Now()
	for {
		var n int64
		err := s.base.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.DeleteOldKeys(ctx, now.Add(-base.AnswerLife), 500)
			return err
		})
		if err != nil {
			return fmt.Errorf("purge idempotency keys: %w", err)
		}
		if n == 0 {
			break
		}
	}
	if err := s.base.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.DeleteOldSessions(ctx, now); err != nil {
			return err
		}
		if err := tx.DeleteOldWorkers(ctx, now.Add(-24*time.Hour)); err != nil {
			return err
		}
		return tx.DeleteOldSpending(ctx, now)
	}); err != nil {
		return fmt.Errorf("purge sessions and workers: %w", err)
	}
	for {
		dead, err := s.base.Store.ListDeadBlobs(ctx, now.Add(-24*time.Hour), now, base.SweepBatch)
		if err != nil {
			return fmt.Errorf("list dead blobs: %w", err)
		}
		for _, blob := range dead {
			if err := s.base.Store.DeleteBlob(ctx, blob); err != nil {
				return err
			}
		}
		if len(dead) < base.SweepBatch {
			break
		}
	}
	if err := s.PurgeFires(ctx); err != nil {
		return err
	}
	if s.base.Cfg.RunRetention > 0 {
		if err := s.purgeRuns(ctx, now.Add(-s.base.Cfg.RunRetention)); err != nil {
			return err
		}
	}
	return s.RemoveDeleted(ctx)
}

// purgeRuns deletes ended runs that were created before a time, until none is left
// that can be deleted.
func (s *Service) purgeRuns(ctx context.Context, before time.Time) error {
	for {
		old, err := s.base.Store.ListOldRuns(ctx, before, base.SweepBatch)
		if err != nil {
			return fmt.Errorf("list old runs: %w", err)
		}
		deleted := 0
		for _, runID := range old {
			err := s.DeleteRun(ctx, base.System(), runID)
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
		gone, err := s.base.Store.ListDeletedRuns(ctx, base.SweepBatch)
		if err != nil {
			return fmt.Errorf("list deleted runs: %w", err)
		}
		for _, runID := range gone {
			if err := s.base.Store.DeleteRunRows(ctx, runID); err != nil {
				return err
			}
		}
		if len(gone) < base.SweepBatch {
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
