package fakemodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft/internal/fakemodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "right-key"

func start(t *testing.T, opts fakemodel.Options) *fakemodel.Server {
	t.Helper()
	s, err := fakemodel.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client is one that keeps no connection.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// send posts a body and gives the status, the body and the error of reading it.
func send(t *testing.T, url, body string) (status int, text string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", key)
	response, err := client(t).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

const (
	shellSchema = `{"type":"object","properties":{"command":{"type":"string"},"description":{"type":"string"},"background":{"type":"boolean"}},"required":["command","background"]}`
	textSchema  = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
)

// dialect is how a test speaks one API.
type dialect struct {
	name, path string
	// first and second are requests before and after the tool; %s is the user's text.
	first, second string
	// tool and result are found in the answers.
	tool, usage string
	streamed    func(body string) string // makes the path or the body ask for a stream
	streamPath  string
}

func dialects() []dialect {
	ask := func(body string) string { return strings.Replace(body, `{`, `{"stream":true,`, 1) }
	chatTools := `"tools":[{"type":"function","function":{"name":"bash","parameters":` + shellSchema + `}},{"type":"function","function":{"name":"mcp_test_ping","parameters":` + textSchema + `}}]`
	return []dialect{
		{
			name: "anthropic", path: "/v1/messages", streamed: ask,
			first:  `{"model":"fake-1","system":[{"type":"text","text":"be good"}],"tools":[{"name":"Bash","input_schema":` + shellSchema + `},{"name":"mcp__test__ping","input_schema":` + textSchema + `}],"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>SAY: no</system-reminder>"},{"type":"text","text":"%s"}]}]}`,
			second: `{"model":"fake-1","tools":[{"name":"Bash","input_schema":` + shellSchema + `}],"messages":[{"role":"user","content":"%s"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"it ran"},{"type":"text","text":"<system-reminder>x</system-reminder>"}]}]}`,
			tool:   `"type":"tool_use"`, usage: `"output_tokens":20`,
		},
		{
			name: "chat", path: "/v1/chat/completions", streamed: func(body string) string {
				return ask(strings.Replace(body, `{`, `{"stream_options":{"include_usage":true},`, 1))
			},
			first:  `{"model":"fake-1",` + chatTools + `,"messages":[{"role":"system","content":"be good"},{"role":"user","content":"%s"}]}`,
			second: `{"model":"fake-1",` + chatTools + `,"messages":[{"role":"user","content":"%s"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"it ran"}]}`,
			tool:   `"tool_calls"`, usage: `"completion_tokens":20`,
		},
		{
			name: "responses", path: "/v1/responses", streamed: ask,
			first:  `{"model":"fake-1","instructions":"be good","tools":[{"type":"function","name":"exec_command","parameters":{"type":"object","properties":{"cmd":{"type":"string"}},"required":["cmd"]}},{"type":"namespace","name":"mcp__test","tools":[{"type":"function","name":"ping","parameters":` + textSchema + `}]}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]}]}`,
			second: `{"model":"fake-1","tools":[{"type":"function","name":"exec_command","parameters":{}}],"input":[{"role":"user","content":"%s"},{"type":"function_call","call_id":"a","name":"exec_command","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"it ran"}]}`,
			tool:   `"type":"function_call"`, usage: `"output_tokens":20`,
		},
		{
			name: "gemini", path: "/v1beta/models/fake-1:generateContent", streamPath: "/v1beta/models/fake-1:streamGenerateContent?alt=sse", streamed: func(body string) string { return body },
			first:  `{"systemInstruction":{"parts":[{"text":"be good"}]},"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":` + shellSchema + `},{"name":"mcp_test_ping","parameters":` + strings.ToUpper(`{"type":"object"`) + `,"properties":{"text":{"type":"STRING"}},"required":["text"]}}]}],"contents":[{"role":"user","parts":[{"text":"%s"}]}]}`,
			second: `{"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":` + shellSchema + `}]}],"contents":[{"role":"user","parts":[{"text":"%s"}]},{"role":"model","parts":[{"functionCall":{"name":"run_shell_command","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"run_shell_command","response":{"output":"it ran"}}}]}]}`,
			tool:   `"functionCall"`, usage: `"candidatesTokenCount":20`,
		},
	}
}

// url is where the requests of a dialect go.
func (d dialect) url(s *fakemodel.Server, stream bool) string {
	if stream && d.streamPath != "" {
		return s.Gemini() + d.streamPath
	}
	return s.Anthropic() + d.path
}

func (d dialect) ask(t *testing.T, s *fakemodel.Server, body, text string, stream bool) string {
	t.Helper()
	quoted, _ := json.Marshal(text)
	body = strings.Replace(body, "%s", string(bytes.Trim(quoted, `"`)), 1)
	if stream {
		body = d.streamed(body)
	}
	status, got, err := send(t, d.url(s, stream), body)
	if err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, got)
	}
	if stream != strings.HasPrefix(got, "data: ") && stream != strings.HasPrefix(got, "event: ") {
		t.Errorf("stream %v: %s", stream, got)
	}
	return got
}

func TestX12FakeModelToolThenText(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		for _, stream := range []bool{false, true} {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				s := start(t, fakemodel.Options{Key: key})
				got := d.ask(t, s, d.first, "please RUN: echo one", stream)
				if !strings.Contains(got, d.tool) || !strings.Contains(got, d.usage) {
					t.Errorf("first answer has no %s or no %s: %s", d.tool, d.usage, got)
				}
				got = d.ask(t, s, d.second, "please RUN: echo one", stream)
				if strings.Contains(got, d.tool) || !strings.Contains(join(got), fakemodel.FinalText) && !stream {
					t.Errorf("second answer: %s", got)
				}
				want := fakemodel.CallUsage().Plus(fakemodel.TextUsage())
				if got := s.Usage("fake-1"); got != want {
					t.Errorf("usage %+v, want %+v", got, want)
				}
				requests := s.Requests()
				if len(requests) != 2 || requests[0].Key != key || requests[0].Model != "fake-1" || requests[1].Conversation.Stream != stream {
					t.Errorf("requests %+v", requests)
				}
				if text, results := requests[1].Conversation.Asked(); text != "please RUN: echo one" || results != 1 {
					t.Errorf("asked %q with %d results", text, results)
				}
			})
		}
	}
}

func join(s string) string { return strings.ReplaceAll(s, "\\u003e", ">") }

// What a step asks for is in the answer, as the tool that is offered wants it.
func TestX12FakeModelSteps(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"RUN: echo one":     "echo one",
		"please SLOW":       "sleep 300",
		"hello":             "hello-from-tool",
		"MCP: ping over":    `over`,
		"SAY: good bye":     "good bye",
		"MCP: nothing here": "There is no tool for MCP nothing here",
		"THINK: well\nhi":   "well",
	}
	for _, d := range dialects() {
		for text, want := range tests {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				s := start(t, fakemodel.Options{})
				if got := join(d.ask(t, s, d.first, text, false)); !strings.Contains(got, want) {
					t.Errorf("%q: no %q in %s", text, want, got)
				}
			})
		}
	}
}

func TestX12FakeModelShapesArguments(t *testing.T) {
	t.Parallel()
	c := fakemodel.Conversation{
		Tools: []fakemodel.Tool{
			{Name: "shell", Schema: map[string]any{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "array"}}}},
			{Name: "todowrite", Schema: map[string]any{"properties": map[string]any{"todos": map[string]any{"type": "array", "items": map[string]any{
				"properties": map[string]any{"content": map[string]any{"type": "string"}, "status": map[string]any{"type": "string"}},
			}}}}},
		},
	}
	says := func(text string) string {
		c.Messages = []fakemodel.Message{{Role: "user", Text: text}}
		raw, _ := json.Marshal(fakemodel.Usual(c).Calls[0].Arguments)
		return string(raw)
	}
	for text, want := range map[string]string{
		"RUN: ls":                `"command":["bash","-lc","ls"]`,
		"PLAN":                   `{"todos":[{"content":"read the task","status":"in_progress"},{"content":"do it","status":"pending"}]}`,
		`TOOL: shell {"a":[1]}`:  `{"a":[1]}`,
		"LOOP":                   "echo again",
		"RUN: first\nRUN: other": `"first"`,
	} {
		if got := says(text); !strings.Contains(got, want) {
			t.Errorf("%q: %s has no %s", text, got, want)
		}
	}
	c.Schema = map[string]any{"type": "object", "required": []any{"a", "b"}, "properties": map[string]any{
		"a": map[string]any{"type": "string", "enum": []any{"low", "high"}}, "b": map[string]any{"type": "integer"}, "c": map[string]any{"type": "string"},
	}}
	if got := fakemodel.Usual(c).Text; got != `{"a":"low","b":1}` {
		t.Errorf("answer of a shape: %s", got)
	}
}

// Steps go on after each result, LOOP never ends, and a follow-up begins again.
func TestX12FakeModelStepsInTurn(t *testing.T) {
	t.Parallel()
	shell := fakemodel.Tool{Name: "bash"}
	call := fakemodel.Message{Role: "assistant", Calls: []fakemodel.Call{{Name: "bash"}}}
	result := fakemodel.Message{Role: "tool", Results: []fakemodel.Result{{Text: "ok"}}}
	said := func(role, text string) fakemodel.Message { return fakemodel.Message{Role: role, Text: text} }
	tests := map[string]struct {
		messages []fakemodel.Message
		command  string
		text     string
	}{
		"second step":   {[]fakemodel.Message{said("user", "RUN: a\nRUN: b\nSAY: bye"), call, result}, "b", ""},
		"all done":      {[]fakemodel.Message{said("user", "RUN: a\nRUN: b\nSAY: bye"), call, result, call, result}, "", "bye"},
		"loop":          {[]fakemodel.Message{said("user", "LOOP"), call, result, call, result}, "echo again", ""},
		"follow-up":     {[]fakemodel.Message{said("user", "RUN: a"), call, result, said("assistant", "x"), said("user", "RUN: c")}, "c", ""},
		"after a break": {[]fakemodel.Message{said("user", "SLOW"), call, result, said("user", "RUN: d")}, "d", ""},
		"cut off":       {[]fakemodel.Message{said("user", "SLOW"), said("user", "RUN: f")}, "f", ""},
		"two at once":   {[]fakemodel.Message{said("user", "context"), said("user", "RUN: e")}, "e", ""},
	}
	for name, test := range tests {
		reply := fakemodel.Usual(fakemodel.Conversation{Tools: []fakemodel.Tool{shell}, Messages: test.messages})
		command := ""
		if len(reply.Calls) > 0 {
			command, _ = reply.Calls[0].Arguments["command"].(string)
		}
		if command != test.command || reply.Text != test.text {
			t.Errorf("%s: %+v", name, reply)
		}
	}
	if reply := fakemodel.Usual(fakemodel.Conversation{Messages: []fakemodel.Message{said("user", "LONG")}}); len(reply.Text) != 100_000 {
		t.Errorf("%d characters", len(reply.Text))
	}
}

func TestX12FakeModelChecksTheKey(t *testing.T) {
	t.Parallel()
	s := start(t, fakemodel.Options{Key: "another"})
	for _, d := range dialects() {
		status, body, err := send(t, d.url(s, false), d.first)
		if err != nil || status != http.StatusUnauthorized || !strings.Contains(body, "the key is wrong") {
			t.Errorf("%s: %d %s %v", d.name, status, body, err)
		}
	}
	if usage := s.Usage(""); usage != (fakemodel.Usage{}) {
		t.Errorf("usage %+v", usage)
	}
}

func TestX12FakeModelKeysAndLists(t *testing.T) {
	t.Parallel()
	s := start(t, fakemodel.Options{Key: key, Models: []string{"m-1", "m-2"}})
	tests := []struct{ path, header, value, want string }{
		{"/v1/models", "Authorization", "Bearer " + key, `"id":"m-2"`},
		{"/v1/models", "X-Api-Key", key, `"id":"m-1"`},
		{"/v1beta/models", "X-Goog-Api-Key", key, `"name":"models/m-1"`},
		{"/v1beta/models?key=" + key, "Accept", "*/*", `"name":"models/m-2"`},
	}
	for _, test := range tests {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Anthropic()+test.path, http.NoBody)
		request.Header.Set(test.header, test.value)
		response, err := client(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || !strings.Contains(string(body), test.want) {
			t.Errorf("%+v: %d %s", test, response.StatusCode, body)
		}
	}
	for path, want := range map[string]string{"/v1/messages/count_tokens": `"input_tokens":200`, "/v1beta/models/x:countTokens": `"totalTokens":200`} {
		if status, body, err := send(t, s.Anthropic()+path, `{}`); err != nil || status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s %v", path, status, body, err)
		}
	}
	if status, _, _ := send(t, s.Anthropic()+"/v1/nothing", `{}`); status != http.StatusNotFound {
		t.Errorf("a path that is not there: %d", status)
	}
	if status, _, _ := send(t, s.Anthropic()+"/v1/messages", `{`); status != http.StatusBadRequest {
		t.Errorf("a body that is no JSON: %d", status)
	}
}

// The vendors count tokens from a cache in different ways.
func TestX12FakeModelCachedTokens(t *testing.T) {
	t.Parallel()
	s := start(t, fakemodel.Options{Cached: 30})
	want := map[string]string{
		"anthropic": `"cache_read_input_tokens":30,"input_tokens":70`,
		"chat":      `"cached_tokens":30},"total_tokens":120`,
		"responses": `"input_tokens":100,"input_tokens_details":{"cached_tokens":30}`,
		"gemini":    `"cachedContentTokenCount":30,"candidatesTokenCount":20,"promptTokenCount":100`,
	}
	for _, d := range dialects() {
		got := d.ask(t, s, d.first, "x", false)
		if got = strings.ReplaceAll(got, `"cache_creation_input_tokens":0,`, ""); !strings.Contains(got, want[d.name]) {
			t.Errorf("%s: no %s in %s", d.name, want[d.name], got)
		}
	}
	if got := s.Usage(""); got != (fakemodel.Usage{Input: 400, Cached: 120, Output: 80}) {
		t.Errorf("usage %+v", got)
	}
}

func TestX12FakeModelAwait(t *testing.T) {
	t.Parallel()
	s := start(t, fakemodel.Options{})
	one := func(requests []fakemodel.Request) bool { return len(requests) == 1 }
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Await(ctx, one); err == nil {
		t.Error("a request that never came was awaited")
	}
	came := make(chan error)
	go func() { came <- s.Await(t.Context(), one) }()
	d := dialects()[0]
	d.ask(t, s, d.first, "x", true)
	if err := <-came; err != nil {
		t.Error(err)
	}
}
