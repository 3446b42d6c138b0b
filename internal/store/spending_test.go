package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestX10SpendingIsSummedByDay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		evening := time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
		add := func(at time.Time, spent map[string]lineshaft.Usage) {
			t.Helper()
			if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.AddSpending(ctx, spent, at) }); err != nil {
				t.Fatal(err)
			}
		}
		add(evening, map[string]lineshaft.Usage{"a": {InputTokens: 10, OutputTokens: 1, CostMicros: 5}, "b": {InputTokens: 7}})
		add(evening, map[string]lineshaft.Usage{"a": {OutputTokens: 4, CostMicros: 5}})
		add(evening.Add(time.Second), map[string]lineshaft.Usage{"a": {InputTokens: 1}})
		add(evening, nil)
		for _, tc := range []struct {
			factory string
			at      time.Time
			want    lineshaft.Spending
		}{
			{"a", evening, lineshaft.Spending{Tokens: 15, CostMicros: 10}},
			{"b", evening.Add(-23 * time.Hour), lineshaft.Spending{Tokens: 7}},
			{"a", evening.Add(time.Minute), lineshaft.Spending{Tokens: 1}},
			{"c", evening, lineshaft.Spending{}},
		} {
			if got, err := s.Spending(t.Context(), tc.factory, tc.at); err != nil || got != tc.want {
				t.Errorf("%s at %v: %+v (%v), want %+v", tc.factory, tc.at, got, err, tc.want)
			}
		}
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.DeleteOldSpending(ctx, evening.AddDate(0, 0, 41))
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Spending(t.Context(), "a", evening); err != nil || got != (lineshaft.Spending{}) {
			t.Errorf("after a purge: %+v (%v)", got, err)
		}
		if got, err := s.Spending(t.Context(), "a", evening.Add(time.Second)); err != nil || got.Tokens != 1 {
			t.Errorf("a younger day after a purge: %+v (%v)", got, err)
		}
	})
}

func TestX10SpendingIsListedByDay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		for i, spent := range []map[string]lineshaft.Usage{
			{"a": {InputTokens: 1, CostMicros: 10}, "b": {InputTokens: 2, CostMicros: 20}}, {"a": {InputTokens: 3, CostMicros: 30}}, {"b": {InputTokens: 4}},
		} {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return tx.AddSpending(ctx, spent, noon.AddDate(0, 0, -i))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			uids  []string
			since time.Time
			want  string
		}{
			{nil, noon.AddDate(0, 0, -1), "2026-01-30 a 30, 2026-01-31 a 10, 2026-01-31 b 20"},
			{nil, noon.AddDate(0, 0, -9), "2026-01-29 b 0, 2026-01-30 a 30, 2026-01-31 a 10, 2026-01-31 b 20"},
			{[]string{"a"}, noon.AddDate(0, 0, -9), "2026-01-30 a 30, 2026-01-31 a 10"},
			{nil, noon.AddDate(0, 0, 1), ""},
		} {
			days, err := s.ListSpending(t.Context(), tc.uids, tc.since)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for key, spent := range days {
				got = append(got, fmt.Sprintf("%s %s %d", key[0], key[1], spent.CostMicros))
			}
			slices.Sort(got)
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("%v since %v: %s, want %s", tc.uids, tc.since, text, tc.want)
			}
		}
	})
}
