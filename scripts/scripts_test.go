// Package scripts_test runs the shell programs of this folder the way make
// does. It holds no code for the product.
package scripts_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outcome is how a script ended.
type outcome struct {
	status int
	out    string // standard output and error together
}

// script runs a script of this folder from the root of the module.
func script(t *testing.T, env []string, name string, args ...string) outcome {
	t.Helper()
	cmd := command(t, env, name, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), string(out)}
}

func command(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "./scripts/"+name, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

func TestStepPassesTheStatusOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command string
		status  int
		want    string
	}{
		{"true", 0, "==> title\n<== title: ok, "},
		{"exit 7", 7, "<== title: FAILED with status 7, "},
	} {
		got := script(t, nil, "step", "title", "bash", "-c", tt.command)
		if got.status != tt.status || !strings.Contains(got.out, tt.want) {
			t.Errorf("%s: status %d and %q, want %d and %q", tt.command, got.status, got.out, tt.status, tt.want)
		}
	}
}

func TestCountsWantsEverySuite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines, want string
		status      int
	}{
		"all":     {"go: 5 passed, 0 failed\nsdk: 12 passed\n", "sdk: 12 passed", 0},
		"missing": {"go: 5 passed, 0 failed\n", `the suite "sdk"`, 1},
		"nothing": {"go: 5 passed, 0 failed\nsdk: 0 passed\n", `the suite "sdk"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "summary")
			if err := os.WriteFile(file, []byte(tt.lines), 0o600); err != nil {
				t.Fatal(err)
			}
			got := script(t, nil, "counts", file, "go", "sdk")
			if got.status != tt.status || !strings.Contains(got.out, tt.want) {
				t.Errorf("status %d and %q, want %d and %q", got.status, got.out, tt.status, tt.want)
			}
		})
	}
}

func TestInstallDepsSaysWhatToDoWithoutRoot(t *testing.T) {
	t.Parallel()
	// A PATH with the bare minimum, and an id command that is not root.
	bin := t.TempDir()
	for name, text := range map[string]string{"id": "#!/bin/sh\necho 1000\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bash, filepath.Join(bin, "bash")); err != nil {
		t.Fatal(err)
	}
	got := script(t, []string{"PATH=" + bin}, "install-deps")
	if got.status != 1 || !strings.Contains(got.out, "sudo apt-get install") || !strings.Contains(got.out, "bubblewrap") {
		t.Errorf("status %d and %q, want 1 and the command to run", got.status, got.out)
	}
}

// postgresDir skips without a full run and makes a folder for the servers.
func postgresDir(t *testing.T) string {
	t.Helper()
	if os.Getenv("LINESHAFT_TEST_FULL") == "" {
		t.Skip("LINESHAFT_TEST_FULL is not set: no PostgreSQL is started")
	}
	dir := t.TempDir()
	for _, open := range []string{dir, filepath.Dir(dir)} { // the server runs as another user
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// nothingLeft checks that neither files nor processes of the servers remain.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), dir) {
			t.Errorf("still running: %s %q", file, text)
		}
	}
}

// TestWithPostgres runs two servers at once, because the two cases are parallel. Only
// who asks for it gets one that a power failure can break.
func TestWithPostgres(t *testing.T) {
	t.Parallel()
	const ask = `psql "$LINESHAFT_TEST_POSTGRES" -Atc "select name || '=' || setting from pg_settings"; exit 3`
	for fsync, args := range map[string][]string{"on": nil, "off": {"--no-fsync"}} {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			dir := postgresDir(t)
			got := script(t, []string{"TMPDIR=" + dir}, "with-postgres", append(args, "bash", "-c", ask)...)
			if got.status != 3 {
				t.Errorf("status %d, want that of the command, 3", got.status)
			}
			for _, want := range []string{"fsync=" + fsync, "full_page_writes=" + fsync, "synchronous_commit=on", "max_connections=300", "listen_addresses=127.0.0.1"} {
				if !strings.Contains(got.out, want+"\n") {
					t.Errorf("the server does not have %s: %.300s", want, got.out)
				}
			}
			nothingLeft(t, dir)
			// It is elsewhere if there is room in memory.
			_, data, _ := strings.Cut(got.out, "\ndata_directory=")
			data, _, _ = strings.Cut(data, "\n")
			if _, err := os.Stat(filepath.Dir(data)); !filepath.IsAbs(data) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the data in %q is still there: %v", data, err)
			}
		})
	}
}

func TestWithPostgresCleansUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signal syscall.Signal
		status int
	}{
		"term": {syscall.SIGTERM, 143},
		"int":  {syscall.SIGINT, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := postgresDir(t)
			// The second process carries the folder's name, so that it is missed if it stays.
			cmd := command(t, []string{"TMPDIR=" + dir}, "with-postgres", "bash", "-c", "echo up; tail -f /dev/null --retry "+dir+"/none & wait")
			pipe, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(pipe).ReadString('\n'); line != "up\n" {
				t.Fatalf("the command said %q (%v), want up", line, err)
			}
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != tt.status {
				t.Errorf("ended with %v, want status %d", err, tt.status)
			}
			nothingLeft(t, dir)
		})
	}
}
