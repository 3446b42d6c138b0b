package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// rolling is how much goes on while nodes are restarted.
type rolling struct {
	perSecond, followers, rounds int
}

func rollingSize() rolling {
	if soak() {
		return rolling{perSecond: 500, followers: 200, rounds: 2}
	}
	return rolling{perSecond: 25, followers: 10, rounds: 1}
}

// TestD3RollingRestart restarts three nodes behind haproxy one after the other, while deliveries come and
// readers follow runs: no request fails, no stream has a gap, and every delivery that was accepted is there once.
func TestD3RollingRestart(t *testing.T) {
	t.Parallel()
	proxyProgram(t, "haproxy")
	size, database := rollingSize(), storetest.Postgres(t)
	nodes := make([]*node, 3)
	for i := range nodes {
		nodes[i] = newNode(t, database, "--no-worker", "--isolation", "none", "--log-level", "warn", "--rate-limit", "0")
		nodes[i].start(t.Context())
	}
	front := startHaproxy(t, nodes)
	for i := range nodes {
		front.awaitUp(t, i)
	}
	newWorker(t, front.node, "fleet", "--isolation", "none", "--max-concurrent-runs", "8", "--log-level", "warn")
	over := filepath.Join(t.TempDir(), "over") // the agents end when this file is there
	runs := followedRuns(t, front.node.client(), over)
	readers := startReaders(t, front.node, runs, size.followers)
	load := startLoad(t, front.node, size.perSecond)
	restarts := 0
	for range size.rounds {
		for i, n := range nodes {
			load.passes(t, size.perSecond) // deliveries go on before, between and after
			n.stop()
			n.start(t.Context())
			front.awaitUp(t, i)
			restarts++
		}
	}
	load.passes(t, size.perSecond)
	took := load.stop()
	if rate := float64(load.sent.Load()) / took.Seconds(); soak() && rate < 0.95*float64(size.perSecond) {
		t.Errorf("only %.0f deliveries a second were sent and accepted, of %d: what the restarts were tried under is less than it says", rate, size.perSecond)
	}
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	events := readers.check(t, front.node.client(), runs)
	load.check(t, front.node)
	t.Logf("%d restarts in %s, %d deliveries (%.0f a second), %d of them failed; slowest answer %s; %d followers read %d events",
		restarts, took.Round(time.Second), load.sent.Load(), float64(load.sent.Load())/took.Seconds(), load.failed.Load(),
		time.Duration(load.slowest.Load()).Round(time.Millisecond), size.followers, events)
}

// balancer is haproxy with our file in front of nodes.
type balancer struct {
	node  *node // whose address is the proxy's
	stats string
}

func startHaproxy(t *testing.T, nodes []*node) *balancer {
	t.Helper()
	listen, stats := freeAddress(t), freeAddress(t)
	// A busy machine answers late without being down.
	text := replaced(t, "haproxy.cfg", "bind :8080", "bind "+listen, "timeout check 2s", "timeout check 20s",
		"10.0.0.1:8484", nodes[0].address(), "10.0.0.2:8484", nodes[1].address(), "10.0.0.3:8484", nodes[2].address())
	text += fmt.Sprintf("\nfrontend watch\n  bind %s\n  stats enable\n  stats uri /\n", stats)
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, log := exec.Command(proxyProgram(t, "haproxy"), "-db", "-f", file), &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // its log says why
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("log of haproxy:\n%s", log.tail(4000))
		}
	})
	b := &balancer{node: &node{t: t, url: "http://" + listen, log: log, exited: exited}, stats: "http://" + stats + "/;csv"}
	b.node.waitReady(t.Context())
	return b
}

// awaitUp waits until haproxy sends requests to a node.
func (b *balancer) awaitUp(t *testing.T, i int) {
	t.Helper()
	within(t, patience, fmt.Sprintf("haproxy uses node %d", i+1), func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.stats, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := browser().Do(req)
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(line, ",")
			if len(fields) > 17 && fields[1] == fmt.Sprintf("node%d", i+1) {
				return err == nil && fields[17] == "UP"
			}
		}
		return false
	})
}

// followedRuns starts runs that say something all the time, and waits until they do.
func followedRuns(t *testing.T, c *client.Client, over string) (ids []string) {
	t.Helper()
	script := "```sh\nn=0; while [ ! -e " + over + " ]; do n=$((n+1)); echo line $n; sleep 0.2; done\n```"
	for range 4 {
		started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: script, Config: &client.AgentConfig{WorkerHost: "fleet"}})
		if err != nil {
			t.Fatal(err)
		}
		waitOutput(t, c, started.RunID, "line 1")
		ids = append(ids, started.RunID)
	}
	return ids
}

// readers follow runs to their ends.
type readers struct {
	wg   sync.WaitGroup
	seen [][]int64 // by reader, the numbers of events in the order in which they came
	errs []error
}

func startReaders(t *testing.T, n *node, runs []string, many int) *readers {
	t.Helper()
	r := &readers{seen: make([][]int64, many), errs: make([]error, many)}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		r.wg.Wait()
	})
	for i := range many {
		c, err := client.New(n.url, adminKey) // which resumes as every client does
		if err != nil {
			t.Fatal(err)
		}
		r.wg.Go(func() {
			for event, err := range c.Runs.Stream(ctx, runs[i%len(runs)], 0) {
				if err != nil {
					r.errs[i] = err
					return
				}
				r.seen[i] = append(r.seen[i], event.Sequence)
			}
		})
	}
	return r
}

// check waits for the readers; each has the whole log, every event once and in order.
func (r *readers) check(t *testing.T, c *client.Client, runs []string) (events int) {
	t.Helper()
	lengths := make([]int, len(runs))
	for i, id := range runs {
		if run := waitEnd(t.Context(), t, c, id); run.State != client.StateSucceeded {
			t.Errorf("a followed run ended %s: %+v", run.State, run.StatusMessage)
		}
		lengths[i] = len(logOf(t, c, id))
	}
	r.wg.Wait()
	for i, seen := range r.seen {
		if r.errs[i] != nil {
			t.Errorf("reader %d: %v", i, r.errs[i])
		}
		if want := lengths[i%len(runs)]; len(seen) != want {
			t.Errorf("reader %d got %d events of %d", i, len(seen), want)
		}
		for k, number := range seen {
			if number != int64(k+1) {
				t.Errorf("reader %d: event %d has number %d", i, k+1, number)
				break
			}
		}
		events += len(seen)
	}
	return events
}

// load sends deliveries at a rate and counts what was not accepted.
type load struct {
	h                     hook
	url                   string
	began                 time.Time
	sent, failed, slowest atomic.Int64
	started               atomic.Int64 // deliveries that should have started a run
	mu                    sync.Mutex
	first                 string // what the first failure was
	cancel                context.CancelFunc
	wg                    sync.WaitGroup
}

// startEvery is how many deliveries come for one that starts a run.
const startEvery = 50

func startLoad(t *testing.T, n *node, perSecond int) *load {
	t.Helper()
	l := &load{url: n.url, began: time.Now()}
	var f, w, a struct{ UID, Secret string }
	n.answerOf("POST", "/factory", `{"name": "works"}`, &f)
	n.answerOf("POST", "/factory/"+f.UID+"/webhooks", `{"name": "ci", "rate_limit": 0}`, &w)
	n.answerOf("POST", "/factory/"+f.UID+"/automations", fmt.Sprintf(`{"name": "some", "prompt": "wait",
		"config": {"worker_host": "nobody"}, "triggers": [{"provider": "webhook", "event": "received",
		"filter": {"webhook_ids": [%q], "payload": {"start": [true]}}}]}`, w.UID), &a)
	l.h = hook{factory: f.UID, uid: w.UID, secret: w.Secret, all: a.UID}
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	t.Cleanup(func() { l.stop() })
	senders := max(4, perSecond/10)
	caller := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}, Timeout: patience}
	ticks := make(chan int)
	for range senders {
		l.wg.Go(func() {
			for number := range ticks {
				l.deliver(context.WithoutCancel(ctx), caller, number)
			}
		})
	}
	l.wg.Go(func() {
		defer close(ticks)
		atRate(ctx, time.Second/time.Duration(perSecond), func(number int) bool {
			select {
			case <-ctx.Done():
				return false
			case ticks <- number:
				return true
			}
		})
	})
	return l
}

// atRate does something at regular times until the context ends or it says so. What comes late, because the machine was busy
// or the one before took long, is made up at once: a ticker would drop it, and the rate with it.
func atRate(ctx context.Context, every time.Duration, do func(number int) bool) {
	due := time.Now()
	wait := time.NewTimer(0)
	defer wait.Stop()
	for number := 0; ; number++ {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		if !do(number) {
			return
		}
		due = due.Add(every)
		wait.Reset(time.Until(due))
	}
}

// The load of a test has the rate that it says, even when some of it comes late.
func TestLoadMakesUpForLateTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, done := time.Now(), 0
		atRate(t.Context(), time.Millisecond, func(number int) bool {
			if number == 0 {
				<-time.After(200 * time.Millisecond) // as on a machine that is busy
			}
			done++
			return done < 400
		})
		if took := time.Since(began); done != 400 || took != 399*time.Millisecond {
			t.Errorf("%d times at 1 ms took %s", done, took)
		}
	})
}

// deliver sends one delivery, once: the proxy may try again, the sender does not.
func (l *load) deliver(ctx context.Context, caller *http.Client, number int) {
	start := number%startEvery == 0
	body := fmt.Appendf(nil, `{"number": %d, "start": %v}`, number, start)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/webhooks/w/"+l.h.uid, bytes.NewReader(body))
	if err != nil {
		l.fail(err.Error())
		return
	}
	req.Header.Set("Authorization", "Bearer "+l.h.secret)
	req.GetBody = nil // so that the client does not send it again by itself
	began := time.Now()
	res, err := caller.Do(req)
	if err != nil {
		l.fail(err.Error())
		return
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusAccepted {
		l.fail(fmt.Sprintf("%d %s %v", res.StatusCode, text, err))
		return
	}
	for took := int64(time.Since(began)); ; {
		if slowest := l.slowest.Load(); took <= slowest || l.slowest.CompareAndSwap(slowest, took) {
			break
		}
	}
	if start {
		l.started.Add(1)
	}
	l.sent.Add(1)
}

func (l *load) fail(what string) {
	l.failed.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == "" {
		l.first = what
	}
}

// passes waits until so many more deliveries were answered.
func (l *load) passes(t *testing.T, many int) {
	t.Helper()
	before := l.sent.Load() + l.failed.Load()
	within(t, patience, "deliveries go on", func() bool { return l.sent.Load()+l.failed.Load() >= before+int64(many) })
}

// stop ends the load, and says how long it took.
func (l *load) stop() time.Duration {
	l.cancel()
	l.wg.Wait()
	return time.Since(l.began)
}

// check compares what was accepted with what the log has.
func (l *load) check(t *testing.T, n *node) {
	t.Helper()
	if failed := l.failed.Load(); failed > 0 {
		t.Errorf("%d requests failed, the first: %s", failed, l.first)
	}
	deliveries, repeated, runs := map[string]bool{}, 0, 0
	c := n.client()
	for delivery, err := range c.Webhooks.AllDeliveries(t.Context(), l.h.factory, l.h.uid, client.DeliveryQuery{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		if delivery.Status == "duplicate" { // the proxy sent it again: its node was stopped before it could answer
			repeated++
			continue
		}
		if deliveries[delivery.DeliveryID] {
			t.Fatalf("delivery %s is in the log twice", delivery.DeliveryID)
		}
		deliveries[delivery.DeliveryID] = true
		for _, outcome := range delivery.Outcomes {
			if outcome.RunID != "" {
				runs++
			}
		}
	}
	if sent := int(l.sent.Load()); sent == 0 || len(deliveries) != sent || runs != int(l.started.Load()) {
		t.Errorf("%d deliveries and %d runs are there, but %d and %d were accepted", len(deliveries), runs, sent, l.started.Load())
	}
	t.Logf("%d deliveries were sent again by the proxy", repeated)
}
