package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/stream"
)

type (
	waitForRunIn struct {
		RunRef
		Seconds  int `json:"seconds,omitempty" default:"30" minimum:"1" maximum:"50" doc:"How long to wait at most. Clients and proxies often give up after 60 s."`
		Messages int `json:"messages,omitempty" default:"3" minimum:"0" maximum:"20" doc:"How many of the last messages to show."`
	}
	waitForRunOut struct {
		Waiting bool `json:"waiting" doc:"The time was up before the run ended or asked something: call again."`
		Run     Run  `json:"run"`
	}
)

// waitForRun follows the log of a run until it has ended or asks something. A client
// that wants to know is told about every change in between.
func (s *Server) waitForRun(ctx context.Context, c *call, in waitForRunIn) (waitForRunOut, string, error) {
	run, err := s.readRun(ctx, c, in.RunID)
	if err != nil {
		return waitForRunOut{}, "", err
	}
	if !settled(run.State) {
		if err := s.untilSettled(ctx, c, run, time.Duration(in.Seconds)*time.Second); err != nil {
			return waitForRunOut{}, "", err
		}
		// The key may have been revoked meanwhile.
		if err := s.Control.Recheck(ctx, c.Caller); err != nil {
			return waitForRunOut{}, "", err
		}
	}
	return s.showWaited(ctx, c, in)
}

// showWaited shows what came of a wait, in a turn: the wait itself has none.
func (s *Server) showWaited(ctx context.Context, c *call, in waitForRunIn) (waitForRunOut, string, error) {
	rest, err := s.takeTurn(ctx, c)
	if err != nil {
		return waitForRunOut{}, "", err
	}
	defer rest()
	run, err := s.Control.GetRun(ctx, c.Caller, in.RunID)
	if err != nil {
		return waitForRunOut{}, "", err
	}
	shown, err := s.showWhole(ctx, c, run, in.Messages)
	if err != nil {
		return waitForRunOut{}, "", err
	}
	out := waitForRunOut{Waiting: !settled(run.State), Run: shown}
	text := runWords(&out.Run)
	if out.Waiting {
		text = "It is still at work: call wait_for_run again.\n" + text
	}
	return out, text, nil
}

// settled says that there is nothing to wait for.
func settled(state lineshaft.RunState) bool { return state.Terminal() || state == lineshaft.Blocked }

// untilSettled returns when the run is settled, the time is up, the client has gone
// away or the server stops. A key that is revoked meanwhile ends it with an error.
func (s *Server) untilSettled(ctx context.Context, c *call, run *lineshaft.Run, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	follower, err := s.Control.Follow(ctx, c.Caller, run.ID, run.LastSequence)
	if err != nil {
		return err
	}
	defer follower.Close()
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	go func() {
		defer close(ended)
		select {
		case <-c.gone:
		case <-s.Stopping:
		case <-ctx.Done():
		}
		cancel()
	}()
	return s.follow(ctx, c, run, follower)
}

func (s *Server) follow(ctx context.Context, c *call, run *lineshaft.Run, follower *stream.Follower) error {
	state, at := run.State, run.LastSequence
	begun, told := time.Now(), time.Now()
	c.progress(ctx, 0, string(state))
	for {
		wait, cancel := context.WithTimeout(ctx, 5*s.pause)
		items, err := follower.Next(wait)
		cancel()
		for i := range items {
			at = items[i].Event.Sequence
			state = stateAfter(&items[i].Event, state)
		}
		quiet, over := errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF)
		if over || settled(state) || ended(ctx) {
			return nil
		}
		if err != nil && !quiet {
			return fmt.Errorf("follow run: %w", err)
		}
		if quiet || time.Since(told) >= s.pause {
			if err := s.Control.Recheck(ctx, c.Caller); err != nil && !ended(ctx) {
				return err
			}
			c.progress(ctx, time.Since(begun), fmt.Sprintf("%s, %d events", state, at))
			told = time.Now()
		}
	}
}

// ended says that nobody waits any more, or not now.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

// stateAfter is the state that a run has after an event.
func stateAfter(e *lineshaft.Event, state lineshaft.RunState) lineshaft.RunState {
	var moved lineshaft.StateData
	if e.Type == lineshaft.EventState && json.Unmarshal(e.Data, &moved) == nil && moved.To != "" {
		return moved.To
	}
	return state
}
