package gateway

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/model"
)

// scanner finds the usage in what an endpoint answers. It ignores what it does not
// understand: the answer is the agent's, and is passed on unchanged.
type scanner struct {
	kind   kind
	tokens model.Tokens
	// reported says that the endpoint has sent numbers, final that they are those of
	// the end.
	reported, final bool
	// runes is how much text has come, bytes how much of anything.
	runes, bytes int64
}

// estimate is the number of tokens in the text that has come.
func (s *scanner) estimate() int64 { return (s.runes + runesPerToken - 1) / runesPerToken }

// atLeast is for an answer without numbers: if no text was found in it either,
// its form is not known here, and it counts by its size.
func (s *scanner) atLeast() int64 {
	if s.runes > 0 {
		return s.estimate()
	}
	return (s.bytes + runesPerToken - 1) / runesPerToken
}

// count is a number that may come as anything.
type count int64

// UnmarshalJSON takes what is a number, and counts everything else as nothing.
func (c *count) UnmarshalJSON(raw []byte) error {
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f > 0 && f < 1<<53 {
		*c = count(f)
	}
	return nil
}

// said is a text that may come as anything.
type said int64

// UnmarshalJSON takes the length of a text.
func (s *said) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*s = said(utf8.RuneCountInString(text))
	}
	return nil
}

// usage is what the protocols call their numbers; those of one protocol are absent
// in the others.
type usage struct {
	// Anthropic, and OpenAI's Responses
	Input         count `json:"input_tokens"`
	Output        count `json:"output_tokens"`
	CacheCreation count `json:"cache_creation_input_tokens"`
	CacheRead     count `json:"cache_read_input_tokens"`
	InputDetails  struct {
		Cached count `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	// OpenAI's Chat Completions
	Prompt        count `json:"prompt_tokens"`
	Completion    count `json:"completion_tokens"`
	PromptDetails struct {
		Cached count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// geminiUsage are Gemini's numbers.
type geminiUsage struct {
	Prompt     count `json:"promptTokenCount"`
	ToolPrompt count `json:"toolUsePromptTokenCount"`
	Candidates count `json:"candidatesTokenCount"`
	Thoughts   count `json:"thoughtsTokenCount"`
	Cached     count `json:"cachedContentTokenCount"`
}

// answer has the fields of all protocols that we read.
type answer struct {
	Type    string `json:"type"`
	Message struct {
		Usage *usage `json:"usage"`
	} `json:"message"`
	Response struct {
		Usage *usage `json:"usage"`
	} `json:"response"`
	Usage   *usage          `json:"usage"`
	Delta   json.RawMessage `json:"delta"`
	Choices []struct {
		Delta struct {
			Content   said `json:"content"`
			Reasoning said `json:"reasoning_content"`
			ToolCalls []struct {
				Function struct {
					Arguments said `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		Message struct {
			Content said `json:"content"`
		} `json:"message"`
	} `json:"choices"`
	Gemini     *geminiUsage `json:"usageMetadata"`
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text said            `json:"text"`
				Call json.RawMessage `json:"functionCall"`
			} `json:"parts"`
		} `json:"content"`
		Finish string `json:"finishReason"`
	} `json:"candidates"`
}

// event looks at one event of a stream.
func (s *scanner) event(data []byte) {
	if len(data) == 0 || data[0] != '{' {
		return // such as [DONE]
	}
	var a answer
	if json.Unmarshal(data, &a) != nil {
		return
	}
	switch s.kind {
	case kindMessages:
		s.take(a.Message.Usage, false)
		s.take(a.Usage, a.Type == "message_delta")
		s.delta(a.Delta)
	case kindChat:
		s.take(a.Usage, true)
		for _, choice := range a.Choices {
			s.runes += int64(choice.Delta.Content + choice.Delta.Reasoning)
			for _, tool := range choice.Delta.ToolCalls {
				s.runes += int64(tool.Function.Arguments)
			}
		}
	case kindResponses:
		s.take(a.Response.Usage, a.Response.Usage != nil && (a.Type == "response.completed" || a.Type == "response.incomplete" || a.Type == "response.failed"))
		s.delta(a.Delta)
	case kindGenerate:
		s.gemini(&a)
	case kindLook:
	}
}

// whole looks at an answer that came at once.
func (s *scanner) whole(body []byte) {
	body = bytes.TrimSpace(body)
	if s.kind == kindGenerate {
		if len(body) > 0 && body[0] == '[' { // a stream that is not one of events
			var list []json.RawMessage
			_ = json.Unmarshal(body, &list) // what cannot be read is not counted
			for _, item := range list {
				s.event(item)
			}
			return
		}
		s.event(body)
		s.final = s.reported
		return
	}
	var a answer
	if json.Unmarshal(body, &a) != nil {
		return
	}
	s.take(a.Usage, true)
	s.runes += int64(len(body)) / 2 // a rough guess, when no usage came
}

// take keeps the largest of the reported numbers: they are sums, and some
// endpoints report a part of them twice.
func (s *scanner) take(u *usage, final bool) {
	if u == nil {
		return
	}
	input, cached, output := u.Input, u.InputDetails.Cached, u.Output
	switch s.kind {
	case kindMessages:
		input, cached = u.Input+u.CacheCreation+u.CacheRead, u.CacheRead
		s.tokens.Written = max(s.tokens.Written, int64(u.CacheCreation))
	case kindChat:
		input, cached, output = u.Prompt, u.PromptDetails.Cached, u.Completion
	case kindLook, kindResponses, kindGenerate:
	}
	s.keep(input, cached, output)
	s.final = s.final || final
}

func (s *scanner) keep(input, cached, output count) {
	s.tokens.Input = max(s.tokens.Input, int64(input))
	s.tokens.Cached = max(s.tokens.Cached, int64(cached))
	s.tokens.Output = max(s.tokens.Output, int64(output))
	s.reported = s.reported || input > 0 || output > 0
}

// delta measures a piece of text: a text, or an object with texts.
func (s *scanner) delta(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var text said
	_ = text.UnmarshalJSON(raw) // it never fails
	var parts struct {
		Text     said `json:"text"`
		JSON     said `json:"partial_json"`
		Thinking said `json:"thinking"`
	}
	if raw[0] == '{' {
		_ = json.Unmarshal(raw, &parts) // what cannot be read is not measured
	}
	s.runes += int64(text + parts.Text + parts.JSON + parts.Thinking)
}

func (s *scanner) gemini(a *answer) {
	for _, c := range a.Candidates {
		for _, part := range c.Content.Parts {
			s.runes += int64(part.Text) + int64(len(part.Call))
		}
		s.final = s.final || c.Finish != "" && a.Gemini != nil
	}
	if u := a.Gemini; u != nil {
		s.keep(u.Prompt+u.ToolPrompt, u.Cached, u.Candidates+u.Thoughts)
	}
}
