package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const (
	cutOthers = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity " +
		"WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
	append1 = "UPDATE settings SET value = value || '1' WHERE name = $1"
)

// values are what settings hold.
func values(t *testing.T, s *store.Store, names ...string) (found []string) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, name := range names {
			value, err := tx.GetSetting(ctx, name)
			if err := ignoreNoRows(err); err != nil {
				return err
			}
			found = append(found, value)
		}
		return nil
	})
	return found
}

// A connection that is cut while statements wait, or while COMMIT is under way, undoes all of
// them. Nobody gets success for them, and what may have been done is not done again.
func TestD2ConnectionIsCutBeforeTheCommit(t *testing.T) {
	t.Parallel()
	read := func(ctx context.Context, tx *store.Tx) error { return second(tx.GetSetting(ctx, "n")) }
	cases := map[string]struct {
		read, cut bool // before the end; else the connection is cut in COMMIT
	}{
		"after an answer":               {true, true},
		"before anything went out":      {false, true},
		"in COMMIT":                     {true, false},
		"in COMMIT, with all before it": {false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := storetest.Postgres(t)
			s, err := store.Open(t.Context(), store.Options{Database: database})
			must(t, err)
			t.Cleanup(func() { _ = s.Close() })
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.Send(ctx, 1, "put", putSetting, "n", "") })
			if !c.cut {
				storetest.Exec(t, database, `CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS
					$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NULL; END $$`,
					"CREATE CONSTRAINT TRIGGER cut AFTER UPDATE ON settings DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut()")
			}
			works := 0
			err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				works++
				if c.read {
					must(t, read(ctx, tx))
				}
				if c.cut {
					storetest.Exec(t, database, cutOthers)
				}
				return tx.Send(ctx, 1, "append", append1, "n")
			})
			if lineshaft.CodeOf(err) != lineshaft.CodeUnavailable || works != 1 {
				t.Errorf("the work is done %d times, and then: %v", works, err)
			}
			if got := values(t, s, "n"); got[0] != "" {
				t.Errorf("%q was stored", got)
			}
		})
	}
}

// Two transactions whose last statements wait for each other find that out in COMMIT: one of
// them is done again, and both are done once. It may be done again before the other one has
// woken up, and then they meet a second time.
func TestD2DeadlockInWhatIsSent(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{Database: storetest.Postgres(t)})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Send(ctx, 1, "put", putSetting, "a", ""), tx.Send(ctx, 1, "put", putSetting, "b", ""))
	})
	var first, both sync.WaitGroup
	first.Add(2)
	for _, names := range [][]string{{"a", "b"}, {"b", "a"}} {
		both.Go(func() {
			meet := sync.OnceFunc(func() { first.Done(); first.Wait() })
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.Exec(ctx, append1, names[0]); err != nil {
					return err
				}
				meet() // both have their first; when it is done again, nobody comes
				return tx.Send(ctx, 1, "append", append1, names[1])
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if got := values(t, s, "a", "b"); got[0] != "11" || got[1] != "11" || s.Deadlocks() == 0 {
		t.Errorf("%q after %d deadlocks", got, s.Deadlocks())
	}
}

// A caller that leaves before the commit gets that error only if nothing is stored, and takes
// nothing with it that others need.
func TestD2CallerLeavesWhileStatementsWait(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, name := range []string{"one", "two", "three"} {
			ctx, cancel := context.WithCancel(t.Context())
			err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				defer cancel()
				return tx.Send(ctx, 1, "put", putSetting, name, "x")
			})
			if got := values(t, s, name); (err == nil) != (got[0] == "x") || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%q is stored, and the caller got: %v", got, err)
			}
		}
	})
}

// Work that hides the error of a statement which others waited for is not committed, and the
// next transaction on the connection begins from nothing.
func TestD2HiddenFailureOfWhatIsSent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for range 3 {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				_ = tx.Send(ctx, 0, "put", putSetting, "n", "x")
				_ = tx.Send(ctx, 0, "again", putSetting, "n", "y")
				_, _ = tx.GetSetting(ctx, "n")
				_ = tx.Send(ctx, 0, "other", putSetting, "m", "z")
				return nil
			})
			wantCode(t, err, lineshaft.CodeConflict)
			if got := values(t, s, "n", "m"); got[0] != "" || got[1] != "" {
				t.Fatalf("%q", got)
			}
		}
	})
}

// Work may pass over an error that PostgreSQL does not: the transaction then ends with that
// error, as one of ours.
func TestD2ErrorThatIsPassedOverIsOurs(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{Database: storetest.Postgres(t)})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for range 2 {
			_, _ = tx.Exec(ctx, putSetting, "twice", "")
		}
		return nil
	})
	if lineshaft.CodeOf(err) != lineshaft.CodeConflict {
		t.Errorf("got %v, want a conflict", err)
	}
	if got := values(t, s, "twice"); got[0] != "" {
		t.Errorf("%q was stored", got)
	}
}
