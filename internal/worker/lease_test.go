package worker

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

func TestX1HeartbeatsEveryThirdOfTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{Slots: 3}, scripted{untilEnd})
		advance(time.Minute)
		if n := c.count("Heartbeat"); n != 0 {
			t.Errorf("%d heartbeats with nothing to hold", n)
		}
		c.jobs <- job("a", "")
		c.jobs <- job("b", "")
		advance(testLease/3 - time.Millisecond)
		if n := c.count("Heartbeat"); n != 0 {
			t.Errorf("%d heartbeats before the first was due", n)
		}
		advance(time.Millisecond)
		advance(2 * testLease)
		if n := len(c.beats); n != 7 {
			t.Errorf("%d heartbeats in two and a third leases, want 7", n)
		}
		for _, ids := range c.beats {
			if !slices.Equal(ids, []string{"a", "b"}) {
				t.Errorf("heartbeat for %v", ids)
			}
		}
		c.stop("a")
		c.ended("a", 1)
		advance(testLease / 3)
		if last := c.beats[len(c.beats)-1]; !slices.Equal(last, []string{"b"}) {
			t.Errorf("heartbeat for %v after one was stopped", last)
		}
	})
}

// A shorter lease that comes later is served in its own time.
func TestX1HeartbeatsFollowTheShortestLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{Slots: 2}, scripted{untilEnd})
		c.jobs <- job("long", "")
		advance(time.Second)
		short := job("short", "")
		short.Lease = 3 * time.Second
		c.jobs <- short
		advance(time.Second)
		advance(time.Second)
		if n := c.count("Heartbeat"); n != 2 {
			t.Errorf("%d heartbeats in two seconds, want 2", n)
		}
	})
}

// a worker that is cut off for less than two thirds of the lease continues.
func TestX3ShortOutageKeepsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		var away atomic.Bool
		c.fail = func(string) error {
			if away.Load() {
				return errOutage
			}
			return nil
		}
		begin(t, c, Config{}, scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			for range 20 {
				emit(output("tick\n"))
				<-time.After(time.Second)
			}
			return done()
		}})
		c.jobs <- job("a", "")
		advance(5 * time.Second)
		away.Store(true)
		advance(13 * time.Second)
		away.Store(false)
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			t.Errorf("result %+v", result)
		}
		if got := c.texts("a", lineshaft.EventOutput); len(got) != 20 {
			t.Errorf("%d events, want 20", len(got))
		}
	})
}

// swallowing takes heartbeats without a word while it is cut off, as a network does.
type swallowing struct {
	*fakeControl
	cut       atomic.Bool
	swallowed atomic.Int32
}

// Heartbeat implements Control.
func (s *swallowing) Heartbeat(ctx context.Context, id string, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	if s.cut.Load() {
		s.swallowed.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.fakeControl.Heartbeat(ctx, id, held)
}

// a heartbeat that the network has swallowed does not take the lease with it: one
// that is sent after it is answered as soon as the network is back.
func TestX3ASwallowedHeartbeatIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cut  time.Duration // from just before a heartbeat
		want lineshaft.RunState
	}{
		{"a fifth of the lease", testLease / 5, lineshaft.Succeeded},
		{"a quarter of the lease", testLease / 4, lineshaft.Succeeded},
		{"half of the lease", testLease / 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &swallowing{fakeControl: newControl(t)}
				var outcome atomic.Value
				config := Config{Ended: func(state lineshaft.RunState) { outcome.Store(state) }}
				begin(t, c, config, scripted{func(ctx context.Context, _ harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
					select {
					case <-time.After(3 * testLease):
						return done()
					case <-ctx.Done():
						return lineshaft.TurnResult{}, context.Cause(ctx)
					}
				}})
				c.jobs <- job("a", "")
				advance(testLease/3 - time.Millisecond)
				c.cut.Store(true)
				advance(tt.cut)
				c.cut.Store(false)
				advance(3 * testLease)
				if c.swallowed.Load() < 2 {
					t.Errorf("%d heartbeats were sent into the cut", c.swallowed.Load())
				}
				if got, _ := outcome.Load().(lineshaft.RunState); (got == lineshaft.Succeeded) != (tt.want == lineshaft.Succeeded) {
					t.Errorf("the run is %q", got)
				}
			})
		})
	}
}

// longer, and the agent is ended before the lease runs out; nothing is
// reported about it any more, and the slot is free again.
func TestX1LongOutageEndsTheAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		var away atomic.Bool
		c.fail = func(string) error {
			if away.Load() {
				return errOutage
			}
			return nil
		}
		type end struct {
			after time.Duration
			cause error
		}
		began, ends := time.Now(), make(chan end, 1)
		w := begin(t, c, Config{Slots: 1}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			if env.Job.ExecutionID == "b" {
				return done()
			}
			<-ctx.Done()
			ends <- end{time.Since(began), context.Cause(ctx)}
			emit(output("too late"))
			return lineshaft.TurnResult{}, context.Cause(ctx)
		}})
		c.jobs <- job("a", "")
		advance(testLease/3 + time.Second)
		away.Store(true)
		got := <-ends
		// The last heartbeat that was answered went out after a third of the lease.
		if got.after != testLease || !errors.Is(got.cause, errLeaseLost) {
			t.Errorf("ended after %v with %v", got.after, got.cause)
		}
		synctest.Wait()
		if w.Running() != 0 {
			t.Error("the execution still holds its slot")
		}
		away.Store(false)
		c.jobs <- job("b", "")
		c.ended("b", 1)
		run, unlock := c.lock("a")
		defer unlock()
		if len(run.results) != 0 || len(run.events) != 0 {
			t.Errorf("reported after the loss: %+v, %+v", run.results, run.events)
		}
	})
}

// An answer that took more than a third of the lease says nothing about now.
func TestX1LateAnswerDoesNotRenew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Int32
		l := newLease(lineshaft.Job{Lease: testLease}, func(error) { lost.Add(1) })
		sent := time.Now()
		advance(testLease/3 + time.Millisecond)
		l.renew(sent)
		advance(testLease/3 - 2*time.Millisecond)
		if lost.Load() != 0 {
			t.Error("lost too early")
		}
		advance(time.Millisecond)
		if lost.Load() != 1 {
			t.Error("not lost two thirds after the last answer in time")
		}
		l.renew(time.Now())
		advance(testLease)
		if lost.Load() != 1 {
			t.Error("a lost lease was found again")
		}
		l.end()
	})
}

// No process starts under a lease of which too little is left.
func TestX1StartWaitsForAFreshLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLease(lineshaft.Job{Lease: testLease}, func(error) {})
		defer l.end()
		if err := l.wait(t.Context()); err != nil {
			t.Error(err)
		}
		advance(testLease/3 + time.Millisecond)
		waited := make(chan error)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { waited <- l.wait(ctx) }()
		synctest.Wait()
		select {
		case err := <-waited:
			t.Errorf("did not wait: %v", err)
		default:
		}
		l.renew(time.Now())
		if err := <-waited; err != nil {
			t.Error(err)
		}
		advance(testLease/3 + time.Millisecond)
		go func() { waited <- l.wait(ctx) }()
		cancel(errStopped)
		if err := <-waited; !errors.Is(err, errStopped) {
			t.Errorf("wait ended with %v", err)
		}
	})
}

func TestX1HeartbeatCanStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		stopping := &stoppingControl{fakeControl: c}
		w, err := New(Config{
			WorkerID: "w1", DataDir: t.TempDir(),
			Harnesses: harness.Set{Harnesses: []harness.Harness{scripted{untilEnd}}, Default: "scripted"},
		}, stopping)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.jobs <- job("a", "")
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled {
			t.Errorf("result %+v", result)
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// stoppingControl stops everything at its first heartbeat.
type stoppingControl struct{ *fakeControl }

func (s *stoppingControl) Heartbeat(ctx context.Context, id string, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	var directives []lineshaft.Directive
	for _, ref := range held {
		directives = append(directives, lineshaft.Directive{ExecutionID: ref.ExecutionID, Kind: lineshaft.DirectiveStop})
	}
	_, err := s.fakeControl.Heartbeat(ctx, id, held)
	return directives, err
}

// TestX1LeaseCountsFromItsGrant starts with a job whose lease was granted before the
// worker froze: it is lost already, and nothing may be started under it.
func TestX1LeaseCountsFromItsGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := make(chan error, 1)
		l := newLease(lineshaft.Job{Lease: testLease, Granted: time.Now().Add(-testLease)}, func(err error) { lost <- err })
		defer l.end()
		if err := <-lost; !errors.Is(err, errLeaseLost) {
			t.Fatalf("lost by %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), testLease)
		defer cancel()
		if l.wait(ctx) == nil {
			t.Fatal("a process may start under a lease that is over")
		}
	})
}
