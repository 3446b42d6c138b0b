package remote_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// counter is an agent in process that counts to the number in its prompt.
type counter struct{}

func (counter) Name() string      { return "shell" }
func (counter) WithoutWorkspace() {}

// Open implements harness.Harness.
func (c counter) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	env.Started()
	return c, nil
}

// Turn implements harness.Session.
func (counter) Turn(_ context.Context, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	for n := range counts {
		emit(lineshaft.NewDraft(lineshaft.EventOutput, time.Now(), lineshaft.OutputData{Stream: "stdout", Text: strconv.Itoa(n)}))
	}
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}

// Close implements harness.Session.
func (counter) Close(context.Context) error { return nil }

const (
	counts    = 50
	flakyRuns = 12
)

// flaky loses answers of calls that were carried out, and answers others itself, as
// a network and its proxies do.
func flaky(b *bench) (calls *atomic.Int64) {
	calls = &atomic.Int64{}
	b.front.set(func(w http.ResponseWriter, r *http.Request) bool {
		switch n := calls.Add(1); {
		case n%3 == 0:
			b.front.handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case n%5 == 0:
			http.Error(w, "bad gateway", http.StatusBadGateway)
			return true
		}
		return false
	})
	return calls
}

// whatever answers are lost, every run ends once, with every event once and in order.
func TestX3LostAnswersLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var runs []string
		for range flakyRuns {
			runs = append(runs, b.start(lineshaft.AgentConfig{}))
		}
		calls := flaky(b)
		w, err := worker.New(worker.Config{
			WorkerHost: host, WorkerID: host + "/p1", DataDir: b.TempDir(), Slots: 3, Harnesses: harness.Set{Harnesses: []harness.Harness{counter{}}},
		}, b.client())
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), time.Minute)
			defer cancel()
			if err := w.Stop(ctx); err != nil {
				b.Error(err)
			}
		}()
		for _, runID := range runs {
			b.awaitEnd(runID)
			b.counted(runID)
		}
		if calls.Load() < 3*flakyRuns {
			b.Errorf("only %d calls were made", calls.Load())
		}
	})
}

// awaitEnd follows a run to its end.
func (b *bench) awaitEnd(runID string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	follower, err := b.service.Follow(ctx, b.admin, runID, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer follower.Close()
	for !b.state(runID).Terminal() {
		if _, err := follower.Next(ctx); err != nil {
			b.Fatalf("run %s is %s: %v", runID, b.state(runID), err)
		}
	}
}

// counted checks that a run succeeded and counted right.
func (b *bench) counted(runID string) {
	b.Helper()
	b.want(runID, lineshaft.Succeeded)
	page, err := b.service.Events(b.Context(), b.admin, runID, 0, 5000)
	if err != nil {
		b.Fatal(err)
	}
	next := 0
	for _, e := range page.Events {
		if e.Type != lineshaft.EventOutput {
			continue
		}
		var data lineshaft.OutputData
		if err := json.Unmarshal(e.Data, &data); err != nil || data.Text != strconv.Itoa(next) {
			b.Fatalf("run %s said %q, want %d (%v)", runID, data.Text, next, err)
		}
		next++
	}
	if next != counts {
		b.Errorf("run %s counted to %d", runID, next)
	}
}
