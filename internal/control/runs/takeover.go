package runs

import (
	"context"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// IsRunToken distinguishes the token of a run from an API key.
func IsRunToken(key string) bool { return strings.HasPrefix(key, access.RunTokenPrefix) }

// AuthenticateExecution finds the execution that a run token was made for, whether it
// still holds its run or not: a process that lost the run must learn that, and not that
// it is unknown. What it may do is decided call by call.
func (s *Runs) AuthenticateExecution(ctx context.Context, token string) (lineshaft.Caller, error) {
	if !IsRunToken(token) || len(token) > 256 {
		return lineshaft.Caller{}, access.ErrUnauthenticated()
	}
	e, err := s.Store.ExecutionOfToken(ctx, token)
	if store.IsNoRows(err) {
		return lineshaft.Caller{}, access.ErrUnauthenticated()
	}
	if err != nil {
		return lineshaft.Caller{}, err
	}
	c := lineshaft.Caller{
		Principal: lineshaft.Principal{UID: base.RunPrincipalPrefix + e.RunID, Type: lineshaft.ServiceAccount},
		Role:      lineshaft.RoleRun, KeyID: e.ID, RunID: e.RunID, WorkerIDs: []string{e.WorkerHost},
	}
	if e.EndedAt.IsZero() && strings.HasPrefix(e.WorkerID, placedID(e.WorkerHost, e.ID)) {
		c.WorkerIDs = append(c.WorkerIDs, e.WorkerID)
	}
	return c, nil
}

// Placed says whether a caller that showed a run token is of an execution that a
// process of its own works on. Only such a process has anything to report: all others
// that have the token are agents.
func Placed(c lineshaft.Caller) bool { return c.Role == lineshaft.RoleRun && len(c.WorkerIDs) > 1 }

// remoteExecution lets the holder of a run token act as the process that works on that
// execution. Its id says which one that is, so it never gets to see what others hold.
// Every call about the execution also needs its fencing token, which agents do not have.
func (s *Runs) remoteExecution(c lineshaft.Caller, host, processID string) (*RemoteWorker, error) {
	if len(c.WorkerIDs) == 0 || host != c.WorkerIDs[0] {
		return nil, lineshaft.Denied("a run token is only for calls about its own execution, from its own worker")
	}
	word, ok := strings.CutPrefix(processID, placedID(host, c.KeyID))
	if !ok || lineshaft.CheckWorkerID("", word) != nil {
		return nil, lineshaft.Denied("a run token is only for calls about its own execution, from process %sWORD", placedID(host, c.KeyID))
	}
	return &RemoteWorker{s: s, host: host, id: processID, only: c.KeyID, holds: Placed(c) && c.WorkerIDs[1] == processID}, nil
}

// placedID is what the ids of processes begin with that work on one execution only.
func placedID(host, executionID string) string { return host + "/" + executionID + "." }

// TakeOver gives a live execution to another process of its worker, with a new lease:
// from the process that claimed it to the one it was placed in, and back. It returns
// the number of the last event of the execution. The process that had it before gets
// no lease and no directives for it any more.
//
// If two processes were started for one execution, the first gets it and keeps it until
// back says that it is known to have ended.
func (s *Runs) TakeOver(ctx context.Context, ref lineshaft.ExecutionRef, workerID string, back bool) (lastEvent int64, err error) {
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.lockExecutions(ctx, tx, []lineshaft.ExecutionRef{ref})
		if err != nil {
			return err
		}
		e, h, err := b.current(ref)
		if err != nil {
			return err
		}
		placed := placedID(e.WorkerHost, e.ID)
		if e.WorkerID != workerID && strings.HasPrefix(e.WorkerID, placed) && !back {
			return lineshaft.Conflict("another process already works on this execution")
		}
		if err := tx.MoveExecution(ctx, e.ID, workerID); err != nil {
			return err
		}
		renewed, err := tx.ExtendLeases(ctx, workerID, []string{e.ID}, s.Cfg.Lease)
		if err != nil {
			return err
		}
		if len(renewed) == 0 { // the lease had run out: undo the move
			return errNotYours()
		}
		lastEvent, h.WorkerID = e.LastNumber, workerID
		tx.Wake(stream.WorkerTopic(workerID))
		return tx.SaveRun(ctx, h)
	})
	return lastEvent, err
}

// TakeOver is Service.TakeOver, for this process.
func (w *RemoteWorker) TakeOver(ctx context.Context, ref lineshaft.ExecutionRef, back bool) (lastEvent int64, err error) {
	found, err := w.s.Store.GetExecutions(ctx, []lineshaft.ExecutionRef{ref})
	if err != nil {
		return 0, err
	}
	if e := found[ref.ExecutionID]; e == nil || e.WorkerHost != w.host || w.only != "" && e.ID != w.only {
		return 0, errNotYours()
	}
	return w.s.TakeOver(ctx, ref, w.id, back && w.only == "")
}
