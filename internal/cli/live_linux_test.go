package cli

import (
	"context"
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

// patience is how long a test waits for what must come; all of it only when it fails.
const patience = time.Minute

// person sits at a pseudo-terminal that a command runs on, and has its clock.
type person struct {
	*terminaltest.Person
	t       *testing.T
	ticks   chan time.Time
	signals chan terminal.Signal
	code    chan int

	mu  sync.Mutex
	now time.Time
}

// watch runs a command on a pseudo-terminal of a size.
func (s *stage) watch(ctx context.Context, t *testing.T, columns, rows int, args ...string) *person {
	t.Helper()
	p := &person{
		Person: terminaltest.Sit(t, columns, rows), t: t, ticks: make(chan time.Time),
		signals: make(chan terminal.Signal), code: make(chan int, 1), now: s.deps.Now(),
	}
	deps := s.deps
	deps.Stdin, deps.Stdout, deps.Stderr, deps.Width = p.Terminal, p.Terminal, p.Terminal, shell.TerminalWidth
	deps.Now = func() time.Time { p.mu.Lock(); defer p.mu.Unlock(); return p.now }
	deps.Live = shell.LiveHooks{Ticks: p.ticks, Signals: p.signals, Suspend: s.deps.Live.Suspend}
	go func() {
		defer p.Terminal.Close()
		p.code <- execute(ctx, args, deps)
	}()
	return p
}

// passes lets time pass, and the command notice.
func (p *person) passes(d time.Duration) {
	p.mu.Lock()
	p.now = p.now.Add(d)
	p.mu.Unlock()
	select {
	case p.ticks <- p.now:
	case <-time.After(patience):
		p.t.Fatal("nobody looks at the clock")
	}
}

// signal signals the command, which takes it before anything else happens.
func (p *person) signal(s terminal.Signal) {
	p.t.Helper()
	select {
	case p.signals <- s:
	case <-time.After(patience):
		p.t.Fatal("nobody takes signals")
	}
}

// ends waits for the command, and returns its code and all that was seen.
func (p *person) ends() (code int, text string) {
	p.t.Helper()
	select {
	case code = <-p.code:
	case <-time.After(patience):
		p.t.Fatal("the command does not end")
	}
	return code, p.Rest()
}

// play is a run whose log a test sends piece by piece.
type play struct {
	mu     sync.Mutex
	grown  chan struct{}
	frames []string
	over   bool
}

func newPlay() *play { return &play{grown: make(chan struct{})} }

// send adds events, given as type and data; "end" ends the log.
func (p *play) send(events ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		if e == "end" {
			p.over = true
			continue
		}
		n := len(p.frames) + 1
		kind, data, _ := strings.Cut(e, " ")
		at := time.Date(2026, 1, 2, 4, 0, n, 0, time.UTC).Format(time.RFC3339Nano)
		p.frames = append(p.frames, fmt.Sprintf("id: %d\ndata: {\"sequence\":%d,\"type\":%q,\"time\":%q,\"data\":%s}\n\n", n, n, kind, at, data))
	}
	close(p.grown)
	p.grown = make(chan struct{})
}

func (p *play) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for sent := 0; ; {
		p.mu.Lock()
		frames, over, grown := p.frames[sent:], p.over, p.grown
		p.mu.Unlock()
		for _, frame := range frames {
			_, _ = io.WriteString(w, frame)
		}
		sent += len(frames)
		_ = http.NewResponseController(w).Flush()
		if over {
			return
		}
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

// playing adds a run that plays; it is reported to have ended in a state.
func (s *stage) playing(state string) *play {
	p := newPlay()
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r-1","task_id":"r-1","state":"QUEUED","at_capacity":true}`)
	s.answer("GET /api/v1/agent/runs", 200, `{"runs":[`+runOne+`,`+runTwo+`],"page_info":{"has_next_page":false}}`)
	s.answer("GET /api/v1/agent/runs/r-1", 200, `{"run_id":"r-1","title":"Fix the \u001b]52;c;b3duZWQ=\u0007clock","state":"`+state+`","created_at":"2026-01-02T04:00:00Z",
		"session_link":"http://server.example/runs/r-1","started_at":"2026-01-02T04:00:02Z","finished_at":"2026-01-02T04:01:30Z",
		"request_usage":{"total_tokens":12345,"inference_cost_usd":0.25},"status_message":{"message":"all is well"}}`)
	s.mux.Handle("GET /api/v1/agent/runs/r-1/events", p)
	return p
}

// recorded is a log with everything that people are shown.
func recorded() []string {
	lines := strings.Repeat(`ok  \tpackage/of/some/length\t0.01s\n`, 130)
	return []string{
		`state {"to":"QUEUED","message":"waiting for a worker"}`,
		`message {"role":"user","text":"Fix the clock in the hall, and tell me afterwards what was wrong with it.\nIt stands still."}`,
		`state {"from":"QUEUED","to":"PENDING"}`,
		`state {"from":"PENDING","to":"CLAIMED","worker":"w-1"}`,
		`notice {"level":"info","text":"A new, empty workspace was created."}`,
		`state {"to":"INPROGRESS"}`,
		`thought {"text":"The user wants the clock to run again. I look at the tests first, since they know best what is wrong."}`,
		`plan {"steps":[{"text":"Look","state":"in_progress"},{"text":"Fix","state":"pending"}]}`,
		`tool_call {"id":"1","category":"command","name":"bash","input":{"command":"go test ./..."}}`,
		`output {"stream":"stdout","text":"` + lines + `","tool_call_id":"1"}`,
		`output {"stream":"stderr","text":"FAIL\tclock\t0.2s","tool_call_id":"1"}`,
		`tool_result {"id":"1","category":"command","name":"bash","state":"failed","output":{"exit_code":1}}`,
		`tool_call {"id":"2","category":"files","name":"edit","input":{"path":"clock/spring.go"}}`,
		`tool_result {"id":"2","category":"files","name":"edit","state":"completed","output":{"text":"not for people"}}`,
		`tool_call {"id":"3","category":"command","name":"bash","input":{"command":"set -e\ngo build\ngo test"}}`,
		`tool_result {"id":"3","category":"command","name":"bash","state":"completed","output":{"text":"10%\r50%\r100%\nok\n"}}`,
		`permission_request {"title":"git push","decision":"allow"}`,
		`plan {"steps":[{"text":"Look","state":"completed"},{"text":"Fix","state":"completed"}]}`,
		`usage {"input_tokens":12000,"output_tokens":345,"cost_micros":250000}`,
		`output {"stream":"stdout","text":"hostile \u001b[2J\u001b]0;title\u0007\u001b]52;c;b3duZWQ=\u0007 \u202eedoc\u202c \u009b31m end\n"}`,
		`artifact {"artifact_type":"FILE","filename":"report.md"}`,
		`message {"role":"assistant","text":"## What was wrong\n\nThe **spring** in ` + "`clock/spring.go`" + ` was broken:\n\n1. it was too short for the clock that it is in\n2. it was rusty\n\n` + "```go\\nfunc wind() {}\\n```" + `\n\n> see [the manual](https://clock.example/manual)\n\n日本語 wide ✓"}`,
		`notice {"level":"warning","text":"No test covers this."}`,
		`state {"from":"INPROGRESS","to":"SUCCEEDED","message":"all is well"}`,
		"end",
	}
}

// TestI1FollowLooks: what a person sees of a run, on wide and narrow terminals, with and
// without colour.
func TestI1FollowLooks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		columns int
		rows    int
		env     string
	}{{"follow-80", 80, 24, "TERM=xterm"}, {"follow-80-plain", 80, 24, "NO_COLOR=1"}, {"follow-40", 40, 12, "TERM=xterm"}, {"follow-200", 200, 50, "NO_COLOR=1"}, {"follow-dumb", 80, 24, "TERM=dumb"}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.setenv(tc.env)
			s.playing("SUCCEEDED").send(recorded()...)
			p := s.watch(t.Context(), t, tc.columns, tc.rows, "run", "x", "--follow")
			if tc.env == "TERM=xterm" {
				p.Change(func(s *terminaltest.Screen) { s.ShowStyles() })
			}
			code, text := p.ends()
			if code != 0 || !p.Echoes() {
				t.Errorf("exit %d, echo %v", code, p.Echoes())
			}
			golden(t, tc.name, text)
		})
	}
}

// TestI1FollowMoves: the spinner turns, seconds pass, the plan and the output move on,
// and nothing of it stays.
func TestI1FollowMoves(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 40} {
		s := newStage(t)
		play := s.playing("SUCCEEDED")
		play.send(recorded()[:3]...)
		p := s.watch(t.Context(), t, columns, 12, "runs", "logs", "-f", "r-1")
		var seen strings.Builder
		snap := func(text string) { seen.WriteString(strings.Repeat("=", columns) + "\n" + text) }
		p.Reads("starting")
		play.send(recorded()[3:9]...)
		p.Reads("go test ./...")
		p.passes(10 * time.Second)
		snap(p.Reads("1.0s"))
		play.send(recorded()[9])
		p.passes(1500 * time.Millisecond)
		snap(p.Reads("2.5s", "  ok "))
		play.send(recorded()[10:12]...)
		play.send(`plan {"steps":[{"text":"Look","state":"completed"},{"text":"Fix","state":"in_progress"}]}`)
		snap(p.Reads("▸ Fix"))
		play.send(`state {"to":"SUCCEEDED"}`, "end")
		_, text := p.ends()
		snap(text)
		golden(t, fmt.Sprintf("follow-moves-%d", columns), seen.String())
		if strings.ContainsAny(text, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
			t.Error("a spinner stayed")
		}
	}
}

// TestI1FollowTellsTheQueue: a run that waits says what for.
func TestI1FollowTellsTheQueue(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	play := s.playing("SUCCEEDED")
	play.send(`state {"to":"QUEUED"}`)
	p := s.watch(t.Context(), t, 80, 24, "run", "x", "--wait")
	p.Reads("queued")
	p.passes(4 * time.Second)
	p.Reads("2 runs before it")
	if query := s.last(t).query; query != "created_before=2026-01-02T04%3A00%3A00Z&limit=100&state=QUEUED" {
		t.Errorf("query %s", query)
	}
	play.send(`state {"to":"SUCCEEDED"}`, "end")
	if code, text := p.ends(); code != 0 || !strings.Contains(text, "✓ SUCCEEDED: all is well") || strings.Contains(text, "QUEUED") {
		t.Errorf("exit %d\n%s", code, text)
	}
}

// TestI1FollowAnswers: a question is asked and answered in place; an answer that does not
// arrive is reported and can be sent again.
func TestI1FollowAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	play := s.playing("FAILED")
	var mu sync.Mutex
	refuse := true
	s.mux.HandleFunc("POST /api/v1/agent/runs/r-1/followups", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if refuse {
			refuse = false
			problem(403, "not_authorized", "the role \"viewer\" of this key does not include runs.steer")(w, r)
			return
		}
		fmt.Fprint(w, `{"followup_id":"f","outcome":"live_session"}`)
	})
	play.send(`state {"to":"INPROGRESS"}`)
	p := s.watch(t.Context(), t, 80, 24, "run", "x", "--follow")
	p.Reads("working")
	play.send(`permission_request {"title":"May I delete the clock?","options":[{"id":"a","name":"Allow once","kind":"allow_once"},{"id":"b","name":"Reject","kind":"reject_once"}]}`, `state {"to":"BLOCKED","message":"May I delete the clock?"}`)
	p.Reads("Your answer ›")
	p.Types("\r") // nothing is not an answer
	p.Types("nog\x7f\x15no, wind it\x1b[A first\r")
	p.Reads("--role ROLE")
	golden(t, "follow-asks", p.Reads("Your answer › no, wind it first"))
	p.Types(" \r")
	p.Misses("›")
	play.send(`permission_request {"title":"May I delete the clock?","decision":"reject"}`, `state {"to":"INPROGRESS"}`, `state {"to":"FAILED"}`, "end")
	code, text := p.ends()
	if code != shell.ExitFailed || !strings.Contains(text, "✗ asked: May I delete the clock? → reject") || strings.Contains(text, "Your answer") {
		t.Errorf("exit %d\n%s", code, text)
	}
	var sent []string
	for _, r := range s.requests() {
		if strings.HasSuffix(r.path, "/followups") {
			sent = append(sent, r.body)
		}
	}
	if want := `{"message":"no, wind it first"}`; len(sent) != 2 || sent[0] != want || sent[1] != want {
		t.Errorf("sent %q", sent)
	}
}

// TestI1FollowInterrupted: Ctrl-C gives the terminal back, says how to continue and leaves
// the run alone.
func TestI1FollowInterrupted(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--follow", "--wait"} {
		s := newStage(t)
		s.playing("INPROGRESS").send(`state {"to":"INPROGRESS"}`)
		ctx, cancel := context.WithCancel(t.Context())
		p := s.watch(ctx, t, 80, 24, "run", "x", flag)
		p.Reads("working")
		if p.Echoes() {
			t.Error("what is typed would be shown in between")
		}
		cancel()
		code, text := p.ends()
		if code != shell.ExitFailed || !strings.Contains(text, "The run continues without you.\n  watch it again:  lineshaft runs logs -f r-1\n  cancel it:       lineshaft runs cancel r-1\n") ||
			strings.Contains(text, "working") || !p.Echoes() {
			t.Errorf("exit %d, echo %v\n%s", code, p.Echoes(), text)
		}
	}
}

// TestI1FollowInterruptedKeepsTheScreen: what the agent did when the user left stays, and
// the hints come after it.
func TestI1FollowInterruptedKeepsTheScreen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	play := s.playing("INPROGRESS")
	play.send(recorded()[:8]...)
	play.send(`tool_call {"id":"1","category":"command","name":"bash","input":{"command":"go test ./..."}}`,
		`output {"stream":"stdout","text":"ok  \tclock/face\nok  \tclock/han","tool_call_id":"1"}`)
	ctx, cancel := context.WithCancel(t.Context())
	p := s.watch(ctx, t, 80, 24, "run", "x", "--follow")
	p.Reads("go test ./...", "clock/han", "▸ Look")
	cancel()
	code, text := p.ends()
	if code != shell.ExitFailed || !p.Echoes() || strings.ContainsAny(text, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		t.Errorf("exit %d, echo %v", code, p.Echoes())
	}
	golden(t, "follow-left", text)
}

// TestI1FollowSuspended: Ctrl-Z gives the terminal back for as long as it lasts; a window
// that changed is noticed, and a hang-up ends it.
func TestI1FollowSuspended(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.playing("INPROGRESS").send(`state {"to":"INPROGRESS"}`, `tool_call {"id":"1","category":"command","name":"bash","input":{"command":"sleep 100; echo a command that is rather long"}}`)
	stopped, resume := make(chan struct{}), make(chan struct{})
	s.deps.Live.Suspend = func() { close(stopped); <-resume }
	p := s.watch(t.Context(), t, 80, 24, "runs", "logs", "-f", "r-1")
	p.Reads("that is rather long")
	p.signal(terminal.SignalSuspend)
	<-stopped
	if text := p.Misses("working"); !p.Echoes() || strings.Contains(text, "sleep 100") {
		t.Errorf("echo %v\n%s", p.Echoes(), text)
	}
	close(resume)
	p.Reads("that is rather long")
	if p.Echoes() {
		t.Error("the terminal was not taken again")
	}
	p.Resize(40, 12)
	p.signal(terminal.SignalResize)
	p.Misses("rather long")
	p.Reads("…")
	p.signal(terminal.SignalEnd)
	if code, _ := p.ends(); code != shell.ExitFailed || !p.Echoes() {
		t.Errorf("exit %d, echo %v", code, p.Echoes())
	}
}

// TestI1FollowEndsWithTheServer: what ends the stream is reported as everywhere.
func TestI1FollowEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.watch(t.Context(), t, 80, 24, "runs", "logs", "-f", "nope")
	if code, text := p.ends(); code != shell.ExitNotFound || !strings.Contains(text, "lineshaft runs list") || !p.Echoes() {
		t.Errorf("exit %d\n%s", code, text)
	}
	s = newStage(t)
	s.playing("ERROR").send(`state 7`)
	p = s.watch(t.Context(), t, 80, 24, "runs", "logs", "-f", "r-1")
	if code, text := p.ends(); code != shell.ExitFailed || !strings.Contains(text, "is not readable") {
		t.Errorf("exit %d\n%s", code, text)
	}
}
