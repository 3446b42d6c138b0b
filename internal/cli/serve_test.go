package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// served runs a command whose Serve only notes its configuration.
func served(t *testing.T, s *stage, args ...string) (config.Config, result) {
	t.Helper()
	var got config.Config
	s.deps.Serve = func(ctx context.Context, cfg config.Config, out io.Writer, logger *slog.Logger) error {
		got = cfg
		fmt.Fprintln(out, "the banner")
		logger.InfoContext(ctx, "a line of the log")
		return nil
	}
	r := s.run(t.Context(), args...)
	return got, r
}

func TestI1ServePrecedence(t *testing.T) {
	t.Parallel()
	settings := file(t, "lineshaft.yaml", "listen: 127.0.0.1:1\nlease: 11s\nrate_limit: 5\n")
	for _, tc := range []struct {
		name   string
		env    []string
		args   []string
		listen string
		lease  string
		rate   int
	}{
		{"defaults", nil, nil, "127.0.0.1:8484", "30s", 0},
		{"file", nil, []string{"--config", settings}, "127.0.0.1:1", "11s", 5},
		{"file by variable", []string{"LINESHAFT_CONFIG=" + settings}, nil, "127.0.0.1:1", "11s", 5},
		{"environment", []string{"LINESHAFT_LISTEN=127.0.0.1:2", "LINESHAFT_LEASE=12s"}, []string{"--config", settings}, "127.0.0.1:2", "12s", 5},
		{"flags", []string{"LINESHAFT_LISTEN=127.0.0.1:2", "LINESHAFT_LEASE=12s"}, []string{"--config", settings, "--listen", "127.0.0.1:3"}, "127.0.0.1:3", "12s", 5},
	} {
		s := newStage(t)
		s.setenv(tc.env...)
		cfg, r := served(t, s, append([]string{"serve"}, tc.args...)...)
		if r.code != 0 || cfg.Listen != tc.listen || cfg.Lease.String() != tc.lease || cfg.RateLimit != tc.rate {
			t.Errorf("%s: %v, %+v", tc.name, cfg, r)
		}
	}
}

// TestI1EveryFlag: each setting but the secret one is a flag of serve.
func TestI1EveryFlag(t *testing.T) {
	t.Parallel()
	help := newStage(t).run(t.Context(), "serve", "--help").out
	for _, f := range config.Fields() {
		if strings.Contains(help, "--"+f.Name+" ") == f.EnvOnly {
			t.Errorf("--%s in the help: %v", f.Name, !f.EnvOnly)
		}
	}
	s := newStage(t)
	cfg, r := served(t, s, "serve", "--no-worker", "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "192.0.2.1", "--agent-command", "my-agent -p", "--memory-limit=1GiB")
	if r.code != 0 || !cfg.NoWorker || len(cfg.TrustedProxies) != 2 || len(cfg.AgentCommand) != 2 || cfg.MemoryLimit != 1<<30 {
		t.Errorf("%v, %+v", cfg, r)
	}
}

func TestI1ServeProblems(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.setenv("LINESHAFT_RATE_LIMIT=fast")
	_, r := served(t, s, "serve", "--config", file(t, "l.yaml", "lisen: x\n"), "--lease", "soon")
	for _, want := range []string{"Error: the settings are not valid:", `unknown key "lisen"; did you mean listen?`, "LINESHAFT_RATE_LIMIT:", "--lease:", "lineshaft serve --help"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is missing in %q", want, r.err)
		}
	}
	if r.code != shell.ExitUsage || r.out != "" {
		t.Errorf("%+v", r)
	}
	if _, r := served(t, newStage(t), "serve", "--config", "/does/not/exist.yaml"); r.code != shell.ExitUsage || !strings.Contains(r.err, "--config or LINESHAFT_CONFIG") {
		t.Errorf("%+v", r)
	}
	if _, r := served(t, newStage(t), "serve", "--admin-key", "ls_x"); r.code != shell.ExitUsage || !strings.Contains(r.err, "unknown flag") {
		t.Errorf("%+v", r)
	}
}

func TestI5ServeLog(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		width int
		args  []string
		want  string
	}{
		{0, nil, `"msg":"a line of the log"`},
		{80, nil, `msg="a line of the log"`},
		{80, []string{"--log-format", "json"}, `"msg":"a line of the log"`},
		{0, []string{"--log-format", "text"}, `msg="a line of the log"`},
	} {
		s := newStage(t)
		s.terminal(tc.width)
		if _, r := served(t, s, append([]string{"serve"}, tc.args...)...); !strings.Contains(r.err, tc.want) || r.out != "the banner\n" {
			t.Errorf("%d %v: %+v", tc.width, tc.args, r)
		}
	}
	if _, r := served(t, newStage(t), "serve", "--log-level", "warn"); strings.Contains(r.err, "a line of the log") {
		t.Errorf("the level does not hold: %+v", r)
	}
}

func TestH12ServeWarns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.setenv("LINESHAFT_LISTN=x")
	_, r := served(t, s, "serve", "--listen", "0.0.0.0:1")
	if !strings.Contains(r.err, "without HTTPS") || !strings.Contains(r.err, "did you mean LINESHAFT_LISTEN?") {
		t.Errorf("%+v", r)
	}
}

func TestServeFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deps.Serve = func(context.Context, config.Config, io.Writer, *slog.Logger) error {
		return errors.New("listen: address in use")
	}
	if r := s.run(t.Context(), "serve"); r.code != shell.ExitFailed || !strings.Contains(r.err, "Error: listen: address in use") {
		t.Errorf("%+v", r)
	}
}

func TestI1PartsThatAreNotBuiltIn(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "migrate", "doctor", "openapi"} {
		if r := newStage(t).run(t.Context(), command); r.code != shell.ExitFailed || !strings.Contains(r.err, command+" is not part of this program") {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

func TestI1Migrate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deps.Migrate = func(_ context.Context, cfg config.Config, out io.Writer) error {
		fmt.Fprintln(out, "migrated", cfg.DatabaseOrDefault())
		return nil
	}
	if r := s.run(t.Context(), "migrate", "--database", "/x.db"); r.code != 0 || r.out != "migrated /x.db\n" {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "migrate", "--database", "mysql://x"); r.code != shell.ExitUsage {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "migrate", "--listen", "x"); r.code != shell.ExitUsage || !strings.Contains(r.err, "unknown flag") {
		t.Errorf("%+v", r)
	}
}

func TestI1Doctor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	checks := []config.Check{
		{Name: "database", State: config.CheckOK, Detail: "SQLite, new"},
		{Name: "isolation", State: config.CheckWarning, Detail: "none", Fix: "Install bubblewrap."},
	}
	s.deps.Doctor = func(context.Context, config.Config) ([]config.Check, error) { return checks, nil }
	if r := s.run(t.Context(), "doctor"); r.code != 0 || r.out != "ok       database: SQLite, new\nwarning  isolation: none\n         Install bubblewrap.\n" {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "doctor", "-o", "ndjson"); r.code != 0 || !strings.HasPrefix(r.out, `{"name":"database","state":"ok","detail":"SQLite, new"}`+"\n") {
		t.Errorf("%+v", r)
	}
	checks[0].State = config.CheckProblem
	for _, format := range []string{"table", "json", "ndjson", "yaml"} {
		if r := s.run(t.Context(), "doctor", "-o", format); r.code != shell.ExitFailed || !strings.Contains(r.out, "problem") || r.err != "" {
			t.Errorf("%s: %+v", format, r)
		}
	}
	checks = []config.Check{{Name: "models", State: config.CheckProblem, Detail: "m.yaml:1: one\nm.yaml:2: two\n"}}
	if r := s.run(t.Context(), "doctor"); r.out != "problem  models: m.yaml:1: one; m.yaml:2: two\n" {
		t.Errorf("%+v", r)
	}
	s.deps.Doctor = func(context.Context, config.Config) ([]config.Check, error) { return nil, errors.New("out of order") }
	if r := s.run(t.Context(), "doctor"); r.code != shell.ExitFailed || !strings.Contains(r.err, "check this machine: out of order") {
		t.Errorf("%+v", r)
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deps.OpenAPI = func() ([]byte, error) { return []byte(`{"openapi":"3.1.0","info":{"title":"x"}}`), nil }
	if r := s.run(t.Context(), "openapi"); r.code != 0 || r.out != `{"openapi":"3.1.0","info":{"title":"x"}}` {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "openapi", "-o", "yaml"); r.code != 0 || r.out != "openapi: 3.1.0\ninfo:\n  title: x\n" {
		t.Errorf("%+v", r)
	}
	s.deps.OpenAPI = func() ([]byte, error) { return nil, errors.New("no") }
	if r := s.run(t.Context(), "openapi"); r.code != shell.ExitFailed || !strings.Contains(r.err, "describe the API: no") {
		t.Errorf("%+v", r)
	}
}

// TestSuperviseComesFirst: it gets no command tree, no signals and no streams.
func TestSuperviseComesFirst(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code := Main(t.Context(), []string{"supervise", "--nonsense"}, Deps{Programs: server.Programs{Supervise: func(context.Context) int { return 42 }}, Surroundings: shell.Surroundings{Stdout: &out, Stderr: &out}})
	if code != 42 || out.Len() != 0 {
		t.Errorf("exit %d, output %q", code, out.String())
	}
}

// TestForwardComesFirst: an agent waits behind it, and its own words are not flags.
func TestForwardComesFirst(t *testing.T) {
	t.Parallel()
	var got []string
	deps := Deps{Programs: server.Programs{Forward: func(_ context.Context, args []string) int { got = args; return 43 }}}
	if code := Main(t.Context(), []string{"forward", "4141", "/s", "--", "agent", "--help"}, deps); code != 43 || strings.Join(got, " ") != "4141 /s -- agent --help" {
		t.Errorf("exit %d, arguments %q", code, got)
	}
}

func TestMainReturnsTheExitCode(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if code := Main(t.Context(), []string{"version"}, Deps{Surroundings: shell.Surroundings{Stdout: &out, Stderr: &out, Environ: []string{}}}); code != 0 || !strings.HasPrefix(out.String(), "lineshaft "+Version()) {
		t.Errorf("exit %d, %q", code, out.String())
	}
	if code := Main(t.Context(), []string{"nonsense"}, Deps{Surroundings: shell.Surroundings{Stdout: &out, Stderr: &out, Environ: []string{}}}); code != shell.ExitUsage {
		t.Errorf("exit %d", code)
	}
}
