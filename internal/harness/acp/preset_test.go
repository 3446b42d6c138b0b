package acp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const throwAway = "throw-away-key"

// resolved is what a run of a preset is started with, on a worker that has
// endpoints for the protocols.
func resolved(t *testing.T, config lineshaft.HarnessConfig, policy string, protocols ...model.Protocol) *launch {
	t.Helper()
	env := harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), lineshaft.Job{Config: lineshaft.AgentConfig{Harness: &config}})
	env.Access = func(p model.Protocol) (harness.Access, bool) {
		if !slices.Contains(protocols, p) {
			return harness.Access{}, false
		}
		return harness.Access{URL: "http://127.0.0.1:9/" + string(p) + "/v1", Key: throwAway, Model: "m-1"}, true
	}
	l, err := resolve(env, policy)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *launch) variable(name string) string {
	for _, kv := range l.env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func TestX6ACPPresets(t *testing.T) {
	t.Parallel()
	all := []model.Protocol{model.Anthropic, model.OpenAI, model.Gemini}
	tests := []struct {
		name, program string
		want          map[string]string
	}{
		{"claude", "claude-agent-acp", map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:9/anthropic/v1", "ANTHROPIC_API_KEY": throwAway, "ANTHROPIC_MODEL": "m-1", "DISABLE_AUTOUPDATER": "1"}},
		{"codex", "codex-acp", map[string]string{"LINESHAFT_MODEL_KEY": throwAway, "CODEX_HOME": ""}},
		{"gemini", "gemini --acp", map[string]string{"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9/gemini/v1", "GEMINI_API_KEY": throwAway, "GEMINI_MODEL": "m-1"}},
		{"opencode", "opencode acp", map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"}},
		{"goose", "goose acp", map[string]string{"GOOSE_PROVIDER": "openai", "OPENAI_HOST": "http://127.0.0.1:9", "OPENAI_BASE_PATH": "openai/v1/chat/completions", "OPENAI_API_KEY": throwAway, "GOOSE_MODEL": "m-1", "GOOSE_MODE": "auto"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := resolved(t, lineshaft.HarnessConfig{Type: test.name}, lineshaft.PermissionsAllow, all...)
			if got := strings.Join(l.command, " "); !strings.HasPrefix(got, test.program) || strings.Contains(got, throwAway) {
				t.Errorf("command %s", got)
			}
			for name, want := range test.want {
				if got := l.variable(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			own := resolved(t, lineshaft.HarnessConfig{Type: test.name, Command: []string{"/opt/agent", "-x"}}, lineshaft.PermissionsAllow)
			if got := strings.Join(own.command, " "); !strings.HasPrefix(got, "/opt/agent -x") {
				t.Errorf("own program: %s", got)
			}
			for _, kv := range own.env {
				if strings.Contains(kv, "127.0.0.1") || strings.Contains(kv, throwAway) {
					t.Errorf("without an endpoint: %s", kv)
				}
			}
		})
	}
}

// Both programs of the name codex-acp learn the settings, each in its way.
func TestX6ACPCodexSettings(t *testing.T) {
	t.Parallel()
	l := resolved(t, lineshaft.HarnessConfig{Type: "codex", ReasoningLevel: "high"}, lineshaft.PermissionsAllow, model.OpenAI)
	var config struct {
		Model     string `json:"model"`
		Effort    string `json:"model_reasoning_effort"`
		Provider  string `json:"model_provider"`
		Providers map[string]struct {
			URL string `json:"base_url"`
			Key string `json:"env_key"`
		} `json:"model_providers"`
	}
	if err := json.Unmarshal([]byte(l.variable("CODEX_CONFIG")), &config); err != nil {
		t.Fatal(err)
	}
	provider := config.Providers[config.Provider]
	if config.Model != "m-1" || config.Effort != "high" || provider.URL != "http://127.0.0.1:9/openai/v1" || l.variable(provider.Key) != throwAway {
		t.Errorf("configuration %+v", config)
	}
	if got := strings.Join(l.command, " "); !strings.Contains(got, `-c model="m-1"`) {
		t.Errorf("command %s", got)
	}
	if strings.Contains(l.agent, "127.0.0.1") {
		t.Errorf("a session would be lost with the port of the gateway: %s", l.agent)
	}
}

// Agents are made to ask when not everything is allowed.
func TestX6ACPPresetsAsk(t *testing.T) {
	t.Parallel()
	for _, policy := range lineshaft.Policies() {
		asks := policy != lineshaft.PermissionsAllow
		opencode := resolved(t, lineshaft.HarnessConfig{Type: "opencode"}, policy, model.Anthropic).variable("OPENCODE_CONFIG_CONTENT")
		if strings.Contains(opencode, `"*":"ask"`) != asks || !strings.Contains(opencode, `"lineshaft/m-1"`) {
			t.Errorf("%s: opencode %s", policy, opencode)
		}
		if mode := resolved(t, lineshaft.HarnessConfig{Type: "goose"}, policy, model.Anthropic).variable("GOOSE_MODE"); (mode == "approve") != asks {
			t.Errorf("%s: goose %s", policy, mode)
		}
		codex := resolved(t, lineshaft.HarnessConfig{Type: "codex"}, policy, model.OpenAI)
		if full := slices.Contains(codex.form.modes[policy], "full-access"); full == asks {
			t.Errorf("%s: codex %v", policy, codex.form.modes[policy])
		}
	}
}

// Every word of the API that means an agent of the protocol is known.
func TestX6ACPWords(t *testing.T) {
	t.Parallel()
	_, _, names := findForm("")
	for _, name := range names {
		if !slices.Contains(lineshaft.HarnessTypes(), name) {
			t.Errorf("%s is no harness type", name)
		}
	}
	for _, name := range lineshaft.HarnessTypes() {
		switch name {
		case "shell", "command", "builtin", "oz", "acp":
		default:
			if !slices.Contains(names, name) {
				t.Errorf("%s is not known", name)
			}
		}
	}
}

// Only one agent has to wait, and not when the minute is over.
func TestR6ACPMinute(t *testing.T) {
	t.Parallel()
	s, _, turn := bare(t)
	defer turn.close()
	s.since = s.env.Now()
	if err := s.awaitMinute(t.Context()); err != nil {
		t.Error(err)
	}
	s.launch.form.minuteFiles = true
	s.since = s.env.Now().Add(-2 * 60e9)
	if err := s.awaitMinute(t.Context()); err != nil || len(s.queue.items) > 0 {
		t.Errorf("%v, %d notices", err, len(s.queue.items))
	}
}
