package api

import (
	"encoding/json"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// ConversationResponse is a run's log as a conversation: one step per turn.
type ConversationResponse struct {
	ConversationID string             `json:"conversation_id"`
	Steps          []ConversationStep `json:"steps"`
}

// ConversationStep is one turn: what was asked, and all that followed from it.
type ConversationStep struct {
	ID          string                `json:"id"`
	Messages    []ConversationMessage `json:"messages"`
	Steps       []ConversationStep    `json:"steps" doc:"Steps within this one; always empty here."`
	StartedAt   string                `json:"started_at,omitempty" format:"date-time"`
	CompletedAt string                `json:"completed_at,omitempty" format:"date-time"`
}

// ConversationMessage is what one side said without being interrupted.
type ConversationMessage struct {
	Role       string                `json:"role" enum:"user,assistant,tool,system"`
	Content    []ConversationContent `json:"content"`
	MessageIDs []string              `json:"message_ids,omitempty" doc:"The ids of the events it is made of."`
	Timestamp  string                `json:"timestamp,omitempty" format:"date-time"`
}

// ConversationContent is a block of a message; which fields it has depends on type.
type ConversationContent struct {
	Type      string  `json:"type" enum:"text,action,action_result,event"`
	Text      *string `json:"text,omitempty" doc:"Of text."`
	ID        string  `json:"id,omitempty" doc:"Of action."`
	ActionID  string  `json:"action_id,omitempty" doc:"Of action_result: the id of its action."`
	Category  string  `json:"category,omitempty" enum:"command,files,search,integration,documents,computer,review,skill" doc:"Of action and action_result."`
	Name      string  `json:"name,omitempty" doc:"Of action, action_result and event."`
	State     string  `json:"state,omitempty" enum:"running,completed,failed,denied" doc:"Of action_result."`
	Input     Object  `json:"input,omitzero" doc:"Of action."`
	Output    Object  `json:"output,omitzero" doc:"Of action_result."`
	Data      Object  `json:"data,omitzero" doc:"Of event."`
	MessageID string  `json:"message_id,omitempty" doc:"The id of the event."`
}

// The roles and block types of a conversation.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
	roleSystem    = "system"

	blockText   = "text"
	blockAction = "action"
	blockResult = "action_result"
	blockEvent  = "event"
)

// conversationBuilder normalises a log event by event, so that a long log need not be
// in memory as a whole.
type conversationBuilder struct {
	steps []ConversationStep
	// open holds the tool calls that have no result yet, in order.
	open []*openCall
	// asked says that the agent waits for an answer: what a person says then belongs to
	// the turn that asked.
	asked bool
	// tail is the last block while it is output of the agent itself, which may go on.
	tail *outputTail
}

// outputTail gathers text for a block; joining strings piece by piece would take
// forever over a long log.
type outputTail struct {
	stream string
	text   strings.Builder
	data   Object
}

// openCall is a tool call that has not ended, with what it wrote so far.
type openCall struct {
	call lineshaft.ToolCallData
	// Where its block is: in which step, message and place there.
	step, message, place int

	stdout strings.Builder
	stderr strings.Builder
}

func newConversation() *conversationBuilder { return &conversationBuilder{} }

// add takes the next event. Events that cannot be read are left out: the log is
// written by agents of every kind.
func (b *conversationBuilder) add(e *lineshaft.Event) {
	switch e.Type {
	case lineshaft.EventMessage, lineshaft.EventThought:
		b.message(e)
	case lineshaft.EventToolCall:
		b.call(e)
	case lineshaft.EventToolResult:
		b.result(e)
	case lineshaft.EventOutput:
		b.output(e)
	case lineshaft.EventPlan, lineshaft.EventPermission, lineshaft.EventArtifact, lineshaft.EventNotice:
		if data := object(e.Data); data != nil {
			b.block(roleSystem, e, ConversationContent{Type: blockEvent, Name: string(e.Type), Data: data})
		}
	case lineshaft.EventState:
		b.state(e)
	case lineshaft.EventUsage:
	}
}

func (b *conversationBuilder) message(e *lineshaft.Event) {
	var data lineshaft.MessageData
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	if e.Type == lineshaft.EventThought {
		b.block(roleAssistant, e, ConversationContent{Type: blockEvent, Name: "thought", Data: Object{"text": data.Text}})
		return
	}
	text := ConversationContent{Type: blockText, Text: &data.Text}
	switch data.Role {
	case roleUser:
		if !b.asked || len(b.steps) == 0 {
			b.begin(e)
		}
		b.asked = false // what comes after the answer is for the next turn
		b.block(roleUser, e, text)
	case roleSystem:
		b.block(roleSystem, e, text)
	default:
		b.block(roleAssistant, e, text)
	}
}

func (b *conversationBuilder) call(e *lineshaft.Event) {
	var data lineshaft.ToolCallData
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	shown := ConversationContent{
		Type: blockAction, ID: data.ID, Category: category(data.Category), Name: data.Name, Input: filled(data.Input),
	}
	for _, open := range b.open {
		if open.call.ID == data.ID && data.ID != "" { // the agent tells more about a call that it has begun
			block := &b.steps[open.step].Messages[open.message].Content[open.place]
			shown.MessageID = block.MessageID
			open.call, *block = data, shown
			return
		}
	}
	b.block(roleAssistant, e, shown)
	step := len(b.steps) - 1
	message := len(b.steps[step].Messages) - 1
	b.open = append(b.open, &openCall{call: data, step: step, message: message, place: len(b.steps[step].Messages[message].Content) - 1})
}

func (b *conversationBuilder) result(e *lineshaft.Event) {
	var data lineshaft.ToolResultData
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	call := b.take(data.ID)
	if data.Name == "" {
		data.Name = call.call.Name
	}
	if data.Category == "" {
		data.Category = call.call.Category
	}
	b.block(roleTool, e, ConversationContent{
		Type: blockResult, ActionID: data.ID, Category: category(data.Category), Name: data.Name,
		State: toolState(data.State), Output: call.fold(data.Output),
	})
}

// take removes the open call with that id; a result without one gets an empty call.
func (b *conversationBuilder) take(id string) *openCall {
	for i, call := range b.open {
		if call.call.ID == id {
			b.open = append(b.open[:i], b.open[i+1:]...)
			return call
		}
	}
	return &openCall{}
}

// output is folded into the tool call that wrote it. What the agent itself wrote
// is shown as it came, joined as long as nothing else comes between.
func (b *conversationBuilder) output(e *lineshaft.Event) {
	var data lineshaft.OutputData
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	for _, call := range b.open {
		if data.ToolCallID != "" && call.call.ID == data.ToolCallID {
			call.write(data.Stream, data.Text)
			return
		}
	}
	if data.ToolCallID == "" && b.tail != nil && b.tail.stream == data.Stream {
		b.tail.text.WriteString(data.Text)
		return
	}
	shown := Object{"stream": data.Stream, "text": data.Text}
	if data.ToolCallID != "" {
		shown["tool_call_id"] = data.ToolCallID
	}
	b.block(roleAssistant, e, ConversationContent{Type: blockEvent, Name: "output", Data: shown})
	if data.ToolCallID == "" {
		b.tail = &outputTail{stream: data.Stream, data: shown}
		b.tail.text.WriteString(data.Text)
	}
}

// flush ends the output block that was still growing.
func (b *conversationBuilder) flush() {
	if b.tail != nil {
		b.tail.data["text"] = b.tail.text.String()
		b.tail = nil
	}
}

// state ends the step when the run ends; calls that never got a result have failed.
func (b *conversationBuilder) state(e *lineshaft.Event) {
	var data lineshaft.StateData
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	if b.asked = data.To == lineshaft.Blocked; !data.To.Terminal() {
		return
	}
	b.settle(lineshaft.ToolFailed)
	if n := len(b.steps); n > 0 {
		b.steps[n-1].CompletedAt = stamp(e.Time)
	}
}

// settle shows the calls that are still open with what they wrote.
func (b *conversationBuilder) settle(state string) {
	open := b.open
	b.open = nil
	for _, call := range open {
		b.append(roleTool, "", "", ConversationContent{
			Type: blockResult, ActionID: call.call.ID, Category: category(call.call.Category), Name: call.call.Name,
			State: state, Output: call.fold(nil),
		})
	}
}

// begin starts a step. Calls may be open: what is said while a tool runs waits for the
// end of its turn, and the result comes later.
func (b *conversationBuilder) begin(e *lineshaft.Event) {
	if n := len(b.steps); n > 0 && b.steps[n-1].CompletedAt == "" {
		b.steps[n-1].CompletedAt = stamp(e.Time)
	}
	b.steps = append(b.steps, ConversationStep{
		ID: e.ID, Messages: []ConversationMessage{}, Steps: []ConversationStep{}, StartedAt: stamp(e.Time),
	})
}

// block adds a block of an event, beginning a step if there is none yet.
func (b *conversationBuilder) block(role string, e *lineshaft.Event, c ConversationContent) {
	if len(b.steps) == 0 {
		b.begin(e)
	}
	c.MessageID = e.ID
	b.append(role, e.ID, stamp(e.Time), c)
}

// append adds a block to the last message, or to a new one when the side changes.
func (b *conversationBuilder) append(role, eventID, at string, c ConversationContent) {
	b.flush()
	step := &b.steps[len(b.steps)-1]
	if n := len(step.Messages); n == 0 || step.Messages[n-1].Role != role {
		step.Messages = append(step.Messages, ConversationMessage{Role: role, Timestamp: at})
	}
	message := &step.Messages[len(step.Messages)-1]
	message.Content = append(message.Content, c)
	if eventID != "" {
		message.MessageIDs = append(message.MessageIDs, eventID)
	}
}

func (b *conversationBuilder) finish(id string) ConversationResponse {
	b.flush()
	if len(b.steps) > 0 {
		b.settle(lineshaft.ToolRunning)
	}
	if b.steps == nil {
		b.steps = []ConversationStep{}
	}
	return ConversationResponse{ConversationID: id, Steps: b.steps}
}

func (c *openCall) write(stream, text string) {
	if stream == "stderr" {
		c.stderr.WriteString(text)
	} else {
		c.stdout.WriteString(text)
	}
}

// fold adds what the call wrote to its output, unless the output has it already.
func (c *openCall) fold(output map[string]any) Object {
	out := filled(output)
	for name, text := range map[string]string{"stdout": c.stdout.String(), "stderr": c.stderr.String()} {
		if _, has := out[name]; !has && text != "" {
			out[name] = text
		}
	}
	return out
}

// category keeps to the published list; tools of no known kind are integrations.
func category(name string) string {
	switch name {
	case "command", "files", "search", "integration", "documents", "computer", "review", "skill":
		return name
	}
	return "integration"
}

func toolState(name string) string {
	switch name {
	case lineshaft.ToolRunning, lineshaft.ToolFailed, lineshaft.ToolDenied:
		return name
	case "error", "errored", "cancelled", "canceled", "timeout":
		return lineshaft.ToolFailed
	case "rejected":
		return lineshaft.ToolDenied
	}
	return lineshaft.ToolCompleted
}

// filled is never nil: the published blocks always have their object.
func filled(m map[string]any) Object {
	if m == nil {
		return Object{}
	}
	return m
}

func object(data json.RawMessage) Object {
	var out Object
	if json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}
