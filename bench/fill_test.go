package main

import (
	"context"
	"database/sql"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// eachEngine runs a test with a filled database of each engine.
func eachEngine(t *testing.T, runs int, test func(t *testing.T, s *session, db *database)) {
	t.Helper()
	for _, engine := range []string{sqlite, postgres} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 0.001)
			if s.admin = os.Getenv("LINESHAFT_TEST_POSTGRES"); engine == postgres && s.admin == "" {
				t.Skip("no PostgreSQL: LINESHAFT_TEST_POSTGRES is not set (make test sets it)")
			}
			db, err := s.fillDatabase(t.Context(), engine, runs)
			must(t, err)
			test(t, s, db)
		})
	}
}

func TestFillIDsCarryTheirTime(t *testing.T) {
	t.Parallel()
	last := ""
	for _, i := range []int{0, 1, 2, 999, 10_000, 999_999} {
		text := fillID(i)
		equal(t, "valid "+text, id.Valid(text), true)
		at, ok := id.Time(text)
		equal(t, "has a time", ok, true)
		equal(t, "time", at, fillCreated(i))
		if text <= last || text < id.Floor(fillCreated(i)) {
			t.Errorf("%s sorts wrongly", text)
		}
		last = text
	}
}

// TestFillDoesAsSaid compares what is in the database with what the queries of B7
// take to be there.
func TestFillDoesAsSaid(t *testing.T) {
	t.Parallel()
	eachEngine(t, 700, func(t *testing.T, _ *session, db *database) {
		must(t, db.with(t.Context(), func(ctx context.Context, raw *sql.DB) error {
			rows, err := raw.QueryContext(ctx, "SELECT id, created_at, updated_at FROM runs ORDER BY id")
			if err != nil {
				return err
			}
			defer rows.Close()
			n := 0
			for ; rows.Next(); n++ {
				var runID string
				var created, updated int64
				if err := rows.Scan(&runID, &created, &updated); err != nil {
					return err
				}
				if runID != fillID(n) || created != fillCreated(n).UnixMicro() || updated != fillUpdated(n).UnixMicro() {
					t.Fatalf("run %d is %s, created %d, updated %d", n, runID, created, updated)
				}
			}
			equal(t, "runs", n, 700)
			return rows.Err()
		}))
		for query, want := range map[string]int64{
			"SELECT COUNT(*) FROM run_bodies": 700, "SELECT COUNT(*) FROM events": 1400, "SELECT COUNT(*) FROM run_search": 700,
			"SELECT COUNT(*) FROM runs r WHERE tagged <> CASE WHEN EXISTS (SELECT 1 FROM run_tags t WHERE t.run_id = r.id) THEN 1 ELSE 0 END": 0,
			"SELECT COUNT(*) FROM runs WHERE state = 'QUEUED' AND worker_host = 'hosted'":                                                     0,
			"SELECT COUNT(*) FROM runs r WHERE NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = r.execution_id) AND state <> 'QUEUED'":     0,
			"SELECT COUNT(*) FROM run_tags g WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = g.run_id AND r.updated_at = g.updated_at)":   0,
			"SELECT COUNT(*) FROM runs WHERE parent_run_id IS NOT NULL AND parent_run_id NOT IN (SELECT id FROM runs)":                        0,
			"SELECT COUNT(*) FROM run_backlog": 0,
			"SELECT COUNT(*) FROM run_list l JOIN runs r ON r.id = l.id AND r.state = l.state AND r.updated_at = l.updated_at": 700,
		} {
			got, err := db.number(t.Context(), query)
			must(t, err)
			equal(t, query, got, want)
		}
	})
}

// TestFillKeepsTheIndexes compares with a database that was not filled.
func TestFillKeepsTheIndexes(t *testing.T) {
	t.Parallel()
	eachEngine(t, 50, func(t *testing.T, s *session, db *database) {
		plain, err := s.newDatabase(t.Context(), db.engine, "plain")
		must(t, err)
		opened, err := store.Open(t.Context(), store.Options{Database: plain.url})
		must(t, err)
		must(t, opened.Close())
		list := func(of *database) (all []index) {
			must(t, of.with(t.Context(), func(ctx context.Context, raw *sql.DB) (err error) {
				all, err = secondaryIndexes(ctx, raw, fillDialects()[of.engine].indexes)
				return err
			}))
			return all
		}
		if got, want := list(db), list(plain); !slices.Equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	})
}

// TestFillCanBeSearched makes sure that the index has the words that a search
// finds when it walks the list instead.
func TestFillCanBeSearched(t *testing.T) {
	t.Parallel()
	eachEngine(t, 400, func(t *testing.T, _ *session, db *database) {
		opened, err := store.Open(t.Context(), store.Options{Database: db.url})
		must(t, err)
		t.Cleanup(func() { _ = opened.Close() })
		for query, want := range map[string]int{"module42": 4, "t0000123": 1, "t00001": 100, "failing pull": 100, "zebra": 0, fillID(17): 1} {
			runs, _, _, err := opened.ScanRuns(t.Context(), store.RunScan{Filter: lineshaft.RunFilter{Query: query}, Sort: lineshaft.SortCreated, Limit: 100})
			must(t, err)
			equal(t, query, len(runs), want)
			for _, run := range runs {
				text := strings.ToLower(run.ID + " " + run.Title + " " + run.Prompt)
				for word := range strings.FieldsSeq(query) {
					if !strings.Contains(text, word) {
						t.Errorf("%q found %q", query, text)
					}
				}
			}
		}
	})
}

func TestFillIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	first, err := s.fillDatabase(t.Context(), sqlite, 20)
	must(t, err)
	again, err := s.fillDatabase(t.Context(), sqlite, 20)
	must(t, err)
	equal(t, "the same database", again, first)
	other, err := s.fillDatabase(t.Context(), sqlite, 30)
	must(t, err)
	if other == first {
		t.Error("another size is the same database")
	}
	must(t, s.dropDatabase(t.Context(), other))
	if _, err := os.Stat(other.url); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}
