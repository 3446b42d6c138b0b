package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

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
	if os.Getenv("LINESHAFT_TEST_POSTGRES") == "" {
		if os.Getenv("LINESHAFT_TEST_FULL") != "" {
			t.Fatal("LINESHAFT_TEST_POSTGRES is not set, and a full test needs PostgreSQL: run make test")
		}
		t.Skip("no PostgreSQL: LINESHAFT_TEST_POSTGRES is not set (make test sets it)")
	}
	server, err := theServer()
	if err != nil {
		t.Fatal(err)
	}
	template := "template0"
	if schema {
		if template, err = server.template(); err != nil {
			t.Fatal(err)
		}
	}
	name := "t_" + strings.ToLower(rand.Text())
	if err := server.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template+server.strategy); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)")
	})
	return named(server.url, name)
}

// pgServer makes and drops the databases of a test binary. All its tests share the
// connections, since opening one takes longer than many a test. They are not a pool of
// database/sql: that has goroutines, and tests look for goroutines that stay.
type pgServer struct {
	url      *url.URL
	idle     chan *pgx.Conn
	strategy string
	template func() (name string, err error)
}

var theServer = sync.OnceValues(func() (*pgServer, error) {
	at, err := url.Parse(os.Getenv("LINESHAFT_TEST_POSTGRES"))
	if err != nil {
		return nil, err
	}
	ctx := context.Background() //nolint:forbidigo // it does not belong to one test: the first one asks for all
	s := &pgServer{url: at, idle: make(chan *pgx.Conn, 4)}
	s.template = sync.OnceValues(func() (name string, err error) {
		err = s.use(ctx, func(conn *pgx.Conn) (err error) {
			name, err = templateDatabase(ctx, conn, at)
			return err
		})
		return name, err
	})
	return s, s.use(ctx, func(conn *pgx.Conn) error {
		var version int
		if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
			return fmt.Errorf("ask for version: %w", err)
		}
		// Copying files takes a fifth of the time of writing every page of them to the
		// log. Before 15 it was the only way and had no name.
		if version >= 15_00_00 {
			s.strategy = " STRATEGY FILE_COPY"
		}
		return nil
	})
})

// use lends a connection; one that fails is not lent again.
func (s *pgServer) use(ctx context.Context, fn func(*pgx.Conn) error) error {
	var conn *pgx.Conn
	select {
	case conn = <-s.idle:
	default:
		var err error
		if conn, err = pgx.Connect(ctx, s.url.String()); err != nil {
			return fmt.Errorf("connect: %w", err)
		}
	}
	err := fn(conn)
	if err == nil {
		select {
		case s.idle <- conn:
			return nil
		default:
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

func (s *pgServer) exec(ctx context.Context, statement string) error {
	return s.use(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

func named(server *url.URL, name string) string {
	u := *server
	u.Path = "/" + name
	return u.String()
}

// templateLock is the advisory lock of anyone who makes a template.
const templateLock = 0x6c696e6573686174

// templateDatabase returns the name of a database of the newest schema that nobody
// connects to. The first test makes it, and it stays: copying it takes a fifth of the
// time of migrating. Its name identifies the schema, since several versions of
// Lineshaft may be tested with one server.
func templateDatabase(ctx context.Context, conn *pgx.Conn, server *url.URL) (name string, err error) {
	texts, err := store.Migrations("postgres")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	name = "lineshaft_template_" + hex.EncodeToString(sum[:8])
	if done, err := isTemplate(ctx, conn, name); done || err != nil {
		return name, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(templateLock)); err != nil {
		return "", fmt.Errorf("lock template: %w", err)
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(templateLock))
	}()
	if done, err := isTemplate(ctx, conn, name); done || err != nil {
		return name, err
	}
	return name, makeTemplate(ctx, conn, named(server, name), name)
}

// isTemplate says whether a template exists and is finished.
func isTemplate(ctx context.Context, conn *pgx.Conn, name string) (done bool, err error) {
	row := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate)", name)
	if err := row.Scan(&done); err != nil {
		return false, fmt.Errorf("look for template: %w", err)
	}
	return done, nil
}

func makeTemplate(ctx context.Context, conn *pgx.Conn, database, name string) error {
	// An existing one was left by a test that was stopped in between.
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name + " TEMPLATE template0"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
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
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+name+" IS_TEMPLATE true ALLOW_CONNECTIONS false"); err != nil {
		return fmt.Errorf("finish template: %w", err)
	}
	return nil
}
