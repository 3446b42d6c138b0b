package remote_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// tally is an agent that does nothing but be counted.
type tally struct {
	worker int
	shared *tallies
}

// tallies is what became of the runs of all workers.
type tallies struct {
	mu     sync.Mutex
	turns  map[string]int // by run
	shares map[int]int    // by worker
	want   int
	done   chan struct{}
}

func (t tally) Name() string                { return "shell" }
func (t tally) WithoutWorkspace()           {}
func (t tally) Close(context.Context) error { return nil }

func (t tally) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	env.Started()
	return t, nil
}

func (t tally) Turn(_ context.Context, turn lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
	t.shared.mu.Lock()
	defer t.shared.mu.Unlock()
	t.shared.turns[turn.Message]++
	t.shared.shares[t.worker]++
	if len(t.shared.turns) == t.shared.want && t.shared.turns[turn.Message] == 1 {
		close(t.shared.done)
	}
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}

// Twenty workers of one id and two hundred queued runs: each run is executed once and
// succeeds, and no worker goes without while others have plenty. The benchmark B12
// does it with ten times as many.
func TestX2ManyWorkersOfOneID(t *testing.T) {
	t.Parallel()
	const workers, runs = 20, 200
	each(t, func(b *bench) {
		ids := make([]string, runs)
		for i := range ids {
			ids[i] = b.startSaying(fmt.Sprint("run ", i))
		}
		shared := &tallies{turns: map[string]int{}, shares: map[int]int{}, want: runs, done: make(chan struct{})}
		begin := make(chan struct{})
		fleet := make([]*worker.Worker, workers)
		for i := range fleet {
			fleet[i] = b.join(i, shared, begin)
		}
		close(begin)
		select {
		case <-shared.done:
		case <-time.After(2 * time.Minute):
			b.Error("runs are left")
		}
		var wg sync.WaitGroup
		for _, w := range fleet {
			wg.Go(func() { // what is at its last report may end
				if err := w.Stop(b.Context()); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			b.want(id, lineshaft.Succeeded)
		}
		for run, n := range shared.turns {
			if n != 1 {
				b.Errorf("%s was executed %d times", run, n)
			}
		}
		for i := range workers {
			if shared.shares[i] == 0 {
				b.Errorf("worker %d got nothing: %v", i, shared.shares)
			}
		}
	}, func(d *api.Deps) { d.Rate = nil })
}

// gated lets nobody claim before everybody is there.
type gated struct {
	worker.Control
	begin <-chan struct{}
}

func (g gated) Claim(ctx context.Context, req lineshaft.ClaimRequest) ([]lineshaft.Job, error) {
	select {
	case <-g.begin:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return g.Control.Claim(ctx, req)
}

// join starts one worker of the fleet.
func (b *bench) join(i int, shared *tallies, begin <-chan struct{}) *worker.Worker {
	b.Helper()
	process := fmt.Sprintf("%s/p%d", host, i)
	c := b.client(func(config *remote.Config) { config.Process = process })
	_, err := c.Connect(b.Context())
	w, newErr := worker.New(worker.Config{
		WorkerHost: host, WorkerID: process, DataDir: b.TempDir(), Slots: 2, Drain: 10 * time.Second,
		Harnesses: harness.Set{Harnesses: []harness.Harness{tally{i, shared}}, Default: "shell"},
	}, gated{c, begin})
	if err := errors.Join(err, newErr); err != nil {
		b.Fatal(err)
	}
	if err := w.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return w
}

// startSaying queues a run with a prompt of its own.
func (b *bench) startSaying(prompt string) string {
	b.Helper()
	started, err := b.service.StartRun(b.Context(), b.admin, lineshaft.NewRun{Prompt: prompt, Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{WorkerHost: host}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return started.RunID
}
