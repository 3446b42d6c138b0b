//go:build linux

package sandbox_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// The anchors start the same process directly: the difference is what the
// supervisor, its pipes and its control groups add.

func BenchmarkStartDirect(b *testing.B) {
	for b.Loop() {
		if err := exec.CommandContext(b.Context(), "/bin/sh", "-c", "exit 0").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStartNone(b *testing.B) {
	benchmarkStart(b, sandbox.NewNone(directly()), sandbox.Limits{})
}

func BenchmarkStartNoneWithLimits(b *testing.B) {
	benchmarkStart(b, sandbox.NewNone(directly()), sandbox.Limits{MemoryBytes: 1 << 30, Processes: 500, CPUs: 1})
}

func BenchmarkStartBubblewrapDirect(b *testing.B) {
	dir := b.TempDir()
	_ = os.Chmod(filepath.Dir(dir), 0o755)
	args := strings.Fields(`--die-with-parent --new-session --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try
		--ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --ro-bind-try /etc/ssl /etc/ssl
		--proc /proc --dev /dev --tmpfs /tmp --bind ` + dir + ` /workspace --remount-ro / --chdir /workspace --cap-drop ALL /bin/sh -c`)
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "bwrap", append(args, "exit 0")...)
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 61000, Gid: 61000}}
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}

func BenchmarkStartBubblewrap(b *testing.B) {
	benchmarkStart(b, sandbox.NewBubblewrap(directly()), sandbox.Limits{})
}

func BenchmarkStartBubblewrapWithLimits(b *testing.B) {
	benchmarkStart(b, sandbox.NewBubblewrap(directly()), sandbox.Limits{MemoryBytes: 1 << 30, Processes: 500, CPUs: 1})
}

// The program is the test binary here; the released one has more to load.
func BenchmarkStartBubblewrapForward(b *testing.B) {
	dir, err := os.MkdirTemp("", "fwd") //nolint:usetesting // the path of a socket has at most 107 bytes
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket := filepath.Join(dir, "s")
	listener, err := new(net.ListenConfig).Listen(b.Context(), "unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	o := directly()
	if o.Program, err = os.Executable(); err != nil {
		b.Fatal(err)
	}
	spec := sandbox.Spec{Network: sandbox.NetworkNone}
	s := sandbox.NewBubblewrap(o)
	b.Run("without", func(b *testing.B) { benchmarkSpec(b, s, spec) })
	spec.Forward = sandbox.Forward{Socket: socket, Port: 4141}
	b.Run("with", func(b *testing.B) { benchmarkSpec(b, s, spec) })
}

func directly() sandbox.Options {
	return sandbox.Options{Supervisor: []string{"/proc/self/exe", "supervise"}}
}

func benchmarkStart(b *testing.B, s sandbox.Sandbox, limits sandbox.Limits) {
	b.Helper()
	benchmarkSpec(b, s, sandbox.Spec{Limits: limits})
}

func benchmarkSpec(b *testing.B, s sandbox.Sandbox, spec sandbox.Spec) {
	b.Helper()
	spec.Dir, spec.Command, spec.Env = b.TempDir(), []string{"/bin/sh", "-c", "exit 0"}, basicEnv()
	for b.Loop() {
		p, err := s.Start(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}
