package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
)

// Postgres makes a database of the newest schema for one test and returns its URL.
func Postgres(t *testing.T) string {
	t.Helper()
	return postgres(t, true)
}

// EmptyPostgres is Postgres without a schema.
func EmptyPostgres(t *testing.T) string {
	t.Helper()
	return postgres(t, false)
}

func postgres(t *testing.T, schema bool) string {
	t.Helper()
	dsn := os.Getenv("LINESHAFT_TEST_POSTGRES")
	if dsn == "" {
		if os.Getenv("LINESHAFT_TEST_FULL") != "" {
			t.Fatal("LINESHAFT_TEST_POSTGRES is not set, and a full test needs PostgreSQL: run make test")
		}
		t.Skip("no PostgreSQL: LINESHAFT_TEST_POSTGRES is not set (make test sets it)")
	}
	server, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	template := "template0"
	if schema {
		if template, err = templateDatabase(t.Context(), db, server); err != nil {
			t.Fatal(err)
		}
	}
	name := "t_" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = db.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)")
	})
	return named(server, name)
}

// named is the URL of another database of a server.
func named(server *url.URL, name string) string {
	u := *server
	u.Path = "/" + name
	return u.String()
}

// templateLock is the advisory lock of whoever makes a template.
const templateLock = 0x6c696e6573686174

// templateDatabase returns the name of a database of the newest schema that nobody
// connects to. The first test makes it, and it stays: copying it takes a fifth of the
// time of migrating. Its name tells the schema, since several versions of Lineshaft
// may be tested with one server.
func templateDatabase(ctx context.Context, db *sql.DB, server *url.URL) (name string, err error) {
	texts, err := store.Migrations("postgres")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	name = "lineshaft_template_" + hex.EncodeToString(sum[:8])
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	if done, err := isTemplate(ctx, conn, name); done || err != nil {
		return name, err
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(templateLock)); err != nil {
		return "", fmt.Errorf("lock template: %w", err)
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(templateLock))
	}()
	if done, err := isTemplate(ctx, conn, name); done || err != nil {
		return name, err
	}
	return name, makeTemplate(ctx, conn, named(server, name), name)
}

// isTemplate says whether a template is there and finished.
func isTemplate(ctx context.Context, conn *sql.Conn, name string) (done bool, err error) {
	row := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate)", name)
	if err := row.Scan(&done); err != nil {
		return false, fmt.Errorf("look for template: %w", err)
	}
	return done, nil
}

func makeTemplate(ctx context.Context, conn *sql.Conn, database, name string) error {
	// One that is there is what a test left that was stopped in between.
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name + " TEMPLATE template0"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make template: %w", err)
		}
	}
	s, err := store.Open(ctx, store.Options{Database: database})
	if err != nil {
		return fmt.Errorf("migrate template: %w", err)
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("close template: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "ALTER DATABASE "+name+" IS_TEMPLATE true ALLOW_CONNECTIONS false"); err != nil {
		return fmt.Errorf("finish template: %w", err)
	}
	return nil
}
