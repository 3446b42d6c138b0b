package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// openAI speaks Chat Completions, in the form that other servers also have.
type openAI struct{ caller }

var _ Client = (*openAI)(nil)

// openAIRequest sets no bound on the answer: the field's name differs between servers,
// and without one all of them use the model's own.
type openAIRequest struct {
	Model         string          `json:"model"`
	Stream        bool            `json:"stream"`
	StreamOptions map[string]bool `json:"stream_options"`
	Messages      []openAIMessage `json:"messages"`
	Tools         []openAITool    `json:"tools,omitempty"`
	Effort        string          `json:"reasoning_effort,omitempty"`
}

type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type openAIMessage struct {
	Role string `json:"role"`
	// Content is null beside calls, when there is no text.
	Content    *string      `json:"content"`
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type openAICall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Stream asks the model.
func (o *openAI) Stream(ctx context.Context, request Request, sink func(Delta)) (Answer, error) {
	header := http.Header{}
	if o.options.Key != "" {
		header.Set("Authorization", "Bearer "+o.options.Key)
	}
	reader := openAIReader{sink: sink}
	err := o.post(ctx, "/chat/completions", header, o.encode(request), reader.take)
	// Some servers close the stream without the last word.
	if e, ok := err.(*Error); ok && reader.stop != "" && e.Kind == Transient && e.Status == 0 && reader.fault == nil { //nolint:errorlint // post returns it as it is
		err = nil
	}
	if err != nil {
		return Answer{}, err
	}
	return reader.answer(), nil
}

func (o *openAI) encode(request Request) openAIRequest {
	out := openAIRequest{
		Model: o.options.Model, Stream: true, StreamOptions: map[string]bool{"include_usage": true}, Effort: request.Effort,
	}
	if request.System != "" {
		out.Messages = append(out.Messages, openAIMessage{Role: "system", Content: &request.System})
	}
	for _, m := range request.Messages {
		out.Messages = append(out.Messages, openAIMessages(m)...)
	}
	for _, t := range request.Tools {
		out.Tools = append(out.Tools, openAITool{
			Type: "function", Function: openAIFunction{Name: t.Name, Description: t.Description, Parameters: t.Schema},
		})
	}
	return out
}

func openAIMessages(m Message) []openAIMessage {
	var out []openAIMessage
	for _, r := range m.Results {
		out = append(out, openAIMessage{Role: "tool", ToolCallID: r.ID, Content: &r.Text})
	}
	if m.Text == "" && len(m.Calls) == 0 {
		return out
	}
	message := openAIMessage{Role: m.Role}
	if m.Text != "" {
		message.Content = &m.Text
	}
	for _, c := range m.Calls {
		call := openAICall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Name, string(c.Arguments)
		message.ToolCalls = append(message.ToolCalls, call)
	}
	return append(out, message)
}

// openAIChunk is an event of a stream.
type openAIChunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta struct {
			Content   string       `json:"content"`
			Reasoning string       `json:"reasoning_content"`
			Thought   string       `json:"reasoning"`
			Refusal   string       `json:"refusal"`
			ToolCalls []openAICall `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	} `json:"usage"`
}

type openAIPart struct {
	index     int
	call      Call
	arguments strings.Builder
}

type openAIReader struct {
	sink  func(Delta)
	text  strings.Builder
	calls []*openAIPart
	usage Usage
	stop  string
	fault error
}

func (r *openAIReader) take(data []byte) (done bool, err error) {
	if strings.TrimSpace(string(data)) == "[DONE]" {
		r.stop = cmp.Or(r.stop, "stop")
		return true, nil
	}
	var chunk openAIChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		r.fault = malformed(data, err)
		return false, r.fault
	}
	if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
		r.fault = streamed(data)
		return false, r.fault
	}
	if u := chunk.Usage; u != nil {
		r.usage = Usage{Input: u.Prompt, Output: u.Completion}
	}
	for _, choice := range chunk.Choices {
		r.say(DeltaThought, choice.Delta.Reasoning+choice.Delta.Thought)
		r.say(DeltaText, choice.Delta.Content+choice.Delta.Refusal)
		for _, call := range choice.Delta.ToolCalls {
			r.call(call)
		}
		if choice.FinishReason != "" {
			r.stop = choice.FinishReason
		}
	}
	return false, nil
}

func (r *openAIReader) say(kind, text string) {
	if text == "" {
		return
	}
	if kind == DeltaText {
		r.text.WriteString(text)
	}
	r.sink(Delta{Kind: kind, Text: text})
}

// call takes a piece of a tool call. Some servers leave the index out and send each
// call whole.
func (r *openAIReader) call(piece openAICall) {
	index := len(r.calls)
	switch {
	case piece.Index != nil:
		index = *piece.Index
	case piece.ID == "" && piece.Function.Name == "" && index > 0:
		index = r.calls[len(r.calls)-1].index
	}
	var part *openAIPart
	for _, p := range r.calls {
		if p.index == index {
			part = p
		}
	}
	if part == nil {
		part = &openAIPart{index: index}
		r.calls = append(r.calls, part)
	}
	if piece.ID != "" {
		part.call.ID = piece.ID
	}
	if piece.Function.Name != "" {
		part.call.Name = piece.Function.Name
	}
	part.arguments.WriteString(piece.Function.Arguments)
}

func (r *openAIReader) answer() Answer {
	out := Answer{Message: Message{Role: Assistant, Text: r.text.String()}, Usage: r.usage, Stop: StopEnd}
	slices.SortStableFunc(r.calls, func(a, b *openAIPart) int { return a.index - b.index })
	for _, part := range r.calls {
		part.call.finish(part.arguments.String())
		out.Message.Calls = append(out.Message.Calls, part.call)
	}
	switch {
	case r.stop == "length":
		out.Stop = StopLength
	case r.stop == "content_filter":
		out.Stop = StopRefused
	case len(out.Message.Calls) > 0: // whatever the server calls it
		out.Stop = StopTools
	}
	return out
}
