package harness_test

import (
	"context"
	"errors"
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
		{"no protocol", harness.Set{Harnesses: usual}, &lineshaft.HarnessConfig{Type: "claude"}, "", []string{`"claude"`, "not part of this version", "harness.command", "command, shell"}},
		{"no built-in agent", harness.Set{Harnesses: usual}, &lineshaft.HarnessConfig{Type: "oz"}, "", []string{"not part of this version"}},
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
