package control_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/stream"
)

func keyed(policy lineshaft.ConcurrencyPolicy) lineshaft.NewRun {
	return lineshaft.NewRun{
		Prompt: "do it", Source: lineshaft.SourceAPI,
		Config: lineshaft.AgentConfig{Concurrency: &lineshaft.Concurrency{Key: "deploy", Policy: policy}},
	}
}

// holder is the run that has the key, "" if none.
func (b *bench) holder() (runID string) {
	b.Helper()
	err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		runID, err = tx.SlotHolder(ctx, "run/deploy")
		return err
	})
	wantCode(b, err, "")
	return runID
}

func TestX10QueueIsServedInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var runs []string
		for range 4 {
			runs = append(runs, b.start(keyed("")).RunID)
		}
		if message := b.run(runs[1]).Status.Message; !strings.Contains(message, runs[0]) || !strings.Contains(message, "deploy") {
			b.Errorf("it does not say what it waits for: %q", message)
		}
		b.cancel(runs[2]) // leaves the queue
		for _, want := range []string{runs[0], runs[1], runs[3]} {
			jobs := b.claimable(lineshaft.HostedWorker)
			if len(jobs) != 1 || jobs[0].RunID != want {
				b.Fatalf("claimed %+v, want %s alone", jobs, want)
			}
			b.begin(jobs[0])
			b.end(jobs[0], lineshaft.Failed)
		}
		if b.holder() != "" {
			b.Error("the key was not freed")
		}
		b.sound(runs...)
	})
}

// The key passes on when the processes of the run that had it are gone, not when
// its state says so.
func TestX10KeyWaitsForTheProcesses(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first, job := b.working(keyed(""))
		second := b.start(keyed("")).RunID
		b.cancel(first)
		if jobs := b.claimable(lineshaft.HostedWorker); len(jobs) > 0 {
			b.Fatal("two runs with one key")
		}
		b.end(job, lineshaft.Cancelled)
		job = b.claimOne(lineshaft.HostedWorker, second)
		b.begin(job)
		third := b.start(keyed("")).RunID
		b.lost(job)
		b.want(second, lineshaft.Errored)
		b.claimOne(lineshaft.HostedWorker, third)
		b.sound(first, second, third)
	})
}

func TestX10LostRunKeepsItsKeyForTheNextAttempt(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		req := keyed("")
		req.Config.MaxAttempts = new(2)
		first, job := b.working(req)
		second := b.start(keyed("")).RunID
		b.lost(job)
		b.want(first, lineshaft.Queued)
		jobs := b.claimable(lineshaft.HostedWorker)
		if len(jobs) != 1 || jobs[0].RunID != first {
			b.Fatalf("%+v", jobs)
		}
		b.end(jobs[0], lineshaft.Succeeded)
		b.claimOne(lineshaft.HostedWorker, second)
	})
}

func TestX10FollowupKeepsOrRegainsTheKey(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first, job := b.working(keyed(""))
		second := b.start(keyed("")).RunID
		b.followup(first, "more")
		must[*lineshaft.Turn](b)(b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded, Dead: true}))
		if jobs := b.claimable(lineshaft.HostedWorker); len(jobs) != 1 || jobs[0].RunID != first {
			b.Fatalf("%+v", jobs) // it continues before the other begins
		} else {
			b.end(jobs[0], lineshaft.Succeeded)
		}
		b.followup(first, "once more") // now it queues behind the second
		jobs := b.claimable(lineshaft.HostedWorker)
		if len(jobs) != 1 || jobs[0].RunID != second {
			b.Fatalf("%+v", jobs)
		}
		b.end(jobs[0], lineshaft.Succeeded)
		b.claimOne(lineshaft.HostedWorker, first)
		b.sound(first, second)
	})
}

func TestX10SkipNeverStarts(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.start(keyed(lineshaft.PolicySkip))
		if first.State != lineshaft.Queued {
			b.Fatalf("%+v", first)
		}
		second := b.start(keyed(lineshaft.PolicySkip))
		if second.State != lineshaft.Cancelled || second.AtCapacity {
			b.Fatalf("%+v", second)
		}
		run := b.want(second.RunID, lineshaft.Cancelled)
		if run.FinishedAt.IsZero() || !strings.Contains(run.Status.Message, first.RunID) {
			b.Fatalf("%+v", run.Status)
		}
		jobs := b.claimable(lineshaft.HostedWorker)
		if len(jobs) != 1 || jobs[0].RunID != first.RunID {
			b.Fatalf("%+v", jobs)
		}
		// Continued by hand, the skipped run still respects the key.
		b.followup(second.RunID, "now please")
		if jobs := b.claimable(lineshaft.HostedWorker); len(jobs) > 0 {
			b.Fatalf("two runs with one key: %+v", jobs)
		}
		b.end(jobs[0], lineshaft.Succeeded)
		b.claimOne(lineshaft.HostedWorker, second.RunID)
		b.sound(first.RunID, second.RunID)
	})
}

func TestX10CancelPrevious(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		working, job := b.working(keyed(lineshaft.PolicyCancelPrevious))
		waiting := b.start(keyed(lineshaft.PolicyQueue)).RunID
		newest := b.start(keyed(lineshaft.PolicyCancelPrevious)).RunID
		b.want(working, lineshaft.Cancelled)
		b.want(waiting, lineshaft.Cancelled)
		b.want(newest, lineshaft.Queued)
		if jobs := b.claimable(lineshaft.HostedWorker); len(jobs) > 0 {
			b.Fatal("it began while the old processes may be alive")
		}
		replacing := b.start(keyed(lineshaft.PolicyCancelPrevious)).RunID
		b.want(newest, lineshaft.Cancelled)
		b.end(job, lineshaft.Cancelled)
		b.claimOne(lineshaft.HostedWorker, replacing)
		queued := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{Concurrency: &lineshaft.Concurrency{Key: "other"}}}).RunID
		last := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{Concurrency: &lineshaft.Concurrency{Key: "other", Policy: lineshaft.PolicyCancelPrevious}}}).RunID
		b.want(queued, lineshaft.Cancelled)
		b.claimOne(lineshaft.HostedWorker, last)
		b.sound(working, waiting, newest, replacing, queued, last)
	})
}

func TestX10FollowupGoesToTheLiveRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.start(keyed(lineshaft.PolicyFollowup))
		req := keyed(lineshaft.PolicyFollowup)
		req.Prompt = "second"
		if again := b.start(req); again.RunID != first.RunID || again.State != lineshaft.Queued {
			b.Fatalf("%+v", again)
		}
		job := b.claimOne(lineshaft.HostedWorker, first.RunID)
		if job.Turn.Message != "do it\n\nsecond" {
			b.Fatalf("%q", job.Turn.Message)
		}
		b.begin(job)
		req.Prompt, req.Attachments = "third", []lineshaft.NewAttachment{{FileName: "f", Data: []byte("x")}}
		if again := b.start(req); again.RunID != first.RunID || again.State != lineshaft.InProgress {
			b.Fatalf("%+v", again)
		}
		turn := b.end(job, lineshaft.Succeeded)
		if turn == nil || turn.Message != "third" || len(turn.Attachments) != 1 {
			b.Fatalf("%+v", turn)
		}
		b.cancel(first.RunID)
		fresh := b.start(req) // the one that had the key has ended: no follow-up, but wait for its processes
		if fresh.RunID == first.RunID {
			b.Fatal("a cancelled run got a follow-up")
		}
		if jobs := b.claimable(lineshaft.HostedWorker); len(jobs) > 0 {
			b.Fatal("two runs with one key")
		}
		b.end(job, lineshaft.Cancelled)
		b.claimOne(lineshaft.HostedWorker, fresh.RunID)
		b.sound(first.RunID, fresh.RunID)
	})
}

// A key is not a way around the permissions: a caller that may not touch a run cannot
// cancel or continue it by naming its key.
func TestS3ConcurrencyKeyGivesNoPower(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(keyed(""))
		member, own := b.caller(lineshaft.RoleMember), must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		for _, policy := range []lineshaft.ConcurrencyPolicy{lineshaft.PolicyCancelPrevious, lineshaft.PolicyFollowup} {
			_, err := b.as(member, keyed(policy))
			wantCode(b, err, lineshaft.CodeNotAuthorized)
			b.cancel(must[controlruns.Started](b)(b.as(own, keyed(policy))).RunID) // a child's key is another one
		}
		b.want(runID, lineshaft.InProgress)
		if n := len(b.audits(runID)); n != 1 {
			b.Fatalf("%d entries", n)
		}
		waiting := must[controlruns.Started](b)(b.as(member, keyed(lineshaft.PolicyQueue))).RunID
		b.end(job, lineshaft.Succeeded)
		mine := must[controlruns.Started](b)(b.as(member, keyed(lineshaft.PolicyCancelPrevious))).RunID
		b.want(waiting, lineshaft.Cancelled) // it was the member's own
		b.claimOne(lineshaft.HostedWorker, mine)
	})
}

// Many at once with one key and every policy: never two live, nobody waits for ever.
func TestX10NeverTwoAndNobodyStuck(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database)
		nodes := []*bench{b, b}
		if store.IsPostgres(database) {
			nodes[1] = open(t, database)
		}
		policies := []lineshaft.ConcurrencyPolicy{lineshaft.PolicyQueue, lineshaft.PolicySkip, lineshaft.PolicyCancelPrevious, lineshaft.PolicyFollowup}
		stop := make(chan struct{})
		var workers sync.WaitGroup
		watch := &liveWatch{}
		for i := range 3 {
			workers.Go(func() { workUntil(b, nodes[i%2].s, fmt.Sprint("w", i), stop, watch) })
		}
		var mu sync.Mutex
		runs := map[string]bool{}
		together(6, func(i int) {
			for j := range rounds(120) {
				req := keyed(policies[(i+j)%len(policies)])
				started, err := nodes[i%2].s.StartRun(b.Context(), b.admin, req, nil)
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				runs[started.RunID] = true
				mu.Unlock()
				if (i+j)%3 == 0 {
					if _, err := nodes[i%2].s.Cancel(b.Context(), b.admin, started.RunID, false, nil); err != nil && lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
						b.Error(err)
					}
				}
			}
		})
		b.drain()
		close(stop)
		workers.Wait()
		for runID := range runs {
			if run := b.run(runID); !run.State.Terminal() {
				b.Errorf("run %s is stuck as %s: %s", runID, run.State, run.Status.Message)
			}
			b.sound(runID)
		}
		if b.holder() != "" {
			b.Error("the key is still held")
		}
		b.Logf("%d runs, %d executions", len(runs), watch.total)
	})
}

// liveWatch sees that at most one execution works at a time.
type liveWatch struct {
	mu          sync.Mutex
	live, total int
}

func (w *liveWatch) enter(b *bench) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live++
	w.total++
	if w.live > 1 {
		b.Errorf("%d runs with one key are live", w.live)
	}
}

func (w *liveWatch) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live--
}

// workUntil is a worker: it claims, works and ends until asked to stop.
func workUntil(b *bench, s *control.Service, workerID string, stop <-chan struct{}, watch *liveWatch) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-stop:
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		jobs, err := s.Claim(ctx, lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: workerID, Limit: 2, Capacity: 2})
		if err != nil && ctx.Err() == nil {
			b.Error(err)
			return
		}
		for _, job := range jobs {
			for turn := &job.Turn; turn != nil && err == nil; {
				watch.enter(b)
				if _, err := s.Report(b.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Started: true}}); err != nil {
					b.Error(err)
				}
				watch.leave() // once it is ended, the next may begin before this one is notified
				turn, err = s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
			}
			if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
				_, err = s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Cancelled})
			}
			if err != nil {
				b.Error(err)
			}
		}
	}
}

// drain waits until no run is alive.
func (b *bench) drain() {
	b.Helper()
	live := lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Queued, lineshaft.Pending, lineshaft.Claimed, lineshaft.InProgress, lineshaft.Blocked}}
	changes := must[*stream.States](b)(b.s.FollowStates(b.Context(), b.admin, lineshaft.RunFilter{}, ""))
	defer changes.Close()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	for len(b.list(live)) > 0 {
		if _, err := changes.Next(ctx); err != nil {
			b.Fatalf("still alive: %v (%v)", b.list(live), err)
		}
	}
}

func TestX10PromotedRunThatWasCancelledPassesTheKeyOn(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for i := range longRounds(300) {
			first := b.start(keyed("")).RunID
			end := func() error { // of a run that waits for a worker, and of one that works
				_, err := b.s.Cancel(b.Context(), b.admin, first, false, nil)
				return err
			}
			if i%2 == 0 {
				job := b.claimOne(lineshaft.HostedWorker, first)
				end = func() error {
					_, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
					return err
				}
			}
			second := b.start(keyed("")).RunID
			third := b.start(keyed("")).RunID
			together(2, func(who int) {
				var err error
				if who == 0 {
					err = end()
				} else {
					_, err = b.s.Cancel(b.Context(), b.admin, second, false, nil)
				}
				if err != nil {
					b.Error(err)
				}
			})
			if got := b.holder(); got != third {
				b.Fatalf("the key has %s, want %s of %v", got, third, []string{first, second, third})
			}
			b.end(b.claimOne(lineshaft.HostedWorker, third), lineshaft.Succeeded)
			b.sound(first, second, third)
		}
	})
}

func TestX10KeysAreIndependent(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var want []string
		for _, key := range []string{"a", "b", "A", "ä"} {
			req := lineshaft.NewRun{Config: lineshaft.AgentConfig{Concurrency: &lineshaft.Concurrency{Key: key}}}
			want = append(want, b.start(req).RunID)
			b.start(req)
		}
		var got []string
		for _, job := range b.claimable(lineshaft.HostedWorker) {
			got = append(got, job.RunID)
		}
		if !slices.Equal(got, want) {
			b.Fatalf("claimed %v, want %v", got, want)
		}
	})
}

// A queued run that timed out or was cancelled in the queue gives up its place.
func TestX10OverdueHolderPassesTheKeyOn(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		req := keyed("")
		req.Config.QueueTimeoutMinutes = new(1)
		first := b.start(req).RunID
		second := b.start(keyed("")).RunID
		third := b.start(keyed("")).RunID
		b.clock.advance(2 * time.Minute)
		must[int](b)(b.s.EndOverdue(b.Context()))
		b.want(first, lineshaft.Errored)
		if b.holder() != second {
			b.Fatal("the key did not pass on")
		}
		b.cancel(second)
		b.claimOne(lineshaft.HostedWorker, third)
	})
}
