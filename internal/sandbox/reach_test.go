//go:build linux

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// closedTree is a data directory as servers have it: closed, with workspaces,
// a program and things that are nobody's business.
func closedTree(t *testing.T) (base string, sources []string) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "data")
	for _, dir := range []string{"runs/r1/src", "runs/r2", "bin"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{"runs/r1/src/a.txt": "a", "runs/r2/b.txt": "b", "bin/tool": "tool", "database": "db"} {
		if err := os.WriteFile(filepath.Join(base, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return base, []string{filepath.Join(base, "runs/r1/src"), filepath.Join(base, "runs/r1"), filepath.Join(base, "bin/tool"), "/usr"}
}

func TestX5ClosedSourcesBecomeReachableForOneThreadOnly(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only a server that is root has other users to reach for")
	}
	base, sources := closedTree(t)
	if err := os.Chown(filepath.Join(base, "runs/r1"), 61999, 61999); err != nil { // as a workspace is
		t.Fatal(err)
	}
	result := make(chan error)
	go func() {
		// The thread ends with this goroutine, and its mounts with it.
		runtime.LockOSThread()
		result <- reachable(base, sources)
	}()
	if err := <-result; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(base, "database")); err != nil {
		t.Errorf("the rest of the process sees the change: %v", err)
	}
}

func reachable(base string, sources []string) error {
	const stranger = 61999
	if err := makeReachable(stranger, sources); err != nil {
		return err
	}
	var errs []error
	for _, s := range sources {
		if dir, err := closedAbove(stranger, s); dir != "" || err != nil {
			errs = append(errs, errors.New(s+" is still behind "+dir))
		}
	}
	for file, want := range map[string]string{"runs/r1/src/a.txt": "a", "bin/tool": "tool"} {
		if text, err := os.ReadFile(filepath.Join(base, file)); string(text) != want {
			errs = append(errs, err, errors.New(file+" holds "+string(text)))
		}
	}
	for _, hidden := range []string{"database", "runs/r2"} {
		if _, err := os.Stat(filepath.Join(base, hidden)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, errors.New(hidden+" can be seen"))
		}
	}
	return errors.Join(errs...)
}

func TestX5NothingIsMountedWhenNothingIsClosed(t *testing.T) {
	t.Parallel()
	before, err := os.Readlink("/proc/thread-self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, uid := range []int{0, os.Geteuid(), 61999} {
		if err := makeReachable(uid, []string{"/usr", "/usr/bin"}); err != nil {
			t.Errorf("user %d: %v", uid, err)
		}
	}
	if after, err := os.Readlink("/proc/thread-self/ns/mnt"); after != before || err != nil {
		t.Errorf("namespace %s became %s, %v", before, after, err)
	}
	if err := makeReachable(61999, []string{"/no/such/path/at/all"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing source: %v", err)
	}
}

// What belongs to the agent already is not touched: a large workspace is walked,
// not rewritten, at every start.
func TestX5OwnerIsChangedOnlyWhereItDiffers(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only a server that is root changes owners")
	}
	const uid = 61998
	dir := t.TempDir()
	theirs, ours := filepath.Join(dir, "theirs"), filepath.Join(dir, "ours")
	for _, path := range []string{theirs, ours} {
		if err := os.WriteFile(path, nil, 0o4755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o755|fs.ModeSetuid); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chown(theirs, uid, uid), os.Chmod(theirs, 0o755|fs.ModeSetuid)); err != nil {
		t.Fatal(err)
	}
	if err := giveTo(t.Context(), dir, uid); err != nil {
		t.Fatal(err)
	}
	// The kernel clears the bit when an owner is changed, so it shows who was changed.
	for path, want := range map[string]bool{theirs: true, ours: false} {
		info, err := os.Stat(path)
		if err != nil || (info.Mode()&fs.ModeSetuid != 0) != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		if info, _ := os.Stat(path); mayPass(info, uid) != true {
			t.Errorf("%s is not the agent's", path)
		}
	}
	if err := giveTo(t.Context(), filepath.Join(dir, "missing"), uid); err == nil {
		t.Error("a missing workspace is no error")
	}
}

func TestX5NamespaceAdvice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, text, want string }{
		"all well":         {"user/max_user_namespaces", "96360\n", ""},
		"none allowed":     {"user/max_user_namespaces", "0\n", "set user.max_user_namespaces=10000"},
		"Debian's switch":  {"kernel/unprivileged_userns_clone", "0\n", "set kernel.unprivileged_userns_clone=1"},
		"Ubuntu's switch":  {"kernel/apparmor_restrict_unprivileged_userns", "1\n", "set kernel.apparmor_restrict_unprivileged_userns=0"},
		"no such settings": {"other", "", ""},
	} {
		sys := t.TempDir()
		path := filepath.Join(sys, test.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(test.text), 0o644)); err != nil {
			t.Fatal(err)
		}
		got := namespaceAdvice(sys)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestX5ArgumentsOfBubblewrap(t *testing.T) {
	t.Parallel()
	b := NewBubblewrap(Options{ReadOnly: []string{"/tmp/tool"}})
	b.sized = true
	dir := t.TempDir()
	v, err := b.view(Spec{Dir: dir, Env: []string{"A=1=2", "PWD=/x"}, Network: NetworkNone, Slot: 7, Limits: Limits{MemoryBytes: 4096}})
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	args := v.args()
	text := "\n" + strings.Join(args, "\n") + "\n"
	for _, want := range []string{
		"--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session", "--cap-drop\nALL",
		"--uid\n61007\n--gid\n61007", "--bind\n" + real + "\n/workspace", "--setenv\nA\n1=2", "--setenv\nPWD\n/workspace",
		"--size\n4096\n--tmpfs\n/tmp", "--ro-bind-try\n/tmp/tool\n/tmp/tool",
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%q is missing in %q", want, args)
		}
	}
	for _, never := range []string{"/etc/resolv.conf", "/etc/shadow", "/etc/passwd", "/etc", "/root", "/home", "/var"} {
		if strings.Contains(text, "\n"+never+"\n") {
			t.Errorf("%q is in %q", never, args)
		}
	}
	// A private /tmp must not cover what is shown below it, and the root is sealed last.
	if slices.Index(args, "/tmp") > slices.Index(args, "/tmp/tool") || slices.Index(args, "/workspace") > slices.Index(args, "/") {
		t.Errorf("wrong order in %q", args)
	}
	v, err = b.view(Spec{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if args := v.args(); slices.Contains(args, "--unshare-net") || !slices.Contains(args, "/etc/resolv.conf") || slices.Contains(args, "--size") {
		t.Errorf("the full network: %q", args)
	}
}

func TestX1ClockGoesOn(t *testing.T) {
	t.Parallel()
	before := bootTime()
	<-time.After(2 * time.Millisecond) // time has to pass: that is what is tested
	if after := bootTime(); after-before < time.Millisecond || after-before > time.Minute {
		t.Errorf("%s became %s", before, after)
	}
}
