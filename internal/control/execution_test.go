package control_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// I-2: people see each attempt at a run, with its worker and its times.
func TestI2ExecutionsOfARun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{}).RunID
		if list := must[[]runs.Execution](b)(b.s.Executions(b.Context(), b.admin, runID)); len(list) != 0 {
			b.Fatalf("before the first claim: %+v", list)
		}
		job := b.claim(1)[0]
		list := must[[]runs.Execution](b)(b.s.Executions(b.Context(), b.admin, runID))
		if len(list) != 1 || list[0].Number != 1 || list[0].WorkerHost != lineshaft.HostedWorker || list[0].ClaimedAt.IsZero() || !list[0].StartedAt.IsZero() {
			b.Fatalf("claimed: %+v", list)
		}
		b.begin(job)
		b.end(job, lineshaft.Failed)
		if list = must[[]runs.Execution](b)(b.s.Executions(b.Context(), b.admin, runID)); !list[0].ContinuedAt.IsZero() {
			b.Fatalf("ended: %+v", list)
		}
		b.followup(runID, "again")
		if list = must[[]runs.Execution](b)(b.s.Executions(b.Context(), b.admin, runID)); list[0].ContinuedAt.Before(list[0].EndedAt) {
			b.Fatalf("queued again: %+v", list)
		}
		b.claim(1)
		list = must[[]runs.Execution](b)(b.s.Executions(b.Context(), b.admin, runID))
		if len(list) != 2 || list[0].StartedAt.IsZero() || list[0].EndedAt.Before(list[0].StartedAt) || list[1].Number != 2 || !list[1].EndedAt.IsZero() ||
			list[0].ContinuedAt.Before(list[0].EndedAt) || list[0].ContinuedAt.After(list[1].ClaimedAt) || !list[1].ContinuedAt.IsZero() {
			b.Fatalf("continued: %+v", list)
		}
		_, err := b.s.Executions(b.Context(), b.admin, "none")
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}
