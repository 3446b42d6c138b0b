package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// worked runs a command whose Work only notes what it was given, and ends as said.
func worked(t *testing.T, s *stage, end error, args ...string) (config.Config, app.RemoteWorker, result) {
	t.Helper()
	var gotConfig config.Config
	var got app.RemoteWorker
	s.deps.Work = func(_ context.Context, cfg config.Config, as app.RemoteWorker, out io.Writer, _ *slog.Logger) error {
		gotConfig, got = cfg, as
		fmt.Fprintln(out, "connected")
		return end
	}
	r := s.run(t.Context(), append([]string{"worker"}, args...)...)
	return gotConfig, got, r
}

func TestX1WorkerIsToldItsSettings(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.setenv("LINESHAFT_URL=", "LINESHAFT_API_KEY=ls_worker", "LINESHAFT_EGRESS=none")
	cfg, as, r := worked(t, s, nil, "--id", "mac", "--server", "https://ls.test/", "--max-concurrent-runs", "3", "--memory-limit", "1GiB", "--isolation", "bubblewrap", "--data-dir", "/d", "--shutdown-grace", "9s", "--label", "os=macos", "--label", "xcode=26")
	if r.code != shell.ExitOK || r.out != "connected\n" {
		t.Fatalf("%+v", r)
	}
	if !reflect.DeepEqual(as, app.RemoteWorker{ID: "mac", Server: "https://ls.test", Key: "ls_worker", Labels: []string{"os=macos", "xcode=26"}}) {
		t.Errorf("worker %+v", as)
	}
	if cfg.MaxConcurrentRuns != 3 || cfg.MemoryLimit != 1<<30 || cfg.Isolation != "bubblewrap" || cfg.Egress != "none" || cfg.DataDir != "/d" || cfg.ShutdownGrace.String() != "9s" {
		t.Errorf("settings %+v", cfg)
	}
	s = newStage(t)
	s.setenv("LINESHAFT_API_KEY=ls_worker", "LINESHAFT_URL=http://other.test")
	if cfg, as, r := worked(t, s, nil, "--id", "mac"); r.code != shell.ExitOK || as.Server != "http://other.test" || cfg.DataDir != "./lineshaft-worker" {
		t.Errorf("%+v, %+v", as, r)
	}
	s.setenv("LINESHAFT_URL=https://ls.test", "LINESHAFT_API_KEY=ls_worker", "LINESHAFT_DATA_DIR=/elsewhere")
	for _, address := range []string{"https://ls.test/api/v1", "https://ls.test/api/v1/", "https://ls.test"} {
		if cfg, as, r := worked(t, s, nil, "--id", "mac", "--server", address); r.code != shell.ExitOK || as.Server != "https://ls.test" || cfg.DataDir != "/elsewhere" {
			t.Errorf("%s: %+v, %+v", address, as, r)
		}
	}
}

func TestX1WorkerMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		end  error
		code int
		says string
	}{
		{nil, nil, shell.ExitUsage, "needs the id"},
		{[]string{"--id", "hosted"}, nil, shell.ExitUsage, "the server's own worker"},
		{[]string{"--id", "a b"}, nil, shell.ExitUsage, "letters, digits"},
		{[]string{"--id", "mac", "--server", "nowhere"}, nil, shell.ExitUsage, "not the address of a server"},
		{[]string{"--id", "mac", "--server", "127.0.0.1:8484"}, nil, shell.ExitUsage, "Write a full URL in --server or LINESHAFT_URL"},
		{[]string{"--id", "mac", "--isolation", "magic"}, nil, shell.ExitUsage, "`lineshaft worker --help` lists all settings"},
		{[]string{"--id", "mac", "--label", "os"}, nil, shell.ExitUsage, "a label is KEY=VALUE"},
		{[]string{"--id", "mac", "--lease", "2s"}, nil, shell.ExitUsage, "unknown flag: --lease"},
		{[]string{"--id", "mac", "--max-concurrent-runs", "many"}, nil, shell.ExitUsage, "--max-concurrent-runs"},
		{[]string{"lst"}, nil, shell.ExitUsage, "Did you mean `lineshaft worker list`?"},
		{[]string{"--id", "mac"}, &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired}, shell.ExitDenied, "apikey create NAME --role worker --worker mac"},
		{[]string{"--id", "mac"}, fmt.Errorf("connect: %w", lineshaft.Denied("this key may not work as mac")), shell.ExitDenied, "may not work as mac"},
		{[]string{"--id", "mac"}, lineshaft.Denied("the role member may not do this"), shell.ExitDenied, "apikey create NAME --role worker --worker mac"},
		{[]string{"--id", "mac"}, lineshaft.Invalid("version", "upgrade the worker"), shell.ExitFailed, "upgrade the worker"},
		{[]string{"--id", "mac"}, errors.New("isolation bubblewrap was asked for"), shell.ExitFailed, "isolation bubblewrap"},
	} {
		if _, _, r := worked(t, newStage(t), tc.end, tc.args...); r.code != tc.code || !strings.Contains(r.err, tc.says) {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
	if r := newStage(t).run(t.Context(), "worker", "--id", "mac"); r.code != shell.ExitFailed || !strings.Contains(r.err, "not part of this program") {
		t.Errorf("%+v", r)
	}
}

// TestS1AWorkerTakesNoAdminKey: that of the server's data directory stays there.
func TestS1AWorkerTakesNoAdminKey(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "admin.key"), []byte("ls_admin\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.deps.Environ = []string{"LINESHAFT_DATA_DIR=" + dir}
	if _, as, r := worked(t, s, nil, "--id", "mac"); r.code != shell.ExitDenied || as.Key != "" || !strings.Contains(r.err, "apikey create NAME --role worker --worker mac") {
		t.Errorf("%+v, %+v", as, r)
	}
}

func TestI1WorkerHelpIsAboutWorkers(t *testing.T) {
	t.Parallel()
	r := newStage(t).run(t.Context(), "worker", "--help")
	_, flags, _ := strings.Cut(r.out, "\nFlags:\n")
	for _, about := range strings.Split(strings.Join(strings.Fields(flags), " "), " --") {
		if strings.HasPrefix(about, "data-dir ") && (!strings.Contains(about, "./lineshaft-worker") || strings.Contains(about, "database")) ||
			strings.HasPrefix(about, "shutdown-grace ") && (!strings.Contains(about, "stopping worker") || strings.Contains(about, "stopping server")) {
			t.Error(about)
		}
	}
}

// TestS1AWorkersKeyGoesToItsServer: the address and the key are chosen together, as for
// every other command.
func TestS1AWorkersKeyGoesToItsServer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, url, server string
		taken             bool
	}{
		{"another server", "https://own.test", "https://other.test", false},
		{"another port", "https://own.test", "https://own.test:8443", false},
		{"without TLS", "https://own.test", "http://own.test:443", false},
		{"the same", "https://own.test/api/v1", "https://own.test", true},
		{"no address in the environment", "", "https://other.test", true},
	} {
		s := newStage(t)
		s.setenv("LINESHAFT_URL="+tc.url, "LINESHAFT_API_KEY=ls_worker")
		_, as, r := worked(t, s, nil, "--id", "mac", "--server", tc.server)
		if (as.Key == "ls_worker") != tc.taken || (r.code == shell.ExitOK) != tc.taken {
			t.Errorf("%s: key %q, %+v", tc.name, as.Key, r)
		}
		if !tc.taken && (r.code != shell.ExitDenied || !strings.Contains(r.err, "LINESHAFT_API_KEY is for the server of LINESHAFT_URL") || !strings.Contains(r.err, "set LINESHAFT_URL to the worker's server")) {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}

func TestX2WorkerList(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("GET /api/v1/agent/connected-self-hosted-workers", 200, `{"workers":[{"worker_host":"mac","connection_count":2,"capacity":8,"load":3,"labels":["os=macos","xcode=26"],"connected_at":"2026-01-02T03:00:00Z","last_seen_at":"2026-01-02T03:59:00Z"}]}`)
	if r := s.run(t.Context(), "worker", "list"); r.code != shell.ExitOK || !strings.Contains(r.out, "WORKER") || !strings.Contains(r.out, "3 of 8") || !strings.Contains(r.out, "os=macos xcode=26") || !strings.Contains(r.out, "2026-01-02T03:59:00Z") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "worker", "list", "-o", "ndjson"); r.code != shell.ExitOK || !strings.HasPrefix(r.out, `{"worker_host":"mac","connection_count":2`) {
		t.Errorf("%+v", r)
	}
	empty := newStage(t)
	empty.answer("GET /api/v1/agent/connected-self-hosted-workers", 200, `{"workers":[]}`)
	if r := empty.run(t.Context(), "worker", "list"); r.code != shell.ExitOK || !strings.Contains(r.err, "no workers are connected") || r.out != "" {
		t.Errorf("%+v", r)
	}
}
