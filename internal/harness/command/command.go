// Package command is the harness for any program: it gets the prompt as a
// file, on standard input and, up to 96 KiB, in a variable; what it prints
// becomes output events and its exit code decides. Each turn is one start of the
// program. It knows no protocol: agents that speak one have their own harness.
package command

import (
	"context"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

const (
	// maxVariable is the longest prompt that is also given in a variable: the kernel
	// takes strings of at most 128 KiB.
	maxVariable = 96 << 10

	fileVariable   = "LINESHAFT_PROMPT_FILE"
	promptVariable = "LINESHAFT_PROMPT"
	promptFile     = "prompt.md"
)

// Command is the harness.
type Command struct {
	// program is for runs that do not name their own.
	program []string
}

var _ harness.Harness = (*Command)(nil)

// New makes the harness. The program, with its arguments, is used for runs whose
// configuration names none; it may be empty.
func New(program []string) *Command { return &Command{program: slices.Clone(program)} }

// Name is "command".
func (c *Command) Name() string { return "command" }

// Open makes a session. Nothing runs between turns.
func (c *Command) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	program := c.program
	if h := env.Job.Config.Harness; h != nil && len(h.Command) > 0 {
		program = h.Command
	}
	if len(program) == 0 || program[0] == "" {
		return nil, lineshaft.Invalid("config.harness.command", "no program is named: give it with its arguments in config.harness.command of the run or its agent, such as [\"my-agent\", \"--print\"], or to all runs of the worker with --agent-command")
	}
	return &session{env: env, program: program}, nil
}

type session struct {
	env     harness.Environment
	program []string
}

// Close has nothing to end.
func (s *session) Close(context.Context) error { return nil }

// recall is the prompt of a run that continues the conversation of others: a program has
// no session of it, so the transcript is in a file.
func (s *session) recall(ctx context.Context, prompt string, emit harness.Emit) string {
	text, notice := s.env.Recall(ctx, prompt)
	emit(lineshaft.NewDraft(lineshaft.EventNotice, s.env.Now(), lineshaft.NoticeData{Level: "info", Text: notice}))
	return text
}

// Turn starts the program with one message.
func (s *session) Turn(ctx context.Context, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	prompt := s.env.Prompt(turn)
	if s.env.Job.Continues != nil && turn.FollowupID == "" {
		prompt = s.recall(ctx, prompt, emit)
	}
	file, err := s.env.WriteFile(promptFile, prompt)
	if err != nil {
		return lineshaft.TurnResult{}, err
	}
	variables := []string{fileVariable + "=" + file}
	if len(prompt) <= maxVariable && !strings.Contains(prompt, "\x00") {
		variables = append(variables, promptVariable+"="+prompt)
	}
	output := s.env.NewOutput(emit, "")
	exit, err := s.env.Run(ctx, harness.Program{
		Command: s.program, Env: variables, Stdin: strings.NewReader(prompt),
		Stdout: output.Stdout(), Stderr: output.Stderr(),
	})
	output.Close()
	switch {
	case err != nil:
		return lineshaft.TurnResult{}, err
	case ctx.Err() != nil:
		return lineshaft.TurnResult{}, context.Cause(ctx)
	case !harness.Good(exit):
		return lineshaft.TurnResult{
			State: lineshaft.Failed, Code: lineshaft.CodeAgentProcessFailed, Message: harness.Describe(s.program[0], exit),
		}, nil
	}
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}
