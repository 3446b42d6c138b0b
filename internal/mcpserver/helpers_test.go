package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/controltest"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/mcpserver"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// TestMain sees that nothing is left running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const path = "/api/v1/mcp"

// site is a server with its API, which official clients reach over HTTP.
type site struct {
	*testing.T
	control  *control.Service
	store    *store.Store
	url      string
	admin    lineshaft.Caller
	adminKey string
	log      *logBuffer
	stopping chan struct{}
}

// each runs a test on both engines.
func each(t *testing.T, test func(*site)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) { test(newSite(t, database)) })
}

// onSQLite is for what does not know the engine.
func onSQLite(t *testing.T) *site {
	t.Helper()
	return newSite(t, storetest.SQLite(t))
}

func newSite(t *testing.T, database string, options ...func(*api.Deps)) *site {
	t.Helper()
	plane := controltest.Open(t, database, controltest.Options{Encode: api.EncodeSSE})
	s := &site{
		T: t, store: plane.Store, control: plane.Service, adminKey: plane.AdminKey, admin: plane.Admin, log: &logBuffer{}, stopping: make(chan struct{}),
	}
	s.serve(options)
	return s
}

func (s *site) serve(options []func(*api.Deps)) {
	var handler http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	s.Cleanup(front.Close)
	s.url = front.URL
	logger := slog.New(slog.NewJSONHandler(s.log, nil))
	tools := mcpserver.New(mcpserver.Deps{Control: s.control, Logger: logger, BaseURL: s.url + "/", CORSOrigins: []string{"https://app.example"}, Version: "1.2.3", Stopping: s.stopping})
	deps := api.Deps{Control: s.control, Logger: logger, BaseURL: s.url, MCP: tools.Serve}
	for _, option := range options {
		option(&deps)
	}
	handler = api.New(deps)
}

// key makes a key.
func (s *site) key(role lineshaft.Role, factories ...string) string {
	s.Helper()
	wanted := access.NewAPIKey{Name: string(role), Role: role, FactoryUIDs: factories}
	if role == lineshaft.RoleWorker {
		wanted.WorkerIDs = []string{"farm"}
	}
	_, key, err := s.control.CreateAPIKey(s.Context(), s.admin, wanted)
	if err != nil {
		s.Fatal(err)
	}
	return key
}

func (s *site) factory(name string) *lineshaft.Factory {
	s.Helper()
	made, err := s.control.CreateFactory(s.Context(), s.admin, controlfactories.NewFactory{Name: name, Alias: name + " alias"})
	if err != nil {
		s.Fatal(err)
	}
	return made
}

// start queues a run behind the tools' back, as the administrator.
func (s *site) start(run lineshaft.NewRun) string {
	s.Helper()
	run.Source = lineshaft.SourceAPI
	started, err := s.control.StartRun(s.Context(), s.admin, run, nil)
	if err != nil {
		s.Fatal(err)
	}
	return started.RunID
}

func (s *site) claim() lineshaft.Job {
	s.Helper()
	jobs, err := s.control.Claim(s.Context(), lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: "w1", Limit: 1, Capacity: 1})
	if err != nil || len(jobs) != 1 {
		s.Fatal(err, jobs)
	}
	return jobs[0]
}

func (s *site) report(job lineshaft.Job, events ...lineshaft.Draft) {
	s.Helper()
	refused, err := s.control.Report(s.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Started: true, Events: events}})
	if err != nil || refused[0] != nil {
		s.Fatal(err, refused)
	}
}

func said(text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "assistant", Text: text})
}

// client is a connected client of the official SDK.
type client struct {
	*site
	session *mcp.ClientSession
}

type withKey struct {
	key  string
	next *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (w *withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.key)
	return w.next.RoundTrip(r)
}

// as connects with a key.
func (s *site) as(key string, options ...mcp.ClientOptions) *client {
	s.Helper()
	wire := &withKey{key, &http.Transport{}}
	s.Cleanup(wire.next.CloseIdleConnections)
	var chosen *mcp.ClientOptions
	for i := range options {
		chosen = &options[i]
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, chosen).Connect(s.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url + path, HTTPClient: &http.Client{Transport: wire}, MaxRetries: -1,
	}, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = session.Close() })
	return &client{s, session}
}

// call calls a tool.
func (c *client) call(tool string, arguments any) *mcp.CallToolResult {
	c.Helper()
	result, err := c.session.CallTool(c.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.Fatalf("%s: %v", tool, err)
	}
	return result
}

// must calls a tool that has to succeed and reads its answer.
func must[Out any](c *client, tool string, arguments any) Out {
	c.Helper()
	result := c.call(tool, arguments)
	if result.IsError {
		c.Fatalf("%s: %s", tool, words(result))
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		c.Fatal(err)
	}
	var out Out
	if err := json.Unmarshal(raw, &out); err != nil {
		c.Fatalf("%s: %v in %s", tool, err, raw)
	}
	return out
}

// fails calls a tool that has to fail with a code.
func (c *client) fails(code lineshaft.Code, tool string, arguments any) string {
	c.Helper()
	result := c.call(tool, arguments)
	text := words(result)
	if !result.IsError || !strings.HasPrefix(text, string(code)+": ") {
		c.Errorf("%s %.200v: %.500s, want %s", tool, arguments, text, code)
	}
	return text
}

func words(result *mcp.CallToolResult) string {
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return ""
	}
	return text.Text
}

// names lists the tools that the client is shown.
func (c *client) names() map[string]bool {
	c.Helper()
	list, err := c.session.ListTools(c.Context(), nil)
	if err != nil {
		c.Fatal(err)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
	}
	return names
}

// post sends a body without any client.
func (s *site) post(key, body string, header map[string]string) (int, string) {
	s.Helper()
	return s.send(http.MethodPost, key, body, header)
}

func (s *site) send(method, key, body string, header map[string]string) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	// A server that does not want a body says so before it was sent.
	r.Header.Set("Expect", "100-continue")
	wire := &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: time.Minute}
	answer, err := wire.RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// logBuffer is a log that a test can read while the server writes.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns what was logged so far.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
