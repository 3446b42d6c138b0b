package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// ConversationResponse is a run's log as a conversation: one step per turn.
type ConversationResponse struct {
	ConversationID string             `json:"conversation_id"`
	Steps          []ConversationStep `json:"steps"`
	PageInfo       *PageInfo          `json:"page_info,omitempty" doc:"For a conversation that is too long for one answer: it ends with an event block named truncated, and next_cursor continues it."`
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
	Type      string    `json:"type" enum:"text,action,action_result,event"`
	Text      *string   `json:"text,omitempty" doc:"Of text."`
	ID        string    `json:"id,omitempty" doc:"Of action."`
	ActionID  string    `json:"action_id,omitempty" doc:"Of action_result: the id of its action."`
	Category  string    `json:"category,omitempty" enum:"command,files,search,integration,documents,computer,review,skill" doc:"Of action and action_result."`
	Name      string    `json:"name,omitempty" doc:"Of action, action_result and event."`
	State     string    `json:"state,omitempty" enum:"running,completed,failed,denied" doc:"Of action_result."`
	Input     RawObject `json:"input,omitzero" doc:"Of action."`
	Output    RawObject `json:"output,omitzero" doc:"Of action_result."`
	Data      RawObject `json:"data,omitzero" doc:"Of event."`
	MessageID string    `json:"message_id,omitempty" doc:"The id of the event."`
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
	// open holds the tool calls in order, those that have their result among them. Agents
	// open tens of thousands, so those that wait are found by their ids.
	open    []*openCall
	waiting map[string][]*openCall
	// asked says that the agent waits for an answer: what a person says then belongs to
	// the turn that asked.
	asked bool
	// tail is the last block while it is output of the agent itself, which may continue.
	tail *outputTail
	// size is what was taken, and between says that the next block is another run's.
	size    int
	between bool
}

// outputTail gathers text for a block; joining strings piece by piece would take
// forever over a long log.
type outputTail struct {
	stream string
	text   strings.Builder
	// Where its block is.
	place blockPlace
}

// blockPlace says where a block is: in which step, message and place there.
type blockPlace struct{ step, message, place int }

// openCall is a tool call, with what it wrote so far.
type openCall struct {
	toolCall

	block blockPlace
	ended bool

	stdout strings.Builder
	stderr strings.Builder
}

// toolCall and toolResult are the data of their events with the objects as they were written.
type (
	toolCall struct {
		ID       string    `json:"id"`
		Category string    `json:"category"`
		Name     string    `json:"name"`
		Input    RawObject `json:"input"`
	}
	toolResult struct {
		ID       string    `json:"id"`
		Category string    `json:"category"`
		Name     string    `json:"name"`
		State    string    `json:"state"`
		Output   RawObject `json:"output"`
	}
)

func newConversation() *conversationBuilder {
	return &conversationBuilder{waiting: map[string][]*openCall{}}
}

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
		if data, ok := asObject(e.Data); ok && json.Valid(data) {
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
		b.block(roleAssistant, e, ConversationContent{Type: blockEvent, Name: "thought", Data: textObject("text", data.Text)})
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
	var data toolCall
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	shown := ConversationContent{
		Type: blockAction, ID: data.ID, Category: category(data.Category), Name: data.Name, Input: filled(data.Input),
	}
	data.Input = nil
	if same := b.waiting[data.ID]; len(same) > 0 && data.ID != "" { // the agent says more about a call that it has begun
		block := b.at(same[0].block)
		shown.MessageID = block.MessageID
		same[0].toolCall, *block = data, shown
		return
	}
	b.block(roleAssistant, e, shown)
	call := &openCall{toolCall: data, block: b.last()}
	b.open, b.waiting[data.ID] = append(b.open, call), append(b.waiting[data.ID], call)
}

func (b *conversationBuilder) last() blockPlace {
	step := len(b.steps) - 1
	message := len(b.steps[step].Messages) - 1
	return blockPlace{step, message, len(b.steps[step].Messages[message].Content) - 1}
}

func (b *conversationBuilder) at(p blockPlace) *ConversationContent {
	return &b.steps[p.step].Messages[p.message].Content[p.place]
}

func (b *conversationBuilder) result(e *lineshaft.Event) {
	var data toolResult
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	call := b.take(data.ID)
	data.Name = cmp.Or(data.Name, call.Name)
	data.Category = cmp.Or(data.Category, call.Category)
	b.block(roleTool, e, ConversationContent{
		Type: blockResult, ActionID: data.ID, Category: category(data.Category), Name: data.Name,
		State: lineshaft.ToolState(data.State), Output: call.fold(data.Output),
	})
}

// take removes the open call with that id; a result without one gets an empty call.
func (b *conversationBuilder) take(id string) *openCall {
	same := b.waiting[id]
	if len(same) == 0 {
		return &openCall{}
	}
	if b.waiting[id] = same[1:]; len(same) == 1 {
		delete(b.waiting, id)
	}
	same[0].ended = true
	return same[0]
}

// output is folded into the tool call that wrote it. The agent's own output is shown as
// it came, joined as long as nothing else comes between.
func (b *conversationBuilder) output(e *lineshaft.Event) {
	var data lineshaft.OutputData
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	if calls := b.waiting[data.ToolCallID]; data.ToolCallID != "" && len(calls) > 0 {
		calls[0].write(data.Stream, data.Text)
		return
	}
	if data.ToolCallID == "" && b.tail != nil && b.tail.stream == data.Stream {
		b.tail.text.WriteString(data.Text)
		return
	}
	shown := ConversationContent{Type: blockEvent, Name: "output"}
	if data.ToolCallID != "" {
		shown.Data = textObject("stream", data.Stream, "text", data.Text, "tool_call_id", data.ToolCallID)
	}
	b.block(roleAssistant, e, shown)
	if data.ToolCallID == "" {
		b.tail = &outputTail{stream: data.Stream, place: b.last()}
		b.tail.text.WriteString(data.Text)
	}
}

func (b *conversationBuilder) flush() {
	if b.tail != nil {
		b.at(b.tail.place).Data = textObject("stream", b.tail.stream, "text", b.tail.text.String())
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
	b.open, b.waiting = nil, map[string][]*openCall{}
	for _, call := range open {
		if call.ended {
			continue
		}
		b.append(roleTool, "", "", ConversationContent{
			Type: blockResult, ActionID: call.ID, Category: category(call.Category), Name: call.Name,
			State: state, Output: call.fold(nil),
		})
	}
}

// endRun ends what belongs to one run of a conversation: the ids of its tool calls are its
// own, and the next run begins with a step.
func (b *conversationBuilder) endRun() {
	b.flush()
	b.settle(lineshaft.ToolRunning)
	b.between, b.asked = len(b.steps) > 0, false
}

// begin starts a step. Calls may be open: what is said while a tool runs waits for the
// end of its turn, and the result comes later.
func (b *conversationBuilder) begin(e *lineshaft.Event) {
	if n := len(b.steps); n > 0 && b.steps[n-1].CompletedAt == "" {
		b.steps[n-1].CompletedAt = stamp(e.Time)
	}
	b.between = false
	b.steps = append(b.steps, ConversationStep{
		ID: e.ID, Messages: []ConversationMessage{}, Steps: []ConversationStep{}, StartedAt: stamp(e.Time),
	})
}

// block adds a block of an event, beginning a step if there is none yet.
func (b *conversationBuilder) block(role string, e *lineshaft.Event, c ConversationContent) {
	if len(b.steps) == 0 || b.between {
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

// finish is the conversation so far. With next, a cursor, the log continues: calls
// whose results come later are shown with what they wrote until here.
func (b *conversationBuilder) finish(id, next string) ConversationResponse {
	b.flush()
	if len(b.steps) > 0 {
		b.settle(lineshaft.ToolRunning)
	}
	if b.steps == nil {
		b.steps = []ConversationStep{}
	}
	out := ConversationResponse{ConversationID: id}
	if next != "" && len(b.steps) > 0 {
		info := pageInfo(next)
		out.PageInfo = &info
		b.append(roleSystem, "", "", ConversationContent{Type: blockEvent, Name: "truncated", Data: textObject(
			"text", "The conversation is too long for one answer and continues; ask again with cursor.", "cursor", next)})
	}
	out.Steps = b.steps
	return out
}

// writeJSON writes what the tags of the types say, block by block.
func (c ConversationResponse) writeJSON(out *jsonWriter) {
	out.frame("{")
	out.field("conversation_id", c.ConversationID)
	out.list("steps")
	for i := range c.Steps {
		c.Steps[i].writeJSON(out)
	}
	out.close("]")
	if c.PageInfo != nil {
		out.field("page_info", c.PageInfo)
	}
	out.close("}")
}

func (s *ConversationStep) writeJSON(out *jsonWriter) {
	out.next()
	out.frame("{")
	out.field("id", s.ID)
	out.list("messages")
	for i := range s.Messages {
		s.Messages[i].writeJSON(out)
	}
	out.close("]")
	out.field("steps", s.Steps)
	out.optional("started_at", s.StartedAt)
	out.optional("completed_at", s.CompletedAt)
	out.close("}")
}

func (m *ConversationMessage) writeJSON(out *jsonWriter) {
	out.next()
	out.frame("{")
	out.field("role", m.Role)
	out.list("content")
	for i := range m.Content {
		out.item(&m.Content[i])
	}
	out.close("]")
	if len(m.MessageIDs) > 0 {
		out.field("message_ids", m.MessageIDs)
	}
	out.optional("timestamp", m.Timestamp)
	out.close("}")
}

func (c *openCall) write(stream, text string) {
	if stream == "stderr" {
		c.stderr.WriteString(text)
	} else {
		c.stdout.WriteString(text)
	}
}

// fold adds what the call wrote to its output, unless the output has it already.
func (c *openCall) fold(output RawObject) RawObject {
	out := filled(output)
	for _, one := range []struct{ name, text string }{{"stdout", c.stdout.String()}, {"stderr", c.stderr.String()}} {
		if one.text == "" || out.has(one.name) {
			continue
		}
		added := textObject(one.name, one.text)
		if rest := bytes.TrimSpace(out[1:]); len(rest) > 1 { // more than its end
			added[len(added)-1] = ','
			added = append(added, rest...)
		}
		out = added
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

// asObject takes JSON that is an object.
func asObject(text []byte) (RawObject, bool) {
	text = bytes.TrimSpace(text)
	return text, len(text) > 1 && text[0] == '{'
}

// filled is never nothing: the published blocks always have their object.
func filled(o RawObject) RawObject {
	if o, ok := asObject(o); ok {
		return o
	}
	return RawObject("{}")
}

// textObject is an object of texts, given as names and values.
func textObject(pairs ...string) RawObject {
	out := []byte("{")
	for i := 0; i < len(pairs); i += 2 {
		value, _ := marshal(pairs[i+1]) // a text always can be
		out = append(out, '"')
		out = append(append(out, pairs[i]...), `":`...)
		out = append(append(out, value...), ',')
	}
	out[len(out)-1] = '}'
	return out
}
