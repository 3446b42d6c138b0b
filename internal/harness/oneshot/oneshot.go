// Package oneshot drives the command-line agents claude, codex, gemini and
// opencode in their one-shot modes, which print JSON lines: one start of the
// program for each turn, and one session of the agent over all of them. It is for
// workers that have the agent but no version of it that speaks the Agent Client
// Protocol, and for runs that ask for it with config.harness.mode.
package oneshot

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
)

// Options are the settings of the harness. The zero value is good.
type Options struct {
	// Policy is for permissions of runs that choose none; empty is allow.
	Policy string
}

// Harness opens sessions with the agents.
type Harness struct{ options Options }

var _ harness.Harness = Harness{}

// tongue is how one agent is talked to.
type tongue struct {
	// before are the arguments before those of the preset.
	before []string
	// args are the arguments after those of the preset. session is the one to
	// continue, or empty for a new one.
	args func(setup preset.Setup, session string) []string
	// line takes one line of output and says whether it was understood.
	line func(t *turn, kind string, raw []byte) bool
	// endless says that no line marks the end of a turn: the end of the program does.
	endless bool
}

// New makes the harness.
func New(options Options) Harness { return Harness{options} }

// Name is "oneshot".
func (Harness) Name() string { return "oneshot" }

// Open makes a session with the agent that the run names. Nothing runs between turns.
func (h Harness) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	config := lineshaft.HarnessConfig{}
	if env.Job.Config.Harness != nil {
		config = *env.Job.Config.Harness
	}
	talk, ok := map[string]tongue{"claude": claude(), "codex": codex(), "gemini": gemini(), "opencode": opencode()}[config.Type]
	agent, known := preset.Find(config.Type)
	if !ok || !known {
		return nil, &lineshaft.Error{
			Code: lineshaft.CodeFeatureNotAvailable, Field: "config.harness.type", Cause: harness.ErrAbsent,
			Message: fmt.Sprintf("%q cannot be run with its own command; set harness.type to claude, codex, gemini or opencode", config.Type),
		}
	}
	if p := harness.Policy(env.Job, h.options.Policy); p != lineshaft.PermissionsAllow {
		return nil, &lineshaft.Error{
			Code: lineshaft.CodeFeatureNotAvailable, Field: "config.harness.permissions",
			Message: fmt.Sprintf("%s in command mode cannot ask for permission, so %q cannot hold; install what makes it speak the Agent Client Protocol, or set harness.permissions to allow", config.Type, p),
		}
	}
	program := []string{agent.Program}
	if len(config.Command) > 0 {
		program = config.Command
	}
	return &session{env: env, agent: agent, tongue: talk, program: program}, nil
}
