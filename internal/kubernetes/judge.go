package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// stage is how far a placed execution is.
type stage int

const (
	// stageWaiting: its pod does not run yet.
	stageWaiting stage = iota
	// stageRunning: its container has started.
	stageRunning
	// stageLeft: its pod ended in good order and has said everything itself.
	stageLeft
	// stageBroken: it ended, or cannot start, for a reason that another try would also have.
	stageBroken
	// stageLost: the cluster took its pod away.
	stageLost
)

// finding is what the state of a Job and its pod means for the execution.
type finding struct {
	stage stage
	// result is for stageBroken and stageLost.
	result lineshaft.TurnResult
	// notice is what people should know while it waits.
	notice string
	// logs says that the container's output says more.
	logs bool
}

// seen is what the cluster showed of an execution. A Job or pod that is nil was not
// seen yet, or is gone.
type seen struct {
	job            *Job
	pod            *Pod
	hadJob, hadPod bool
	// open has the pods that a node got and that were not seen to end; ended says
	// that one was.
	open  map[string]bool
	ended bool
}

// note keeps whether a pod may still run. Its phase does not show that: not only the node
// sets it.
func (s *seen) note(pod *Pod) {
	switch {
	case stopped(pod):
		delete(s.open, pod.Metadata.UID)
		s.ended = true
	case pod.Spec.NodeName != "":
		if s.open == nil {
			s.open = map[string]bool{}
		}
		s.open[pod.Metadata.UID] = true
	}
}

// judge reads the states of a Job and its pod.
func judge(s seen) finding {
	job, pod := s.job, s.pod
	if f, ok := judgePod(pod); ok {
		return f
	}
	if job != nil {
		if failed := condition(job.Status.Conditions, "Failed"); failed != nil {
			return judgeJob(failed)
		}
		if condition(job.Status.Conditions, "Complete") != nil {
			return finding{stage: stageLeft}
		}
	}
	switch {
	case pod == nil && s.hadPod:
		return lost("its pod was deleted")
	case pod == nil && job == nil && s.hadJob:
		return lost("its Job was deleted")
	case pod == nil:
		return finding{stage: stageWaiting}
	case pod.Status.Phase == "Running" && started(pod):
		return finding{stage: stageRunning}
	case pod.Status.Phase == "Unknown":
		// The node may be cut off from the cluster and not from us: the lease decides.
		return finding{stage: stageRunning}
	default:
		return judgeWaiting(pod)
	}
}

func judgeJob(failed *Condition) finding {
	if failed.Reason == "DeadlineExceeded" {
		return finding{stage: stageBroken, result: lineshaft.TurnResult{
			State: lineshaft.Failed, Code: lineshaft.CodeRunTimeout, Dead: true,
			Message: "the cluster ended the Job at its deadline: " + failed.Message,
		}}
	}
	return lost("its Job failed (" + failed.Reason + ") and its pod is gone")
}

// judgePod reads a pod that has ended.
func judgePod(pod *Pod) (finding, bool) {
	if pod == nil || pod.Status.Phase != "Failed" && pod.Status.Phase != "Succeeded" {
		return finding{}, false
	}
	if pod.Status.Phase == "Succeeded" {
		return finding{stage: stageLeft}, true
	}
	if target := condition(pod.Status.Conditions, "DisruptionTarget"); target != nil {
		return lost("its pod was disrupted (" + target.Reason + ")" + said(target.Message)), true
	}
	if slices.Contains([]string{"Evicted", "Preempting", "NodeLost", "NodeShutdown", "Terminated", "Shutdown", "NodeAffinity", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods"}, pod.Status.Reason) {
		return lost("its pod was ended by the cluster (" + pod.Status.Reason + ")" + said(pod.Status.Message)), true
	}
	if pod.Status.Reason == "DeadlineExceeded" {
		return judgeJob(&Condition{Reason: pod.Status.Reason, Message: pod.Status.Message}), true
	}
	for _, status := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
		if end := status.State.Terminated; end != nil && (end.ExitCode != 0 || end.Reason == "OOMKilled") {
			return judgeEnd(status.Name, end), true
		}
	}
	if pod.Metadata.DeletionTimestamp != nil {
		return lost("its pod was deleted"), true
	}
	return lost("its pod failed without a reason" + said(pod.Status.Message)), true
}

// judgeEnd reads how a container ended.
func judgeEnd(name string, end *Terminated) finding {
	result := lineshaft.TurnResult{State: lineshaft.Errored, Code: lineshaft.CodeInternal, Dead: true}
	switch {
	case end.Reason == "OOMKilled":
		result.State, result.Code = lineshaft.Failed, lineshaft.CodeAgentProcessFailed
		result.Message = "the pod used more memory than its limit and was killed (OOMKilled); raise --memory-limit, or the memory of the runner"
	case name != containerName:
		result.Message = fmt.Sprintf("container %s of the pod ended with code %d (%s)%s; its output is in the log of the run", name, end.ExitCode, end.Reason, said(end.Message))
	default:
		result.Message = fmt.Sprintf("the pod's executor ended with code %d (%s)%s without saying how the run ended; its output is in the log of the run", end.ExitCode, end.Reason, said(end.Message))
	}
	return finding{stage: stageBroken, result: result, logs: true}
}

// judgeWaiting reads why a pod has not started.
func judgeWaiting(pod *Pod) finding {
	for _, status := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
		wait := status.State.Waiting
		if wait == nil {
			continue
		}
		switch wait.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
			"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError":
			return finding{stage: stageBroken, result: lineshaft.TurnResult{
				State: lineshaft.Failed, Code: lineshaft.CodeEnvironmentSetupFailed, Dead: true,
				Message: fmt.Sprintf("the pod cannot start (%s)%s; check docker_image of the environment: %s", wait.Reason, said(wait.Message), imageOf(pod, status.Name)),
			}}
		}
	}
	if scheduled := condition(pod.Status.Conditions, "PodScheduled", "False"); scheduled != nil {
		return finding{stage: stageWaiting, notice: "No node of the cluster takes the pod (" + scheduled.Reason + ")" + said(scheduled.Message)}
	}
	return finding{stage: stageWaiting}
}

func imageOf(pod *Pod, container string) string {
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		if c.Name == container {
			return c.Image
		}
	}
	return "unknown"
}

func started(pod *Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s ContainerStatus) bool {
		return s.Name == containerName && (s.State.Running != nil || s.State.Terminated != nil)
	})
}

// stopped says that the node saw the main container end.
func stopped(pod *Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s ContainerStatus) bool {
		return s.Name == containerName && s.State.Terminated != nil
	})
}

// lost hands the run back: the server queues it again, or not, as its retry says.
func lost(why string) finding {
	return finding{stage: stageLost, logs: true, result: lineshaft.TurnResult{State: lineshaft.Queued, Message: "the execution was lost: " + why, Dead: true}}
}

// said appends what the cluster said, in one short line.
func said(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if message == "" {
		return ""
	}
	if len(message) > 500 {
		message = strings.ToValidUTF8(message[:500], "") + "…"
	}
	return ": " + message
}

func condition(all []Condition, kind string, status ...string) *Condition {
	want := "True"
	if len(status) > 0 {
		want = status[0]
	}
	for i := range all {
		if all[i].Type == kind && all[i].Status == want {
			return &all[i]
		}
	}
	return nil
}
