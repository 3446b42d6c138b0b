//go:build linux

package sandbox_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestR7KillEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		for _, grace := range []time.Duration{0, 50 * time.Millisecond} {
			m := mark()
			spec, out := shell(t, stubborn(m)+"exec sleep "+m), newLines()
			spec.Stdout, spec.Stderr = out, out
			p := begin(t, s, spec)
			out.await(t, "up")
			awaitMarked(t, m, 5)
			p.Kill(grace)
			exit := wait(t, p)
			gone(t, m)
			if exit.Reason != sandbox.ReasonKilled || exit.Code != 137 {
				t.Errorf("grace %s: got %+v", grace, exit)
			}
		}
	})
}

func TestR7LeftOversEndWithTheAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		m := mark()
		spec, out := shell(t, stubborn(m)+"read line; exit 4"), newLines()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		spec.Stdin, spec.Stdout, spec.Stderr = r, out, out
		p := begin(t, s, spec)
		awaitMarked(t, m, 4)
		_ = w.Close() // read ends, and the shell with it
		exit := wait(t, p)
		gone(t, m)
		if exit.Code != 4 || exit.Reason != sandbox.ReasonExited {
			t.Errorf("got %+v; output %q", exit, out)
		}
	})
}

func TestR7TermComesFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		// The shell waits for a child: the trap runs because the group gets the signal.
		spec, out := shell(t, `trap 'echo bye > note; exit 9' TERM; echo up; sleep 1000`), newLines()
		spec.Stdout = out
		p := begin(t, s, spec)
		out.await(t, "up")
		// The echo says that the trap is set, not that sleep runs: a signal between
		// the two is seen by the shell when its next child has ended.
		poll(t, "sleep", func() bool { return strings.Contains(commandLines(t, p.PID()), "sleep\x001000") })
		p.Kill(20 * time.Second)
		exit := wait(t, p)
		note, err := os.ReadFile(filepath.Join(spec.Dir, "note"))
		if exit.Code != 9 || exit.Reason != sandbox.ReasonKilled || string(note) != "bye\n" {
			t.Errorf("got %+v, %q, %v", exit, note, err)
		}
	})
}

// commandLines are the arguments of all processes below pid.
func commandLines(t *testing.T, pid int) string {
	t.Helper()
	var all strings.Builder
	tasks, _ := filepath.Glob("/proc/" + itoa(pid) + "/task/*/children")
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(list)) {
			args, _ := os.ReadFile("/proc/" + child + "/cmdline")
			all.Write(args)
			n, _ := strconv.Atoi(child)
			all.WriteString(commandLines(t, n))
		}
	}
	return all.String()
}

func TestR7LaterKillShortensTheGrace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		spec, out := shell(t, "trap '' TERM; echo up; while :; do sleep 1000; done"), newLines()
		spec.Stdout = out
		p := begin(t, s, spec)
		out.await(t, "up")
		p.Kill(time.Hour)
		p.Kill(200 * time.Millisecond)
		p.Kill(time.Hour) // does not give more time again
		if exit := wait(t, p); exit.Reason != sandbox.ReasonKilled {
			t.Errorf("got %+v", exit)
		}
	})
}

// helperWorker starts this binary as a worker with an agent, and returns it when
// the agent is up, with the process id of its supervisor.
func helperWorker(t *testing.T, s sandbox.Sandbox, within time.Duration, m string) (cmd *exec.Cmd, out *bufio.Reader, supervisor int) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], "worker", s.Name(), t.TempDir(), within.String(), stubborn(m)+"exec sleep "+m)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	out = bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != "up\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	awaitMarked(t, m, 5)
	tasks, _ := filepath.Glob("/proc/" + itoa(cmd.Process.Pid) + "/task/*/children")
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(list)) {
			supervisor, _ = strconv.Atoi(child)
		}
	}
	if supervisor == 0 {
		t.Fatal("the worker has no supervisor")
	}
	return cmd, out, supervisor
}

func TestX1KilledWorkerLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		m := mark()
		cmd, _, supervisor := helperWorker(t, s, time.Hour, m)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		killed := time.Now()
		poll(t, "the end of the tree", func() bool { return len(marked(m)) == 0 && !alive(supervisor) })
		if took := time.Since(killed); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestX1StoppedWorkerStarvesItsAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		const within = 4 * time.Second // a busy machine may keep the feeds up for a while
		m := mark()
		cmd, out, supervisor := helperWorker(t, s, within, m)
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		stopped := time.Now()
		poll(t, "the end of the tree", func() bool { return len(marked(m)) == 0 })
		if took := time.Since(stopped); took > within+20*time.Second {
			t.Errorf("it took %s", took)
		}
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); line != "ended \"starved\" <nil>\n" {
			t.Errorf("got %q, %v", line, err)
		}
		poll(t, "the end of the supervisor", func() bool { return !alive(supervisor) })
	})
}

func TestX1UnfedAgentStarvesAndFedAgentLives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		const within = 4 * time.Second
		spec := shell(t, "exec sleep 1000")
		spec.FeedWithin = within
		begun := time.Now()
		p := begin(t, s, spec)
		feed := time.NewTicker(within / 20)
		defer feed.Stop()
		fed := 0
		for ; fed < 30; fed++ { // half as long again as it lives unfed
			select {
			case <-feed.C:
				p.Feed()
			case <-p.Done():
				t.Fatalf("it ended after %d feeds", fed)
			}
		}
		last := time.Now()
		exit := wait(t, p)
		if took := time.Since(last); exit.Reason != sandbox.ReasonStarved || took < within/2 {
			t.Errorf("got %+v, %s after the last feed, %s after the start", exit, took, time.Since(begun))
		}
	})
}

// A supervisor that was frozen together with its worker must not be revived by
// the first feed after it.
func TestX1LateFeedDoesNotRevive(t *testing.T) {
	t.Parallel()
	spec := shell(t, "exec sleep 1000")
	spec.FeedWithin = 3 * time.Second // until then it is frozen, on a busy machine too
	p := begin(t, sandbox.NewNone(options()), spec)
	supervisor := parent(t, p.PID())
	if err := syscall.Kill(supervisor, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(2 * spec.FeedWithin) // the clock has to pass: that is what is tested
	p.Feed()
	if err := syscall.Kill(supervisor, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Reason != sandbox.ReasonStarved {
		t.Errorf("got %+v", exit)
	}
}

func TestX1KilledSupervisorTakesTheAgentAlong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		m := mark()
		spec, out := shell(t, "echo up; exec sleep "+m), newLines()
		spec.Stdout = out
		p := begin(t, s, spec)
		out.await(t, "up")
		awaitMarked(t, m, 1)
		if err := syscall.Kill(parent(t, p.PID()), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		exit, err := p.Wait()
		if !errors.Is(err, sandbox.ErrSupervisorLost) || exit.Reason != sandbox.ReasonLost {
			t.Errorf("got %+v, %v", exit, err)
		}
		poll(t, "the end of the agent", func() bool { return len(marked(m)) == 0 })
	})
}

func TestR7StoppedSupervisorDoesNotSaveTheTree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		m := mark()
		spec, out := shell(t, stubborn(m)+"exec sleep "+m), newLines()
		spec.Stdout = out
		p := begin(t, s, spec)
		awaitMarked(t, m, 5)
		if err := syscall.Kill(parent(t, p.PID()), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		p.Kill(0)
		if _, err := p.Wait(); !errors.Is(err, sandbox.ErrSupervisorLost) {
			t.Errorf("got %v", err)
		}
		poll(t, "the end of the tree", func() bool { return len(marked(m)) == 0 })
	})
}

// A process outside the tree holds the agent's stdout: Wait must not wait for it.
func TestR7SmuggledDescriptorDoesNotHoldWait(t *testing.T) {
	t.Parallel()
	spec, out := shell(t, "echo up; read line; echo last words"), newLines()
	spec.Stdout = out
	r, w := io.Pipe()
	spec.Stdin = r
	p := begin(t, sandbox.NewNone(options()), spec)
	out.await(t, "up")
	held, err := os.OpenFile("/proc/"+itoa(p.PID())+"/fd/1", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	_ = w.Close()
	wait(t, p)
	if !strings.HasSuffix(out.String(), "last words\n") {
		t.Errorf("got %q", out.String())
	}
}

// A service manager signals every process of the service: only the worker decides.
func TestX1SupervisorIgnoresSignalsButTheAgentDoesNot(t *testing.T) {
	t.Parallel()
	spec, out := shell(t, "echo up; exec sleep 1000"), newLines()
	spec.Stdout = out
	p := begin(t, sandbox.NewNone(options()), spec)
	out.await(t, "up")
	supervisor := parent(t, p.PID())
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := syscall.Kill(supervisor, sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(p.PID(), syscall.SIGINT); err != nil { // ends an agent that inherited nothing
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Code != 130 || exit.Signal != "SIGINT" || exit.Reason != sandbox.ReasonExited {
		t.Errorf("got %+v", exit)
	}
}

func ownerOf(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func TestX1FiftyAgentsLeaveNothingInTheirWorker(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		out, err := exec.CommandContext(t.Context(), os.Args[0], "many", s.Name()).CombinedOutput()
		if err != nil || string(out) != "clean\n" {
			t.Errorf("%v: %s", err, out)
		}
	})
}

func TestX1SupervisorByHandSaysWhatItIs(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), os.Args[0], "supervise").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "started by a worker") {
		t.Errorf("%v: %s", err, out)
	}
}
