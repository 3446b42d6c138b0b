package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestF8AgentsOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	factory, _ := b.factory("works", "hook")
	b.check(t, scenario{method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: `{"name":"TOKEN","value":"a value of these tests"}`, status: 201})
	made := decode[AgentResponse](t, b.check(t, scenario{
		method: post, path: "/agent/identities", as: lineshaft.RoleManager, status: 201, body: `{
			"name":"reviewer","agent_type":"REVIEW","factory_uid":"` + factory + `","description":"d","prompt":"You review.","secrets":[{"name":"TOKEN"}],
			"skills":["acme/tools:triage"],"mcp_servers":{"t":{"command":"c","env":{"A":"literal","B":"{{TOKEN}}"}}},"harness":{"type":"claude","model_id":"opus"},
			"worker_host":"warp","memory":{"auto_memory":{"enabled":false},"attached_stores":[]},"on_behalf_of_enabled":false,"credential_strategy":"EXECUTOR","surprise":1}`,
		has: []string{
			`"available":true`, `"default_runner_uid":""`, `"memory":{"auto_memory":{"enabled":false},"attached_stores":[]}`, `"A":"***"`, `"B":"{{TOKEN}}"`,
			`"skills":["acme/tools:triage"]`, `"secrets":[{"name":"TOKEN"}]`, `"worker_host":"hosted"`, `"harness":{"type":"claude","model_id":"opus"}`, `"agent_type":"REVIEW"`,
		}, not: []string{"literal", "base_model", "environment_id"},
	}))
	bare := decode[AgentResponse](t, b.check(t, scenario{
		method: post, path: "/agent/identities", as: lineshaft.RoleManager, body: `{"name":"Anyone's","environment_id":null,"secrets":null,"harness":null,"base_harness":""}`, status: 201,
		has: []string{`"secrets":[]`, `"skills":[]`, `"agent_type":"CUSTOM"`}, not: []string{"factory_uid", "prompt", "harness"},
	}))
	path := "/agent/identities/" + made.UID
	b.play(t, []scenario{
		{name: "get", method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{made.UID, `"prompt":"You review."`}},
		{name: "all", method: get, path: "/agent/identities", as: lineshaft.RoleViewer, status: 200, has: []string{made.UID, bare.UID, `"name":"foreman"`}, not: []string{"page_info"}},
		{name: "of the factory", method: get, path: "/agent/identities?factory_uid=" + factory, as: lineshaft.RoleViewer, status: 200, has: []string{made.UID}, not: []string{bare.UID}},
		{name: "of none there", method: get, path: "/agent/identities?factory_uid=x", as: lineshaft.RoleViewer, status: 200, has: []string{`{"agents":[]}`}},
		{
			name: "keep", method: put, path: path, as: lineshaft.RoleManager, body: `{"description":null,"secrets":null,"mcp_servers":null,"agent_type":null,"name":null}`, status: 200,
			has: []string{`"description":"d"`, `"TOKEN"`, `"B":"{{TOKEN}}"`, `"name":"reviewer"`},
		},
		{name: "keep all", method: put, path: path, as: lineshaft.RoleManager, body: `{}`, status: 200, has: []string{`"description":"d"`, `"skills":["acme/tools:triage"]`}},
		{name: "another model", method: put, path: path, as: lineshaft.RoleManager, body: `{"base_model":"m"}`, status: 400, code: "invalid_request", has: []string{`"detail":"base_model: `}},
		{name: "hidden", method: put, path: path, as: lineshaft.RoleManager, body: `{"mcp_servers":{"t":{"command":"c","env":{"A":"***"}}}}`, status: 400, code: "invalid_request", has: []string{"mcp_servers.t.env.A: "}},
		{
			name: "clear", method: put, path: path, as: lineshaft.RoleManager, body: `{"description":"","prompt":"","secrets":[],"skills":[],"mcp_servers":{},"harness":{},"worker_host":"","base_model":"m"}`, status: 200,
			has: []string{`"base_model":"m"`, `"secrets":[]`, `"skills":[]`}, not: []string{"description", "prompt", "mcp_servers", "harness", "worker_host"},
		},
		{name: "foreman", method: put, path: path, as: lineshaft.RoleManager, body: `{"agent_type":"FOREMAN","name":"boss"}`, status: 200, has: []string{`"FOREMAN"`}},
		{name: "of the factory", method: get, path: "/factory/" + factory, as: lineshaft.RoleViewer, status: 200, has: []string{`"foreman_agent":"boss"`}},
		{name: "a foreman stays", method: del, path: path, as: lineshaft.RoleManager, status: 400, code: "invalid_request"},
		{name: "delete", method: del, path: "/agent/identities/" + bare.UID, as: lineshaft.RoleManager, status: 204},
		{name: "gone", method: get, path: "/agent/identities/" + bare.UID, as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{name: "gone, too", method: put, path: "/agent/identities/" + bare.UID, as: lineshaft.RoleManager, body: `{}`, status: 404, code: "resource_not_found"},
		{name: "no uid", method: del, path: "/agent/identities/x", as: lineshaft.RoleManager, status: 404, code: "resource_not_found"},
		{name: "foreign", method: get, path: path, header: b.limited(lineshaft.RoleManager, b.elsewhere()), status: 404, code: "resource_not_found"},
	})
}

func TestF8BadAgentBodies(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	factory, _ := b.factory("works", "hook")
	for name, test := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"nothing": {``, 400, ""}, "no name": {`{}`, 400, "name"}, "empty name": {`{"name":""}`, 400, "name: "}, "name null": {`{"name":null}`, 400, "name"},
		"file name":    {`{"name":"a/b","factory_uid":"` + factory + `"}`, 400, "name: "},
		"type":         {`{"name":"a","agent_type":"MAIN"}`, 400, "agent_type"},
		"foreman":      {`{"name":"a","agent_type":"FOREMAN","factory_uid":"` + factory + `"}`, 409, "agent_type: "},
		"taken":        {`{"name":"foreman","factory_uid":"` + factory + `"}`, 409, "name: "},
		"factory":      {`{"name":"a","factory_uid":"x"}`, 400, "factory_uid: "},
		"secret":       {`{"name":"a","secrets":[{"name":"NONE"}]}`, 400, `"detail":"secrets: `},
		"secret twice": {`{"name":"a","secrets":[{"name":"A"},{"name":"A"}]}`, 400, `"detail":"secrets[1].name: `},
		"environment":  {`{"name":"a","environment_id":"none"}`, 400, `"detail":"environment_id: `},
		"runner":       {`{"name":"a","default_runner_uid":"none"}`, 400, `"detail":"default_runner_uid: `},
		"lost skill":   {`{"name":"a","skills":["acme/tools:nothing"]}`, 400, `"detail":"skills[0]: repository acme/tools has no skill \"nothing\"; it has triage"`},
		"skill":        {`{"name":"a","skills":["o/r"]}`, 400, `"detail":"skills[0]: `},
		"harness":      {`{"name":"a","harness":{"type":"codex"},"base_model":"m"}`, 400, `"detail":"base_model: `},
		"old harness":  {`{"name":"a","base_harness":"codex","base_model":"m"}`, 400, `"detail":"base_model: `},
		"bad harness":  {`{"name":"a","base_harness":"hammer"}`, 400, `"detail":"harness.type: `},
		"server":       {`{"name":"a","mcp_servers":{"t":{"command":"c","url":"https://x.example"}}}`, 400, `"detail":"mcp_servers.t: `},
		"memory":       {`{"name":"a","memory":{"auto_memory":{"enabled":true}}}`, 422, `"detail":"memory.auto_memory.enabled: `},
		"stores":       {`{"name":"a","memory":{"attached_stores":[{"uid":"u"}]}}`, 422, `"detail":"memory.attached_stores: `},
		"memory list":  {`{"name":"a","memory_stores":["u"]}`, 422, `"detail":"memory_stores: `},
		"providers":    {`{"name":"a","inference_providers":{"aws":{"disabled":true}}}`, 422, `"detail":"inference_providers: `},
		"on behalf":    {`{"name":"a","on_behalf_of_enabled":true}`, 422, `"detail":"on_behalf_of_enabled: `},
		"strategy":     {`{"name":"a","credential_strategy":"CREATOR"}`, 422, `"detail":"credential_strategy: `},
		"auth secrets": {`{"name":"a","harness_auth_secrets":{"claude_auth_secret_name":"A"}}`, 422, `"detail":"harness_auth_secrets: `},
	} {
		code := map[int]lineshaft.Code{400: "invalid_request", 409: "conflict", 422: "operation_not_supported"}[test.status]
		b.check(t, scenario{name: name, method: post, path: "/agent/identities", as: lineshaft.RoleManager, body: test.body, status: test.status, code: code, has: []string{test.says}})
	}
	list := decode[ListAgentIdentitiesResponse](t, b.check(t, scenario{method: get, path: "/agent/identities", as: lineshaft.RoleViewer, status: 200}))
	if len(list.Agents) != 1 {
		t.Errorf("%d agents are there", len(list.Agents))
	}
}

// A run takes its agent's configuration, and says where each value came from.
func TestR2RunOfAnAgentOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	factory, _ := b.factory("works", "hook")
	b.check(t, scenario{method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: `{"name":"TOKEN","value":"a value of these tests"}`, status: 201})
	agent := decode[AgentResponse](t, b.check(t, scenario{
		method: post, path: "/agent/identities", as: lineshaft.RoleManager, body: `{"name":"a","factory_uid":"` + factory + `","prompt":"You are a.","base_model":"m","secrets":[{"name":"TOKEN"}]}`, status: 201,
	}))
	started := decode[RunAgentResponse](t, b.check(t, scenario{
		method: post, path: "/agent/runs", as: lineshaft.RoleMember, body: `{"prompt":"p","agent_identity_uid":"` + agent.UID + `","config":{"timeout_minutes":7}}`, status: 200,
	}))
	run := decode[RunItem](t, b.check(t, scenario{method: get, path: "/agent/runs/" + started.RunID + "?explain=1", as: lineshaft.RoleViewer, status: 200}))
	origins := map[string]string{"model_id": "agent", "base_prompt": "agent", "secrets.TOKEN": "agent", "timeout_minutes": "run", "stall_minutes": "server"}
	for field, want := range origins {
		if run.AgentConfigOrigins[field] != want {
			t.Errorf("%s comes from %q", field, run.AgentConfigOrigins[field])
		}
	}
	if run.Executor == nil || run.Executor.UID != agent.UID || run.Executor.DisplayName != "a" || run.Executor.Type != "service_account" || run.FactoryUID != factory || run.AgentConfig.BasePrompt != "You are a." {
		text, _ := json.Marshal(run)
		t.Errorf("%s", text)
	}
	b.play(t, []scenario{
		{name: "executor", method: get, path: "/agent/runs?executor=" + agent.UID, as: lineshaft.RoleViewer, status: 200, has: []string{started.RunID}},
		{name: "another executor", method: get, path: "/agent/runs?executor=" + exampleRunID, as: lineshaft.RoleViewer, status: 200, has: []string{`"runs":[]`}},
		{name: "host", method: post, path: "/agent/runs", as: lineshaft.RoleMember, body: `{"prompt":"p","agent_identity_uid":"` + agent.UID + `","config":{"worker_host":"box"}}`, status: 400, code: "invalid_request", has: []string{`"detail":"config.worker_host: `}},
		{name: "limited", method: post, path: "/agent/runs", header: b.limited(lineshaft.RoleMember, factory), body: `{"prompt":"p","agent_identity_uid":"` + agent.UID + `"}`, status: 200},
		{name: "foreign", method: post, path: "/agent/runs", header: b.limited(lineshaft.RoleMember, b.elsewhere()), body: `{"prompt":"p","agent_identity_uid":"` + agent.UID + `"}`, status: 400, code: "invalid_request", has: []string{`"detail":"agent_identity_uid: `}},
	})
}

func TestF1FactoryRunsOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	factory, _ := b.factory("works", "hook")
	path := "/factory/" + factory + "/runs"
	sc := scenario{method: post, path: path, as: lineshaft.RoleMember, header: keyed("k"), body: `{"prompt":"Fix it."}`, status: 200}
	first, second := b.check(t, sc), b.check(t, sc)
	if first.Body.String() != second.Body.String() || second.Header().Get("Idempotent-Replayed") != "true" || first.Header().Get("Idempotent-Replayed") != "" {
		t.Errorf("%s, then %s", first.Body, second.Body)
	}
	done := decode[FactoryRunResponse](t, first)
	if done.FactoryUID != factory || done.ForemanAgent != "foreman" || done.State != "QUEUED" || !strings.HasPrefix(done.TicketRef, "adhoc:") || done.RunURL != testBase+"/runs/"+done.RunID {
		t.Errorf("%+v", done)
	}
	b.play(t, []scenario{
		{name: "run", method: get, path: "/agent/runs/" + done.RunID, as: lineshaft.RoleViewer, status: 200, has: []string{`"prompt":"Fix it."`, `"ticket_source":"adhoc"`, `"factory_uid":"` + factory, `"display_name":"foreman"`}},
		{name: "ticket", method: post, path: path, as: lineshaft.RoleMember, body: `{"prompt":"p","title":"t","ticket_ref":"jira:A-1","ticket_url":"https://tracker.example/A-1"}`, status: 200, has: []string{`"ticket_ref":"jira:A-1"`}},
		{name: "bad ticket", method: post, path: path, as: lineshaft.RoleMember, body: `{"prompt":"p","ticket_ref":"A-1"}`, status: 400, code: "invalid_request", has: []string{`"detail":"ticket_ref: `}},
		{name: "no prompt", method: post, path: path, as: lineshaft.RoleMember, body: `{}`, status: 400, code: "invalid_request", has: []string{"prompt"}},
		{name: "viewer", method: post, path: path, as: lineshaft.RoleViewer, body: `{"prompt":"p"}`, status: 403, code: "not_authorized"},
		{name: "unknown", method: post, path: "/factory/x/runs", as: lineshaft.RoleMember, body: `{"prompt":"p"}`, status: 404, code: "resource_not_found"},
		{name: "foreign", method: post, path: path, header: b.limited(lineshaft.RoleMember, b.elsewhere()), body: `{"prompt":"p"}`, status: 404, code: "resource_not_found"},
		{name: "own", method: post, path: path, header: b.limited(lineshaft.RoleMember, factory), body: `{"prompt":"p"}`, status: 200},
		{name: "paused", method: patch, path: "/factory/" + factory, as: lineshaft.RoleManager, body: `{"paused":true}`, status: 200},
		{name: "still", method: post, path: path, as: lineshaft.RoleMember, body: `{"prompt":"p"}`, status: 200},
	})
}
