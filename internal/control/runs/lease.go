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

// lose ends an execution whose worker is gone or gave the run back. Before the
// agent started nothing was done, so the run is queued again; after that only if
// another attempt is allowed, else the run ends as an error of the platform.
func (s *Runs) lose(ctx context.Context, tx *store.Tx, e *store.Execution, h *store.RunHead, why string, now time.Time) error {
	current := h.ExecutionID == e.ID
	if err := s.endExecution(ctx, tx, e, h, now); err != nil {
		return err
	}
	if !current || !h.State.Held() {
		return errors.Join(tx.SaveRun(ctx, h), s.settle(ctx, tx, h, now))
	}
	from := h.State
	if from == lineshaft.InProgress || from == lineshaft.Blocked {
		h.Attempts++
	}
	if h.Attempts == 0 || h.Attempts < h.MaxAttempts {
		return s.tryAgain(ctx, tx, e, h, why, now)
	}
	retryable := true
	status := lineshaft.StatusMessage{Message: why, ErrorCode: lineshaft.CodeInfrastructureTimeout, Retryable: &retryable}
	if err := h.Move(lineshaft.Errored, status, now); err != nil {
		return err
	}
	drafts := []lineshaft.Draft{stateDraft(now, from, lineshaft.Errored, status, e.WorkerID)}
	h.PromptDone = true // the lost turn is not repeated; what was said after it is still done
	// Nobody knows whether the last answer arrived: it is said again, as a turn.
	if err := errors.Join(tx.ReturnAnswer(ctx, h, e.Ask), tx.FinishFollowups(ctx, h)); err != nil {
		return err
	}
	return s.conclude(ctx, tx, h, drafts, now)
}

// tryAgain puts a run whose execution was lost back to its old place in the queue,
// with the turn that was lost.
func (s *Runs) tryAgain(ctx context.Context, tx *store.Tx, e *store.Execution, h *store.RunHead, why string, now time.Time) error {
	from, status := h.State, lineshaft.StatusMessage{Message: why + "; queued again"}
	if err := h.Move(lineshaft.Queued, status, now); err != nil {
		return err
	}
	if err := tx.ReturnFollowups(ctx, h); err != nil {
		return err
	}
	s.wakeRun(ctx, tx, h)
	return tx.SaveRun(ctx, h, stateDraft(now, from, lineshaft.Queued, status, e.WorkerID))
}

// conclude saves a run that has just ended. An unread follow-up takes it back into
// the queue in the same transaction; else its concurrency key is passed on.
func (s *Runs) conclude(ctx context.Context, tx *store.Tx, h *store.RunHead, drafts []lineshaft.Draft, now time.Time) error {
	if h.Unread > 0 {
		draft, err := s.requeue(ctx, tx, h, "continued by a follow-up", now)
		if err != nil {
			return err
		}
		drafts = append(drafts, draft)
	}
	s.wakeRun(ctx, tx, h)
	return errors.Join(tx.SaveRun(ctx, h, drafts...), s.settle(ctx, tx, h, now))
}

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
		h, err := tx.LockRunAndKey(ctx, listed.RunID)
		if base.IgnoreNotFound(err) != nil {
			return err
		}
		still, stillErr := tx.StillExpired(ctx, listed.ID)
		if stillErr != nil || !still {
			return stillErr
		}
		lost = true
		if err != nil {
			return s.endExecution(ctx, tx, listed, nil, s.Store.Now())
		}
		e, err := executionOf(ctx, tx, listed)
		if err != nil {
			return err
		}
		return s.lose(ctx, tx, e, h, fmt.Sprintf("worker %s was lost: no heartbeat for %s", e.WorkerID, s.Cfg.Lease), s.Store.Now())
	})
	return lost && err == nil, err
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
		h, err := tx.LockRunAndKey(ctx, runID)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		now := s.Store.Now()
		if h.State != lineshaft.Queued || h.QueueDeadline.After(now) {
			return nil
		}
		ended = true
		retryable := true
		status := lineshaft.StatusMessage{
			Message:   fmt.Sprintf("no worker %q took the run in time; check that it is connected and has free slots", h.WorkerHost),
			ErrorCode: lineshaft.CodeInfrastructureTimeout, Retryable: &retryable,
		}
		if h.Hold&store.HoldSkill != 0 {
			status.Message = "the skills of the run could not be read in time; check that the server reaches the forge (--forge-url)"
		}
		if err := h.Move(lineshaft.Errored, status, now); err != nil {
			return err
		}
		s.wakeRun(ctx, tx, h)
		drafts, err := dropFollowups(ctx, tx, h, now)
		if err != nil {
			return err
		}
		return errors.Join(tx.SaveRun(ctx, h, append(drafts, stateDraft(now, lineshaft.Queued, lineshaft.Errored, status, ""))...),
			s.settle(ctx, tx, h, now))
	})
	return ended && err == nil, err
}
