package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// anthropic speaks the Messages API.
type anthropic struct{ caller }

var _ Client = (*anthropic)(nil)

const anthropicVersion = "2023-06-01"

type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	Stream    bool               `json:"stream"`
	System    []anthropicBlock   `json:"system,omitempty"`
	Messages  []anthropicMessage `json:"messages"`
	Tools     []anthropicTool    `json:"tools,omitempty"`
	Thinking  *anthropicThinking `json:"thinking,omitempty"`
}

type anthropicThinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *anthropicCache `json:"cache_control,omitempty"`
}

// anthropicCache asks to keep what comes before it: the next request begins the same.
type anthropicCache struct {
	Type string `json:"type"`
}

// Stream asks the model.
func (a *anthropic) Stream(ctx context.Context, request Request, sink func(Delta)) (Answer, error) {
	header := http.Header{}
	header.Set("X-Api-Key", a.options.Key)
	header.Set("Anthropic-Version", anthropicVersion)
	reader := anthropicReader{sink: sink, blocks: map[int]*anthropicPart{}}
	err := a.post(ctx, "/v1/messages", header, a.encode(request), reader.take)
	if err != nil {
		return Answer{}, err
	}
	return reader.answer(), nil
}

func (a *anthropic) encode(request Request) anthropicRequest {
	keep := &anthropicCache{Type: "ephemeral"}
	out := anthropicRequest{Model: a.options.Model, MaxTokens: request.MaxTokens, Stream: true}
	if request.System != "" {
		out.System = []anthropicBlock{{Type: "text", Text: request.System, Cache: keep}}
	}
	for _, m := range request.Messages {
		content := anthropicContent(m)
		if len(content) == 0 {
			continue // empty content is refused
		}
		if last := len(out.Messages) - 1; last >= 0 && out.Messages[last].Role == m.Role {
			out.Messages[last].Content = append(out.Messages[last].Content, content...)
			continue
		}
		out.Messages = append(out.Messages, anthropicMessage{Role: m.Role, Content: content})
	}
	if last := len(out.Messages) - 1; last >= 0 && out.Messages[last].Role == User {
		content := out.Messages[last].Content
		content[len(content)-1].Cache = keep
	}
	for _, t := range request.Tools {
		out.Tools = append(out.Tools, anthropicTool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	// The thoughts count as part of the answer, so there must be room for both.
	if tokens := map[string]int{"low": 2048, "medium": 8192, "high": 24576}[request.Effort]; tokens > 0 {
		out.Thinking = &anthropicThinking{Type: "enabled", BudgetTokens: tokens}
		out.MaxTokens += tokens
	}
	return out
}

// anthropicContent puts results first, as the protocol asks for.
func anthropicContent(m Message) []anthropicBlock {
	var out []anthropicBlock
	for _, r := range m.Results {
		out = append(out, anthropicBlock{Type: "tool_result", ToolUseID: r.ID, Content: r.Text, IsError: r.Failed})
	}
	for _, t := range m.Thinking {
		switch {
		case t.Redacted != "":
			out = append(out, anthropicBlock{Type: "redacted_thinking", Data: t.Redacted})
		case t.Signature != "": // without a seal it is refused
			out = append(out, anthropicBlock{Type: "thinking", Thinking: &t.Text, Signature: t.Signature})
		}
	}
	if strings.TrimSpace(m.Text) != "" {
		out = append(out, anthropicBlock{Type: "text", Text: m.Text})
	}
	for _, c := range m.Calls {
		out = append(out, anthropicBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Arguments})
	}
	return out
}

// anthropicEvent is any event of a stream.
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Text  string          `json:"text"`
		Data  string          `json:"data"`
		Input json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

type anthropicUsage struct {
	Input   int64 `json:"input_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
	Cached  int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

// anthropicPart is a block that is being read.
type anthropicPart struct {
	kind      string
	call      Call
	text      strings.Builder
	signature string
	redacted  string
	whole     string // arguments that came at once
}

type anthropicReader struct {
	sink   func(Delta)
	blocks map[int]*anthropicPart
	usage  anthropicUsage
	stop   string
}

func (r *anthropicReader) take(data []byte) (done bool, err error) {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, malformed(data, err)
	}
	switch e.Type {
	case "message_start":
		r.use(e.Message.Usage)
	case "content_block_start":
		r.begin(e)
	case "content_block_delta":
		r.more(e)
	case "message_delta":
		r.use(e.Usage)
		if e.Delta.StopReason != "" {
			r.stop = e.Delta.StopReason
		}
	case "message_stop":
		return true, nil
	case "error":
		return false, streamed(data)
	}
	return false, nil
}

// use takes over counts; later events may repeat some of them.
func (r *anthropicReader) use(u anthropicUsage) {
	r.usage.Input = max(r.usage.Input, u.Input)
	r.usage.Written = max(r.usage.Written, u.Written)
	r.usage.Cached = max(r.usage.Cached, u.Cached)
	r.usage.Output = max(r.usage.Output, u.Output)
}

func (r *anthropicReader) begin(e anthropicEvent) {
	b := e.ContentBlock
	part := &anthropicPart{kind: b.Type, call: Call{ID: b.ID, Name: b.Name}, redacted: b.Data}
	if input := string(b.Input); input != "" && input != "{}" && input != "null" {
		part.whole = input
	}
	r.blocks[e.Index] = part
	if b.Type == "text" {
		r.say(part, DeltaText, b.Text)
	}
}

func (r *anthropicReader) more(e anthropicEvent) {
	part := r.blocks[e.Index]
	if part == nil {
		return
	}
	switch d := e.Delta; d.Type {
	case "text_delta":
		r.say(part, DeltaText, d.Text)
	case "thinking_delta":
		r.say(part, DeltaThought, d.Thinking)
	case "signature_delta":
		part.signature += d.Signature
	case "input_json_delta":
		part.text.WriteString(d.PartialJSON)
	}
}

func (r *anthropicReader) say(part *anthropicPart, kind, text string) {
	part.text.WriteString(text)
	if text != "" {
		r.sink(Delta{Kind: kind, Text: text})
	}
}

func (r *anthropicReader) answer() Answer {
	out := Answer{
		Message: Message{Role: Assistant}, Stop: anthropicStop(r.stop),
		Usage: Usage{Input: r.usage.Input + r.usage.Written + r.usage.Cached, Output: r.usage.Output},
	}
	for _, i := range slices.Sorted(maps.Keys(r.blocks)) {
		part := r.blocks[i]
		text := part.text.String()
		switch part.kind {
		case "text":
			out.Message.Text += text
		case "thinking":
			out.Message.Thinking = append(out.Message.Thinking, Thinking{Text: text, Signature: part.signature})
		case "redacted_thinking":
			out.Message.Thinking = append(out.Message.Thinking, Thinking{Redacted: part.redacted})
		case "tool_use":
			text = cmp.Or(text, part.whole)
			part.call.finish(text)
			out.Message.Calls = append(out.Message.Calls, part.call)
		}
	}
	return out
}

func anthropicStop(reason string) string {
	switch reason {
	case "tool_use":
		return StopTools
	case "max_tokens", "model_context_window_exceeded":
		return StopLength
	case "refusal":
		return StopRefused
	}
	return StopEnd
}
