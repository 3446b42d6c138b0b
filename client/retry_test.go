package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestI3RetryMatrix tries every kind of failure with a call that can be sent again
// and one that cannot.
func TestI3RetryMatrix(t *testing.T) {
	t.Parallel()
	yes, no := []string{"x-should-retry", "true"}, []string{"x-should-retry", "false"}
	for _, tc := range []struct {
		name    string
		status  int
		headers []string
		replay  int // requests of a call that may be sent again
		once    int // requests of one that may not
	}{
		{"200", 200, nil, 1, 1},
		{"204", 204, nil, 1, 1},
		{"400", 400, nil, 1, 1},
		{"401", 401, nil, 1, 1},
		{"403", 403, nil, 1, 1},
		{"404", 404, nil, 1, 1},
		{"408", 408, nil, 3, 1},
		{"409", 409, nil, 3, 1},
		{"409 final", 409, no, 1, 1},
		{"413", 413, nil, 1, 1},
		{"422", 422, nil, 1, 1},
		{"429", 429, nil, 3, 3},
		{"429 final", 429, no, 1, 1},
		{"400 try again", 400, yes, 3, 3},
		{"500", 500, nil, 3, 1},
		{"500 final", 500, no, 1, 1},
		{"500 try again", 500, yes, 3, 3},
		{"502", 502, nil, 3, 1},
		{"503", 503, nil, 3, 3},
		{"504", 504, nil, 3, 1},
		{"599", 599, nil, 3, 1},
		{"304", 304, nil, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []struct {
				replay bool
				want   int
			}{{true, tc.replay}, {false, tc.once}} {
				c, s := scripted(t, answer(tc.status, "", tc.headers...))
				err := c.do(t.Context(), call{method: http.MethodPost, place: place{path: "/x"}, keyed: true, replay: kind.replay})
				if got := len(s.requests()); got != kind.want {
					t.Errorf("replay %v: %d requests, want %d", kind.replay, got, kind.want)
				}
				if (err != nil) != (tc.status >= 300) {
					t.Errorf("replay %v: error %v", kind.replay, err)
				}
				if apiErr, ok := asError(err); ok && apiErr.Attempts != kind.want {
					t.Errorf("Attempts = %d, want %d", apiErr.Attempts, kind.want)
				}
			}
		})
	}
}

func TestI3RetrySucceeds(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(503, ""), answer(409, ""), answer(200, `{"run_id":"r1","state":"QUEUED","at_capacity":true}`))
	got, err := c.Runs.Create(t.Context(), RunRequest{Prompt: "x"})
	if err != nil || got.RunID != "r1" || got.State != StateQueued || !got.AtCapacity {
		t.Fatalf("Create = %+v, %v", got, err)
	}
	if want := []time.Duration{500 * time.Millisecond, time.Second}; !slices.Equal(s.pauses, want) {
		t.Errorf("pauses %v, want %v", s.pauses, want)
	}
}

func TestH9OneKeyPerLogicalCall(t *testing.T) {
	t.Parallel()
	ok := answer(200, `{"run_id":"r1"}`)
	c, s := scripted(t, answer(500, ""), hangUp, ok, ok, ok, ok)
	for range 2 {
		if _, err := c.Runs.Create(t.Context(), RunRequest{Prompt: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Runs.Followup(t.Context(), "r1", FollowupRequest{Message: "m"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Runs.Cancel(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range s.requests() {
		keys = append(keys, r.header.Get("Idempotency-Key"))
	}
	if len(keys) != 6 || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Fatalf("keys %q: the first three belong to one call", keys)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(keys))); len(distinct) != 4 || distinct[0] == "" || len(distinct[0]) < 20 {
		t.Errorf("keys %q: want one long key for each of four calls", keys)
	}
}

// A key of the caller's own is sent on every POST, as it is and once, and on nothing else.
func TestH9OwnKeyGoesBeforeANewOne(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{"run_id":"r1"}`))
	for _, opt := range []Option{WithHeader("idempotency-KEY", "mine"), WithIdempotencyKey("mine")} {
		own := c.With(opt)
		if _, err := own.Runs.Create(t.Context(), RunRequest{Prompt: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := own.Runs.Rerun(t.Context(), "r1"); err != nil {
			t.Fatal(err)
		}
		if _, err := own.Runs.ReportArtifact(t.Context(), "r1", NewArtifact{FileName: "a"}, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := own.Runs.Get(t.Context(), "r1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range s.requests() {
		got := r.header.Values("Idempotency-Key")
		if want := []string{"mine"}; r.method == http.MethodPost && !slices.Equal(got, want) || r.method == http.MethodGet && got != nil {
			t.Errorf("%s %s has the keys %q", r.method, r.path, got)
		}
	}
}

func TestI3NetworkErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		fail http.HandlerFunc
	}{{"no answer", hangUp}, {"cut body", cutBody}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, s := scripted(t, tc.fail)
			if err := c.Do(t.Context(), http.MethodGet, "/x", nil, nil); err == nil || len(s.requests()) != 3 {
				t.Errorf("GET: %v after %d requests, want 3", err, len(s.requests()))
			}
			c, s = scripted(t, tc.fail)
			if _, err := c.Runs.Rerun(t.Context(), "r1"); err == nil || len(s.requests()) != 1 {
				t.Errorf("rerun: %v after %d requests, want 1: it may have started a run", err, len(s.requests()))
			}
			c, s = scripted(t, tc.fail)
			if _, err := c.APIKeys.Create(t.Context(), APIKeyRequest{}); err == nil || len(s.requests()) != 1 {
				t.Errorf("key: %v after %d requests, want 1: it may have made a key", err, len(s.requests()))
			}
		})
	}
}

// net/http repeats a keyed request on its own when a kept connection is closed
// under it; a call that must not be repeated must not be by it either.
func TestI3KeptConnectionThatCloses(t *testing.T) {
	t.Parallel()
	ok := answer(200, `{"run_id":"r1","id":"k1"}`)
	for _, tc := range []struct {
		name string
		do   func(*Client) error
		want int
	}{
		{"create run", func(c *Client) error { _, err := c.Runs.Create(t.Context(), RunRequest{Prompt: "x"}); return err }, 3},
		{"rerun", func(c *Client) error { _, err := c.Runs.Rerun(t.Context(), "r1"); return err }, 2},
		{"create key", func(c *Client) error { _, err := c.APIKeys.Create(t.Context(), APIKeyRequest{}); return err }, 2},
	} {
		c, s := scripted(t, ok, hangUp, ok)
		if err := tc.do(c); err != nil {
			t.Fatal(err)
		}
		err := tc.do(c)
		got := s.requests()
		if len(got) != tc.want || (err == nil) != (tc.want == 3) {
			t.Errorf("%s: %v after %d requests, want %d", tc.name, err, len(got), tc.want)
		}
		if got[1].header.Get("Idempotency-Key") == "" {
			t.Errorf("%s: no key", tc.name)
		}
	}
}

func TestI3RefusedConnectionIsRetriedAlways(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	addr := server.URL
	server.Close()
	c, err := New(addr, "ls_k")
	if err != nil {
		t.Fatal(err)
	}
	pauses := 0
	c.sleep = func(context.Context, time.Duration) error { pauses++; return nil }
	_, err = c.Runs.Rerun(t.Context(), "r1")
	var op *net.OpError
	if !errors.As(err, &op) || pauses != 2 {
		t.Errorf("Rerun = %v after %d pauses, want a dial error after 2", err, pauses)
	}
	if !strings.HasPrefix(err.Error(), "POST /agent/runs/r1/rerun: ") {
		t.Errorf("error %q does not name the call", err)
	}
	if !strings.Contains(err.Error(), addr) {
		t.Errorf("error %q does not name the address", err)
	}
}

func TestI3RetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tc := range []struct {
		name   string
		header []string
		want   time.Duration
		ok     bool
	}{
		{"none", nil, 0, false},
		{"seconds", []string{"Retry-After", "3"}, 3 * time.Second, true},
		{"fraction", []string{"Retry-After", "0.25"}, 250 * time.Millisecond, true},
		{"zero", []string{"Retry-After", "0"}, 0, true},
		{"milliseconds win", []string{"Retry-After", "9", "retry-after-ms", "20"}, 20 * time.Millisecond, true},
		{"bad milliseconds", []string{"Retry-After", "9", "retry-after-ms", "soon"}, 9 * time.Second, true},
		{"date", []string{"Retry-After", now.Add(7 * time.Second).Format(http.TimeFormat)}, 7 * time.Second, true},
		{"date gone by", []string{"Retry-After", now.Add(-time.Hour).Format(http.TimeFormat)}, 0, true},
		{"negative", []string{"Retry-After", "-1"}, 0, false},
		{"garbage", []string{"Retry-After", "later"}, 0, false},
		{"huge", []string{"Retry-After", "1e300"}, 1e6 * time.Second, true},
		{"not a number", []string{"Retry-After", "NaN"}, 0, false},
	} {
		h := http.Header{}
		for i := 0; i+1 < len(tc.header); i += 2 {
			h.Set(tc.header[i], tc.header[i+1])
		}
		if got, ok := retryAfter(h, now); got != tc.want || ok != tc.ok {
			t.Errorf("%s: %v, %v; want %v, %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
}

func TestI3RetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	ok := answer(200, `{}`)
	c, s := scripted(t, answer(429, "", "Retry-After", "2"), answer(503, "", "retry-after-ms", "70"), ok)
	if err := c.Do(t.Context(), http.MethodGet, "/x", nil, nil); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{2 * time.Second, 70 * time.Millisecond}; !slices.Equal(s.pauses, want) {
		t.Errorf("pauses %v, want %v", s.pauses, want)
	}
	c, s = scripted(t, answer(429, "", "Retry-After", "61"), ok)
	err := c.Do(t.Context(), http.MethodGet, "/x", nil, nil)
	if apiErr, isAPI := asError(err); !isAPI || apiErr.RetryAfter != 61*time.Second || len(s.requests()) != 1 {
		t.Errorf("Do = %v after %d requests, want the error with its pause at once", err, len(s.requests()))
	}
}

func TestI3BackoffGrowsToItsLimit(t *testing.T) {
	t.Parallel()
	b := defaultBackoff()
	for n, want := range []float64{0.5, 1, 2, 4, 8, 8, 8} {
		for range 100 {
			got := b.pause(n).Seconds()
			if got > want || got < want*0.75 {
				t.Fatalf("pause(%d) = %vs, want within a quarter below %vs", n, got, want)
			}
		}
	}
	if got := b.pause(1000); got > 8*time.Second || got < 6*time.Second {
		t.Errorf("pause(1000) = %v", got)
	}
}

func TestI3MaxRetries(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 0, 1, 4} {
		s := &script{answers: []http.HandlerFunc{answer(500, "")}}
		c := clientFor(t, s, s, WithMaxRetries(n))
		if err := c.Do(t.Context(), http.MethodGet, "/x", nil, nil); err == nil || len(s.requests()) != 1+max(n, 0) {
			t.Errorf("retries %d: %d requests", n, len(s.requests()))
		}
	}
}

func TestI3TimeoutPerAttemptIsRetried(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := func(w http.ResponseWriter, r *http.Request) {
		// The headers and half the body come at once; the rest never does.
		_, _ = fmt.Fprint(w, `{"role":`)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	s := &script{answers: []http.HandlerFunc{slow, answer(200, `{"role":"admin"}`)}}
	// On a slow machine an attempt may also end before its request or its answer arrives.
	c := clientFor(t, s, s, WithTimeout(500*time.Millisecond), WithMaxRetries(50))
	t.Cleanup(func() { close(release) })
	who, err := c.Whoami(t.Context())
	if err != nil || who.Role != "admin" || len(s.requests()) < 2 {
		t.Errorf("Whoami = %+v, %v after %d requests", who, err, len(s.requests()))
	}
}

func TestI3ContextEndsCall(t *testing.T) {
	t.Parallel()
	arrived, left := make(chan struct{}), make(chan struct{})
	c, s := scripted(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(left)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := c.Runs.Create(ctx, RunRequest{Prompt: "x"})
	if !errors.Is(err, context.Canceled) || len(s.requests()) != 1 {
		t.Errorf("Create = %v after %d requests", err, len(s.requests()))
	}
	closed(t, "the end of the connection", left)
}

func TestI3ContextEndsPause(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, answer(503, `{"title":"busy"}`, "Retry-After", "60"))
	ctx, cancel := context.WithCancel(t.Context())
	c.sleep = func(ctx context.Context, d time.Duration) error {
		time.AfterFunc(10*time.Millisecond, cancel)
		return sleep(ctx, d)
	}
	err := c.Do(ctx, http.MethodGet, "/x", nil, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v, want the end of the context", err)
	}
	if apiErr, ok := asError(err); !ok || apiErr.Status != 503 {
		t.Errorf("Do = %v, want what it waited for, too", err)
	}
}
