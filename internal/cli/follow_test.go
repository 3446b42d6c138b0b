package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// ended adds a run that ended in a state.
func (s *stage) ended(state, message string) {
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r","task_id":"r","state":"QUEUED","at_capacity":false}`)
	s.answer("GET /api/v1/agent/runs/r", 200, fmt.Sprintf(`{"run_id":"r","state":%q,"status_message":{"message":%q}}`, state, message))
	s.mux.HandleFunc("GET /api/v1/agent/runs/r/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 1\ndata: {\"sequence\":1,\"type\":\"output\",\"data\":{\"stream\":\"stdout\",\"text\":\"half a line\"}}\n\n")
		fmt.Fprintf(w, "id: 2\ndata: {\"sequence\":2,\"type\":\"state\",\"data\":{\"to\":%q,\"message\":%q}}\n\n", state, message)
	})
}

// TestI1RunResultDecides: --wait and --follow exit 1 unless the run succeeds.
func TestI1RunResultDecides(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		state string
		code  int
	}{{"SUCCEEDED", 0}, {"FAILED", shell.ExitFailed}, {"ERROR", shell.ExitFailed}, {"CANCELLED", shell.ExitFailed}} {
		for _, flag := range []string{"--wait", "--follow", "-w", "-f"} {
			for _, format := range []string{"table", "json", "ndjson", "yaml"} {
				s := newStage(t)
				s.ended(tc.state, "the reason")
				r := s.run(t.Context(), "run", "x", flag, "-o", format)
				if r.code != tc.code || !strings.Contains(r.out, tc.state) || strings.Contains(r.err, "Error:") {
					t.Errorf("%s %s -o %s: %+v", tc.state, flag, format, r)
				}
				if format == "table" && !strings.HasSuffix(r.out, tc.state+": the reason\n") {
					t.Errorf("%s: the last line is not the state: %q", flag, r.out)
				}
			}
		}
	}
}

// TestI1FollowOutput: agent output goes out as it is, and a line that was left open
// is ended before the state.
func TestI1FollowOutput(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.ended("FAILED", "exit code 3")
	if r := s.run(t.Context(), "run", "x", "--follow"); r.out != "half a line\nFAILED: exit code 3\n" || r.err != "-- run r\n" {
		t.Errorf("%+v", r)
	}
}

// TestI1LogsOfFailedRun: reading a log works, however the run ended.
func TestI1LogsOfFailedRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.ended("FAILED", "exit code 3")
	if r := s.run(t.Context(), "runs", "logs", "-f", "r"); r.code != 0 || !strings.HasSuffix(r.out, "FAILED: exit code 3\n") {
		t.Errorf("%+v", r)
	}
}

func TestI1FollowupFollowsWhatIsNew(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	var mu sync.Mutex
	var lastIDs []string
	s.mux.HandleFunc("GET /api/v1/agent/runs/old/events", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" {
			fmt.Fprintf(w, `{"events":[%s],"page_info":{"has_next_page":false}}`, strings.Join(events(), ","))
			return
		}
		mu.Lock()
		lastIDs = append(lastIDs, r.Header.Get("Last-Event-ID"))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 15\ndata: {\"sequence\":15,\"type\":\"message\",\"data\":{\"role\":\"assistant\",\"text\":\"Done again.\"}}\n\n")
		fmt.Fprintf(w, "id: 16\ndata: {\"sequence\":16,\"type\":\"state\",\"data\":{\"to\":\"SUCCEEDED\"}}\n\n")
	})
	s.answer("GET /api/v1/agent/runs/old", 200, `{"run_id":"old","state":"SUCCEEDED"}`)
	s.deps.Stdin = strings.NewReader("go on\n")
	r := s.run(t.Context(), "runs", "followup", "old", "-", "--follow")
	if r.code != 0 || r.out != "Done again.\nSUCCEEDED\n" || !strings.Contains(r.err, "queued again with the message") {
		t.Errorf("%+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lastIDs) != 1 || lastIDs[0] != "14" || s.requests()[2].body != `{"message":"go on\n"}` {
		t.Errorf("Last-Event-ID %q, request %+v", lastIDs, s.requests()[2])
	}
}

func TestFollowupWithFileAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	r := s.run(t.Context(), "runs", "followup", "run-1", "--file", file(t, "n.txt", "x"))
	if r.code != 0 || !strings.HasPrefix(s.requests()[1].body, `{"attachments":[{"file_name":"n.txt"`) {
		t.Errorf("%+v, %+v", r, s.requests())
	}
}

// TestX7AnAnswerIsToldAsOne: the question that was just answered is not shown again,
// but a further one is.
func TestX7AnAnswerIsToldAsOne(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("POST /api/v1/agent/runs/r/followups", 200, `{"followup_id":"f","outcome":"live_session"}`)
	looks := 0
	s.mux.HandleFunc("GET /api/v1/agent/runs/r", func(w http.ResponseWriter, _ *http.Request) {
		state := []string{"BLOCKED", "BLOCKED", "INPROGRESS", "BLOCKED", "SUCCEEDED"}[min(looks, 4)]
		looks++
		fmt.Fprintf(w, `{"run_id":"r","state":%q,"status_message":{"message":"may I?"}}`, state)
	})
	r := s.run(t.Context(), "runs", "followup", "r", "yes", "--wait")
	if r.code != 0 || r.err != "-- the run was blocked; this answers it\n-- BLOCKED: may I?\n-- it waits for an answer: lineshaft runs followup r \"ANSWER\"\n" {
		t.Errorf("%+v", r)
	}
}

// gate is a run that works until the test lets it continue.
type gate struct {
	sent chan struct{}
	once sync.Once
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "id: 1\ndata: {\"sequence\":1,\"type\":\"output\",\"data\":{\"stream\":\"stdout\",\"text\":\"working\\n\"}}\n\n")
	_ = http.NewResponseController(w).Flush()
	g.once.Do(func() { close(g.sent) })
	<-r.Context().Done()
}

// TestI1InterruptLeavesRun: Ctrl-C ends the command, not the run, and says so.
func TestI1InterruptLeavesRun(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run", "x", "--follow"}, {"runs", "logs", "-f", "r"}, {"runs", "rerun", "r", "--follow"}} {
		s := newStage(t)
		g := &gate{sent: make(chan struct{})}
		s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r","task_id":"r","state":"QUEUED","at_capacity":false}`)
		s.answer("POST /api/v1/agent/runs/r/rerun", 200, `{"run_id":"r","task_id":"r","state":"QUEUED","at_capacity":false}`)
		s.mux.Handle("GET /api/v1/agent/runs/r/events", g)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-g.sent; cancel() }()
		r := s.run(ctx, args...)
		if r.code != shell.ExitFailed || !strings.Contains(r.err, "The run continues without you.") ||
			!strings.Contains(r.err, "lineshaft runs logs -f r\n") || !strings.Contains(r.err, "lineshaft runs cancel r\n") || strings.Contains(r.err, "Error:") {
			t.Errorf("%v: %+v", args, r)
		}
		for _, call := range s.requests() {
			if strings.HasSuffix(call.path, "/cancel") {
				t.Errorf("%v cancelled the run", args)
			}
		}
	}
}

func TestI1InterruptWhileWaiting(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r","task_id":"r","state":"QUEUED","at_capacity":false}`)
	ctx, cancel := context.WithCancel(t.Context())
	s.mux.HandleFunc("GET /api/v1/agent/runs/r", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"run_id":"r","state":"INPROGRESS"}`)
		cancel()
	})
	if r := s.run(ctx, "run", "x", "--wait"); r.code != shell.ExitFailed || !strings.Contains(r.err, "The run continues without you.") {
		t.Errorf("%+v", r)
	}
}

func TestI1InterruptWhileStarting(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.mux.HandleFunc("POST /api/v1/agent/runs", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if r := s.run(ctx, "run", "x"); r.code != shell.ExitFailed || !strings.Contains(r.err, "may have been started") {
		t.Errorf("%+v", r)
	}
}

// TestI1FollowIsLive: output appears before the run ends.
func TestI1FollowIsLive(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	g := &gate{sent: make(chan struct{})}
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r","task_id":"r","state":"QUEUED","at_capacity":false}`)
	s.mux.Handle("GET /api/v1/agent/runs/r/events", g)
	out := &watched{want: "working\n", seen: make(chan struct{})}
	deps := s.deps
	deps.Stdout, deps.Stderr, deps.Stdin = out, io.Discard, strings.NewReader("")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() { done <- execute(ctx, []string{"run", "x", "--follow"}, deps) }()
	select {
	case <-out.seen:
	case <-time.After(time.Minute):
		t.Error("nothing was printed while the run works")
	}
	cancel()
	<-done
}

// watched is a writer that says when it has got a text.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	seen chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	had := strings.Contains(w.text.String(), w.want)
	n, err := w.text.Write(p)
	if !had && strings.Contains(w.text.String(), w.want) {
		close(w.seen)
	}
	return n, err
}

// TestI1BlockedIsTold: a run that waits for an answer is reported, also in a pipe.
func TestI1BlockedIsTold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r","task_id":"r","state":"QUEUED","at_capacity":false}`)
	looks := 0
	s.mux.HandleFunc("GET /api/v1/agent/runs/r", func(w http.ResponseWriter, _ *http.Request) {
		state := []string{"QUEUED", "BLOCKED", "SUCCEEDED"}[min(looks, 2)]
		looks++
		fmt.Fprintf(w, `{"run_id":"r","state":%q,"status_message":{"message":"may I?"}}`, state)
	})
	r := s.run(t.Context(), "run", "x", "--wait")
	if r.code != 0 || r.err != "-- run r\n-- BLOCKED: may I?\n-- it waits for an answer: lineshaft runs followup r \"ANSWER\"\n" {
		t.Errorf("%+v", r)
	}
}

// TestX2TheAbsentWorkerIsTold: a run that waits for a worker says so once, also in a pipe.
func TestX2TheAbsentWorkerIsTold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, flags, config, workers, want string }{
		{"absent", "--wait", `{"worker_host":"no such"}`, `{"worker_host":"mac"}`, "-- it waits for worker no such, which is not connected (`lineshaft worker list` shows those that are); start it with an API key that has the role worker: lineshaft worker --id 'no such'\n"},
		{"connected", "--wait", `{"worker_host":"mac"}`, `{"worker_host":"mac"}`, "-- it waits for worker mac\n"},
		{"for programs", "--wait -o json", `{"worker_host":"mac"}`, "", "-- it waits for worker mac, which is not connected (`lineshaft worker list` shows those that are); start it with an API key that has the role worker: lineshaft worker --id mac\n"},
		{"followed", "--follow", `{"worker_host":"mac"}`, "", "-- it waits for worker mac, which is not connected (`lineshaft worker list` shows those that are); start it with an API key that has the role worker: lineshaft worker --id mac\n"},
		{"the server's own", "--wait", `{"worker_host":"hosted"}`, `{"worker_host":"hosted"}`, ""},
		{"none of the server's own", "--wait", `{"worker_host":"hosted"}`, "", "-- it waits for the server's own worker, which is not connected; start the server without --no-worker, or give --host one that `lineshaft worker list` shows\n"},
		{"nobody waits", "", `{"worker_host":"mac"}`, "", "-- it waits for worker mac, which is not connected (`lineshaft worker list` shows those that are); start it with an API key that has the role worker: lineshaft worker --id mac\n"},
		{"nobody waits, busy", "", `{"worker_host":"mac"}`, `{"worker_host":"mac"}`, ""},
		{"nothing said", "--wait", `{}`, "", ""},
	} {
		s := newStage(t)
		s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r","task_id":"r","state":"QUEUED","at_capacity":true}`)
		s.answer("GET /api/v1/agent/connected-self-hosted-workers", 200, `{"workers":[`+tc.workers+`]}`)
		looks := 0
		s.mux.HandleFunc("GET /api/v1/agent/runs/r", func(w http.ResponseWriter, _ *http.Request) {
			looks++
			state := "QUEUED"
			if looks > 2 || looks > 1 && tc.flags == "--follow" { // it looks again only when the log has ended
				state = "SUCCEEDED"
			}
			fmt.Fprintf(w, `{"run_id":"r","state":%q,"agent_config":%s}`, state, tc.config)
		})
		s.mux.HandleFunc("GET /api/v1/agent/runs/r/events", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\ndata: {\"sequence\":1,\"type\":\"state\",\"data\":{\"to\":\"SUCCEEDED\"}}\n\n")
		})
		r := s.run(t.Context(), append([]string{"run", "x"}, strings.Fields(tc.flags)...)...)
		told := strings.TrimPrefix(r.err, "-- run r\n")
		if r.code != shell.ExitOK || told != tc.want || strings.Contains(r.out, "waits") {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}
