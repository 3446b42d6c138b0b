// Package acp drives agents that speak the Agent Client Protocol over standard
// input and output: those of the presets, and any other command.
//
// One process serves all turns of an execution. The goroutine that reads its output puts
// everything into one ordered queue, also the end of a turn: the
// turn itself is the only consumer and emits events. An end that comes as the
// answer of a call and one that would come as a notification are therefore the
// same to it, and no end can overtake what was said before it.
//
// The messages and the numbering of calls are the SDK's. Updates do not pass
// through it: it closes the connection when 1024 of them wait, and silently drops those of
// a kind it does not know.
package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// Options are the settings of the harness. The zero value is good.
type Options struct {
	// Policy says who answers the agent's questions in runs that do not say so; one of
	// lineshaft.Policies, default allow: the sandbox confines the agent.
	Policy string
	// StartTime is how long an agent may take to say hello; default two minutes: some
	// take half a minute on a busy machine.
	StartTime time.Duration
	// SessionTime is how long it may take to make or load a session, with the tool
	// servers that it starts for that; default three minutes.
	SessionTime time.Duration
	// CancelTime is how long it may take to end a turn that was interrupted before
	// its process is ended; default five seconds.
	CancelTime time.Duration
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.StartTime, 2 * time.Minute}, {&o.SessionTime, 3 * time.Minute}, {&o.CancelTime, 5 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	return o
}

// Harness opens sessions with agents of the protocol.
type Harness struct {
	options Options
}

var _ harness.Harness = (*Harness)(nil)

// New makes the harness.
func New(options Options) *Harness { return &Harness{options: options.withDefaults()} }

// Name is "acp".
func (h *Harness) Name() string { return "acp" }

// Open starts the agent's program. For an agent of a preset that is not installed it returns
// harness.ErrAbsent, so that another way to run it can be tried.
func (h *Harness) Open(ctx context.Context, env harness.Environment) (harness.Session, error) {
	chosen, err := resolve(env, harness.Policy(env.Job, h.options.Policy))
	if err != nil {
		return nil, err
	}
	s := newSession(ctx, h.options, env, chosen)
	if _, err := s.start(ctx); err != nil {
		s.queue.close()
		return nil, err
	}
	return s, nil
}

// launch is what is started for a run, and how it is spoken to.
type launch struct {
	form form
	// dir is the workspace as the agent sees it.
	dir     string
	command []string
	// agent tells agents apart whose sessions are not each other's. The arguments that
	// a preset adds may differ from one execution to the next.
	agent  string
	env    []string
	policy string
	// model is what the run or the gateway asks for; empty leaves it to the agent.
	model, reasoning string
}

// resolve finds the program and prepares what it needs.
func resolve(env harness.Environment, policy string) (*launch, error) {
	config := lineshaft.HarnessConfig{}
	if env.Job.Config.Harness != nil {
		config = *env.Job.Config.Harness
	}
	l := &launch{dir: directory(env), policy: policy, model: config.ModelID, reasoning: config.ReasoningLevel}
	l.model = cmp.Or(l.model, env.Job.Config.ModelID)
	found, ok, names := findForm(config.Type)
	switch {
	case ok:
		l.form, l.agent = found, found.name+" "+strings.Join(config.Command, " ")
		if err := l.prepare(env); err != nil {
			return nil, err
		}
		if len(config.Command) > 0 {
			l.command = append(config.Command[:len(config.Command):len(config.Command)], l.command[len(found.command):]...)
		}
	case len(config.Command) > 0:
		l.form, l.command = form{name: "acp"}, config.Command
		l.agent = "acp " + strings.Join(config.Command, " ")
	default:
		return nil, lineshaft.Invalid("config.harness.command",
			"an acp agent needs its program: set harness.command, such as [\"my-agent\", \"--acp\"], or harness.type to one of %s", strings.Join(names, ", "))
	}
	return l, nil
}

// directory is the workspace as the agent sees it: the worker names it in a
// variable, which is also its home.
func directory(env harness.Environment) string {
	for _, name := range []string{"LINESHAFT_WORKSPACE=", "HOME="} {
		for _, kv := range env.Env {
			if value, ok := strings.CutPrefix(kv, name); ok && path.IsAbs(value) {
				return value
			}
		}
	}
	return env.Dir
}

// startError says what to install when the program is missing.
func (l *launch) startError(err error) error {
	if !errors.Is(err, sandbox.ErrNotFound) {
		return harness.StartError(harness.Program{Command: l.command}, err)
	}
	hint := "install it on the worker or give its full path in harness.command"
	if l.form.install != "" {
		hint = l.form.install + ", or give the path of the program in harness.command"
	}
	return &lineshaft.Error{
		Code: lineshaft.CodeAgentProcessFailed, Cause: errors.Join(harness.ErrAbsent, err),
		Message: fmt.Sprintf("%q was not found in the sandbox: %s%s", l.command[0], hint, harness.Elsewhere(l.command[0])),
	}
}

// otherMode says how a program is run that does not speak the protocol.
func (l *launch) otherMode() string {
	if _, ok := preset.Find(l.form.name); ok {
		return ` (set harness.mode to "command" to run the agent's own command instead)`
	}
	return ` (set harness.type to "command" to run any program)`
}
