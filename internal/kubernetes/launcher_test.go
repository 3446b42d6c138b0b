package kubernetes

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/kubernetes/kubetest"
)

const createJob = "POST /apis/batch/v1/namespaces/agents/jobs"

// TestX5LauncherTellsTheEndOfPods: what a pod cannot say itself is said by the launcher,
// after what the pod wrote, and nothing is left in the cluster.
func TestX5LauncherTellsTheEndOfPods(t *testing.T) {
	t.Parallel()
	end := func(code int, reason string) map[string]any {
		return container("Failed", map[string]any{"terminated": map[string]any{"exitCode": code, "reason": reason}})
	}
	with := func(status map[string]any, name string, value any) map[string]any {
		status[name] = value
		return status
	}
	disruption := []any{map[string]any{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}}
	tests := map[string]struct {
		status map[string]any
		state  lineshaft.RunState
		code   lineshaft.Code
		text   string
		logs   bool
	}{
		"image":    {container("Pending", map[string]any{"waiting": map[string]any{"reason": "ImagePullBackOff", "message": "not found"}}), lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, "not found", false},
		"crash":    {end(2, "Error"), lineshaft.Errored, lineshaft.CodeInternal, "code 2", true},
		"memory":   {end(137, "OOMKilled"), lineshaft.Failed, lineshaft.CodeAgentProcessFailed, "OOMKilled", true},
		"evicted":  {with(end(137, "Error"), "reason", "Evicted"), lineshaft.Queued, "", "Evicted", true},
		"drained":  {with(end(143, "Error"), "conditions", disruption), lineshaft.Queued, "", "EvictionByEvictionAPI", true},
		"too long": {with(end(143, "Error"), "reason", "DeadlineExceeded"), lineshaft.Failed, lineshaft.CodeRunTimeout, "deadline", false},
		"silent":   {container("Succeeded", map[string]any{"terminated": map[string]any{"exitCode": 0}}), lineshaft.Queued, "", "without saying", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.cluster.SetLogs(containerName, "panic: secret is s3cret-value-1 and token ls_run_x")
			r.launch()
			job := r.plane.queue()
			pod := r.pod(job)
			if name != "image" {
				r.runs(job)
				r.plane.change(job, func(p *planeRun) { p.last = 5 }) // what the pod itself reported
			}
			r.status(pod, test.status)
			result := r.result(job)
			if result.State != test.state || result.Code != test.code || !strings.Contains(result.Message, test.text) || !result.Dead {
				t.Errorf("%+v", result)
			}
			text := r.texts(job)
			if strings.Contains(text, "panic:") != test.logs || strings.Contains(text, "s3cret-value-1") || strings.Contains(text, "ls_run_x") {
				t.Errorf("the log of the run has %q", text)
			}
			r.empty()
		})
	}
}

// TestX5LauncherPodDeletedByAdmin: the pod or the Job is deleted, and the node ends it.
func TestX5LauncherPodDeletedByAdmin(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pods", "jobs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.launch()
			job := r.plane.queue()
			pod := r.runs(job)
			name := jobName(job.ExecutionID)
			if kind == "jobs" {
				if err := r.admin.Delete(r.ctx, "jobs", name, "propagationPolicy=Foreground"); err != nil {
					t.Fatal(err)
				}
			}
			r.status(pod, container("Running", map[string]any{"terminated": map[string]any{"exitCode": 137}})) // as its kubelet does
			if err := r.admin.Delete(r.ctx, "pods", pod, "gracePeriodSeconds=0"); err != nil {
				t.Fatal(err)
			}
			if result := r.result(job); result.State != lineshaft.Queued || !strings.Contains(result.Message, "pod") {
				t.Errorf("%+v", result)
			}
			r.empty()
		})
	}
}

// TestX1LauncherKeepsLeaseUntilTakenOver: the launcher beats while the pod is not there,
// and no more once the pod has the execution, whatever it sees of the cluster.
func TestX1LauncherKeepsLeaseUntilTakenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.launch()
	job := r.plane.queue()
	r.pod(job)
	beats := func() (n int) {
		r.plane.change(job, func(p *planeRun) { n = p.beats })
		return n
	}
	r.await("three beats", func() bool { return beats() >= 3 })
	r.plane.change(job, func(p *planeRun) { p.holder = "pod" })
	r.await("the launcher knows that the pod has it", func() bool {
		p := l.find(job.ExecutionID)
		return p != nil && p.holder(time.Hour) == heldThere
	})
	if l.Running() != 1 || l.Capacity() != 4 {
		t.Errorf("%d of %d", l.Running(), l.Capacity())
	}
	// The pod ends the run itself.
	r.plane.change(job, func(p *planeRun) { p.over = true })
	r.empty()
	r.await("the slot is free", func() bool { return l.Running() == 0 })
}

// TestX1LauncherLetsLeaseRunOut: a container that started and never takes over does not
// have its lease kept for it.
func TestX1LauncherLetsLeaseRunOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.launch()
	job := r.plane.queue()
	pod := r.pod(job)
	r.status(pod, container("Running", map[string]any{"running": map[string]any{}}))
	r.await("nobody beats", func() bool {
		p := l.find(job.ExecutionID)
		return p != nil && p.holder(job.Lease) == heldThere
	})
	r.plane.change(job, func(p *planeRun) { p.over = true }) // as the server does then
	r.await("the last word", func() bool {
		said := false
		r.plane.change(job, func(p *planeRun) { said = len(p.results) == 1 && p.results[0].State == lineshaft.Cancelled })
		return said
	})
	r.empty()
}

// TestR7LauncherCancel: before the pod has started, and when the pod does not end on
// its own.
func TestR7LauncherCancel(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		r := newRig(t)
		r.launch()
		job := r.plane.queue()
		pod := r.pod(job)
		if running {
			r.runs(job)
		}
		r.plane.change(job, func(p *planeRun) { p.over = true })
		if running {
			if _, err := r.admin.Await(r.ctx, "pods", func(o kubetest.Object) bool { return o.Text("metadata.deletionTimestamp") != "" }); err != nil {
				t.Fatal(err)
			}
			r.status(pod, container("Running", map[string]any{"terminated": map[string]any{"exitCode": 137}})) // as its kubelet does
			if err := r.admin.Delete(r.ctx, "pods", pod, "gracePeriodSeconds=0"); err != nil {
				t.Fatal(err)
			}
		}
		r.empty()
		if result := r.result(job); result.State != lineshaft.Cancelled {
			t.Errorf("%+v", result)
		}
	}
}

// TestR8LauncherLeavesAnInterruptToThePod: the run continues, so its pod stays and is still
// given the execution, which brings the interrupt with it.
func TestR8LauncherLeavesAnInterruptToThePod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.launch()
	job := r.plane.queue()
	pod := r.pod(job)
	beats := 0
	r.plane.change(job, func(p *planeRun) { p.interrupted, beats = true, p.beats })
	r.await("two beats later", func() (later bool) {
		r.plane.change(job, func(p *planeRun) { later = p.beats >= beats+2 })
		return later
	})
	if there, err := r.admin.Get(r.ctx, "pods", pod); err != nil || there.Text("metadata.deletionTimestamp") != "" {
		t.Errorf("the pod is gone: %v", err)
	}
	r.plane.change(job, func(p *planeRun) { p.holder = "pod" })
	r.await("the launcher knows that the pod has it", func() bool {
		p := l.find(job.ExecutionID)
		return p != nil && p.holder(time.Hour) == heldThere
	})
	r.plane.change(job, func(p *planeRun) {
		if len(p.results) > 0 || p.over {
			t.Errorf("the launcher ended it: %+v", p.results)
		}
		p.over = true
	})
	r.empty()
}

// TestX5LauncherStartTimeout: a pod that no node takes is reported, and given up in time.
func TestX5LauncherStartTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.StartTimeout = 10 * time.Second // by then it has been reported why the pod waits
	r.launch()
	job := r.plane.queue()
	r.status(r.pod(job), map[string]any{"phase": "Pending", "conditions": []any{map[string]any{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}}})
	r.await("a notice", func() bool { return strings.Contains(r.texts(job), "0/3 nodes") })
	result := r.result(job)
	if result.State != lineshaft.Errored || result.Code != lineshaft.CodeInfrastructureTimeout || !strings.Contains(result.Message, "0/3 nodes") {
		t.Errorf("%+v", result)
	}
	if n := strings.Count(r.texts(job), "0/3 nodes"); n != 1 {
		t.Errorf("said %d times", n)
	}
	r.empty()
}

// TestX3LauncherAdopts: the next launcher continues with what the last one placed, makes
// no second Job, and removes what is over or cannot be read.
func TestX3LauncherAdopts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.launch()
	waiting, running, over := r.plane.queue(), r.plane.queue(), r.plane.queue()
	for _, job := range []lineshaft.Job{waiting, running, over} {
		r.pod(job)
	}
	r.runs(running)
	r.stop(first)
	r.plane.change(over, func(p *planeRun) { p.over = true })
	stray := Template{Image: "ls:1"}.job("farm", lineshaft.Job{ExecutionRef: lineshaft.ExecutionRef{ExecutionID: "exec-99"}, RunID: "r"})
	if err := r.admin.Call(r.ctx, http.MethodPost, "/apis/batch/v1/namespaces/agents/jobs", stray, nil); err != nil {
		t.Fatal(err)
	}
	made := r.count(createJob)
	r.config.WorkerID = "farm/launcher2"
	r.launch()
	r.await("the waiting one is taken on", func() bool {
		kept := false
		r.plane.change(waiting, func(p *planeRun) { kept = p.holder == "farm/launcher2" && p.beats > 0 })
		return kept
	})
	for _, gone := range []string{jobName(over.ExecutionID), "lineshaft-exec-99"} {
		r.await(gone+" is deleted", func() bool {
			_, err := r.admin.Get(r.ctx, "jobs", gone)
			return err != nil
		})
	}
	r.plane.change(running, func(p *planeRun) {
		if p.over || !strings.HasPrefix(p.holder, "pod") {
			t.Errorf("the running one was taken from its pod: %+v", p)
		}
	})
	r.status(r.pod(running), container("Failed", map[string]any{"terminated": map[string]any{"exitCode": 9, "reason": "Error"}}))
	if result := r.result(running); result.State != lineshaft.Errored {
		t.Errorf("%+v", result)
	}
	if n := r.count(createJob); n != made {
		t.Errorf("%d Jobs more", n-made)
	}
}

// TestX5LauncherClusterTrouble: answers that are not final are asked for again, and
// those that are end the run with a reason.
func TestX5LauncherClusterTrouble(t *testing.T) {
	t.Parallel()
	t.Run("busy and lost answers", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		var failed atomic.Int32
		r.cluster.Fault(func(q *http.Request) (int, string) {
			if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/jobs") && failed.Add(1) <= 3 {
				return map[int32]int{1: 429, 2: 503, 3: 500}[failed.Load()], map[int32]string{1: "0", 2: "1"}[failed.Load()]
			}
			return 0, ""
		})
		r.launch()
		job := r.plane.queue()
		r.pod(job)
		if failed.Load() < 4 {
			t.Error("it was not tried again")
		}
	})
	t.Run("exists already", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		job := r.plane.queue()
		// An earlier try's answer was lost: the Job exists, and has no other label.
		made := r.config.Template.job("another", job)
		if err := r.admin.Call(r.ctx, http.MethodPost, "/apis/batch/v1/namespaces/agents/jobs", made, nil); err != nil {
			t.Fatal(err)
		}
		r.launch()
		r.pod(job)
	})
	for name, test := range map[string]struct {
		prepare func(*rig)
		image   string
		state   lineshaft.RunState
		text    string
	}{
		"forbidden": {func(r *rig) {
			r.cluster.Fault(func(q *http.Request) (int, string) {
				if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/secrets") {
					return 403, ""
				}
				return 0, ""
			})
		}, "", lineshaft.Errored, "create secrets"},
		"invalid": {func(*rig) {}, "NOT-VALID", lineshaft.Failed, "Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.launch()
			test.prepare(r)
			job := r.plane.queue(func(j *lineshaft.Job) { j.Prepare.Image = test.image })
			if result := r.result(job); result.State != test.state || !strings.Contains(result.Message, test.text) {
				t.Errorf("%+v", result)
			}
			r.empty()
		})
	}
	t.Run("fault of the job", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.launch()
		job := r.plane.queue(func(j *lineshaft.Job) { j.Fault = "secret API is gone" })
		if result := r.result(job); result.State != lineshaft.Failed || result.Message != "secret API is gone" || r.count(createJob) != 0 {
			t.Errorf("%+v", result)
		}
	})
}

// TestX5LauncherAPIAway: while the API server is unreachable pods keep running and the launcher
// judges nothing; afterwards it learns what it missed, also when its watch is too old.
func TestX5LauncherAPIAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.launch()
	job := r.plane.queue()
	pod := r.runs(job)
	var away atomic.Bool
	away.Store(true)
	r.cluster.Fault(func(q *http.Request) (int, string) {
		if away.Load() && !strings.HasSuffix(q.URL.Path, "/status") {
			return 503, ""
		}
		return 0, ""
	})
	r.cluster.Forget() // ends the watches with 410
	before := len(r.cluster.Asked())
	r.status(pod, container("Failed", map[string]any{"terminated": map[string]any{"exitCode": 4, "reason": "Error"}}))
	r.await("the launcher asks in vain", func() bool { return len(r.cluster.Asked()) > before+3 })
	r.plane.change(job, func(p *planeRun) {
		if p.over {
			t.Error("the run was ended while nothing could be known")
		}
	})
	away.Store(false)
	if result := r.result(job); !strings.Contains(result.Message, "code 4") {
		t.Errorf("%+v", result)
	}
	r.empty()
}

// TestX5LauncherServerAway: an unreachable control plane gets the report when it is back.
func TestX5LauncherServerAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.launch()
	job := r.plane.queue()
	pod := r.runs(job)
	r.plane.mu.Lock()
	r.plane.away = true
	r.plane.mu.Unlock()
	r.status(pod, container("Failed", map[string]any{"terminated": map[string]any{"exitCode": 4, "reason": "Error"}}))
	r.await("it is left in the cluster", func() bool {
		_, err := r.admin.Get(r.ctx, "jobs", jobName(job.ExecutionID))
		return err == nil
	})
	r.plane.mu.Lock()
	r.plane.away = false
	r.plane.mu.Unlock()
	r.result(job)
	r.empty()
}

// TestX3AdoptedPodsAreSeen: a pod that ended before its Job was taken on changes no more,
// so a watch that has shown it already never shows it again.
func TestX3AdoptedPodsAreSeen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.launch()
	job := r.plane.queue()
	pod := r.runs(job)
	r.stop(first)
	r.status(pod, container("Succeeded", map[string]any{"terminated": map[string]any{"exitCode": 0}}))
	r.config.WorkerID = "farm/launcher2"
	l, err := New(r.config, r.plane, r.connect())
	if err != nil {
		t.Fatal(err)
	}
	l.leave = 300 * time.Millisecond
	l.life, l.end = context.WithCancel(r.ctx) // without watches, which have shown all there is
	t.Cleanup(func() { r.stop(l) })
	l.adoptAll()
	if result := r.result(job); result.State != lineshaft.Queued || !strings.Contains(result.Message, "without saying") {
		t.Errorf("%+v", result)
	}
}
