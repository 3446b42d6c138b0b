package control_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// waiter is a claim that waits.
type waiter struct {
	b    *bench
	jobs chan []lineshaft.Job
	stop context.CancelFunc
}

// wait lets a worker claim, and returns when it is in line with n-1 others.
func (b *bench) wait(n int, id string) *waiter {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	w := &waiter{b: b, jobs: make(chan []lineshaft.Job, 1), stop: cancel}
	b.Cleanup(cancel)
	go func() {
		jobs, err := b.s.Claim(ctx, lineshaft.ClaimRequest{WorkerHost: "box", WorkerID: id, Limit: 4, Capacity: 4})
		// A caller that leaves during a statement gets the error that the database is gone.
		if err != nil && ctx.Err() == nil {
			b.Error(err)
		}
		w.jobs <- jobs
	}()
	b.inLine(n)
	return w
}

// inLine waits until that many claims wait.
func (b *bench) inLine(n int) {
	b.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for b.s.ClaimsWaiting("box") != n {
		select {
		case <-tick.C:
		case <-limit:
			b.Fatalf("%d claims wait, want %d", b.s.ClaimsWaiting("box"), n)
		}
	}
}

// got waits for what the claim is given.
func (w *waiter) got() []string {
	w.b.Helper()
	select {
	case jobs := <-w.jobs:
		var ids []string
		for _, job := range jobs {
			ids = append(ids, job.RunID)
		}
		return ids
	case <-time.After(time.Minute):
		w.b.Fatal("the claim got nothing")
		return nil
	}
}

func (b *bench) box() string {
	return b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
}

// Workers of one id are served in the order in which they came.
func TestX2ClaimsAreServedInTurn(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		line := []*waiter{b.wait(1, "w1"), b.wait(2, "w2"), b.wait(3, "w3")}
		for i, w := range line {
			runID := b.box()
			if got := w.got(); !slices.Equal(got, []string{runID}) {
				b.Fatalf("worker %d got %v, want %s", i+1, got, runID)
			}
		}
		b.inLine(0)
	})
}

// One that goes away makes room, where ever it stood.
func TestX2WhoLeavesTheLineIsPassedOver(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first, second, third := b.wait(1, "w1"), b.wait(2, "w2"), b.wait(3, "w3")
		second.stop()
		first.stop()
		if got := slices.Concat(first.got(), second.got()); len(got) > 0 {
			b.Fatalf("they got %v", got)
		}
		b.inLine(1)
		runID := b.box()
		if got := third.got(); !slices.Equal(got, []string{runID}) {
			b.Fatalf("got %v, want %s", got, runID)
		}
	})
}

// A worker that waits behind others is seen to be there all the same.
func TestX2WorkersInLineAreListed(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.wait(1, "w1")
		b.wait(2, "w2")
		limit := time.After(time.Minute)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			workers := must[[]runs.Worker](b)(b.s.Workers(b.Context(), b.admin))
			if len(workers) == 1 && workers[0].ConnectionCount == 2 && workers[0].Capacity == 8 {
				return
			}
			select {
			case <-tick.C:
			case <-limit:
				b.Fatalf("%+v", workers)
			}
		}
	})
}
