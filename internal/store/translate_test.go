package store_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestErrorsSayTheSameOnBothEngines(t *testing.T) {
	t.Parallel()
	const insert = "INSERT INTO principals (uid, type, display_name, email, created_at) VALUES "
	cases := map[string]struct {
		text string
		code lineshaft.Code
	}{
		"primary key": {insert + "('u', 'user', '', '', 0), ('u', 'user', '', '', 0)", lineshaft.CodeConflict},
		"unique": {`INSERT INTO executions (id, run_id, number, worker_host, worker_id, token_hash, run_token_hash, claimed_at, started_at, ended_at,
			lease_until, last_number, interrupted, snapshot_id) VALUES ('a', '', 1, '', '', '', 'same', 0, 0, 0, 0, 0, 0, ''),
			('b', '', 1, '', '', '', 'same', 0, 0, 0, 0, 0, 0, '')`, lineshaft.CodeConflict},
		"check":        {insert + "('u', 'robot', '', '', 0)", lineshaft.CodeInternal},
		"not null":     {insert + "('u', 'user', NULL, '', 0)", lineshaft.CodeInternal},
		"syntax":       {"INSERT INTO", lineshaft.CodeInternal},
		"no such name": {"INSERT INTO nowhere VALUES (1)", lineshaft.CodeInternal},
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for name, c := range cases {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Exec(ctx, c.text)
				return err
			})
			if err == nil || lineshaft.CodeOf(err) != c.code {
				t.Errorf("%s: %v, want %s", name, err, c.code)
				continue
			}
			if strings.Contains(err.Error(), "principals") || errors.Unwrap(err) == nil {
				t.Errorf("%s: %v must hide its cause and keep it", name, err)
			}
		}
	})
}

func TestEndedContextPassesThrough(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.GetRun(ctx, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
		err := s.Write(ctx, func(context.Context, *store.Tx) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("write: %v", err)
		}
		late, cancelLate := context.WithDeadline(t.Context(), time.Unix(1, 0))
		defer cancelLate()
		if err := s.Ping(late); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ping: %v", err)
		}
	})
}

// A context that ends while a statement runs gives its own error too.
func TestContextEndsWithinAStatement(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		rows, err := s.DB().QueryContext(ctx, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n")
		if err == nil {
			defer rows.Close()
			for rows.Next() {
			}
			err = rows.Err()
		}
		if err = store.Translate(err); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// A server that does not exist is an unreachable part (503), not a missing thing.
func TestD2StoppedPostgresIsUnavailable(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	address := listener.Addr().String()
	must(t, listener.Close())
	_, err = store.Open(t.Context(), store.Options{Database: "postgres://someone:secret-word@" + address + "/x?sslmode=disable"})
	wantCode(t, err, lineshaft.CodeUnavailable)
	if strings.Contains(err.Error(), "secret-word") {
		t.Fatalf("the password is in %v", err)
	}
}

func TestClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		must(t, s.Close())
		must(t, s.Close())
		wantCode(t, s.Ping(t.Context()), lineshaft.CodeUnavailable)
		wantCode(t, s.Write(t.Context(), func(context.Context, *store.Tx) error { return nil }), lineshaft.CodeUnavailable)
	})
}

func TestBadDatabaseURLHidesThePassword(t *testing.T) {
	t.Parallel()
	_, err := store.Open(t.Context(), store.Options{Database: "postgres://someone:secret-word@host:notaport/x"})
	if err == nil || strings.Contains(err.Error(), "secret-word") || !strings.Contains(err.Error(), "postgres://") {
		t.Fatalf("error %v", err)
	}
}

// H-5: a connection that died in the pool is not a reason to refuse what another one can
// do. (SQLite has no connections that others can close.)
func TestH5ADeadConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	s, err := store.Open(t.Context(), store.Options{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	put := func(ctx context.Context, tx *store.Tx) error { _, err := tx.EnsureSetting(ctx, "a", "1"); return err }
	for name, use := range map[string]func() error{
		"one":   func() error { _, err := s.GetSetting(t.Context(), "a"); return err },
		"each":  func() error { _, err := s.ListNotifications(t.Context()); return err },
		"write": func() error { return s.Write(t.Context(), put) },
	} {
		if err := s.Write(t.Context(), put); err != nil { // there is a connection, used just now
			t.Fatal(err)
		}
		storetest.Exec(t, database, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if err := use(); err != nil {
			t.Errorf("%s: %v, %v", name, err, errors.Unwrap(err))
		}
	}
}

// H-5: once rows were handed out, they are not handed out again.
func TestH5RowsAreReadOnce(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	s, err := store.Open(t.Context(), store.Options{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	seen := 0
	err = s.Each(t.Context(), "SELECT n FROM generate_series(1, 1000000) AS n", func(scan func(...any) error) error {
		var n int
		if err := scan(&n); err != nil {
			return err
		}
		if seen++; seen == 1 {
			storetest.Exec(t, database, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		}
		if n != seen {
			t.Fatalf("row %d comes as the %d.", n, seen)
		}
		return nil
	})
	if lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
		t.Errorf("after %d rows: %v", seen, err)
	}
}
