package api

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

func TestR3ConfigBecomesTheDomains(t *testing.T) {
	t.Parallel()
	config := parse[AmbientAgentConfig](t, `{"name":"n","model_id":"m","base_prompt":"b","worker_host":"farm","idle_timeout_minutes":0,
		"computer_use_enabled":false,"timeout_minutes":1,"stall_minutes":2,"queue_timeout_minutes":3,"credential_strategy":"EXECUTOR",
		"harness":{"type":"codex","model_id":"hm","reasoning_level":"high","command":["a","b"],"mode":"command"},"budget":{"max_tokens":7,"max_cost_usd":0.1},
		"retry":{"max_attempts":4},"concurrency":{"key":"k","policy":"skip"},
		"mcp_servers":{"a":{"command":"c","args":["x"],"env":{"E":"{{S}}"}},"b":{"warp_id":"linear"}}}`)
	got, err := config.domain()
	if err != nil {
		t.Fatal(err)
	}
	want := lineshaft.AgentConfig{
		Name: "n", ModelID: "m", BasePrompt: "b", WorkerHost: "farm", IdleTimeoutMinutes: ptr(0), ComputerUseEnabled: ptr(false),
		TimeoutMinutes: ptr(1), StallMinutes: ptr(2), QueueTimeoutMinutes: ptr(3), MaxAttempts: ptr(4),
		Harness:     &lineshaft.HarnessConfig{Type: "codex", ModelID: "hm", ReasoningLevel: "high", Command: []string{"a", "b"}, Mode: "command"},
		Budget:      &lineshaft.Budget{MaxTokens: 7, MaxCostMicros: 100_000},
		Concurrency: &lineshaft.Concurrency{Key: "k", Policy: lineshaft.PolicySkip},
		MCPServers: map[string]lineshaft.MCPServer{
			"a": {Command: "c", Args: []string{"x"}, Env: map[string]string{"E": "{{S}}"}}, "b": {WarpID: "linear"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var absent *AmbientAgentConfig
	if got, err := absent.domain(); err != nil || !reflect.DeepEqual(got, lineshaft.AgentConfig{}) {
		t.Errorf("no configuration: %+v, %v", got, err)
	}
}

func TestR3WorkerHost(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"hosted": "hosted", "warp": "hosted", "": "", "farm": "farm", "Warp": "Warp"} {
		if got := workerHost(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestR3MCPServersAsMapOrList(t *testing.T) {
	t.Parallel()
	want := map[string]lineshaft.MCPServer{"a": {Command: "x"}, "b": {URL: "https://b.test"}}
	for _, text := range []string{
		`{"a":{"command":"x"},"b":{"url":"https://b.test"}}`,
		`[{"name":"a","command":"x"},{"name":"b","url":"https://b.test"}]`,
		`{"a":{"command":"x","name":"ignored","other":1},"b":{"url":"https://b.test"}}`,
	} {
		config := parse[AmbientAgentConfig](t, `{"mcp_servers":`+text+`}`)
		got, err := config.domain()
		if err != nil || !reflect.DeepEqual(got.MCPServers, want) {
			t.Errorf("%s: %+v, %v", text, got.MCPServers, err)
		}
	}
	for text, detail := range map[string]string{
		`{"a":5}`:               "config.mcp_servers.a: expected an object",
		`{"a":null}`:            "config.mcp_servers.a: expected an object",
		`{"a":{"command":5}}`:   "config.mcp_servers.a.command: expected string",
		`{"a":{"env":{"K":5}}}`: "config.mcp_servers.a.env: expected string",
		`{"a":{"args":"x"}}`:    "config.mcp_servers.a.args: expected array",
		`{"a":{"command":"c","args":["x",null]}}`:                 "config.mcp_servers.a.args: expected string, not null",
		`[{"command":"x"}]`:                                       "config.mcp_servers[0].name: ",
		`[{"name":"a","command":"x"},{"name":"a","command":"y"}]`: "config.mcp_servers[1].name: ",
		`[7]`:  "config.mcp_servers[0]: expected an object",
		`"x"`:  "config.mcp_servers: expected an object from name to server",
		`true`: "config.mcp_servers: expected an object from name to server",
	} {
		config := parse[AmbientAgentConfig](t, `{"mcp_servers":`+text+`}`)
		_, err := config.domain()
		if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || !strings.Contains(err.Error(), detail) {
			t.Errorf("%s: %v, want %q", text, err, detail)
		}
	}
}

func TestR3MCPRulesAreTheDomains(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`{"a":{}}`: "config.mcp_servers.a",
		`{"a":{"command":"x","url":"https://y"}}`:   "config.mcp_servers.a",
		`{"a":{"url":"ftp://y"}}`:                   "config.mcp_servers.a.url",
		`{"a":{"url":"https://y","env":{"A":"b"}}}`: "config.mcp_servers.a",
		`{"":{"command":"x"}}`:                      "config.mcp_servers",
	} {
		request := parse[RunAgentRequest](t, `{"prompt":"p","config":{"mcp_servers":`+text+`}}`)
		_, err := request.domain(lineshaft.SourceAPI)
		var pub *lineshaft.Error
		if !errors.As(err, &pub) || pub.Field != field {
			t.Errorf("%s: %v, want field %s", text, err, field)
		}
	}
}

func TestR3S2LiteralValuesAreRedacted(t *testing.T) {
	t.Parallel()
	text, err := marshal(wireConfig(lineshaft.AgentConfig{MCPServers: map[string]lineshaft.MCPServer{
		"cmd": {Command: "c", Args: []string{"-v"}, Env: map[string]string{"A": "hunter2", "B": "{{TOKEN}}"}},
		"url": {URL: "https://user:hunter2@mcp.test/x?y=1", Headers: map[string]string{"Authorization": "Bearer hunter2"}},
	}}))
	want := `{"mcp_servers":{"cmd":{"command":"c","args":["-v"],"env":{"A":"***","B":"{{TOKEN}}"}},` +
		`"url":{"url":"https://redacted@mcp.test/x?y=1","headers":{"Authorization":"***"}}}}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want\n%s", text, err, want)
	}
}

func TestR3AnswersShowSkillsAndAbsentFieldsStayAbsent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		config lineshaft.AgentConfig
		want   string
	}{
		{lineshaft.AgentConfig{}, `{}`},
		{lineshaft.AgentConfig{Skills: []string{"o/r:a", "o/r:b"}}, `{"skill_spec":"o/r:a","skills":["o/r:a","o/r:b"]}`},
		{lineshaft.AgentConfig{IdleTimeoutMinutes: ptr(0), ComputerUseEnabled: ptr(false)}, `{"idle_timeout_minutes":0,"computer_use_enabled":false}`},
		{lineshaft.AgentConfig{Secrets: []string{"A"}}, `{"secrets":[{"name":"A"}]}`},
		{lineshaft.AgentConfig{Budget: &lineshaft.Budget{MaxCostMicros: 1}}, `{"budget":{"max_cost_usd":0.000001}}`},
		{lineshaft.AgentConfig{Budget: &lineshaft.Budget{MaxTokens: 5}}, `{"budget":{"max_tokens":5}}`},
		{lineshaft.AgentConfig{MaxAttempts: ptr(2)}, `{"retry":{"max_attempts":2}}`},
		{lineshaft.AgentConfig{Concurrency: &lineshaft.Concurrency{Key: "k"}}, `{"concurrency":{"key":"k"}}`},
		{lineshaft.AgentConfig{MCPServers: map[string]lineshaft.MCPServer{"a": {WarpID: "w"}}}, `{"mcp_servers":{"a":{"warp_id":"w"}}}`},
	} {
		if text, err := marshal(wireConfig(tc.config)); err != nil || string(text) != tc.want {
			t.Errorf("%+v: %s, %v", tc.config, text, err)
		}
	}
}

// The configuration that a run shows can be sent with the next request and means the
// same, except redacted values.
func TestR3ConfigSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		opt := func(limit int, name string) *int {
			if !rapid.Bool().Draw(t, "has "+name) {
				return nil
			}
			return ptr(rapid.IntRange(1, limit).Draw(t, name))
		}
		word := rapid.StringMatching(`[a-z]{0,8}`)
		want := lineshaft.AgentConfig{
			Name: word.Draw(t, "name"), ModelID: word.Draw(t, "model"), WorkerHost: rapid.SampledFrom([]string{"", "hosted", "farm"}).Draw(t, "host"),
			IdleTimeoutMinutes: opt(60, "idle"), TimeoutMinutes: opt(100, "timeout"), MaxAttempts: opt(20, "attempts"),
		}
		if rapid.Bool().Draw(t, "has budget") {
			want.Budget = &lineshaft.Budget{MaxTokens: rapid.Int64Range(0, 1<<50).Draw(t, "tokens"), MaxCostMicros: rapid.Int64Range(0, 1e12).Draw(t, "micros")}
		}
		if rapid.Bool().Draw(t, "has harness") {
			want.Harness = &lineshaft.HarnessConfig{Type: rapid.SampledFrom(lineshaft.HarnessTypes()).Draw(t, "harness")}
		}
		if rapid.Bool().Draw(t, "has server") {
			want.MCPServers = map[string]lineshaft.MCPServer{"s": {URL: "https://x.test/", Headers: map[string]string{"K": "{{SECRET}}"}}}
		}
		text, err := marshal(wireConfig(want))
		if err != nil {
			t.Fatal(err)
		}
		var back AmbientAgentConfig
		if err := unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if got, err := back.domain(); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\ngot  %+v, %v\nwant %+v", text, got, err, want)
		}
	})
}
