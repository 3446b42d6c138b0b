package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// steppedRuns has 300 runs, every fifth of which is from the CLI, and every hundredth from the pages.
func steppedRuns(t *testing.T, s *store.Store) (ids []string) {
	t.Helper()
	for i := range 300 {
		ids = append(ids, insertRun(t, s, func(n *store.NewRun) {
			if i%5 == 0 {
				n.Source = lineshaft.SourceCLI
			}
			if i%100 == 1 {
				n.Source = lineshaft.SourceWebApp
			}
		}))
	}
	settleAll(t, s)
	return ids
}

// A page with two filters reads little more than it shows, and not as much as it may: with
// a million runs, that would be all of it on each page.
func TestR4CombinedFiltersReadFewRows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ids := steppedRuns(t, s)
		recorder := s.Record()
		for _, tc := range []struct {
			filter lineshaft.RunFilter
			want   []string
			rows   int
		}{
			{lineshaft.RunFilter{Creator: "u1", Sources: []lineshaft.Source{lineshaft.SourceCLI}}, []string{ids[295], ids[290]}, 30},
			{lineshaft.RunFilter{Creator: "u1", Sources: []lineshaft.Source{lineshaft.SourceWebApp}}, []string{ids[201], ids[101]}, 300},
		} {
			recorder.Take()
			runs, _, more, err := s.ScanRuns(t.Context(), store.RunScan{Filter: tc.filter, Sort: lineshaft.SortCreated, Limit: 2})
			must(t, err)
			var got []string
			for _, run := range runs {
				got = append(got, run.ID)
			}
			if !slices.Equal(got, tc.want) || !more {
				t.Errorf("%+v finds %v, more %v; want %v", tc.filter, got, more, tc.want)
			}
			if rows := walkedRows(t, s, recorder); rows == 0 || rows > tc.rows {
				t.Errorf("%+v read %d rows, want at most %d", tc.filter, rows, tc.rows)
			}
		}
	})
}

// walkedRows counts what the recorded walks give.
func walkedRows(t *testing.T, s *store.Store, recorder *store.Recorder) (n int) {
	t.Helper()
	for _, one := range recorder.Take() {
		if !strings.Contains(one.Text, "run_list") {
			continue
		}
		rows, err := s.DB().QueryContext(t.Context(), one.Text, one.Args...)
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			n++
		}
		must(t, rows.Err())
	}
	return n
}

// A run that changes while a page is read is on it once, also where the list goes towards it.
func TestR4RunsThatGoAheadAreFoundOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ids := steppedRuns(t, s)
		recorder, steps := s.Record(), 0
		recorder.Before = func(query string) {
			if strings.Contains(query, "FROM run_list") {
				steps++
			}
			if steps != 2 {
				return
			}
			steps++ // the page has the first by now
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Exec(ctx, "UPDATE runs SET updated_at = updated_at + 3600000000 WHERE id = $1", ids[1])
				return err
			})
		}
		runs, _, _, err := s.ScanRuns(t.Context(), store.RunScan{
			Filter: lineshaft.RunFilter{Creator: "u1", Sources: []lineshaft.Source{lineshaft.SourceWebApp}}, Sort: lineshaft.SortUpdated, Ascending: true, Limit: 5,
		})
		must(t, err)
		var got []string
		for _, run := range runs {
			got = append(got, run.ID)
		}
		if want := []string{ids[1], ids[101], ids[201]}; !slices.Equal(got, want) || steps < 3 {
			t.Errorf("found %v after %d steps, want %v", got, steps, want)
		}
	})
}
