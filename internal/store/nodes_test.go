package store_test

import (
	"context"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// twoNodes opens two stores on one PostgreSQL database, as two servers do, and
// says whether the second waits for a lock.
func twoNodes(t *testing.T) (a, b *store.Store, waits func() bool) {
	t.Helper()
	database, err := url.Parse(storetest.Postgres(t))
	must(t, err)
	open := func(name string) *store.Store {
		q := database.Query()
		q.Set("application_name", name)
		database.RawQuery = q.Encode()
		s, err := store.Open(t.Context(), store.Options{Database: database.String()})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	a = open("first")
	name := "second-" + rowID(a)
	return a, open(name), func() bool {
		return len(texts(t, a.DB(), "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", name)) > 0
	}
}

// eachNodes runs fn on every engine: with two stores on PostgreSQL, and with the
// only one twice on SQLite.
func eachNodes(t *testing.T, fn func(t *testing.T, nodes [2]*store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := store.Open(t.Context(), store.Options{Database: t.TempDir() + "/test.db"})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		fn(t, [2]*store.Store{s, s})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		a, b, _ := twoNodes(t)
		fn(t, [2]*store.Store{a, b})
	})
}

// lockCase is what the second of two nodes does while the first is in a transaction.
type lockCase struct {
	// first runs in node a's transaction, which stays open meanwhile.
	first func(ctx context.Context, tx *store.Tx) error
	// second runs on node b.
	second func(ctx context.Context) error
	// waits says that second must wait until the first has ended.
	waits bool
}

// in makes a transaction of node b the second part of a lockCase.
func in(s *store.Store, work func(ctx context.Context, tx *store.Tx) error) func(ctx context.Context) error {
	return func(ctx context.Context) error { return s.Write(ctx, work) }
}

// checkLock holds the first transaction open, starts the second and wants it to
// wait, or not.
func checkLock(t *testing.T, a *store.Store, waits func() bool, c lockCase) {
	t.Helper()
	held, let, first, second := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	end := sync.OnceFunc(func() { close(let) })
	defer end()
	go func() {
		first <- a.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			err := c.first(ctx, tx)
			close(held)
			<-let
			return err
		})
	}()
	<-held
	go func() { second <- c.second(t.Context()) }()
	if c.waits {
		eventually(t, "waiting for the other node", func() bool { return waits() || len(second) > 0 })
		if len(second) > 0 {
			t.Errorf("the second did not wait for the first")
		}
	} else {
		timeout := time.NewTimer(time.Minute)
		defer timeout.Stop()
		select {
		case err := <-second:
			second <- err
		case <-timeout.C:
			t.Errorf("the second waits for the first")
		}
	}
	end()
	must(t, <-first)
	must(t, <-second)
}

// rowID is a new id.
func rowID(s *store.Store) string {
	text, _ := s.NewID()
	return text
}
