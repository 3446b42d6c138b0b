package kubernetes

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// TestX1PodWhoseEndWasNotSeenKeepsItsLease: the cluster says that a pod is gone or has
// failed, and its node, cut off, said nothing. The pod may run on, so its execution is
// not taken from it and nothing is said about it: its lease has to run out.
func TestX1PodWhoseEndWasNotSeenKeepsItsLease(t *testing.T) {
	t.Parallel()
	running := func(status map[string]any) map[string]any {
		base := container("Failed", map[string]any{"running": map[string]any{}})
		for name, value := range status {
			base[name] = value
		}
		return base
	}
	disrupted := func(reason string) map[string]any {
		return running(map[string]any{"conditions": []any{map[string]any{"type": "DisruptionTarget", "status": "True", "reason": reason}}})
	}
	for name, lose := range map[string]func(*rig, lineshaft.Job, string) error{
		"deleted by force": func(r *rig, _ lineshaft.Job, pod string) error {
			return r.admin.Delete(r.ctx, "pods", pod, "gracePeriodSeconds=0")
		},
		"deleted with its Job": func(r *rig, job lineshaft.Job, pod string) error {
			if err := r.admin.Delete(r.ctx, "jobs", jobName(job.ExecutionID), "propagationPolicy=Foreground"); err != nil {
				return err
			}
			return r.admin.Delete(r.ctx, "pods", pod, "gracePeriodSeconds=0")
		},
		"garbage of a lost node": func(r *rig, _ lineshaft.Job, pod string) error {
			return r.admin.SetStatus(r.ctx, "pods", pod, disrupted("DeletionByPodGC"))
		},
		"tainted node": func(r *rig, _ lineshaft.Job, pod string) error {
			return r.admin.SetStatus(r.ctx, "pods", pod, disrupted("DeletionByTaintManager"))
		},
		"node lost": func(r *rig, _ lineshaft.Job, pod string) error {
			return r.admin.SetStatus(r.ctx, "pods", pod, running(map[string]any{"reason": "NodeLost"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			l := r.launch()
			job := r.plane.queue()
			pod := r.runs(job)
			if err := lose(r, job, pod); err != nil {
				t.Fatal(err)
			}
			r.await("the launcher asks for it in vain, twice", func() bool {
				refused := 0
				r.plane.change(job, func(p *planeRun) { refused = p.refused })
				return refused >= 2
			})
			r.plane.change(job, func(p *planeRun) {
				if p.over || len(p.results) > 0 || !strings.HasPrefix(p.holder, "pod") {
					t.Errorf("the run was taken from a pod that may run: %+v", p)
				}
				p.over = true // the server ends it with its lease
			})
			r.await("the slot is free", func() bool { return l.Running() == 0 })
			r.plane.change(job, func(p *planeRun) {
				if len(p.results) > 0 {
					t.Errorf("the launcher said that nothing is left: %+v", p.results)
				}
			})
		})
	}
}

// TestX1PodWhoseEndIsSeenLater is taken back then.
func TestX1PodWhoseEndIsSeenLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.launch()
	job := r.plane.queue()
	pod := r.runs(job)
	status := container("Failed", map[string]any{"running": map[string]any{}})
	status["reason"] = "Evicted"
	r.status(pod, status)
	r.await("the launcher asks for it in vain", func() bool {
		refused := 0
		r.plane.change(job, func(p *planeRun) { refused = p.refused })
		return refused > 0
	})
	status["containerStatuses"] = container("", map[string]any{"terminated": map[string]any{"exitCode": 137}})["containerStatuses"]
	r.status(pod, status)
	if result := r.result(job); result.State != lineshaft.Queued || !strings.Contains(result.Message, "Evicted") {
		t.Errorf("%+v", result)
	}
	r.empty()
}

// TestX1CancelOfAnUnseenPod: a cancelled run's pod that is deleted by force may still
// run, so nobody says that it does not.
func TestX1CancelOfAnUnseenPod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.launch()
	job := r.plane.queue()
	pod := r.runs(job)
	r.await("its node is known", func() bool {
		p := l.find(job.ExecutionID)
		return p != nil && !p.nowhere()
	})
	r.plane.change(job, func(p *planeRun) { p.over = true })
	if err := r.admin.Delete(r.ctx, "pods", pod, "gracePeriodSeconds=0"); err != nil {
		t.Fatal(err)
	}
	r.await("the slot is free", func() bool { return l.Running() == 0 })
	r.plane.change(job, func(p *planeRun) {
		if len(p.results) > 0 {
			t.Errorf("said %+v", p.results)
		}
	})
}

// TestX1SecondPodTellsNothingOfTheFirst: what is left of a run is all its pods.
func TestX1SecondPodTellsNothingOfTheFirst(t *testing.T) {
	t.Parallel()
	node := func(uid string) func(*Pod) {
		return func(p *Pod) { p.Metadata.UID, p.Spec.NodeName = uid, "node" }
	}
	var p placement
	p.seen.note(podIn("Running", runs, node("1")))
	p.seen.note(podIn("Succeeded", ends(containerName, 0, ""), node("2")))
	if p.ended() {
		t.Error("the first may run")
	}
	p.seen.note(podIn("Failed", ends(containerName, 1, ""), node("1")))
	if !p.ended() || p.nowhere() {
		t.Error("both have ended")
	}
}
