package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
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

// A conversation reads from its first run to its last, in pages that no log can make longer.
func TestR10ConversationOfSeveralRuns(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	first := b.start(lineshaft.NewRun{Prompt: "the first"})
	long := strings.Repeat("x", 1<<20)
	say := func(texts ...string) {
		job := b.claim()
		for i, text := range texts {
			b.report(job, int64(i+1), lineshaft.NewDraft(lineshaft.EventMessage, b.store.Now(), lineshaft.MessageData{Role: "assistant", Text: text}))
		}
		b.end(job, lineshaft.Succeeded)
	}
	say("answer one")
	run := decode[RunItem](t, b.check(t, scenario{method: get, path: "/agent/runs/" + first, as: lineshaft.RoleViewer, status: 200}))
	b.start(lineshaft.NewRun{Prompt: "the second", ConversationID: run.ConversationID})
	say("answer two")
	path := "/agent/conversations/" + run.ConversationID
	whole := decode[ConversationResponse](t, b.check(t, scenario{method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{"answer one", "answer two"}}))
	if len(whole.Steps) != 2 || whole.PageInfo != nil {
		t.Fatalf("%d steps, %+v", len(whole.Steps), whole.PageInfo)
	}
	b.start(lineshaft.NewRun{Prompt: "the third", ConversationID: run.ConversationID})
	say(long, long, long, long, "answer three")
	var said []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page := decode[ConversationResponse](t, b.check(t, scenario{method: get, path: path + "?cursor=" + cursor, as: lineshaft.RoleViewer, status: 200}))
		for _, step := range page.Steps {
			for _, message := range step.Messages {
				for _, content := range message.Content {
					if content.Text != nil && *content.Text != long {
						said = append(said, *content.Text)
					}
				}
			}
		}
		if cursor = ""; page.PageInfo != nil {
			cursor = page.PageInfo.NextCursor
		}
		if pages == 0 && cursor == "" {
			t.Error("4 MB came in one answer")
		}
	}
	if want := []string{"the first", "answer one", "the second", "answer two", "the third", "answer three"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
	link := b.check(t, scenario{method: get, path: path + "/transcript", as: lineshaft.RoleViewer, status: 302}).Header().Get("Location")
	text := b.check(t, scenario{method: get, path: link, status: 200}).Body.String()
	at := -1
	for _, part := range said {
		next := strings.Index(text, `"text":"`+part+`"`)
		if next <= at {
			t.Errorf("%q is not in its place in the transcript", part)
		}
		at = next
	}
	for _, bad := range []string{"1", "x.1", first + ".x", first + ".-1"} {
		b.check(t, scenario{method: get, path: path + "?cursor=" + bad, as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"cursor"}})
	}
}

// However long the messages of states are, an answer is bounded (H-14).
func TestH14TimelineIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "do it"})
	long := lineshaft.NewDraft(lineshaft.EventState, b.store.Now(), lineshaft.StateData{To: lineshaft.InProgress, Message: strings.Repeat("x", 300_000)})
	err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, id)
		if err != nil {
			return err
		}
		return tx.SaveRun(ctx, h, slices.Repeat([]lineshaft.Draft{long}, 12)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	w := b.check(t, scenario{method: get, path: "/agent/runs/" + id + "/timeline", as: lineshaft.RoleViewer, status: 200})
	if n := len(decode[TimelineResponse](t, w).Events); n < 2 || n > 6 {
		t.Errorf("%d events of 300 kB", n)
	}
}
