//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// The test binary plays several parts: the tests, the supervisor, a worker that is
// killed or stopped by a test, one that starts many agents, and an agent that
// starts processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "supervise":
			os.Exit(sandbox.Supervise(context.Background()))
		case "forward":
			os.Exit(sandbox.RunForward(context.Background(), os.Args[2:]))
		case "talk":
			os.Exit(talk(os.Args[2], os.Args[3]))
		case "worker":
			os.Exit(worker(os.Args[2:]))
		case "many":
			os.Exit(many(os.Args[2]))
		case "hold":
			os.Exit(hold(os.Args[2]))
		case "attempts":
			os.Exit(attempts())
		case "forker":
			os.Exit(forker(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removePodman()
		os.Exit(code)
	}))
}

// options make the test binary its own supervisor. With the race detector a
// program waits a second before it ends, unless it is set not to.
func options() sandbox.Options {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return sandbox.Options{Supervisor: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, "supervise"}}
}

// worker starts an agent and feeds it until it ends: kind, workspace, feed time, script.
func worker(args []string) int {
	within, err := time.ParseDuration(args[2])
	if err != nil {
		return 2
	}
	s := named(args[0])
	p, err := s.Start(context.Background(), sandbox.Spec{
		Dir: args[1], Command: []string{"/bin/sh", "-c", args[3]}, Env: basicEnv(), FeedWithin: within, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	feeding := time.NewTicker(within / 10)
	defer feeding.Stop()
	for {
		select {
		case <-feeding.C:
			p.Feed()
		case <-p.Done():
			exit, err := p.Wait()
			fmt.Fprintf(os.Stdout, "ended %q %v\n", exit.Reason, err)
			return 0
		}
	}
}

func named(name string) sandbox.Sandbox {
	if name == "bubblewrap" {
		return sandbox.NewBubblewrap(options())
	}
	return sandbox.NewNone(options())
}

// many starts 50 agents at the same time and looks for what they leave in their
// worker: descriptors and goroutines.
func many(name string) int {
	const agents = 50
	dir, err := os.MkdirTemp("", "many")
	if err != nil {
		return 2
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := named(name)
	descriptors := func() int {
		entries, _ := os.ReadDir("/proc/self/fd")
		return len(entries)
	}
	one := func(i int) error {
		out := newLines()
		spec := sandbox.Spec{Dir: dir, Command: []string{"/bin/sh", "-c", "cat; sleep 1000 & exit 3"}, Env: basicEnv(), Stdout: out}
		spec.Stdin = strings.NewReader(strconv.Itoa(i))
		p, err := s.Start(context.Background(), spec)
		if err != nil {
			return err
		}
		exit, err := p.Wait()
		if err != nil || exit.Code != 3 || out.String() != strconv.Itoa(i) {
			return fmt.Errorf("agent %d: %+v, %w, %q", i, exit, err, out.String())
		}
		return nil
	}
	if err := one(0); err != nil { // what is opened once for all
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	before := descriptors()
	errs := make(chan error, agents)
	for i := range agents {
		go func() { errs <- one(i) }()
	}
	for range agents {
		if err := <-errs; err != nil {
			fmt.Fprintln(os.Stdout, err)
			return 1
		}
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	if after := descriptors(); after != before {
		fmt.Fprintf(os.Stdout, "%d descriptors before, %d after\n", before, after)
		return 1
	}
	fmt.Fprintln(os.Stdout, "clean")
	return 0
}

// forker starts processes until it cannot, says how many, and stays: number, seconds to sleep.
func forker(args []string) int {
	most, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	n := 0
	for ; n < most; n++ {
		if exec.Command("sleep", args[1]).Start() != nil {
			break
		}
	}
	fmt.Fprintf(os.Stdout, "started %d\n", n)
	<-time.After(time.Hour)
	return 0
}

func basicEnv() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp"}
}

// each runs a test in every sandbox of this machine. Bubblewrap may be missing on
// a laptop, not where tests decide something.
func each(t *testing.T, test func(t *testing.T, s sandbox.Sandbox)) {
	t.Helper()
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		test(t, sandbox.NewNone(options()))
	})
	t.Run("bubblewrap", func(t *testing.T) {
		t.Parallel()
		test(t, bubblewrap(t, options()))
	})
}

func bubblewrap(t *testing.T, o sandbox.Options) *sandbox.Bubblewrap {
	t.Helper()
	if err := sandbox.NewBubblewrap(options()).Check(t.Context()); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("bubblewrap must work in CI: %v", err)
		}
		t.Skipf("bubblewrap does not work on this machine: %v", err)
	}
	s := sandbox.NewBubblewrap(o)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// lines is a writer that hands out what was written, also while more comes.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// await blocks until the text was written.
func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !strings.Contains(l.String(), text) {
		select {
		case <-l.more:
		case <-deadline:
			t.Fatalf("%q did not come; got %q", text, l.String())
		}
	}
}

// shell is a spec for a script.
func shell(t *testing.T, script string) sandbox.Spec {
	t.Helper()
	return sandbox.Spec{Dir: t.TempDir(), Command: []string{"/bin/sh", "-c", script}, Env: basicEnv()}
}

// begin starts a spec and ends it at the end of the test.
func begin(t *testing.T, s sandbox.Sandbox, spec sandbox.Spec) *sandbox.Process {
	t.Helper()
	p, err := s.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill(0)
		_, _ = p.Wait()
	})
	return p
}

// wait is Wait with a limit, so that a tree that does not end fails its own test.
func wait(t *testing.T, p *sandbox.Process) sandbox.Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("the agent did not end")
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

// run starts a spec, waits, and gives what it printed.
func run(t *testing.T, s sandbox.Sandbox, spec sandbox.Spec) (sandbox.Exit, string) {
	t.Helper()
	out := newLines()
	spec.Stdout, spec.Stderr = out, out
	exit := wait(t, begin(t, s, spec))
	return exit, out.String()
}

// marked lists the live processes that have the mark among their arguments.
func marked(mark string) []int {
	var out []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.Contains(string(args), mark) {
			continue
		}
		// A worker and a shell have it in their script: only the sleepers count.
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && strings.HasPrefix(string(args), "sleep\x00") {
			out = append(out, pid)
		}
	}
	return out
}

// awaitMarked polls until at least n marked processes live, so that a test that
// looks for left-overs cannot pass because there never was anything.
func awaitMarked(t *testing.T, mark string, n int) {
	t.Helper()
	poll(t, fmt.Sprintf("%d processes %s", n, mark), func() bool { return len(marked(mark)) >= n })
}

// gone fails unless nothing of the mark is left at this moment.
func gone(t *testing.T, mark string) {
	t.Helper()
	if left := marked(mark); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// poll waits for something other processes do.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// parent reads the parent's process id.
func parent(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ppid, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return ppid
}

// mark is a number of seconds to sleep that no other process has.
func mark() string {
	return fmt.Sprintf("86400.%d%d", os.Getpid(), time.Now().UnixNano())
}

// stubborn is a script whose processes ignore signals, leave their session and
// their parent, and print "up" when all four sleep.
func stubborn(mark string) string {
	return strings.ReplaceAll(`trap '' TERM INT HUP
setsid sleep MARK &
(setsid sh -c 'sleep MARK & exec sleep MARK' &)
(sleep MARK &)
echo up
`, "MARK", mark)
}
