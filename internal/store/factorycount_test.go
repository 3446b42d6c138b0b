package store_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestF1PartsAreCountedByFactory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first, second, empty := insertFactory(t, s, ""), insertFactory(t, s, ""), insertFactory(t, s, "")
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for factory, n := range map[string]int{first.UID: 3, second.UID: 1} {
				for i := range n {
					uid, at := s.NewID()
					if err := tx.PutAgent(ctx, lineshaft.Agent{UID: uid, FactoryUID: factory, Name: fmt.Sprint("agent ", i), Type: lineshaft.AgentCustom, CreatedAt: at, UpdatedAt: at}); err != nil {
						return err
					}
					uid, at = s.NewID()
					if err := tx.PutAutomation(ctx, lineshaft.Automation{UID: uid, FactoryUID: factory, Name: fmt.Sprint("automation ", i), Prompt: "p", CreatedAt: at, UpdatedAt: at}); err != nil {
						return err
					}
				}
			}
			return nil
		})
		want := map[string]store.PartCounts{first.UID: {Agents: 3, Automations: 3}, second.UID: {Agents: 1, Automations: 1}}
		got, err := s.CountParts(t.Context(), first.UID, second.UID, empty.UID, "missing")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := s.CountParts(t.Context()); err != nil || len(got) > 0 {
			t.Errorf("of none: %v, %v", got, err)
		}
		// Pages of all automations have each once, and those of one factory no others.
		read := func(factories []string) (names []string) {
			var after store.PartKey
			for more := true; more; {
				page, goesOn, err := s.PageAutomations(t.Context(), factories, after, 3)
				must(t, err)
				for _, a := range page {
					after = store.PartKey{Factory: a.FactoryUID, Name: a.Name}
					names = append(names, a.FactoryUID+"/"+a.Name)
				}
				more = goesOn
			}
			return names
		}
		if got := read(nil); len(got) != 4 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 4 {
			t.Errorf("%v", got)
		}
		if got := read([]string{second.UID}); !slices.Equal(got, []string{second.UID + "/automation 0"}) {
			t.Errorf("%v", got)
		}
	})
}
