package api

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

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/controltest"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// testBase is the public address of the servers in tests.
const testBase = "https://ls.test"

// Ids of the examples, which no test makes.
const (
	exampleRunID      = "01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"
	exampleFactoryUID = "01980f10-2233-7445-9667-8899aabbccdd"
)

func ptr[T any](v T) *T { return &v }

// readExample decodes api/examples/NAME.json.
func readExample[T any](t *testing.T, name string) (value T) {
	t.Helper()
	if err := json.Unmarshal(example(name), &value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// exampleFiles is the folder of the examples of definitions.
func exampleFiles(t *testing.T) map[string]string {
	t.Helper()
	return readExample[DefinitionRequest](t, "validate_definition_request").Files
}

// bench is an API server on a control plane with a fresh database, and one
// worker's view of it.
type bench struct {
	*testing.T
	srv     *server
	control *control.Service
	store   *store.Store
	keys    map[lineshaft.Role]string
	log     *logBuffer
}

// newServer builds a server on a fresh SQLite file. Tests whose subject is the
// store itself run on both engines elsewhere; here it is the wire.
func newServer(t *testing.T, options ...func(*Deps)) *bench {
	t.Helper()
	return newServerOn(t, base.Config{Lease: time.Minute, Git: scriptedGit{}}, options...)
}

// newServerAt is newServer whose schedules go by a clock.
func newServerAt(t *testing.T, clock func() time.Time) *bench {
	t.Helper()
	return newServerOn(t, base.Config{Lease: time.Minute, Clock: clock})
}

// newServerOn is newServer with settings of the control plane.
func newServerOn(t *testing.T, cfg base.Config, options ...func(*Deps)) *bench {
	t.Helper()
	return newServerWith(t, storetest.SQLite(t), cfg, options...)
}

// newServerWith is newServerOn with a database of its own.
func newServerWith(t *testing.T, database string, cfg base.Config, options ...func(*Deps)) *bench {
	t.Helper()
	plane := controltest.Open(t, database, controltest.Options{Config: cfg, Encode: EncodeSSE})
	service := plane.Service
	b := &bench{T: t, control: service, store: plane.Store, keys: map[lineshaft.Role]string{}, log: &logBuffer{}}
	b.keys[lineshaft.RoleAdmin] = plane.AdminKey
	deps := Deps{Control: service, BaseURL: testBase + "/", Logger: slog.New(slog.NewJSONHandler(b.log, nil))}
	for _, option := range options {
		option(&deps)
	}
	b.srv = build(deps)
	return b
}

// key returns an API key of the role; each role has a principal of its own.
func (b *bench) key(role lineshaft.Role) string {
	b.Helper()
	if b.keys[role] == "" {
		if role == lineshaft.RoleRun {
			b.start(lineshaft.NewRun{Prompt: "agent"})
			b.keys[role] = b.claim().RunToken
			return b.keys[role]
		}
		wanted := access.NewAPIKey{Name: string(role), Role: role}
		if role == lineshaft.RoleWorker {
			wanted.WorkerIDs = []string{"farm"}
		}
		_, key, err := b.control.CreateAPIKey(b.Context(), b.admin(), wanted)
		if err != nil {
			b.Fatal(err)
		}
		b.keys[role] = key
	}
	return b.keys[role]
}

func (b *bench) admin() lineshaft.Caller {
	b.Helper()
	caller, err := b.control.Authenticate(b.Context(), b.keys[lineshaft.RoleAdmin])
	if err != nil {
		b.Fatal(err)
	}
	return caller
}

// start queues a run behind the API's back, as the administrator.
func (b *bench) start(run lineshaft.NewRun) string {
	b.Helper()
	run.Source = lineshaft.SourceAPI
	started, err := b.control.StartRun(b.Context(), b.admin(), run, nil)
	if err != nil {
		b.Fatal(err)
	}
	return started.RunID
}

// claim takes the next run as the server's own worker.
func (b *bench) claim() lineshaft.Job {
	b.Helper()
	jobs, err := b.control.Claim(b.Context(), lineshaft.ClaimRequest{
		WorkerHost: lineshaft.HostedWorker, WorkerID: "w1", Limit: 1, Capacity: 1,
	})
	if err != nil || len(jobs) != 1 {
		b.Fatal(err, jobs)
	}
	return jobs[0]
}

// report sends events of an execution; first is the number of the first one, and 1 also
// says that the agent runs.
func (b *bench) report(job lineshaft.Job, first int64, events ...lineshaft.Draft) {
	b.Helper()
	refused, err := b.control.Report(b.Context(), []lineshaft.Report{{
		ExecutionRef: job.ExecutionRef, First: first, Started: first == 1, Events: events,
	}})
	if err != nil || refused[0] != nil {
		b.Fatal(err, refused)
	}
}

func (b *bench) end(job lineshaft.Job, state lineshaft.RunState) {
	b.Helper()
	if _, err := b.control.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: state, Message: "done"}); err != nil {
		b.Fatal(err)
	}
}

// scenario is one request and what must come of it. API tests are tables of these.
type scenario struct {
	name   string
	method string
	path   string
	// as is the role of the caller's key; empty is a caller without a key.
	as     lineshaft.Role
	header map[string]string
	body   string
	status int
	// code is the code of the problem; empty for none.
	code lineshaft.Code
	// has and not are fragments that must and must not be in the answer.
	has []string
	not []string
}

// play runs scenarios in order.
func (b *bench) play(t *testing.T, list []scenario) {
	t.Helper()
	for _, sc := range list {
		b.check(t, sc)
	}
}

// check runs one scenario and returns the answer for further looks.
func (b *bench) check(t *testing.T, sc scenario) *httptest.ResponseRecorder {
	t.Helper()
	w := b.do(t, sc)
	call := sc.name + ": " + sc.method + " " + sc.path
	if w.Code != sc.status {
		t.Errorf("%.200s: status %d, want %d: %.500s", call, w.Code, sc.status, w.Body)
	}
	if sc.code != "" {
		var doc problem.Document
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Code != sc.code || doc.Status != w.Code {
			t.Errorf("%.200s: problem %q, want code %s", call, w.Body, sc.code)
		}
	}
	for _, fragment := range sc.has {
		if !strings.Contains(w.Body.String(), fragment) {
			t.Errorf("%.200s: %q is not in %.500s", call, fragment, w.Body)
		}
	}
	for _, fragment := range sc.not {
		if strings.Contains(w.Body.String(), fragment) {
			t.Errorf("%.200s: %q is in %.500s", call, fragment, w.Body)
		}
	}
	return w
}

// do sends a scenario's request and holds the answer against the OpenAPI document.
func (b *bench) do(t *testing.T, sc scenario) *httptest.ResponseRecorder {
	t.Helper()
	var body io.Reader = http.NoBody
	if sc.body != "" {
		body = strings.NewReader(sc.body)
	}
	path := sc.path
	if strings.HasPrefix(path, "/agent") || strings.HasPrefix(path, "/apikeys") || strings.HasPrefix(path, "/factory") || strings.HasPrefix(path, "/audit") || strings.HasPrefix(path, "/secrets") {
		path = Prefix + path
	}
	r := httptest.NewRequestWithContext(t.Context(), sc.method, path, body)
	if sc.as != "" {
		r.Header.Set("Authorization", "Bearer "+b.key(sc.as))
	}
	for name, value := range sc.header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.srv.ServeHTTP(w, r)
	b.srv.conforms(t, r, w)
	return w
}

// decode reads the answer into a wire type.
func decode[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return v
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
