package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// fleet is many self-hosted workers of one id in this process. Each has connections
// of its own, as it would have on a machine of its own.
type fleet struct {
	workers []*worker.Worker
	clients []*remote.Client
	want    int64
	// begin is closed when all may claim, done when all runs have ended.
	begin, done chan struct{}

	ended, calls, errors atomic.Int64
	mu                   sync.Mutex
	claims               []int          // by worker
	given                map[string]int // by run: how often it was given out
}

func newFleet(url, dir string, size workersFound) (*fleet, error) {
	f := &fleet{
		want: int64(size.Runs), begin: make(chan struct{}), done: make(chan struct{}), claims: make([]int, size.Workers), given: map[string]int{},
	}
	for i := range size.Workers {
		process := fmt.Sprintf("%s/w%d", workersHost, i)
		c, err := remote.New(remote.Config{Server: url, Key: adminKey, Host: workersHost, Process: process, Version: "bench", HTTP: remote.NewHTTPClient(nil)})
		if err != nil {
			return nil, err
		}
		w, err := worker.New(worker.Config{
			WorkerHost: workersHost, WorkerID: process, Version: "bench", DataDir: filepath.Join(dir, fmt.Sprint(i)), Slots: workersSlots,
			Harnesses: harness.Set{Harnesses: []harness.Harness{idle{}}}, Drain: -1,
		}, &fleetControl{Control: c, fleet: f, number: i})
		if err != nil {
			return nil, err
		}
		f.workers, f.clients = append(f.workers, w), append(f.clients, c)
	}
	return f, nil
}

// start connects all workers; none claims before begin is closed.
func (f *fleet) start(ctx context.Context) error {
	for i, w := range f.workers {
		if _, err := f.clients[i].Connect(ctx); err != nil {
			return fmt.Errorf("connect worker %d: %w", i, err)
		}
		if err := w.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all workers, which say goodbye.
func (f *fleet) stop(ctx context.Context) error {
	errs := make([]error, len(f.workers))
	var wg sync.WaitGroup
	for i, w := range f.workers {
		wg.Go(func() { errs[i] = errors.Join(w.Stop(ctx), f.clients[i].Leave(ctx)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// summarise notes how the runs ended.
func (f *fleet) summarise(found *workersFound) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found.Ended, found.Calls = int(f.ended.Load()), int(f.calls.Load())
	found.Claims = slices.Sorted(slices.Values(f.claims))
	for _, n := range f.given {
		if n > 1 {
			found.Twice++
		}
	}
}

// fleetControl counts what one worker of the fleet does.
type fleetControl struct {
	worker.Control
	fleet  *fleet
	number int
}

// count notes a call. One that the end of the worker broke off did not fail.
func (c *fleetControl) count(ctx context.Context, err error) {
	c.fleet.calls.Add(1)
	if err != nil && ctx.Err() == nil {
		c.fleet.errors.Add(1)
	}
}

// Claim waits for the others first.
func (c *fleetControl) Claim(ctx context.Context, req lineshaft.ClaimRequest) ([]lineshaft.Job, error) {
	select {
	case <-c.fleet.begin:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	jobs, err := c.Control.Claim(ctx, req)
	c.count(ctx, err)
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	c.fleet.claims[c.number] += len(jobs)
	for _, job := range jobs {
		c.fleet.given[job.RunID]++
	}
	return jobs, err
}

// Heartbeat counts.
func (c *fleetControl) Heartbeat(ctx context.Context, workerID string, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	directives, err := c.Control.Heartbeat(ctx, workerID, held)
	c.count(ctx, err)
	return directives, err
}

// Directives counts.
func (c *fleetControl) Directives(ctx context.Context, workerID string) ([]lineshaft.Directive, error) {
	directives, err := c.Control.Directives(ctx, workerID)
	c.count(ctx, err)
	return directives, err
}

// Report counts.
func (c *fleetControl) Report(ctx context.Context, reports []lineshaft.Report) ([]error, error) {
	answers, err := c.Control.Report(ctx, reports)
	c.count(ctx, errors.Join(append([]error{err}, answers...)...))
	return answers, err
}

// EndTurn counts after the end is durable. A conflict says that it was durable before: a
// heartbeat crossed it, and the worker broke off the call that ended the turn.
func (c *fleetControl) EndTurn(ctx context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	next, err := c.Control.EndTurn(ctx, ref, result)
	over := err == nil && next == nil || result.Dead && lineshaft.CodeOf(err) == lineshaft.CodeConflict
	if over {
		c.count(ctx, nil)
	} else {
		c.count(ctx, err)
	}
	if over && c.fleet.ended.Add(1) == c.fleet.want {
		close(c.fleet.done)
	}
	return next, err
}
