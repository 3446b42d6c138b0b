package worker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/command"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/harness/shell"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// real starts a worker that runs real agents.
func real(t *testing.T, c *fakeControl, s sandbox.Sandbox, config Config) *Worker {
	t.Helper()
	config.Sandbox = s
	config.APIURL = "http://127.0.0.1:1"
	config.Harnesses = harness.Set{Harnesses: []harness.Harness{shell.Shell{}, command.New(nil)}}
	return start(t, c, config)
}

// script is a prompt with one block.
func script(lines ...string) string { return "```sh\n" + strings.Join(lines, "\n") + "\n```" }

// said waits until an execution's agent has printed a text.
func (c *fakeControl) said(id, text string) {
	c.t.Helper()
	c.await(fmt.Sprintf("%q of %s", text, id), func() bool {
		run := c.runs[id]
		if run == nil {
			return false
		}
		for _, d := range run.events {
			if strings.Contains(string(d.Data), text) && d.Type == lineshaft.EventOutput {
				return true
			}
		}
		return false
	})
}

// marked lists the live sleepers with the mark among their arguments.
func marked(mark string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && strings.HasPrefix(string(args), "sleep\x00"+mark) {
			found = append(found, filepath.Base(dir))
		}
	}
	return found
}

// newMark is a number of seconds to sleep that no other process has.
func newMark() string {
	return fmt.Sprintf("86400.%d%d", os.Getpid(), time.Now().UnixNano())
}

// stubborn starts tools in their own sessions that ignore SIGTERM, and stays.
func stubborn(mark string) string {
	return script(strings.ReplaceAll(`trap '' TERM INT HUP
setsid sleep MARK &
(setsid sh -c 'sleep MARK & exec sleep MARK' &)
(sleep MARK &)
echo up
sleep MARK`, "MARK", mark))
}

// up waits until a stubborn agent with all its tools runs, so that a test that
// looks for left-overs cannot pass because there never was anything.
func (c *fakeControl) up(id, mark string) {
	c.t.Helper()
	c.said(id, "up")
	poll(c.t, "the tools run", func() bool { return len(marked(mark)) == 5 })
}

// tools in their own sessions that ignore SIGTERM are gone when that is reported to
// the control plane, within 10 s.
func TestR7CancelKillsTree(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{Grace: 200 * time.Millisecond})
		m := newMark()
		c.jobs <- job("a", stubborn(m))
		c.up("a", m)
		began := time.Now()
		c.stop("a")
		result := c.ended("a", 1)
		if left := marked(m); len(left) > 0 {
			t.Errorf("told to be gone, but left: %v", left)
		}
		if result.State != lineshaft.Cancelled || !result.Dead {
			t.Errorf("last word %+v", result)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// An agent that handles SIGTERM gets the time for it.
func TestR7CancelGivesGrace(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	real(t, c, sandbox.NewNone(harnesstest.Options()), Config{Grace: 20 * time.Second})
	file := filepath.Join(t.TempDir(), "farewell")
	c.jobs <- job("a", script("trap 'echo bye > "+file+"; exit 0' TERM", "echo up", "while :; do sleep 0.01; done"))
	c.said("a", "up")
	c.stop("a")
	c.ended("a", 1)
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "bye\n" {
		t.Errorf("the agent had no time to say goodbye: %q, %v", raw, err)
	}
}

// a worker that cannot reach the control plane does not leave a live agent
// past its lease. The agent's own supervisor sees to it, so the time is real.
func TestX1CutOffWorkerLeavesNoAgent(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		var away atomic.Bool
		c.fail = func(method string) error {
			if away.Load() && method != "Claim" {
				return errOutage
			}
			return nil
		}
		w := real(t, c, s, Config{})
		m := newMark()
		j := job("a", stubborn(m))
		j.Lease = 15 * time.Second
		c.jobs <- j
		c.up("a", m)
		away.Store(true)
		began := time.Now()
		poll(t, "the agent is gone", func() bool { return len(marked(m)) == 0 && w.Running() == 0 })
		if took := time.Since(began); took > j.Lease {
			t.Errorf("the agent lived %v, its lease is %v", took, j.Lease)
		}
		away.Store(false)
		c.jobs <- job("b", script("echo hello"))
		c.ended("b", 1)
		run, unlock := c.lock("a")
		defer unlock()
		if len(run.results) != 0 {
			t.Errorf("reported after the loss: %+v", run.results)
		}
	})
}

// poll waits for something other processes do.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// frozen is the part of a worker that will be stopped: it runs one agent.
func frozen(kind, dataDir, mark string) int {
	c := newControl(&testing.T{})
	config := Config{
		WorkerID: "frozen", DataDir: dataDir, Sandbox: sandbox.NewNone(harnesstest.Options()),
		Harnesses: harness.Set{Harnesses: []harness.Harness{shell.Shell{}}},
	}
	if kind == "bubblewrap" {
		config.Sandbox = sandbox.NewBubblewrap(harnesstest.Options())
	}
	w, err := New(config, c)
	if err == nil {
		err = w.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	j := job("a", stubborn(mark))
	j.Lease = 12 * time.Second
	c.jobs <- j
	c.ended("a", 1)
	return 0
}

// a worker that is stopped cannot end its agents; their supervisors do.
func TestX1FrozenWorkerLeavesNoAgent(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		m := newMark()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		worker := exec.CommandContext(t.Context(), self, "frozen", s.Name(), t.TempDir(), m)
		worker.Stdout, worker.Stderr = os.Stdout, os.Stderr
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = worker.Process.Kill()
			_ = worker.Wait()
		}()
		poll(t, "the tools run", func() bool { return len(marked(m)) == 5 })
		if err := worker.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		poll(t, "the agent is gone", func() bool { return len(marked(m)) == 0 })
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the agent lived %v after its worker was stopped", took)
		}
	})
}

// and a worker that can, keeps its agent alive over many leases.
func TestX1FedAgentOutlivesItsLease(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{})
		j := job("a", script("echo up", "sleep 13", "echo done"))
		j.Lease = 12 * time.Second
		c.jobs <- j
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			t.Errorf("result %+v", result)
		}
	})
}

// an interrupt ends the turn's processes; the workspace and the session stay.
func TestR8InterruptKillsTheTurnOnly(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{Grace: 100 * time.Millisecond})
		m := newMark()
		c.jobs <- job("a", "```sh\necho kept > file\n```\n"+stubborn(m))
		c.up("a", m)
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f", Message: script("cat file", "echo again")}}
		unlock()
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveFollowup}
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled || result.Dead {
			t.Errorf("interrupted turn %+v", result)
		}
		if left := marked(m); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
		if result := c.ended("a", 2); result.State != lineshaft.Succeeded {
			t.Errorf("follow-up %+v", result)
		}
		c.said("a", "kept")
	})
}

// X-13 with a real process: nothing is left of it when the run has failed.
func TestX13StallKillsTree(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	w := real(t, c, sandbox.NewNone(harnesstest.Options()), Config{Grace: 100 * time.Millisecond})
	m := newMark()
	c.jobs <- job("a", stubborn(m))
	c.up("a", m)
	for _, e := range w.held() {
		e.watch.mu.Lock()
		e.watch.stall = time.Millisecond // ten minutes are over
		e.watch.mu.Unlock()
		e.watch.check()
	}
	result := c.ended("a", 1)
	if left := marked(m); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	if result.Code != lineshaft.CodeRunTimeout || !strings.Contains(result.Message, `last seen: output "up"`) {
		t.Errorf("result %+v", result)
	}
}

func TestX3DrainEndsAgents(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		w := real(t, c, s, Config{Grace: 100 * time.Millisecond, Drain: -1})
		m := newMark()
		c.jobs <- job("a", stubborn(m))
		c.up("a", m)
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if left := marked(m); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
		if result := c.ended("a", 1); result.State != lineshaft.Queued {
			t.Errorf("result %+v", result)
		}
	})
}

// the agent gets the documented variables and nothing else.
func TestX7EnvironmentOfTheAgent(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{})
		j := job("a", "hello")
		j.Config.Harness = &lineshaft.HarnessConfig{Type: "command", Command: []string{"/usr/bin/env"}}
		c.jobs <- j
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			t.Fatalf("result %+v", result)
		}
		var names []string
		values := map[string]string{}
		for line := range strings.Lines(strings.Join(c.texts("a", lineshaft.EventOutput), "")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			names, values[name] = append(names, name), value
		}
		slices.Sort(names)
		want := []string{
			"HOME", "LANG", "LINESHAFT_API_URL", "LINESHAFT_ARTIFACTS", "LINESHAFT_PROMPT", "LINESHAFT_PROMPT_FILE",
			"LINESHAFT_RUN_ID", "LINESHAFT_RUN_TOKEN", "LINESHAFT_WORKSPACE", "PATH", "PWD",
		}
		if !slices.Equal(names, want) {
			t.Errorf("variables %v, want %v", names, want)
		}
		dir := values["LINESHAFT_WORKSPACE"]
		for name, value := range map[string]string{
			"HOME": dir, "PWD": dir, "LINESHAFT_ARTIFACTS": dir + "/.lineshaft/artifacts", "LINESHAFT_PROMPT": "hello",
			"LINESHAFT_RUN_ID": "run-a", "LINESHAFT_API_URL": "http://127.0.0.1:1", "LINESHAFT_RUN_TOKEN": "***LINESHAFT_RUN_TOKEN***",
		} {
			if values[name] != value {
				t.Errorf("%s is %q, want %q", name, values[name], value)
			}
		}
	})
}

// What a program prints comes after the move to INPROGRESS, however fast it is.
func TestX7OutputComesAfterStarted(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	c.order = true
	real(t, c, sandbox.NewNone(harnesstest.Options()), Config{})
	for i := range 10 {
		id := fmt.Sprint("e", i)
		c.jobs <- job(id, script("echo fast"))
		c.ended(id, 1)
	}
}

// Many agents at once, some of which fail, flood or leave children behind.
func TestX10ManyAgentsAtOnce(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	w := real(t, c, sandbox.NewNone(harnesstest.Options()), Config{Slots: 8})
	scripts := []string{"exit 3", "seq 1 20000", "sleep 1000 & exit 0", "echo quick"}
	var wg sync.WaitGroup
	for i := range 24 {
		id := fmt.Sprint("e", i)
		c.jobs <- job(id, script(scripts[i%len(scripts)]))
		wg.Go(func() {
			result := c.ended(id, 1)
			if want := map[bool]lineshaft.RunState{true: lineshaft.Failed, false: lineshaft.Succeeded}[i%len(scripts) == 0]; result.State != want {
				t.Errorf("%s: %+v", id, result)
			}
			if got := strings.Join(c.texts(id, lineshaft.EventOutput), ""); i%len(scripts) == 1 && strings.Count(got, "\n") != 20000 {
				t.Errorf("%s: %d lines", id, strings.Count(got, "\n"))
			}
		})
	}
	wg.Wait()
	if err := w.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
