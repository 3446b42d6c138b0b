package runs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// I-2: the life of a run, with how long each part took and where.
func TestI2Timeline(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	first := runs.Execution{Number: 1, WorkerHost: "box", ClaimedAt: at(2), StartedAt: at(5), EndedAt: at(15)}
	for name, tc := range map[string]struct {
		run        lineshaft.Run
		executions []runs.Execution
		want       string
	}{
		"queued":    {lineshaft.Run{State: lineshaft.Queued, CreatedAt: at(0)}, nil, "Waiting for a worker now"},
		"claimed":   {lineshaft.Run{State: lineshaft.Claimed, CreatedAt: at(0)}, []runs.Execution{{Number: 1, ClaimedAt: at(2)}}, "Waited for a worker 2.0 s|Execution 1: preparing now"},
		"working":   {lineshaft.Run{State: lineshaft.InProgress, CreatedAt: at(0)}, []runs.Execution{{Number: 1, ClaimedAt: at(2), StartedAt: at(3)}}, "Waited for a worker 2.0 s|Execution 1: prepared 1.0 s|Execution 1: working now"},
		"blocked":   {lineshaft.Run{State: lineshaft.Blocked, CreatedAt: at(0)}, []runs.Execution{{Number: 1, ClaimedAt: at(2), StartedAt: at(3)}}, "Waited for a worker 2.0 s|Execution 1: prepared 1.0 s|Execution 1: working now|Waiting for an answer now"},
		"done":      {lineshaft.Run{State: lineshaft.Succeeded, CreatedAt: at(0), FinishedAt: at(15)}, []runs.Execution{first}, "Waited for a worker 2.0 s|Execution 1: prepared 3.0 s|Execution 1: worked 10 s|Succeeded –"},
		"never ran": {lineshaft.Run{State: lineshaft.Failed, CreatedAt: at(0), UpdatedAt: at(9)}, []runs.Execution{{Number: 1, ClaimedAt: at(2), EndedAt: at(4)}}, "Waited for a worker 2.0 s|Execution 1: prepared 2.0 s|Failed –"},
		"continued": {lineshaft.Run{State: lineshaft.Queued, CreatedAt: at(0)}, []runs.Execution{first}, "Waited for a worker 2.0 s|Execution 1: prepared 3.0 s|Execution 1: worked 10 s|Waiting for a worker now"},
		"continued later": {lineshaft.Run{State: lineshaft.InProgress, CreatedAt: at(0)}, []runs.Execution{
			{Number: 1, ClaimedAt: at(2), StartedAt: at(3), EndedAt: at(4), ContinuedAt: at(100)}, {Number: 2, ClaimedAt: at(102), StartedAt: at(103)},
		}, "Waited for a worker 2.0 s|Execution 1: prepared 1.0 s|Execution 1: worked 1.0 s|Waited for a worker 2.0 s|Execution 2: prepared 1.0 s|Execution 2: working now"},
	} {
		var got []string
		for _, p := range timeline(&tc.run, tc.executions, nil) {
			line := page.Took(p.Took)
			if p.Now {
				line = "now"
			}
			got = append(got, fmt.Sprintf("%s %s", p.Name, line))
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%s: %s", name, strings.Join(got, "|"))
		}
	}
	// where an execution was prepared it says how, the last time that this was tried.
	started := []runs.Execution{{ID: "e1", Number: 1, ClaimedAt: at(2), StartedAt: at(3), EndedAt: at(4)}, {ID: "e2", Number: 2, ClaimedAt: at(5)}}
	steps := []lineshaft.Event{
		told(1, lineshaft.EventNotice, `{"environment":{"step":"warm","layer":"4f0c"}}`), told(2, lineshaft.EventNotice, `{"environment":{"step":"cold","reason":"full"}}`),
		told(3, lineshaft.EventNotice, `{"environment":{"step":"clone","name":"a/b"}}`), told(4, lineshaft.EventNotice, `{"environment":{"step":"newer","layer":"4f0c"}}`),
	}
	for i, of := range []string{"e1", "e1", "e1", "e2"} {
		steps[i].ExecutionID = of
	}
	var got []string
	for _, p := range timeline(&lineshaft.Run{State: lineshaft.Claimed, CreatedAt: at(0)}, started, steps) {
		got = append(got, p.Start)
	}
	if strings.Join(got, "|") != "|cold: full|||warm, on layer 4f0c of an earlier commit" {
		t.Errorf("the starts are %q", got)
	}
	for _, state := range lineshaft.RunStates() {
		if stateKind(state) == "" {
			t.Errorf("%s has no colour", state)
		}
	}
}
