package oneshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// linger is how long a program may take to end after it has said that the turn
// has ended.
const linger = 10 * time.Second

type session struct {
	env   harness.Environment
	agent preset.Agent
	tongue
	program []string
	state   state
	turns   int
}

// Close has nothing to end.
func (s *session) Close(context.Context) error { return nil }

// Turn starts the agent with one message.
func (s *session) Turn(ctx context.Context, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	setup, err := s.agent.Setup(s.env, true)
	if err != nil {
		return lineshaft.TurnResult{}, err
	}
	if h := s.env.Job.Config.Harness; h.ReasoningLevel != "" && !s.agent.Reasons && s.turns == 0 {
		s.event(emit, lineshaft.EventNotice, lineshaft.NoticeData{Level: "info", Text: "Reasoning level " + h.ReasoningLevel + " is not used: " + s.agent.Name + " has no setting for it."})
	}
	prompt := s.env.Prompt(turn)
	earlier := s.earlier()
	if earlier == "" && s.turns == 0 && s.env.Continues() {
		prompt = s.recall(ctx, prompt, emit)
	}
	result, began, err := s.run(ctx, setup, earlier, prompt, emit)
	if earlier == "" || began || err != nil || ctx.Err() != nil || result.State == lineshaft.Succeeded {
		return s.ended(ctx, result, err)
	}
	// The agent has said nothing: the session to continue does not exist.
	s.event(emit, lineshaft.EventNotice, lineshaft.NoticeData{
		Level: "warning",
		Text:  s.env.Mask().String("The agent could not continue its earlier session (" + result.Message + ")."),
	})
	result, _, err = s.run(ctx, setup, "", s.recall(ctx, prompt, emit), emit)
	return s.ended(ctx, result, err)
}

// recall is the prompt of a session that begins in the middle of a conversation.
func (s *session) recall(ctx context.Context, prompt string, emit harness.Emit) string {
	text, notice := s.env.Recall(ctx, prompt)
	s.event(emit, lineshaft.EventNotice, lineshaft.NoticeData{Level: "info", Text: notice})
	return text
}

func (s *session) ended(ctx context.Context, result lineshaft.TurnResult, err error) (lineshaft.TurnResult, error) {
	switch {
	case err != nil:
		return lineshaft.TurnResult{}, err
	case ctx.Err() != nil:
		return lineshaft.TurnResult{}, context.Cause(ctx)
	}
	return result, nil
}

// run starts the program once. began says that the agent has reported anything.
func (s *session) run(ctx context.Context, setup preset.Setup, earlier, prompt string, emit harness.Emit) (result lineshaft.TurnResult, began bool, err error) {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := newTurn(s, emit)
	t.model = setup.Model
	if earlier == "" {
		s.state = state{}
	}
	t.over = func() {
		timer := time.AfterFunc(linger, func() { stop(errLingers) })
		context.AfterFunc(inner, func() { timer.Stop() })
	}
	t.output = s.env.NewOutput(emit, "")
	exit, err := s.env.Run(inner, harness.Program{
		Command: slices.Concat(s.program, s.before, setup.Args, s.args(setup, earlier)),
		Env:     setup.Env, Stdin: strings.NewReader(prompt), Stdout: t, Stderr: tail{t.output.Stderr(), &t.stderr},
	})
	t.finish()
	t.output.Close()
	if err != nil {
		return lineshaft.TurnResult{}, t.began, err
	}
	result = t.result(exit, errors.Is(context.Cause(inner), errLingers))
	if setup.Keyless && result.State == lineshaft.Failed && asksForKey.MatchString(result.Message) {
		result.Message += ": " + preset.KeyHint(s.agent.Name)
	}
	return result, t.began, nil
}

// asksForKey finds the words of agents that have no key for their model.
var asksForKey = regexp.MustCompile(`(?i)\bnot logged in\b|\bplease log ?in\b|/login\b|\b(un)?authenticat|\bunauthori[sz]ed\b|\bapi[ _-]?key\b|\bcredentials?\b`)

var errLingers = errors.New("the program did not leave after its turn")

// result is what the turn and the program's end say together.
func (t *turn) result(exit sandbox.Exit, lingered bool) lineshaft.TurnResult {
	failed := func(message string) lineshaft.TurnResult {
		return lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeAgentProcessFailed, Message: lineshaft.Clip(t.mask(message), 2000)}
	}
	good := harness.Good(exit) || lingered
	switch program := t.session.program[0]; {
	case t.ended && t.fault != "":
		return failed(t.fault)
	case !good && t.fault != "":
		return failed(harness.Describe(program, exit) + ": " + t.fault)
	case !good && t.stderr.String() != "":
		return failed(harness.Describe(program, exit) + ": " + t.stderr.String())
	case !good:
		return failed(harness.Describe(program, exit))
	case t.fault != "" && t.session.endless:
		return failed(t.fault)
	case !t.ended && !t.session.endless, !t.began:
		return failed(fmt.Sprintf("%s ended before its turn did; see its output", program))
	}
	return lineshaft.TurnResult{State: lineshaft.Succeeded}
}

func (s *session) event(emit harness.Emit, kind lineshaft.EventType, data any) {
	emit(lineshaft.NewDraft(kind, s.env.Now(), data))
}

// state is what is remembered of the agent's own session, also between executions.
type state struct {
	ID string `json:"session_id"`
	// What the agent has counted in its session until now.
	Input  int64   `json:"input_tokens"`
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"cost_usd"`
}

func (s *session) file() string { return s.agent.Name + "-session.json" }

// earlier is the session to continue; empty when there is none. The file is part
// of a snapshot by its name, and so are the agent's own files in its home.
func (s *session) earlier() string {
	if s.state.ID != "" {
		return s.state.ID
	}
	var kept state
	text, err := s.env.ReadFile(s.file())
	if err == nil && json.Unmarshal([]byte(text), &kept) == nil && good(kept.ID) {
		s.state = kept
		return kept.ID
	}
	return ""
}

// good says that an id cannot be mistaken for an option: the agent may have written it.
func good(id string) bool { return id != "" && !strings.HasPrefix(id, "-") && len(id) <= 200 }

func (s *session) keep(id string) {
	if !good(id) || id == s.state.ID {
		return
	}
	s.state.ID = id
	s.save()
}

// save writes the state. Without it a later execution begins a new session and says so.
func (s *session) save() {
	raw, _ := json.Marshal(s.state) // it always encodes
	_, _ = s.env.WriteFile(s.file(), string(raw))
}

// since is what a turn has used, of what the whole session has used by now.
func (s *session) since(input, output int64, cost float64) lineshaft.UsageData {
	before := s.state
	s.state.Input, s.state.Output, s.state.Cost = input, output, cost
	s.save()
	return lineshaft.UsageData{InputTokens: max(input-before.Input, 0), OutputTokens: max(output-before.Output, 0), CostMicros: micros(cost - before.Cost)}
}
