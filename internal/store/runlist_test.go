package store_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// filterParts are the ways to narrow a filter; a list uses some of them together.
func filterParts(m *model) []func(t *rapid.T, f *lineshaft.RunFilter) {
	one := func(t *rapid.T, items ...string) string {
		return rapid.SampledFrom(append(items, "nobody")).Draw(t, "value")
	}
	run := func(t *rapid.T) *modelRun { return rapid.SampledFrom(m.runs[:20]).Draw(t, "run") }
	at := func(t *rapid.T) time.Time {
		return m.start.Add(time.Duration(rapid.IntRange(-10, 2*len(m.runs)).Draw(t, "at")) * time.Microsecond)
	}
	return []func(t *rapid.T, f *lineshaft.RunFilter){
		func(t *rapid.T, f *lineshaft.RunFilter) {
			f.States = rapid.SliceOfN(rapid.SampledFrom(lineshaft.RunStates()), 0, 4).Draw(t, "states")
		},
		func(t *rapid.T, f *lineshaft.RunFilter) {
			f.Sources = rapid.SliceOfN(rapid.SampledFrom(lineshaft.Sources()[:4]), 1, 3).Draw(t, "sources")
		},
		func(t *rapid.T, f *lineshaft.RunFilter) {
			f.FactoryUIDs = rapid.SliceOfN(rapid.SampledFrom([]string{"fac1", "fac2", "fac3"}), 1, 3).Draw(t, "factories")
		},
		func(t *rapid.T, f *lineshaft.RunFilter) { f.FactoryOnly = true },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.NoEnvironment = true },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.Name = one(t, "nightly", "weekly") },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.ModelID = one(t, "nightly", "weekly") },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.EnvironmentID = one(t, "env1", "env2") },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.SkillSpec = one(t, "o/r:lint", "o/r:Lint") },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.ScheduleID = one(t, "sched") },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.Creator = one(t, modelPeople...) },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.Executor = one(t, modelPeople...) },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.WorkerHost = one(t, modelHosts...) },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.ParentRunID = run(t).Head.ID },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.AncestorRunID = run(t).Head.ID },
		func(t *rapid.T, f *lineshaft.RunFilter) {
			f.ArtifactType = rapid.SampledFrom(lineshaft.ArtifactTypes()).Draw(t, "artifact")
		},
		func(t *rapid.T, f *lineshaft.RunFilter) {
			f.Metadata = rapid.MapOfN(rapid.SampledFrom([]string{"team", "tier"}), rapid.SampledFrom([]string{"red", "blue", "pink"}), 1, 2).Draw(t, "metadata")
		},
		func(t *rapid.T, f *lineshaft.RunFilter) {
			f.ErrorCode = rapid.SampledFrom(modelCodes[1:]).Draw(t, "code")
		},
		func(t *rapid.T, f *lineshaft.RunFilter) { f.CreatedAfter = at(t) },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.CreatedBefore = at(t) },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.UpdatedAfter = at(t) },
		func(t *rapid.T, f *lineshaft.RunFilter) { f.UpdatedBefore = at(t) },
		func(t *rapid.T, f *lineshaft.RunFilter) {
			f.Query = rapid.SampledFrom([]string{"alpha", "ALPHA t", "bêt", "Übers", "修", "fix the", "lint", "nightly test", "id", "0", "zzz", "--", run(t).Head.ID}).Draw(t, "query")
		},
	}
}

func drawScan(t *rapid.T, m *model) store.RunScan {
	q := store.RunScan{Sort: rapid.SampledFrom(lineshaft.RunSorts()).Draw(t, "sort"), Ascending: rapid.Bool().Draw(t, "ascending")}
	parts := filterParts(m)
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(parts)-1), 0, 4).Draw(t, "parts") {
		parts[i](t, &q.Filter)
	}
	return q
}

// pages reads a whole list in pages of the given sizes, in turn. Each page must
// bring the list forward, if only by its cursor.
func pages(ctx context.Context, t rapid.TB, s *store.Store, q store.RunScan, limits []int) []string {
	t.Helper()
	var ids []string
	for page := 0; ; page++ {
		q.Limit = limits[page%len(limits)]
		runs, last, more, err := s.ScanRuns(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) > q.Limit {
			t.Fatalf("%d runs on a page of %d", len(runs), q.Limit)
		}
		for _, run := range runs {
			ids = append(ids, run.ID)
		}
		if !more {
			return ids
		}
		if last == nil || q.After != nil && *last == *q.After {
			t.Fatalf("page %d ended at %v, where it began", page, last)
		}
		if page > 2000 {
			t.Fatal("the list does not end")
		}
		q.After = last
	}
}

// Lists of any filters in any order and page size are what a naive filter and
// sort over a slice gives: no gap, no repeat (R-4, H-8).
func TestR4ListsEqualTheModel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		random := rand.New(rand.NewPCG(7, 7))
		size := 200
		if raced() {
			size = 100
		}
		m := newModel(random, size)
		m.save(t, s, random)
		settleAll(t, s)
		rapid.Check(t, func(rt *rapid.T) {
			q := drawScan(rt, m)
			s.SetBudget(rapid.SampledFrom([]int{12, 40, store.ScanBudget}).Draw(rt, "budget"))
			limits := rapid.SliceOfN(rapid.IntRange(1, 60), 1, 3).Draw(rt, "limits")
			if got, want := pages(t.Context(), rt, s, q, limits), m.list(q); !slices.Equal(got, want) {
				rt.Fatalf("got %d runs, want %d\n%v\n%v", len(got), len(want), got, want)
			}
			run := rapid.SampledFrom(m.runs).Draw(rt, "run")
			got, err := s.RunMatches(t.Context(), run.Head.ID, q.Filter)
			if err != nil || got != run.matches(q.Filter) {
				rt.Fatalf("RunMatches(%s) = %v, %v", run.Head.ID, got, err)
			}
		})
	})
}

// A search for whole words that many runs have reads as many of those as it asks for. What only
// begins a word would have SQLite put together all runs that have it, before the first is given.
func TestR4WholeWordsAreSearchedFirst(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{Database: storetest.SQLite(t)})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	for _, title := range []string{"module42", "module42", "module42", "module4", "module4", "module5"} {
		insertRun(t, s, func(n *store.NewRun) { n.Title = title })
	}
	settleAll(t, s)
	s.SetBudget(20) // two candidates are many
	recorder := s.Record()
	for query, want := range map[string]string{"module4": "module4 module4", "module5": "module5", "module": "module42 module42"} {
		recorder.Take()
		found(t, s, query)
		searched := recorder.Take()
		at := slices.IndexFunc(searched, func(one store.Statement) bool { return strings.Contains(one.Text, "MATCH") })
		if at < 0 {
			t.Fatalf("%q: the index was not asked: %v", query, searched)
		}
		rows, err := s.DB().QueryContext(t.Context(), "SELECT title FROM runs WHERE id IN ("+searched[at].Text+") ORDER BY id", searched[at].Args...)
		must(t, err)
		defer func() { _ = rows.Close() }()
		var got []string
		for rows.Next() {
			var title string
			must(t, rows.Scan(&title))
			got = append(got, title)
		}
		must(t, rows.Err())
		if strings.Join(got, " ") != want {
			t.Errorf("%q: the index gave %v, want %s", query, got, want)
		}
	}
}
