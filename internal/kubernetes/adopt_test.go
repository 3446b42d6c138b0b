package kubernetes

import "testing"

// TestX3ListedPodIsOlderThanTheWatch: a launcher that takes a Job on lists its pods. The list
// may be answered before a pod ends and read after the watch has shown that end, which
// must not be forgotten: nobody shows it again.
func TestX3ListedPodIsOlderThanTheWatch(t *testing.T) {
	t.Parallel()
	running, over := Pod{Metadata: Meta{UID: "pod"}}, Pod{Metadata: Meta{UID: "pod"}}
	running.Status.Phase, over.Status.Phase = "Running", "Failed"
	p := &placement{wake: make(chan struct{}, 1)}
	p.saw(func(s *seen) { s.hadPod, s.pod = true, &over })
	p.foundPods([]Pod{running})
	if got := p.look().pod.Status.Phase; got != "Failed" {
		t.Errorf("after an old list the pod is %s, want Failed", got)
	}
	unseen := &placement{wake: make(chan struct{}, 1)}
	unseen.foundPods([]Pod{running})
	if s := unseen.look(); !s.hadPod || s.pod == nil || s.pod.Status.Phase != "Running" {
		t.Errorf("what only the list has shown is not taken: %+v", s)
	}
}
