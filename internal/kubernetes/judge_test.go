package kubernetes

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func podIn(phase string, change ...func(*Pod)) *Pod {
	p := &Pod{Spec: PodSpec{Containers: []Container{{Name: containerName, Image: "reg.example/agent:1"}}, InitContainers: []Container{{Name: "install", Image: "ls:1"}}}}
	p.Status.Phase = phase
	for _, c := range change {
		c(p)
	}
	return p
}

func waits(container, reason, message string) func(*Pod) {
	return func(p *Pod) {
		status := ContainerStatus{Name: container, State: ContainerState{Waiting: &Waiting{Reason: reason, Message: message}}}
		if container == containerName {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
		} else {
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status)
		}
	}
}

func ends(container string, code int, reason string) func(*Pod) {
	return func(p *Pod) {
		status := ContainerStatus{Name: container, State: ContainerState{Terminated: &Terminated{ExitCode: code, Reason: reason}}}
		if container == containerName {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
		} else {
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status)
		}
	}
}

func runs(p *Pod) {
	p.Status.ContainerStatuses = []ContainerStatus{{Name: containerName, State: ContainerState{Running: &Running{}}}}
}

func because(reason, message string) func(*Pod) {
	return func(p *Pod) { p.Status.Reason, p.Status.Message = reason, message }
}

func has(kind, status, reason, message string) func(*Pod) {
	return func(p *Pod) {
		p.Status.Conditions = append(p.Status.Conditions, Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

func jobWith(conditions ...Condition) *Job { return &Job{Status: JobStatus{Conditions: conditions}} }

// TestX5EveryStateOfJobAndPod: what each of them means for the run.
func TestX5EveryStateOfJobAndPod(t *testing.T) {
	t.Parallel()
	now := time.Now()
	failed := func(reason string) *Job {
		return jobWith(Condition{Type: "Failed", Status: "True", Reason: reason, Message: "m"})
	}
	tests := []struct {
		name  string
		seen  seen
		stage stage
		state lineshaft.RunState
		code  lineshaft.Code
		text  string
	}{
		{"nothing seen yet", seen{}, stageWaiting, "", "", ""},
		{"job without pod", seen{job: jobWith(), hadJob: true}, stageWaiting, "", "", ""},
		{"pending", seen{job: jobWith(), pod: podIn("Pending")}, stageWaiting, "", "", ""},
		{"creating", seen{pod: podIn("Pending", waits(containerName, "ContainerCreating", ""))}, stageWaiting, "", "", ""},
		{"init running", seen{pod: podIn("Pending", waits(containerName, "PodInitializing", ""))}, stageWaiting, "", "", ""},
		{"scheduled", seen{pod: podIn("Pending", has("PodScheduled", "True", "", ""))}, stageWaiting, "", "", ""},
		{"unschedulable", seen{pod: podIn("Pending", has("PodScheduled", "False", "Unschedulable", "0/3 nodes are available:\n 3 Insufficient memory."))}, stageWaiting, "", "", "Insufficient memory"},
		{"gated", seen{pod: podIn("Pending", has("PodScheduled", "False", "SchedulingGated", ""))}, stageWaiting, "", "", "SchedulingGated"},
		{"pull error", seen{pod: podIn("Pending", waits(containerName, "ErrImagePull", "manifest unknown"))}, stageBroken, lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, "manifest unknown; check docker_image of the environment: reg.example/agent:1"},
		{"pull back-off", seen{pod: podIn("Pending", waits(containerName, "ImagePullBackOff", "Back-off pulling image"))}, stageBroken, lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, "ImagePullBackOff"},
		{"pull of our image", seen{pod: podIn("Pending", waits("install", "ImagePullBackOff", ""))}, stageBroken, lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, "ls:1"},
		{"bad image name", seen{pod: podIn("Pending", waits(containerName, "InvalidImageName", "couldn't parse"))}, stageBroken, lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, "InvalidImageName"},
		{"never pulled", seen{pod: podIn("Pending", waits(containerName, "ErrImageNeverPull", ""))}, stageBroken, lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, "ErrImageNeverPull"},
		{"bad container", seen{pod: podIn("Pending", waits(containerName, "CreateContainerConfigError", "image will run as root"))}, stageBroken, lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, "image will run as root"},
		{"cannot exec", seen{pod: podIn("Pending", waits(containerName, "RunContainerError", "no such file"))}, stageBroken, lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, "no such file"},
		{"running", seen{pod: podIn("Running", runs)}, stageRunning, "", "", ""},
		{"running, container starts", seen{pod: podIn("Running")}, stageWaiting, "", "", ""},
		{"running, being deleted", seen{pod: podIn("Running", runs, func(p *Pod) { p.Metadata.DeletionTimestamp = &now })}, stageRunning, "", "", ""},
		{"node unreachable", seen{pod: podIn("Unknown")}, stageRunning, "", "", ""},
		{"succeeded", seen{pod: podIn("Succeeded", ends(containerName, 0, "Completed"))}, stageLeft, "", "", ""},
		{"complete, pod gone", seen{job: jobWith(Condition{Type: "Complete", Status: "True"}), hadPod: true}, stageLeft, "", "", ""},
		{"exit code", seen{pod: podIn("Failed", ends(containerName, 3, "Error"))}, stageBroken, lineshaft.Errored, lineshaft.CodeInternal, "code 3"},
		{"install failed", seen{pod: podIn("Failed", ends("install", 1, "Error"))}, stageBroken, lineshaft.Errored, lineshaft.CodeInternal, "container install"},
		{"out of memory", seen{pod: podIn("Failed", ends(containerName, 137, "OOMKilled"))}, stageBroken, lineshaft.Failed, lineshaft.CodeAgentProcessFailed, "--memory-limit"},
		{"evicted", seen{pod: podIn("Failed", because("Evicted", "The node was low on resource: ephemeral-storage."), ends(containerName, 137, "Error"))}, stageLost, lineshaft.Queued, "", "ephemeral-storage"},
		{"preempted", seen{pod: podIn("Failed", has("DisruptionTarget", "True", "PreemptionByScheduler", ""), ends(containerName, 143, "Error"))}, stageLost, lineshaft.Queued, "", "PreemptionByScheduler"},
		{"drained", seen{pod: podIn("Failed", has("DisruptionTarget", "True", "EvictionByEvictionAPI", ""))}, stageLost, lineshaft.Queued, "", "EvictionByEvictionAPI"},
		{"tainted", seen{pod: podIn("Failed", has("DisruptionTarget", "True", "DeletionByTaintManager", ""))}, stageLost, lineshaft.Queued, "", "DeletionByTaintManager"},
		{"node lost", seen{pod: podIn("Failed", because("NodeLost", ""))}, stageLost, lineshaft.Queued, "", "NodeLost"},
		{"node shut down", seen{pod: podIn("Failed", because("Terminated", "Pod was terminated in response to imminent node shutdown."))}, stageLost, lineshaft.Queued, "", "imminent node shutdown"},
		{"node full", seen{pod: podIn("Failed", because("OutOfmemory", ""))}, stageLost, lineshaft.Queued, "", "OutOfmemory"},
		{"failed for nothing", seen{pod: podIn("Failed")}, stageLost, lineshaft.Queued, "", "without a reason"},
		{"failed, deleted", seen{pod: podIn("Failed", func(p *Pod) { p.Metadata.DeletionTimestamp = &now })}, stageLost, lineshaft.Queued, "", "deleted"},
		{"pod deleted", seen{job: jobWith(), hadJob: true, hadPod: true}, stageLost, lineshaft.Queued, "", "its pod was deleted"},
		{"job deleted", seen{hadJob: true}, stageLost, lineshaft.Queued, "", "its Job was deleted"},
		{"deadline of the job", seen{job: failed("DeadlineExceeded"), hadPod: true}, stageBroken, lineshaft.Failed, lineshaft.CodeRunTimeout, "deadline"},
		{"deadline of the pod", seen{pod: podIn("Failed", because("DeadlineExceeded", "Pod was active longer"))}, stageBroken, lineshaft.Failed, lineshaft.CodeRunTimeout, "longer"},
		{"job failed, pod gone", seen{job: failed("BackoffLimitExceeded"), hadPod: true}, stageLost, lineshaft.Queued, "", "BackoffLimitExceeded"},
		{"condition that does not hold", seen{job: jobWith(Condition{Type: "Failed", Status: "False"}), pod: podIn("Running", runs)}, stageRunning, "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := judge(test.seen)
			if f.stage != test.stage || f.result.State != test.state || f.result.Code != test.code {
				t.Errorf("stage %d, %+v", f.stage, f.result)
			}
			if text := f.result.Message + f.notice; !strings.Contains(text, test.text) || test.text == "" && text != "" {
				t.Errorf("said %q", text)
			}
			if f.stage >= stageBroken && !f.result.Dead {
				t.Error("the session could take another turn")
			}
			if strings.Contains(f.result.Message+f.notice, "\n") {
				t.Error("more than one line")
			}
		})
	}
}

func TestX5LongWordsOfTheClusterAreCut(t *testing.T) {
	t.Parallel()
	if got := said(strings.Repeat("é", 400)); len(got) > 520 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if said(" \n ") != "" {
		t.Error("nothing was said")
	}
	f := overdue(15*time.Minute, "No node")
	if f.result.State != lineshaft.Errored || f.result.Code != lineshaft.CodeInfrastructureTimeout || !strings.Contains(f.result.Message, "15m0s; No node") {
		t.Errorf("%+v", f.result)
	}
}
