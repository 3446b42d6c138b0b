package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// TestMain lets the test binary be the supervisor of the agents it starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "supervise" {
		os.Exit(sandbox.Supervise(context.Background()))
	}
	if len(os.Args) > 2 && os.Args[1] == "forward" {
		os.Exit(sandbox.RunForward(context.Background(), os.Args[2:]))
	}
	if len(os.Args) == 4 && os.Args[1] == "dial" {
		os.Exit(dial(os.Args[2], os.Args[3]))
	}
	if len(os.Args) == 3 && os.Args[1] == "closed" {
		os.Exit(closed(os.Args[2]))
	}
	if err := os.Setenv(canaryVariable, canary); err != nil {
		os.Exit(2)
	}
	os.Exit(m.Run())
}

func settings(t *testing.T) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.DataDir = "127.0.0.1:0", filepath.Join(t.TempDir(), "data")
	return cfg
}

func options(t *testing.T, out io.Writer) app.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return app.Options{Version: "test", Logger: slog.New(slog.DiscardHandler), Out: out, Supervisor: []string{self, "supervise"}, Program: self}
}

func start(t *testing.T, cfg config.Config, opts app.Options) *app.App {
	t.Helper()
	a, err := app.Start(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.WithoutCancel(t.Context())) })
	return a
}

func call(t *testing.T, method, url, key, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, text
}

func TestX6FirstRunSucceedsWithoutAnyModel(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		cfg := settings(t)
		cfg.Database = database
		cfg.BlobDir = filepath.Join(t.TempDir(), "blobs")
		a := start(t, cfg, options(t, nil))
		raw, err := os.ReadFile(cfg.AdminKeyFile())
		if err != nil {
			t.Fatal(err)
		}
		key := strings.TrimSpace(string(raw))
		status, text := call(t, "POST", a.URL()+"/api/v1/agent/runs", key, `{"prompt": "Say hello\n`+"```sh\\necho hello; echo kept > $LINESHAFT_ARTIFACTS/note.txt\\n```"+`"}`)
		var started struct {
			RunID      string `json:"run_id"`
			AtCapacity bool   `json:"at_capacity"`
		}
		if err := json.Unmarshal(text, &started); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		admin, err := a.Control().Authenticate(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		follower, err := a.Control().Follow(t.Context(), admin, started.RunID, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer follower.Close()
		for err == nil {
			_, err = follower.Next(t.Context())
		}
		run, err := a.Control().GetRun(t.Context(), admin, started.RunID)
		if err != nil || run.State != lineshaft.Succeeded || len(run.Artifacts) != 1 || run.Artifacts[0].FileName != "note.txt" {
			t.Fatalf("%+v %v", run, err)
		}
		if kept, err := filepath.Glob(filepath.Join(cfg.BlobDir, "*", "*")); err != nil || len(kept) == 0 {
			t.Errorf("X-4: nothing is in the blob folder: %v, %v", kept, err)
		}
	})
}

func TestS6AdminKeyIsPrivateAndPrintedOnceOnATerminal(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	var terminal bytes.Buffer
	opts := options(t, &terminal)
	opts.Terminal = true
	a := start(t, cfg, opts)
	raw, err := os.ReadFile(cfg.AdminKeyFile())
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(raw))
	info, err := os.Stat(cfg.AdminKeyFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	if strings.Count(terminal.String(), key) != 1 || !strings.Contains(terminal.String(), "curl") {
		t.Errorf("banner on a terminal:\n%s", terminal.String())
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A second start, and one that nobody watches, only say where the key is.
	for _, watched := range []bool{true, false} {
		var out bytes.Buffer
		opts := options(t, &out)
		opts.Terminal = watched
		a := start(t, cfg, opts)
		if strings.Contains(out.String(), key) || !strings.Contains(out.String(), cfg.AdminKeyFile()) {
			t.Errorf("banner of a later start:\n%s", out.String())
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A start after the key of the data directory was revoked names the way back.
func TestS6BannerKnowsARevokedKey(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	a := start(t, cfg, options(t, nil))
	raw, err := os.ReadFile(cfg.AdminKeyFile())
	if err != nil {
		t.Fatal(err)
	}
	admin, err := a.Control().Authenticate(t.Context(), strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Control().CreateAPIKey(t.Context(), admin, access.NewAPIKey{Name: "other", Role: lineshaft.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Control().RevokeAPIKey(t.Context(), admin, admin.KeyID), a.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	start(t, cfg, options(t, &out))
	if text := out.String(); !strings.Contains(text, "no longer valid") || !strings.Contains(text, "LINESHAFT_ADMIN_KEY") || strings.Contains(text, "$(cat") {
		t.Errorf("the banner is:\n%s", text)
	}
}

func TestS6ChosenAdminKey(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	cfg.AdminKey = "ls_chosen_by_the_operator_123"
	var out bytes.Buffer
	a := start(t, cfg, options(t, &out))
	if status, _ := call(t, "GET", a.URL()+"/api/v1/whoami", cfg.AdminKey.Reveal(), ""); status != http.StatusOK {
		t.Errorf("the chosen key: %d", status)
	}
	if strings.Contains(out.String(), cfg.AdminKey.Reveal()) {
		t.Error("the chosen key is printed")
	}
	bad := settings(t)
	bad.AdminKey = "short"
	if _, err := app.Start(t.Context(), bad, options(t, nil)); err == nil || !strings.Contains(err.Error(), "LINESHAFT_ADMIN_KEY") {
		t.Errorf("a bad key: %v", err)
	}
}

func TestH1OpenRoutes(t *testing.T) {
	t.Parallel()
	a := start(t, settings(t), options(t, nil))
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "ok", "/metrics": "lineshaft_worker_capacity", "/api/v1/openapi.json": `"openapi":"3.1`,
		"/api/v1/openapi.yaml": "openapi: ", "/api/v1/docs": "<html", "/docs/errors/invalid_request": "<html", "/login": "Sign in",
		"/docs": "Lineshaft documentation", "/docs/webhooks": "Signature schemes", "/docs/search?q=rotate+master+key": "Secrets",
	} {
		status, text := call(t, "GET", a.URL()+path, "", "")
		if status != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("GET %s: %d %.200s", path, status, text)
		}
	}
}

// The gauges of callbacks exist from the start, without anything to report.
func TestI5CallbacksAreMeasured(t *testing.T) {
	t.Parallel()
	a := start(t, settings(t), options(t, nil))
	_, text := call(t, "GET", a.URL()+"/metrics", "", "")
	for _, name := range []string{"lineshaft_callback_lag_seconds", "lineshaft_callbacks_pending", "lineshaft_callback_overdue_seconds"} {
		if !strings.Contains(string(text), "\n"+name+" 0\n") {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan string, 1)
	done := make(chan error, 1)
	cfg := settings(t)
	cfg.ShutdownGrace = time.Minute // nothing has begun that it would be for
	go func() { done <- app.Run(ctx, cfg, options(t, readyWriter(ready))) }()
	<-ready
	began := time.Now()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > cfg.ShutdownGrace/2 {
		t.Errorf("stopping took %s", took)
	}
}

type readyWriter chan string

func (w readyWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

func TestTakenPortAndTakenDatabaseAreNamed(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	cfg := settings(t)
	cfg.Listen = l.Addr().String()
	if _, err := app.Start(t.Context(), cfg, options(t, nil)); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("taken port: %v", err)
	}
	first := settings(t)
	start(t, first, options(t, nil))
	first.Listen = "127.0.0.1:0"
	if _, err := app.Start(t.Context(), first, options(t, nil)); err == nil || !strings.Contains(err.Error(), "another lineshaft server") {
		t.Errorf("taken database: %v", err)
	}
}
