package runs

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// phase is a stretch of a run's life.
type phase struct {
	// Kind picks the colour: idle, busy, good, bad, warn.
	Kind string
	Name string
	// Detail is the worker, or what ended it.
	Detail string
	// Start is how the environment was made ready: warm from which layer, or cold and why.
	Start string
	At    time.Time
	// Took is zero for a point in time and for what has not ended.
	Took time.Duration
	// Now says that it has not ended.
	Now bool
}

// timelineSteps is how many of a run's first events are looked through for how its environment was made ready.
const timelineSteps = 1000

// timeline shows the life of a run: what it waited for, where each execution worked,
// how long that took, and how it ended. The steps are what the log says of its environment.
func timeline(run *lineshaft.Run, executions []runs.Execution, steps []lineshaft.Event) []phase {
	starts := map[string]string{} // by execution: the last, because a warm start may turn into a cold one
	for _, e := range steps {
		if d, ok := decode[lineshaft.NoticeData](e); ok && d.Environment != nil {
			starts[e.ExecutionID] = cmp.Or(startOf(*d.Environment), starts[e.ExecutionID])
		}
	}
	var list []phase
	waiting := run.CreatedAt
	for _, e := range executions {
		list = append(list, phase{Kind: "idle", Name: "Waited for a worker", At: waiting, Took: e.ClaimedAt.Sub(waiting)})
		list = append(list, worked(e, starts[e.ID])...)
		if waiting = e.EndedAt; !e.ContinuedAt.IsZero() {
			waiting = e.ContinuedAt
		}
	}
	switch {
	case run.State.Terminal():
		return append(list, phase{Kind: stateKind(run.State), Name: page.StateName(run.State), At: endOf(run), Detail: ""})
	case run.State == lineshaft.Queued:
		if waiting.IsZero() {
			waiting = run.UpdatedAt
		}
		list = append(list, phase{Kind: "idle", Name: "Waiting for a worker", At: waiting, Now: true})
	case run.State == lineshaft.Blocked:
		list = append(list, phase{Kind: "warn", Name: "Waiting for an answer", At: run.UpdatedAt, Now: true})
	}
	return list
}

func endOf(run *lineshaft.Run) time.Time {
	if run.FinishedAt.IsZero() {
		return run.UpdatedAt
	}
	return run.FinishedAt
}

// worked are the two parts of an execution: its preparation and the agent's work.
func worked(e runs.Execution, start string) []phase {
	name := fmt.Sprintf("Execution %d", e.Number)
	preparing := phase{Kind: "busy", Name: name + ": prepared", Detail: e.WorkerHost, Start: start, At: e.ClaimedAt}
	switch {
	case !e.StartedAt.IsZero():
		preparing.Took = e.StartedAt.Sub(e.ClaimedAt)
	case !e.EndedAt.IsZero():
		preparing.Took = e.EndedAt.Sub(e.ClaimedAt)
		return []phase{preparing}
	default:
		preparing.Name, preparing.Now = name+": preparing", true
		return []phase{preparing}
	}
	working := phase{Kind: "busy", Name: name + ": worked", Detail: e.WorkerHost, At: e.StartedAt}
	if e.EndedAt.IsZero() {
		working.Name, working.Now = name+": working", true
	} else {
		working.Took = e.EndedAt.Sub(e.StartedAt)
	}
	return []phase{preparing, working}
}

// stateMark is a sign for the title of the tab, which is all that a reader of another page sees.
func stateMark(state lineshaft.RunState) string {
	return map[string]string{"good": "✓", "bad": "✗", "warn": "?", "idle": "○", "busy": "●"}[stateKind(state)]
}

// stateKind is the colour of a state.
func stateKind(state lineshaft.RunState) string {
	switch state {
	case lineshaft.Succeeded:
		return "good"
	case lineshaft.Failed, lineshaft.Errored:
		return "bad"
	case lineshaft.Blocked:
		return "warn"
	case lineshaft.Queued, lineshaft.Cancelled:
		return "idle"
	default:
		return "busy"
	}
}
