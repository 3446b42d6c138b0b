package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
)

// rendered shows events and returns both streams, the second in brackets.
func rendered(t *testing.T, lastWord bool, events ...string) string {
	t.Helper()
	var both bytes.Buffer
	sh := newShell(Deps{Stdout: &both, Stderr: &marked{&both}, Environ: []string{}})
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
		{"permission", false, []string{`{"type":"permission_request","data":{}}`}, "[-- the agent asks for permission]\n"},
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

func TestRenderBrokenData(t *testing.T) {
	t.Parallel()
	sh := newShell(Deps{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Environ: []string{}})
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
		if stateStyle(s) == stylePlain {
			t.Errorf("%s has no colour", s)
		}
	}
	if stateStyle("LATER") != stylePlain || noticeStyle("error") != styleBad || noticeStyle("info") != styleDim {
		t.Error("styles of unknown words")
	}
}
