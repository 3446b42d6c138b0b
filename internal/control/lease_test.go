package control_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestX1LostBeforeStartIsQueuedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.start(lineshaft.NewRun{Prompt: "first"}).RunID
		second := b.start(lineshaft.NewRun{Prompt: "second"}).RunID
		job := b.claimOne(lineshaft.HostedWorker, first)
		b.followup(first, "while claimed")
		b.lost(job)
		run := b.want(first, lineshaft.Queued)
		if run.Status.Message == "" || run.SandboxRunning {
			b.Fatalf("%+v", run)
		}
		// It is back at its old place, with its turn.
		jobs := b.claim(2)
		if len(jobs) != 2 || jobs[0].RunID != first || jobs[1].RunID != second || jobs[0].Turn.Message != "first" || jobs[0].Number != 2 {
			b.Fatalf("%+v", jobs)
		}
		b.refused(job)
		if told, _ := b.conversation(jobs[0]); !slices.Equal(told, []string{"first", "while claimed"}) {
			b.Fatalf("%q", told)
		}
		b.sound(first, second)
	})
}

// refused: everything that an old execution says is refused.
func (b *bench) refused(job lineshaft.Job) {
	b.Helper()
	wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Started: true, Events: []lineshaft.Draft{b.output("late")}}), lineshaft.CodeConflict)
	_, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
	wantCode(b, err, lineshaft.CodeConflict)
	directives := must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", []lineshaft.ExecutionRef{job.ExecutionRef}))
	if !slices.ContainsFunc(directives, func(d lineshaft.Directive) bool {
		return d.ExecutionID == job.ExecutionID && d.Kind == lineshaft.DirectiveStop
	}) {
		b.Fatalf("the worker is not told to stop: %+v", directives)
	}
}

func TestX1LostAfterStartIsAnErrorOfThePlatform(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		b.lost(job)
		run := b.want(runID, lineshaft.Errored)
		if run.Status.ErrorCode != lineshaft.CodeInfrastructureTimeout || run.Status.Retryable == nil || !*run.Status.Retryable {
			b.Fatalf("%+v", run.Status)
		}
		if run.SandboxRunning || run.FinishedAt.IsZero() || run.RunTime <= 0 {
			b.Fatalf("%+v", run)
		}
		b.refused(job)
		// A follow-up continues it; the lost turn is not repeated.
		b.followup(runID, "go on")
		if told, _ := b.conversation(b.claimOne(lineshaft.HostedWorker, runID)); !slices.Equal(told, []string{"go on"}) {
			b.Fatalf("%q", told)
		}
		b.sound(runID)
	})
}

func TestX1LostAfterStartIsRepeatedWhileAttemptsLast(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p", Config: lineshaft.AgentConfig{MaxAttempts: new(3)}})
		b.followup(runID, "said meanwhile")
		b.lost(job)
		b.want(runID, lineshaft.Queued)
		job = b.claimOne(lineshaft.HostedWorker, runID)
		if job.Turn.Message != "p" || !job.Resumed {
			b.Fatalf("%+v", job)
		}
		b.begin(job)
		if next := b.end(job, lineshaft.Succeeded); next.Message != "said meanwhile" {
			b.Fatalf("%+v", next)
		}
		b.lost(job) // with the follow-up in its hands
		b.want(runID, lineshaft.Queued)
		job = b.claimOne(lineshaft.HostedWorker, runID)
		if job.Turn.Message != "said meanwhile" {
			b.Fatalf("the follow-up was lost: %+v", job.Turn)
		}
		b.lost(job) // before its start: does not count
		b.want(runID, lineshaft.Queued)
		job = b.claimOne(lineshaft.HostedWorker, runID)
		b.begin(job)
		b.lost(job) // the third attempt
		b.want(runID, lineshaft.Errored)
		b.followup(runID, "new life")
		job = b.claimOne(lineshaft.HostedWorker, runID)
		if job.Turn.Message != "new life" {
			b.Fatalf("%+v", job.Turn)
		}
		b.begin(job)
		b.lost(job)
		b.want(runID, lineshaft.Queued) // attempts are counted from the start
		b.sound(runID)
	})
}

// Messages sent after the turn that was lost for good are still delivered.
func TestX1UnreadFollowupSurvivesTheError(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		b.followup(runID, "unread")
		b.lost(job)
		b.want(runID, lineshaft.Queued)
		states := b.states(runID)
		if !slices.Equal(states[len(states)-2:], []lineshaft.RunState{lineshaft.Errored, lineshaft.Queued}) {
			b.Fatalf("it went %v", states)
		}
		if told, _ := b.conversation(b.claimOne(lineshaft.HostedWorker, runID)); !slices.Equal(told, []string{"unread"}) {
			b.Fatalf("%q", told)
		}
		b.sound(runID)
	})
}

func TestX3HandedBackRunIsQueuedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{Prompt: "p"}).RunID
		job := b.claimOne(lineshaft.HostedWorker, runID)
		b.end(job, lineshaft.Queued)
		b.want(runID, lineshaft.Queued)
		again := b.claimOne(lineshaft.HostedWorker, runID)
		if again.Turn.Message != "p" || again.Number != 2 {
			b.Fatalf("%+v", again)
		}
		_, err := b.s.EndTurn(b.Context(), again.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Blocked})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		_, err = b.s.EndTurn(b.Context(), again.ExecutionRef, lineshaft.TurnResult{State: "GONE"})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		b.sound(runID)
	})
}

// A worker that finds its lease gone ends its processes and says so with state
// Cancelled. Nobody cancelled the run: it counts as lost.
func TestX1StoppedForItsLeaseIsNotCancelled(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Config: lineshaft.AgentConfig{MaxAttempts: new(2)}})
		b.expire(job)
		directives := must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", []lineshaft.ExecutionRef{job.ExecutionRef}))
		if len(directives) != 1 || directives[0].Kind != lineshaft.DirectiveStop {
			b.Fatalf("%+v", directives)
		}
		b.end(job, lineshaft.Cancelled)
		b.want(runID, lineshaft.Queued)
		if n := must[int](b)(b.s.ReapLeases(b.Context())); n != 0 {
			b.Fatal("it was ended twice")
		}
		// With its lease in force it is the agent's own end: an interrupt without sequel.
		job = b.claimOne(lineshaft.HostedWorker, runID)
		b.begin(job)
		b.end(job, lineshaft.Cancelled)
		b.want(runID, lineshaft.Cancelled)
		b.sound(runID)
	})
}

func TestX1SeveralReapersEndOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database)
		nodes := []*bench{b, b}
		if store.IsPostgres(database) {
			nodes[1] = open(t, database)
		}
		var runs []string
		for range 6 {
			runID, job := b.working(lineshaft.NewRun{Config: lineshaft.AgentConfig{MaxAttempts: new(2)}})
			b.expire(job)
			runs = append(runs, runID)
		}
		var ended atomic.Int64
		together(6, func(i int) {
			n, err := nodes[i%2].s.ReapLeases(b.Context())
			if err != nil {
				b.Error(err)
			}
			ended.Add(int64(n))
		})
		if ended.Load() != 6 {
			b.Fatalf("%d ended", ended.Load())
		}
		for _, runID := range runs {
			b.want(runID, lineshaft.Queued)
			if states := b.states(runID); len(states) != 5 { // queued, pending, claimed, in progress, queued
				b.Fatalf("it went %v", states)
			}
		}
		b.sound(runs...)
	})
}

// A heartbeat and the reaper at once: either the lease holds and the run is still the
// worker's, or it is lost and the worker is notified.
func TestX1HeartbeatRacingTheReaper(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		kept := 0
		for i := range longRounds(300) {
			runID, job := b.working(lineshaft.NewRun{Config: lineshaft.AgentConfig{MaxAttempts: new(9)}})
			b.expireIn(job, time.Duration(i%6)*15*time.Millisecond)
			var directives []lineshaft.Directive
			together(3, func(who int) {
				var err error
				if who == 0 {
					directives, err = b.s.Heartbeat(b.Context(), "w-hosted", []lineshaft.ExecutionRef{job.ExecutionRef})
				} else {
					_, err = b.s.ReapLeases(b.Context())
				}
				if err != nil {
					b.Error(err)
				}
			})
			run := b.run(runID)
			told := slices.ContainsFunc(directives, func(d lineshaft.Directive) bool { return d.ExecutionID == job.ExecutionID })
			switch {
			case run.State == lineshaft.InProgress && !told:
				kept++
				b.end(job, lineshaft.Succeeded)
			case run.State == lineshaft.InProgress: // refused, and not reaped yet
				must[int](b)(b.s.ReapLeases(b.Context()))
				b.want(runID, lineshaft.Queued)
				b.end(b.claimOne(lineshaft.HostedWorker, runID), lineshaft.Succeeded)
			case run.State == lineshaft.Queued && told:
				b.end(b.claimOne(lineshaft.HostedWorker, runID), lineshaft.Succeeded)
			default:
				b.Fatalf("the run is %s and the worker was told %+v", run.State, directives)
			}
			b.sound(runID)
		}
		b.Logf("%d leases were kept", kept)
	})
}

// expireIn shortens a lease.
func (b *bench) expireIn(job lineshaft.Job, d time.Duration) {
	b.Helper()
	err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExtendLeases(ctx, "w-hosted", []string{job.ExecutionID}, d)
		return err
	})
	wantCode(b, err, "")
}

// A report that comes between the reaper's list and its write is not undone.
func TestX1ReaperKeepsWhatWasReported(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for range longRounds(200) {
			runID := b.start(lineshaft.NewRun{}).RunID
			job := b.claimOne(lineshaft.HostedWorker, runID)
			b.expire(job)
			var refused error
			together(2, func(who int) {
				if who == 1 {
					if _, err := b.s.ReapLeases(b.Context()); err != nil {
						b.Error(err)
					}
					return
				}
				r := lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Started: true, Events: []lineshaft.Draft{b.output("x")}}
				results, err := b.s.Report(b.Context(), []lineshaft.Report{r})
				if err != nil {
					b.Error(err)
					return
				}
				refused = results[0]
			})
			executions := must[[]*store.Execution](b)(b.store.ListExecutions(b.Context(), runID))
			run := b.run(runID)
			if taken := refused == nil; taken != (executions[0].LastNumber == 1) || taken != !executions[0].StartedAt.IsZero() {
				b.Fatalf("report was refused with %v, the execution is %+v", refused, executions[0])
			}
			if refused == nil && run.State != lineshaft.Errored || refused != nil && run.State != lineshaft.Queued {
				b.Fatalf("report was refused with %v, the run is %s", refused, run.State)
			}
			b.sound(runID)
			if run.State == lineshaft.Queued {
				b.cancel(runID)
			}
		}
	})
}

func TestX2QueueTimeoutEndsTheRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		short := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{QueueTimeoutMinutes: new(5), WorkerHost: "box"}}).RunID
		long := b.start(lineshaft.NewRun{}).RunID
		b.followup(short, "more")
		b.clock.advance(4 * time.Minute)
		if n := must[int](b)(b.s.EndOverdue(b.Context())); n != 0 {
			b.Fatalf("%d ended early", n)
		}
		b.clock.advance(2 * time.Minute)
		var ended atomic.Int64
		together(4, func(int) {
			n, err := b.s.EndOverdue(b.Context())
			if err != nil {
				b.Error(err)
			}
			ended.Add(int64(n))
		})
		if ended.Load() != 1 {
			b.Fatalf("%d ended", ended.Load())
		}
		run := b.want(short, lineshaft.Errored)
		if run.Status.ErrorCode != lineshaft.CodeInfrastructureTimeout || run.Status.Retryable == nil || !*run.Status.Retryable {
			b.Fatalf("%+v", run.Status)
		}
		b.want(long, lineshaft.Queued)
		b.clock.advance(25 * time.Hour) // the default is a day
		must[int](b)(b.s.EndOverdue(b.Context()))
		b.want(long, lineshaft.Errored)
		// A follow-up gives it the same time again.
		b.followup(short, "try again")
		b.clock.advance(4 * time.Minute)
		must[int](b)(b.s.EndOverdue(b.Context()))
		b.want(short, lineshaft.Queued)
		b.clock.advance(2 * time.Minute)
		must[int](b)(b.s.EndOverdue(b.Context()))
		b.want(short, lineshaft.Errored)
		b.sound(short, long)
	})
}
