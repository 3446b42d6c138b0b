package cli

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const (
	agentOne   = "01980f22-1122-7334-8556-778899aabbcc"
	agentTwo   = "01980f22-1122-7334-8556-778899aabbdd"
	agentThree = "01980f22-1122-7334-8556-778899aabbee"

	reviewer = `{"uid":"` + agentOne + `","name":"reviewer","available":true,"agent_type":"REVIEW","factory_uid":"` + factoryOne + `","description":"Reads \u001b[31mcode\nonly",` +
		`"prompt":"You review.\nBe brief.\n","environment_id":"e-1","harness":{"type":"claude","model_id":"opus"},"mcp_servers":{"z":{"command":"c"},"a":{"url":"https://x.example"}},` +
		`"worker_host":"box","default_runner_uid":"","secrets":[{"name":"A"},{"name":"B"}],"skills":["o/r:s"],"memory":{"auto_memory":{"enabled":false},"attached_stores":[]},` +
		`"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-02T03:59:00.000000Z"}`
	boss = `{"uid":"` + agentTwo + `","name":"boss","available":true,"agent_type":"FOREMAN","factory_uid":"` + factoryOne + `","default_runner_uid":"","secrets":[],"skills":[],` +
		`"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-01T04:00:00.000000Z"}`
	freelance = `{"uid":"` + agentThree + `","name":"reviewer","available":true,"agent_type":"CUSTOM","base_model":"m-1","default_runner_uid":"","secrets":[],"skills":[],` +
		`"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-01T04:00:00.000000Z"}`
)

// identities adds two agents of the first factory and one of the team, whose name one
// of the others has too.
func (s *stage) identities() {
	s.mux.HandleFunc("GET /api/v1/agent/identities", func(w http.ResponseWriter, r *http.Request) {
		list := reviewer + "," + boss
		if r.URL.Query().Get("factory_uid") == "" {
			list += "," + freelance
		}
		_, _ = io.WriteString(w, `{"agents":[`+list+`]}`)
	})
	s.answer("POST /api/v1/agent/identities", 201, reviewer)
	s.answer("GET /api/v1/agent/identities/"+agentOne, 200, reviewer)
	s.answer("PUT /api/v1/agent/identities/{uid}", 200, boss)
	s.answer("DELETE /api/v1/agent/identities/{uid}", 204, ``)
	s.answer("POST /api/v1/factory/"+factoryOne+"/runs", 200, `{"factory_uid":"`+factoryOne+`","foreman_agent":"boss","run_id":"run-1","state":"QUEUED","ticket_ref":"adhoc:1","run_url":"https://ls.test/runs/run-1"}`)
}

// TestI1AgentBodies: what the commands send.
func TestI1AgentBodies(t *testing.T) {
	t.Parallel()
	prompt := file(t, "reviewer.md", "You review.")
	for _, tc := range []struct {
		args               []string
		method, path, body string
	}{
		{[]string{"agent", "create", "N"}, "POST", "", `{"name":"N"}`},
		{
			[]string{"agent", "create", "N", "--factory", "shop", "--type", "Review", "--prompt", "p", "--description", "d", "--model", "m", "--environment", "shop", "--host", "h", "--secret", "A", "--skill", "o/r:s"},
			"POST", "", `{"name":"N","agent_type":"REVIEW","factory_uid":"` + factoryOne + `","description":"d","prompt":"p","environment_id":"` + environmentOne + `","base_model":"m","worker_host":"h","secrets":[{"name":"A"}],"skills":["o/r:s"]}`,
		},
		{[]string{"agent", "create", "N", "--environment", environmentTwo}, "POST", "", `{"name":"N","environment_id":"` + environmentTwo + `"}`},
		{[]string{"agent", "update", "boss", "--environment", "plain"}, "PUT", "/" + agentTwo, `{"environment_id":"` + environmentTwo + `"}`},
		{[]string{"agent", "create", "N", "--prompt-file", prompt}, "POST", "", `{"name":"N","prompt":"You review."}`},
		{[]string{"agent", "update", "boss", "--prompt-file", prompt, "--name", "b"}, "PUT", "/" + agentTwo, `{"name":"b","prompt":"You review."}`},
		{
			[]string{"agent", "update", agentOne, "--description", "", "--prompt", "", "--model", "", "--environment", "", "--host", "", "--secret", "", "--skill", ""},
			"PUT", "/" + agentOne, `{"description":"","prompt":"","environment_id":"","base_model":"","worker_host":"","secrets":[],"skills":[]}`,
		},
		{[]string{"agent", "update", "reviewer", "--factory", "shop", "--type", "foreman", "--secret", "A", "--secret", "B"}, "PUT", "/" + agentOne, `{"agent_type":"FOREMAN","secrets":[{"name":"A"},{"name":"B"}]}`},
		{[]string{"agent", "delete", "boss"}, "DELETE", "/" + agentTwo, ``},
	} {
		s := newStage(t).library()
		r := s.run(t.Context(), tc.args...)
		if last := s.last(t); r.code != 0 || last.method != tc.method || last.path != "/api/v1/agent/identities"+tc.path || strings.TrimSpace(last.body) != tc.body {
			t.Errorf("%v: %+v\nsent %s %s %s", tc.args, r, last.method, last.path, last.body)
		}
	}
}

func TestI1AgentMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args       []string
		code       int
		want, hint string
	}{
		{[]string{"agent", "get", "nobody"}, shell.ExitNotFound, `there is no agent named "nobody"`, "lineshaft agent list"},
		{[]string{"agent", "get", "reviewer"}, shell.ExitUsage, `2 agents are called "reviewer"`, agentThree + " of factory -"},
		{[]string{"agent", "update", "boss"}, shell.ExitUsage, "there is nothing to change", "lineshaft agent update --help"},
		{[]string{"agent", "create", "x", "--type", "reviw"}, shell.ExitUsage, `--type "reviw" is not known`, "Did you mean review?"},
		{[]string{"agent", "create", "x", "--prompt", "a", "--prompt-file", "b"}, shell.ExitUsage, "an agent has one prompt", "not both"},
		{[]string{"agent", "create", "x", "--prompt-file", "no/such"}, shell.ExitUsage, "cannot read the file", "Check its name"},
		{[]string{"agent", "create", "x", "--environment", "shpo"}, shell.ExitNotFound, `no environment has the name "shpo"`, "Did you mean shop?"},
		{[]string{"agent", "list", "--factory", "nowhere"}, shell.ExitNotFound, `no factory has the name or alias "nowhere"`, ""},
		{[]string{"run", "x", "--agent", "nobody"}, shell.ExitNotFound, `there is no agent named "nobody"`, ""},
		{[]string{"run", "x", "--factory", "shop"}, shell.ExitUsage, "there is no --agent", "lineshaft factory run"},
		{[]string{"factory", "run", "shop"}, shell.ExitUsage, "", "a factory and a prompt"},
	} {
		s := newStage(t).library()
		if r := s.run(t.Context(), tc.args...); r.code != tc.code || !strings.Contains(r.err, tc.want) || !strings.Contains(r.err, tc.hint) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
}

// TestR2RunOfAnAgent: by name, by name and factory, or by uid.
func TestR2RunOfAnAgent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, want string }{
		{"--agent boss", agentTwo}, {"--agent reviewer --factory shop", agentOne}, {"--agent " + agentThree, agentThree},
	} {
		s := newStage(t).library()
		r := s.run(t.Context(), append([]string{"run", "x"}, strings.Fields(tc.args)...)...)
		requests := s.requests()
		at := slices.IndexFunc(requests, func(r request) bool { return r.method == http.MethodPost })
		if got := requests[at].body; r.code != 0 || strings.TrimSpace(got) != `{"prompt":"x","agent_identity_uid":"`+tc.want+`"}` {
			t.Errorf("%s: %+v, sent %s", tc.args, r, got)
		}
	}
}

func TestF1FactoryRunBody(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	s.deps.Stdin = strings.NewReader("from stdin")
	r := s.run(t.Context(), "factory", "run", "shop", "-", "--title", "t", "--ticket", "jira:A", "--ticket-url", "https://x.example")
	if got := strings.TrimSpace(s.last(t).body); r.code != 0 || r.out != "run-1\n" || got != `{"prompt":"from stdin","title":"t","ticket_ref":"jira:A","ticket_url":"https://x.example"}` {
		t.Errorf("%+v, sent %s", r, got)
	}
}
