//go:build linux

package sandbox

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rawSupervisor is a supervisor whose pipes the test holds itself.
type rawSupervisor struct {
	cmd     *exec.Cmd
	control *os.File
	status  *bufio.Reader
	stdout  *bufio.Reader
}

func startSupervisor(t *testing.T) *rawSupervisor {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	controlR, controlW, err1 := os.Pipe()
	statusR, statusW, err2 := os.Pipe()
	stdoutR, stdoutW, err3 := os.Pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "supervise")
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
	cmd.ExtraFiles = []*os.File{controlR, statusW}
	cmd.Stdout = stdoutW
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{controlR, statusW, stdoutW} {
		_ = f.Close()
	}
	t.Cleanup(func() {
		_ = controlW.Close()
		_ = cmd.Wait()
		_, _ = statusR.Close(), stdoutR.Close()
	})
	return &rawSupervisor{cmd, controlW, bufio.NewReader(statusR), bufio.NewReader(stdoutR)}
}

func (s *rawSupervisor) order(t *testing.T, o order) {
	t.Helper()
	if err := gob.NewEncoder(s.control).Encode(o); err != nil {
		t.Fatal(err)
	}
}

// next reads one report.
func (s *rawSupervisor) next(t *testing.T) report {
	t.Helper()
	line, err := s.status.ReadBytes('\n')
	if err != nil {
		t.Fatalf("status ended: %v", err)
	}
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *rawSupervisor) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(s.control, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func sleeper() order {
	return order{Path: "/bin/sh", Argv: []string{"sh", "-c", "echo up; exec sleep 1000"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"}
}

func TestX1SupervisorWithoutAnOrderStartsNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"nothing": "", "nonsense": "start something, please\n", "half": "\x7f\x03\x01"} {
		s := startSupervisor(t)
		if _, err := io.WriteString(s.control, text); err != nil {
			t.Fatal(err)
		}
		_ = s.control.Close()
		if r := s.next(t); !strings.HasPrefix(r.Error, "read the order") || r.Started != 0 {
			t.Errorf("%s: got %+v", name, r)
		}
		var exit *exec.ExitError
		if err := s.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: ended with %v", name, err)
		}
	}
}

func TestX1SupervisorReportsWhatItCannotStart(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*order){
		"no such program": func(o *order) { o.Path = "/no/such/program" },
		"no such folder":  func(o *order) { o.Dir = "/no/such/folder" },
		"not a program":   func(o *order) { o.Path = "/etc/passwd" },
		"no such group":   func(o *order) { o.Groups = groups{{Dir: "/no/such/group", Version: 2}} },
		"no such limit": func(o *order) {
			o.Groups = groups{{Dir: t.TempDir() + "/g", Version: 1, Set: []setting{{File: "pids.max", Value: "1"}}}}
		},
	} {
		s, o := startSupervisor(t), sleeper()
		change(&o)
		s.order(t, o)
		if r := s.next(t); r.Error == "" || r.Started != 0 {
			t.Errorf("%s: got %+v", name, r)
		}
		if line, err := s.status.ReadString('\n'); !errors.Is(err, io.EOF) {
			t.Errorf("%s: more reports: %q, %v", name, line, err)
		}
		for _, g := range o.Groups {
			if _, err := os.Stat(g.Dir); err == nil {
				t.Errorf("%s: left %s", name, g.Dir)
			}
		}
	}
}

func TestX1SupervisorObeysAndFailsSafe(t *testing.T) {
	t.Parallel()
	for command, reason := range map[string]string{
		commandKill:                 ReasonKilled,
		termCommand(0):              ReasonKilled,
		termCommand(time.Hour):      ReasonKilled, // sleep ends by SIGTERM
		"unknown":                   ReasonKilled, // a worker that cannot be understood
		"":                          ReasonKilled,
		"term soon":                 ReasonKilled,
		commandFeed + "\n" + "kill": ReasonKilled,
	} {
		s := startSupervisor(t)
		s.order(t, sleeper())
		if r := s.next(t); r.Started == 0 {
			t.Fatalf("%q: got %+v", command, r)
		}
		if _, err := s.stdout.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		s.say(t, command)
		if r := s.next(t); r.Exit == nil || r.Exit.Reason != reason || r.Exit.Code < 128 {
			t.Errorf("%q: got %+v", command, r)
		}
	}
}

func TestX1EndOfTheControlPipeEndsTheTree(t *testing.T) {
	t.Parallel()
	s := startSupervisor(t)
	s.order(t, sleeper())
	s.next(t)
	_ = s.control.Close()
	if r := s.next(t); r.Exit == nil || r.Exit.Reason != ReasonOrphaned {
		t.Errorf("got %+v", r)
	}
}

// The worker must see the end of a stream when the agent closes it, not when its
// supervisor ends.
func TestX6SupervisorDoesNotHoldTheStreams(t *testing.T) {
	t.Parallel()
	s, o := startSupervisor(t), sleeper()
	o.Argv = []string{"sh", "-c", "echo up; exec >&- 2>&-; exec sleep 1000"}
	s.order(t, o)
	s.next(t)
	text, err := io.ReadAll(s.stdout)
	if string(text) != "up\n" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	s.say(t, commandKill)
	s.next(t)
}

func TestX5PolledLimits(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	for _, test := range []struct {
		limit polled
		want  string
	}{
		{polled{}, ""},
		{polled{MemoryBytes: 1 << 50, Processes: 1 << 20}, ""},
		{polled{MemoryBytes: 1}, ReasonMemory},
	} {
		if got := test.limit.exceeded(); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.limit, got, test.want)
		}
	}
	// What starts an agent needs memory, too: the limits begin with the agent.
	s := &supervisor{order: order{Polled: polled{MemoryBytes: 1}}}
	if before, after := s.inspect(false), s.inspect(true); before != "" || after != ReasonMemory {
		t.Errorf("before the agent runs: got %q, want no reason; then: got %q, want %q", before, after, ReasonMemory)
	}
	pages, threads := load(cmd.Process.Pid)
	if pages <= 0 || threads != 1 {
		t.Errorf("sleep has %d pages, %d threads", pages, threads)
	}
	if pages, threads := load(1 << 30); pages != 0 || threads != 1 {
		t.Errorf("a process that is gone has %d pages, %d threads", pages, threads)
	}
}

func TestR7DescendantsAreFoundParentsFirst(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'sleep 1000; :' & echo up; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as a supervisor has it
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		killTree(cmd.Process.Pid)
		_, _ = cmd.Process.Kill(), cmd.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var tree []process
	for len(tree) < 2 { // the inner shell starts its sleep when it likes
		select {
		case <-t.Context().Done():
			t.Fatal("the processes were not found")
		case <-time.After(time.Millisecond):
			tree = descendants(cmd.Process.Pid)
		}
	}
	if tree[0].parent != cmd.Process.Pid || tree[1].parent != tree[0].pid {
		t.Errorf("got %+v below %d", tree, cmd.Process.Pid)
	}
	for _, p := range descendants(os.Getpid()) {
		if p.pid == os.Getpid() {
			t.Error("a process is its own descendant")
		}
	}
}
