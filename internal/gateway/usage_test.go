package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/model"
)

// stream makes events of data lines.
func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// answers are what the vendors' APIs say, whole and as streams, each with 1,000
// tokens read, 400 of them cached, and 50 written.
func answers() map[string]struct{ path, body, media, answer string } {
	type a = struct{ path, body, media, answer string }
	const text = "application/json"
	return map[string]a{
		"messages": {
			"/anthropic/v1/messages", `{"model":"m1","messages":[]}`, text,
			`{"type":"message","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":500,"cache_creation_input_tokens":100,"cache_read_input_tokens":400,"output_tokens":50}}`,
		},
		"messages stream": {
			"/anthropic/v1/messages", `{"model":"m1","stream":true}`, eventStream,
			"event: message_start\n" + stream(`{"type":"message_start","message":{"usage":{"input_tokens":500,"cache_creation_input_tokens":100,"cache_read_input_tokens":400,"output_tokens":1}}}`) +
				stream(`{"type":"ping"}`, `{"type":"content_block_delta","delta":{"type":"text_delta","text":"hello"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":50}}`, `{"type":"message_stop"}`),
		},
		"chat": {
			"/openai/v1/chat/completions", `{"model":"m1"}`, text,
			`{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":1000,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":400}}}`,
		},
		"chat stream": {
			"/openai/v1/chat/completions", `{"model":"m1","stream":true}`, eventStream,
			stream(`{"choices":[{"delta":{"content":"hello"}}],"usage":null}`, `{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":400}}}`, `[DONE]`),
		},
		"responses": {
			"/openai/v1/responses", `{"model":"m1"}`, text,
			`{"object":"response","usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":400},"output_tokens":50}}`,
		},
		"responses stream": {
			"/openai/v1/responses", `{"model":"m1","stream":true}`, eventStream,
			stream(`{"type":"response.created","response":{"usage":null}}`, `{"type":"response.output_text.delta","delta":"hello"}`,
				`{"type":"response.completed","response":{"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":400},"output_tokens":50}}}`),
		},
		"generate": {
			"/gemini/v1beta/models/m1:generateContent", `{"contents":[]}`, text,
			`{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":900,"toolUsePromptTokenCount":100,"candidatesTokenCount":30,"thoughtsTokenCount":20,"cachedContentTokenCount":400}}`,
		},
		"generate stream": {
			"/gemini/v1beta/models/m1:streamGenerateContent?alt=sse", `{"contents":[]}`, eventStream,
			stream(`{"candidates":[{"content":{"parts":[{"text":"h"}]}}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":3,"cachedContentTokenCount":400}}`,
				`{"candidates":[{"content":{"parts":[{"text":"i"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":50,"cachedContentTokenCount":400}}`),
		},
		"generate list": {
			"/gemini/v1beta/models/m1:streamGenerateContent", `{"contents":[]}`, text,
			`[{"candidates":[{"content":{"parts":[{"text":"h"}]}}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":3}},
{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":50,"cachedContentTokenCount":400}}]`,
		},
	}
}

// costOfOne is 600 tokens at 2, 400 at 0.5 and 50 at 10 dollars per million.
const costOfOne = 600*2 + 400/2 + 50*10

func TestX12EveryProtocolIsCounted(t *testing.T) {
	t.Parallel()
	for name, a := range answers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, say(a.media, a.answer))
			for range 3 {
				resp, got := r.post(a.path, a.body)
				if resp.StatusCode != http.StatusOK || got != a.answer || !strings.HasPrefix(resp.Header.Get("Content-Type"), strings.Split(a.media, ";")[0]) {
					t.Fatalf("answer %d %v:\n%s\nwant\n%s", resp.StatusCode, resp.Header, got, a.answer)
				}
			}
			counted := r.counted()
			want := lineshaft.UsageData{ModelID: "m1", InputTokens: 1000, CachedInputTokens: 400, OutputTokens: 50, CostMicros: costOfOne}
			if len(counted) != 3 {
				t.Fatalf("counted %+v", counted)
			}
			for _, got := range counted {
				if got != want {
					t.Errorf("counted %+v, want %+v", got, want)
				}
			}
			r.Pause(0) // what is counted last comes after the answer
			if r.spent != (lineshaft.Usage{InputTokens: 3000, OutputTokens: 150, CostMicros: 3 * costOfOne}) || !r.Counts() {
				t.Errorf("sum is %+v", r.spent)
			}
		})
	}
}

// TestX12CacheWritesHaveTheirPrice: 500 tokens at 2, 100 at 2.5, 400 at 0.5 and 50 at
// 10 dollars per million.
func TestX12CacheWritesHaveTheirPrice(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"messages", "messages stream"} {
		a := answers()[name]
		r := newRig(t, say(a.media, a.answer), func(c *Config, _ *SessionConfig) {
			c.Models.Endpoints[0].Prices = map[string]model.Price{"m1": {Input: 2_000_000, Output: 10_000_000, CachedInput: 500_000, CacheWrite: 2_500_000}}
		})
		r.post(a.path, a.body)
		if got := r.counted(); len(got) != 1 || got[0].InputTokens != 1000 || got[0].CostMicros != costOfOne+50 {
			t.Errorf("%s: counted %+v", name, got)
		}
	}
}

func TestX12StreamIsAskedForItsUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t, say(eventStream, stream("[DONE]")))
	r.post("/openai/v1/chat/completions", `{"model":"m1","stream":true,"stream_options":{"include_usage":false,"other":1}}`)
	r.post("/openai/v1/chat/completions", `{"model":"m1","stream":true}`)
	r.post("/openai/v1/chat/completions", `{"model":"m1"}`)
	for i, want := range []string{`{"model":"m1","stream":true,"stream_options":{"include_usage":true,"other":1}}`, `{"model":"m1","stream":true,"stream_options":{"include_usage":true}}`, `{"model":"m1"}`} {
		if _, got := r.request(i); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
	}
}

// TestX12WithoutUsageAnEstimate: endpoints that report nothing are counted by their text.
func TestX12WithoutUsageAnEstimate(t *testing.T) {
	t.Parallel()
	r := newRig(t, say(eventStream, stream(`{"choices":[{"delta":{"content":"`+strings.Repeat("word ", 80)+`"}}]}`, "[DONE]")))
	r.post("/openai/v1/chat/completions", `{"model":"m2","stream":true,"messages":"`+strings.Repeat("x", 4000)+`"}`)
	got := r.counted()
	if len(got) != 1 || !got[0].Estimated || !got[0].CostUnknown || got[0].CostMicros != 0 || got[0].OutputTokens != 100 || got[0].InputTokens < 1000 || got[0].InputTokens > 1100 {
		t.Errorf("counted %+v", got)
	}
}

func TestX12NothingIsCountedForRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error":{"message":"slow down, ` + realKey + `"}}`))
	})
	resp, body := r.post("/anthropic/v1/messages", `{"model":"m1"}`)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "7" || !strings.Contains(body, "slow down") {
		t.Errorf("answer %d %v %s", resp.StatusCode, resp.Header, body)
	}
	if got := r.counted(); len(got) != 0 {
		t.Errorf("counted %+v", got)
	}
}

func TestX12LooksAreFree(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{"input_tokens":5,"usage":{"input_tokens":9}}`), budget(lineshaft.Budget{MaxTokens: 1}, lineshaft.Usage{InputTokens: 5}))
	for _, path := range []string{"/anthropic/v1/messages/count_tokens", "/gemini/v1beta/models/m1:countTokens"} {
		if resp, body := r.post(path, `{"model":"m1"}`); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if got := r.counted(); len(got) != 0 || r.Counts() {
		t.Errorf("counted %+v", got)
	}
}

func TestX12UsageNumbersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"usage":{"prompt_tokens":-5,"completion_tokens":"many","prompt_tokens_details":{"cached_tokens":99}}}`, `{"usage":7}`, `null`, `[]`, `{`, ``, `{"usage":{"prompt_tokens":1e300}}`,
	} {
		s := scanner{kind: kindChat}
		s.event([]byte(raw))
		s.whole([]byte(raw))
		if got := s.tokens.Bounded(); got.Total() != 0 || got.Cached != 0 {
			t.Errorf("%s counts %+v", raw, got)
		}
	}
}

func FuzzUsage(f *testing.F) {
	for _, a := range answers() {
		f.Add(a.answer)
	}
	f.Add(`data: {"usage":{"prompt_tokens":99999999999999999999,"completion_tokens":-1}}`)
	price := model.Price{Input: model.MaxPrice, Output: model.MaxPrice, CachedInput: model.MaxPrice}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []kind{kindLook, kindMessages, kindChat, kindResponses, kindGenerate} {
			s := scanner{kind: kind}
			for line := range strings.Lines(text) {
				s.event([]byte(strings.TrimSpace(strings.TrimPrefix(line, "data:"))))
			}
			s.whole([]byte(text))
			tokens := s.tokens.Bounded()
			if tokens.Input < 0 || tokens.Output < 0 || tokens.Cached > tokens.Input || price.Cost(tokens) < 0 || s.estimate() < 0 {
				t.Errorf("%d: %+v", kind, s)
			}
			if s.estimate() > int64(2*len(text))+1 {
				t.Errorf("%d: %d tokens in %d bytes", kind, s.estimate(), len(text))
			}
		}
	})
}
