package app_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// said is output that may be read while it is written; a line wakes anyone who waits.
type said struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	fresh chan struct{}
}

func newSaid() *said { return &said{fresh: make(chan struct{}, 100)} }

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh <- struct{}{}
	return s.buf.Write(p)
}

// String is what was said so far.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// wait returns when text was said.
func (s *said) wait(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(s.String(), text) {
		select {
		case <-s.fresh:
		case <-time.After(time.Minute):
			t.Fatalf("%q was not said, but %q", text, s.String())
		}
	}
}

// serveWithoutWorker starts a server and makes a key for the worker "mac".
func serveWithoutWorker(t *testing.T) (a *app.App, adminKey, workerKey string) {
	t.Helper()
	cfg := settings(t)
	cfg.NoWorker = true
	a = start(t, cfg, options(t, nil))
	raw, err := os.ReadFile(cfg.AdminKeyFile())
	if err != nil {
		t.Fatal(err)
	}
	adminKey = strings.TrimSpace(string(raw))
	admin, err := a.Control().Authenticate(t.Context(), adminKey)
	if err != nil {
		t.Fatal(err)
	}
	_, workerKey, err = a.Control().CreateAPIKey(t.Context(), admin, access.NewAPIKey{Name: "w", Role: lineshaft.RoleWorker, WorkerIDs: []string{"mac"}})
	if err != nil {
		t.Fatal(err)
	}
	return a, adminKey, workerKey
}

// runWorker starts a worker; the function that it returns stops it and gives its end.
func runWorker(t *testing.T, cfg config.Config, out *said, as app.RemoteWorker) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	opts := options(t, out)
	go func() { done <- app.RunWorker(ctx, cfg, opts, as) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	return stop
}

func workerSettings(t *testing.T) config.Config {
	t.Helper()
	cfg := settings(t)
	cfg.MaxConcurrentRuns, cfg.Isolation = 2, "none"
	return cfg
}

// a worker executes a run over HTTP, drains and leaves nothing behind that the
// next start would take for a crash.
func TestX1AWorkerRunsAndDrains(t *testing.T) {
	t.Parallel()
	a, adminKey, workerKey := serveWithoutWorker(t)
	cfg, out := workerSettings(t), newSaid()
	stop := runWorker(t, cfg, out, app.RemoteWorker{ID: "mac", Server: a.URL(), Key: workerKey, Labels: []string{"os=test"}})
	out.wait(t, "Worker mac is connected to "+a.URL())
	c, err := client.New(a.URL(), adminKey)
	if err != nil {
		t.Fatal(err)
	}
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho $LINESHAFT_API_URL\n```", Config: &client.AgentConfig{WorkerHost: "mac"}})
	if err != nil {
		t.Fatal(err)
	}
	if run, err := c.Runs.Wait(t.Context(), started.RunID, client.WaitOptions{}); err != nil || run.State != "SUCCEEDED" {
		t.Fatalf("%+v, %v", run, err)
	}
	if list, err := c.Workers(t.Context()); err != nil || len(list) != 1 || strings.Join(list[0].Labels, " ") != "os=test" {
		t.Errorf("workers %+v, %v", list, err)
	}
	if err := stop(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	out.wait(t, "has stopped")
	if _, err := os.Stat(filepath.Join(cfg.DataDir, "workers", "mac", "process")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the name of the process is still there: %v", err)
	}
	if workers, err := a.Control().Workers(t.Context(), lineshaft.Caller{Role: lineshaft.RoleViewer}); err != nil || len(workers) != 0 {
		t.Errorf("still connected: %+v, %v", workers, err)
	}
}

func TestX1AWorkerThatIsNotTakenDoesNotStart(t *testing.T) {
	t.Parallel()
	a, _, workerKey := serveWithoutWorker(t)
	for name, tc := range map[string]struct {
		as     app.RemoteWorker
		denied bool
		says   string
	}{
		"bad key":      {app.RemoteWorker{ID: "mac", Server: a.URL(), Key: "ls_nobody_nobody_nobody_nobody"}, true, ""},
		"another's id": {app.RemoteWorker{ID: "other", Server: a.URL(), Key: workerKey}, true, "may not work as"},
		"no id":        {app.RemoteWorker{Server: a.URL(), Key: workerKey}, false, "begins with a letter"},
		"no server":    {app.RemoteWorker{ID: "mac", Server: "nowhere", Key: workerKey}, false, "not the address"},
	} {
		err := app.RunWorker(t.Context(), workerSettings(t), options(t, nil), tc.as)
		if err == nil || app.DeniedKey(err) != tc.denied || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// S-3: a worker whose key is revoked says so and ends, instead of asking for ever.
func TestS3AWorkerWithARevokedKeyEnds(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, workerwire.PathConnect) {
			w.Header().Set(workerwire.HeaderProtocol, "1")
			_, _ = io.WriteString(w, `{"version":"dev"}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"code":"authentication_required","title":"no such key"}`)
	}))
	defer server.Close()
	out := newSaid()
	err := app.RunWorker(t.Context(), workerSettings(t), options(t, out), app.RemoteWorker{ID: "mac", Server: server.URL, Key: "ls_gone"})
	if !app.DeniedKey(err) {
		t.Errorf("it ended with %v", err)
	}
	if n := strings.Count(out.String(), "no longer accepts the key of worker mac"); n != 1 {
		t.Errorf("said %d times: %s", n, out)
	}
}

//nolint:paralleltest // changes PATH, which belongs to the whole process
func TestX5AWorkerWithoutItsSandboxDoesNotStart(t *testing.T) {
	withoutBubblewrap(t)
	cfg := workerSettings(t)
	cfg.Isolation = "bubblewrap"
	err := app.RunWorker(t.Context(), cfg, options(t, nil), app.RemoteWorker{ID: "mac", Server: "http://127.0.0.1:1", Key: "k"})
	if err == nil || !strings.Contains(err.Error(), "bubblewrap was asked for") {
		t.Errorf("%v", err)
	}
}

// A worker waits for an unreachable server, and says so once.
func TestX3AWorkerWaitsForItsServer(t *testing.T) {
	t.Parallel()
	out := newSaid()
	stop := runWorker(t, workerSettings(t), out, app.RemoteWorker{ID: "mac", Server: "http://127.0.0.1:1", Key: "k"})
	out.wait(t, "The server is unreachable")
	if err := stop(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
}

// Waiting for a server that speaks no HTTPS would not help: the likely cause is reported.
func TestX3AWorkerSaysThatItsServerSpeaksNoHTTPS(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	out := newSaid()
	stop := runWorker(t, workerSettings(t), out, app.RemoteWorker{ID: "mac", Server: strings.Replace(server.URL, "http://", "https://", 1), Key: "k"})
	out.wait(t, "does not speak HTTPS, so write http://")
	if err := stop(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
}

// S: a server's folder is not a worker's.
func TestS1AWorkerStaysOutOfAServersFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lineshaft.db", "admin.key", "master.key"} {
		cfg := workerSettings(t)
		cfg.DataDir = t.TempDir()
		if err := os.WriteFile(filepath.Join(cfg.DataDir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		err := app.RunWorker(t.Context(), cfg, options(t, nil), app.RemoteWorker{ID: "mac", Server: "http://127.0.0.1:1", Key: "k"})
		if err == nil || !strings.Contains(err.Error(), "data directory of a server: it holds "+name) || !strings.Contains(err.Error(), "--data-dir") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(cfg.DataDir, "workers")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder was used: %v", name, err)
		}
	}
}

// A folder belongs to one process at a time.
func TestX2AWorkersFolderIsItsOwn(t *testing.T) {
	t.Parallel()
	out, cfg := newSaid(), workerSettings(t)
	as := app.RemoteWorker{ID: "mac", Server: "http://127.0.0.1:1", Key: "k"}
	stop := runWorker(t, cfg, out, as)
	out.wait(t, "The server is unreachable")
	if err := app.RunWorker(t.Context(), cfg, options(t, nil), as); err == nil || !strings.Contains(err.Error(), "another worker uses") {
		t.Errorf("%v", err)
	}
	// It never connected, so its name stays; the next start takes it up.
	before, err := os.ReadFile(filepath.Join(cfg.DataDir, "workers", "mac", "process"))
	if err != nil || len(before) < 5 {
		t.Fatal(before, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	again := newSaid()
	stop = runWorker(t, cfg, again, as)
	again.wait(t, "The server is unreachable")
	after, err := os.ReadFile(filepath.Join(cfg.DataDir, "workers", "mac", "process"))
	if err != nil || string(after) != string(before) {
		t.Errorf("%q became %q, %v", before, after, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// a worker whose agent ignores SIGTERM stops within its grace all the same, in
// good order, and hands the run back.
func TestX3AStubbornAgentDoesNotHoldTheDrainUp(t *testing.T) {
	t.Parallel()
	a, adminKey, workerKey := serveWithoutWorker(t)
	cfg, out := workerSettings(t), newSaid()
	// Half of it is for the run to end, two seconds are for the agent, and the rest must do
	// for the last word on a busy machine.
	cfg.ShutdownGrace = 16 * time.Second
	stop := runWorker(t, cfg, out, app.RemoteWorker{ID: "mac", Server: a.URL(), Key: workerKey})
	c, err := client.New(a.URL(), adminKey)
	if err != nil {
		t.Fatal(err)
	}
	started, err := c.Runs.Create(t.Context(), client.RunRequest{
		Prompt: "```sh\ntrap '' TERM\necho deaf\nwhile :; do sleep 0.1; done\n```",
		Config: &client.AgentConfig{WorkerHost: "mac", Retry: &client.Retry{MaxAttempts: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for event, err := range c.Runs.Stream(t.Context(), started.RunID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == "output" && strings.Contains(string(event.Data), "deaf") {
			break
		}
	}
	if err := stop(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	out.wait(t, "has stopped")
	if run, err := c.Runs.Get(t.Context(), started.RunID); err != nil || run.State != "QUEUED" {
		t.Errorf("%+v, %v", run, err)
	}
	if workers, err := a.Control().Workers(t.Context(), lineshaft.Caller{Role: lineshaft.RoleViewer}); err != nil || len(workers) != 0 {
		t.Errorf("still connected: %+v, %v", workers, err)
	}
}
