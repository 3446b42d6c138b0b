package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// ReapLeases ends executions whose lease is over. It returns how many it ended;
// several nodes may do it at once.
func (s *Runs) ReapLeases(ctx context.Context) (int, error) {
	expired, err := s.Store.ListExpired(ctx, base.SweepBatch)
	if err != nil {
		return 0, err
	}
	ended := 0
	for _, e := range expired {
		lost, endErr := s.reap(ctx, e)
		if endErr != nil { // the others are ended nonetheless
			err = errors.Join(err, fmt.Errorf("end lost execution %s: %w", e.ID, endErr))
		}
		if lost {
			ended++
		}
	}
	return ended, err
}

// reap ends one execution unless it was renewed or ended since it was listed.
func (s *Runs) reap(ctx context.Context, listed *store.Execution) (lost bool, err error) {
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		lost = false
		run, err := s.lockLife(ctx, tx, listed.RunID)
		if base.IgnoreNotFound(err) != nil {
			return err
		}
		still, stillErr := tx.StillExpired(ctx, listed.ID)
		if stillErr != nil || !still {
			return stillErr
		}
		lost = true
		if run == nil { // it was deleted
			return endOrphan(ctx, tx, listed, s.Store.Now())
		}
		e, err := executionOf(ctx, tx, listed)
		if err != nil {
			return err
		}
		return run.lose(ctx, e, fmt.Sprintf("worker %s was lost: no heartbeat for %s", e.WorkerID, s.Cfg.Lease))
	})
	return lost && err == nil, err
}

// endOrphan ends an execution whose run is gone.
func endOrphan(ctx context.Context, tx *store.Tx, e *store.Execution, now time.Time) error {
	e.EndedAt = now
	return tx.SaveExecutions(ctx, []*store.Execution{e})
}

// executionOf reads an execution again under its run's lock: a report may have
// come since it was listed.
func executionOf(ctx context.Context, tx *store.Tx, listed *store.Execution) (*store.Execution, error) {
	all, err := tx.ListExecutions(ctx, listed.RunID)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.ID == listed.ID {
			return e, nil
		}
	}
	return nil, lineshaft.NotFound("execution", listed.ID)
}

// EndOverdue ends queued runs that no worker took in time. It returns how many.
func (s *Runs) EndOverdue(ctx context.Context) (int, error) {
	overdue, err := s.Store.ListOverdue(ctx, s.Store.Now(), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	ended := 0
	for _, runID := range overdue {
		done, endErr := s.endOverdue(ctx, runID)
		if endErr != nil { // the others are ended nonetheless
			err = errors.Join(err, fmt.Errorf("end overdue run %s: %w", runID, endErr))
		}
		if done {
			ended++
		}
	}
	return ended, err
}

// endOverdue ends one run unless it was taken since it was listed.
func (s *Runs) endOverdue(ctx context.Context, runID string) (ended bool, err error) {
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		ended = false
		run, err := s.lockLife(ctx, tx, runID)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		if run.State != lineshaft.Queued || run.QueueDeadline.After(run.now) {
			return nil
		}
		ended = true
		retryable := true
		status := lineshaft.StatusMessage{
			Message:   fmt.Sprintf("no worker %q took the run in time; check that it is connected and has free slots", run.WorkerHost),
			ErrorCode: lineshaft.CodeInfrastructureTimeout, Retryable: &retryable,
		}
		if run.Hold.Has(lineshaft.HoldSkill) {
			status.Message = "the skills of the run could not be read in time; check that the server reaches the forge (--forge-url)"
		}
		return run.stop(ctx, lineshaft.Errored, status)
	})
	return ended && err == nil, err
}
