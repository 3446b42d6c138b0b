package web_test

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// toolFields are the fields of one tool server.
func toolFields(form url.Values, name, was, address, headers, command, env string) url.Values {
	for field, value := range map[string]string{
		"name": name, "was": was, "url": address, "headers": headers, "command": command, "env": env, "warp": "",
	} {
		form.Add("tool_"+field, value)
	}
	return form
}

func (s *site) secrets(names ...string) {
	for _, name := range names {
		must(s.control.CreateSecret(s.Context(), s.admin, lineshaft.Secret{Name: name}, "a value of a secret"))
	}
}

func agentFields() url.Values {
	return url.Values{"name": {"tooled"}, "agent_type": {"CUSTOM"}, "prompt": {"p"}, "tools": {"1"}}
}

// Tool servers are edited in the form of an agent. Secrets are named; other values are
// never shown, and stay with the server that has them.
func TestI2ToolServersOfAnAgentAreEdited(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleAdmin)
	s.secrets("TEAM", "OTHER", "B")
	const header, variable = "a-value-of-a-header", "a-value-of-a-variable"
	made := must(s.control.CreateAgent(t.Context(), s.admin, lineshaft.Agent{Name: "tooled", Config: lineshaft.AgentConfig{
		MCPServers: map[string]lineshaft.MCPServer{
			"tracker": {URL: "https://me:hunter2@tracker.example/mcp", Headers: map[string]string{"Authorization": header, "X-Team": "{{TEAM}}"}},
			"local":   {Command: "tools", Args: []string{"--quiet", " odd "}, Env: map[string]string{"TOKEN": variable}},
		},
	}}))
	at := "/agents/" + made.UID
	stored := func() map[string]lineshaft.MCPServer {
		return must(s.control.GetAgent(t.Context(), s.admin, made.UID)).Config.MCPServers
	}
	page := s.shows(at+"/edit", "Authorization: ***", "X-Team: {{TEAM}}", "TOKEN=***", "https://redacted@tracker.example/mcp", "!hunter2", "!"+header, "!"+variable)
	if before := stored(); !reflect.DeepEqual(before, made.Config.MCPServers) || strings.Contains(page, "hunter2") {
		t.Fatalf("%+v", before)
	}
	local := func(form url.Values) url.Values {
		return toolFields(form, "local", "local", "", "", "tools\n--quiet\n odd ", "TOKEN=***")
	}
	shown := "https://redacted@tracker.example/mcp"
	s.sends(at, toolFields(local(agentFields()), "tracker", "tracker", shown, "Authorization: ***\r\nX-Team: {{TEAM}}", "", ""), http.StatusOK, at)
	if got := stored(); !reflect.DeepEqual(got, made.Config.MCPServers) {
		t.Errorf("saving without a change makes it %+v", got)
	}
	s.sends(at, toolFields(local(agentFields()), "issues", "tracker", shown, "Authorization: ***\r\nX-Team: {{TEAM}}\r\nX-New: {{OTHER}}", "", ""), http.StatusOK, at)
	want := lineshaft.MCPServer{URL: "https://me:hunter2@tracker.example/mcp", Headers: map[string]string{"Authorization": header, "X-Team": "{{TEAM}}", "X-New": "{{OTHER}}"}}
	if got := stored(); len(got) != 2 || !reflect.DeepEqual(got["issues"], want) {
		t.Errorf("with another name and one more header: %+v", got)
	}
	for name, one := range map[string]struct {
		form url.Values
		says string
	}{
		"hidden value to elsewhere": {toolFields(agentFields(), "issues", "issues", "https://other.example/mcp", "Authorization: ***", "", ""), "stands for a value that is not shown"},
		"hidden value of nothing":   {toolFields(agentFields(), "issues", "issues", shown, "Unknown: ***", "", ""), "stands for a value that is not shown"},
		"hidden value to a program": {toolFields(agentFields(), "local", "local", "", "", "other", "TOKEN=***"), "stands for a value that is not shown"},
		"two ways":                  {toolFields(agentFields(), "a", "", "https://a.example", "", "a", ""), "give exactly one of command, url and warp_id"},
		"no way":                    {toolFields(agentFields(), "a", "", "", "", "", ""), "give exactly one of command, url and warp_id"},
		"no address":                {toolFields(agentFields(), "a", "", "tracker", "", "", ""), "must be an http or https URL"},
		"headers of a program":      {toolFields(agentFields(), "a", "", "", "A: b", "a", ""), "headers are only for url"},
		"no name":                   {toolFields(agentFields(), "", "", "https://a.example", "", "", ""), "each server in a list needs its own name"},
		"one name twice":            {toolFields(toolFields(agentFields(), "a", "", "", "", "a", ""), "a", "", "", "", "b", ""), "each server in a list needs its own name"},
		"no colon":                  {toolFields(agentFields(), "a", "", "https://a.example", "A b", "", ""), "write a name, &#34;:&#34; and a value"},
		"one header twice":          {toolFields(agentFields(), "a", "", "https://a.example", "A: b\nA: c", "", ""), "is named twice"},
	} {
		if page := s.sends(at, one.form, http.StatusBadRequest, at, one.says, `aria-invalid="true"`); strings.Contains(page, "hunter2") || strings.Contains(page, header) || strings.Contains(page, variable) {
			t.Errorf("%s: the page has a hidden value", name)
		}
	}
	if got := stored(); len(got) != 2 || !reflect.DeepEqual(got["issues"], want) {
		t.Errorf("what was refused made it %+v", got)
	}
	s.sends(at, agentFields(), http.StatusOK, at)
	if got := stored(); len(got) != 0 {
		t.Errorf("without any row there are %+v", got)
	}
	page = s.sends("/agents", toolFields(url.Values{"name": {"new"}, "agent_type": {"CUSTOM"}, "prompt": {"p"}, "tools": {"1"}}, "a", "", "https://a.example", "A: {{B}}", "", ""), http.StatusOK, "", "The agent is created")
	if strings.Contains(page, "{{B}}") {
		t.Error("the page of an agent shows headers")
	}
}

// Rows come and go by the same form, without a script, and nothing is saved by that.
func TestI2RowsOfToolServersComeAndGo(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	agents := toolFields(agentFields(), "one", "", "https://one.example", "", "", "")
	agents.Set("do", "moretool")
	s.sends("/agents", agents, http.StatusOK, "/agents", `value="one"`, `id="tool-2-name"`, "autofocus")
	agents.Set("do", "lesstool:1")
	if page := s.sends("/agents", agents, http.StatusOK, "/agents"); strings.Contains(page, `id="tool-1-name"`) {
		t.Error("the row is still there")
	}
	for _, odd := range []string{"lesstool:0", "lesstool:7", "lesstool:x", "lesstool"} {
		agents.Set("do", odd)
		s.sends("/agents", agents, http.StatusOK, "/agents", `id="tool-1-name"`)
	}
	draft := toolFields(url.Values{"do": {"moretool"}, "tools": {"1"}}, "one", "", "https://one.example", "", "", "")
	s.sends(s.at()+"/draft", draft, http.StatusOK, s.at()+"/draft", `value="one"`, `id="tool-2-name"`)
	uneven := url.Values{"name": {"uneven"}, "agent_type": {"CUSTOM"}, "prompt": {"p"}, "tools": {"1"}, "tool_name": {"a", "b"}, "tool_url": {"https://a.example"}}
	s.sends("/agents", uneven, http.StatusBadRequest, "/agents", "give exactly one of")
	if got := must(s.control.ListAgents(t.Context(), s.admin, "", 5, "")).Items; len(got) != 1 {
		t.Errorf("%d agents", len(got))
	}
}

// An automation has tool servers, a harness and a runner of its own, and a definition that says none goes on saying so.
func TestI2ToolServersOfAnAutomationAreEdited(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleAdmin)
	s.secrets("NEAR")
	create := func(name string, config lineshaft.AgentConfig) string {
		return must(s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
			Name: name, Prompt: "p", Triggers: []lineshaft.Trigger{{Provider: "run", Event: "finished"}}, Config: config,
		})).UID
	}
	config := func(uid string) lineshaft.AgentConfig {
		return must(s.control.GetAutomation(t.Context(), s.admin, s.factory, uid)).Config
	}
	uid := create("tooled", lineshaft.AgentConfig{MCPServers: map[string]lineshaft.MCPServer{"far": {URL: "https://far.example", Headers: map[string]string{"A": "literal"}}}})
	at := s.at() + "/" + uid
	form := sent(t, s.shows(at+"/edit", "A: ***", "!literal"))
	form.Set("harness", "codex")
	toolFields(form, "near", "", "", "", "near-mcp\n--stdio", "TOKEN={{NEAR}}")
	page := s.sends(at, form, http.StatusOK, at, "codex", "far", "near")
	want := lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "codex"}, MCPServers: map[string]lineshaft.MCPServer{
		"far":  {URL: "https://far.example", Headers: map[string]string{"A": "literal"}},
		"near": {Command: "near-mcp", Args: []string{"--stdio"}, Env: map[string]string{"TOKEN": "{{NEAR}}"}},
	}}
	if got := config(uid); !reflect.DeepEqual(got, want) || strings.Contains(page, "literal") {
		t.Errorf("%+v", got)
	}
	form = sent(t, s.shows(at+"/edit"))
	form["tool_url"][0], form["tool_headers"][0] = "not an address", ""
	s.sends(at, form, http.StatusBadRequest, at, "must be an http or https URL", "not an address")
	none := create("none", lineshaft.AgentConfig{MCPServers: map[string]lineshaft.MCPServer{}})
	at = s.at() + "/" + none
	form = sent(t, s.shows(at+"/edit"))
	form.Set("runner_id", "big")
	s.sends(at, form, http.StatusOK, at, "big")
	if got := config(none); got.MCPServers == nil || got.RunnerID != "big" {
		t.Errorf("%+v", got)
	}
}
