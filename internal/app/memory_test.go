package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// closed is a process that begins as a server, worker or executor does, fails there, and
// lets a child of the same user look at it. Then it starts itself again, as for an agent.
func closed(as string) int {
	ctx, opts := context.Background(), app.Options{Logger: slog.New(slog.DiscardHandler)}
	cfg := config.Default()
	cfg.DataDir, cfg.Listen = "/proc/no/such/folder", "127.0.0.1:0"
	var err error
	switch as {
	case "execute":
		err = app.Execute(ctx, "/no/such/folder", opts)
	case "worker":
		err = app.RunWorker(ctx, cfg, opts, app.RemoteWorker{})
	case "serve":
		err = app.Run(ctx, cfg, opts)
	case "open":
		err = os.ErrNotExist
	}
	if err == nil {
		return 3
	}
	look := exec.CommandContext(ctx, "/bin/sh", "-c", `p=/proc/$PPID; grep -q PRIVATE_VALUE $p/environ && echo reads environ
(: < $p/mem) 2>/dev/null && echo reads mem; (: < $p/maps) 2>/dev/null && echo reads maps; ls $p/fd/ 2>/dev/null | grep -q . && echo reads fd; true`)
	out, err := look.CombinedOutput()
	fmt.Fprintf(os.Stdout, "%s%v\n", out, err)
	again := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^$")
	if out, err := again.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stdout, "does not start anew: %v: %s\n", err, out)
	}
	return 0
}

// TestX4OtherProcessesDoNotReadOurs: agents may run as the user of the process that
// starts them, as in pods, and that one has what they are not given.
func TestX4OtherProcessesDoNotReadOurs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a switch for this")
	}
	for _, as := range []string{"open", "execute", "worker", "serve"} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "closed", as)
			cmd.Dir, cmd.Env = "/", append(os.Environ(), "PRIVATE_VALUE=x")
			if os.Geteuid() == 0 { // root may read everything, so be another user
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64320, Gid: 64320}}
				cmd.Path = readable(t)
			}
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), "anew") {
				t.Fatalf("%v: %s", err, out)
			}
			if reads := strings.Count(string(out), "reads"); as == "open" && reads < 3 || as != "open" && reads > 0 {
				t.Errorf("a process of the same user: %s", out)
			}
		})
	}
}

// readable is a copy of this program that others may start.
func readable(t *testing.T) string {
	t.Helper()
	// Not a folder of the test's: others may not enter those.
	dir, err := os.MkdirTemp("", "lineshaft-closed") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "program")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// By another process: a file that this one writes cannot be started while a child of
	// another test still has it open.
	if out, err := exec.CommandContext(t.Context(), "cp", self, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}
