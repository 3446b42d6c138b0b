package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// planCase is a filter whose pages must follow an index.
type planCase struct {
	filter lineshaft.RunFilter
	// branches counts the values of a repeatable filter.
	branches int
	// budgeted filters are on values that most runs have: there is no index.
	budgeted bool
	// sort is the only order, for filters that are combined.
	sort lineshaft.RunSort
}

// planCases are the single filters of R-4, by common, rare and missing values.
func planCases() map[string]planCase {
	return map[string]planCase{
		"none":           {filter: lineshaft.RunFilter{}},
		"state":          {filter: lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Succeeded}}},
		"rare state":     {filter: lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Failed}}},
		"missing state":  {filter: lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Blocked}}},
		"states":         {filter: lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Blocked}}, branches: 3},
		"source":         {filter: lineshaft.RunFilter{Sources: []lineshaft.Source{lineshaft.SourceAPI}}},
		"rare source":    {filter: lineshaft.RunFilter{Sources: []lineshaft.Source{lineshaft.SourceCLI}}},
		"sources":        {filter: lineshaft.RunFilter{Sources: []lineshaft.Source{lineshaft.SourceAPI, lineshaft.SourceCLI}}, branches: 2},
		"name":           {filter: lineshaft.RunFilter{Name: "nightly"}},
		"missing name":   {filter: lineshaft.RunFilter{Name: "nobody"}},
		"model":          {filter: lineshaft.RunFilter{ModelID: "big"}},
		"creator":        {filter: lineshaft.RunFilter{Creator: "common"}},
		"rare creator":   {filter: lineshaft.RunFilter{Creator: "rare"}},
		"executor":       {filter: lineshaft.RunFilter{Executor: "rare"}},
		"agent":          {filter: lineshaft.RunFilter{Executor: "01910000-0000-7000-8000-000000000001"}},
		"rare agent":     {filter: lineshaft.RunFilter{Executor: "01910000-0000-7000-8000-000000000002"}},
		"missing agent":  {filter: lineshaft.RunFilter{Executor: "01910000-0000-7000-8000-000000000003"}},
		"environment":    {filter: lineshaft.RunFilter{EnvironmentID: "env"}},
		"skill":          {filter: lineshaft.RunFilter{SkillSpec: "o/r:s6"}},
		"schedule":       {filter: lineshaft.RunFilter{ScheduleID: "sched"}},
		"factory":        {filter: lineshaft.RunFilter{FactoryUIDs: []string{"fac0"}}},
		"factories":      {filter: lineshaft.RunFilter{FactoryUIDs: []string{"fac0", "fac1", "fac2"}}, branches: 3},
		"any factory":    {filter: lineshaft.RunFilter{FactoryOnly: true}},
		"parent":         {filter: lineshaft.RunFilter{ParentRunID: "par"}},
		"ancestor":       {filter: lineshaft.RunFilter{AncestorRunID: "anc"}},
		"metadata":       {filter: lineshaft.RunFilter{Metadata: map[string]string{"team": "a"}}},
		"missing tag":    {filter: lineshaft.RunFilter{Metadata: map[string]string{"team": "b"}}},
		"artifact":       {filter: lineshaft.RunFilter{ArtifactType: lineshaft.ArtifactPlan}},
		"worker":         {filter: lineshaft.RunFilter{WorkerHost: "mac"}},
		"hosted":         {filter: lineshaft.RunFilter{WorkerHost: lineshaft.HostedWorker}, budgeted: true},
		"no environment": {filter: lineshaft.RunFilter{NoEnvironment: true}, budgeted: true},
		"error code": {budgeted: true, filter: lineshaft.RunFilter{
			States: []lineshaft.RunState{lineshaft.Failed, lineshaft.Errored}, ErrorCode: lineshaft.CodeRunTimeout,
		}},
		"updated": {filter: lineshaft.RunFilter{UpdatedAfter: time.UnixMicro(2_002_000), UpdatedBefore: time.UnixMicro(2_009_000)}},
		"created": {filter: lineshaft.RunFilter{CreatedAfter: time.UnixMicro(1), CreatedBefore: time.Unix(2_000_000_000, 0)}},
		"state updated": {sort: lineshaft.SortUpdated, filter: lineshaft.RunFilter{
			States:       []lineshaft.RunState{lineshaft.Succeeded},
			UpdatedAfter: time.UnixMicro(2_002_000), UpdatedBefore: time.UnixMicro(2_006_000),
		}},
	}
}

// Any single filter by either time reads O(limit) rows; those on values that most
// runs have, and the time that is not the order, read at most the budget.
func TestR4SingleFiltersFollowAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillRuns(t, s, 0, planSize(s))
		recorder := s.Record()
		analyze(t, s)
		checkPlans(t, s, recorder, false, 2)
		if s.Engine() == "postgres" {
			checkPlans(t, s, recorder, true, 1)
		}
	})
}

const planRuns = 20_000

// planSize is how many runs there are when plans are checked. SQLite's do not depend on
// it.
func planSize(s *store.Store) int {
	if s.Engine() == "sqlite" {
		return planRuns / 100
	}
	return planRuns
}

func checkPlans(t *testing.T, s *store.Store, recorder *store.Recorder, generic bool, directions int) {
	t.Helper()
	for name, c := range planCases() {
		for _, sort := range []lineshaft.RunSort{lineshaft.SortUpdated, lineshaft.SortCreated} {
			if c.sort != "" && c.sort != sort {
				continue
			}
			const limit = 20
			most := (limit + 1) * max(c.branches, 1)
			beside := !c.filter.UpdatedAfter.IsZero() && sort == lineshaft.SortCreated || !c.filter.CreatedAfter.IsZero() && sort == lineshaft.SortUpdated
			if c.budgeted || beside {
				most = store.ScanBudget
			}
			scan := store.RunScan{Filter: c.filter, Sort: sort, Limit: limit}
			for _, scan.After = range []*store.RunKey{nil, {Micro: 2_000_000 + planRuns/4, ID: bulkID(planRuns / 2)}} {
				for _, scan.Ascending = range []bool{false, true}[:directions] {
					_, _, _, err := s.ScanRuns(t.Context(), scan)
					must(t, err)
					walked := recorder.Take()
					if name != "none" {
						walked = walked[:1] // the others read the runs found, the same way each time
					}
					for _, st := range walked {
						checkReads(t, s, st, most, generic)
					}
					if t.Failed() {
						t.Fatalf("%s by %s, after %v, ascending %v", name, sort, scan.After, scan.Ascending)
					}
				}
			}
		}
	}
}

// A search for a rare word reads its runs only, in any order of the list; one for a
// common word at most the budget.
func TestR4SearchFollowsTheIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillRuns(t, s, 0, planSize(s))
		fill := "INSERT INTO run_search (rowid, words) SELECT number, 'common n' || SUBSTR(id, 31) FROM run_list"
		if s.Engine() == "postgres" {
			fill = "INSERT INTO run_search (run_id, words) SELECT id, array_to_tsvector(ARRAY['common', 'n' || SUBSTR(id, 31)]) FROM runs"
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.Exec(ctx, "DELETE FROM run_search"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, fill)
			return err
		})
		analyze(t, s)
		recorder := s.Record()
		for query, most := range map[string]int{"n00001": 10, "common n000123": 1, "nowhere": 0, bulkID(7): 1, "common": store.ScanBudget, "do": store.ScanBudget} {
			for _, sort := range lineshaft.RunSorts() {
				_, _, _, err := s.ScanRuns(t.Context(), store.RunScan{Filter: lineshaft.RunFilter{Query: query}, Sort: sort, Limit: 20})
				must(t, err)
				for _, st := range recorder.Take() {
					if s.Engine() == "postgres" {
						checkReads(t, s, st, most, false)
					}
				}
			}
		}
	})
}

// A follower of all state changes reads those after a place, not all there ever were.
func TestI2StateChangesBeginAtTheirPlace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if s.Engine() != "sqlite" {
			return // what it reads is counted elsewhere
		}
		reads := s.Record()
		must(t, second(s.ListStateChanges(t.Context(), store.StatePosition{Txid: 7}, 10)))
		must(t, second(s.ListUnsettled(t.Context(), store.StatePosition{Txid: 7})))
		for _, st := range reads.Take() {
			if plan := fmt.Sprint(explainSQLite(t, s.DB(), st)); !strings.Contains(plan, "(txid,run_id,sequence)>") {
				t.Errorf("%s\n%s", st.Text, plan)
			}
		}
	})
}
