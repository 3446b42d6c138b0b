package control_test

import (
	"fmt"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// tripsOf is how often the store waits for the database while fn runs.
func (b *bench) tripsOf(fn func()) int64 {
	before := b.store.Trips()
	fn()
	return b.store.Trips() - before
}

// A run waits for the database a few times in its life, and 32 that go the same way at the
// same time wait no more often on PostgreSQL than one does.
func TestTripsOfARun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		life := func(n int) (claim, start, end int64) {
			for range n {
				b.start(lineshaft.NewRun{})
			}
			var jobs []lineshaft.Job
			claim = b.tripsOf(func() { jobs = b.claim(n) })
			if len(jobs) != n {
				b.Fatalf("%d of %d", len(jobs), n)
			}
			start = b.tripsOf(func() { b.begin(jobs...) })
			end = b.tripsOf(func() { b.endTogether(jobs) })
			return claim, start, end
		}
		life(1) // which also records the worker and counts what is queued
		claim, start, end := life(1)
		most := [3]int64{8, 7, 7} // with BEGIN and COMMIT
		if b.store.Engine() == "postgres" {
			most = [3]int64{2, 2, 2}
		}
		if claim > most[0] || start > most[1] || end > most[2] {
			b.Errorf("a run waits %d times to be claimed, %d to start and %d to end", claim, start, end)
		}
		// How many ends share a transaction depends on how they come; see base.Gathering.
		if many, starts, _ := life(32); many > claim || starts > start {
			b.Errorf("32 runs wait %d times to be claimed and %d to start, one %d and %d", many, starts, claim, start)
		}
	})
}

// endTogether ends the turns of jobs at the same time.
func (b *bench) endTogether(jobs []lineshaft.Job) {
	b.Helper()
	together(len(jobs), func(i int) {
		if next, err := b.s.EndTurn(b.Context(), jobs[i].ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded}); err != nil || next != nil {
			b.Errorf("%+v, %v", next, err)
		}
	})
}

// A delivery waits for the database a few times, whether or not it starts runs, and many
// of them in one transaction no more often on PostgreSQL than one.
func TestTripsOfADelivery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		filter           string
		rate             int
		sqlite, postgres int64
	}{
		"starts nothing":  {`{"action":["closed"]}`, 0, 6, 2},
		"starts a run":    {"", 0, 10, 2},
		"counts its rate": {`{"action":["closed"]}`, 600, 11, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorks(t, factories.NewWebhook{RateLimit: &c.rate}, func(w *works) {
				w.automation("it", c.filter)
				hook := w.ready()
				accept := func(name string, n int) int64 {
					var batch []trigger.Received
					for i := range n {
						batch = append(batch, received(hook, fmt.Sprint(name, i), opened))
					}
					return w.tripsOf(func() {
						if _, errs := w.s.AcceptTogether(w.Context(), batch...); errs[0] != nil {
							w.Fatal(errs)
						}
					})
				}
				most := c.sqlite
				if w.store.Engine() == "postgres" {
					most = c.postgres
				}
				for _, n := range []int{1, 31, 32} {
					if n == 31 && w.store.Engine() == "sqlite" {
						continue // it is cut into five statements, which nobody waits for on a network
					}
					if trips := accept(fmt.Sprint(n, "/"), n); trips > most {
						w.Errorf("%d deliveries wait %d times for the database, want at most %d", n, trips, most)
					}
				}
			})
		})
	}
}
