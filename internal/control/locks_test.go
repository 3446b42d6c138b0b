package control_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// Everything that begins, continues or ends runs with concurrency keys meets on two
// nodes: batches of deliveries, starters with keys of their own, children, reports of
// many runs at once, heartbeats, ends, cancels, follow-ups and chains. None waits for
// another that waits for it. With LINESHAFT_SOAK there are 10,000 deliveries.
func TestW14NodesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		nodes := []*works{w}
		if strings.HasSuffix(w.Name(), "postgres") {
			nodes = append(nodes, w.node())
		}
		deliveries := 200
		if os.Getenv("LINESHAFT_SOAK") != "" {
			deliveries = 10_000
		}
		rush := newRush(w, nodes, deliveries)
		rush.run()
		for i, node := range nodes {
			if n := node.store.Deadlocks(); n > 0 {
				w.Errorf("node %d: PostgreSQL ended %d transactions because they waited for each other", i, n)
			}
		}
		if n := w.statuses()[lineshaft.DeliveryAccepted]; n != rush.deliveries {
			w.Errorf("%d of %d deliveries are in the log", n, rush.deliveries)
		}
	})
}

const (
	// rushBatch is how many deliveries of a rush share a transaction.
	rushBatch = 5
	// rushKeys is how many concurrency keys everyone in a rush wants.
	rushKeys = 4
)

// rush is traffic that wants the same few concurrency keys.
type rush struct {
	w          *works
	nodes      []*works
	deliveries int
	over       context.Context

	mu    sync.Mutex
	known []string // runs that someone started
}

func newRush(w *works, nodes []*works, deliveries int) *rush {
	policies := []lineshaft.ConcurrencyPolicy{lineshaft.PolicySkip, lineshaft.PolicyQueue, lineshaft.PolicyCancelPrevious, lineshaft.PolicyFollowup}
	for i, policy := range policies {
		field := []string{"n", "m"}[i%2]
		w.automation(string(policy), "", concurrency("{{payload."+field+"}}", policy), func(n *lineshaft.Automation) {
			n.MaxRunsPerHour = 100_000 * (i % 2)
		})
	}
	w.automation("plain", `{"n":[0]}`)
	w.automation("chained", "", after(`{"automations":["plain"]}`), concurrency("0", lineshaft.PolicyCancelPrevious))
	for _, node := range nodes {
		wantCode(w, node.s.RefreshHooks(w.Context()), "")
	}
	return &rush{w: w, nodes: nodes, deliveries: deliveries / rushBatch * rushBatch}
}

// run lets everyone work until all deliveries are in.
func (r *rush) run() {
	ctx, end := context.WithCancel(r.w.Context())
	defer end()
	r.over = ctx
	var others, senders sync.WaitGroup
	for i, node := range r.nodes {
		for worker := range 3 {
			others.Go(func() { r.work(node, fmt.Sprintf("w%d-%d", i, worker)) })
		}
		for range 2 {
			others.Go(func() { r.repeat(func(n int) { r.startOrEnd(node, n) }) })
		}
		others.Go(func() { r.repeat(func(int) { r.failed("chains", failureOf(node.s.RunChains(r.w.Context()))) }) })
		for sender := range 4 {
			senders.Go(func() { r.send(node, i*4+sender) })
		}
	}
	senders.Wait()
	end()
	others.Wait()
}

func failureOf[T any](_ T, err error) error { return err }

func (r *rush) repeat(step func(n int)) {
	for n := 0; r.over.Err() == nil; n++ {
		step(n)
	}
}

// failed notes an error that has nothing to do with the others.
func (r *rush) failed(what string, err error) {
	if err == nil {
		return
	}
	switch lineshaft.CodeOf(err) {
	case lineshaft.CodeConflict, lineshaft.CodeInvalidRequest, lineshaft.CodeNotAuthorized: // the run continued, or ended, meanwhile
	default:
		if r.over.Err() == nil {
			r.w.Errorf("%s: %v", what, err)
		}
	}
}

// send delivers its share, in batches whose keys come in all orders.
func (r *rush) send(node *works, sender int) {
	h := node.ready()
	for i := range r.deliveries / rushBatch {
		if i%(4*len(r.nodes)) != sender {
			continue
		}
		var list []trigger.Received
		for j := range rushBatch {
			body := fmt.Sprintf(`{"n":%d,"m":%d}`, rand.IntN(rushKeys), rand.IntN(rushKeys))
			list = append(list, received(h, fmt.Sprint(i, "-", j), body))
		}
		receipts, errs := node.s.AcceptTogether(r.w.Context(), list...)
		for j, err := range errs {
			r.failed("accept", err)
			for _, o := range receipts[j].Delivery.Outcomes {
				r.know(o.RunID)
			}
		}
	}
}

func (r *rush) know(runID string) {
	if runID == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = append(r.known, runID)
}

// some is a run that was started lately.
func (r *rush) some() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) == 0 {
		return ""
	}
	return r.known[max(len(r.known)-1-rand.IntN(60), 0)]
}

// startOrEnd is someone at the API.
func (r *rush) startOrEnd(node *works, n int) {
	ctx := r.w.Context()
	policies := []lineshaft.ConcurrencyPolicy{lineshaft.PolicyQueue, lineshaft.PolicyCancelPrevious, lineshaft.PolicyFollowup}
	rule := &lineshaft.Concurrency{Key: fmt.Sprint(n % rushKeys), Policy: policies[n%len(policies)]}
	runID := r.some()
	var err error
	switch {
	case n%5 == 0 && runID != "":
		_, err = node.s.Cancel(ctx, node.admin, runID, n%10 == 0, nil)
	case n%5 == 1 && runID != "":
		_, err = node.s.Followup(ctx, node.admin, lineshaft.NewFollowup{RunID: runID, Message: "and then?"}, nil)
	case n%5 == 2 && runID != "":
		_, err = node.s.StartRun(ctx, node.admin, lineshaft.NewRun{Prompt: "p", Source: lineshaft.SourceAPI, ParentRunID: runID, Config: lineshaft.AgentConfig{Concurrency: rule}}, nil)
	default:
		var started runs.Started
		started, err = node.s.StartRun(ctx, node.admin, lineshaft.NewRun{Prompt: "p", Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{Concurrency: rule}}, nil)
		r.know(started.RunID)
	}
	r.failed("start or end", err)
}

// work is a worker that reports on many runs at once and ends them one by one.
func (r *rush) work(node *works, workerID string) {
	held := map[string]lineshaft.Job{}
	r.repeat(func(n int) {
		if len(held) < 8 {
			jobs, err := node.s.Claim(r.over, lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: workerID, Limit: 8, Capacity: 16})
			r.failed("claim", err)
			for _, job := range jobs {
				held[job.ExecutionID] = job
			}
		}
		var reports []lineshaft.Report
		var refs []lineshaft.ExecutionRef
		for _, job := range held { // in any order
			used := lineshaft.NewDraft(lineshaft.EventUsage, r.w.clock.now(), lineshaft.UsageData{ModelID: "m", InputTokens: 1})
			reports = append(reports, lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Started: true, Events: []lineshaft.Draft{used}})
			refs = append(refs, job.ExecutionRef)
		}
		var both sync.WaitGroup
		both.Go(func() { r.failed("heartbeat", failureOf(node.s.Heartbeat(r.w.Context(), workerID, refs))) })
		r.failed("report", failureOf(node.s.Report(r.w.Context(), reports)))
		both.Wait()
		for id, job := range held {
			if rand.IntN(2) == 0 {
				r.end(node, job)
				delete(held, id)
			}
		}
	})
}

// end ends a run, or says that nothing of it is left.
func (r *rush) end(node *works, job lineshaft.Job) {
	next, err := node.s.EndTurn(r.w.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
	for err == nil && next != nil {
		next, err = node.s.EndTurn(r.w.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded, Turn: next.FollowupID})
	}
	if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
		_, err = node.s.EndTurn(r.w.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Cancelled})
	}
	r.failed("end", err)
}
