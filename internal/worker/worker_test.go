package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

func TestX10SlotsAreFilledAndNotOverfilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		release := make(chan struct{})
		var now, most atomic.Int32
		w := begin(t, c, Config{Slots: 3}, scripted{func(context.Context, harness.Environment, lineshaft.Turn, harness.Emit) (lineshaft.TurnResult, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-release
			now.Add(-1)
			return done()
		}})
		ids := []string{"a", "b", "c", "d", "e", "f", "g"}
		for _, id := range ids {
			c.jobs <- job(id, "")
		}
		synctest.Wait()
		if w.Running() != 3 || w.Capacity() != 3 {
			t.Errorf("%d of %d run", w.Running(), w.Capacity())
		}
		close(release)
		for _, id := range ids {
			c.ended(id, 1)
		}
		if most.Load() != 3 {
			t.Errorf("%d ran at the same time", most.Load())
		}
		synctest.Wait() // until the next claim waits: it notes its limit
		if first := c.limits[0]; first != 3 {
			t.Errorf("the first claim asked for %d", first)
		}
	})
}

// Each of the executions that run at the same time has its own slot, because its
// user depends on it.
func TestX5SlotsAreNotShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		w := begin(t, c, Config{Slots: 4}, scripted{untilEnd})
		for _, id := range []string{"a", "b", "c", "d"} {
			c.jobs <- job(id, "")
		}
		synctest.Wait()
		var slots []int
		for _, e := range w.held() {
			slots = append(slots, e.slot)
		}
		slices.Sort(slots)
		if !slices.Equal(slots, []int{0, 1, 2, 3}) {
			t.Errorf("slots %v", slots)
		}
	})
}

func TestX3ClaimGoesOnAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		var away atomic.Bool
		away.Store(true)
		c.fail = func(string) error {
			if away.Load() {
				return errOutage
			}
			return nil
		}
		begin(t, c, Config{}, talker(1))
		c.jobs <- job("a", "")
		advance(time.Minute)
		if n := c.count("Claim"); n < 10 || n > 30 {
			t.Errorf("%d claims in a minute without an answer", n)
		}
		away.Store(false)
		c.ended("a", 1)
	})
}

func TestX3DrainLetsExecutionsFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		w := begin(t, c, Config{Drain: 10 * time.Second}, scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			<-time.After(5 * time.Second)
			emit(output("done"))
			return done()
		}})
		c.jobs <- job("a", "")
		synctest.Wait()
		began := time.Now()
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("stop took %v", took)
		}
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			t.Errorf("result %+v", result)
		}
		c.jobs <- job("b", "")
		advance(time.Minute)
		if len(c.jobs) != 1 {
			t.Error("a stopped worker claimed")
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Errorf("second stop: %v", err)
		}
	})
}

func TestX3DrainHandsBackWhatDoesNotFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		w := begin(t, c, Config{Drain: 10 * time.Second}, scripted{func(ctx context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			<-ctx.Done()
			emit(output("last words"))
			return lineshaft.TurnResult{}, context.Cause(ctx)
		}})
		c.jobs <- job("a", "")
		synctest.Wait()
		began := time.Now()
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("stop took %v", took)
		}
		result := c.ended("a", 1)
		if result.State != lineshaft.Queued || !result.Dead {
			t.Errorf("result %+v", result)
		}
		if got := c.texts("a", lineshaft.EventOutput); !slices.Equal(got, []string{"last words"}) {
			t.Errorf("said %q", got)
		}
	})
}

// A stop that may not take time ends everything at once.
func TestX3StopWithoutTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		w := begin(t, c, Config{Drain: time.Hour}, scripted{untilEnd})
		c.jobs <- job("a", "")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := w.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: %v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("stop took %v", took)
		}
		if result := c.ended("a", 1); result.State != lineshaft.Queued {
			t.Errorf("result %+v", result)
		}
	})
}

// A claim that is answered while the worker stops is handed back, not lost.
func TestX3ClaimAnsweredWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		answer := make(chan struct{})
		c.lose = func(method string) error {
			if method == "Claim" {
				<-answer
			}
			return nil
		}
		w := begin(t, c, Config{}, scripted{untilEnd})
		c.jobs <- job("a", "")
		synctest.Wait()
		stopped := make(chan error)
		go func() { stopped <- w.Stop(t.Context()) }()
		synctest.Wait()
		close(answer)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if result := c.ended("a", 1); result.State != lineshaft.Queued {
			t.Errorf("result %+v", result)
		}
	})
}

// More than was asked for is handed back.
func TestX10TooManyJobsAreHandedBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		w := begin(t, c, Config{Slots: 1}, scripted{untilEnd})
		c.jobs <- job("a", "")
		synctest.Wait()
		w.handBack(job("b", ""))
		if result := c.ended("b", 1); result.State != lineshaft.Queued {
			t.Errorf("result %+v", result)
		}
	})
}

func TestX3StopBeforeStartAndStartAfterStop(t *testing.T) {
	t.Parallel()
	w, err := New(Config{WorkerID: "w", DataDir: t.TempDir()}, newControl(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.Start(t.Context()); err == nil {
		t.Error("a stopped worker started")
	}
}

func TestX5WorkerRefusesToStartWithoutItsSandbox(t *testing.T) {
	t.Parallel()
	missing := sandbox.NewBubblewrap(sandbox.Options{Supervisor: []string{"/nonexistent"}, Bubblewrap: "/nonexistent/bwrap"})
	w, err := New(Config{WorkerID: "w", DataDir: t.TempDir(), Sandbox: missing}, newControl(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("start: %v", err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestX10ConfigReportsEverything(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Slots: -1}, newControl(t))
	for _, word := range []string{"id", "data directory", "slots"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}

// what a killed worker left is found, kept for a while and removed.
func TestX3LeftoversOfAKilledWorkerAreSwept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		data := t.TempDir()
		m, err := workspace.NewManager(data, workspace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		left, err := m.Open(t.Context(), workspace.OpenRequest{RunID: "left", Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		exists := func() bool {
			_, err := os.Stat(filepath.Dir(left.Dir()))
			return err == nil
		}
		c := newControl(t)
		begin(t, c, Config{DataDir: data}, scripted{untilEnd})
		advance(lineshaft.DefaultIdleMinutes*time.Minute - time.Second)
		if !exists() {
			t.Error("removed too early")
		}
		advance(time.Minute)
		if exists() {
			t.Error("still there")
		}
	})
}
