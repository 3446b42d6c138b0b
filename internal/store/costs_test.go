package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// What runs consumed is read in the order of the list, with sums by model.
func TestX10SpentRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory := rowID(s)
		var ids []string
		for i := range 3 {
			runID := insertRun(t, s, func(n *store.NewRun) { n.Head.FactoryUID = factory })
			ids = append([]string{runID}, ids...)
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				used := []lineshaft.ModelUsage{{ModelID: "large", Usage: lineshaft.Usage{InputTokens: 10, CostMicros: int64(100 * i)}}}
				if i == 1 {
					used = append(used, lineshaft.ModelUsage{ModelID: "small", Usage: lineshaft.Usage{OutputTokens: 1, CostMicros: 7}})
				}
				return tx.AddUsage(ctx, runID, used)
			})
		}
		insertRun(t, s, func(n *store.NewRun) { n.Head.FactoryUID = rowID(s) })
		scan := store.RunScan{Filter: lineshaft.RunFilter{FactoryUIDs: []string{factory}}, Sort: lineshaft.SortCreated, Limit: 10}
		runs, models, err := s.SpentRuns(t.Context(), scan)
		must(t, err)
		var got []string
		for _, run := range runs {
			got = append(got, run.ID)
			if run.FactoryUID != factory || run.CreatorUID == "" || run.Title == "" || run.State == "" {
				t.Errorf("%+v", run)
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%v, want %v", got, ids)
		}
		sums := map[string]store.SpentModel{}
		for _, m := range models {
			sums[m.ID] = m
		}
		large, small := sums["large"], sums["small"]
		if len(sums) != 2 || large.Runs != 3 || large.CostMicros != 300 || large.InputTokens != 30 || small.Runs != 1 || small.OutputTokens != 1 {
			t.Errorf("%+v", sums)
		}
		scan.Limit = 1
		if runs, _, err := s.SpentRuns(t.Context(), scan); err != nil || len(runs) != 1 || runs[0].ID != ids[0] {
			t.Errorf("%+v, %v", runs, err)
		}
		scan.Filter.FactoryUIDs = []string{"nobody"}
		if runs, models, err := s.SpentRuns(t.Context(), scan); err != nil || len(runs)+len(models) != 0 {
			t.Errorf("%+v, %+v, %v", runs, models, err)
		}
	})
}
