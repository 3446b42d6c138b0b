package lineshaft_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// lifeAt is a run in a state since a time.
func lifeAt(state lineshaft.RunState, at time.Time) lineshaft.RunLife {
	return lineshaft.RunLife{State: state, UpdatedAt: at, QueuedAt: at, QueueDeadline: at.Add(time.Hour), MaxAttempts: 2}
}

// done fails the test when a rule refuses.
func done(t *testing.T) func(lineshaft.Draft, error) lineshaft.StateData {
	t.Helper()
	return func(happened lineshaft.Draft, err error) lineshaft.StateData {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var data lineshaft.StateData
		if err := json.Unmarshal(happened.Data, &data); err != nil {
			t.Fatal(err)
		}
		return data
	}
}

func TestR7MovesAreRefusedOrTimed(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	run := lifeAt(lineshaft.Queued, at)
	if _, err := run.Move(lineshaft.Succeeded, lineshaft.StatusMessage{}, "", at); lineshaft.CodeOf(err) != lineshaft.CodeConflict {
		t.Errorf("from QUEUED to SUCCEEDED: %v, want a conflict", err)
	}
	if run.State != lineshaft.Queued || !run.UpdatedAt.Equal(at) {
		t.Errorf("a refused move left %s at %s", run.State, run.UpdatedAt)
	}
	moved := done(t)(run.Move(lineshaft.Cancelled, lineshaft.StatusMessage{Message: "x"}, "box", at.Add(-time.Hour)))
	if want := (lineshaft.StateData{From: lineshaft.Queued, To: lineshaft.Cancelled, Message: "x", Worker: "box"}); moved != want {
		t.Errorf("the event is %+v, want %+v", moved, want)
	}
	if !run.UpdatedAt.After(at) || !run.FinishedAt.Equal(run.UpdatedAt) {
		t.Errorf("by an earlier clock: updated %s, finished %s", run.UpdatedAt, run.FinishedAt)
	}
	done(t)(run.Move(lineshaft.Queued, lineshaft.StatusMessage{}, "", at.Add(time.Hour)))
	if !run.FinishedAt.IsZero() || !run.UpdatedAt.Equal(at.Add(time.Hour)) {
		t.Errorf("reopened: updated %s, finished %s", run.UpdatedAt, run.FinishedAt)
	}
}

// A turn that was interrupted before the agent began stays so; every other change ends it.
func TestR8InterruptLastsUntilTheNextChange(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	run := lifeAt(lineshaft.Claimed, at)
	run.Interrupt(at)
	done(t)(run.Begin("box", at))
	if !run.Interrupted || run.Status.Message == lineshaft.AgentWorking || !run.SandboxRunning || !run.StartedAt.Equal(at) {
		t.Errorf("after the beginning: %+v", run)
	}
	run.Say(lineshaft.AgentWorking, at)
	if run.Interrupted {
		t.Error("interrupted although the next turn began")
	}
	run.Interrupt(at)
	done(t)(run.Move(lineshaft.Blocked, lineshaft.StatusMessage{}, "", at))
	if run.Interrupted {
		t.Error("interrupted although the state changed")
	}
}

func TestX1LostExecutionsCostAttemptsOnceTheAgentWorked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		state    lineshaft.RunState
		attempts int
		again    bool
		counted  int
	}{
		{lineshaft.Claimed, 0, true, 0},
		{lineshaft.InProgress, 0, true, 1},
		{lineshaft.Blocked, 1, false, 2},
		{lineshaft.Claimed, 1, true, 1},
	} {
		run := lifeAt(tc.state, time.Unix(100, 0))
		run.Attempts = tc.attempts
		if again := run.MayTryAgain(); again != tc.again || run.Attempts != tc.counted {
			t.Errorf("%s after %d: again %t with %d attempts, want %t with %d", tc.state, tc.attempts, again, run.Attempts, tc.again, tc.counted)
		}
	}
}

// A run that is stopped under a worker is over only when its execution is.
func TestR7StoppedRunsWaitForTheirExecution(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	run := lifeAt(lineshaft.InProgress, at)
	done(t)(run.Stop(lineshaft.Cancelled, lineshaft.StatusMessage{}, at))
	if run.Over() || !run.PromptDone {
		t.Errorf("over %t, prompt done %t; its processes may live", run.Over(), run.PromptDone)
	}
	run.SandboxRunning = true
	run.EndExecution(at, at.Add(time.Minute))
	if !run.Over() || run.SandboxRunning || run.RunTime != time.Minute {
		t.Errorf("after its execution: over %t, sandbox %t, %s", run.Over(), run.SandboxRunning, run.RunTime)
	}
	waiting := lifeAt(lineshaft.Queued, at)
	done(t)(waiting.Stop(lineshaft.Errored, lineshaft.StatusMessage{}, at))
	if !waiting.Over() || waiting.PromptDone {
		t.Errorf("a queued run: over %t, prompt done %t", waiting.Over(), waiting.PromptDone)
	}
}

func TestR6ReopenedRunsWaitAsLongAsTheFirstTime(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	run := lifeAt(lineshaft.Cancelled, at)
	run.Attempts, run.Hold = 2, lineshaft.HoldExecution|lineshaft.HoldConcurrency
	later := at.Add(24 * time.Hour)
	done(t)(run.Requeue("again", later))
	if !run.QueuedAt.Equal(later) || !run.QueueDeadline.Equal(later.Add(time.Hour)) || run.Attempts != 0 || run.Hold != lineshaft.HoldExecution {
		t.Errorf("queued %s until %s, %d attempts, hold %d", run.QueuedAt, run.QueueDeadline, run.Attempts, run.Hold)
	}
}
