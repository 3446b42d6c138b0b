package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sampleLog is the log of a short run, as frames.
func sampleLog() []string {
	events := []struct{ kind, data string }{
		{"state", `{"to":"QUEUED"}`},
		{"state", `{"from":"QUEUED","to":"INPROGRESS"}`},
		{"output", `{"stream":"stdout","text":"hello\nworld\n"}`},
		{"message", `{"role":"assistant","text":"größer ✓"}`},
		{"state", `{"from":"INPROGRESS","to":"SUCCEEDED"}`},
		{"notice", `{"level":"info","text":"after the end"}`},
	}
	var frames []string
	for i, e := range events {
		frames = append(frames, frameText(i+1, e.kind, e.data))
	}
	return frames
}

func frameText(sequence int, kind, data string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: {\"sequence\":%d,\"type\":%q,\"data\":%s}\n\n", sequence, kind, sequence, kind, data)
}

// logServer replays a log after Last-Event-ID. budget says how many bytes each
// connection carries before it is cut; a connection past the list is whole.
type logServer struct {
	frames  []string
	budget  []int
	state   string
	conns   atomic.Int32
	clean   bool // cuts look like an orderly end
	lastIDs chan string
}

func (s *logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/events") {
		answer(200, runJSON(s.state))(w, r)
		return
	}
	n := int(s.conns.Add(1))
	if s.lastIDs != nil {
		s.lastIDs <- r.Header.Get("Last-Event-ID")
	}
	after, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	text := ": hello\n\n" + strings.Join(s.frames[min(after, len(s.frames)):], "")
	cut := n <= len(s.budget) && s.budget[n-1] < len(text)
	if cut {
		text = text[:s.budget[n-1]]
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
	if cut && !s.clean {
		panic(http.ErrAbortHandler)
	}
}

func collect(t *testing.T, c *Client, runID string, after int64) []int64 {
	t.Helper()
	var got []int64
	for event, err := range c.Runs.Stream(t.Context(), runID, after) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event.Sequence)
	}
	return got
}

func upTo(n int) []int64 {
	var out []int64
	for i := range n {
		out = append(out, int64(i+1))
	}
	return out
}

func TestR9StreamWhole(t *testing.T) {
	t.Parallel()
	s := &logServer{frames: sampleLog()[:5]}
	c := clientFor(t, s, nil)
	if got := collect(t, c, "r1", 0); !slices.Equal(got, upTo(5)) || s.conns.Load() != 1 {
		t.Errorf("got %v over %d connections", got, s.conns.Load())
	}
}

// TestR9StreamCutEverywhere cuts the connection after every single byte, which
// includes each event boundary and the middle of each frame and of each letter.
// The id of the run says where; one server serves them all.
func TestR9StreamCutEverywhere(t *testing.T) {
	t.Parallel()
	frames := sampleLog()
	total := len(": hello\n\n" + strings.Join(frames, ""))
	for _, clean := range []bool{false, true} {
		t.Run(fmt.Sprintf("clean %v", clean), func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			for cut := range total {
				mux.Handle(fmt.Sprintf("/api/v1/agent/runs/cut%d/", cut), &logServer{frames: frames, budget: []int{cut}, clean: clean})
				mux.Handle(fmt.Sprintf("/api/v1/agent/runs/cut%d", cut), answer(200, runJSON("INPROGRESS")))
			}
			c := clientFor(t, mux, nil)
			// An orderly cut takes another way in the code only at the ends of lines.
			text := ": hello\n\n" + strings.Join(frames, "")
			for cut := range total {
				if clean && cut > 0 && text[cut-1] != '\n' && cut%9 != 0 {
					continue
				}
				want := upTo(6)
				if clean && cut == total-len(frames[5]) {
					want = upTo(5) // an orderly end after the run ended is the end
				}
				if got := collect(t, c, fmt.Sprintf("cut%d", cut), 0); !slices.Equal(got, want) {
					t.Fatalf("cut at byte %d of %d: got %v, want %v", cut, total, got, want)
				}
			}
		})
	}
}

func TestR9StreamCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	frames := sampleLog()
	first := len(": hello\n\n")
	var budget []int
	for _, f := range frames {
		budget = append(budget, 3, first, first+len(f)-1, first+len(f)) // each event costs four connections
	}
	s := &logServer{frames: frames, budget: budget, lastIDs: make(chan string, 100)}
	c := clientFor(t, s, nil)
	if got := collect(t, c, "r1", 0); !slices.Equal(got, upTo(6)) {
		t.Fatalf("got %v", got)
	}
	close(s.lastIDs)
	var ids []string
	for id := range s.lastIDs {
		ids = append(ids, id)
	}
	if len(ids) < 20 || ids[0] != "" || ids[4] != "1" || ids[8] != "2" {
		t.Errorf("Last-Event-ID went %q", ids)
	}
}

func TestR9StreamAfter(t *testing.T) {
	t.Parallel()
	s := &logServer{frames: sampleLog(), lastIDs: make(chan string, 10)}
	c := clientFor(t, s, nil)
	if got := collect(t, c, "r1", 3); !slices.Equal(got, []int64{4, 5, 6}) || <-s.lastIDs != "3" {
		t.Errorf("got %v", got)
	}
	// Past the end of an ended run there is nothing: the state decides.
	s = &logServer{frames: sampleLog(), state: "FAILED"}
	c = clientFor(t, s, nil)
	if got := collect(t, c, "r1", 6); len(got) != 0 || s.conns.Load() != 2 {
		t.Errorf("got %v over %d connections", got, s.conns.Load())
	}
}

func TestR9StreamSkipsRepeats(t *testing.T) {
	t.Parallel()
	f := sampleLog()
	c, _ := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, f[0]+f[1]+f[0]+f[1]+"event: hello\ndata: {}\n\n"+f[2]+f[2]+f[3]+f[4])
	})
	if got := collect(t, c, "r1", 0); !slices.Equal(got, upTo(5)) {
		t.Errorf("got %v", got)
	}
}

// TestR9StreamReopened: a follow-up reopened the run, so a clean end after the
// first terminal state was not the end.
func TestR9StreamReopened(t *testing.T) {
	t.Parallel()
	frames := append(sampleLog()[:5], frameText(6, "state", `{"from":"SUCCEEDED","to":"QUEUED"}`), frameText(7, "state", `{"to":"FAILED"}`))
	six := len(": hello\n\n" + strings.Join(frames[:6], ""))
	s := &logServer{frames: frames, budget: []int{six}, clean: true, state: "QUEUED"}
	c := clientFor(t, s, nil)
	if got := collect(t, c, "r1", 0); !slices.Equal(got, upTo(7)) {
		t.Errorf("got %v", got)
	}
}

func TestR9StreamFinalErrors(t *testing.T) {
	t.Parallel()
	sse := func(body string) http.HandlerFunc { return answer(200, body, "Content-Type", "text/event-stream") }
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"not found", answer(404, `{"code":"resource_not_found","detail":"no run"}`), "no run"},
		{"unauthenticated", answer(401, `{"code":"authentication_required"}`), "401"},
		{"html", answer(200, `<html>`, "Content-Type", "text/html"), "check the server address"},
		{"final 500", answer(500, `{}`, "x-should-retry", "false"), "500"},
		{"broken JSON", sse("id: 1\ndata: {\"sequence\":1,\n\n"), "event after 0 is not readable"},
		{"broken state", sse("id: 1\ndata: {\"sequence\":1,\"type\":\"state\",\"data\":[]}\n\n"), "event after 0 is not readable"},
		{"wrong type", sse("data: {\"sequence\":\"one\"}\n\n"), "not readable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, s := scripted(t, tc.answer)
			var errs []error
			for event, err := range c.Runs.Stream(t.Context(), "r1", 0) {
				if event.Sequence != 0 {
					t.Errorf("event %+v", event)
				}
				errs = append(errs, err)
			}
			if len(errs) != 1 || errs[0] == nil || !strings.Contains(errs[0].Error(), tc.want) || len(s.requests()) != 1 {
				t.Errorf("errors %v after %d requests, want one with %q at once", errs, len(s.requests()), tc.want)
			}
		})
	}
}

func TestR9StreamBridgesOutage(t *testing.T) {
	t.Parallel()
	whole := answer(200, strings.Join(sampleLog()[:5], ""), "Content-Type", "text/event-stream")
	c, s := scripted(t, hangUp, answer(503, ``, "Retry-After", "4"), answer(502, ``), answer(429, ``, "retry-after-ms", "999999"), whole)
	if got := collect(t, c, "r1", 0); !slices.Equal(got, upTo(5)) {
		t.Errorf("got %v", got)
	}
	want := []time.Duration{500 * time.Millisecond, 4 * time.Second, 2 * time.Second, longestRetryAfter}
	if !slices.Equal(s.pauses, want) {
		t.Errorf("pauses %v, want %v", s.pauses, want)
	}
}

func TestR9StreamGivesUp(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]http.HandlerFunc{
		"refuses": answer(503, ``),
		"hangs":   hangUp,
		"empty": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/events") {
				answer(200, ``, "Content-Type", "text/event-stream")(w, r)
				return
			}
			answer(200, runJSON("INPROGRESS"))(w, r)
		},
	} {
		s := &script{answers: []http.HandlerFunc{fail}}
		c := clientFor(t, s, s, WithStreamRetries(3))
		var last error
		for _, err := range c.Runs.Stream(t.Context(), "r1", 0) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), "gave up after 4 connections") || len(s.pauses) != 3 {
			t.Errorf("%s: %v after %d pauses", name, last, len(s.pauses))
		}
	}
}

// Half an event is not a sign of life: the pauses grow, and the stream gives up.
func TestR9StreamOfHalfEventsGivesUp(t *testing.T) {
	t.Parallel()
	half := sampleLog()[0]
	c, s := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, half[:len(half)-1])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	var last error
	for _, err := range c.With(WithStreamRetries(3)).Runs.Stream(t.Context(), "r1", 0) {
		last = err
	}
	want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}
	if last == nil || !strings.Contains(last.Error(), "gave up after 4 connections") || !slices.Equal(s.pauses, want) {
		t.Errorf("%v after pauses %v, want %v", last, s.pauses, want)
	}
}

// A log that comes in parts, each with an orderly end, is read to its end though the
// run has ended long ago.
func TestR9StreamOfAnEndedRunInParts(t *testing.T) {
	t.Parallel()
	var frames []string
	for i := range 10 {
		frames = append(frames, frameText(i+1, "output", `{"text":"x"}`))
	}
	three := len(": hello\n\n" + strings.Join(frames[:3], ""))
	s := &logServer{frames: frames, budget: []int{three, three, three}, clean: true, state: "SUCCEEDED"}
	if got := collect(t, clientFor(t, s, nil), "r1", 0); !slices.Equal(got, upTo(10)) || s.conns.Load() != 5 {
		t.Errorf("got %v over %d connections, want 5: the last brings nothing", got, s.conns.Load())
	}
}

func TestR9StreamHonoursRetryField(t *testing.T) {
	t.Parallel()
	f := sampleLog()
	c, s := scripted(
		t,
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "retry: 7000\n\n"+f[0])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		answer(200, strings.Join(f[1:5], ""), "Content-Type", "text/event-stream"),
	)
	if got := collect(t, c, "r1", 0); !slices.Equal(got, upTo(5)) || !slices.Equal(s.pauses, []time.Duration{7 * time.Second}) {
		t.Errorf("got %v after pauses %v", got, s.pauses)
	}
}

func TestR9StreamNoContentIsTheEnd(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	if got := collect(t, c, "r1", 0); len(got) != 0 || len(s.requests()) != 1 {
		t.Errorf("got %v after %d requests", got, len(s.requests()))
	}
}

// TestR9StreamSilence: a connection without any sign of life is replaced.
func TestR9StreamSilence(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	left := sync.OnceFunc(func() { close(gone) })
	// What a connection brings depends on what the client has, not on its number: on a slow
	// machine the first event may come too late for one.
	s := &script{answers: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Header.Get("Last-Event-ID") != "" {
			_, _ = io.WriteString(w, strings.Join(sampleLog()[1:5], ""))
			return
		}
		_, _ = io.WriteString(w, sampleLog()[0])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		left()
	}}}
	c := clientFor(t, s, s, WithStreamIdleTimeout(300*time.Millisecond))
	if got := collect(t, c, "r1", 0); !slices.Equal(got, upTo(5)) {
		t.Errorf("got %v", got)
	}
	closed(t, "the end of the silent connection", gone)
}

func TestR9StreamSilenceBeforeHeaders(t *testing.T) {
	t.Parallel()
	mute := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	s := &script{answers: []http.HandlerFunc{mute}}
	c := clientFor(t, s, s, WithStreamIdleTimeout(20*time.Millisecond), WithStreamRetries(1))
	for _, err := range c.Runs.Stream(t.Context(), "r1", 0) {
		if !errors.Is(err, errStreamIdle) {
			t.Errorf("error %v, want silence as the reason", err)
		}
	}
}

// live sends one event, reports that it did, and says when the client disconnected.
func live(sent, gone chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sampleLog()[0])
		_ = http.NewResponseController(w).Flush()
		if sent != nil {
			close(sent)
		}
		<-r.Context().Done()
		close(gone)
	}
}

func TestR9StreamContextFreesConnection(t *testing.T) {
	t.Parallel()
	sent, gone := make(chan struct{}), make(chan struct{})
	c, s := scripted(t, live(sent, gone))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-sent; cancel() }()
	var last error
	for _, err := range c.Runs.Stream(ctx, "r1", 0) {
		last = err
	}
	if !errors.Is(last, context.Canceled) || len(s.requests()) != 1 {
		t.Errorf("error %v after %d requests", last, len(s.requests()))
	}
	closed(t, "the end of the connection", gone)
}

func TestR9StreamBreakFreesConnection(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	c, s := scripted(t, live(nil, gone))
	for event, err := range c.Runs.Stream(t.Context(), "r1", 0) {
		if err != nil || event.Sequence != 1 || event.RawJSON() == nil {
			t.Errorf("event %+v, %v", event, err)
		}
		break
	}
	closed(t, "the end of the connection", gone)
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestR9StreamIsLive: an event arrives while the connection stays open.
func TestR9StreamIsLive(t *testing.T) {
	t.Parallel()
	got := make(chan struct{})
	c, _ := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sampleLog()[0])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-got:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, strings.Join(sampleLog()[1:5], ""))
	})
	n := 0
	for _, err := range c.Runs.Stream(t.Context(), "r1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			close(got)
		}
	}
	if n != 5 {
		t.Errorf("%d events", n)
	}
}
