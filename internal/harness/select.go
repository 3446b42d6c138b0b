package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
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
	for _, name := range append([]string{asked}, standsFor(asked)...) {
		for _, h := range s.Harnesses {
			if h.Name() == name {
				return h, nil
			}
		}
	}
	return nil, &lineshaft.Error{
		Code: lineshaft.CodeFeatureNotAvailable, Field: "config.harness.type",
		Message: fmt.Sprintf("this worker cannot run %q agents: %s; it can run %s", asked, missing(asked), s.names()),
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

// standsFor is the adapter behind a published name.
func standsFor(name string) []string {
	switch name {
	case "oz":
		return []string{"builtin"}
	case "claude", "codex", "gemini", "opencode", "goose":
		return []string{"acp"}
	}
	return nil
}

func missing(name string) string {
	switch name {
	case "builtin", "oz":
		return "the built-in agent is not part of this version"
	case "acp", "claude", "codex", "gemini", "opencode", "goose":
		return "the Agent Client Protocol is not part of this version; set harness.type to command and harness.command to the agent's program"
	}
	return "it is not set up"
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
