package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestF6EndedRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		plain := insertRun(t, s, nil)
		child := insertRun(t, s, func(n *store.NewRun) {
			n.Head.FactoryUID, n.AgentUID, n.Title, n.RootRunID, n.Depth = "f1", "g1", "title", plain, 3
		})
		gone := insertRun(t, s, nil)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, gone) })
		found, err := s.ListEndedRuns(t.Context(), []string{plain, child, gone, "nobody"})
		if err != nil || len(found) != 2 {
			t.Fatalf("%+v, %v", found, err)
		}
		creator := found[plain].CreatorUID
		want := store.EndedRun{ID: child, Title: "title", FactoryUID: "f1", AgentUID: "g1", CreatorUID: creator, RootRunID: plain, Depth: 3}
		if found[child] != want || found[plain].FactoryUID != "" || found[plain].AgentUID != "" || found[plain].RootRunID != plain || creator == "" {
			t.Errorf("%+v", found)
		}
		if found, err := s.ListEndedRuns(t.Context(), nil); err != nil || len(found) != 0 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// The holder of a setting's lock decides alone from what it says.
func TestSettingsCanBeLocked(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		wantSetting(t, s, "a", "")
		const count = 8
		var all sync.WaitGroup
		for range count {
			all.Go(func() {
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					value, err := tx.LockSetting(ctx, "a")
					if err != nil {
						return err
					}
					return tx.ReplaceSetting(ctx, "a", value, value+"x")
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got, err := s.GetSetting(t.Context(), "a"); err != nil || len(got) != count {
			t.Errorf("setting is %q, %v", got, err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			value, err := tx.LockSetting(ctx, "none")
			if value != "" {
				t.Errorf("a setting that was not there is %q", value)
			}
			return err
		})
	})
}

func TestStatePositionsAreOrdered(t *testing.T) {
	t.Parallel()
	order := []store.StatePosition{{}, {Txid: 1}, {Txid: 1, RunID: "a"}, {Txid: 1, RunID: "a", Sequence: 2}, {Txid: 1, RunID: "b", Sequence: 1}, {Txid: 2}}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%v against %v is %d", a, b, got)
			}
		}
	}
}
