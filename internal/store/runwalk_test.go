package store_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// changes says what happens to a run of fillRuns while lists are read.
func changes(i int) string {
	switch i % 10 {
	case 3:
		return "touched"
	case 7:
		return "deleted"
	}
	return ""
}

// disturb touches and deletes runs, and adds new ones, until ctx ends or a tenth of
// the runs was met. It returns how much it did.
func disturb(ctx context.Context, s *store.Store, runs int) (done int, err error) {
	random := rand.New(rand.NewPCG(3, 3))
	for ctx.Err() == nil && done < runs/10 {
		i := random.IntN(runs)
		err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			switch changes(i) {
			case "touched":
				h, err := tx.LockRun(ctx, bulkID(i))
				if err != nil {
					return err
				}
				h.Touch(time.UnixMicro(2_000_000 + random.Int64N(int64(runs))))
				return tx.SaveRun(ctx, h)
			case "deleted":
				return tx.DeleteRun(ctx, bulkID(i))
			}
			n := newRun(s)
			n.Head.UpdatedAt = time.UnixMicro(2_000_000 + random.Int64N(int64(runs)/2))
			n.Title = "run new"
			return tx.InsertRun(ctx, n, nil)
		})
		if err != nil && ctx.Err() == nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// keepSettling settles in small steps until ctx ends.
func keepSettling(ctx context.Context, s *store.Store) error {
	for ctx.Err() == nil {
		if _, err := s.SettleRuns(ctx, 20); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// A walk over a long list while it changes and is settled gives every run that does not change
// exactly once (H-8).
func TestH8WalkWhileRunsChange(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		runs := bulkSize(s)
		fillRuns(t, s, 0, runs)
		analyze(t, s)
		ctx, stop := context.WithCancel(t.Context())
		ended, settled := make(chan error, 1), make(chan error, 1)
		var done int
		go func() {
			var err error
			done, err = disturb(ctx, s, runs)
			ended <- err
		}()
		go func() { settled <- keepSettling(ctx, s) }()
		for name, q := range map[string]store.RunScan{
			"updated": {Sort: lineshaft.SortUpdated},
			"agent":   {Sort: lineshaft.SortAgent, Ascending: true},
			"tag":     {Sort: lineshaft.SortUpdated, Filter: lineshaft.RunFilter{Metadata: map[string]string{"team": "a"}}},
		} {
			checkWalk(t, s, name, q, runs)
		}
		stop()
		must(t, <-ended)
		must(t, <-settled)
		if done == 0 {
			t.Fatal("nothing changed meanwhile")
		}
		t.Logf("%d changes meanwhile", done)
	})
}

// checkWalk reads a list to its end and counts the runs that do not change.
func checkWalk(t *testing.T, s *store.Store, name string, q store.RunScan, runs int) {
	t.Helper()
	seen := map[string]int{}
	for _, runID := range pages(t.Context(), t, s, q, []int{500, 333}) {
		seen[runID]++
	}
	for i := range runs {
		want := 1
		if len(q.Filter.Metadata) > 0 && i%4 != 0 {
			want = 0
		}
		if got := seen[bulkID(i)]; got != want && changes(i) == "" {
			t.Errorf("%s: run %d was seen %d times, want %d", name, i, got, want)
		}
	}
}
