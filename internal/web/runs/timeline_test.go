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
		"queued":    {lineshaft.Run{State: lineshaft.Queued, CreatedAt: at(0)}, nil, "Waits for a worker now"},
		"claimed":   {lineshaft.Run{State: lineshaft.Claimed, CreatedAt: at(0)}, []runs.Execution{{Number: 1, ClaimedAt: at(2)}}, "Waited for a worker 2.0 s|Execution 1: preparing now"},
		"working":   {lineshaft.Run{State: lineshaft.InProgress, CreatedAt: at(0)}, []runs.Execution{{Number: 1, ClaimedAt: at(2), StartedAt: at(3)}}, "Waited for a worker 2.0 s|Execution 1: prepared 1.0 s|Execution 1: working now"},
		"blocked":   {lineshaft.Run{State: lineshaft.Blocked, CreatedAt: at(0)}, []runs.Execution{{Number: 1, ClaimedAt: at(2), StartedAt: at(3)}}, "Waited for a worker 2.0 s|Execution 1: prepared 1.0 s|Execution 1: working now|Waits for an answer now"},
		"done":      {lineshaft.Run{State: lineshaft.Succeeded, CreatedAt: at(0), FinishedAt: at(15)}, []runs.Execution{first}, "Waited for a worker 2.0 s|Execution 1: prepared 3.0 s|Execution 1: worked 10 s|Succeeded –"},
		"never ran": {lineshaft.Run{State: lineshaft.Failed, CreatedAt: at(0), UpdatedAt: at(9)}, []runs.Execution{{Number: 1, ClaimedAt: at(2), EndedAt: at(4)}}, "Waited for a worker 2.0 s|Execution 1: prepared 2.0 s|Failed –"},
		"continued": {lineshaft.Run{State: lineshaft.Queued, CreatedAt: at(0)}, []runs.Execution{first}, "Waited for a worker 2.0 s|Execution 1: prepared 3.0 s|Execution 1: worked 10 s|Waits for a worker now"},
		"continued later": {lineshaft.Run{State: lineshaft.InProgress, CreatedAt: at(0)}, []runs.Execution{
			{Number: 1, ClaimedAt: at(2), StartedAt: at(3), EndedAt: at(4), ContinuedAt: at(100)}, {Number: 2, ClaimedAt: at(102), StartedAt: at(103)},
		}, "Waited for a worker 2.0 s|Execution 1: prepared 1.0 s|Execution 1: worked 1.0 s|Waited for a worker 2.0 s|Execution 2: prepared 1.0 s|Execution 2: working now"},
	} {
		var got []string
		for _, p := range timeline(&tc.run, tc.executions) {
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
	for _, state := range lineshaft.RunStates() {
		if stateKind(state) == "" {
			t.Errorf("%s has no colour", state)
		}
	}
}
