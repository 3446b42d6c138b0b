//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// attempts makes system calls that agents are refused, and some that they need, and
// prints how each ended. Arguments are such that without a filter nothing happens.
func attempts() int {
	for _, c := range []struct {
		name string
		call uintptr
		args [3]uintptr
	}{
		{"unshare user", unix.SYS_UNSHARE, [3]uintptr{unix.CLONE_NEWUSER}},
		{"unshare time", unix.SYS_UNSHARE, [3]uintptr{unix.CLONE_NEWTIME}},
		{"unshare files", unix.SYS_UNSHARE, [3]uintptr{unix.CLONE_FILES}},
		{"clone user", unix.SYS_CLONE, [3]uintptr{unix.CLONE_NEWUSER | unix.CLONE_THREAD}}, // without a filter EINVAL
		{"clone3", unix.SYS_CLONE3, [3]uintptr{}},
		{"setns", unix.SYS_SETNS, [3]uintptr{^uintptr(0)}},
		{"fsopen", unix.SYS_FSOPEN, [3]uintptr{}},
		{"keyctl", unix.SYS_KEYCTL, [3]uintptr{0, ^uintptr(2)}},
		{"bpf", unix.SYS_BPF, [3]uintptr{^uintptr(0)}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [3]uintptr{^uintptr(0)}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [3]uintptr{}},
		{"ptrace", unix.SYS_PTRACE, [3]uintptr{unix.PTRACE_ATTACH, 1 << 21}},
		{"getpid", unix.SYS_GETPPID, [3]uintptr{}},
	} {
		_, _, errno := syscall.RawSyscall(c.call, c.args[0], c.args[1], c.args[2])
		text := "done"
		if errno != 0 {
			text = unix.ErrnoName(errno)
		}
		fmt.Fprintln(os.Stdout, c.name+":", text)
	}
	return 0
}

// Agents cannot make user namespaces, nor reach the parts of the kernel that they
// have no use for; what debuggers and ordinary programs need is left.
func TestX5SystemCallsAreFiltered(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(unfiltered bool) string {
		o := options()
		o.ReadOnly = []string{self}
		o.Unfiltered = unfiltered
		out := newLines()
		p, err := sandbox.NewBubblewrap(o).Start(t.Context(), sandbox.Spec{
			Dir: t.TempDir(), Env: basicEnv(), Stdout: out, Stderr: out,
			Command: []string{"/bin/sh", "-c", self + " attempts; unshare -U true || echo no namespace; grep Seccomp: /proc/self/status"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	filtered := run(false)
	for _, want := range []string{
		"unshare user: EPERM", "unshare time: EPERM", "unshare files: done", "clone user: EPERM", "clone3: ENOSYS", "setns: EPERM", "fsopen: EPERM",
		"keyctl: EPERM", "bpf: EPERM", "userfaultfd: EPERM", "io_uring_setup: ENOSYS", "ptrace: ESRCH", "getpid: done", "no namespace", "Seccomp:\t2",
	} {
		if !strings.Contains(filtered, want) {
			t.Errorf("%q is not in\n%s", want, filtered)
		}
	}
	if free := run(true); !strings.Contains(free, "Seccomp:\t0") || strings.Contains(free, "no namespace") {
		t.Errorf("without the filter:\n%s", free)
	}
}
