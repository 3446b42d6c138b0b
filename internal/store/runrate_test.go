package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// ended puts a run that ended at a time into the store.
func ended(t *testing.T, s *store.Store, factory string, at time.Time) string {
	t.Helper()
	return insertRun(t, s, func(n *store.NewRun) {
		n.Head.State, n.Head.FactoryUID, n.Head.FinishedAt, n.Head.UpdatedAt = lineshaft.Succeeded, factory, at, at
	})
}

func TestEndsAreReadInTheirOrderAndOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		base := time.UnixMicro(1_800_000_000_000_000).UTC()
		late := ended(t, s, "", base.Add(2*time.Second))
		twins := []string{ended(t, s, "f1", base), ended(t, s, "", base)} // ids grow
		insertRun(t, s, nil)                                              // has not ended
		var got []string
		var mark store.RateMark
		for range 4 {
			part, err := s.EndedAfter(t.Context(), mark, base.Add(time.Minute), 1)
			must(t, err)
			for _, e := range part {
				got = append(got, e.ID)
				mark = store.RateMark{FinishedAt: e.FinishedAt, RunID: e.ID}
			}
		}
		if len(got) != 3 || got[0] != twins[0] || got[1] != twins[1] || got[2] != late {
			t.Errorf("%v", got)
		}
		// The end of the stretch is not in it.
		part, err := s.EndedAfter(t.Context(), store.RateMark{}, base.Add(2*time.Second), 9)
		must(t, err)
		if len(part) != 2 || part[0].FactoryUID != "f1" || part[1].FactoryUID != "" || !part[0].FinishedAt.Equal(base) {
			t.Errorf("%+v", part)
		}
	})
}

func rate(factory string, at time.Time, n int) store.RunRate {
	r := store.RunRate{Span: time.Hour, FactoryUID: factory, Bucket: at, Tally: store.NewTally()}
	for range n {
		r.End(store.RunEnd{State: lineshaft.Failed, ErrorCode: "x", StartedAt: at, CreatedAt: at.Add(-time.Second), RunTime: time.Minute})
	}
	return r
}

func TestRatesAddUpAndGoWithTheirMark(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		base := time.UnixMicro(1_800_000_000_000_000).UTC().Truncate(time.Hour)
		mark := store.RateMark{FinishedAt: base, RunID: "r"}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if first, err := tx.LockRateMark(ctx); err != nil || first != (store.RateMark{}) {
				t.Errorf("at first %+v (%v)", first, err)
			}
			if err := tx.AddRates(ctx, []store.RunRate{rate("", base, 2), rate("f1", base, 1), rate("", base.Add(time.Hour), 1)}); err != nil {
				return err
			}
			return tx.MoveRateMark(ctx, mark)
		})
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddRates(ctx, []store.RunRate{rate("", base, 3)})
		})
		rates, got, err := s.ListRates(t.Context(), time.Hour, []string{"", "f2"}, base)
		must(t, err)
		again, err := s.GetRateMark(t.Context())
		must(t, err)
		if got != mark || again != mark {
			t.Errorf("mark %+v, %+v", got, again)
		}
		sum := map[time.Time]int64{}
		for _, r := range rates {
			sum[r.Bucket] = r.Failed
			if r.Reasons["x"] != r.Failed || r.Waits.Count() != r.Failed || r.Times.Count() != r.Failed || r.Span != time.Hour || r.FactoryUID != "" {
				t.Errorf("%+v", r)
			}
		}
		if len(rates) != 2 || sum[base] != 5 || sum[base.Add(time.Hour)] != 1 {
			t.Errorf("%v", sum)
		}
		if later, _, err := s.ListRates(t.Context(), time.Hour, []string{""}, base.Add(time.Microsecond)); err != nil || len(later) != 1 {
			t.Errorf("later: %d (%v)", len(later), err)
		}
		if other, _, err := s.ListRates(t.Context(), time.Minute, []string{""}, base); err != nil || len(other) != 0 {
			t.Errorf("other span: %d (%v)", len(other), err)
		}
	})
}

func TestOldRatesAreRemovedInSteps(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		base := time.UnixMicro(1_800_000_000_000_000).UTC().Truncate(time.Hour)
		var all []store.RunRate
		for i := range 6 {
			all = append(all, rate("", base.Add(time.Duration(i)*time.Hour), 1))
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.AddRates(ctx, all) })
		for i, want := range []int64{2, 2, 1, 0} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				n, err := tx.DeleteOldRates(ctx, time.Hour, base.Add(5*time.Hour), 2)
				if n != want {
					t.Errorf("step %d removed %d, want %d", i, n, want)
				}
				return err
			})
		}
		left, _, err := s.ListRates(t.Context(), time.Hour, []string{""}, base)
		must(t, err)
		if len(left) != 1 || !left[0].Bucket.Equal(base.Add(5*time.Hour)) {
			t.Errorf("%+v", left)
		}
	})
}
