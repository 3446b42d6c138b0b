package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
	"github.com/lineshaft/lineshaft/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client serves one answer and gives a client for it.
func client(t *testing.T, protocol model.Protocol, options chat.Options, handle http.HandlerFunc) chat.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	options.URL, options.Key, options.Model, options.Transport = server.URL, "key-1", "model-1", transport
	if options.FirstByte == 0 {
		options.FirstByte = time.Minute
	}
	if options.Idle == 0 {
		options.Idle = time.Minute
	}
	c, err := chat.New(protocol, options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stream answers with events, each a line of data.
func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			_, _ = io.WriteString(w, "event: some\ndata: "+event+"\n\n")
		}
	}
}

func ask(t *testing.T, c chat.Client, request chat.Request) (chat.Answer, []chat.Delta, error) {
	t.Helper()
	var deltas []chat.Delta
	answer, err := c.Stream(t.Context(), request, func(d chat.Delta) { deltas = append(deltas, d) })
	return answer, deltas, err
}

// describe is an answer in a line.
func describe(answer chat.Answer) string {
	message, err := json.Marshal(answer.Message)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %d %d %s", message, answer.Usage.Input, answer.Usage.Output, answer.Stop)
}

func conversation() chat.Request {
	return chat.Request{
		System: "be good", MaxTokens: 100, Effort: "low",
		Tools: []chat.Tool{{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []chat.Message{
			{Role: chat.User, Text: "hello"},
			{
				Role: chat.Assistant, Text: "I look", Thinking: []chat.Thinking{{Text: "hm", Signature: "s1"}, {Redacted: "r1"}, {Text: "no seal"}},
				Calls: []chat.Call{{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"at":1}`)}},
			},
			{Role: chat.User, Results: []chat.Result{{ID: "c1", Text: "nothing", Failed: true}}},
			{Role: chat.User, Text: "go on"},
			{Role: chat.Assistant},
		},
	}
}

func TestX6AnthropicRequest(t *testing.T) {
	t.Parallel()
	var got, path, key, version string
	c := client(t, model.Anthropic, chat.Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, path, key, version = string(body), r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version")
		stream(`{"type":"message_stop"}`)(w, r)
	})
	if _, _, err := ask(t, c, conversation()); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"model-1","max_tokens":2148,"stream":true,"system":[{"type":"text","text":"be good","cache_control":{"type":"ephemeral"}}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"hello"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s1"},{"type":"redacted_thinking","data":"r1"},{"type":"text","text":"I look"},{"type":"tool_use","id":"c1","name":"look","input":{"at":1}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"nothing","is_error":true},{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}],` +
		`"tools":[{"name":"look","description":"looks","input_schema":{"type":"object"}}],"thinking":{"type":"enabled","budget_tokens":2048}}`
	if got != want {
		t.Errorf("request\n%s, want\n%s", got, want)
	}
	if path != "/v1/messages" || key != "key-1" || version != "2023-06-01" {
		t.Errorf("path %q, key %q, version %q", path, key, version)
	}
}

func TestX6OpenAIRequest(t *testing.T) {
	t.Parallel()
	var got, path, key string
	c := client(t, model.OpenAI, chat.Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, path, key = string(body), r.URL.Path, r.Header.Get("Authorization")
		stream(`[DONE]`)(w, r)
	})
	if _, _, err := ask(t, c, conversation()); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"model-1","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"be good"},{"role":"user","content":"hello"},` +
		`{"role":"assistant","content":"I look","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}]},` +
		`{"role":"tool","content":"nothing","tool_call_id":"c1"},{"role":"user","content":"go on"}],` +
		`"tools":[{"type":"function","function":{"name":"look","description":"looks","parameters":{"type":"object"}}}],"reasoning_effort":"low"}`
	if got != want {
		t.Errorf("request\n%s, want\n%s", got, want)
	}
	if path != "/chat/completions" || key != "Bearer key-1" {
		t.Errorf("path %q, key %q", path, key)
	}
}

func TestX6AnthropicAnswer(t *testing.T) {
	t.Parallel()
	c := client(t, model.Anthropic, chat.Options{}, stream(
		`{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}`,
		`{"type":"content_block_stop","index":0}`, `{"type":"ping"}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I "}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"look","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"at\""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":1}"}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c2","name":"list","input":{}}}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"redacted_thinking","data":"r1"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}`,
		`{"type":"message_stop"}`,
	))
	answer, deltas, err := ask(t, c, conversation())
	if err != nil {
		t.Fatal(err)
	}
	got := describe(answer)
	want := `{"role":"assistant","text":"I look","thinking":[{"text":"hm","signature":"s1"},{"redacted":"r1"}],` +
		`"calls":[{"id":"c1","name":"look","arguments":{"at":1}},{"id":"c2","name":"list","arguments":{}}]} 17 20 tools`
	if got != want {
		t.Errorf("answer\n%s, want\n%s", got, want)
	}
	if got := fmt.Sprint(deltas); got != `[{thought hm} {text I } {text look}]` {
		t.Errorf("deltas %s", got)
	}
}

func TestX6OpenAIAnswer(t *testing.T) {
	t.Parallel()
	call := func(s string) string { return `{"choices":[{"index":0,"delta":{"tool_calls":[` + s + `]}}]}` }
	c := client(t, model.OpenAI, chat.Options{}, stream(
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"hm"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"I look"}}]}`,
		call(`{"index":1,"id":"c2","type":"function","function":{"name":"list","arguments":""}}`),
		call(`{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\""}}`),
		call(`{"index":0,"function":{"arguments":":1}"}}`),
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":17,"completion_tokens":20}}`, `[DONE]`,
	))
	answer, deltas, err := ask(t, c, conversation())
	if err != nil {
		t.Fatal(err)
	}
	got := describe(answer)
	want := `{"role":"assistant","text":"I look","calls":[{"id":"c1","name":"look","arguments":{"at":1}},{"id":"c2","name":"list","arguments":{}}]} 17 20 tools`
	if got != want {
		t.Errorf("answer\n%s, want\n%s", got, want)
	}
	if got := fmt.Sprint(deltas); got != `[{thought hm} {text I look}]` {
		t.Errorf("deltas %s", got)
	}
}

// Servers of local models bend the protocol in these ways.
func TestX6OpenAIDialects(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		events []string
		want   string
	}{
		"whole calls without index": {
			[]string{
				`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{}"}},{"id":"b","function":{"name":"list","arguments":"{}"}}]}}]}`,
				`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`,
			}, `tools a:look{} b:list{}`,
		},
		"no last word":        {[]string{`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`}, `end x`},
		"cut at its length":   {[]string{`{"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}`, `[DONE]`}, `length x`},
		"filtered":            {[]string{`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, `[DONE]`}, `refused `},
		"arguments no object": {[]string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"[1"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`}, `tools a:look{}![1`},
		"null error":          {[]string{`{"error":null,"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`, `[DONE]`}, `end x`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, _, err := ask(t, client(t, model.OpenAI, chat.Options{}, stream(test.events...)), conversation())
			got := answer.Stop + " " + answer.Message.Text
			for i, call := range answer.Message.Calls {
				if i > 0 {
					got += " "
				}
				got += call.ID + ":" + call.Name + string(call.Arguments)
				if call.Broken != "" {
					got += "!" + call.Broken
				}
			}
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestX13AnswersThatAreNone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		header string
		body   string
		kind   chat.Kind
		says   string
		after  time.Duration
		window int
	}{
		"busy":             {429, "7", `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, chat.Transient, "status 429: slow down", 7 * time.Second, 0},
		"busy, half":       {429, "0.5", `{"error":{"message":"slow"}}`, chat.Transient, "slow", 500 * time.Millisecond, 0},
		"overloaded":       {529, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, chat.Transient, "Overloaded", 0, 0},
		"broken":           {500, "", `<html>`, chat.Transient, "<html>", 0, 0},
		"gateway":          {503, "", ``, chat.Transient, "Service Unavailable", 0, 0},
		"not made":         {501, "", ``, chat.Refused, "501", 0, 0},
		"key":              {401, "", `{"error":{"message":"invalid x-api-key"}}`, chat.Denied, "invalid x-api-key", 0, 0},
		"may not":          {403, "", `{"error":"no"}`, chat.Denied, "no", 0, 0},
		"budget":           {403, "", `{"type":"about:blank","title":"Budget exceeded","code":"budget_exceeded","detail":"100 tokens"}`, chat.Spent, "100 tokens", 0, 0},
		"budget, inner":    {429, "", `{"error":{"type":"budget_exceeded","message":"spent"}}`, chat.Spent, "spent", 0, 0},
		"no price":         {403, "", `{"error":{"type":"permission_error","code":"price_unknown","message":"no price for model-1"}}`, chat.Refused, "no price for", 0, 0},
		"payment":          {402, "", ``, chat.Spent, "402", 0, 0},
		"long, anthropic":  {400, "", `{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, chat.TooLong, "too long", 0, 200000},
		"long, openai":     {400, "", `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}}`, chat.TooLong, "8192", 0, 8192},
		"long, local":      {500, "", `{"error":{"message":"the request exceeds the available context size"}}`, chat.TooLong, "context size", 0, 0},
		"too large":        {413, "", ``, chat.TooLong, "413", 0, 0},
		"unknown model":    {404, "", `{"error":{"type":"not_found_error","message":"model: nope"}}`, chat.Refused, "model: nope", 0, 0},
		"numeric code":     {400, "", `{"error":{"code":400,"message":"bad"}}`, chat.Refused, "bad", 0, 0},
		"detail is a list": {422, "", `{"detail":[{"msg":"x"}]}`, chat.Refused, `"msg"`, 0, 0},
		"elsewhere":        {307, "", ``, chat.Refused, "307", 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, protocol := range []model.Protocol{model.Anthropic, model.OpenAI} {
				_, _, err := ask(t, client(t, protocol, chat.Options{}, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", test.header)
					w.Header().Set("Location", "http://example.invalid/")
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.body)
				}), conversation())
				e, ok := errors.AsType[*chat.Error](err)
				if !ok || e.Kind != test.kind || e.RetryAfter != test.after || e.Window != test.window || !strings.Contains(e.Error(), test.says) {
					t.Errorf("%s: %#v, want %+v", protocol, err, test)
				}
			}
		})
	}
}

// A refusal of the worker's gateway is distinguished from one of the endpoint.
func TestX12RefusalsOfTheGateway(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"price_unknown", ""} {
		_, _, err := ask(t, client(t, model.OpenAI, chat.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Lineshaft-Code", code)
			w.WriteHeader(http.StatusNotFound)
		}), conversation())
		if e, ok := errors.AsType[*chat.Error](err); !ok || e.Code != code {
			t.Errorf("%#v, want code %q", err, code)
		}
	}
}

func TestX13StreamsThatGoWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		protocol model.Protocol
		events   []string
		kind     chat.Kind
		says     string
	}{
		{"anthropic cut", model.Anthropic, []string{`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`}, chat.Transient, "cut off"},
		{"openai cut", model.OpenAI, []string{`{"choices":[{"delta":{"content":"x"}}]}`}, chat.Transient, "cut off"},
		{"empty", model.OpenAI, nil, chat.Transient, "cut off"},
		{"anthropic error", model.Anthropic, []string{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, chat.Transient, "Overloaded"},
		{"anthropic refused", model.Anthropic, []string{`{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`}, chat.Refused, "bad"},
		{"anthropic key", model.Anthropic, []string{`{"type":"error","error":{"type":"authentication_error","message":"bad"}}`}, chat.Denied, "bad"},
		{"openai error", model.OpenAI, []string{`{"error":{"message":"worker died","code":500}}`}, chat.Transient, "worker died"},
		{"openai error at the end", model.OpenAI, []string{`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `{"error":{"message":"worker died"}}`}, chat.Transient, "worker died"},
		{"budget", model.OpenAI, []string{`{"error":{"code":"budget_exceeded","message":"spent"}}`}, chat.Spent, "spent"},
		{"long", model.OpenAI, []string{`{"error":{"message":"maximum context length is 4096"}}`}, chat.TooLong, "4096"},
		{"no json", model.OpenAI, []string{`{`}, chat.Transient, "cannot be read"},
		{"no json", model.Anthropic, []string{`{`}, chat.Transient, "cannot be read"},
	} {
		t.Run(string(test.protocol)+" "+test.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := ask(t, client(t, test.protocol, chat.Options{}, stream(test.events...)), conversation())
			if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != test.kind || !strings.Contains(e.Error(), test.says) {
				t.Errorf("%v, want %s %q", err, test.kind, test.says)
			}
		})
	}
}

func TestX6NoStream(t *testing.T) {
	t.Parallel()
	_, _, err := ask(t, client(t, model.OpenAI, chat.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[]}`)
	}), conversation())
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Refused || !strings.Contains(e.Error(), "did not answer with a stream") {
		t.Errorf("%v", err)
	}
}

// An answer without end is refused.
func TestX13EndlessAnswers(t *testing.T) {
	t.Parallel()
	var ended error
	for _, protocol := range []model.Protocol{model.Anthropic, model.OpenAI} {
		done := make(chan struct{})
		_, _, err := ask(t, client(t, protocol, chat.Options{MaxAnswer: 100_000}, func(w http.ResponseWriter, r *http.Request) {
			defer close(done)
			_, _ = io.Copy(io.Discard, r.Body)
			for ended == nil {
				_, ended = io.WriteString(w, "data: {\"type\":\"ping\",\"choices\":[{\"delta\":{\"content\":\"more\"}}]}\n\n")
			}
		}), conversation())
		<-done
		if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Refused || !strings.Contains(e.Error(), "more than 100000 bytes") {
			t.Errorf("%s: %v", protocol, err)
		}
		ended = nil
	}
}

// An endpoint that takes the request and says nothing, or stops in the middle.
func TestX13SilentEndpoints(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options chat.Options
		first   string
	}{
		"from the beginning": {chat.Options{FirstByte: 20 * time.Millisecond}, ""},
		"in the middle":      {chat.Options{Idle: 20 * time.Millisecond}, "data: {\"type\":\"ping\"}\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := ask(t, client(t, model.Anthropic, test.options, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if test.first != "" {
					_, _ = io.WriteString(w, test.first)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}), conversation())
			if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Transient || !strings.Contains(e.Error(), "sent nothing") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestX13NoConnection(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	c, err := chat.New(model.OpenAI, chat.Options{
		URL: "http://" + listener.Addr().String(), Transport: &http.Transport{}, FirstByte: time.Minute, Idle: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = ask(t, c, conversation())
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Transient || !strings.Contains(e.Error(), "no connection") {
		t.Errorf("%v", err)
	}
}

func TestR8StreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("interrupted by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := client(t, model.OpenAI, chat.Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	if _, err := c.Stream(ctx, conversation(), func(chat.Delta) { cancel(cause) }); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

func TestX6UnknownProtocol(t *testing.T) {
	t.Parallel()
	if _, err := chat.New(model.Gemini, chat.Options{}); err == nil {
		t.Error("a client for a protocol that is not spoken")
	}
}
