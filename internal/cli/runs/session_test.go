package runs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

// told gives a session events, as type and data, and returns its lines.
func told(t *testing.T, s *session, events ...string) string {
	t.Helper()
	var text strings.Builder
	for i, e := range events {
		kind, data, _ := strings.Cut(e, " ")
		event := client.Event{Type: client.EventType(kind), Sequence: int64(i + 1), Time: time.Date(2026, 1, 2, 4, 0, i, 0, time.UTC), Data: json.RawMessage(data)}
		if err := s.event(&event); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range s.take() {
		text.WriteString(line.String(false) + "\n")
	}
	return text.String()
}

func TestI1SessionLines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		events []string
		want   string
	}{
		{"pieces of a line", []string{`output {"text":"a"}`, `output {"text":"b\nc"}`, `notice {"text":"n"}`}, "ab\nc\n\n· n\n"},
		{"long prompt", []string{`message {"role":"user","text":"` + strings.Repeat(`x\n`, 20) + `"}`}, "> x\n" + strings.Repeat("  x\n", 11) + "  … 8 more lines\n"},
		{"system", []string{`message {"role":"system","text":"s"}`}, "· s\n"},
		{"messages apart", []string{`message {"text":"a"}`, `message {"text":"b"}`}, "a\n\nb\n"},
		{"thoughts together", []string{`thought {"text":"a"}`, `thought {"text":"b"}`}, "~ a\n~ b\n"},
		{"tool that was denied", []string{`tool_result {"id":"9","name":"look","state":"denied"}`}, "✗ look  denied\n"},
		{"file that could not be read", []string{`tool_result {"id":"1","category":"files","name":"read","state":"failed","output":{"error":"no such file"}}`}, "✗ read\n  no such file\n"},
		{"result after its output", []string{`tool_call {"id":"1","category":"command","input":{"command":"x"}}`, `output {"text":"a\n","tool_call_id":"1"}`, `tool_result {"id":"1","category":"command","state":"completed","output":{"text":"a\nb\n"}}`}, "✓ x  2.0s\n  a\n  b\n"},
		{"output of a call that is not known", []string{`output {"text":"late\n","tool_call_id":"7"}`}, "late\n"},
		{"state that was not the last", []string{`state {"to":"FAILED"}`, `state {"to":"QUEUED"}`}, "· FAILED\n· QUEUED\n"},
		{"last state is kept back", []string{`state {"to":"FAILED"}`}, ""},
		{"blocked without a question", []string{`state {"to":"BLOCKED","message":"which one?"}`}, "· BLOCKED: which one?\n  answer: lineshaft runs followup r ANSWER\n"},
		{"question without a title", []string{`permission_request {}`, `permission_request {"decision":"reject"}`}, "? may I continue?\n  answer: lineshaft runs followup r ANSWER\n\n✗ asked: may I continue? → reject\n"},
		{"artifact link", []string{`artifact {"url":"http://x"}`}, "+ artifact http://x\n"},
		{"what is not known", []string{`later {}`, `plan 7`, `usage 7`}, ""},
	} {
		if got := told(t, newSession("r", 80, false), tc.events...); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	for _, kind := range []client.EventType{client.EventOutput, client.EventMessage, client.EventThought, client.EventToolCall, client.EventToolResult, client.EventNotice, client.EventState, client.EventArtifact, client.EventPermission} {
		if err := newSession("r", 80, false).event(&client.Event{Type: kind, Sequence: 3, Data: json.RawMessage(`7`)}); err == nil || !strings.Contains(err.Error(), "event 3") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestI1FoldedOutput(t *testing.T) {
	t.Parallel()
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintln(&b, i+1)
		}
		return b.String()
	}
	for _, tc := range []struct {
		name, text, want string
	}{
		{"nothing", "", ""},
		{"all of a short one", numbers(9), "1 2 3 4 5 6 7 8 9"},
		{"the ends of a long one", numbers(10), "1 2 3 4 … 2 more lines 7 8 9 10"},
		{"of a very long one", numbers(5000), "1 2 3 4 … 4992 more lines 4997 4998 4999 5000"},
		{"a bar that moves", "1%\r50%\r100%\r\ndone", "100% done"},
		{"colours and commands", "\x1b[31mred\x1b[0m\x1b[2J\n", "red"},
		{"blank lines", "a\n\nb\n", "a  b"},
	} {
		var whole, pieces fold
		whole.add(tc.text)
		for _, r := range tc.text {
			pieces.add(string(r))
		}
		if got := strings.Join(whole.lines(), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if got := strings.Join(pieces.lines(), " "); got != tc.want {
			t.Errorf("%s in pieces: %q, want %q", tc.name, got, tc.want)
		}
	}
	var f fold
	for range 1000 {
		f.add(strings.Repeat("x", 1000))
	}
	if len(f.open) > longestKept || len(f.last(3)) != 1 {
		t.Errorf("a line without an end takes %d bytes", len(f.open))
	}
}

// TestI1SessionIsBounded: what an agent does for days takes no more room than an hour of it.
func TestI1SessionIsBounded(t *testing.T) {
	t.Parallel()
	s := newSession("r", 80, false)
	for i := range 1000 {
		told(t, s, fmt.Sprintf(`tool_call {"id":"%d","category":"command","input":{"command":"x"}}`, i), `output {"text":"never ends"}`)
	}
	told(t, s, `output {"text":"`+strings.Repeat("x", 2*maxResultBytes)+`"}`)
	if len(s.calls) != mostCalls || len(s.open) > maxResultBytes || len(s.done) > 0 {
		t.Errorf("%d calls, %d bytes, %d lines are kept", len(s.calls), len(s.open), len(s.done))
	}
	if rows := len(s.live(time.Now(), 10)); rows > 9 {
		t.Errorf("%d rows live on a terminal of 10", rows)
	}
}

func TestI1PlanFits(t *testing.T) {
	t.Parallel()
	s := newSession("r", 80, false)
	for i := range 20 {
		state := "pending"
		switch {
		case i < 8:
			state = "completed"
		case i == 8:
			state = "in_progress"
		}
		s.plan = append(s.plan, client.PlanStep{Text: fmt.Sprint("step ", i+1), State: state})
	}
	var got []string
	for _, line := range s.planLines(5) {
		got = append(got, line.String(false))
	}
	if want := "☑ step 8|▸ step 9|☐ step 10|☐ step 11|  8 of 20 steps done"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
	if len(s.planLines(20)) != 20 || s.planLines(1) != nil {
		t.Error("a plan that fits, or has no room at all")
	}
}

func TestI1QueueOfASession(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{"": "next in line", "hosted": "next in line", "w-9": "waits for worker w-9"} {
		if got := (&session{host: host, ahead: 0}).queue(); got != want {
			t.Errorf("%q: %q", host, got)
		}
	}
	if got := (&session{host: "w", ahead: 1}).queue(); got != "waits for worker w, 1 run before it" {
		t.Error(got)
	}
}

func TestI1Elapsed(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int]string{-1000: "0.0s", 1500: "1.5s", 59_000: "59s", 61_000: "1m01s", 5_400_000: "1h30m"} {
		if got := elapsed(time.Duration(ms) * time.Millisecond); got != want {
			t.Errorf("%d ms: %q, want %q", ms, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	if usedText(0, 5) != "" || usedText(5, 0) != "5 tokens" || usedText(5000, 1500000) != "5,000 tokens · $1.5000" {
		t.Error(usedText(5, 0), usedText(5000, 1500000))
	}
}

func TestI1StateWords(t *testing.T) {
	t.Parallel()
	for _, state := range append(client.RunStates(), "", "LATER") {
		if stateWord(state) == "" {
			t.Errorf("%q has no word", state)
		}
	}
	if stateSign(client.StateSucceeded) != "✓ " || stateSign(client.StateError) != "✗ " || stateSign(client.StateQueued) != "" {
		t.Error("signs of states")
	}
}

// FuzzSession: whatever an agent, a server or a repository puts into a log, nothing but
// lines and our own styles reaches the terminal, and the region stays where it is.
func FuzzSession(f *testing.F) {
	for _, text := range []string{
		"plain", "\x1b]0;title\x07\x1b]52;c;b3duZWQ=\x07", "\x1b[2J\x1b[10;10H\x1b[?1049h", "\u009b31m\u0090q\u009c", "\u202eabc\u2066", "a\rb\nc\td\x00\x7f\x08",
		"# x\n```\n\x1b[A\n", "- \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", strings.Repeat("日本🚀", 40), "\x1b", "e\u0301\u0301\u0301",
	} {
		f.Add(text, uint8(40))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		columns := 20 + int(size)%180
		screen := terminaltest.New(columns, 30)
		region := terminal.NewRegion(screen, true)
		s := newSession("r", columns, true)
		show := func() {
			if err := region.Update(columns, s.take(), s.live(time.Unix(0, 0), 30)); err != nil {
				t.Fatal(err)
			}
			if mistakes := screen.Mistakes(); len(mistakes) > 0 || screen.Alternate() || screen.CursorHidden() {
				t.Fatalf("%q: %q", text, mistakes)
			}
		}
		s.header(&client.Run{RunID: text, Title: text, SessionLink: text, AgentConfig: &client.AgentConfig{WorkerHost: text}})
		show()
		for _, e := range hostileEvents(text) {
			if err := s.event(&e); err != nil {
				t.Fatal(err)
			}
			show()
		}
		s.finish(&client.Run{RunID: text, State: client.RunState(text), StatusMessage: &client.StatusMessage{Message: text}})
		if err := region.Update(columns, s.take(), nil); err != nil {
			t.Fatal(err)
		}
		if seen := screen.Text(); strings.ContainsAny(seen, strings.Join(spinner, "")) && !strings.ContainsAny(text, strings.Join(spinner, "")) {
			t.Fatalf("%q: the region left something:\n%s", text, seen)
		}
	})
}

// hostileEvents have a text wherever an event has one.
func hostileEvents(text string) []client.Event {
	var list []client.Event
	add := func(kind client.EventType, data any) {
		raw, _ := json.Marshal(data)
		list = append(list, client.Event{Type: kind, Sequence: int64(len(list) + 1), Data: raw})
	}
	add(client.EventState, client.StateData{To: client.StateQueued, Message: text})
	add(client.EventMessage, client.MessageData{Role: "user", Text: text})
	add(client.EventState, client.StateData{To: client.StateClaimed, Worker: text})
	add(client.EventState, client.StateData{To: client.RunState(text), Message: text})
	add(client.EventThought, client.MessageData{Text: text})
	add(client.EventPlan, client.PlanData{Steps: []client.PlanStep{{Text: text, State: text}, {Text: text, State: "completed"}}})
	add(client.EventToolCall, client.ToolCallData{ID: "1", Category: "command", Name: text, Input: map[string]any{"command": text}})
	add(client.EventOutput, client.OutputData{Text: text, ToolCallID: "1"})
	add(client.EventOutput, client.OutputData{Text: text})
	add(client.EventToolResult, client.ToolResultData{ID: "1", Category: "command", Name: text, State: text, Output: map[string]any{"text": text, "error": text}})
	add(client.EventToolResult, client.ToolResultData{ID: "2", Category: text, Name: text, State: "failed", Output: map[string]any{"error": text}})
	add(client.EventNotice, client.NoticeData{Level: text, Text: text})
	add(client.EventArtifact, client.ArtifactEventData{FileName: text, URL: text})
	add(client.EventPermission, client.PermissionData{Title: text, Options: []client.PermissionOption{{Name: text}}})
	add(client.EventPermission, client.PermissionData{Title: text, Decision: text})
	add(client.EventMessage, client.MessageData{Role: text, Text: text})
	return list
}
