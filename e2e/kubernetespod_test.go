package e2e

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
)

// TestX5KubernetesProcessLimit: the API of a cluster has no limit of processes for a pod,
// so the executor in it holds the one of the worker.
func TestX5KubernetesProcessLimit(t *testing.T) {
	t.Parallel()
	c := newClustered(t, true, "--process-limit", "30")
	c.nodes(t)
	runID := c.run(t, "", "```sh\ni=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done; wait\n```")
	run := waitEnd(t.Context(), t, c.client, runID)
	if run.State != "FAILED" || run.StatusMessage == nil || run.StatusMessage.ErrorCode != "agent_process_failed" {
		t.Errorf("the run is %s: %+v", run.State, run.StatusMessage)
	}
	c.empty(t)
	if log := c.log.tail(1 << 20); !strings.Contains(log, "process limit of pods") {
		t.Error("the launcher does not say who holds the limit")
	}
}

// TestR8KubernetesInterruptBeforeThePod: the turn that was interrupted while its pod could
// not start does nothing, and the run continues with a follow-up.
func TestR8KubernetesInterruptBeforeThePod(t *testing.T) {
	t.Parallel()
	c := newClustered(t, true)
	runID := c.run(t, "", "```sh\necho must not be said; sleep 600\n```")
	eventually(t, "the launcher has the run", func() bool {
		run, err := c.client.Runs.Get(t.Context(), runID)
		return err == nil && run.State == "CLAIMED"
	})
	if err := c.client.Runs.Interrupt(t.Context(), runID); err != nil {
		t.Fatal(err)
	}
	c.nodes(t)
	if _, err := c.client.Runs.Followup(t.Context(), runID, client.FollowupRequest{Message: "```sh\necho went on\n```"}); err != nil {
		t.Fatal(err)
	}
	waitOutput(t, c.client, runID, "went on")
	if run := waitEnd(t.Context(), t, c.client, runID); run.State != "SUCCEEDED" {
		t.Errorf("the run is %s: %+v", run.State, run.StatusMessage)
	}
	c.empty(t)
}
