// Package storetest gives tests a fresh database of each engine. It is for tests
// only; nothing in the server imports it.
package storetest

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // makes the databases of the tests

	"github.com/lineshaft/lineshaft/internal/store"
)

// Each runs fn on every engine, in a database of its own.
func Each(t *testing.T, fn func(t *testing.T, s *store.Store)) {
	t.Helper()
	EachDatabase(t, func(t *testing.T, database string) {
		s, err := store.Open(t.Context(), store.Options{Database: database})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		fn(t, s)
	})
}

// EachDatabase runs fn with the database setting of a SQLite file and of a PostgreSQL
// database, in parallel. Both are of the newest schema and have no rows.
func EachDatabase(t *testing.T, fn func(t *testing.T, database string)) {
	t.Helper()
	each(t, fn, SQLite, Postgres)
}

// EachEmpty is EachDatabase with databases that nobody has opened yet.
func EachEmpty(t *testing.T, fn func(t *testing.T, database string)) {
	t.Helper()
	each(t, fn, func(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") }, EmptyPostgres)
}

func each(t *testing.T, fn func(t *testing.T, database string), sqlite, postgres func(*testing.T) string) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, sqlite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, postgres(t))
	})
}

// Exec changes a database behind the back of its store, such as the times of rows
// that the database itself dated.
func Exec(t *testing.T, database string, statements ...string) {
	t.Helper()
	db := connect(t, database)
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// Count reads one number of a database past its store, such as what is left of something.
func Count(t *testing.T, database, query string) (n int) {
	t.Helper()
	if err := connect(t, database).QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func connect(t *testing.T, database string) *sql.DB {
	t.Helper()
	driver := "sqlite"
	if store.IsPostgres(database) {
		driver = "pgx"
	} else {
		database = "file:" + database + "?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
