package api

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// an agent reports with its run token, and nobody else does.
func TestX7ReportsOfAnAgent(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.start(lineshaft.NewRun{Prompt: "x"})
	job := b.claim()
	b.report(job, 1)
	path := "/agent/runs/" + job.RunID
	token := map[string]string{"Authorization": "Bearer " + job.RunToken}
	for _, sc := range []scenario{
		{name: "message", path: "/reports", header: token, body: `{"type":"message","text":"half way"}`, status: 200, has: []string{`"run_id":"` + job.RunID}},
		{name: "plan", path: "/reports", header: token, body: `{"type":"plan","steps":[{"text":"a","state":"completed"},{"text":"b"}]}`, status: 200},
		{name: "pull request", path: "/reports", header: token, body: `{"type":"pull_request","url":"https://forge.test/a/b/pull/1"}`, status: 200, has: []string{`"artifact_uid":"`}},
		{name: "unknown type", path: "/reports", header: token, body: `{"type":"state","text":"x"}`, status: 400, code: "invalid_request"},
		{name: "file", path: "/artifacts?filename=a.html&title=T", header: token, body: "<p>not JSON", status: 200, has: []string{`"artifact_uid":"`}},
		{name: "file without a name", path: "/artifacts", header: token, body: "x", status: 400, code: "invalid_request"},
		{name: "name with a folder", path: "/artifacts?filename=a/b", header: token, body: "x", status: 400, code: "invalid_request"},
		{name: "admin", path: "/reports", as: lineshaft.RoleAdmin, body: `{"type":"message","text":"x"}`, status: 403, code: "not_authorized"},
		{name: "admin's file", path: "/artifacts?filename=a", as: lineshaft.RoleAdmin, body: "x", status: 403, code: "not_authorized"},
		{name: "nobody", path: "/artifacts?filename=a", body: "x", status: 401},
	} {
		sc.method, sc.path = post, path+sc.path
		b.check(t, sc)
	}
	b.check(t, scenario{method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{`"filename":"a.html"`, `text/html`, "pull/1"}})
	b.check(t, scenario{method: get, path: path + "/conversation", as: lineshaft.RoleViewer, status: 200, has: []string{"half way", `"name":"plan"`}})
}

// talk is the conversation of a log.
func talk(events ...lineshaft.Event) ConversationResponse {
	b := newConversation()
	for i := range events {
		b.add(&events[i])
	}
	return b.finish("c", "")
}

func entry(kind lineshaft.EventType, data string) lineshaft.Event {
	return lineshaft.Event{ID: string(kind), Type: kind, Data: []byte(data)}
}

// an answer belongs to the turn that asked, messages after it to the next.
func TestX7AnswerIsPartOfTheTurn(t *testing.T) {
	t.Parallel()
	got := talk(
		entry("message", `{"role":"user","text":"do it"}`),
		entry("tool_call", `{"id":"1","category":"command","name":"sh","input":{"command":"rm x"}}`),
		entry("permission_request", `{"tool_call_id":"1","title":"rm x?","options":[{"id":"y","name":"Yes","kind":"allow_once"}]}`),
		entry("state", `{"from":"INPROGRESS","to":"BLOCKED"}`),
		entry("message", `{"role":"user","text":"yes"}`),
		entry("state", `{"from":"BLOCKED","to":"INPROGRESS"}`),
		entry("tool_result", `{"id":"1","state":"completed","output":{}}`),
		entry("message", `{"role":"user","text":"and now?"}`),
	)
	if len(got.Steps) != 2 {
		t.Fatalf("%d steps", len(got.Steps))
	}
	var roles []string
	for _, m := range got.Steps[0].Messages {
		roles = append(roles, m.Role)
	}
	if strings.Join(roles, " ") != "user assistant system user tool" {
		t.Errorf("the first turn has %v", roles)
	}
	if result := got.Steps[0].Messages[4].Content[0]; result.State != "completed" || result.Name != "sh" {
		t.Errorf("the call ended as %+v", result)
	}
}

// an agent that reports more about a call it has begun changes its block.
func TestX7ToolCallIsToldTwice(t *testing.T) {
	t.Parallel()
	got := talk(
		entry("message", `{"role":"user","text":"do it"}`),
		entry("tool_call", `{"id":"1","category":"command","name":"sh"}`),
		entry("message", `{"role":"assistant","text":"hm"}`),
		entry("tool_call", `{"id":"1","category":"files","name":"read","input":{"path":"x"}}`),
		entry("tool_result", `{"id":"1","state":"cancelled"}`),
		entry("tool_call", `{"id":"1","category":"files","name":"again"}`),
		entry("tool_result", `{"id":"1","state":"denied"}`),
	)
	content := got.Steps[0].Messages[1].Content
	if len(content) != 2 || content[0].Name != "read" || decoded(content[0].Input)["path"] != "x" || content[0].Category != "files" {
		t.Fatalf("%+v", content)
	}
	if first := got.Steps[0].Messages[2].Content[0]; first.State != "failed" || first.Name != "read" {
		t.Errorf("%+v", first)
	}
	if second := got.Steps[0].Messages[4].Content[0]; second.State != "denied" || second.Name != "again" {
		t.Errorf("%+v", second)
	}
}
