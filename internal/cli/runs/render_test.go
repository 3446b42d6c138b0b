package runs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/find"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func commandsIn(in shell.Surroundings) Commands {
	return Commands{find.Finder{Shell: shell.New(in, "dev")}}
}

// rendered shows events and returns both streams, the second in brackets.
func rendered(t *testing.T, lastWord bool, events ...string) string {
	t.Helper()
	var both bytes.Buffer
	sh := commandsIn(shell.Surroundings{Stdout: &both, Stderr: &marked{&both}, Environ: []string{}})
	r := &renderer{sh: sh, runID: "r", lastWord: lastWord}
	for _, text := range events {
		var e client.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if err := r.event(&e); err != nil {
			t.Fatal(err)
		}
	}
	return both.String()
}

// marked shows in one text what came on the second stream.
type marked struct{ to *bytes.Buffer }

func (m *marked) Write(p []byte) (int, error) {
	m.to.WriteString("[" + strings.TrimSuffix(string(p), "\n") + "]" + strings.Repeat("\n", strings.Count(string(p[len(p)-1:]), "\n")))
	return len(p), nil
}

func TestRender(t *testing.T) {
	t.Parallel()
	out := func(stream, text string) string {
		data, _ := json.Marshal(map[string]string{"stream": stream, "text": text})
		return `{"type":"output","data":` + string(data) + `}`
	}
	state := func(to string) string { return `{"type":"state","data":{"to":"` + to + `"}}` }
	for _, tc := range []struct {
		name   string
		last   bool
		events []string
		want   string
	}{
		{"pieces of a line", false, []string{out("stdout", "a"), out("stdout", "b\n"), out("stdout", "c")}, "ab\nc"},
		{"open line before a message", false, []string{out("stdout", "a"), `{"type":"message","data":{"text":"m"}}`}, "a\nm\n"},
		{"open line before the other stream", false, []string{out("stdout", "a"), out("stderr", "e\n")}, "a\n[e]\n"},
		{"empty output", false, []string{out("stdout", "")}, ""},
		{"raw bytes in a pipe", false, []string{out("stdout", "\x1b[31mx\r")}, "\x1b[31mx\r"},
		{"system", false, []string{`{"type":"message","data":{"role":"system","text":"s"}}`}, "[-- s]\n"},
		{"tool with path", false, []string{`{"type":"tool_call","data":{"category":"files","name":"edit","input":{"path":"x.go"}}}`}, "$ edit x.go\n"},
		{"tool without input", false, []string{`{"type":"tool_call","data":{"category":"search","name":"look","input":{"n":1}}}`}, "$ look\n"},
		{"tool that worked", false, []string{`{"type":"tool_result","data":{"name":"look","state":"completed"}}`}, ""},
		{"tool that was denied", false, []string{`{"type":"tool_result","data":{"name":"look","state":"denied"}}`}, "! look denied\n"},
		{"command whose output came with its result", false, []string{`{"type":"tool_result","data":{"id":"1","category":"command","name":"bash","state":"completed","output":{"text":"a b"}}}`}, "a b\n"},
		{"command that failed", false, []string{`{"type":"tool_result","data":{"id":"1","category":"command","name":"bash","state":"failed","output":{"text":"no\n"}}}`}, "no\n! bash failed\n"},
		{"command whose output came before", false, []string{`{"type":"output","data":{"stream":"stdout","text":"a\n","tool_call_id":"1"}}`, `{"type":"tool_result","data":{"id":"1","category":"command","name":"bash","state":"completed","output":{"text":"a\n"}}}`}, "a\n"},
		{"command whose output came in part", false, []string{`{"type":"output","data":{"stream":"stdout","text":"a\n","tool_call_id":"1"}}`, `{"type":"tool_result","data":{"id":"1","category":"command","name":"bash","state":"completed","output":{"text":"a\nb"}}}`}, "a\nb\n"},
		{"file that was read", false, []string{`{"type":"tool_result","data":{"id":"1","category":"files","name":"read","state":"completed","output":{"text":"package x"}}}`}, ""},
		{"file that could not be read", false, []string{`{"type":"tool_result","data":{"id":"1","category":"files","name":"read","state":"failed","output":{"error":"no such file"}}}`}, "no such file\n! read failed\n"},
		{"command as a list", false, []string{`{"type":"tool_call","data":{"category":"command","name":"shell","input":{"command":["git","log","a b"]}}}`}, "$ git log 'a b'\n"},
		{"script for a shell", false, []string{`{"type":"tool_call","data":{"category":"command","name":"shell","input":{"command":["bash","-lc","ls | wc"]}}}`}, "$ ls | wc\n"},
		{"list that is no command", false, []string{`{"type":"tool_call","data":{"category":"command","name":"shell","input":{"command":[1]}}}`}, "$ shell\n"},
		{"answered by the policy", false, []string{`{"sequence":1,"type":"permission_request","data":{"title":"ls","decision":"allow"}}`}, "[-- the agent asked: ls (the policy answered: allow)]\n"},
		{"answered by people", false, []string{`{"type":"permission_request","data":{"title":"ls"}}`, `{"type":"permission_request","data":{"title":"ls","decision":"allow"}}`}, "[? ls]\n[-- answer with: lineshaft runs followup r yes]\n[-- the agent asked: ls (answered: allow)]\n"},
		{"answered, by whom is not seen", false, []string{`{"sequence":7,"type":"permission_request","data":{"title":"ls","decision":"allow"}}`}, "[-- the agent asked: ls (answered: allow)]\n"},
		{"permission", false, []string{`{"type":"permission_request","data":{}}`}, "[? may I continue?]\n[-- answer with: lineshaft runs followup r yes]\n"},
		{"artifact link", false, []string{`{"type":"artifact","data":{"url":"http://x"}}`}, "[-- artifact http://x]\n"},
		{"plan", false, []string{`{"type":"plan","data":[]}`}, ""},
		{"last state", false, []string{state("FAILED")}, "[-- FAILED]\n"},
		{"last state is kept back", true, []string{out("stdout", "a"), state("FAILED")}, "a\n"},
		{"state that was not the last", true, []string{state("FAILED"), state("QUEUED"), state("SUCCEEDED")}, "[-- FAILED]\n[-- QUEUED]\n"},
		{"blocked", false, []string{state("BLOCKED")}, "[-- BLOCKED]\n[-- it waits for an answer: lineshaft runs followup r \"ANSWER\"]\n"},
	} {
		if got := rendered(t, tc.last, tc.events...); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestLongResultsAreShortened(t *testing.T) {
	t.Parallel()
	for category, most := range map[string]int{"command": maxResultBytes, "files": maxFailedBytes} {
		data, _ := json.Marshal(map[string]any{"id": "1", "category": category, "name": "t", "state": "failed", "output": map[string]any{"text": "first " + strings.Repeat("é", maxResultBytes) + " last"}})
		got := rendered(t, false, `{"type":"tool_result","data":`+string(data)+`}`)
		if len(got) > most+100 || !strings.HasPrefix(got, "first ") || !strings.Contains(got, " bytes left out …\n") || !strings.HasSuffix(got, " last\n! t failed\n") || strings.Contains(got, "\uFFFD") {
			t.Errorf("%s: %d bytes: %.40q … %.40q", category, len(got), got, got[len(got)-40:])
		}
	}
}

func TestRenderBrokenData(t *testing.T) {
	t.Parallel()
	sh := commandsIn(shell.Surroundings{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Environ: []string{}})
	for _, kind := range []client.EventType{
		client.EventOutput, client.EventMessage, client.EventThought, client.EventToolCall, client.EventToolResult,
		client.EventNotice, client.EventState, client.EventArtifact,
	} {
		if err := (&renderer{sh: sh}).event(&client.Event{Type: kind, Sequence: 3, Data: json.RawMessage(`7`)}); err == nil || !strings.Contains(err.Error(), "event 3") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestStateStyles(t *testing.T) {
	t.Parallel()
	for _, s := range client.RunStates() {
		if stateStyle(s) == shell.StylePlain {
			t.Errorf("%s has no colour", s)
		}
	}
	if stateStyle("LATER") != shell.StylePlain || noticeStyle("error") != shell.StyleBad || noticeStyle("info") != shell.StyleDim {
		t.Error("styles of unknown words")
	}
}
