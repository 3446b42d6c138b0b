package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// asProgram makes the file of these tests the program itself, for shells that call it.
const asProgram = "LINESHAFT_TEST_AS_PROGRAM"

// TestMain is also the program that the servers of these tests start beside their
// agents: this file is what they take for it.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && (os.Args[1] == "supervise" || os.Args[1] == "forward") {
		os.Exit(Main(context.Background(), os.Args[1:], Program()))
	}
	goleak.VerifyTestMain(m)
}

// request is a call as the server got it.
type request struct {
	method, path, query, body string
	header                    http.Header
}

// stage is a scripted server and the surroundings of a command.
type stage struct {
	deps Deps
	mux  *http.ServeMux
	url  string

	mu  sync.Mutex
	got []request
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// newStage starts a server that knows nothing but 404; tests add to mux. The clock
// stays at 2026-01-02T04:00:00Z.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{mux: http.NewServeMux()}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	s.mux.HandleFunc("/", problem(404, "resource_not_found", "no such thing here"))
	s.deps = Deps{Surroundings: shell.Surroundings{
		Environ: []string{"LINESHAFT_URL=" + server.URL, "LINESHAFT_API_KEY=ls_test"},
		Width:   func(io.Writer) int { return 0 },
		Now:     func() time.Time { return time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC) },
		OpenURL: func(context.Context, string) error { return nil },
		Live:    shell.LiveHooks{Ticks: make(chan time.Time), Signals: make(chan terminal.Signal), Height: func(io.Writer) int { return 24 }},
		ClientOptions: []client.Option{
			client.WithBackoff(time.Millisecond, time.Millisecond), client.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}),
		},
	}}
	return s
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.got = append(s.got, request{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header.Clone()})
	s.mu.Unlock()
	s.mux.ServeHTTP(w, r)
}

func (s *stage) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.got...)
}

// answer adds a fixed JSON answer.
func (s *stage) answer(pattern string, status int, body string) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// terminal makes both streams terminals of that width.
func (s *stage) terminal(width int) { s.deps.Width = func(io.Writer) int { return width } }

// setenv replaces or adds variables, given as NAME=value.
func (s *stage) setenv(pairs ...string) { s.deps.Environ = append(s.deps.Environ, pairs...) }

func (s *stage) run(ctx context.Context, args ...string) result {
	var out, errs bytes.Buffer
	deps := s.deps
	deps.Stdout, deps.Stderr = &out, &errs
	if deps.Stdin == nil {
		deps.Stdin = strings.NewReader("")
	}
	code := execute(ctx, args, deps)
	fix := func(text string) string { return strings.ReplaceAll(text, s.url, "http://server") }
	return result{code, fix(out.String()), fix(errs.String())}
}

func problem(status int, code, detail string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("X-Request-ID", "req-1")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"type": "/docs/errors/" + code, "title": code, "status": status, "detail": detail, "code": code, "instance": r.URL.Path,
		})
	}
}

// golden compares with a file of testdata; -update rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it):\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}

// file writes a file into a new directory and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A run as the server shows it, with a title that tries to play with the terminal.
const runOne = `{"run_id":"run-1","task_id":"run-1","conversation_id":"c-1","title":"Fix the \u001b[31mfailing\u001b[0m test","prompt":"Fix the failing test\n\nin package x",
"state":"SUCCEEDED","status_message":{"message":"done"},"created_at":"2026-01-02T03:00:00.000001Z","updated_at":"2026-01-02T03:30:00.000000Z",
"started_at":"2026-01-02T03:00:02.000000Z","finished_at":"2026-01-02T03:30:00.000000Z","run_time":"PT29M58S","source":"CLI","root_run_id":"run-1",
"creator":{"type":"user","uid":"u-1","display_name":"Ada"},"session_link":"http://server.example/runs/run-1",
"agent_config":{"name":"fixer","model_id":"m-1","harness":{"type":"command","command":["my-agent","--print"]},"mcp_servers":{"b":{"url":"http://b"},"a":{"command":"a"}},"skill_spec":"o/r:s"},
"metadata":{"team":"core","build":"17"},"request_usage":{"total_tokens":1234,"inference_cost_usd":0.0567},
"artifacts":[{"artifact_type":"FILE","created_at":"2026-01-02T03:29:00.000000Z","data":{"artifact_uid":"art-1","filename":"report.md"}}],
"is_sandbox_running":false,"is_run_type_cancellable":true,"field_of_a_newer_server":7}`

const runTwo = `{"run_id":"run-2","task_id":"run-2","title":"Write a very long title that does not fit onto an ordinary terminal with eighty columns","prompt":"x",
"state":"INPROGRESS","created_at":"2026-01-02T03:59:00.000000Z","updated_at":"2026-01-02T03:59:58.000000Z","started_at":null,"finished_at":null,
"is_sandbox_running":true,"is_run_type_cancellable":true}`

// events are the log of run-1 as frames of a stream or as a page.
func events() []string {
	var list []string
	for i, e := range []string{
		`"type":"state","data":{"to":"QUEUED"}`,
		`"type":"state","data":{"from":"QUEUED","to":"INPROGRESS","message":"worker w-1"}`,
		`"type":"message","data":{"role":"user","text":"Fix the failing test\nin package x"}`,
		`"type":"thought","data":{"text":"let me look"}`,
		`"type":"tool_call","data":{"id":"t1","category":"command","name":"run_command","input":{"command":"go test ./x"}}`,
		`"type":"output","data":{"stream":"stdout","text":"--- FAIL: \u001b[31mTestX\u001b[0m\n","tool_call_id":"t1"}`,
		`"type":"output","data":{"stream":"stderr","text":"exit status 1"}`,
		`"type":"tool_result","data":{"id":"t1","category":"command","name":"run_command","state":"failed","output":{}}`,
		`"type":"usage","data":{"input_tokens":1,"output_tokens":2}`,
		`"type":"notice","data":{"level":"warning","text":"output was cut"}`,
		`"type":"artifact","data":{"artifact_uid":"art-1","artifact_type":"FILE","filename":"report.md"}`,
		`"type":"message","data":{"role":"assistant","text":"Fixed.\u001b]0;owned\u0007"}`,
		`"type":"something_new","data":{"a":1}`,
		`"type":"state","data":{"from":"INPROGRESS","to":"SUCCEEDED","message":"done"}`,
	} {
		list = append(list, fmt.Sprintf(`{"id":"e-%d","sequence":%d,"execution_id":"x-1","time":"2026-01-02T03:00:00.000000Z",%s}`, i+1, i+1, e))
	}
	return list
}

// library adds a server's answers about run-1 and run-2.
func (s *stage) library() *stage {
	s.answer("GET /api/v1/agent", 200, skillsAnswer)
	s.answer("GET /api/v1/agent/runs", 200, `{"runs":[`+runOne+`,`+runTwo+`],"page_info":{"has_next_page":true,"next_cursor":"cur-2"}}`)
	s.answer("GET /api/v1/agent/runs/run-1", 200, runOne)
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"run-1","task_id":"run-1","state":"QUEUED","at_capacity":true}`)
	s.answer("POST /api/v1/agent/runs/{id}/rerun", 200, `{"run_id":"run-1","task_id":"run-1","state":"QUEUED","at_capacity":false}`)
	s.answer("POST /api/v1/agent/runs/{id}/cancel", 200, `"run-1"`)
	s.answer("POST /api/v1/agent/runs/{id}/interrupt", 202, ``)
	s.answer("DELETE /api/v1/agent/runs/{id}", 204, ``)
	s.answer("POST /api/v1/agent/runs/{id}/followups", 200, `{"followup_id":"f-1","outcome":"handoff_execution"}`)
	s.answer("POST /api/v1/apikeys", 201, `{"id":"k-1","name":"ci","role":"member","key":"ls_madeup","created_at":"2026-01-02T04:00:00.000000Z"}`)
	s.answer("GET /api/v1/apikeys", 200, `{"api_keys":[{"id":"k-1","name":"ci","role":"member","factory_uids":["`+factoryOne+`","gone"],"created_at":"2026-01-01T04:00:00.000000Z","last_used_at":"2026-01-02T03:59:30.000000Z"},`+
		`{"id":"k-2","name":"old","role":"admin","created_at":"2025-06-01T04:00:00.000000Z","revoked_at":"2025-07-01T00:00:00.000000Z"},`+
		`{"id":"k-3","name":"gone","role":"viewer","created_at":"2025-06-01T04:00:00.000000Z","expires_at":"2025-07-01T00:00:00.000000Z"}],"page_info":{"has_next_page":false}}`)
	s.answer("DELETE /api/v1/apikeys/{id}", 204, ``)
	s.factories()
	s.identities()
	s.environments()
	s.mux.HandleFunc("GET /api/v1/agent/runs/run-1/events", func(w http.ResponseWriter, r *http.Request) {
		list := events()
		var after int
		_, _ = fmt.Sscan(r.URL.Query().Get("after")+r.Header.Get("Last-Event-ID"), &after)
		if r.Header.Get("Accept") != "text/event-stream" {
			fmt.Fprintf(w, `{"events":[%s],"page_info":{"has_next_page":false}}`, strings.Join(list[after:], ","))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i, e := range list[after:] {
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", after+i+1, e)
		}
	})
	return s
}
