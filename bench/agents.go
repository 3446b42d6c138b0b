package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// idle is an agent in process that does nothing and needs no folder: what is left
// of a run's time is Lineshaft's.
type idle struct{}

var (
	_ harness.Harness          = idle{}
	_ harness.WithoutWorkspace = idle{}
)

// Name is the word for runs that do not choose.
func (idle) Name() string { return "shell" }

// WithoutWorkspace says that it needs no folder.
func (idle) WithoutWorkspace() {}

// Open makes a session.
func (idle) Open(context.Context, harness.Environment) (harness.Session, error) { return idle{}, nil }

// Turn succeeds.
func (idle) Turn(context.Context, lineshaft.Turn, harness.Emit) (lineshaft.TurnResult, error) {
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}

// Close has nothing to end.
func (idle) Close(context.Context) error { return nil }

// counted is the control plane with a count of the turns that ended.
type counted struct {
	worker.Control
	ended atomic.Int64
	want  int64
	// done is closed when all runs have ended.
	done chan struct{}
}

// EndTurn counts after the end is durable.
func (c *counted) EndTurn(ctx context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	next, err := c.Control.EndTurn(ctx, ref, result)
	if err == nil && next == nil && c.ended.Add(1) == c.want {
		close(c.done)
	}
	return next, err
}

// talker is an agent in process that says something at an even pace, with the time
// at which it said it.
type talker struct {
	// start is closed when everyone listens.
	start <-chan struct{}
}

var (
	_ harness.Harness          = talker{}
	_ harness.WithoutWorkspace = talker{}
)

// Name is the word for runs that do not choose.
func (talker) Name() string { return "shell" }

// WithoutWorkspace says that it needs no folder.
func (talker) WithoutWorkspace() {}

// Open makes a session.
func (t talker) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	env.Started()
	return t, nil
}

// Close has nothing to end.
func (talker) Close(context.Context) error { return nil }

// talk is the order to a talker: it is the prompt of the run.
type talk struct {
	rate int // events per second
	last time.Duration
}

func (t talk) String() string { return fmt.Sprintf("say %d events per second for %s", t.rate, t.last) }

func parseTalk(prompt string) (t talk, err error) {
	var last string
	if _, err := fmt.Sscanf(prompt, "say %d events per second for %s", &t.rate, &last); err != nil {
		return t, fmt.Errorf("read order %q: %w", prompt, err)
	}
	t.last, err = time.ParseDuration(last)
	return t, err
}

// words fill an event up to the size of a line of output.
var words = strings.Repeat(" lorem ipsum", 8)

// Turn says what it was ordered to.
func (t talker) Turn(ctx context.Context, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	order, err := parseTalk(turn.Message)
	if err != nil {
		return lineshaft.TurnResult{}, err
	}
	select {
	case <-t.start:
	case <-ctx.Done():
		return lineshaft.TurnResult{}, context.Cause(ctx)
	}
	began, said := time.Now(), 0
	beat := time.NewTicker(time.Millisecond)
	defer beat.Stop()
	for total := int(order.last.Seconds() * float64(order.rate)); said < total; {
		select {
		case <-ctx.Done():
			return lineshaft.TurnResult{}, context.Cause(ctx)
		case <-beat.C:
		}
		for due := int(time.Since(began).Seconds() * float64(order.rate)); said < min(due, total); said++ {
			now := time.Now()
			emit(lineshaft.NewDraft(lineshaft.EventOutput, now, lineshaft.OutputData{
				Stream: "stdout", Text: fmt.Sprint(now.UnixNano()) + words,
			}))
		}
	}
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}
