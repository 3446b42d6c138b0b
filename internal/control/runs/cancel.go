package runs

import (
	"context"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Cancel ends a run that has not ended. When it returns, the state is CANCELLED and the
// worker has been notified; the processes are gone soon after.
func (s *Runs) Cancel(ctx context.Context, c lineshaft.Caller, runID string, cascade bool, idem *base.Idempotency) (CancelResult, error) {
	if err := c.Need(lineshaft.PermissionRunsStart); err != nil {
		return CancelResult{}, err
	}
	kept := CancelResult{Replayed: true}
	if replayed, err := s.Replay(ctx, c, idem, &kept); err != nil || replayed {
		if err == nil && cascade { // the first call may have been cut off before it was through
			err = s.cancelBelow(ctx, c, runID)
		}
		return kept, err
	}
	run, err := s.visibleRun(ctx, c, runID)
	if err != nil {
		return CancelResult{}, err
	}
	if err := mayChange(c, run.ID, run.Creator.UID); err != nil {
		return CancelResult{}, err
	}
	below := false
	if cascade && run.State.Terminal() {
		if below, err = s.hasBelow(ctx, runID); err != nil {
			return CancelResult{}, err
		}
	}
	var result CancelResult
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result = CancelResult{}
		replayed, err := s.Idempotently(ctx, tx, c, idem, &result, func() error {
			result.RunID = runID
			h, err := s.lockLife(ctx, tx, runID)
			if err != nil {
				return err
			}
			if h.State.Terminal() && (below || cascade && !run.State.Terminal()) {
				return nil // what is below may live
			}
			if h.State.Terminal() {
				return lineshaft.Invalid("runId", "run %s is already %s; only runs that have not ended can be cancelled", runID, h.State)
			}
			return h.cancel(ctx, c, "cancelled by "+c.Principal.DisplayName)
		})
		result.Replayed = replayed
		return err
	})
	if err != nil || !cascade {
		return result, err
	}
	return result, s.cancelBelow(ctx, c, runID)
}

func (l *life) cancel(ctx context.Context, c lineshaft.Caller, why string) error {
	if err := l.stop(ctx, lineshaft.Cancelled, lineshaft.StatusMessage{Message: why}); err != nil {
		return err
	}
	return l.room.Audit(ctx, l.tx, c, "run.cancel", "run", l.ID, nil)
}

func (s *Runs) hasBelow(ctx context.Context, runID string) (bool, error) {
	runs, _, _, err := s.Store.ScanRuns(ctx, store.RunScan{Filter: lineshaft.RunFilter{AncestorRunID: runID}, Sort: lineshaft.SortCreated, Limit: 1})
	return len(runs) > 0, err
}

// liveOnly narrows a filter to runs that have not ended: there may be a million others.
func liveOnly(f lineshaft.RunFilter) lineshaft.RunFilter {
	states := f.States
	if states == nil {
		states = lineshaft.RunStates()
	}
	f.States = slices.DeleteFunc(slices.Clone(states), lineshaft.RunState.Terminal)
	return f
}

func (s *Runs) cancelBelow(ctx context.Context, c lineshaft.Caller, runID string) error {
	for { // again, until nothing was started by one that was not cancelled yet
		cancelled, err := s.cancelAll(ctx, c, lineshaft.RunFilter{AncestorRunID: runID}, "cancelled with run "+runID)
		if err != nil || len(cancelled) == 0 {
			return err
		}
	}
}

// CancelMatching cancels every live run that a filter selects, and returns their ids.
func (s *Runs) CancelMatching(ctx context.Context, c lineshaft.Caller, f lineshaft.RunFilter) ([]string, error) {
	if err := c.Need(lineshaft.PermissionRunsManage); err != nil {
		return nil, err
	}
	return s.matching(ctx, c, f, func(ctx context.Context, filter lineshaft.RunFilter) ([]string, error) {
		return s.cancelAll(ctx, c, filter, "cancelled by "+c.Principal.DisplayName)
	})
}

// WouldCancel returns the ids of the runs that CancelMatching would cancel now.
func (s *Runs) WouldCancel(ctx context.Context, c lineshaft.Caller, f lineshaft.RunFilter) ([]string, error) {
	if err := c.Need(lineshaft.PermissionRunsManage); err != nil {
		return nil, err
	}
	return s.matching(ctx, c, f, func(ctx context.Context, filter lineshaft.RunFilter) ([]string, error) {
		return s.eachLive(ctx, filter, nil)
	})
}

func (s *Runs) matching(ctx context.Context, c lineshaft.Caller, f lineshaft.RunFilter, do func(context.Context, lineshaft.RunFilter) ([]string, error)) ([]string, error) {
	if !c.Role.May(lineshaft.PermissionRunsManage) {
		return nil, lineshaft.Denied("only a manager may cancel runs by filter; cancel your own one by one")
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	filter, ok := skills.ScopeFilter(c, f)
	if !ok {
		return nil, nil
	}
	return do(ctx, filter)
}

func (s *Runs) cancelAll(ctx context.Context, c lineshaft.Caller, f lineshaft.RunFilter, why string) ([]string, error) {
	return s.eachLive(ctx, f, func(ctx context.Context, run *life) error { return run.cancel(ctx, c, why) })
}

// eachLive ends the live runs that a filter selects, each in a transaction of its own,
// and returns their ids. Without an end it only looks.
func (s *Runs) eachLive(ctx context.Context, f lineshaft.RunFilter, end endRun) ([]string, error) {
	var ended []string
	scan := store.RunScan{Filter: liveOnly(f), Sort: lineshaft.SortCreated, Ascending: true, Limit: 100}
	for {
		runs, last, more, err := s.Store.ScanRuns(ctx, scan)
		if err != nil {
			return ended, err
		}
		for _, run := range runs {
			ok, err := s.endOne(ctx, run.ID, end)
			if err != nil {
				return ended, err
			}
			if ok {
				ended = append(ended, run.ID)
			}
		}
		if !more {
			return ended, nil
		}
		scan.After = last
	}
}

// endRun ends a run that has not ended.
type endRun func(context.Context, *life) error

// endOne ends a run unless it has ended meanwhile.
func (s *Runs) endOne(ctx context.Context, runID string, end endRun) (ended bool, err error) {
	if end == nil {
		return true, nil
	}
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		ended = false
		run, err := s.lockLife(ctx, tx, runID)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		if run.State.Terminal() {
			return nil
		}
		ended = true
		return end(ctx, run)
	})
	return ended, err
}

// Interrupt asks the agent to stop its current turn; the run continues. When a worker has
// the run and the agent has not begun, as while its pod starts, it ends the first turn at
// its beginning, in whichever process that is.
func (s *Runs) Interrupt(ctx context.Context, c lineshaft.Caller, runID string) error {
	if err := c.Need(lineshaft.PermissionRunsStart); err != nil {
		return err
	}
	run, err := s.visibleRun(ctx, c, runID)
	if err != nil {
		return err
	}
	if err := mayChange(c, run.ID, run.Creator.UID); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		if !h.State.Interruptible() {
			return lineshaft.Conflict("run %s is %s; only a run that a worker has can be interrupted", runID, h.State)
		}
		h.Interrupt(s.Store.Now())
		if err := tx.SetInterrupted(ctx, h.ExecutionID); err != nil {
			return err
		}
		if err := s.lifeOf(tx, h).save(ctx); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "run.interrupt", "run", runID, nil)
	})
}
