package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func timelineFrom(events []lineshaft.Event) TimelineResponse {
	b := timelineBuilder{executions: map[string]int64{}}
	for i := range events {
		b.add(&events[i])
	}
	return b.finish()
}

func TestR10Timeline(t *testing.T) {
	t.Parallel()
	events := logOf(
		`state {"to":"QUEUED","message":"waiting for a worker"}`,
		`message {"role":"user","text":"x"}`,
		`state {"from":"QUEUED","to":"PENDING"}`,
		`state {"from":"PENDING","to":"CLAIMED","worker":"w1"}`,
		`state {"from":"CLAIMED","to":"INPROGRESS"}`,
		`state {"from":"INPROGRESS","to":"BLOCKED"}`,
		`state {"from":"BLOCKED","to":"INPROGRESS"}`,
		`state {"from":"INPROGRESS","to":"FAILED","error_code":"run_timeout","message":"too long"}`,
		`state {"from":"FAILED","to":"QUEUED"}`,
		`state {"from":"CLAIMED","to":"INPROGRESS"}`,
		`state {"from":"INPROGRESS","to":"SUCCEEDED"}`,
		`state {"from":"SUCCEEDED","to":"QUEUED"}`,
		`state {"from":"QUEUED","to":"CANCELLED"}`,
		`state {"from":"QUEUED","to":"ERROR"}`,
		`state not json`,
	)
	for i := range events {
		switch {
		case i < 3:
			events[i].ExecutionID = ""
		case i >= 8:
			events[i].ExecutionID = "second"
		}
	}
	var got []string
	list := timelineFrom(events).Events
	for _, e := range list {
		got = append(got, fmt.Sprintf("%s/%d", e.EventType, e.ExecutionID))
	}
	want := "oz_run_created/0 oz_run_pending/0 oz_run_claimed/1 agent_started/1 oz_run_blocked/1 agent_started/1 oz_run_failed/1 " +
		"oz_run_queued/2 agent_started/2 oz_run_done/2 oz_run_queued/2 oz_run_cancelled/2 oz_run_errored/2"
	if strings.Join(got, " ") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, " "), want)
	}
	text, err := marshal(list[6])
	if want := `{"event_uuid":"e8","run_id":"r","event_type":"oz_run_failed","occurred_at":"2026-08-01T09:30:07.000000Z","execution_id":1,` +
		`"payload":{"error_code":"run_timeout","execution_id":"x","from":"INPROGRESS","message":"too long","state":"FAILED"}}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := marshal(timelineFrom(nil)); err != nil || string(text) != `{"events":[]}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestR10EveryStateHasATimelineType(t *testing.T) {
	t.Parallel()
	schema := testServer().api.OpenAPI().Components.Schemas.Map()["TimelineEvent"].Properties["event_type"]
	known := fmt.Sprint(schema.Enum)
	seen := map[string]bool{}
	for _, state := range lineshaft.RunStates() {
		kind := timelineType(lineshaft.StateData{To: state, From: "X"}, false)
		if !strings.Contains(known, kind) || seen[kind] {
			t.Errorf("%s: %s", state, kind)
		}
		seen[kind] = true
	}
}

func TestR10ViewsOverHTTP(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "do it"})
	job := b.claim()
	now := b.store.Now()
	b.report(job, 1,
		lineshaft.NewDraft(lineshaft.EventToolCall, now, lineshaft.ToolCallData{ID: "t", Category: "command", Name: "run_command", Input: map[string]any{"command": "ls"}}),
		lineshaft.NewDraft(lineshaft.EventOutput, now, lineshaft.OutputData{Stream: "stdout", Text: "files", ToolCallID: "t"}),
		lineshaft.NewDraft(lineshaft.EventToolResult, now, lineshaft.ToolResultData{ID: "t", State: lineshaft.ToolCompleted}),
		lineshaft.NewDraft(lineshaft.EventMessage, now, lineshaft.MessageData{Role: "assistant", Text: "there"}))
	b.end(job, lineshaft.Succeeded)
	run := decode[RunItem](t, b.check(t, scenario{method: get, path: "/agent/runs/" + id, as: lineshaft.RoleViewer, status: 200}))
	b.play(t, []scenario{
		{
			name: "conversation of a run", method: get, path: "/agent/runs/" + id + "/conversation", as: lineshaft.RoleViewer, status: 200,
			has: []string{`"conversation_id":"` + run.ConversationID + `"`, `"text":"do it"`, `"output":{"stdout":"files"}`, `"text":"there"`},
		},
		{
			name: "conversation", method: get, path: "/agent/conversations/" + run.ConversationID, as: lineshaft.RoleViewer, status: 200,
			has: []string{`"conversation_id":"` + run.ConversationID + `"`, `"text":"do it"`},
		},
		{name: "unknown conversation", method: get, path: "/agent/conversations/nope", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{
			name: "timeline", method: get, path: "/agent/runs/" + id + "/timeline", as: lineshaft.RoleViewer, status: 200,
			has: []string{"oz_run_created", "oz_run_claimed", "agent_started", "oz_run_done", `"execution_id":1`},
		},
		{name: "session of a conversation", method: get, path: "/agent/conversations/" + run.ConversationID + "/redirect", status: 200, has: []string{`{"session_id":"` + run.SessionID + `"}`}},
		{name: "conversation of a session", method: get, path: "/agent/sessions/" + run.SessionID + "/redirect", status: 200, has: []string{`{"conversation_id":"` + run.ConversationID + `"}`}},
		{name: "no such conversation", method: get, path: "/agent/conversations/nope/redirect", status: 200, has: []string{`{}`}},
		{name: "no such session", method: get, path: "/agent/sessions/nope/redirect", status: 200, has: []string{`{}`}},
		{
			name: "follow-up to a conversation", method: post, path: "/agent/conversations/" + run.ConversationID + "/followups", as: lineshaft.RoleAdmin,
			body: `{"message":"more"}`, status: 200, has: []string{`"run_id":"` + id + `"`, `"outcome":"handoff_execution"`},
		},
		{name: "empty follow-up to a conversation", method: post, path: "/agent/conversations/" + run.ConversationID + "/followups", as: lineshaft.RoleAdmin, body: `{}`, status: 400, code: "invalid_request"},
		{name: "follow-up to nothing", method: post, path: "/agent/conversations/nope/followups", as: lineshaft.RoleAdmin, body: `{"message":"more"}`, status: 404, code: "resource_not_found"},
		{name: "interrupt of what waits", method: post, path: "/agent/conversations/" + run.ConversationID + "/interrupt", as: lineshaft.RoleAdmin, status: 409, code: "conflict"},
	})
	b.report(b.claim(), 1)
	b.check(t, scenario{method: post, path: "/agent/conversations/" + run.ConversationID + "/interrupt", as: lineshaft.RoleAdmin, status: 202, has: []string{`{"run_id":"` + id + `"}`}})
}
