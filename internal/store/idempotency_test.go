package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// reserve takes a key and keeps an answer under it, or returns the one that is kept.
func reserve(ctx context.Context, s *store.Store, key, body, answer string, now time.Time) (*store.Kept, error) {
	var kept *store.Kept
	err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if kept, err = tx.ReserveKey(ctx, key, body, now, 24*time.Hour); err != nil || kept != nil {
			return err
		}
		return tx.KeepAnswer(ctx, key, answer)
	})
	return kept, err
}

// Of many calls with one key at once exactly one does the work; the others get
// its answer, never an empty one (H-9).
func TestH9OneCallOfMany(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const calls = 64
		var first atomic.Int64
		now := time.Now()
		must(t, inParallel(calls, func(int) error {
			kept, err := reserve(t.Context(), s, "key", "body", "answer", now)
			switch {
			case err != nil:
				return err
			case kept == nil:
				first.Add(1)
			case kept.Answer != "answer" || kept.BodyHash != "body":
				return errors.New("got " + kept.Answer)
			}
			return nil
		}))
		if n := first.Load(); n != 1 {
			t.Errorf("%d calls did the work", n)
		}
	})
}

// A call that fails leaves the key free.
func TestH9FailedCallKeepsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var worked atomic.Int64
		must(t, inParallel(16, func(i int) error {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				kept, err := tx.ReserveKey(ctx, "key", "body", time.Now(), time.Hour)
				if err != nil || kept != nil {
					return err
				}
				if i%2 == 0 {
					return errUndo
				}
				worked.Add(1)
				return tx.KeepAnswer(ctx, "key", "answer")
			})
			if errors.Is(err, errUndo) {
				return nil
			}
			return err
		}))
		if n := worked.Load(); n != 1 {
			t.Errorf("%d calls did the work", n)
		}
	})
}

func TestH9KeysGrowOld(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		start := time.Unix(1_700_000_000, 0)
		for _, step := range []struct {
			key, body string
			after     time.Duration
			fresh     bool
		}{
			{"a", "one", 0, true},
			{"a", "two", 23 * time.Hour, false},
			{"b", "one", 23 * time.Hour, true},
			{"a", "two", 25 * time.Hour, true},
			{"a", "one", 26 * time.Hour, false},
		} {
			kept, err := reserve(t.Context(), s, step.key, step.body, "answer to "+step.body, start.Add(step.after))
			must(t, err)
			if (kept == nil) != step.fresh {
				t.Fatalf("%+v: kept %+v", step, kept)
			}
			if kept != nil && (kept.BodyHash == step.body || kept.Answer != "answer to "+kept.BodyHash) {
				t.Fatalf("%+v: kept %+v", step, kept)
			}
		}
		for hours, want := range map[int]bool{25: true, 26: false} {
			since := start.Add(time.Duration(hours) * time.Hour)
			kept, err := s.FindAnswer(t.Context(), "a", since)
			if err != nil || (kept != nil) != want || want && kept.Answer != "answer to two" {
				t.Errorf("since %v: %+v, %v", since, kept, err)
			}
		}
		for _, want := range []int64{1, 1, 0} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				if n, err := tx.DeleteOldKeys(ctx, start.Add(26*time.Hour), 1); err != nil || n != want {
					t.Errorf("deleted %d, %v; want %d", n, err, want)
				}
				return nil
			})
		}
	})
}
