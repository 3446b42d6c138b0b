package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// What the documentation promises about a worker that is lost, for a lease of 2 s.
const (
	faultLease = 2 * time.Second
	// loseBound is when the run of a lost worker is queued again or ERROR: the lease,
	// a quarter of it between two looks, and a second for what else there is to do.
	loseBound = faultLease*5/4 + 1500*time.Millisecond
	// killBound is when the agents of a worker that died are gone.
	killBound = time.Second
)

// faultSite is a server and its lanes of workers.
type faultSite struct {
	t     *testing.T // outlives the lanes' own tests
	node  *node
	net   *testNet
	dir   string // of the agents' ledgers
	newer string // a worker program of the next version
	lanes []*faultLane
	tally *faultTally
	busy  *pressure
}

// faultLane is a worker id with two processes, each behind a cable of its own. A fault
// hits the process that holds the run; the other is ready to take it too early.
type faultLane struct {
	site    *faultSite
	id      string
	workers []*faultWorker
}

type faultWorker struct {
	*remoteWorker
	cable *cable
	dir   string
}

func newFaultSite(t *testing.T, database, newer string, lanes int) *faultSite {
	t.Helper()
	net := newTestNet(t)
	s := &faultSite{t: t, net: net, dir: t.TempDir(), newer: newer, tally: newFaultTally(), busy: watchPressure(t)}
	s.node = newNode(t, database, "--no-worker", "--lease", faultLease.String(), "--log-level", "warn")
	go net.relay(strings.TrimPrefix(s.node.url, "http://"))
	s.node.start(t.Context())
	for i := range lanes {
		lane := &faultLane{site: s, id: fmt.Sprintf("lane-%d", i+1)}
		for range 2 {
			lane.workers = append(lane.workers, lane.worker(net.cable(t), t.TempDir(), ""))
		}
		s.lanes = append(s.lanes, lane)
	}
	return s
}

// worker starts a process of the lane.
func (l *faultLane) worker(at *cable, dir, bin string) *faultWorker {
	l.site.t.Helper()
	w := prepareWorker(l.site.t, l.site.node, l.id, "--server", l.site.net.url(), "--isolation", "none", "--shutdown-grace", "3s", "--max-concurrent-runs", "2", "--data-dir", dir)
	w.inside, w.bin = at.inside(), bin
	w.start()
	return &faultWorker{remoteWorker: w, cable: at, dir: dir}
}

// ready waits until both workers of the lane can take a run.
func (l *faultLane) ready(t *testing.T) {
	t.Helper()
	for _, w := range l.workers {
		w.t = t
	}
	c := l.site.node.client()
	began := time.Now()
	defer func() {
		if took := time.Since(began); took > 3*time.Second {
			t.Logf("the two workers of %s were listed after %s", l.id, took.Round(time.Millisecond))
		}
	}()
	eventually(t, "two workers of "+l.id+" are connected", func() bool {
		workers, err := c.Workers(t.Context())
		for _, w := range workers {
			if w.WorkerHost == l.id {
				return err == nil && w.ConnectionCount >= 2
			}
		}
		return false
	})
}

// heldRun is a run whose agent is at work.
type heldRun struct {
	lane     *faultLane
	id       string
	attempts int
	first    *agentLife
	holder   *faultWorker
}

// hold starts a run and waits until its agent has said something to the API. A machine that
// stands still for longer than the lease ends agents before any fault does: that run is looked
// at as after one, and another one is held.
func (l *faultLane) hold(t *testing.T, attempts int) *heldRun {
	t.Helper()
	for range 3 {
		since := now()
		r := l.begin(t, attempts)
		if r.holder != nil {
			return r
		}
		if waited := l.site.busy.during(since, now()-since); !r.first.dead() || waited < faultLease/4 {
			t.Fatalf("no worker of %s holds run %s, and processes waited for %s only", l.id, r.id, waited)
		}
		releaseAgent(t, l.site.dir, r.id)
		r.check(t, "busy machine", r.wait(t))
	}
	t.Fatalf("three times, no agent of %s lived until it was found", l.id)
	return nil
}

// begin is hold for one run. It has no holder if its agent is gone already.
func (l *faultLane) begin(t *testing.T, attempts int) *heldRun {
	t.Helper()
	agent, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started, err := l.site.node.client().Runs.Create(t.Context(), client.RunRequest{
		// With the race detector a program sleeps for a second before it ends.
		Prompt: fmt.Sprintf("```sh\nexec env GORACE=atexit_sleep_ms=0 %s %s %s\n```", agent, faultAgent, l.site.dir),
		Config: &client.AgentConfig{WorkerHost: l.id, Retry: &client.Retry{MaxAttempts: attempts}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &heldRun{lane: l, id: started.RunID, attempts: attempts}
	eventually(t, "the agent of run "+r.id+" is at work", func() bool { return r.heard(t) > 0 })
	r.first = r.lives(t)[0]
	for _, w := range l.workers {
		if isAncestor(t, w.cmd.Process.Pid, r.first.pid) {
			r.holder = w
		}
	}
	return r
}

func (r *heldRun) lives(t *testing.T) []*agentLife {
	t.Helper()
	return agentLives(t, r.lane.site.dir, r.id)
}

// events reads the whole log of the run. The server may be away.
func (r *heldRun) events(ctx context.Context) (events []client.Event, err error) {
	for event, err := range r.lane.site.node.client().Runs.AllEvents(ctx, r.id, client.EventQuery{}) {
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// heard is how many lines of agents have reached the API.
func (r *heldRun) heard(t *testing.T) int {
	t.Helper()
	events, err := r.events(t.Context())
	if err != nil {
		return 0
	}
	lines := 0
	for _, event := range events {
		if event.Type == "output" {
			lines += strings.Count(outputText(t, event), "\n")
		}
	}
	return lines
}

func (r *heldRun) state(t *testing.T) client.RunState {
	t.Helper()
	run, err := r.lane.site.node.client().Runs.Get(t.Context(), r.id)
	if err != nil {
		return ""
	}
	return run.State
}

// died waits until the agent's first life is over and checks when that was.
func (r *heldRun) died(t *testing.T, kind string, since, within time.Duration) {
	t.Helper()
	eventually(t, "the agent of run "+r.id+" is gone", r.first.dead)
	took := r.lives(t)[0].last - since
	r.lane.site.tally.died(kind, took)
	if within += r.lane.site.busy.during(since, took); took > within {
		t.Errorf("%s: the agent of run %s lived for %s after its worker was lost, at most %s is allowed", kind, r.id, took, within)
	}
}

// lost waits until the control plane has given the execution up.
func (r *heldRun) lost(t *testing.T, kind string, since time.Duration) {
	t.Helper()
	eventually(t, "the control plane gives the execution up", func() bool {
		state := r.state(t)
		return state != "" && state != "INPROGRESS" || len(r.lives(t)) > 1
	})
	took := now() - since
	r.lane.site.tally.lost(kind, took)
	if bound := loseBound + r.lane.site.busy.during(since, took); took > bound {
		t.Errorf("%s: run %s was given up after %s, at most %s is allowed", kind, r.id, took, bound)
	}
}

// over waits until the worker has nothing to do with the first execution any more, so
// that whatever it could say too late has been said, and returns its own word on it.
func (r *heldRun) over(t *testing.T) (word string) {
	t.Helper()
	eventually(t, "the worker has ended its execution of run "+r.id, func() bool {
		for line := range strings.Lines(r.holder.log.tail(1 << 20)) {
			if strings.Contains(line, `"execution ended"`) && strings.Contains(line, r.id) {
				word = line
				return true
			}
		}
		return false
	})
	return word
}

// isAncestor says whether a process is above another one.
func isAncestor(t *testing.T, ancestor, pid int) bool {
	t.Helper()
	for pid > 1 {
		if pid == ancestor {
			return true
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		if pid, err = strconv.Atoi(strings.Fields(rest)[1]); err != nil {
			t.Fatal(err)
		}
	}
	return false
}

// newerBinary builds the program again, as the next minor version.
func newerBinary(t *testing.T) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), bin, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := "v0.1.0"                         // any will do for a server without a number
	own, _, _ := strings.Cut(string(said), ",") // Go's version follows
	if found := regexp.MustCompile(`\bv?(\d+)\.(\d+)\.\d`).FindStringSubmatch(own); found != nil {
		minor, err := strconv.Atoi(found[2])
		if err != nil {
			t.Fatal(err)
		}
		version = fmt.Sprintf("v%s.%d.0", found[1], minor+1)
	}
	newer := filepath.Join(t.TempDir(), "lineshaft")
	// As make build does: what it compiled is then there, and only linked again.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w -X github.com/lineshaft/lineshaft/internal/cli.version="+version, "-o", newer, "../cmd/lineshaft")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	said, err = exec.CommandContext(t.Context(), newer, "version").Output()
	if err != nil || !strings.Contains(string(said), version) {
		t.Fatalf("the newer program says %q, %v", said, err)
	}
	return newer
}

// signal sends one to the worker alone, not to its supervisors.
func (w *faultWorker) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// faultTally counts what was seen.
type faultTally struct {
	mu                    sync.Mutex
	rounds                map[string]int
	wentOn, again, failed map[string]int
	deaths, losses        map[string]time.Duration
}

func newFaultTally() *faultTally {
	return &faultTally{
		rounds: map[string]int{}, wentOn: map[string]int{}, again: map[string]int{}, failed: map[string]int{},
		deaths: map[string]time.Duration{}, losses: map[string]time.Duration{},
	}
}

func (f *faultTally) died(kind string, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deaths[kind] = max(f.deaths[kind], took)
}

func (f *faultTally) lost(kind string, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.losses[kind] = max(f.losses[kind], took)
}

func (f *faultTally) ended(kind string, state client.RunState, lives int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rounds[kind]++
	switch {
	case state != "SUCCEEDED":
		f.failed[kind]++
	case lives > 1:
		f.again[kind]++
	default:
		f.wentOn[kind]++
	}
}
