// Package chat asks models: one streamed request at a time, over the Messages
// API of Anthropic or the Chat Completions API that OpenAI and most servers of
// local models speak. It brings both into one form. It does not try again, keeps
// no conversation and knows no tools: that is up to the agent.
package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/lineshaft/lineshaft/internal/model"
)

// Who says a message. The answers of tools are the user's.
const (
	User      = "user"
	Assistant = "assistant"
)

// Message is one part of a conversation.
type Message struct {
	Role string `json:"role"`
	Text string `json:"text,omitempty"`
	// Thinking is what the endpoint wants to see again, unchanged, beside the tool
	// calls that resulted.
	Thinking []Thinking `json:"thinking,omitempty"`
	// Calls are those of an assistant, Results the user's answers to them.
	Calls   []Call   `json:"calls,omitempty"`
	Results []Result `json:"results,omitempty"`
}

// Thinking is a stretch of reasoning with the endpoint's seal on it.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Redacted is a stretch that only the endpoint can read.
	Redacted string `json:"redacted,omitempty"`
}

// Call asks for a tool.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments are a JSON object, unless the model wrote none.
	Arguments json.RawMessage `json:"arguments"`
	// Broken is what the model wrote instead of an object.
	Broken string `json:"broken,omitempty"`
}

// Result answers a call.
type Result struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// Tool is something the model may call.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of its arguments, an object.
	Schema json.RawMessage
}

// Request is one question to a model.
type Request struct {
	System   string
	Messages []Message
	Tools    []Tool
	// MaxTokens bounds the answer where the protocol asks for a bound.
	MaxTokens int
	// Effort is low, medium or high; empty leaves it to the endpoint.
	Effort string
}

// The kinds of Delta.
const (
	DeltaText    = "text"
	DeltaThought = "thought"
)

// Delta is a piece of an answer that people may see while it comes.
type Delta struct {
	Kind string
	Text string
}

// Usage is what an answer consumed, tokens from a cache included.
type Usage struct {
	Input, Output int64
}

// Why an answer ended.
const (
	StopEnd   = "end"
	StopTools = "tools"
	// StopLength means that the answer is cut at MaxTokens.
	StopLength = "length"
	// StopRefused means that the endpoint's own rules ended it.
	StopRefused = "refused"
)

// Answer is a whole answer.
type Answer struct {
	Message Message
	Usage   Usage
	Stop    string
}

// Client asks one model. Stream calls sink, from its own goroutine, while the
// answer comes; after an error what sink got is void. Errors are of type
// *Error, or the cause of ctx.
type Client interface {
	Stream(ctx context.Context, request Request, sink func(Delta)) (Answer, error)
}

// Options say how a model is reached.
type Options struct {
	// URL and Key are as in harness.Access.
	URL, Key, Model string
	Transport       http.RoundTripper
	// FirstByte is how long an answer may take to begin, Idle how long it may pause then.
	FirstByte, Idle time.Duration
	// MaxAnswer is how many bytes an answer may have; zero is 64 MiB.
	MaxAnswer int64
}

func (o Options) answer() int64 { return cmp.Or(o.MaxAnswer, maxAnswer) }

// New makes the client for a protocol.
func New(protocol model.Protocol, options Options) (Client, error) {
	c := caller{options: options, http: &http.Client{
		Transport: options.Transport,
		// A key must not follow to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	switch protocol {
	case model.Anthropic:
		return &anthropic{c}, nil
	case model.OpenAI:
		return &openAI{c}, nil
	case model.Gemini:
	}
	return nil, fmt.Errorf("make model client: protocol %q is not spoken here", protocol)
}

// finish makes the arguments that were gathered piece by piece into an object.
func (c *Call) finish(text string) {
	text = cmp.Or(text, "{}")
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		c.Arguments, c.Broken = json.RawMessage("{}"), text
		return
	}
	c.Arguments = json.RawMessage(text)
}
