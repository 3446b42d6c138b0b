package preset_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const (
	key    = "throw-away-key"
	secret = "s3cret $HOME \"quoted\""
)

// environment has an endpoint for each of the protocols and two tool servers of
// almost the same name.
func environment(t *testing.T, protocols ...model.Protocol) harness.Environment {
	t.Helper()
	env := harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), lineshaft.Job{Config: lineshaft.AgentConfig{
		ModelID: "wide", Harness: &lineshaft.HarnessConfig{ModelID: "narrow", ReasoningLevel: "high"},
	}})
	env.Access = func(p model.Protocol) (harness.Access, bool) {
		return harness.Access{URL: "http://gateway/" + string(p), Key: key, Model: "fake-1"}, slices.Contains(protocols, p)
	}
	env.ToolServers = []harness.ToolServer{
		{Name: "my server", Command: "/bin/tool", Args: []string{"-a"}, Env: []string{"TOKEN=" + secret}},
		{Name: "my.server", URL: "https://tools.example/mcp", Headers: map[string]string{"X-Key": secret}},
	}
	return env
}

func setup(t *testing.T, name string, env harness.Environment, tools bool) preset.Setup {
	t.Helper()
	agent, ok := preset.Find(name)
	if !ok {
		t.Fatalf("no agent %q", name)
	}
	got, err := agent.Setup(env, tools)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func variable(s preset.Setup, name string) string {
	value := ""
	for _, kv := range s.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// files are all that was written for the agent.
func files(t *testing.T, env harness.Environment) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(env.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s: %s\n", path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// No secret is in an argument or a file, and each is in a variable.
func TestS1SecretsAreInVariablesOnly(t *testing.T) {
	t.Parallel()
	for _, agent := range preset.All() {
		t.Run(agent.Name, func(t *testing.T) {
			t.Parallel()
			env := environment(t, agent.Protocols...)
			got := setup(t, agent.Name, env, true)
			for place, text := range map[string]string{"arguments": strings.Join(got.Args, " "), "files": files(t, env)} {
				if strings.Contains(text, "s3cret") || strings.Contains(text, key) {
					t.Errorf("%s hold a secret: %s", place, text)
				}
			}
			if variable(got, "LINESHAFT_MCP_1") != secret || variable(got, "LINESHAFT_MCP_2") != secret {
				t.Errorf("variables %q", got.Env)
			}
			if !slices.ContainsFunc(got.Env, func(kv string) bool { return strings.HasSuffix(kv, "="+key) }) {
				t.Errorf("no variable has the key: %q", got.Env)
			}
			if strings.TrimPrefix(got.Model, "lineshaft/") != "fake-1" {
				t.Errorf("model %q", got.Model)
			}
		})
	}
}

func TestX12ClaudeSetup(t *testing.T) {
	t.Parallel()
	env := environment(t, model.Anthropic)
	got := setup(t, "claude", env, true)
	for name, want := range map[string]string{
		"ANTHROPIC_BASE_URL": "http://gateway/anthropic", "ANTHROPIC_API_KEY": key, "ANTHROPIC_MODEL": "fake-1", "CLAUDE_CODE_EFFORT_LEVEL": "high", "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
		"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "30000",
	} {
		if variable(got, name) != want {
			t.Errorf("%s=%q, want %q", name, variable(got, name), want)
		}
	}
	raw, err := os.ReadFile(got.ToolsFile)
	want := `{"mcpServers":{"my_server":{"args":["-a"],"command":"/bin/tool","env":{"TOKEN":"${LINESHAFT_MCP_1}"},"type":"stdio"},` +
		`"my_server_2":{"headers":{"X-Key":"${LINESHAFT_MCP_2}"},"type":"http","url":"https://tools.example/mcp"}}}`
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v, want %s", raw, err, want)
	}
	if got := setup(t, "claude", env, false); got.ToolsFile != "" || variable(got, "LINESHAFT_MCP_1") != "" {
		t.Errorf("without tools %+v", got)
	}
}

func TestX12CodexSetup(t *testing.T) {
	t.Parallel()
	got := setup(t, "codex", environment(t, model.OpenAI), true)
	want := []string{
		`model_provider="lineshaft"`, `model_providers.lineshaft.name="lineshaft"`, `model_providers.lineshaft.base_url="http://gateway/openai"`,
		`model_providers.lineshaft.env_key="LINESHAFT_MODEL_KEY"`, `model_providers.lineshaft.wire_api="responses"`, `model="fake-1"`,
		`model_reasoning_effort="high"`, `check_for_update_on_startup=false`, `analytics.enabled=false`, `features.plugins=false`,
		`mcp_servers.my_server.env_vars=["LINESHAFT_MCP_1"]`, `mcp_servers.my_server.command="/bin/sh"`,
		`mcp_servers.my_server.args=["-c","export TOKEN=\"$LINESHAFT_MCP_1\"; unset LINESHAFT_MCP_1; exec \"$@\"","sh","/bin/tool","-a"]`,
		`mcp_servers.my_server_2.url="https://tools.example/mcp"`, `mcp_servers.my_server_2.env_http_headers={"X-Key"="LINESHAFT_MCP_2"}`,
	}
	var values []string
	for i, arg := range got.Args {
		if i%2 == 1 {
			values = append(values, arg)
		} else if arg != "-c" {
			t.Errorf("argument %q", arg)
		}
	}
	if !slices.Equal(values, want) {
		t.Errorf("arguments\n%s\nwant\n%s", strings.Join(values, "\n"), strings.Join(want, "\n"))
	}
}

// The settings of an agent's home that are not ours stay; those that are not JSON do not.
func TestX12GeminiSetup(t *testing.T) {
	t.Parallel()
	for _, old := range []string{`{"ui":{"theme":"dark"},"tools":{"shell":{"pager":"less"},"core":["theme"]},"mcpServers":{"old":{}}}`, `// not JSON`} {
		env := environment(t, model.Gemini)
		path := filepath.Join(env.Dir, ".gemini", "settings.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		got := setup(t, "gemini", env, true)
		if variable(got, "GOOGLE_GEMINI_BASE_URL") != "http://gateway/gemini" || variable(got, "GEMINI_MODEL") != "fake-1" {
			t.Errorf("variables %q", got.Env)
		}
		raw, err := os.ReadFile(path)
		text := string(raw)
		if err != nil || !strings.Contains(text, `"selectedType":"gemini-api-key"`) || strings.Contains(text, `"old"`) ||
			!strings.Contains(text, `"my_server":{"args":["-a"],"command":"/bin/tool","env":{"TOKEN":"${LINESHAFT_MCP_1}"},"trust":true}`) {
			t.Errorf("settings %s, %v", text, err)
		}
		if !strings.Contains(text, `"enableInteractiveShell":false`) || strings.Contains(text, `"pager":"less"`) != strings.Contains(old, "pager") || strings.Contains(text, `"core":["theme"]`) != strings.Contains(old, "core") {
			t.Errorf("tools in %s after %s", text, old)
		}
		if strings.Contains(text, `"theme":"dark"`) != strings.Contains(old, "theme") {
			t.Errorf("settings %s after %s", text, old)
		}
	}
}

// An agent may have made a link of its settings; it leads nowhere outside.
func TestX5GeminiSettingsAreNoLink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	env := environment(t, model.Gemini)
	if err := os.Symlink(outside, filepath.Join(env.Dir, ".gemini")); err != nil {
		t.Fatal(err)
	}
	agent, _ := preset.Find("gemini")
	if _, err := agent.Setup(env, true); err == nil {
		t.Error("the link was followed")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside are %v, %v", entries, err)
	}
}

// opencode takes whichever protocol there is.
func TestX12OpencodeSetup(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[model.Protocol][2]string{
		model.OpenAI:    {"@ai-sdk/openai-compatible", "http://gateway/openai"},
		model.Anthropic: {"@ai-sdk/anthropic", "http://gateway/anthropic/v1"},
		model.Gemini:    {"@ai-sdk/google", "http://gateway/gemini/v1beta"},
	} {
		got := setup(t, "opencode", environment(t, protocol), true)
		var config struct {
			Model string `json:"model"`
			Agent map[string]struct {
				Disable bool `json:"disable"`
			} `json:"agent"`
			Provider map[string]struct {
				NPM     string            `json:"npm"`
				Options map[string]string `json:"options"`
				Models  map[string]any    `json:"models"`
			} `json:"provider"`
			MCP map[string]struct {
				Type        string            `json:"type"`
				Command     []string          `json:"command"`
				Environment map[string]string `json:"environment"`
				Headers     map[string]string `json:"headers"`
			} `json:"mcp"`
		}
		if err := json.Unmarshal([]byte(variable(got, "OPENCODE_CONFIG_CONTENT")), &config); err != nil {
			t.Fatal(err)
		}
		p := config.Provider["lineshaft"]
		if config.Model != "lineshaft/fake-1" || p.NPM != want[0] || p.Options["baseURL"] != want[1] || p.Options["apiKey"] != "{env:LINESHAFT_MODEL_KEY}" || p.Models["fake-1"] == nil || !config.Agent["title"].Disable {
			t.Errorf("%s: %+v", protocol, config)
		}
		if s := config.MCP["my_server"]; s.Type != "local" || !slices.Equal(s.Command, []string{"/bin/tool", "-a"}) || s.Environment["TOKEN"] != "{env:LINESHAFT_MCP_1}" {
			t.Errorf("server %+v", s)
		}
		if s := config.MCP["my_server_2"]; s.Type != "remote" || s.Headers["X-Key"] != "{env:LINESHAFT_MCP_2}" {
			t.Errorf("server %+v", s)
		}
	}
}

// Without an endpoint the agent keeps its own way to a model, and gets the name
// that the run asks for.
func TestX12SetupWithoutAccess(t *testing.T) {
	t.Parallel()
	for _, agent := range preset.All() {
		env := environment(t)
		got := setup(t, agent.Name, env, false)
		if got.Model != "narrow" {
			t.Errorf("%s: model %q", agent.Name, got.Model)
		}
		for _, text := range slices.Concat(got.Env, got.Args) {
			if strings.Contains(text, "KEY") || strings.Contains(text, "gateway") {
				t.Errorf("%s: %q", agent.Name, text)
			}
		}
	}
	for name, want := range map[string]string{"claude": "LINESHAFT_ANTHROPIC_API_KEY", "codex": "--secret OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "goose": "OPENAI_API_KEY", "": "as a secret"} {
		if got := preset.KeyHint(name); !strings.Contains(got, want) {
			t.Errorf("%q: %q", name, got)
		}
	}
	if !setup(t, "claude", environment(t), false).Keyless || setup(t, "claude", environment(t, model.Anthropic), false).Keyless {
		t.Error("keyless with an endpoint, or not without")
	}
	if _, ok := preset.Find("nobody"); ok {
		t.Error("an agent that nobody knows was found")
	}
}

func TestX7SetupRefusesBadVariables(t *testing.T) {
	t.Parallel()
	env := environment(t)
	env.ToolServers[0].Env = []string{"A B=1"}
	agent, _ := preset.Find("codex")
	if _, err := agent.Setup(env, true); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || !strings.Contains(err.Error(), "A B") {
		t.Errorf("%v", err)
	}
}
