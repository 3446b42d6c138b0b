package control_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
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

// Runs that a forgotten session of the database holds do not keep others from reporting and
// ending, however often their workers try.
func TestX1LockedRunsHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	b := open(t, database)
	_, one := b.working(lineshaft.NewRun{})
	_, two := b.working(lineshaft.NewRun{})
	freeID, free := b.working(lineshaft.NewRun{})
	held := storetest.HoldBy(t, database, "SELECT 1 FROM runs WHERE execution_id IN ($1, $2) FOR UPDATE", one.ExecutionID, two.ExecutionID)
	ctx, leave := context.WithCancel(b.Context())
	var stuck sync.WaitGroup
	defer stuck.Wait()
	defer leave()
	for n := range base.BatchesAtOnce("postgres") { // until each batch there may be waits for a lock
		job, tried := []lineshaft.Job{one, two}[n%2], make(chan struct{})
		first := sync.OnceFunc(func() { close(tried) })
		stuck.Go(func() {
			for ctx.Err() == nil { // as their workers do
				_, err := b.s.Report(ctx, []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Events: b.outputs(1, 1)}})
				if first(); ctx.Err() == nil && lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
					b.Errorf("a report for a locked run: %v", err)
				}
			}
		})
		held.WaitingUntil(n+1, tried)
	}
	soon, cancel := context.WithTimeout(b.Context(), 20*time.Second) // a batch that waited to its end would take 30
	defer cancel()
	refused, err := b.s.Report(soon, []lineshaft.Report{{ExecutionRef: free.ExecutionRef, First: 1, Events: b.outputs(1, 1)}})
	wantCode(b, errors.Join(append(refused, err)...), "")
	_, err = b.s.EndTurn(soon, free.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
	wantCode(b, err, "")
	b.want(freeID, lineshaft.Succeeded)
	leave()
	stuck.Wait()
	held.Release()
	wantCode(b, b.report(lineshaft.Report{ExecutionRef: one.ExecutionRef, First: 1, Events: b.outputs(1, 1)}), "")
}
