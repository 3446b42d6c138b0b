// Package storetest gives tests a fresh database of each engine. It is for tests
// only; nothing in the server imports it.
package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // creates the schemas of the tests

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

// EachDatabase runs fn with the database setting of a fresh SQLite file and of a
// fresh PostgreSQL schema, in parallel.
func EachDatabase(t *testing.T, fn func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, filepath.Join(t.TempDir(), "test.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, Postgres(t))
	})
}

// Postgres makes a schema for one test and returns a URL that points at it.
func Postgres(t *testing.T) string {
	t.Helper()
	dsn := os.Getenv("LINESHAFT_TEST_POSTGRES")
	if dsn == "" {
		if os.Getenv("LINESHAFT_TEST_FULL") != "" {
			t.Fatal("LINESHAFT_TEST_POSTGRES is not set, and a full test needs PostgreSQL: run make test")
		}
		t.Skip("no PostgreSQL: LINESHAFT_TEST_POSTGRES is not set (make test sets it)")
	}
	name := "t_" + strings.ToLower(rand.Text())
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = db.ExecContext(context.WithoutCancel(t.Context()), "DROP SCHEMA "+name+" CASCADE")
		_ = db.Close()
	})
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
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
