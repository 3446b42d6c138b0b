package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

// logOf makes a log of events; each is a type, a space and its data.
func logOf(lines ...string) []lineshaft.Event {
	var events []lineshaft.Event
	for i, line := range lines {
		kind, data, _ := strings.Cut(line, " ")
		events = append(events, lineshaft.Event{
			ID: fmt.Sprint("e", i+1), RunID: "r", Sequence: int64(i + 1), ExecutionID: "x", Type: lineshaft.EventType(kind),
			Time: time.Date(2026, 8, 1, 9, 30, i, 0, time.UTC), Data: json.RawMessage(data),
		})
	}
	return events
}

// conversationFrom normalises a whole log.
func conversationFrom(events []lineshaft.Event) ConversationResponse {
	b := newConversation()
	for i := range events {
		b.add(&events[i])
	}
	return b.finish("c", "")
}

// decoded is an object of a conversation as a map.
func decoded(o RawObject) (out Object) {
	if err := json.Unmarshal(o, &out); err != nil {
		return Object{"not JSON": string(o)}
	}
	return out
}

// sketch writes a conversation in short: one line per message.
func sketch(c ConversationResponse) string {
	var out strings.Builder
	for _, step := range c.Steps {
		fmt.Fprintf(&out, "step %s\n", step.ID)
		for _, message := range step.Messages {
			fmt.Fprintf(&out, " %s:", message.Role)
			for _, block := range message.Content {
				switch block.Type {
				case blockText:
					fmt.Fprintf(&out, " %q", *block.Text)
				case blockAction:
					fmt.Fprintf(&out, " %s(%s %v)", block.Name, block.ID, decoded(block.Input))
				case blockResult:
					fmt.Fprintf(&out, " %s=%s%v", block.ActionID, block.State, decoded(block.Output))
				case blockEvent:
					fmt.Fprintf(&out, " !%s%v", block.Name, decoded(block.Data))
				}
			}
			out.WriteString("\n")
		}
	}
	return out.String()
}

func TestR10ConversationOfATurn(t *testing.T) {
	t.Parallel()
	got := conversationFrom(logOf(
		`state {"to":"QUEUED"}`,
		`message {"role":"user","text":"fix it"}`,
		`state {"from":"QUEUED","to":"INPROGRESS"}`,
		`thought {"text":"hm"}`,
		`message {"role":"assistant","text":"looking"}`,
		`tool_call {"id":"t1","category":"command","name":"run_command","input":{"command":"ls"}}`,
		`tool_result {"id":"t1","category":"command","name":"run_command","state":"completed","output":{"exit_code":0}}`,
		`usage {"input_tokens":5,"output_tokens":1}`,
		`message {"role":"assistant","text":"done"}`,
		`state {"from":"INPROGRESS","to":"SUCCEEDED"}`,
	))
	want := `step e2
 user: "fix it"
 assistant: !thoughtmap[text:hm] "looking" run_command(t1 map[command:ls])
 tool: t1=completedmap[exit_code:0]
 assistant: "done"
`
	if sketch(got) != want {
		t.Errorf("got\n%s\nwant\n%s", sketch(got), want)
	}
	step := got.Steps[0]
	if step.StartedAt != "2026-08-01T09:30:01.000000Z" || step.CompletedAt != "2026-08-01T09:30:09.000000Z" || len(step.Steps) != 0 {
		t.Errorf("%+v", step)
	}
	if m := step.Messages[1]; strings.Join(m.MessageIDs, ",") != "e4,e5,e6" || m.Timestamp != "2026-08-01T09:30:03.000000Z" || m.Content[0].MessageID != "e4" {
		t.Errorf("%+v", m)
	}
}

func TestR10OneStepPerTurn(t *testing.T) {
	t.Parallel()
	got := conversationFrom(logOf(
		`message {"role":"user","text":"one"}`,
		`message {"role":"assistant","text":"a"}`,
		`state {"from":"INPROGRESS","to":"SUCCEEDED"}`,
		`message {"role":"user","text":"two","followup_id":"f"}`,
		`message {"role":"user","text":"three"}`,
		`message {"text":"no role"}`,
	))
	want := `step e1
 user: "one"
 assistant: "a"
step e4
 user: "two"
step e5
 user: "three"
 assistant: "no role"
`
	if sketch(got) != want {
		t.Errorf("got\n%s\nwant\n%s", sketch(got), want)
	}
	for i, completed := range []string{"2026-08-01T09:30:02.000000Z", "2026-08-01T09:30:04.000000Z", ""} {
		if got.Steps[i].CompletedAt != completed {
			t.Errorf("step %d completed at %q, want %q", i, got.Steps[i].CompletedAt, completed)
		}
	}
}

// A person's message while a tool runs waits for the end of the turn: the call is still
// open, and its output and only result come after.
func TestR10FollowupWhileAToolRuns(t *testing.T) {
	t.Parallel()
	log := []string{
		`message {"role":"user","text":"build"}`, `tool_call {"id":"t1","name":"bash","category":"command"}`, `output {"stream":"stdout","text":"a","tool_call_id":"t1"}`,
		`message {"role":"user","text":"and test"}`, `output {"stream":"stdout","text":"b","tool_call_id":"t1"}`,
	}
	begun := "step e1\n user: \"build\"\n assistant: bash(t1 map[])\nstep e4\n user: \"and test\"\n"
	for last, want := range map[string]string{
		`tool_result {"id":"t1","state":"completed"}`:  " tool: t1=completed[stdout:ab]\n",
		`state {"from":"INPROGRESS","to":"CANCELLED"}`: " tool: t1=failed[stdout:ab]\n",
		`usage {"input_tokens":1}`:                     " tool: t1=running[stdout:ab]\n",
		`tool_result {"id":"t1","state":"failed"}`:     " tool: t1=failed[stdout:ab]\n",
	} {
		want = begun + strings.ReplaceAll(want, "[", "map[")
		if got := sketch(conversationFrom(logOf(append(slices.Clone(log), last)...))); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestR10OutputIsFoldedIntoItsToolCall(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		log  []string
		want string
	}{
		{
			"stdout and stderr",
			[]string{
				`tool_call {"id":"t","category":"command","name":"n","input":{}}`,
				`output {"stream":"stdout","text":"a\n","tool_call_id":"t"}`,
				`output {"stream":"stderr","text":"oops","tool_call_id":"t"}`,
				`output {"stream":"stdout","text":"b\n","tool_call_id":"t"}`,
				`tool_result {"id":"t","state":"completed","output":{"exit_code":1}}`,
			},
			"step e1\n assistant: n(t map[])\n tool: t=completedmap[exit_code:1 stderr:oops stdout:a\nb\n]\n",
		},
		{
			"a result that has its output",
			[]string{
				`tool_call {"id":"t","name":"n"}`,
				`output {"stream":"stdout","text":"partial","tool_call_id":"t"}`,
				`tool_result {"id":"t","name":"n","state":"completed","output":{"stdout":"whole"}}`,
			},
			"step e1\n assistant: n(t map[])\n tool: t=completedmap[stdout:whole]\n",
		},
		{
			"a call that still runs",
			[]string{`tool_call {"id":"t","name":"n"}`, `output {"stream":"stdout","text":"so far","tool_call_id":"t"}`},
			"step e1\n assistant: n(t map[])\n tool: t=runningmap[stdout:so far]\n",
		},
		{
			"a call that the run's end cut off",
			[]string{`tool_call {"id":"t","name":"n"}`, `state {"to":"CANCELLED"}`},
			"step e1\n assistant: n(t map[])\n tool: t=failedmap[]\n",
		},
		{
			"two calls at once",
			[]string{
				`tool_call {"id":"a","name":"n"}`, `tool_call {"id":"b","name":"n"}`,
				`output {"stream":"stdout","text":"B","tool_call_id":"b"}`, `output {"stream":"stdout","text":"A","tool_call_id":"a"}`,
				`tool_result {"id":"b","state":"failed"}`, `tool_result {"id":"a","state":"denied"}`,
			},
			"step e1\n assistant: n(a map[]) n(b map[])\n tool: b=failedmap[stdout:B] a=deniedmap[stdout:A]\n",
		},
		{
			"output of nobody's call",
			[]string{`output {"stream":"stdout","text":"x","tool_call_id":"gone"}`},
			"step e1\n assistant: !outputmap[stream:stdout text:x tool_call_id:gone]\n",
		},
		{
			"a result without a call",
			[]string{`tool_result {"id":"t","name":"n","state":"completed","output":{"a":1}}`},
			"step e1\n tool: t=completedmap[a:1]\n",
		},
	} {
		if got := sketch(conversationFrom(logOf(tc.log...))); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestR10WhatTheAgentItselfWroteIsJoined(t *testing.T) {
	t.Parallel()
	got := sketch(conversationFrom(logOf(
		`message {"role":"user","text":"go"}`,
		`output {"stream":"stdout","text":"a\n"}`,
		`output {"stream":"stdout","text":"b\n"}`,
		`output {"stream":"stderr","text":"c\n"}`,
		`notice {"level":"info","text":"workspace restored"}`,
		`output {"stream":"stdout","text":"d\n"}`,
		`artifact {"artifact_uid":"u"}`,
		`plan {"steps":[]}`,
		`permission_request {"question":"may I"}`,
	)))
	want := "step e1\n user: \"go\"\n assistant: !outputmap[stream:stdout text:a\nb\n] !outputmap[stream:stderr text:c\n]\n" +
		" system: !noticemap[level:info text:workspace restored]\n assistant: !outputmap[stream:stdout text:d\n]\n" +
		" system: !artifactmap[artifact_uid:u] !planmap[steps:[]] !permission_requestmap[question:may I]\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestR10PublishedWordsOnly(t *testing.T) {
	t.Parallel()
	got := conversationFrom(logOf(
		`tool_call {"id":"t","category":"telepathy","name":"n"}`,
		`tool_result {"id":"t","state":"exploded"}`,
	))
	call, result := got.Steps[0].Messages[0].Content[0], got.Steps[0].Messages[1].Content[0]
	if call.Category != "integration" || result.Category != "integration" || result.State != "completed" || result.Name != "n" {
		t.Errorf("%+v %+v", call, result)
	}
}

func TestR10AnEmptyLogHasNoSteps(t *testing.T) {
	t.Parallel()
	if text, err := marshal(conversationFrom(nil)); err != nil || string(text) != `{"conversation_id":"c","steps":[]}` {
		t.Errorf("%s, %v", text, err)
	}
}

// Whatever agents write, the answer fits its schema and no text of a message is lost.
func TestR10ConversationAlwaysFitsItsSchema(t *testing.T) {
	t.Parallel()
	s := testServer()
	kinds := []string{"state", "message", "thought", "tool_call", "tool_result", "output", "plan", "usage", "permission_request", "artifact", "notice", "surprise"}
	data := []string{
		`{}`, `null`, `[]`, `"x"`, `5`, ``, `{`, `{"role":"user","text":"hello"}`, `{"role":"assistant","text":"hello"}`, `{"role":"robot","text":"hello"}`,
		`{"id":"a","category":"command","name":"n","input":{"x":1}}`, `{"id":"a","state":"completed","output":{"y":[1]}}`, `{"id":"b","state":5}`,
		`{"stream":"stdout","text":"o","tool_call_id":"a"}`, `{"stream":"stderr","text":"o"}`, `{"to":"SUCCEEDED"}`, `{"to":"QUEUED"}`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		var lines []string
		said := 0
		for range rapid.IntRange(0, 30).Draw(rt, "events") {
			kind, content := rapid.SampledFrom(kinds).Draw(rt, "kind"), rapid.SampledFrom(data).Draw(rt, "data")
			lines = append(lines, kind+" "+content)
			if (kind == "message" || kind == "thought") && strings.Contains(content, "hello") {
				said++
			}
		}
		text, err := marshal(conversationFrom(logOf(lines...)))
		if err != nil {
			rt.Fatal(err)
		}
		s.conformsTo(t, s.api.OpenAPI().Paths["/agent/runs/{runId}/conversation"].Get.Responses["200"].Content["application/json"].Schema, text)
		if got := strings.Count(string(text), "hello"); got < said {
			rt.Fatalf("%d of %d messages are shown", got, said)
		}
	})
}

// A long log of small pieces must not take time with the square of its length.
func TestR10LongOutputsAreJoinedInLinearTime(t *testing.T) {
	t.Parallel()
	const pieces = 50_000
	piece := lineshaft.Event{Type: lineshaft.EventOutput, Data: json.RawMessage(`{"stream":"stdout","text":"` + strings.Repeat("x", 100) + `"}`)}
	tool := lineshaft.Event{Type: lineshaft.EventOutput, Data: json.RawMessage(`{"stream":"stdout","tool_call_id":"t","text":"` + strings.Repeat("y", 100) + `"}`)}
	b := newConversation()
	for range pieces {
		b.add(&piece)
	}
	b.add(&lineshaft.Event{Type: lineshaft.EventToolCall, Data: json.RawMessage(`{"id":"t","name":"n"}`)})
	for range pieces {
		b.add(&tool)
	}
	got := b.finish("c", "").Steps[0].Messages
	if n := len(fmt.Sprint(decoded(got[0].Content[0].Data)["text"])); n != 100*pieces {
		t.Errorf("the agent's own output has %d bytes", n)
	}
	if n := len(fmt.Sprint(decoded(got[1].Content[0].Output)["stdout"])); n != 100*pieces {
		t.Errorf("the tool's output has %d bytes", n)
	}
}
