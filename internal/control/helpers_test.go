package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// clock is real time, or the time at which it was stopped, with an offset that a test moves.
type clock struct{ offset, stopped atomic.Int64 }

func (c *clock) now() time.Time {
	at := time.Now()
	if stopped := c.stopped.Load(); stopped != 0 {
		at = time.Unix(0, stopped)
	}
	return at.Add(time.Duration(c.offset.Load()))
}

func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }
func (c *clock) stop()                   { c.stopped.Store(time.Now().UnixNano()) }

// wantCode checks the code of an error; an empty code means no error.
func wantCode(tb testing.TB, err error, code lineshaft.Code) {
	tb.Helper()
	if code == "" {
		if err != nil {
			tb.Fatalf("error is %v, want none", err)
		}
		return
	}
	if err == nil || lineshaft.CodeOf(err) != code {
		tb.Fatalf("error is %v, want %s", err, code)
	}
}

// must unwraps a result.
func must[T any](b *bench) func(T, error) T {
	return func(v T, err error) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// caller makes a key and returns who it belongs to.
func (b *bench) caller(role lineshaft.Role, factories ...string) lineshaft.Caller {
	b.Helper()
	if len(factories) > 0 {
		owner := lineshaft.Principal{UID: "service_account_" + b.newID(), Type: lineshaft.ServiceAccount, DisplayName: "key of a " + string(role)}
		return must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), b.keyOf(owner, role, factories...)))
	}
	n := access.NewAPIKey{Name: "key of a " + string(role), Role: role}
	if role == lineshaft.RoleWorker {
		n.WorkerIDs = []string{"box"}
	}
	_, key, err := b.s.CreateAPIKey(b.Context(), b.admin, n)
	if err != nil {
		b.Fatal(err)
	}
	return must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), key))
}

// as starts a run for someone.
func (b *bench) as(c lineshaft.Caller, req lineshaft.NewRun) (runs.Started, error) {
	if req.Prompt == "" {
		req.Prompt = "do it"
	}
	if req.Source == "" {
		req.Source = lineshaft.SourceAPI
	}
	return b.s.StartRun(b.Context(), c, req, nil)
}

func (b *bench) claimFor(host string, limit int) []lineshaft.Job {
	b.Helper()
	req := lineshaft.ClaimRequest{WorkerHost: host, WorkerID: "w-" + host, Limit: limit, Capacity: limit}
	return must[[]lineshaft.Job](b)(b.s.Claim(b.Context(), req))
}

// claimable claims everything that can be claimed for a host, without waiting: a
// run that is queued last makes sure that there is something.
func (b *bench) claimable(host string) []lineshaft.Job {
	b.Helper()
	last := b.start(lineshaft.NewRun{Prompt: "sentinel", Config: lineshaft.AgentConfig{WorkerHost: host}})
	jobs := b.claimFor(host, 1000)
	at := slices.IndexFunc(jobs, func(j lineshaft.Job) bool { return j.RunID == last.RunID })
	if at < 0 {
		b.Fatalf("the sentinel was not claimed with %d others", len(jobs))
	}
	b.end(jobs[at], lineshaft.Succeeded)
	return slices.Delete(jobs, at, at+1)
}

// working starts a run and lets a worker begin with it.
func (b *bench) working(req lineshaft.NewRun) (string, lineshaft.Job) {
	b.Helper()
	host := req.Config.WorkerHost
	if host == "" {
		host = lineshaft.HostedWorker
	}
	runID := b.start(req).RunID
	job := b.claimOne(host, runID)
	b.begin(job)
	return runID, job
}

// claimOne claims one run, which must be the next.
func (b *bench) claimOne(host, runID string) lineshaft.Job {
	b.Helper()
	jobs := b.claimFor(host, 1)
	if len(jobs) != 1 || jobs[0].RunID != runID {
		b.Fatalf("claimed %+v, want run %s", jobs, runID)
	}
	return jobs[0]
}

func (b *bench) followup(runID, message string) runs.FollowupResult {
	b.Helper()
	return must[runs.FollowupResult](b)(b.s.Followup(b.Context(), b.admin, lineshaft.NewFollowup{RunID: runID, Message: message}, nil))
}

func (b *bench) cancel(runID string) {
	b.Helper()
	must[runs.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, runID, false, nil))
}

// report sends events and returns the result.
func (b *bench) report(r lineshaft.Report) error {
	b.Helper()
	return must[[]error](b)(b.s.Report(b.Context(), []lineshaft.Report{r}))[0]
}

// expire lets a lease run out.
func (b *bench) expire(job lineshaft.Job) {
	b.Helper()
	err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.ExpireLease(ctx, job.ExecutionID) })
	if err != nil {
		b.Fatal(err)
	}
}

// lost lets a lease run out and the reaper see it.
func (b *bench) lost(job lineshaft.Job) {
	b.Helper()
	b.expire(job)
	if n := must[int](b)(b.s.ReapLeases(b.Context())); n != 1 {
		b.Fatalf("%d executions ended, want 1", n)
	}
}

func (b *bench) events(runID string) []lineshaft.Event {
	b.Helper()
	return must[runs.EventPage](b)(b.s.Events(b.Context(), b.admin, runID, 0, 5000)).Events
}

// states is the way a run went, from its log.
func (b *bench) states(runID string) []lineshaft.RunState {
	b.Helper()
	var way []lineshaft.RunState
	for _, e := range b.events(runID) {
		if e.Type == lineshaft.EventState {
			way = append(way, decode[lineshaft.StateData](b, e).To)
		}
	}
	return way
}

func decode[T any](b *bench, e lineshaft.Event) T {
	b.Helper()
	var data T
	if err := json.Unmarshal(e.Data, &data); err != nil {
		b.Fatal(err)
	}
	return data
}

// checkLog checks what holds for every log: numbers without holes, only legal
// moves, and the last of them leads to where the run is.
func checkLog(ctx context.Context, s *control.Service, c lineshaft.Caller, runID string) error {
	run, err := s.GetRun(ctx, c, runID)
	if err != nil {
		return err
	}
	var events []lineshaft.Event
	for more := true; more; {
		page, err := s.Events(ctx, c, runID, int64(len(events)), 5000)
		if err != nil {
			return err
		}
		events = append(events, page.Events...)
		more = page.More
	}
	var at lineshaft.RunState
	for i, e := range events {
		if e.Sequence != int64(i+1) {
			return fmt.Errorf("event %d has number %d", i+1, e.Sequence)
		}
		if e.Type != lineshaft.EventState {
			continue
		}
		var data lineshaft.StateData
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return err
		}
		if data.From != at || at != "" && !lineshaft.CanMove(data.From, data.To) {
			return fmt.Errorf("event %d moves from %q to %q, but the run was %q", e.Sequence, data.From, data.To, at)
		}
		at = data.To
	}
	if at != run.State || run.LastSequence != int64(len(events)) {
		return fmt.Errorf("the log ends at %s, number %d; the run is %s, number %d", at, len(events), run.State, run.LastSequence)
	}
	if run.State.Terminal() == run.FinishedAt.IsZero() {
		return fmt.Errorf("the run is %s and finished at %v", run.State, run.FinishedAt)
	}
	return nil
}

func (b *bench) sound(runIDs ...string) {
	b.Helper()
	for _, runID := range runIDs {
		if err := checkLog(b.Context(), b.s, b.admin, runID); err != nil {
			b.Fatalf("run %s: %v", runID, err)
		}
	}
}

// audits are the actions on a target, oldest first.
func (b *bench) audits(targetID string) []lineshaft.AuditEntry {
	b.Helper()
	page := must[access.AuditPage](b)(b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Limit: 1000}))
	found := slices.DeleteFunc(page.Entries, func(e lineshaft.AuditEntry) bool { return e.TargetID != targetID })
	slices.Reverse(found)
	return found
}

// together runs fn n times at once and returns when all are done.
func together(n int, fn func(i int)) {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-gate
			fn(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
}
