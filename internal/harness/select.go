package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// The harness of a run that does not name one, on a worker that has no other default.
const fallback = "shell"

// Set is what a worker can run.
type Set struct {
	// Harnesses are looked up by their names.
	Harnesses []Harness
	// Default is the name for runs that do not choose; empty means shell.
	Default string
}

// Select finds the harness that a run's configuration asks for. The error is a
// *lineshaft.Error that says what to change.
func (s Set) Select(config lineshaft.AgentConfig) (Harness, error) {
	asked := s.asked(config)
	var found []Harness
	for _, name := range append([]string{asked}, inMode(standsFor(asked), config)...) {
		for _, h := range s.Harnesses {
			if h.Name() == name {
				found = append(found, h)
			}
		}
	}
	switch preset := slices.Contains(standsFor(asked), "acp"); {
	case len(found) == 1 && (!preset || config.Harness != nil && config.Harness.Type != ""):
		return found[0], nil
	case len(found) > 0:
		return firstPresent{found, asked}, nil
	}
	return nil, &lineshaft.Error{
		Code: lineshaft.CodeFeatureNotAvailable, Field: "config.harness.type",
		Message: fmt.Sprintf("this worker cannot run %q agents; it can run %s", asked, s.names()),
	}
}

func (s Set) asked(config lineshaft.AgentConfig) string {
	switch h := config.Harness; {
	case h != nil && h.Type != "":
		return h.Type
	case h != nil && len(h.Command) > 0:
		return "command"
	case s.Default != "":
		return s.Default
	}
	return fallback
}

// ErrAbsent is wrapped by Open when the agent's program is not in the sandbox: a
// harness that runs the same agent in another way may be tried.
var ErrAbsent = errors.New("agent is not installed")

// firstPresent are ways to run one agent, the best first.
type firstPresent struct {
	ways []Harness
	// agent is the word of config.harness.type, which the run may have left to the worker.
	agent string
}

// Name is that of the first.
func (f firstPresent) Name() string { return f.ways[0].Name() }

// Open opens the first whose agent is installed. When none is, the error of the first
// counts: it names what is best to install.
func (f firstPresent) Open(ctx context.Context, env Environment) (Session, error) {
	var config lineshaft.HarnessConfig
	if env.Job.Config.Harness != nil {
		config = *env.Job.Config.Harness
	}
	config.Type = f.agent
	env.Job.Config.Harness = &config
	var first error
	for _, h := range f.ways {
		session, err := h.Open(ctx, env)
		if err == nil {
			return instead(session, first, slices.Concat(config.Command, []string{f.agent})[0]), nil
		}
		if !errors.Is(err, ErrAbsent) {
			return nil, after(first, err)
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// second is a session with a harness that was not the first choice.
type second struct {
	Session
	first   error  // why it was not the first
	program string // of the agent
}

// instead is a session with a second choice, unless the first was possible.
func instead(session Session, first error, program string) Session {
	if first == nil {
		return session
	}
	return second{session, first, program}
}

// Turn says, when this program is also missing, what is best to install.
func (s second) Turn(ctx context.Context, turn lineshaft.Turn, emit Emit) (lineshaft.TurnResult, error) {
	result, err := s.Session.Turn(ctx, turn, emit)
	if !errors.Is(err, sandbox.ErrNotFound) {
		return result, err
	}
	return result, &lineshaft.Error{
		Code: lineshaft.CodeAgentProcessFailed, Cause: errors.Join(s.first, err),
		Message: fmt.Sprintf("%s; its own command %q was not found either%s", message(s.first), s.program, Elsewhere(s.program)),
	}
}

// after adds the reason to an error that the caller can fix.
func after(first, err error) error {
	e, ok := errors.AsType[*lineshaft.Error](err)
	if first == nil || !ok {
		return err
	}
	said := *e
	said.Message = fmt.Sprintf("%s (%s)", e.Message, message(first))
	return &said
}

func message(err error) string {
	if e, ok := errors.AsType[*lineshaft.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// standsFor are the adapters behind a published name, the best first.
func standsFor(name string) []string {
	switch name {
	case "oz":
		return []string{"builtin"}
	case "claude", "codex", "gemini", "opencode", "goose":
		return []string{"acp", "oneshot"}
	}
	return nil
}

// inMode keeps the adapter of an agent that the run asks for.
func inMode(names []string, config lineshaft.AgentConfig) []string {
	if config.Harness == nil || len(names) < 2 {
		return names
	}
	switch config.Harness.Mode {
	case lineshaft.ModeACP:
		return names[:1]
	case lineshaft.ModeCommand:
		return names[1:]
	}
	return names
}

func (s Set) names() string {
	var names []string
	for _, h := range s.Harnesses {
		names = append(names, h.Name())
	}
	if len(names) == 0 {
		return "nothing"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
