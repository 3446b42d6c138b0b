package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

// board is a server with runs that a test changes, and a stream that reports them.
type board struct {
	mu      sync.Mutex
	runs    []string
	down    bool
	queries []string
	stream  chan string
	cut     chan struct{}
}

// board adds runs, given as state, name and title.
func (s *stage) board(runs ...[3]string) *board {
	b := &board{stream: make(chan string), cut: make(chan struct{})}
	b.set(runs...)
	s.mux.HandleFunc("GET /api/v1/agent/runs", func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.queries = append(b.queries, r.URL.RawQuery)
		if b.down {
			problem(503, "resource_unavailable", "the database is away")(w, r)
			return
		}
		fmt.Fprintf(w, `{"runs":[%s],"page_info":{"has_next_page":false}}`, strings.Join(b.runs, ","))
	})
	s.mux.HandleFunc("GET /api/v1/agent/events/stream", b.follow)
	return b
}

func (b *board) follow(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	down, cut := b.down, b.cut
	b.mu.Unlock()
	if down {
		problem(503, "resource_unavailable", "the database is away")(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for n := 1; ; n++ {
		_ = http.NewResponseController(w).Flush()
		select {
		case frame := <-b.stream:
			fmt.Fprintf(w, "id: c-%d\ndata: %s\n\n", n, frame)
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (b *board) set(runs ...[3]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs = nil
	for i, r := range runs {
		title, _ := json.Marshal(r[2])
		b.runs = append(b.runs, fmt.Sprintf(`{"run_id":"0190f3c2-aaaa-7bbb-8ccc-00000000000%d","state":%q,"title":%s,"agent_config":{"name":%q},"created_at":"2026-01-02T03:00:00Z",
			"updated_at":"2026-01-02T03:5%d:00Z","session_link":"http://server.example/runs/%d","status_message":{"message":"because"}}`, i+1, r[0], title, r[1], i, i+1))
	}
}

// tells sends a change to every follower.
func (b *board) tells(t *testing.T, n int, state string) {
	t.Helper()
	select {
	case b.stream <- fmt.Sprintf(`{"run_id":"0190f3c2-aaaa-7bbb-8ccc-00000000000%d","sequence":5,"type":"state","time":"2026-01-02T03:59:59Z","data":{"to":%q}}`, n, state):
	case <-time.After(patience):
		t.Fatal("nobody follows the states")
	}
}

func (b *board) goesDown(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down = down; down {
		close(b.cut)
		b.cut = make(chan struct{})
	}
}

func (b *board) lastQuery() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queries[len(b.queries)-1]
}

func someRuns() [][3]string {
	return [][3]string{
		{"INPROGRESS", "fixer", "Fix the clock in the hall that has stood still since last winter, and oil it"},
		{"BLOCKED", "reviewer", "Review \u001b]0;owned\u0007change \u202e7"},
		{"SUCCEEDED", "", "日本語のタイトル"},
		{"FAILED", "nightly", ""},
		{"CANCELLED", "nightly", "Old work"},
	}
}

const isLive = "● live"

// TestI1WatchLooks: the list on terminals of several sizes, with and without colour.
func TestI1WatchLooks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		columns, rows int
		env           string
	}{{"watch-80", 80, 24, "TERM=xterm"}, {"watch-40", 40, 12, "TERM=xterm"}, {"watch-40-plain", 40, 5, "NO_COLOR=1"}, {"watch-160", 160, 30, "NO_COLOR=1"}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.setenv(tc.env)
			s.board(someRuns()...)
			p := s.watch(t.Context(), t, tc.columns, tc.rows, "runs", "watch")
			if tc.env == "TERM=xterm" {
				p.Change(func(s *terminaltest.Screen) { s.ShowStyles() })
			}
			p.Reads("reading…")
			p.passes(time.Second)
			text := p.Reads("Fix")
			p.Types("?")
			help := p.Reads("any key")
			p.Types("x")
			p.Reads("Fix")
			p.Types("jj")
			text += strings.Repeat("=", tc.columns) + "\n" + p.Sees("the third run chosen", func(s *terminaltest.Screen) bool {
				_, chosen, _ := strings.Cut(s.Text(), "▸")
				line, _, _ := strings.Cut(chosen, "\n")
				return strings.Contains(line, "SUCCEEDED")
			})
			p.Types("q")
			if code, text := p.ends(); code != 0 || text != "\n" || !p.Echoes() {
				t.Errorf("exit %d, echo %v, left %q", code, p.Echoes(), text)
			}
			golden(t, tc.name, text+strings.Repeat("=", tc.columns)+"\n"+help)
		})
	}
}

// TestI1WatchIsLive: changes are seen at once, the list is read again, and a lost server
// is also seen.
func TestI1WatchIsLive(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.board(someRuns()...)
	p := s.watch(t.Context(), t, 80, 24, "runs", "watch", "--state", "inprogress", "--name", "fixer")
	p.passes(time.Second)
	p.Reads("INPROGRESS", isLive, "· inprogress")
	if got := b.lastQuery(); got != "limit=100&name=fixer&state=INPROGRESS" {
		t.Errorf("query %s", got)
	}
	b.tells(t, 1, "SUCCEEDED")
	p.Sees("the new state", func(s *terminaltest.Screen) bool { return strings.Count(s.Text(), "SUCCEEDED") == 2 })
	b.set([3]string{"QUEUED", "n", "A new one"})
	p.passes(time.Second)
	p.Reads("A new one", "Runs 1 ")

	b.goesDown(true)
	p.Reads("reconnecting: ", "A new one")
	p.passes(2 * time.Second)
	p.Reads("reconnecting: the database is away")
	b.goesDown(false)
	b.set()
	p.passes(2 * time.Second)
	p.Reads(isLive, "no runs yet")
	p.Types("jk\r cfo") // nothing is chosen
	p.Types("q")
	if code, _ := p.ends(); code != 0 {
		t.Error(code)
	}
}

// TestI1WatchKeys: filters, and what is done to runs.
func TestI1WatchKeys(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.board(someRuns()...)
	s.answer("POST /api/v1/agent/runs/{id}/cancel", 200, `"x"`)
	s.answer("POST /api/v1/agent/runs/{id}/followups", 200, `{"followup_id":"f","outcome":"live_session"}`)
	opened := make(chan string, 2)
	s.deps.OpenURL = func(_ context.Context, url string) error {
		opened <- url
		if len(opened) > 1 {
			return errors.New("no browser")
		}
		return nil
	}
	p := s.watch(t.Context(), t, 100, 24, "runs", "watch")
	p.passes(time.Second)
	p.Reads("Fix")

	p.Types("c")
	p.Reads("Cancel “Fix the clock in the hall tha…”? y or n")
	p.Types("n")
	p.Misses("y or n")
	p.Types("cy")
	p.Reads("cancelled")
	p.Types("jf")
	p.Reads("Answer:")
	p.Types("nearly\x17yes, do\x1b[D it")
	p.Sees("the cursor behind the text", func(s *terminaltest.Screen) bool {
		column, row := s.Cursor()
		return !s.CursorHidden() && row == 23 && column == len("Answer: yes, do it")
	})
	p.Types("\r")
	p.Reads("the run was blocked; this answers it")
	p.Types("f\r") // nothing is not sent
	p.Misses("Answer:")
	p.Types("Gc")
	p.Reads("it has ended already")
	p.Types("go")
	p.Reads("opened http://server.example/runs/1")
	p.Types("o")
	p.Reads("the browser could not be opened; go to http://server.example/runs/1")
	p.Types("/")
	p.Reads("Find:")
	p.Types("old work\r")
	p.Misses("Find")
	p.passes(time.Second)
	p.Reads("“old work”")
	p.Types("sss")
	p.Reads("· failed")
	p.passes(6 * time.Second)
	p.Types("\x1b")
	p.Misses("· failed")
	p.Types("\x0cr")
	b.set()
	p.passes(6 * time.Second)
	p.Types("ssss")
	p.Reads("Esc clears the filter")
	p.Types("q")
	if code, _ := p.ends(); code != 0 {
		t.Error(code)
	}
	var did []string
	for _, r := range s.requests() {
		if r.method == http.MethodPost {
			did = append(did, r.path[len("/api/v1/agent/runs/0190f3c2-aaaa-7bbb-8ccc-00000000000"):]+r.body)
		}
	}
	if want := `1/cancel|2/followups{"message":"yes, do it"}`; strings.Join(did, "|") != want {
		t.Errorf("did %q, want %q", did, want)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if all := strings.Join(b.queries, " "); !strings.Contains(all, "q=old+work") {
		t.Errorf("queries %q", all)
	}
}

// TestI1WatchOpensARun: the log of a run comes live, can be scrolled, and does not hide
// that it cannot be read.
func TestI1WatchOpensARun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ columns, rows int }{{80, 24}, {40, 12}} {
		s := newStage(t)
		s.board(someRuns()...)
		log := newPlay()
		id := "0190f3c2-aaaa-7bbb-8ccc-000000000001"
		s.mux.Handle("GET /api/v1/agent/runs/"+id+"/events", log)
		s.answer("GET /api/v1/agent/runs/"+id, 200, `{"run_id":"`+id+`","state":"FAILED","title":"Fix the clock","created_at":"2026-01-02T03:00:00Z","started_at":"2026-01-02T04:00:02Z","finished_at":"2026-01-02T04:01:00Z","status_message":{"message":"it broke"}}`)
		log.send(recorded()[:9]...)
		p := s.watch(t.Context(), t, tc.columns, tc.rows, "runs", "watch")
		p.passes(10 * time.Second)
		p.Reads("Fix")
		p.Types("\r")
		p.Reads("q back", "go test ./...")
		var seen strings.Builder
		snap := func(text string) { seen.WriteString(strings.Repeat("=", tc.columns) + "\n" + text) }
		p.passes(time.Second)
		snap(p.Reads("2.0s"))
		log.send(recorded()[9:12]...)
		p.Reads("FAIL    clock")
		p.Types("g")
		snap(p.Reads("QUEUED"))
		p.Types("G")
		p.Reads("FAIL    clock")
		log.send(`state {"to":"FAILED"}`, "end")
		snap(p.Reads("✗ FAILED it broke"))
		golden(t, fmt.Sprintf("watch-run-%d", tc.columns), seen.String())
		p.Types("q")
		p.Reads("q quit")
		p.Types("j\r")
		p.Reads("! no such thing here; trying again")
		p.Types("\x1b")
		p.Reads("q quit")
		p.Types("q")
		if code, _ := p.ends(); code != 0 {
			t.Error(code)
		}
	}
}

// TestI1WatchGivesTheTerminalBack: at every end, and while it is suspended.
func TestI1WatchGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"interrupt", "hang-up", "panic", "suspend"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.board(someRuns()...)
			s.deps.OpenURL = func(context.Context, string) error { panic("a mistake of ours") }
			stopped, resume := make(chan struct{}), make(chan struct{})
			s.deps.Live.Suspend = func() { close(stopped); <-resume }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := s.watch(ctx, t, 80, 24, "runs", "watch")
			p.passes(time.Second)
			p.Reads("Fix")
			if p.Echoes() {
				t.Error("what is typed would be shown")
			}
			switch end {
			case "interrupt":
				cancel()
			case "hang-up":
				p.signal(terminal.SignalEnd)
			case "panic":
				p.Types("o")
				if code, text := p.ends(); code != shell.ExitFailed || !strings.Contains(text, "a bug in lineshaft: a mistake of ours") || !strings.Contains(text, "Please report it") || !p.Echoes() {
					t.Errorf("exit %d, echo %v: %s", code, p.Echoes(), text)
				}
				return
			case "suspend":
				p.signal(terminal.SignalSuspend)
				<-stopped
				p.Sees("what stood there before", func(s *terminaltest.Screen) bool { return !s.Alternate() && !s.CursorHidden() })
				if !p.Echoes() {
					t.Error("the shell would be mute")
				}
				p.Resize(60, 10)
				close(resume)
				p.Reads("Fix", "q quit")
				p.Resize(50, 8)
				p.signal(terminal.SignalResize)
				p.Reads("Fix", "q quit")
				p.Types("q")
			}
			if code, text := p.ends(); code != 0 || strings.Contains(text, "Fix") || !p.Echoes() {
				t.Errorf("exit %d, echo %v: %s", code, p.Echoes(), text)
			}
		})
	}
}

// TestI1WatchIsRefused: what trying again cannot fix ends it, with what to do.
func TestI1WatchIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mux.HandleFunc("GET /api/v1/agent/runs", problem(401, "authentication_required", "no"))
	s.mux.HandleFunc("GET /api/v1/agent/events/stream", problem(401, "authentication_required", "no"))
	p := s.watch(t.Context(), t, 80, 24, "runs", "watch")
	p.passes(time.Second)
	if code, text := p.ends(); code != shell.ExitDenied || !strings.Contains(text, "does not accept this API key") || !p.Echoes() {
		t.Errorf("exit %d: %s", code, text)
	}
}

// TestI1WatchInAPipe: without a terminal it says what to do instead, and with ndjson it
// needs none.
func TestI1WatchInAPipe(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.board(someRuns()...)
	r := s.run(t.Context(), "runs", "watch")
	if r.code != shell.ExitUsage || r.out != "" || !strings.Contains(r.err, "lineshaft runs list") || !strings.Contains(r.err, "--output ndjson") {
		t.Errorf("%+v", r)
	}
	s.terminal(80)
	if r := s.run(t.Context(), "runs", "watch"); r.code != shell.ExitUsage || !strings.Contains(r.err, "reads keys") || strings.Contains(r.out, "\x1b") {
		t.Errorf("%+v", r)
	}
	s.terminal(0)
	if r := s.run(t.Context(), "runs", "watch", "--factory", "tpyo", "-o", "ndjson"); r.code == 0 {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &watched{want: "FAILED", seen: make(chan struct{})}
	deps := s.deps
	deps.Stdout, deps.Stderr, deps.Stdin = out, io.Discard, strings.NewReader("")
	done := make(chan int)
	go func() { done <- execute(ctx, []string{"runs", "watch", "-o", "ndjson", "--state", "failed"}, deps) }()
	b.tells(t, 2, "FAILED")
	<-out.seen
	cancel()
	if code := <-done; code != 0 {
		t.Error(code)
	}
	if lines := strings.Split(out.text.String(), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], `{"run_id":"0190f3c2`) {
		t.Errorf("%q", lines)
	}
	if query := s.last(t).query; query != "state=FAILED" {
		t.Errorf("query %s", query)
	}
}
