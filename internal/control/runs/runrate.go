package runs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// ShortSpan and LongSpan are the stretches of time that ends of runs are counted
	// in: the short one for the last hour, the long one for a day and a week.
	ShortSpan = 5 * time.Minute
	// LongSpan is the other one.
	LongSpan = time.Hour
	// shortKeep and longKeep are twice what an overview shows, which it compares with what was
	// before, and some more.
	shortKeep = 3 * time.Hour
	longKeep  = 15 * 24 * time.Hour
	// settle is how old an end must be to be counted: by then its transaction is over,
	// and clocks of nodes that differ by less do no harm.
	settle = 30 * time.Second
	// foldStep is how many ends are counted in one transaction.
	foldStep = 500
)

// FoldRates counts runs that ended, each end once over all nodes, and returns how many.
// It continues where it stopped, however long that was, but leaves out what is older
// than anyone looks at.
//
// The rule: an end counts when it is settle old and the run has not been continued
// since. A run that is continued later and ends again has ended twice.
func (s *Runs) FoldRates(ctx context.Context) (int, error) {
	now := s.Store.Now()
	mark, err := s.Store.GetRateMark(ctx)
	if err != nil {
		return 0, err
	}
	// A look before a transaction: most rounds find nothing to do.
	if ended, err := s.Store.EndedAfter(ctx, from(mark, now), now.Add(-settle), 1); err != nil || len(ended) == 0 {
		return 0, err
	}
	counted := 0
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		counted = 0
		mark, err := tx.LockRateMark(ctx)
		if err != nil {
			return err
		}
		ended, err := tx.EndedAfter(ctx, from(mark, now), now.Add(-settle), foldStep)
		if err != nil || len(ended) == 0 {
			return err
		}
		if err := tx.AddRates(ctx, tallies(ended, now)); err != nil {
			return err
		}
		last := ended[len(ended)-1]
		counted = len(ended)
		return tx.MoveRateMark(ctx, store.RateMark{FinishedAt: last.FinishedAt, RunID: last.ID})
	})
	return counted, err
}

// from is where counting continues.
func from(mark store.RateMark, now time.Time) store.RateMark {
	if oldest := now.Add(-longKeep); mark.FinishedAt.Before(oldest) {
		return store.RateMark{FinishedAt: oldest}
	}
	return mark
}

// tallies counts ends by span, factory and stretch, in one order for all nodes.
func tallies(ended []store.RunEnd, now time.Time) []store.RunRate {
	type place struct {
		span    time.Duration
		factory string
		bucket  int64
	}
	places := map[place]int{}
	var rates []store.RunRate
	for _, e := range ended {
		for _, span := range []time.Duration{ShortSpan, LongSpan} {
			if span == ShortSpan && now.Sub(e.FinishedAt) > shortKeep {
				continue // it would be removed at once
			}
			factories := []string{store.RateAll}
			if e.FactoryUID != "" {
				factories = append(factories, e.FactoryUID)
			}
			for _, factory := range factories {
				bucket := e.FinishedAt.Truncate(span)
				key := place{span, factory, bucket.UnixMicro()}
				at, ok := places[key]
				if !ok {
					at, places[key] = len(rates), len(rates)
					rates = append(rates, store.RunRate{Span: span, FactoryUID: factory, Bucket: bucket, Tally: store.NewTally()})
				}
				rates[at].End(e)
			}
		}
	}
	slices.SortFunc(rates, func(a, b store.RunRate) int {
		if c := strings.Compare(a.FactoryUID, b.FactoryUID); c != 0 {
			return c
		}
		return a.Bucket.Compare(b.Bucket)
	})
	return rates
}

// PurgeRates removes tallies that nobody looks at any more.
func (s *Runs) PurgeRates(ctx context.Context) error {
	now := s.Store.Now()
	return errors.Join(s.purgeRates(ctx, ShortSpan, now.Add(-shortKeep)), s.purgeRates(ctx, LongSpan, now.Add(-longKeep)))
}

func (s *Runs) purgeRates(ctx context.Context, span time.Duration, before time.Time) error {
	for {
		var n int64
		err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.DeleteOldRates(ctx, span, before, base.SweepBatch)
			return err
		})
		if err != nil || n < base.SweepBatch {
			return err
		}
	}
}
