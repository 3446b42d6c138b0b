package jobs

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft/internal/control"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// advance lets time pass in a bubble of synctest.
func advance(d time.Duration) { <-time.After(d) }

func TestJobsRunAtOnceAndThenInTheirRhythm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		r := New([]Job{{Name: "tick", Every: 10 * time.Second, Do: func(context.Context) (bool, error) {
			at = append(at, time.Since(began))
			return false, nil
		}}}, discard())
		r.Start(t.Context())
		advance(25 * time.Second)
		r.Stop()
		if len(at) != 3 || at[0] != 0 || at[1] != 10*time.Second || at[2] != 20*time.Second {
			t.Fatalf("ran at %v", at)
		}
	})
}

func TestJobThatDidSomethingGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rounds := 0
		r := New([]Job{{Name: "queue", Every: time.Hour, Do: func(context.Context) (bool, error) {
			rounds++
			return rounds < 5, nil
		}}}, discard())
		r.Start(t.Context())
		advance(time.Second)
		r.Stop()
		if rounds != 5 {
			t.Fatalf("%d rounds, want 5 without a pause", rounds)
		}
	})
}

func TestH1HealthNamesAJobThatKeepsFailing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		r := New([]Job{
			{Name: "good", Every: time.Second, Do: func(context.Context) (bool, error) { return false, nil }},
			{Name: "bad", Every: time.Second, Do: func(context.Context) (bool, error) {
				if broken.Load() {
					return true, errors.New("the database is away: password hunter2")
				}
				return false, nil
			}},
		}, discard())
		r.Start(t.Context())
		defer r.Stop()
		advance(1500 * time.Millisecond) // two failures: may be a restart
		if h := r.Health(); h != "" {
			t.Fatalf("after two failures: %q", h)
		}
		advance(time.Second)
		if h := r.Health(); h != "bad keeps failing" || strings.Contains(h, "hunter2") {
			t.Fatalf("after three failures: %q", h)
		}
		broken.Store(false)
		advance(time.Second)
		if h := r.Health(); h != "" {
			t.Fatalf("after it worked again: %q", h)
		}
	})
}

// A job that only looks says nothing about whether the node works.
func TestH1HealthLeavesOutWhoOnlyLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rounds := 0
		r := New([]Job{{Name: "look", Every: time.Second, Observes: true, Do: func(context.Context) (bool, error) {
			rounds++
			return false, errors.New("it may not be looked at")
		}}}, discard())
		r.Start(t.Context())
		advance(time.Minute)
		r.Stop()
		if h := r.Health(); h != "" || rounds < failuresToReport {
			t.Errorf("after %d failures: %q", rounds, h)
		}
	})
	for _, job := range For(&control.Service{}, time.Second) {
		if job.Observes != (job.Name == "callbacks") {
			t.Errorf("job %s observes: %v", job.Name, job.Observes)
		}
	}
}

func TestStopEndsAJobThatIsWorkingAndMayBeCalledAnyTime(t *testing.T) {
	t.Parallel()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	New(nil, discard()).Stop() // before Start
	entered := make(chan struct{})
	r := New([]Job{{Name: "long", Every: time.Second, Do: func(ctx context.Context) (bool, error) {
		close(entered)
		<-ctx.Done()
		return false, ctx.Err()
	}}}, discard())
	r.Start(t.Context())
	<-entered
	r.Stop()
	r.Stop()
	if h := r.Health(); h != "" {
		t.Errorf("being stopped counts as a failure: %q", h)
	}
}

func TestForListsEveryJobWithARhythm(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, job := range For(&control.Service{}, 8*time.Second) {
		if job.Every <= 0 || job.Do == nil || names[job.Name] {
			t.Errorf("job %+v", job)
		}
		names[job.Name] = true
		if job.Name == "leases" && job.Every > 2*time.Second {
			t.Errorf("leases of 8 s are looked at every %s: a lost run waits too long", job.Every)
		}
	}
	for _, want := range []string{"leases", "queue", "timers", "lists", "keys", "deleted", "retention"} {
		if !names[want] {
			t.Errorf("no job %s", want)
		}
	}
}

func TestJobIsWokenBeforeItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rounds, wake := 0, make(chan struct{}, 1)
		r := New([]Job{{Name: "skills", Every: time.Hour, Wake: func() <-chan struct{} { return wake }, Do: func(context.Context) (bool, error) {
			rounds++
			return false, nil
		}}}, discard())
		r.Start(t.Context())
		advance(time.Second)
		wake <- struct{}{}
		advance(time.Second)
		r.Stop()
		if rounds != 2 {
			t.Fatalf("%d rounds, want one at the start and one for the wake-up", rounds)
		}
	})
}
