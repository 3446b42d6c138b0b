package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func TestMain(m *testing.M) {
	if code, ok := harnesstest.Supervise(context.Background()); ok {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "tool-server" {
		os.Exit(toolServer(context.Background()))
	}
	goleak.VerifyTestMain(m)
}

// reply is one scripted answer of an endpoint.
type reply struct {
	thought string
	text    string
	calls   []call
	// sameID is given to all calls (OpenAI).
	sameID *string
	// length says that the answer was cut at its greatest length.
	length bool
	input  int
	// cut ends the stream early; hang leaves it open.
	cut, hang bool
	status    int
	after     string
	body      string
	// first is called before anything is sent.
	first func()
}

type call struct {
	name string
	args string
}

func say(text string) reply { return reply{text: text} }

func use(name string, args any) reply {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return reply{calls: []call{{name, string(raw)}}}
}

type object = map[string]any

// endpoint is a model that follows a script, in either protocol.
type endpoint struct {
	protocol model.Protocol
	url      string

	// counts makes it report the size of requests, as endpoints do; else it says 10 tokens.
	counts bool

	mu       sync.Mutex
	script   []reply
	requests []object
}

// serve starts one. A request past the end of the script is refused.
func serve(t *testing.T, protocol model.Protocol, script ...reply) *endpoint {
	t.Helper()
	e := &endpoint{protocol: protocol, script: slices.Clone(script)}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.url = server.URL
	return e
}

func (e *endpoint) next(r *http.Request) reply {
	var request object
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &request)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, request)
	if len(e.script) == 0 {
		return reply{status: http.StatusTeapot, body: `{"error":{"message":"the script is over"}}`}
	}
	next := e.script[0]
	e.script = e.script[1:]
	if next.input = 10; e.counts {
		next.input = len(raw) / 4
	}
	return next
}

func (e *endpoint) asked() []object {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

// last is the text of the last request, to look for words in.
func (e *endpoint) last() string {
	all := e.asked()
	raw, _ := json.Marshal(all[len(all)-1]["messages"])
	return string(raw)
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	next := e.next(r)
	if next.first != nil {
		next.first()
	}
	if next.status != 0 {
		w.Header().Set("Retry-After", next.after)
		w.WriteHeader(next.status)
		_, _ = io.WriteString(w, next.body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	events := e.events(next)
	if next.cut || next.hang {
		events = events[:len(events)-2]
	}
	for _, event := range events {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
	}
	_ = http.NewResponseController(w).Flush()
	if next.hang {
		<-r.Context().Done()
	}
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func (e *endpoint) events(r reply) []string {
	if e.protocol == model.OpenAI {
		return openAIEvents(r, len(e.asked()))
	}
	return anthropicEvents(r, len(e.asked()))
}

func anthropicEvents(r reply, number int) []string {
	out := []string{encode(object{"type": "message_start", "message": object{"usage": object{"input_tokens": r.input}}})}
	index := 0
	block := func(start, delta object) {
		out = append(out, encode(object{"type": "content_block_start", "index": index, "content_block": start}))
		out = append(out, encode(object{"type": "content_block_delta", "index": index, "delta": delta}))
		index++
	}
	if r.thought != "" {
		block(object{"type": "thinking"}, object{"type": "thinking_delta", "thinking": r.thought})
	}
	if r.text != "" {
		block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": r.text})
	}
	stop := "end_turn"
	for i, c := range r.calls {
		block(object{"type": "tool_use", "id": fmt.Sprintf("c%d-%d", number, i), "name": c.name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": c.args})
		stop = "tool_use"
	}
	if r.length {
		stop = "max_tokens"
	}
	return append(out,
		encode(object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 5}}),
		`{"type":"message_stop"}`)
}

func openAIEvents(r reply, number int) []string {
	var out []string
	delta := func(d object, finish any) {
		out = append(out, encode(object{"choices": []object{{"index": 0, "delta": d, "finish_reason": finish}}}))
	}
	if r.thought != "" {
		delta(object{"reasoning_content": r.thought}, nil)
	}
	if r.text != "" {
		delta(object{"content": r.text}, nil)
	}
	stop := "stop"
	for i, c := range r.calls {
		id := fmt.Sprintf("c%d-%d", number, i)
		if r.sameID != nil {
			id = *r.sameID
		}
		delta(object{"tool_calls": []object{{"index": i, "id": id, "function": object{"name": c.name, "arguments": c.args}}}}, nil)
		stop = "tool_calls"
	}
	if r.length {
		stop = "length"
	}
	out = append(out, encode(object{"choices": []object{}, "usage": object{"prompt_tokens": r.input, "completion_tokens": 5}}))
	delta(object{}, stop)
	return append(out, "[DONE]")
}

// protocols runs a test with both.
func protocols(t *testing.T, test func(t *testing.T, protocol model.Protocol)) {
	t.Helper()
	for _, protocol := range []model.Protocol{model.Anthropic, model.OpenAI} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			test(t, protocol)
		})
	}
}

// environment is that of a worker with a way to the endpoint.
func environment(t *testing.T, s sandbox.Sandbox, e *endpoint, job lineshaft.Job) harness.Environment {
	t.Helper()
	env := harnesstest.Environment(t, s, job)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	env.Reach = transport
	env.Access = func(protocol model.Protocol) (harness.Access, bool) {
		return harness.Access{URL: e.url, Key: "throw-away", Model: "model-1"}, protocol == e.protocol
	}
	env.ReadFile = func(name string) (string, error) {
		text, err := os.ReadFile(filepath.Join(env.Dir, ".lineshaft", name))
		return string(text), err
	}
	env.Ask = func(context.Context, lineshaft.PermissionData) (string, error) {
		t.Error("nobody should be asked")
		return "", nil
	}
	return env
}

// quick are options without real pauses.
func quick() builtin.Options {
	return builtin.Options{Wait: func(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil }}
}

// agent is a session in a test.
type agent struct {
	*harnesstest.Log
	env     harness.Environment
	session harness.Session
}

func open(t *testing.T, options builtin.Options, env harness.Environment) *agent {
	t.Helper()
	session, err := builtin.New(options).Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &agent{Log: harnesstest.NewLog(), env: env, session: session}
}

// start opens a session with a scripted model and no isolation.
func start(t *testing.T, options builtin.Options, e *endpoint) *agent {
	t.Helper()
	return open(t, options, environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{}))
}

// do gives the agent a message and wants it to end well.
func (a *agent) do(t *testing.T, message string) {
	t.Helper()
	result, err := a.session.Turn(t.Context(), lineshaft.Turn{Message: message}, a.Emit)
	if err != nil || result.State != lineshaft.Succeeded {
		t.Fatalf("result %+v, %v, events %s", result, err, a.all())
	}
}

// fails gives the agent a message and wants it to fail with all the words.
func (a *agent) fails(t *testing.T, code lineshaft.Code, words ...string) {
	t.Helper()
	result, err := a.session.Turn(t.Context(), lineshaft.Turn{Message: "work"}, a.Emit)
	if err != nil || result.State != lineshaft.Failed || result.Code != code || result.Dead {
		t.Fatalf("result %+v, %v, events %s", result, err, a.all())
	}
	for _, word := range words {
		if !strings.Contains(result.Message, word) {
			t.Errorf("%q does not say %q", result.Message, word)
		}
	}
}

// all is every event, for messages and for looking for words.
func (a *agent) all() string {
	var out strings.Builder
	for _, d := range a.Drafts("") {
		fmt.Fprintf(&out, "%s %s\n", d.Type, d.Data)
	}
	return out.String()
}

// data decodes the events of a type.
func data[T any](t *testing.T, a *agent, kind lineshaft.EventType) []T {
	t.Helper()
	var out []T
	for _, d := range a.Drafts(kind) {
		var one T
		if err := json.Unmarshal(d.Data, &one); err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

func (a *agent) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(a.env.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (a *agent) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.env.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
