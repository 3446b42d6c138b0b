package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestOpenTwice(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		for range 2 {
			s, err := store.Open(t.Context(), store.Options{Database: database})
			must(t, err)
			must(t, s.CheckSchema(t.Context()))
			must(t, s.Close())
		}
	})
}

// Nodes that start at once migrate one after the other.
func TestD3NodesStartTogether(t *testing.T) {
	t.Parallel()
	database := storetest.EmptyPostgres(t)
	stores := make([]*store.Store, 6)
	err := inParallel(len(stores), func(i int) (err error) {
		stores[i], err = store.Open(t.Context(), store.Options{Database: database, MaxConns: 2})
		return err
	})
	for _, s := range stores {
		if s != nil {
			t.Cleanup(func() { _ = s.Close() })
		}
	}
	must(t, err)
	want, err := store.SchemaVersion()
	must(t, err)
	if rows := texts(t, stores[0].DB(), "SELECT version FROM schema_version"); len(rows) != want {
		t.Fatalf("migrations %v, want %d", rows, want)
	}
}

// Migrating must not need a second connection while it holds the lock on the first.
func TestD3OneConnectionIsEnoughToMigrate(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		s, err := store.Open(t.Context(), store.Options{Database: database, MaxConns: 1})
		must(t, err)
		must(t, s.Ping(t.Context()))
		must(t, s.Close())
	})
}

func TestD3NewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO schema_version (version, applied_at) VALUES (999, 1)")
			return err
		})
		must(t, s.Close())
		for range 2 { // the refusal leaves nothing locked
			_, err = store.Open(t.Context(), store.Options{Database: database})
			wantCode(t, err, lineshaft.CodeConflict)
			if text := err.Error(); !strings.Contains(text, "999") || !strings.Contains(text, "newer lineshaft") {
				t.Fatalf("error %v does not say what to do", err)
			}
		}
	})
}

func TestD3OlderSchemaIsReported(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM schema_version")
			return err
		})
		err := s.CheckSchema(t.Context())
		wantCode(t, err, lineshaft.CodeConflict)
		if !strings.Contains(err.Error(), "lineshaft migrate") {
			t.Fatalf("error %v does not say what to do", err)
		}
	})
}

func TestD1SecondServerOnOneFileIsRefused(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "sub dir", "te?st#1.db")
	s, err := store.Open(t.Context(), store.Options{Database: database})
	must(t, err)
	_, err = store.Open(t.Context(), store.Options{Database: database})
	wantCode(t, err, lineshaft.CodeConflict)
	for _, word := range []string{"another lineshaft server", "--data-dir", "PostgreSQL", database} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %v does not name %q", err, word)
		}
	}
	must(t, s.Close())
	s, err = store.Open(t.Context(), store.Options{Database: database})
	must(t, err)
	must(t, s.Close())
}

// A database of the first release, with its rows, becomes what a new one is.
func TestD3WebhooksAreAddedToAnOldDatabase(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		old, err := store.MakeOld(t.Context(), database, 1)
		must(t, err)
		t.Cleanup(func() { _ = old.Close() })
		before, _, _ := strings.Cut(bulkSQL, ", agent_uid)") // the column that came later, and its value
		rest := bulkSQL[len(before)+len(", agent_uid)"):]
		_, err = old.ExecContext(t.Context(), before+")"+rest[:strings.LastIndex(rest, ",\n")]+"\nFROM n", 0, 100)
		must(t, err)
		for _, query := range []string{bulkBodies, bulkTags} {
			_, err = old.ExecContext(t.Context(), query, bulkID(0), bulkID(100))
			must(t, err)
		}
		count := "SELECT (SELECT COUNT(*) FROM runs), (SELECT COUNT(*) FROM run_bodies), (SELECT COUNT(*) FROM run_tags)"
		stored := texts(t, old, count)
		must(t, old.Close())
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		must(t, s.CheckSchema(t.Context()))
		if after := texts(t, s.DB(), count); fmt.Sprint(after) != fmt.Sprint(stored) || stored[0][0] != "100" {
			t.Errorf("rows %v, before %v", after, stored)
		}
		run, err := s.GetRun(t.Context(), bulkID(7))
		must(t, err)
		if run.Title != "run 7" {
			t.Errorf("run %+v", run)
		}
		f := insertFactory(t, s, "new")
		w := putWebhook(t, s, newWebhook(s, f.UID, "ci"))
		insertDeliveries(t, s, newDelivery(s, w.UID))
		must(t, removeRun(t.Context(), s, bulkID(7))) // which has no delivery
	})
}

// A migration never waits long for a table: its readers would queue behind it (D-3). It
// names a backup that it must wait for.
func TestD3MigrationDoesNotWaitForABackup(t *testing.T) {
	t.Parallel()
	database := storetest.EmptyPostgres(t)
	old, err := store.MakeOld(t.Context(), database, 1)
	must(t, err)
	t.Cleanup(func() { _ = old.Close() })
	for _, tc := range []struct{ name, want string }{{"lineshaft backup", "a backup of this database is running"}, {"psql", "pg_stat_activity"}} {
		holder, err := old.BeginTx(t.Context(), nil)
		must(t, err)
		for _, statement := range []string{"SET LOCAL application_name = '" + tc.name + "'", "LOCK TABLE runs, events IN ACCESS SHARE MODE"} {
			_, err = holder.ExecContext(t.Context(), statement)
			must(t, err)
		}
		_, err = store.OpenHasty(t.Context(), store.Options{Database: database}, 50*time.Millisecond, 3)
		wantCode(t, err, lineshaft.CodeConflict)
		if !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "start again") {
			t.Errorf("%s: %v", tc.name, err)
		}
		must(t, holder.Rollback())
	}
	holder, err := old.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = holder.ExecContext(t.Context(), "LOCK TABLE runs, events IN ACCESS SHARE MODE")
	must(t, err)
	opened := make(chan error, 1)
	go func() {
		s, err := store.OpenHasty(t.Context(), store.Options{Database: database}, 20*time.Millisecond, 1000)
		if err == nil {
			err = errors.Join(s.CheckSchema(t.Context()), s.Close())
		}
		opened <- err
	}()
	waiting := "SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND NOT l.granted"
	eventually(t, "the migration waits", func() bool { return len(texts(t, old, waiting)) > 0 })
	must(t, holder.Rollback())
	must(t, <-opened)
}
