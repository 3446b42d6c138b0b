// Package shell is the harness that needs no model: it runs the fenced sh and
// bash blocks of a prompt, in order, each as a tool call, and stops at the first
// that fails. It is the default of a server on which nothing else is set
// up, and serves tests and demonstrations. It does not interpret the text
// around the blocks.
package shell

import (
	"context"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

const (
	category = "command"
	tool     = "run_command"
)

// Shell is the harness.
type Shell struct{}

var _ harness.Harness = Shell{}

// Name is "shell".
func (Shell) Name() string { return "shell" }

// Open makes a session. Nothing runs between turns.
func (Shell) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	return &session{env: env}, nil
}

type session struct {
	env   harness.Environment
	calls int
}

// Close has nothing to end.
func (s *session) Close(context.Context) error { return nil }

// Turn runs the blocks of one message.
func (s *session) Turn(ctx context.Context, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	blocks := Blocks(s.env.Prompt(turn))
	if len(blocks) == 0 {
		return lineshaft.TurnResult{
			State: lineshaft.Failed, Code: lineshaft.CodeInvalidRequest,
			Message: "the shell harness found nothing to run: it runs blocks that begin with ```sh, and this prompt has none. " +
				"Add one, choose an agent that reads prompts, or set up a model for this server (docs/models.md)",
		}, nil
	}
	for i, block := range blocks {
		ok, message, err := s.run(ctx, block, emit)
		switch {
		case err != nil:
			return lineshaft.TurnResult{}, err
		case ctx.Err() != nil:
			return lineshaft.TurnResult{}, context.Cause(ctx)
		case !ok:
			return lineshaft.TurnResult{
				State: lineshaft.Failed, Code: lineshaft.CodeAgentProcessFailed,
				Message: fmt.Sprintf("block %d of %d: %s", i+1, len(blocks), message),
			}, nil
		}
	}
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}

// run does one block. The message says how it ended if it was not good.
func (s *session) run(ctx context.Context, block Block, emit harness.Emit) (ok bool, message string, err error) {
	s.calls++
	// The number of the execution keeps the ids of one run apart.
	id := fmt.Sprintf("shell-%d-%d", s.env.Job.Number, s.calls)
	s.event(emit, lineshaft.EventToolCall, lineshaft.ToolCallData{
		ID: id, Category: category, Name: tool,
		Input: map[string]any{"command": s.env.Mask().String(strings.TrimSuffix(block.Script, "\n")), "program": block.Program},
	})
	result := lineshaft.ToolResultData{ID: id, Category: category, Name: tool, State: lineshaft.ToolFailed, Output: map[string]any{}}
	defer func() { s.event(emit, lineshaft.EventToolResult, result) }()

	// A file, because arguments are short and everyone can read them, and
	// because standard input belongs to the commands.
	script, err := s.env.WriteFile("block.sh", block.Script)
	if err != nil {
		return false, "", err
	}
	output := s.env.NewOutput(emit, id)
	exit, err := s.env.Run(ctx, harness.Program{
		Command: []string{block.Program, script}, Stdout: output.Stdout(), Stderr: output.Stderr(),
	})
	output.Close()
	if err != nil {
		return false, "", err
	}
	result.Output["exit_code"] = exit.Code
	if harness.Good(exit) {
		result.State = lineshaft.ToolCompleted
		return true, "", nil
	}
	message = harness.Describe(block.Program, exit)
	result.Output["error"] = message
	return false, message, nil
}

func (s *session) event(emit harness.Emit, kind lineshaft.EventType, data any) {
	emit(lineshaft.NewDraft(kind, s.env.Now(), data))
}
