package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

const (
	// maxResult is the most that one tool gives back to the model.
	maxResult = 48 << 10
	// maxShown bounds each text of a tool call's events.
	maxShown = 16 << 10
	// notRun answers calls that an interrupt came before: every call has an answer.
	notRun = "Not run: the turn was interrupted."
)

// tool is something the model may call.
type tool struct {
	chat.Tool
	category string
	// guarded tools change something: the policy is asked first.
	guarded bool
	// silent tools make no events of a tool call.
	silent bool
	run    func(ctx context.Context, t *turn, call invocation) outcome
}

// invocation is one call of a tool.
type invocation struct {
	id        string // of its events
	arguments json.RawMessage
}

func (i invocation) decode(into any) error {
	if err := json.Unmarshal(i.arguments, into); err != nil {
		return fmt.Errorf("the arguments do not fit the tool: %w", err)
	}
	return nil
}

// outcome is how a tool ended. A fatal error ends the turn; everything else
// goes to the model.
type outcome struct {
	text   string
	failed bool
	denied bool
	output map[string]any
	fatal  error
}

func done(format string, args ...any) outcome { return outcome{text: fmt.Sprintf(format, args...)} }

func problem(err error) outcome { return outcome{text: err.Error(), failed: true} }

// name gives the calls of an answer ids of their own: some servers leave them out
// or use one twice.
func (t *turn) name(calls []chat.Call) {
	seen := map[string]bool{"": true}
	for i := range calls {
		if seen[calls[i].ID] {
			calls[i].ID = fmt.Sprintf("call-%d-%d-%d", t.env.Job.Number, len(t.messages), i)
		}
		seen[calls[i].ID] = true
	}
}

// use runs the tools of one answer, one after the other, and puts their results
// into the conversation.
func (t *turn) use(ctx context.Context, calls []chat.Call) error {
	reply := chat.Message{Role: chat.User}
	var fatal error
	for i, call := range calls {
		calls[i].Broken = "" // the answer says it
		result := chat.Result{ID: call.ID, Text: notRun, Failed: true}
		if ctx.Err() == nil && fatal == nil {
			out := t.invoke(ctx, call)
			fatal = out.fatal
			result.Text, result.Failed = cut(t.env.Mask().String(out.text), maxResult), out.failed || out.denied
			result.Text = cmp.Or(result.Text, "(no output)")
		}
		reply.Results = append(reply.Results, result)
	}
	t.messages = append(t.messages, reply)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fatal
}

// invoke runs one call between its two events.
func (t *turn) invoke(ctx context.Context, call chat.Call) outcome {
	t.calls++
	found := t.find(call.Name)
	at := invocation{
		// The number of the execution keeps the ids of one run apart.
		id:        fmt.Sprintf("builtin-%d-%d", t.env.Job.Number, t.calls),
		arguments: call.Arguments,
	}
	ctx, span := t.env.Tracer.Start(ctx, "tool call", tracing.Options{})
	out := t.told(ctx, found, call, at)
	if found.run != nil { // else the name is whatever the model made up
		span.String("gen_ai.tool.name", found.Name)
	}
	span.String("lineshaft.tool.category", found.category)
	switch {
	case out.denied:
		span.Failed("denied")
	case out.failed || out.fatal != nil:
		span.Failed("failed")
	}
	span.End(nil)
	return out
}

// told runs a call and puts it into the log, unless its tool does that itself.
func (t *turn) told(ctx context.Context, found tool, call chat.Call, at invocation) outcome {
	if found.silent {
		return t.run(ctx, found, call, at)
	}
	t.event(lineshaft.EventToolCall, lineshaft.ToolCallData{
		ID: at.id, Category: found.category, Name: call.Name, Input: shown(call.Arguments),
	})
	out := t.run(ctx, found, call, at)
	result := lineshaft.ToolResultData{ID: at.id, Category: found.category, Name: call.Name, State: lineshaft.ToolCompleted, Output: out.output}
	if result.Output == nil {
		result.Output = map[string]any{"text": cut(out.text, maxShown)}
	}
	switch {
	case out.denied:
		result.State = lineshaft.ToolDenied
	case out.failed || out.fatal != nil:
		result.State = lineshaft.ToolFailed
	}
	t.event(lineshaft.EventToolResult, result)
	return out
}

func (t *turn) run(ctx context.Context, found tool, call chat.Call, at invocation) outcome {
	switch {
	case found.run == nil:
		return problem(fmt.Errorf("there is no tool %q; there are: %s", call.Name, t.names()))
	case call.Broken != "":
		return problem(fmt.Errorf("the arguments are not a JSON object, perhaps because the answer was cut off; call again, with less at once. They were: %s", cut(call.Broken, 400)))
	}
	if found.guarded {
		if refused, err := t.permit(ctx, call, at); err != nil {
			return outcome{text: err.Error(), failed: true, fatal: err}
		} else if refused != "" {
			return outcome{text: refused, denied: true}
		}
	}
	out := found.run(ctx, t, at)
	if ctx.Err() != nil && out.text == "" {
		out.text, out.failed = "Interrupted.", true
	}
	return out
}

func (s *session) find(name string) tool {
	for _, tool := range s.tools {
		if tool.Name == name {
			return tool
		}
	}
	return tool{category: "integration"}
}

func (s *session) names() string {
	var names []string
	for _, tool := range s.tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, ", ")
}

// shown is the arguments for people: long texts are cut.
func shown(arguments json.RawMessage) map[string]any {
	var input map[string]any
	if err := json.Unmarshal(arguments, &input); err != nil || input == nil {
		return map[string]any{}
	}
	for key, value := range input {
		if text, ok := value.(string); ok {
			input[key] = cut(text, maxShown)
		} else if raw, err := json.Marshal(value); err == nil && len(raw) > maxShown {
			input[key] = cut(string(raw), maxShown)
		}
	}
	return input
}

// schema makes a JSON Schema from the names of properties, each with its type and
// purpose. Properties whose name ends with ? may be left out.
func schema(properties ...[3]string) json.RawMessage {
	type property struct {
		Type        string `json:"type"`
		Description string `json:"description"`
	}
	out := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}{"object", map[string]property{}, []string{}}
	for _, p := range properties {
		name, optional := strings.CutSuffix(p[0], "?")
		out.Properties[name] = property{Type: p[1], Description: p[2]}
		if !optional {
			out.Required = append(out.Required, name)
		}
	}
	raw, _ := json.Marshal(out) // plain strings always encode
	return raw
}

// ownTools are those that every session has.
func (s *session) ownTools() []tool {
	return []tool{shellTool(), readTool(), writeTool(), editTool(), listTool(), searchTool(), planTool()}
}

// errText is the message of an error for the model, without the path of the host.
func (s *session) errText(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), s.env.Dir, s.files.guest))
}

// maxServerAnswer bounds one answer of a tool server, which is read whole into the
// memory of the worker.
const maxServerAnswer = 16 << 20

var errLongAnswer = errors.New("the tool server's answer is longer than 16 MiB; ask it for less at a time")

// bounded reads no more than that: in all, or up to the end of a line.
type bounded struct {
	io.ReadCloser
	lines bool
	used  int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.used > maxServerAnswer {
		return 0, errLongAnswer
	}
	n, err := b.ReadCloser.Read(p)
	b.used += n
	if i := bytes.LastIndexByte(p[:n], '\n'); b.lines && i >= 0 {
		b.used = n - i - 1
	}
	return n, err
}

const maxSteps = 100

// planSchema is written out: it is the only one with a list.
const planSchema = `{"type":"object","required":["steps"],"properties":{"steps":{"type":"array","items":{"type":"object",
"required":["text","state"],"properties":{"text":{"type":"string"},"state":{"type":"string","enum":["pending","in_progress","completed"]},
"priority":{"type":"string","enum":["high","medium","low"]}}}}}}`

func planTool() tool {
	return tool{category: "documents", silent: true, run: runPlan, Tool: chat.Tool{
		Name: "plan",
		Description: "Show people the steps of your work and how far they are. Give the whole list each time it changes. " +
			"Use it for work of three steps or more.",
		Schema: json.RawMessage(planSchema),
	}}
}

func runPlan(_ context.Context, t *turn, call invocation) outcome {
	var in lineshaft.PlanData
	if err := call.decode(&in); err != nil {
		return problem(err)
	}
	if len(in.Steps) > maxSteps {
		return problem(errors.New("a plan may have 100 steps"))
	}
	for i, step := range in.Steps {
		if step.Text == "" {
			return problem(errors.New("a step has no text"))
		}
		switch step.State {
		case "pending", "in_progress", "completed":
		default:
			return problem(errors.New("the state of a step is pending, in_progress or completed"))
		}
		switch step.Priority {
		case "high", "medium", "low", "":
		default:
			in.Steps[i].Priority = ""
		}
		in.Steps[i].Text = cut(step.Text, 1000)
	}
	t.event(lineshaft.EventPlan, in)
	return done("The plan is shown.")
}
