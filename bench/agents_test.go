package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/worker"
)

func TestTalkIsReadBack(t *testing.T) {
	t.Parallel()
	want := talk{rate: 1000, last: 10 * time.Second}
	got, err := parseTalk(want.String())
	must(t, err)
	equal(t, "order", got, want)
	for _, prompt := range []string{"", "say nothing", "say 5 events per second for ever"} {
		if _, err := parseTalk(prompt); err == nil {
			t.Errorf("%q was taken for an order", prompt)
		}
	}
}

func TestTalkerWaitsAndSaysAll(t *testing.T) {
	t.Parallel()
	begin := make(chan struct{})
	started := false
	session, err := talker{start: begin}.Open(t.Context(), harness.Environment{Started: func() { started = true }})
	must(t, err)
	equal(t, "started", started, true)
	var said []lineshaft.Draft
	opened := time.Now()
	close(begin)
	result, err := session.Turn(t.Context(), lineshaft.Turn{Message: talk{rate: 2000, last: 50 * time.Millisecond}.String()}, func(d lineshaft.Draft) {
		said = append(said, d)
	})
	must(t, err)
	equal(t, "state", result.State, lineshaft.Succeeded)
	equal(t, "events", len(said), 100)
	for _, d := range said {
		var data lineshaft.OutputData
		must(t, json.Unmarshal(d.Data, &data))
		digits, _, _ := strings.Cut(data.Text, " ")
		n, err := strconv.ParseInt(digits, 10, 64)
		must(t, err)
		if at := time.Unix(0, n); at.Before(opened.Add(-time.Millisecond)) || at.After(time.Now()) {
			t.Fatalf("it said %v at %v", at, time.Now())
		}
	}
	must(t, session.Close(t.Context()))
}

func TestTalkerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	_, err := talker{start: make(chan struct{})}.Turn(ctx, lineshaft.Turn{Message: talk{1, time.Hour}.String()}, nil)
	if !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
}

// endings is a control plane that only ends turns.
type endings struct {
	worker.Control
	next *lineshaft.Turn
	err  error
}

// EndTurn gives what it was set up with.
func (e *endings) EndTurn(context.Context, lineshaft.ExecutionRef, lineshaft.TurnResult) (*lineshaft.Turn, error) {
	return e.next, e.err
}

func TestOnlyEndsOfRunsCount(t *testing.T) {
	t.Parallel()
	control := &endings{}
	c := &counted{Control: control, want: 2, done: make(chan struct{})}
	end := func() { _, _ = c.EndTurn(t.Context(), lineshaft.ExecutionRef{}, lineshaft.TurnResult{}) }
	control.err = errors.New("not now")
	end()
	control.err, control.next = nil, &lineshaft.Turn{}
	end()
	equal(t, "ended", c.ended.Load(), 0)
	control.next = nil
	end()
	select {
	case <-c.done:
		t.Fatal("one of two runs ended, and all are said to have")
	default:
	}
	end()
	<-c.done
}
