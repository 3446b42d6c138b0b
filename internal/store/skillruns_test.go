package store_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// F-8: one question for all skills, within what a caller may see.
func TestF8NewestRunsOfSkills(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := func(spec, factory string) string {
			return insertRun(t, s, func(n *store.NewRun) { n.Body.Config.Skills, n.Head.FactoryUID = []string{spec}, factory })
		}
		run("a/r:x", "")
		mine, newest, other := run("a/r:x", "f1"), run("a/r:x", "f2"), run("a/r:y", "f2")
		specs := []string{"a/r:x", "a/r:y", "a/r:none"}
		for _, test := range []struct {
			filter lineshaft.RunFilter
			want   map[string]string
		}{
			{lineshaft.RunFilter{}, map[string]string{"a/r:x": newest, "a/r:y": other}},
			{lineshaft.RunFilter{FactoryUIDs: []string{"f1"}}, map[string]string{"a/r:x": mine}},
			{lineshaft.RunFilter{AncestorRunID: mine}, nil},
		} {
			found, err := s.NewestOfSkills(t.Context(), test.filter, specs)
			if err != nil || len(found) != len(test.want) {
				t.Fatalf("%+v finds %v, %v", test.filter, found, err)
			}
			for spec, runID := range test.want {
				if at, _ := id.Time(runID); !found[spec].Equal(at) {
					t.Errorf("%+v: %s at %v, want %v", test.filter, spec, found[spec], at)
				}
			}
		}
		if found, err := s.NewestOfSkills(t.Context(), lineshaft.RunFilter{}, nil); err != nil || len(found) != 0 {
			t.Errorf("of nothing: %v, %v", found, err)
		}
	})
}
