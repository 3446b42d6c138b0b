package app

import (
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// stocked is a sandbox in which some programs are.
type stocked struct {
	sandbox.Sandbox
	programs []string
}

func (s stocked) Find(program, _ string) (string, error) {
	if slices.Contains(s.programs, program) {
		return "/usr/bin/" + program, nil
	}
	return "", sandbox.ErrNotFound
}

func with(programs ...string) isolation { return isolation{sandbox: stocked{programs: programs}} }

func TestX6AgentsAreLookedFor(t *testing.T) {
	t.Parallel()
	plain, keyed, named, commanded, remote := config.Default(), config.Default(), config.Default(), config.Default(), config.Default()
	keyed.AnthropicAPIKey, named.AnthropicAPIKey, named.Model = "key", "key", "m"
	commanded.AgentCommand = []string{"lineshaft-test-agent", "-x"}
	remote.NoWorker = true
	for name, test := range map[string]struct {
		cfg       config.Config
		isolated  isolation
		harness   string
		available bool
		says      string // nothing when it is empty
	}{
		"shell needs nothing":         {plain, with(), "shell", true, ""},
		"no program":                  {named, with(), "claude", false, "npm install -g @agentclientprotocol/claude-agent-acp"},
		"goose":                       {named, with(), "goose", false, "install goose"},
		"adapter and endpoint":        {named, with("claude-agent-acp"), "claude", true, ""},
		"adapter without an endpoint": {plain, with("codex-acp"), "codex", true, "LINESHAFT_OPENAI_API_KEY"},
		"its own command":             {named, with("claude"), "claude", true, "command mode"},
		"an image":                    {named, isolation{}, "claude", true, "image"},
		"no worker here":              {remote, isolation{}, "opencode", true, "what its workers have"},
		"builtin without an endpoint": {plain, with(), "builtin", false, "LINESHAFT_ANTHROPIC_API_KEY"},
		"builtin without a model":     {keyed, with(), "oz", true, "--model"},
		"builtin":                     {named, with(), "builtin", true, ""},
		"any command":                 {plain, with(), "command", true, "config.harness.command"},
		"a command":                   {commanded, with("lineshaft-test-agent"), "command", true, ""},
		"a command that is not there": {commanded, with(), "command", false, "lineshaft-test-agent"},
		"any agent":                   {plain, with(), "acp", true, "config.harness.command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lookForAgents(test.cfg, Options{}, test.isolated).look(test.harness)
			if got.available != test.available || (got.missing == "") != (test.says == "") || !strings.Contains(got.missing, test.says) {
				t.Errorf("%+v", got)
			}
			a := &App{cfg: test.cfg, isolated: test.isolated}
			for _, h := range a.models(t.Context()).Harnesses {
				if string(h.Type) == test.harness && (h.Available != got.available || h.Problem != got.missing) {
					t.Errorf("the API says %+v", h)
				}
			}
		})
	}
}

func TestX6DoctorLooksAtAgents(t *testing.T) {
	t.Parallel()
	set := func(harness, key, model string, command ...string) config.Config {
		cfg := config.Default()
		cfg.DefaultHarness, cfg.Model, cfg.AgentCommand = harness, model, command
		if key != "" {
			cfg.OpenAIAPIKey = "key"
		}
		return cfg
	}
	for name, test := range map[string]struct {
		cfg      config.Config
		isolated isolation
		state    config.CheckState
		says     string
	}{
		"nothing set up":              {set("", "", ""), with(), config.CheckOK, "get shell"},
		"builtin works":               {set("", "key", "m"), with(), config.CheckOK, "get builtin"},
		"no model":                    {set("", "key", ""), with(), config.CheckWarning, "get shell"},
		"builtin without a model":     {set("builtin", "key", ""), with(), config.CheckProblem, "no default model"},
		"builtin without an endpoint": {set("oz", "", ""), with(), config.CheckProblem, "endpoint"},
		"claude is not there":         {set("claude", "", ""), with(), config.CheckProblem, "npm install"},
		"codex has no endpoint":       {set("codex", "", ""), with("codex-acp"), config.CheckWarning, "OpenAI endpoint"},
		"codex":                       {set("codex", "key", "m"), with("codex-acp"), config.CheckOK, "get codex"},
		"command without a program":   {set("command", "", ""), with(), config.CheckProblem, "--agent-command"},
		"command":                     {set("", "", "", "lineshaft-test-agent"), with("lineshaft-test-agent"), config.CheckOK, "get command"},
		"acp names no program":        {set("acp", "", ""), with(), config.CheckProblem, "config.harness.command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := checkHarness(test.cfg, Options{}, test.isolated)
			if got.State != test.state || !strings.Contains(got.Detail, test.says) || (got.Fix == "") != (test.state == config.CheckOK) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The first thing that people read says when the built-in agent waits for a name.
func TestX6BannerWarnsWithoutAModel(t *testing.T) {
	t.Parallel()
	a := &App{cfg: config.Default()}
	if got := a.unnamedModel(); got != "" {
		t.Errorf("no endpoint: %s", got)
	}
	a.cfg.OpenAIAPIKey = "key"
	if got := a.unnamedModel(); !strings.Contains(got, "--model NAME") {
		t.Errorf("no model: %q", got)
	}
	a.cfg.NoWorker = true
	if got := a.unnamedModel(); got != "" {
		t.Errorf("no worker: %s", got)
	}
	a.cfg.NoWorker, a.cfg.Model = false, "m"
	if got := a.unnamedModel() + a.idleModel(); got != "" {
		t.Errorf("a model: %s", got)
	}
	a.cfg.OpenAIAPIKey = ""
	if got := a.idleModel(); !strings.Contains(got, `"m" is not used: there is no endpoint`) {
		t.Errorf("a model without an endpoint: %q", got)
	}
}
