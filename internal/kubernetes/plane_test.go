package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/kubernetes/kubetest"
)

func TestMain(m *testing.M) {
	// Connections that are kept for the next request are not leaks.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// plane is a control plane in memory.
type plane struct {
	t    *testing.T
	jobs chan lineshaft.Job
	told chan struct{}

	mu   sync.Mutex
	away bool
	runs map[string]*planeRun
	next int
}

type planeRun struct {
	holder  string
	over    bool
	last    int64
	events  []lineshaft.Draft
	results []lineshaft.TurnResult
	beats   int
	took    []string
	refused int // take-overs
	// interrupted is reported to anyone who has it.
	interrupted bool
}

var errAway = errors.New("the control plane is away")

func newPlane(t *testing.T) *plane {
	return &plane{t: t, jobs: make(chan lineshaft.Job, 10), told: make(chan struct{}, 100), runs: map[string]*planeRun{}}
}

// queue makes a run that can be claimed.
func (p *plane) queue(change ...func(*lineshaft.Job)) lineshaft.Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	job := testJob()
	job.ExecutionID, job.RunID, job.Lease = fmt.Sprintf("exec-%d", p.next), fmt.Sprintf("run-%d", p.next), time.Second
	for _, c := range change {
		c(&job)
	}
	p.runs[job.ExecutionID] = &planeRun{}
	p.jobs <- job
	return job
}

func (p *plane) lock(ref lineshaft.ExecutionRef) (*planeRun, func(), error) {
	p.mu.Lock()
	r := p.runs[ref.ExecutionID]
	if p.away {
		p.mu.Unlock()
		return nil, nil, errAway
	}
	if r == nil || ref.Token != "fence" {
		p.mu.Unlock()
		return nil, nil, lineshaft.NotFound("execution", ref.ExecutionID)
	}
	return r, func() { p.mu.Unlock(); poke(p.told) }, nil
}

func (p *plane) Claim(ctx context.Context, req lineshaft.ClaimRequest) ([]lineshaft.Job, error) {
	select {
	case job := <-p.jobs:
		p.mu.Lock()
		p.runs[job.ExecutionID].holder = req.WorkerID
		p.mu.Unlock()
		return []lineshaft.Job{job}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *plane) Heartbeat(_ context.Context, workerID string, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	var out []lineshaft.Directive
	for _, ref := range held {
		r, unlock, err := p.lock(ref)
		if err != nil {
			return nil, err
		}
		if r.over || r.holder != workerID {
			out = append(out, lineshaft.Directive{ExecutionID: ref.ExecutionID, Kind: lineshaft.DirectiveStop})
		} else {
			r.beats++
			if r.interrupted {
				out = append(out, lineshaft.Directive{ExecutionID: ref.ExecutionID, Kind: lineshaft.DirectiveInterrupt})
			}
		}
		unlock()
	}
	return out, nil
}

func (p *plane) Directives(ctx context.Context, _ string) ([]lineshaft.Directive, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (p *plane) Report(_ context.Context, reports []lineshaft.Report) ([]error, error) {
	answers := make([]error, len(reports))
	for i, report := range reports {
		r, unlock, err := p.lock(report.ExecutionRef)
		if err != nil {
			return nil, err
		}
		switch {
		case r.over || report.First > r.last+1:
			answers[i] = lineshaft.Conflict("not yours")
		default:
			for at, draft := range report.Events {
				if report.First+int64(at) == r.last+1 {
					r.events, r.last = append(r.events, draft), r.last+1
				}
			}
		}
		unlock()
	}
	return answers, nil
}

func (p *plane) EndTurn(_ context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	r, unlock, err := p.lock(ref)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if r.over && result.State != lineshaft.Cancelled {
		return nil, lineshaft.Conflict("not yours")
	}
	r.over = true
	r.results = append(r.results, result)
	return nil, nil
}

func (p *plane) Upload(context.Context, lineshaft.ExecutionRef, lineshaft.Upload, io.Reader) (string, error) {
	return "", errors.New("launchers upload nothing")
}

func (p *plane) Download(context.Context, lineshaft.ExecutionRef, string) (io.ReadCloser, error) {
	return nil, errors.New("launchers download nothing")
}

func (p *plane) TakeOver(_ context.Context, ref lineshaft.ExecutionRef, workerID string, back bool) (int64, error) {
	r, unlock, err := p.lock(ref)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if r.over || strings.HasPrefix(r.holder, "pod") && !back {
		r.refused++
		return 0, lineshaft.Conflict("not yours")
	}
	r.holder, r.took = workerID, append(r.took, workerID)
	return r.last, nil
}

// change does something to a run, as the server or its pod would.
func (p *plane) change(job lineshaft.Job, do func(*planeRun)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p.runs[job.ExecutionID])
}

// rig is a launcher on a scripted cluster.
type rig struct {
	t       *testing.T
	ctx     context.Context
	plane   *plane
	cluster *kubetest.Cluster
	admin   *kubetest.Admin
	config  Config
	log     *strings.Builder
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, plane: newPlane(t), cluster: kubetest.New(t), log: &strings.Builder{}}
	r.admin = r.cluster.Admin()
	r.config = Config{
		WorkerHost: "farm", WorkerID: "farm/launcher1", Slots: 4, StartTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
		Template: Template{Image: "ls:1", Server: "https://ls.example", Egress: "full"},
	}
	return r
}

func (r *rig) connect() *Client {
	r.t.Helper()
	c, err := Connect(r.admin.Kubeconfig(r.t), "")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// launch starts a launcher that ends with the test.
func (r *rig) launch() *Launcher {
	r.t.Helper()
	l, err := New(r.config, r.plane, r.connect())
	if err != nil {
		r.t.Fatal(err)
	}
	l.leave = 300 * time.Millisecond
	if err := l.Start(r.ctx); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.stop(l) })
	return l
}

func (r *rig) stop(l *Launcher) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), time.Minute)
	defer cancel()
	if err := l.Stop(ctx); err != nil {
		r.t.Error(err)
	}
}

// pod waits for the pod of an execution.
func (r *rig) pod(job lineshaft.Job) string {
	r.t.Helper()
	pod, err := r.admin.Await(r.ctx, "pods", func(o kubetest.Object) bool { return o.Label(labelExecution) == job.ExecutionID })
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.admin.Await(r.ctx, "secrets", func(o kubetest.Object) bool { return o.Label(labelExecution) == job.ExecutionID }); err != nil {
		r.t.Fatal(err)
	}
	return pod.Text("metadata.name")
}

// status is what the kubelet says of the pod.
func (r *rig) status(pod string, status map[string]any) {
	r.t.Helper()
	if err := r.admin.SetStatus(r.ctx, "pods", pod, status); err != nil {
		r.t.Fatal(err)
	}
}

// runs is a pod whose container has started and has taken its execution over.
func (r *rig) runs(job lineshaft.Job) string {
	r.t.Helper()
	pod := r.pod(job)
	if err := r.admin.Bind(r.ctx, pod, "node-1"); err != nil {
		r.t.Fatal(err)
	}
	r.status(pod, container("Running", map[string]any{"running": map[string]any{}}))
	r.plane.change(job, func(p *planeRun) { p.holder = "pod of " + job.ExecutionID })
	return pod
}

func container(phase string, state map[string]any) map[string]any {
	return map[string]any{"phase": phase, "containerStatuses": []any{map[string]any{"name": containerName, "state": state}}}
}

func (r *rig) await(what string, ok func() bool) {
	r.t.Helper()
	for !ok() {
		select {
		case <-r.plane.told:
		case <-time.After(20 * time.Millisecond):
		case <-r.ctx.Done():
			r.t.Fatalf("%s: did not happen; the cluster was asked %v", what, r.cluster.Asked())
		}
	}
}

// result waits for how an execution ended.
func (r *rig) result(job lineshaft.Job) lineshaft.TurnResult {
	r.t.Helper()
	var result lineshaft.TurnResult
	r.await("the end of "+job.ExecutionID, func() bool {
		ended := false
		r.plane.change(job, func(p *planeRun) {
			if ended = len(p.results) > 0; ended {
				result = p.results[0]
			}
		})
		return ended
	})
	return result
}

func (r *rig) empty() {
	r.t.Helper()
	for _, kind := range []string{"jobs", "pods", "secrets"} {
		if err := r.admin.AwaitNone(r.ctx, kind); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) texts(job lineshaft.Job) string {
	var all strings.Builder
	r.plane.change(job, func(p *planeRun) {
		for _, e := range p.events {
			all.Write(e.Data)
		}
	})
	return all.String()
}

func (r *rig) count(request string) (n int) {
	for _, asked := range r.cluster.Asked() {
		if asked == request {
			n++
		}
	}
	return n
}
