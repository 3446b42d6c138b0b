package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// remoteWorker is a `lineshaft worker` process.
type remoteWorker struct {
	t      *testing.T
	node   *node
	args   []string
	key    string
	log    *lockedBuffer
	cmd    *exec.Cmd
	exited chan struct{}
	// inside is what the program is started through, bin another build than the usual.
	inside []string
	bin    string
	// env is added to its environment.
	env []string
}

// newWorker starts a worker with a key of its own for a server.
func newWorker(t *testing.T, n *node, id string, flags ...string) *remoteWorker {
	t.Helper()
	w := prepareWorker(t, n, id, flags...)
	w.start()
	return w
}

// prepareWorker makes a worker that is not started.
func prepareWorker(t *testing.T, n *node, id string, flags ...string) *remoteWorker {
	t.Helper()
	key, err := n.client().APIKeys.Create(t.Context(), client.APIKeyRequest{Name: id, Role: "worker", WorkerIDs: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"worker", "--id", id, "--server", n.url, "--data-dir", t.TempDir(), "--log-format", "json"}, flags...)
	w := &remoteWorker{t: t, node: n, args: args, key: key.Key, log: &lockedBuffer{}}
	t.Cleanup(func() {
		w.kill()
		if t.Failed() {
			t.Logf("log of the worker (its end):\n%s", w.log.tail(8000))
		}
	})
	return w
}

func (w *remoteWorker) start() {
	w.t.Helper()
	bin, err := binary()
	if err != nil {
		w.t.Fatal(err)
	}
	if w.bin != "" {
		bin = w.bin
	}
	line := append(append(slices.Clone(w.inside), bin), w.args...)
	w.cmd = exec.Command(line[0], line[1:]...)
	w.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LINESHAFT_API_KEY=" + w.key}, w.env...)
	w.cmd.Stdout, w.cmd.Stderr = w.log, w.log
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.exited = make(chan struct{})
	go func() {
		defer close(w.exited)
		_ = w.cmd.Wait() // how it ended is seen in its log
	}()
}

// kill ends the process as a power cut would.
func (w *remoteWorker) kill() {
	if w.cmd == nil {
		return
	}
	_ = w.cmd.Process.Kill() // it may have ended already
	<-w.exited
}

// stop asks the process to end and waits for it.
func (w *remoteWorker) stop() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		w.t.Fatal(err)
	}
	select {
	case <-w.exited:
	case <-time.After(patience):
		w.t.Fatalf("the worker did not stop within %s", patience)
	}
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		w.t.Errorf("the worker ended with %d", code)
	}
}

func (w *remoteWorker) says(text string) {
	w.t.Helper()
	eventually(w.t, "the worker says "+text, func() bool { return strings.Contains(w.log.tail(1<<20), text) })
}

// onMac starts a run for the worker "mac".
func onMac(t *testing.T, c *client.Client, script string, attempts int) string {
	t.Helper()
	config := &client.AgentConfig{WorkerHost: "mac", Retry: &client.Retry{MaxAttempts: attempts}}
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\n" + script + "\n```", Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return started.RunID
}

// a run, a follow-up and a cancel during a tool, over HTTP.
func TestX1SelfHostedWorker(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker")
	n.start(t.Context())
	newWorker(t, n, "mac")
	c := n.client()
	runID := onMac(t, c, "echo one > kept.txt; mkdir -p artifacts; echo made > artifacts/out.txt", 1)
	if run := waitEnd(t.Context(), t, c, runID); run.State != "SUCCEEDED" {
		t.Fatalf("%+v", run)
	}
	if _, err := c.Runs.Followup(t.Context(), runID, client.FollowupRequest{Message: "```sh\necho again $(cat kept.txt)\n```"}); err != nil {
		t.Fatal(err)
	}
	waitOutput(t, c, runID, "again one")
	if run := waitEnd(t.Context(), t, c, runID); run.State != "SUCCEEDED" {
		t.Fatalf("%+v", run)
	}

	mark := fmt.Sprintf("%d.%09d", 86400, time.Now().UnixNano()%1_000_000_000)
	runID = onMac(t, c, "echo spawned; sleep "+mark, 1)
	waitOutput(t, c, runID, "spawned")
	if err := c.Runs.Cancel(t.Context(), runID); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "nothing of the agent is left", func() bool { return processes(t, mark) == 0 })
	within(t, 10*time.Second, "the control plane knows it", func() bool {
		run, err := c.Runs.Get(t.Context(), runID)
		return err == nil && run.State == "CANCELLED" && !run.IsSandboxRunning
	})
}

// the server is restarted while a worker holds a run: the agent continues and the
// run succeeds, with all of its output once.
func TestX3ServerRestartsUnderAWorker(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker", "--lease", "1m")
	n.start(t.Context())
	w := newWorker(t, n, "mac", "--isolation", "none") // the agent looks for a file of this test
	c := n.client()
	gate := filepath.Join(t.TempDir(), "gate")
	runID := onMac(t, c, "echo before; while [ ! -e "+gate+" ]; do echo tick; sleep 0.2; done; echo after", 1)
	waitOutput(t, c, runID, "before")
	n.stop()
	w.says("The server is unreachable")
	n.start(t.Context())
	w.says("The server is back")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitOutput(t, c, runID, "after")
	run := waitEnd(t.Context(), t, c, runID)
	if run.State != "SUCCEEDED" {
		t.Fatalf("%+v", run)
	}
	for _, word := range []string{"before", "after"} {
		if n := countOutput(t, c, runID, word); n != 1 {
			t.Errorf("%q was said %d times", word, n)
		}
	}
}

// a worker that is asked to stop hands back what does not end in its grace.
func TestX3AWorkerDrains(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker")
	n.start(t.Context())
	w := newWorker(t, n, "mac", "--shutdown-grace", "12s")
	c := n.client()
	mark := fmt.Sprintf("%d.%09d", 86400, time.Now().UnixNano()%1_000_000_000)
	long := onMac(t, c, "echo spawned; sleep "+mark, 2)
	short := onMac(t, c, "echo begun; sleep 1; echo ended", 1)
	waitOutput(t, c, long, "spawned")
	waitOutput(t, c, short, "begun")
	w.stop()
	if n := processes(t, mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	if run := waitEnd(t.Context(), t, c, short); run.State != "SUCCEEDED" {
		t.Errorf("the short run had time to end: %+v", run)
	}
	run, err := c.Runs.Get(t.Context(), long)
	if err != nil || run.State != "QUEUED" {
		t.Errorf("the long run is %+v, %v", run, err)
	}
	if workers, err := c.Workers(t.Context()); err != nil || len(workers) != 0 {
		t.Errorf("still connected: %+v, %v", workers, err)
	}
}

// after a crash the worker starts again and the control plane learns at once,
// long before the lease is over, that what it held is over.
func TestX3AWorkerStartsAgainAfterACrash(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker", "--lease", "10m")
	n.start(t.Context())
	w := newWorker(t, n, "mac", "--isolation", "none") // the agent makes a folder of this test
	c := n.client()
	mark := fmt.Sprintf("%d.%09d", 86400, time.Now().UnixNano()%1_000_000_000)
	first, second := filepath.Join(t.TempDir(), "first"), 2
	runID := onMac(t, c, "if mkdir "+first+"; then echo spawned; sleep "+mark+"; fi; echo second life", second)
	waitOutput(t, c, runID, "spawned")
	once := onMac(t, c, "echo only; sleep "+mark, 1)
	waitOutput(t, c, once, "only")
	w.kill()
	eventually(t, "the supervisors end the agents", func() bool { return processes(t, mark) == 0 })
	w.start()
	waitOutput(t, c, runID, "second life")
	if run := waitEnd(t.Context(), t, c, runID); run.State != "SUCCEEDED" {
		t.Errorf("%+v", run)
	}
	if run := waitEnd(t.Context(), t, c, once); run.State != "ERROR" || !strings.Contains(run.StatusMessage.Message, "restarted") {
		t.Errorf("%+v", run)
	}
}

// two processes of one id share its runs and are counted together.
func TestX2TwoWorkersOfOneID(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker")
	n.start(t.Context())
	newWorker(t, n, "mac", "--isolation", "none", "--max-concurrent-runs", "1")
	newWorker(t, n, "mac", "--isolation", "none", "--max-concurrent-runs", "1")
	c := n.client()
	eventually(t, "both are connected", func() bool {
		workers, err := c.Workers(t.Context())
		return err == nil && len(workers) == 1 && workers[0].ConnectionCount == 2 && workers[0].Capacity == 2
	})
	meet := t.TempDir() // each run waits for the other: one after the other they would never end
	var runs []string
	for _, name := range []string{"a", "b"} {
		runs = append(runs, onMac(t, c, fmt.Sprintf("touch %[1]s/%[2]s; while [ ! -e %[1]s/a ] || [ ! -e %[1]s/b ]; do sleep 0.05; done", meet, name), 1))
	}
	for _, runID := range runs {
		if run := waitEnd(t.Context(), t, c, runID); run.State != "SUCCEEDED" {
			t.Errorf("%+v", run)
		}
	}
}

// countOutput counts how often a run's output has a word.
func countOutput(t *testing.T, c *client.Client, runID, word string) (n int) {
	t.Helper()
	for event, err := range c.Runs.Stream(t.Context(), runID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == "output" {
			n += strings.Count(string(event.Data), word)
		}
	}
	return n
}
