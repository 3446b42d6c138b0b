package control_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// Turns that end together end each as they would alone: plain ones, ones with a
// follow-up, ones whose key another run waits for, ones that were cancelled.
func TestR1TurnsThatEndTogether(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		const kinds = 4
		jobs := make([]lineshaft.Job, 40)
		runs := make([]string, len(jobs))
		for i := range jobs {
			req := lineshaft.NewRun{Prompt: fmt.Sprint("run ", i)}
			if i%kinds == 2 {
				req.Config.Concurrency = &lineshaft.Concurrency{Key: fmt.Sprint("key ", i)}
			}
			runs[i], jobs[i] = b.working(req)
			switch i % kinds {
			case 1:
				b.followup(runs[i], "and then?")
			case 3:
				b.cancel(runs[i])
			}
		}
		next, errs := make([]*lineshaft.Turn, len(jobs)), make([]error, len(jobs))
		var workers sync.WaitGroup
		for i, job := range jobs {
			workers.Go(func() {
				result := lineshaft.TurnResult{State: lineshaft.Succeeded}
				if i%8 == 0 {
					result.State = lineshaft.Failed
				}
				next[i], errs[i] = b.s.EndTurn(b.Context(), job.ExecutionRef, result)
			})
		}
		workers.Wait()
		for i, runID := range runs {
			want := lineshaft.Succeeded
			switch {
			case i%8 == 0:
				want = lineshaft.Failed
			case i%kinds == 1:
				want = lineshaft.InProgress
				if next[i] == nil || next[i].Message != "and then?" {
					b.Errorf("run %d: its next turn is %+v", i, next[i])
				}
			case i%kinds == 3:
				want = lineshaft.Cancelled
			}
			if (errs[i] != nil) != (i%kinds == 3) {
				b.Errorf("run %d: %v", i, errs[i])
			}
			b.want(runID, want)
			b.sound(runID)
		}
	})
}
