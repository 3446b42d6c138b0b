package runs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// RemoteWorker is the control plane as one process of a self-hosted worker may see it:
// the same calls as those of the server's own worker, but only for the executions of
// its own id. A fencing token in the wrong hands opens nothing there.
type RemoteWorker struct {
	s    *Runs
	host string
	id   string
	// factories are those that its key is bound to; empty is none.
	factories []string
	// only is the execution whose own token was shown: the caller may act for it alone,
	// and only once it is the process that holds it. Empty for the key of a worker.
	only string
	// holds says that the process held that execution when it called.
	holds bool
}

// Remote lets a caller act as a process of a self-hosted worker. The id of a process is
// the worker's id, a slash, and a word of its own: nobody can ask for the directives of
// another worker.
func (s *Runs) Remote(c lineshaft.Caller, host, processID string) (*RemoteWorker, error) {
	if c.Role == lineshaft.RoleRun {
		return s.remoteExecution(c, host, processID)
	}
	if err := lineshaft.CheckWorkerID("worker_host", host); err != nil {
		return nil, err
	}
	word, ok := strings.CutPrefix(processID, host+"/")
	if !ok || lineshaft.CheckWorkerID("", word) != nil {
		return nil, lineshaft.Invalid("worker_id", "the id of a process is %s/ followed by letters and digits", host)
	}
	if !c.MayWorkFor(host) {
		return nil, lineshaft.Denied("this key may not work as %q; an admin can create one with: lineshaft apikey create NAME --role worker --worker %s", host, host)
	}
	return &RemoteWorker{s: s, host: host, id: processID, factories: c.FactoryUIDs}, nil
}

// Connect is called by a process that has just started and holds nothing: what an
// earlier life of it held is over. It returns how many executions that ended.
func (w *RemoteWorker) Connect(ctx context.Context) (ended int, err error) {
	if err := w.admit(ctx); err != nil {
		return 0, err
	}
	return w.giveUp(ctx, fmt.Sprintf("worker %s was restarted", w.host), func(store.Held) bool { return true })
}

// Claim is Service.Claim. Known are the executions that the process was given and has
// not ended. Any other that it was given and has not begun was in an answer that never
// arrived. It is queued again at once instead of when its lease is over.
func (w *RemoteWorker) Claim(ctx context.Context, req lineshaft.ClaimRequest, known []string) ([]lineshaft.Job, error) {
	if req.Limit < 1 || req.Limit > maxClaim || req.Capacity < req.Limit {
		return nil, lineshaft.Invalid("limit", "a worker claims 1 to %d runs, and no more than its capacity", maxClaim)
	}
	if err := lineshaft.CheckLabels("labels", req.Labels); err != nil {
		return nil, err
	}
	if err := w.admit(ctx); err != nil {
		return nil, err
	}
	_, err := w.giveUp(ctx, fmt.Sprintf("worker %s did not get the run", w.host), func(h store.Held) bool {
		return h.State == lineshaft.Claimed && !slices.Contains(known, h.ExecutionID)
	})
	if err != nil {
		return nil, err
	}
	req.WorkerHost, req.WorkerID, req.FactoryUIDs = w.host, w.id, w.factories
	return w.s.Claim(ctx, req)
}

// maxClaim is how many runs a worker takes in one call.
const maxClaim = 10_000

// giveUp ends the executions of this process that it does not have.
func (w *RemoteWorker) giveUp(ctx context.Context, why string, lost func(store.Held) bool) (ended int, err error) {
	held, err := w.s.Store.ListHeld(ctx, w.id)
	if err != nil {
		return 0, err
	}
	for _, h := range held {
		if !lost(h) {
			continue
		}
		if err := w.s.loseNow(ctx, h, why); err != nil {
			return ended, fmt.Errorf("give up execution %s: %w", h.ExecutionID, err)
		}
		ended++
	}
	return ended, nil
}

// loseNow ends an execution that its worker says it does not have.
func (s *Runs) loseNow(ctx context.Context, held store.Held, why string) error {
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		run, err := s.lockLife(ctx, tx, held.RunID)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		e, err := executionOf(ctx, tx, &store.Execution{ID: held.ExecutionID, RunID: held.RunID})
		if err != nil || !e.EndedAt.IsZero() {
			return base.IgnoreNotFound(err)
		}
		return run.lose(ctx, e, why)
	})
}

// Heartbeat is Service.Heartbeat.
func (w *RemoteWorker) Heartbeat(ctx context.Context, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	if w.only != "" && (len(held) != 1 || held[0].ExecutionID != w.only) {
		return nil, errNotYours()
	}
	if err := w.admit(ctx); err != nil {
		return nil, err
	}
	return w.s.Heartbeat(ctx, w.id, held) // leases are extended for the process that holds them only
}

// Directives is Service.Directives.
func (w *RemoteWorker) Directives(ctx context.Context) ([]lineshaft.Directive, error) {
	if w.only != "" && !w.holds { // nothing is kept for a caller that only has the token
		return nil, errNotYours()
	}
	if err := w.admit(ctx); err != nil {
		return nil, err
	}
	return w.s.Directives(ctx, w.id)
}

// Report is Service.Report.
func (w *RemoteWorker) Report(ctx context.Context, reports []lineshaft.Report) ([]error, error) {
	if w.only != "" && len(reports) != 1 {
		return nil, errNotYours()
	}
	refs := make([]lineshaft.ExecutionRef, len(reports))
	for i, r := range reports {
		refs[i] = r.ExecutionRef
	}
	mine, err := w.own(ctx, refs)
	if err != nil {
		return nil, err
	}
	refused := make([]error, len(reports))
	var taken []lineshaft.Report
	var at []int
	for i, r := range reports {
		if refused[i] = errNotYours(); mine[r.ExecutionID] {
			taken, at = append(taken, r), append(at, i)
		}
	}
	if len(taken) == 0 {
		return refused, nil
	}
	answers, err := w.s.Report(ctx, taken)
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		refused[at[i]] = answer
	}
	return refused, nil
}

// EndTurn is Service.EndTurn.
func (w *RemoteWorker) EndTurn(ctx context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if err := w.owns(ctx, ref); err != nil {
		return nil, err
	}
	if !slices.Contains(lineshaft.Codes(), result.Code) && result.Code != "" { // of a newer worker, or of no worker of ours
		result.Code = lineshaft.CodeAgentProcessFailed
	}
	return w.s.EndTurn(ctx, ref, result)
}

// Upload is Service.Upload. It looks whose the execution is before it reads anything.
func (w *RemoteWorker) Upload(ctx context.Context, ref lineshaft.ExecutionRef, u lineshaft.Upload, r io.Reader) (string, error) {
	if u.Kind != lineshaft.BlobArtifact && u.Kind != lineshaft.BlobSnapshot {
		return "", lineshaft.Invalid("kind", "%q is not one of artifact, snapshot", u.Kind)
	}
	if err := w.owns(ctx, ref); err != nil {
		return "", err
	}
	return w.s.Upload(ctx, ref, u, r)
}

// Download is Service.Download.
func (w *RemoteWorker) Download(ctx context.Context, ref lineshaft.ExecutionRef, blobID string) (io.ReadCloser, error) {
	if err := w.owns(ctx, ref); err != nil {
		return nil, err
	}
	return w.s.Download(ctx, ref, blobID)
}

// Leave says that the process stops.
func (w *RemoteWorker) Leave(ctx context.Context) error {
	if err := w.admit(ctx); err != nil {
		return err
	}
	return w.s.ForgetWorker(ctx, w.id)
}

// admit keeps a key that is bound to factories from acting as a process whose key is not
// bound to the same: the ids of processes are not secret, but what they hold is.
func (w *RemoteWorker) admit(ctx context.Context) error {
	if len(w.factories) == 0 {
		return nil
	}
	known, err := w.s.Store.GetWorker(ctx, w.id)
	if store.IsNoRows(err) || err == nil && slices.Equal(known.FactoryUIDs, w.factories) {
		return nil
	}
	if err != nil {
		return err
	}
	return lineshaft.Denied("process %s uses a key with other limits; start the worker again, which gives its process another id", w.id)
}

func (w *RemoteWorker) own(ctx context.Context, refs []lineshaft.ExecutionRef) (map[string]bool, error) {
	found, err := w.s.Store.GetExecutions(ctx, refs)
	if err != nil {
		return nil, err
	}
	mine := map[string]bool{}
	for id, e := range found {
		mine[id] = e.WorkerHost == w.host && (w.only == "" || e.ID == w.only && e.WorkerID == w.id)
	}
	return mine, nil
}

func (w *RemoteWorker) owns(ctx context.Context, ref lineshaft.ExecutionRef) error {
	mine, err := w.own(ctx, []lineshaft.ExecutionRef{ref})
	if err == nil && !mine[ref.ExecutionID] {
		return errNotYours()
	}
	return err
}

// Worker is a connected worker id with its processes summed up.
type Worker struct {
	WorkerHost      string
	ConnectionCount int
	ConnectedAt     time.Time
	LastSeenAt      time.Time
	Capacity        int
	Running         int
	// Labels are those of all its processes, each KEY=VALUE.
	Labels []string
	// Versions are those of its processes, which may differ while they are replaced.
	Versions []string
}
