package store_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func takeLease(t *testing.T, s *store.Store, holder string, lease time.Duration) bool {
	t.Helper()
	var taken bool
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		taken, err = tx.TakeLease(ctx, "work", holder, lease)
		return err
	})
	return taken
}

func TestH12LeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if !takeLease(t, s, "a", time.Hour) || takeLease(t, s, "b", time.Hour) || !takeLease(t, s, "a", time.Hour) {
			t.Fatal("a lease that is held is its holder's alone")
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.EndLease(ctx, "work", "b") })
		if takeLease(t, s, "b", time.Hour) {
			t.Fatal("b ended what a holds")
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.EndLease(ctx, "work", "a") })
		if !takeLease(t, s, "b", -time.Second) {
			t.Fatal("a lease that was given back is still held")
		}
		if !takeLease(t, s, "a", time.Hour) || takeLease(t, s, "b", time.Hour) {
			t.Fatal("a lease that is over has a new holder, and that is one")
		}
	})
}

func TestH12LeaseRace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		takeLease(t, s, "killed", -time.Second)
		var holders atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if takeLease(t, s, string(rune('a'+i)), time.Hour) {
					holders.Add(1)
				}
			})
		}
		wg.Wait()
		if n := holders.Load(); n != 1 {
			t.Errorf("%d holders, want 1", n)
		}
	})
}

func TestSettingsAreListedByFolder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, name := range []string{"x/a", "x/a/b", "x/ab", "x/c", "x0", "x-", "x"} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutSetting(ctx, name, "was") })
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutSetting(ctx, name, name) })
		}
		want := func(after string, names ...string) {
			t.Helper()
			list, err := s.ListSettings(t.Context(), "x/", after, 3)
			must(t, err)
			if !slices.EqualFunc(list, names, func(s store.Setting, name string) bool { return s == store.Setting{Name: name, Value: name} }) {
				t.Errorf("found %v, want %v", list, names)
			}
		}
		want("", "x/a", "x/a/b", "x/ab")
		want("x/ab", "x/c")
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSettings(ctx, "x/a") })
		want("", "x/ab", "x/c")
		for _, name := range []string{"x", "x0", "x-"} {
			if got, err := s.GetSetting(t.Context(), name); err != nil || got != name {
				t.Errorf("%s is %q, %v", name, got, err)
			}
		}
	})
}
