package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestX7UsageByModelAddsUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		add := func(run string, used ...lineshaft.ModelUsage) {
			t.Helper()
			if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.AddUsage(ctx, run, used) }); err != nil {
				t.Fatal(err)
			}
		}
		small := lineshaft.ModelUsage{ModelID: "small", Usage: lineshaft.Usage{InputTokens: 10, OutputTokens: 2}, UnpricedTokens: 12}
		large := lineshaft.ModelUsage{ModelID: "large", Usage: lineshaft.Usage{InputTokens: 1 << 40, OutputTokens: 5, CostMicros: 7}, CachedInputTokens: 3}
		add("run-1", small, large)
		add("run-1", small)
		add("run-2", large)
		add("run-2")
		got, err := s.ListUsage(t.Context(), "run-1")
		twice := lineshaft.ModelUsage{ModelID: "small", Usage: lineshaft.Usage{InputTokens: 20, OutputTokens: 4}, UnpricedTokens: 24}
		if err != nil || !slices.Equal(got, []lineshaft.ModelUsage{large, twice}) {
			t.Errorf("usage is %+v, %v", got, err)
		}
		if got, err := s.ListUsage(t.Context(), "run-3"); err != nil || len(got) != 0 {
			t.Errorf("a run without usage: %+v, %v", got, err)
		}
	})
}
