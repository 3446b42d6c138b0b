package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestI3Wait(t *testing.T) {
	t.Parallel()
	c, s := scripted(
		t, answer(200, runJSON("QUEUED")), answer(200, runJSON("QUEUED")), answer(200, runJSON("INPROGRESS")),
		answer(200, runJSON("BLOCKED")), answer(200, runJSON("INPROGRESS")), answer(200, runJSON("FAILED")),
	)
	var states []RunState
	run, err := c.Runs.Wait(t.Context(), "r1", WaitOptions{OnChange: func(r *Run) { states = append(states, r.State) }})
	if err != nil || run.State != StateFailed {
		t.Fatalf("Wait = %+v, %v", run, err)
	}
	if want := []RunState{"QUEUED", "INPROGRESS", "BLOCKED", "INPROGRESS", "FAILED"}; !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
	ms := time.Millisecond
	if want := []time.Duration{200 * ms, 200 * ms, 400 * ms, 400 * ms, 800 * ms}; !slices.Equal(s.pauses, want) {
		t.Errorf("pauses %v, want %v", s.pauses, want)
	}
}

func TestI3WaitPauses(t *testing.T) {
	t.Parallel()
	for looks, want := range map[int]time.Duration{0: firstPoll, 7: 1600 * time.Millisecond, 8: longestPoll, 9: longestPoll, 1 << 40: longestPoll} {
		if got := (WaitOptions{}).pause(looks); got != want {
			t.Errorf("pause(%d) = %v, want %v", looks, got, want)
		}
	}
	if got := (WaitOptions{Interval: time.Minute}).pause(3); got != time.Minute {
		t.Errorf("own interval: %v", got)
	}
}

func TestI3WaitBridgesOutage(t *testing.T) {
	t.Parallel()
	fail := answer(502, ``)
	answers := []http.HandlerFunc{answer(200, runJSON("QUEUED"))}
	for range 20 {
		answers = append(answers, fail)
	}
	c, _ := scripted(t, append(answers, answer(200, runJSON("SUCCEEDED")))...)
	if run, err := c.Runs.Wait(t.Context(), "r1", WaitOptions{}); err != nil || run.State != StateSucceeded {
		t.Errorf("Wait = %+v, %v", run, err)
	}
}

// Wait waits as long as the server asks, up to a minute.
func TestI3WaitHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{
		answer(503, ``, "Retry-After", "7"), answer(503, ``, "Retry-After", "90"), answer(503, ``, "Retry-After", "0"), answer(200, runJSON("SUCCEEDED")),
	}}
	c := clientFor(t, s, s, WithMaxRetries(0))
	if _, err := c.Runs.Wait(t.Context(), "r1", WaitOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{7 * time.Second, time.Minute, 2 * time.Second}; !slices.Equal(s.pauses, want) {
		t.Errorf("pauses %v, want %v", s.pauses, want)
	}
}

func TestI3WaitGivesUp(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{answer(502, ``)}}
	c := clientFor(t, s, s, WithMaxRetries(0), WithStreamRetries(2))
	if _, err := c.Runs.Wait(t.Context(), "r1", WaitOptions{}); !hasStatus(err, 502) || len(s.requests()) != 3 {
		t.Errorf("Wait = %v after %d requests, want 3", err, len(s.requests()))
	}
	c, s = scripted(t, answer(404, `{}`))
	if _, err := c.Runs.Wait(t.Context(), "r1", WaitOptions{}); !IsNotFound(err) || len(s.requests()) != 1 {
		t.Errorf("Wait = %v after %d requests, want not found at once", err, len(s.requests()))
	}
}

func TestI3WaitEndsWithContext(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, answer(200, runJSON("INPROGRESS")))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Runs.Wait(ctx, "r1", WaitOptions{OnChange: func(*Run) { cancel() }})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "last seen INPROGRESS") {
		t.Errorf("Wait = %v", err)
	}
}
