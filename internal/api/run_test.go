package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/sse"
)

func TestR1BothPathsStartADurableRun(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, path := range []string{"/agent/run", "/agent/runs", "/agent/tasks"} {
		w := b.check(t, scenario{method: post, path: path, as: lineshaft.RoleMember, body: `{"prompt":"do it"}`, status: 200})
		started := decode[RunAgentResponse](t, w)
		if started.RunID == "" || started.TaskID != started.RunID || started.State != "QUEUED" {
			t.Errorf("%s: %+v", path, started)
		}
		if !strings.Contains(w.Body.String(), `"at_capacity":`) {
			t.Errorf("%s: at_capacity is not said: %s", path, w.Body)
		}
		b.check(t, scenario{
			method: get, path: "/agent/runs/" + started.RunID, as: lineshaft.RoleViewer, status: 200,
			has: []string{`"prompt":"do it"`, `"finished_at":null`, `"started_at":null`, `"source":"API"`, `"status_message":{"message":`},
		})
	}
}

func TestR5GetRunShowsTheWholeRun(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.check(t, scenario{method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: `{"name":"TOKEN","value":"a value of these tests","access":"runs"}`, status: 201})
	started := decode[RunAgentResponse](t, b.check(t, scenario{
		method: post, path: "/agent/runs", as: lineshaft.RoleMember, status: 200,
		body: `{"prompt":"# Fix it\nplease","metadata":{"a.b":"c","empty":""},"team":true,"interactive":true,"unknown":{"x":1e999},
			"config":{"name":"doctor","model_id":"m","worker_host":"warp","unknown_too":[1],"timeout_minutes":5,
			"mcp_servers":[{"name":"t","url":"https://x.test/mcp","headers":{"A":"literal","B":"{{TOKEN}}"}}],
			"harness":{"type":"command","command":["cat"]},"budget":{"max_cost_usd":1.5},"retry":{"max_attempts":3}}}`,
	}))
	run := decode[RunItem](t, b.check(t, scenario{method: get, path: "/agent/runs/" + started.RunID, as: lineshaft.RoleMember, status: 200, not: []string{"literal", "null,\"run_time"}}))
	if run.Title != "Fix it" || run.TaskID != run.RunID || run.RootRunID != run.RunID || run.SessionLink != testBase+"/runs/"+run.RunID {
		t.Errorf("%+v", run)
	}
	if run.Creator.Type != "service_account" || run.Creator.DisplayName != "member" || run.Metadata["a.b"] != "c" {
		t.Errorf("%+v", run)
	}
	if _, has := run.Metadata["empty"]; !has {
		t.Errorf("an empty metadata value was dropped: %v", run.Metadata)
	}
	c := run.AgentConfig
	if c.Name != "doctor" || c.WorkerHost != "hosted" || *c.TimeoutMinutes != 5 || *c.IdleTimeoutMinutes != 10 || *c.Retry.MaxAttempts != 3 || *c.Budget.MaxCostUSD != 1.5 {
		t.Errorf("%+v", c)
	}
	if text := string(c.MCPServers.text); !strings.Contains(text, `"t":{`) || !strings.Contains(text, `"A":"***"`) || !strings.Contains(text, `"B":"{{TOKEN}}"`) {
		t.Errorf("mcp_servers %s", text)
	}
	if run.AgentConfigOrigins != nil {
		t.Errorf("origins without explain: %v", run.AgentConfigOrigins)
	}
	explained := decode[RunItem](t, b.check(t, scenario{method: get, path: "/agent/tasks/" + started.RunID + "?explain=1", as: lineshaft.RoleMember, status: 200}))
	if explained.AgentConfigOrigins["name"] != "run" || explained.AgentConfigOrigins["stall_minutes"] != "server" {
		t.Errorf("origins %v", explained.AgentConfigOrigins)
	}
}

func TestR2SourceFollowsTheClient(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, tc := range []struct {
		as     lineshaft.Role
		client string
		want   string
	}{
		{lineshaft.RoleMember, "", "API"},
		{lineshaft.RoleMember, "cli", "CLI"},
		{lineshaft.RoleMember, "Web", "WEB_APP"},
		{lineshaft.RoleMember, "curl", "API"},
		{lineshaft.RoleRun, "", "ORCHESTRATION"},
		{lineshaft.RoleRun, "cli", "ORCHESTRATION"},
	} {
		started := decode[RunAgentResponse](t, b.check(t, scenario{
			method: post, path: "/agent/runs", as: tc.as, header: map[string]string{"X-Lineshaft-Client": tc.client}, body: `{"prompt":"x"}`, status: 200,
		}))
		b.check(t, scenario{method: get, path: "/agent/runs/" + started.RunID, as: lineshaft.RoleAdmin, status: 200, has: []string{`"source":"` + tc.want + `"`}})
	}
}

func TestR5UnknownRunsAreNotFound(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	var list []scenario
	for _, id := range []string{"nope", exampleRunID, "%00", "%ff%fe", "a%2Fb", strings.Repeat("x", 5000), "..%2f..%2fetc", "'; DROP TABLE run;--"} {
		id = strings.ReplaceAll(id, " ", "%20")
		for _, route := range []struct{ method, suffix string }{
			{get, ""},
			{get, "/events"},
			{get, "/conversation"},
			{get, "/transcript"},
			{get, "/timeline"},
			{get, "/handoff/attachments"},
			{post, "/cancel"},
			{post, "/interrupt"},
			{post, "/rerun"},
			{del, ""},
		} {
			list = append(list, scenario{
				name: route.method + route.suffix + " " + id[:min(len(id), 20)], method: route.method, path: "/agent/runs/" + id + route.suffix,
				as: lineshaft.RoleAdmin, status: 404, code: lineshaft.CodeNotFound,
			})
		}
		list = append(list, scenario{
			name: "followup " + id[:min(len(id), 20)], method: post, path: "/agent/runs/" + id + "/followups", body: `{"message":"x"}`,
			as: lineshaft.RoleAdmin, status: 404, code: lineshaft.CodeNotFound,
		})
	}
	b.play(t, list)
}

func TestR6Followups(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "one"})
	path := "/agent/runs/" + id + "/followups"
	b.check(t, scenario{method: post, path: path, as: lineshaft.RoleAdmin, body: `{"message":"two"}`, status: 200, has: []string{`"followup_id":null`, `"outcome":"queued_prompt"`}})
	b.check(t, scenario{method: get, path: "/agent/runs/" + id, as: lineshaft.RoleAdmin, status: 200, has: []string{`"submitted_prompt":"one\n\ntwo"`, `"prompt":"one"`}})
	job := b.claim()
	b.report(job, 1)
	b.check(t, scenario{method: post, path: path, as: lineshaft.RoleAdmin, body: `{"message":"three","mode":"normal"}`, status: 200, has: []string{`"outcome":"live_session"`}, not: []string{"null"}})
	b.play(t, []scenario{
		{name: "nothing to say", method: post, path: path, as: lineshaft.RoleAdmin, body: `{}`, status: 400, code: "invalid_request", has: []string{"message: "}},
		{name: "no body", method: post, path: path, as: lineshaft.RoleAdmin, status: 400, code: "invalid_request"},
		{name: "a mode", method: post, path: path, as: lineshaft.RoleAdmin, body: `{"message":"x","mode":"plan"}`, status: 422, code: "operation_not_supported", has: []string{"mode: "}},
		{name: "a prepared upload", method: post, path: path, as: lineshaft.RoleAdmin, body: `{"message":"x","attachments":[{"attachment_id":"u"}]}`, status: 422, code: "operation_not_supported", has: []string{"attachments[0].attachment_id: "}},
		{name: "a file", method: post, path: path, as: lineshaft.RoleAdmin, body: `{"attachments":[{"file_name":"a","mime_type":"text/plain","data":"eA=="}]}`, status: 200},
		{name: "somebody else's run", method: post, path: path, as: lineshaft.RoleMember, body: `{"message":"x"}`, status: 403, code: "not_authorized"},
		{name: "a manager", method: post, path: path, as: lineshaft.RoleManager, body: `{"message":"x"}`, status: 200},
	})
}

func TestR7Cancel(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	w := b.check(t, scenario{method: post, path: "/agent/runs/" + id + "/cancel", as: lineshaft.RoleManager, status: 200})
	if w.Body.String() != `"`+id+`"` || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("answered %q as %s, want the bare JSON string", w.Body, w.Header().Get("Content-Type"))
	}
	b.check(t, scenario{method: get, path: "/agent/runs/" + id, as: lineshaft.RoleViewer, status: 200, has: []string{`"state":"CANCELLED"`}, not: []string{`"finished_at":null`}})
	b.check(t, scenario{method: post, path: "/agent/tasks/" + id + "/cancel", as: lineshaft.RoleManager, status: 400, code: "invalid_request"})
	b.check(t, scenario{method: post, path: "/agent/runs//cancel", as: lineshaft.RoleManager, status: 400, code: "invalid_request", has: []string{"is an id missing"}})

	parent := b.start(lineshaft.NewRun{Prompt: "parent"})
	child := b.start(lineshaft.NewRun{Prompt: "child", ParentRunID: parent})
	b.check(t, scenario{method: post, path: "/agent/runs/" + parent + "/cancel?cascade=1", as: lineshaft.RoleManager, status: 200})
	b.check(t, scenario{method: get, path: "/agent/runs/" + child, as: lineshaft.RoleViewer, status: 200, has: []string{`"state":"CANCELLED"`, `"parent_run_id":"` + parent + `"`, `"root_run_id":"` + parent + `"`}})
}

func TestR8Interrupt(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	w := b.check(t, scenario{method: post, path: "/agent/runs/" + id + "/interrupt", as: lineshaft.RoleAdmin, status: 409, code: "conflict"})
	if w.Header().Get("X-Should-Retry") != "false" {
		t.Error("H-5: a conflict that stays must tell the clients not to try again")
	}
	b.report(b.claim(), 1)
	w = b.check(t, scenario{method: post, path: "/agent/runs/" + id + "/interrupt", as: lineshaft.RoleAdmin, status: 202})
	if w.Body.Len() != 0 {
		t.Errorf("body %q", w.Body)
	}
	b.check(t, scenario{method: get, path: "/agent/runs/" + id, as: lineshaft.RoleViewer, status: 200, has: []string{`"state":"INPROGRESS"`, `"is_sandbox_running":true`}})
}

func TestR12DeleteAndRerun(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "again", Title: "T", Metadata: map[string]string{"k": "v"}})
	b.check(t, scenario{method: del, path: "/agent/runs/" + id, as: lineshaft.RoleManager, status: 409, code: "conflict"})
	again := decode[RunAgentResponse](t, b.check(t, scenario{method: post, path: "/agent/runs/" + id + "/rerun", as: lineshaft.RoleMember, status: 200}))
	if again.RunID == id {
		t.Error("the same run")
	}
	b.check(t, scenario{method: get, path: "/agent/runs/" + again.RunID, as: lineshaft.RoleViewer, status: 200, has: []string{`"prompt":"again"`, `"title":"T"`, `"k":"v"`}})
	job := b.claim()
	b.report(job, 1)
	b.end(job, lineshaft.Succeeded)
	b.check(t, scenario{method: del, path: "/agent/runs/" + id, as: lineshaft.RoleMember, status: 403, code: "not_authorized"})
	w := b.check(t, scenario{method: del, path: "/agent/runs/" + id, as: lineshaft.RoleManager, status: 204})
	if w.Body.Len() != 0 {
		t.Errorf("body %q", w.Body)
	}
	b.check(t, scenario{method: get, path: "/agent/runs/" + id, as: lineshaft.RoleManager, status: 404, code: "resource_not_found"})
}

func TestR12CancelByFilter(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	keep := b.start(lineshaft.NewRun{Prompt: "x", Config: lineshaft.AgentConfig{Name: "keep"}})
	gone := b.start(lineshaft.NewRun{Prompt: "x", Config: lineshaft.AgentConfig{Name: "gone"}, Metadata: map[string]string{"a": "b"}})
	const path = "/agent/runs/cancel"
	b.play(t, []scenario{
		{name: "member", method: post, path: path, as: lineshaft.RoleMember, body: `{"filter":{"name":"gone"}}`, status: 403, code: "not_authorized"},
		{name: "no filter", method: post, path: path, as: lineshaft.RoleManager, body: `{"name":"gone"}`, status: 400, code: "invalid_request", has: []string{"filter: is required"}},
		{name: "no body", method: post, path: path, as: lineshaft.RoleManager, status: 400, code: "invalid_request"},
		{name: "empty filter", method: post, path: path, as: lineshaft.RoleManager, body: `{"filter":{}}`, status: 400, code: "invalid_request", has: []string{"at least one condition"}},
		{name: "a misspelt condition", method: post, path: path, as: lineshaft.RoleManager, body: `{"filter":{"nam":"gone"}}`, status: 400, code: "invalid_request"},
		{name: "unknown state", method: post, path: path, as: lineshaft.RoleManager, body: `{"filter":{"state":["GONE"]}}`, status: 400, code: "invalid_request", has: []string{"filter.state[0]: "}},
		{name: "matches nothing", method: post, path: path, as: lineshaft.RoleManager, body: `{"filter":{"name":"gone","config_name":"other"}}`, status: 200, has: []string{`"cancelled":[]`}},
		{name: "matches one", method: post, path: path, as: lineshaft.RoleManager, body: `{"filter":{"state":["QUEUED"],"metadata":{"a":"b"},"created_after":"2020-01-01T00:00:00Z"}}`, status: 200, has: []string{`["` + gone + `"]`}},
		{name: "the other is left", method: get, path: "/agent/runs/" + keep, as: lineshaft.RoleViewer, status: 200, has: []string{`"state":"QUEUED"`}},
	})
}

func TestWireRunByExternalReference(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	job := b.claim()
	b.report(job, 1, lineshaft.NewDraft(lineshaft.EventArtifact, b.store.Now(), lineshaft.ArtifactData{
		Type: string(lineshaft.ArtifactPullRequest), URL: "https://forge.test/a/b/pull/7",
	}))
	const path = "/agent/run-by-external-reference"
	b.play(t, []scenario{
		{name: "known", method: get, path: path + "?url=https%3A%2F%2Fforge.test%2Fa%2Fb%2Fpull%2F7", as: lineshaft.RoleViewer, status: 200, has: []string{`{"run_id":"` + id + `"}`}},
		{name: "unknown", method: get, path: path + "?url=https%3A%2F%2Fforge.test%2Fa%2Fb%2Fpull%2F8", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{name: "missing", method: get, path: path, as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"url: "}},
		{name: "empty", method: get, path: path + "?url=", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "too long", method: get, path: path + "?url=" + strings.Repeat("x", 2049), as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "listed with its artifact", method: get, path: "/agent/runs?artifact_type=PULL_REQUEST", as: lineshaft.RoleViewer, status: 200, has: []string{`"branch":""`, `"status":"unknown"`, id}},
	})
}

func TestHeadAnswersLikeGet(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	b.check(t, scenario{method: http.MethodHead, path: "/agent/runs/" + id, as: lineshaft.RoleViewer, status: 200})
	w := b.check(t, scenario{method: http.MethodHead, path: "/agent/runs/" + id + "/events", as: lineshaft.RoleViewer, status: 200, header: map[string]string{"Accept": sse.ContentType}})
	if w.Header().Get("Content-Type") != sse.ContentType || w.Body.Len() != 0 {
		t.Errorf("a HEAD of a stream: %q %q", w.Header().Get("Content-Type"), w.Body)
	}
}
