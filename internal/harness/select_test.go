package harness_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

type named string

func (n named) Name() string { return string(n) }

func (n named) Open(context.Context, harness.Environment) (harness.Session, error) {
	return nil, errors.New("not opened here")
}

func TestX6Select(t *testing.T) {
	t.Parallel()
	usual := []harness.Harness{named("command"), named("shell")}
	all := append([]harness.Harness{named("acp"), named("builtin"), named("codex")}, usual...)
	tests := []struct {
		name   string
		set    harness.Set
		config *lineshaft.HarnessConfig
		want   string
		says   []string
	}{
		{"nothing said", harness.Set{Harnesses: usual}, nil, "shell", nil},
		{"default of the worker", harness.Set{Harnesses: usual, Default: "command"}, nil, "command", nil},
		{"empty type", harness.Set{Harnesses: usual}, &lineshaft.HarnessConfig{}, "shell", nil},
		{"a command", harness.Set{Harnesses: usual}, &lineshaft.HarnessConfig{Command: []string{"x"}}, "command", nil},
		{"by type", harness.Set{Harnesses: usual, Default: "shell"}, &lineshaft.HarnessConfig{Type: "command"}, "command", nil},
		{"alias", harness.Set{Harnesses: all}, &lineshaft.HarnessConfig{Type: "oz"}, "builtin", nil},
		{"preset", harness.Set{Harnesses: all}, &lineshaft.HarnessConfig{Type: "claude"}, "acp", nil},
		{"own adapter before the preset", harness.Set{Harnesses: all}, &lineshaft.HarnessConfig{Type: "codex"}, "codex", nil},
		{"no protocol", harness.Set{Harnesses: usual}, &lineshaft.HarnessConfig{Type: "claude"}, "", []string{`"claude"`, "it can run command, shell"}},
		{"no built-in agent", harness.Set{Harnesses: usual}, &lineshaft.HarnessConfig{Type: "oz"}, "", []string{`"oz"`, "it can run command, shell"}},
		{"nothing at all", harness.Set{}, nil, "", []string{"it can run nothing"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := test.set.Select(lineshaft.AgentConfig{Harness: test.config})
			if test.want != "" {
				if err != nil || got.Name() != test.want {
					t.Errorf("got %v, %v, want %s", got, err, test.want)
				}
				return
			}
			if lineshaft.CodeOf(err) != lineshaft.CodeFeatureNotAvailable {
				t.Fatalf("error %v", err)
			}
			for _, word := range test.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
		})
	}
}

func TestX7Prompt(t *testing.T) {
	t.Parallel()
	env := harness.Environment{Job: lineshaft.Job{Config: lineshaft.AgentConfig{BasePrompt: "Be brief."}}}
	if got := env.Prompt(lineshaft.Turn{Message: "hello"}); got != "Be brief.\n\nhello" {
		t.Errorf("prompt %q", got)
	}
	if got := env.Prompt(lineshaft.Turn{Message: "and then?", FollowupID: "f"}); got != "and then?" {
		t.Errorf("follow-up %q", got)
	}
	if got := (harness.Environment{}).Prompt(lineshaft.Turn{Message: "hello"}); got != "hello" {
		t.Errorf("prompt without a base %q", got)
	}
	env.Job.Skills = []lineshaft.Skill{{Body: "Fix $0."}}
	if got := env.Prompt(lineshaft.Turn{Message: "bug"}); got != "Be brief.\n\nFix bug." {
		t.Errorf("prompt of a skill %q", got)
	}
	if got := env.Prompt(lineshaft.Turn{Message: "bug", FollowupID: "f"}); got != "bug" {
		t.Errorf("follow-up after a skill %q", got)
	}
}

func TestX6Describe(t *testing.T) {
	t.Parallel()
	tests := map[string]sandbox.Exit{
		"sh exited with code 7":                             {Code: 7},
		"sh was ended by SIGKILL":                           {Code: 137, Signal: "SIGKILL"},
		"sh used more memory than this worker allows":       {Code: 137, Signal: "SIGKILL", Reason: sandbox.ReasonMemory},
		"sh took more disk space than this worker allows":   {Code: 137, Signal: "SIGKILL", Reason: sandbox.ReasonDisk},
		"sh started more processes than this worker allows": {Reason: sandbox.ReasonProcesses},
	}
	for want, exit := range tests {
		if got := harness.Describe("sh", exit); got != want {
			t.Errorf("%+v: %q, want %q", exit, got, want)
		}
		if harness.Good(exit) {
			t.Errorf("%+v is good", exit)
		}
	}
	if !harness.Good(sandbox.Exit{}) {
		t.Error("an ordinary end is not good")
	}
}

// way is a harness whose agent may be missing.
type way struct {
	named
	err    error
	opened *[]string
}

func (w way) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	*w.opened = append(*w.opened, string(w.named)+":"+env.Job.Config.Harness.Type)
	return nil, w.err
}

// A run can ask for one of the ways.
func TestX6SelectMode(t *testing.T) {
	t.Parallel()
	set := harness.Set{Harnesses: []harness.Harness{named("acp"), named("oneshot")}}
	for mode, want := range map[string]string{lineshaft.ModeACP: "acp", lineshaft.ModeCommand: "oneshot", "": "acp"} {
		h, err := set.Select(lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "claude", Mode: mode}})
		if err != nil || h.Name() != want {
			t.Errorf("mode %q: %v, %v", mode, h, err)
		}
	}
}

// An agent that is not installed for one adapter is run by the next that can.
func TestX6SelectFallsBack(t *testing.T) {
	t.Parallel()
	absent := &lineshaft.Error{Code: lineshaft.CodeAgentProcessFailed, Message: "install it", Cause: harness.ErrAbsent}
	broken := errors.New("broken")
	tests := []struct {
		name         string
		acp, oneshot error
		opened       string
		want         error
	}{
		{"the first is there", nil, absent, "acp:gemini", nil},
		{"the second is there", absent, nil, "acp:gemini oneshot:gemini", nil},
		{"neither is there", absent, &lineshaft.Error{Message: "other", Cause: harness.ErrAbsent}, "acp:gemini oneshot:gemini", absent},
		{"the first is there and broken", broken, nil, "acp:gemini", broken},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var opened []string
			set := harness.Set{Harnesses: []harness.Harness{
				way{"oneshot", test.oneshot, &opened}, way{"acp", test.acp, &opened},
			}}
			h, err := set.Select(lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "gemini"}})
			if err != nil || h.Name() != "acp" {
				t.Fatalf("selected %v, %v", h, err)
			}
			if _, err := h.Open(t.Context(), harness.Environment{}); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if got := strings.Join(opened, " "); got != test.opened {
				t.Errorf("opened %s, want %s", got, test.opened)
			}
		})
	}
}

// An agent that the worker chooses is passed to its adapter like one of the run's.
func TestX6SelectDefaultAgent(t *testing.T) {
	t.Parallel()
	var opened []string
	set := harness.Set{Harnesses: []harness.Harness{way{"acp", nil, &opened}}, Default: "codex"}
	for _, config := range []*lineshaft.HarnessConfig{nil, {ModelID: "m"}, {Type: "claude"}} {
		h, err := set.Select(lineshaft.AgentConfig{Harness: config})
		if err != nil || h.Name() != "acp" {
			t.Fatalf("selected %v, %v", h, err)
		}
		if _, err := h.Open(t.Context(), harness.Environment{Job: lineshaft.Job{Config: lineshaft.AgentConfig{Harness: config}}}); err != nil {
			t.Error(err)
		}
		if config != nil && config.ModelID != "" && config.Type != "" {
			t.Error("the configuration of the run was changed")
		}
	}
	if got := strings.Join(opened, " "); got != "acp:codex acp:codex acp:claude" {
		t.Errorf("opened %s", got)
	}
}

// lost is an adapter that finds out in a turn that its program is not there.
type lost struct{ harness.Session }

func (lost) Name() string { return "oneshot" }

func (l lost) Open(context.Context, harness.Environment) (harness.Session, error) { return l, nil }

func (lost) Turn(context.Context, lineshaft.Turn, harness.Emit) (lineshaft.TurnResult, error) {
	return lineshaft.TurnResult{}, harness.StartError(harness.Program{Command: []string{"lineshaft-test-agent"}}, sandbox.ErrNotFound)
}

// An agent that is not installed in any way is reported with the command that installs it.
func TestX6SelectNothingInstalled(t *testing.T) {
	t.Parallel()
	var opened []string
	absent := &lineshaft.Error{Code: lineshaft.CodeAgentProcessFailed, Message: "npm install it", Cause: harness.ErrAbsent}
	set := harness.Set{Harnesses: []harness.Harness{way{"acp", absent, &opened}, lost{}}}
	h, err := set.Select(lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "claude"}})
	if err != nil {
		t.Fatal(err)
	}
	env := harness.Environment{Job: lineshaft.Job{Config: lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "claude", Command: []string{"lineshaft-test-agent"}}}}}
	session, err := h.Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.Turn(t.Context(), lineshaft.Turn{}, nil)
	if lineshaft.CodeOf(err) != lineshaft.CodeAgentProcessFailed || err.Error() != `agent_process_failed: npm install it; its own command "lineshaft-test-agent" was not found either` {
		t.Errorf("error %v", err)
	}
	// What the other way refuses comes with the reason why it was tried.
	refused := &lineshaft.Error{Code: lineshaft.CodeFeatureNotAvailable, Message: "cannot ask"}
	set.Harnesses[1] = way{"oneshot", refused, &opened}
	if h, err = set.Select(env.Job.Config); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(t.Context(), env); lineshaft.CodeOf(err) != lineshaft.CodeFeatureNotAvailable || err.Error() != "feature_not_available: cannot ask (npm install it)" {
		t.Errorf("error %v", err)
	}
}

// A program that only the worker finds is reported with its place. It sets PATH, so it is
// not parallel.
func TestX6ProgramElsewhere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lineshaft-test-agent"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	program := harness.Program{Command: []string{"lineshaft-test-agent"}}
	if err := harness.StartError(program, sandbox.ErrNotFound); strings.Contains(err.Error(), "--agent-path") {
		t.Errorf("nowhere: %v", err)
	}
	t.Setenv("PATH", dir)
	if err := harness.StartError(program, sandbox.ErrNotFound); !strings.Contains(err.Error(), dir+"/lineshaft-test-agent") || !strings.Contains(err.Error(), "--agent-path") {
		t.Errorf("elsewhere: %v", err)
	}
	if got := harness.Elsewhere(dir + "/lineshaft-test-agent"); got != "" {
		t.Errorf("a path: %s", got)
	}
}
