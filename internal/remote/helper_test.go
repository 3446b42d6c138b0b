package remote_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/controltest"
	"github.com/lineshaft/lineshaft/internal/rate"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "mac"

// bench is a server with one worker's view of it.
type bench struct {
	*testing.T
	service *control.Service
	server  *httptest.Server
	admin   lineshaft.Caller
	key     string
	// front stands before the server; a test may replace it.
	front *front
	log   *lockedLog
}

// front lets a test answer instead of the server.
type front struct {
	mu      sync.Mutex
	answer  func(w http.ResponseWriter, r *http.Request) bool
	handler http.Handler
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	answer := f.answer
	f.mu.Unlock()
	if answer == nil || !answer(w, r) {
		f.handler.ServeHTTP(w, r)
	}
}

func (f *front) set(answer func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

type lockedLog struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

// String is what was logged so far.
func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

func open(t *testing.T, database string, options ...func(*api.Deps)) *bench {
	t.Helper()
	plane := controltest.Open(t, database, controltest.Options{Encode: api.EncodeSSE})
	service := plane.Service
	b := &bench{T: t, service: service, admin: plane.Admin, log: &lockedLog{}}
	var err error
	if _, b.key, err = service.CreateAPIKey(t.Context(), b.admin, access.NewAPIKey{Name: "w", Role: lineshaft.RoleWorker, WorkerIDs: []string{host}}); err != nil {
		t.Fatal(err)
	}
	deps := api.Deps{Control: service, Version: "0.4.0", Rate: rate.New(5), Logger: slog.New(slog.NewJSONHandler(b.log, nil))}
	for _, option := range options {
		option(&deps)
	}
	b.front = &front{handler: api.New(deps)}
	b.server = httptest.NewServer(b.front)
	t.Cleanup(b.server.Close)
	return b
}

// client is a process of the worker.
func (b *bench) client(change ...func(*remote.Config)) *remote.Client {
	b.Helper()
	httpClient := remote.NewHTTPClient(nil)
	b.Cleanup(httpClient.CloseIdleConnections)
	config := remote.Config{Server: b.server.URL, Key: b.key, Host: host, Process: host + "/p1", Version: "0.4.1", HTTP: httpClient}
	for _, f := range change {
		f(&config)
	}
	c, err := remote.New(config)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// each runs fn on every engine.
func each(t *testing.T, fn func(b *bench), options ...func(*api.Deps)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) { fn(open(t, database, options...)) })
}

// bothWays runs fn with the control plane in process and over HTTP: what holds for
// one must hold for the other.
func bothWays(t *testing.T, fn func(b *bench, c worker.Control)) {
	t.Helper()
	each(t, func(b *bench) { fn(b, b.client()) })
	t.Run("in process", func(t *testing.T) {
		t.Parallel()
		each(t, func(b *bench) { fn(b, b.service) })
	})
}

// start queues a run for the worker.
func (b *bench) start(config lineshaft.AgentConfig, attachments ...lineshaft.NewAttachment) string {
	b.Helper()
	config.WorkerHost = host
	started, err := b.service.StartRun(b.Context(), b.admin, lineshaft.NewRun{Prompt: "do it", Source: lineshaft.SourceAPI, Config: config, Attachments: attachments}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return started.RunID
}

func (b *bench) claim(c worker.Control, limit int) []lineshaft.Job {
	b.Helper()
	jobs, err := c.Claim(b.Context(), lineshaft.ClaimRequest{WorkerHost: host, WorkerID: host + "/p1", Limit: limit, Capacity: limit, Version: "0.4.1"})
	if err != nil {
		b.Fatal(err)
	}
	return jobs
}

func (b *bench) state(runID string) lineshaft.RunState {
	b.Helper()
	run, err := b.service.GetRun(b.Context(), b.admin, runID)
	if err != nil {
		b.Fatal(err)
	}
	return run.State
}

func (b *bench) want(runID string, state lineshaft.RunState) {
	b.Helper()
	if got := b.state(runID); got != state {
		b.Fatalf("the run is %s, want %s", got, state)
	}
}

func wantCode(tb testing.TB, err error, code lineshaft.Code) {
	tb.Helper()
	if code == "" && err != nil || code != "" && (err == nil || lineshaft.CodeOf(err) != code) {
		tb.Fatalf("error is %v, want %q", err, code)
	}
}

func output(n int) lineshaft.Draft {
	raw, _ := json.Marshal(map[string]any{"stream": "stdout", "text": string(rune('a' + n))})
	return lineshaft.Draft{Type: lineshaft.EventOutput, Time: time.Now(), Data: raw}
}
