package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const putSetting = "INSERT INTO settings (name, value) VALUES ($1, $2)"

// A statement that nobody waits for undoes everything when it fails, before and after it,
// also when it is found out at the commit alone, and the error says what was done.
func TestD2WhatIsSentFailsWithTheRest(t *testing.T) {
	t.Parallel()
	change := "UPDATE settings SET value = $1 WHERE name = 'one'"
	cases := map[string]func(ctx context.Context, tx *store.Tx) error{
		"a constraint": func(ctx context.Context, tx *store.Tx) error {
			return tx.Send(ctx, 0, "the second", putSetting, "one", "2")
		},
		"no row": func(ctx context.Context, tx *store.Tx) error { return tx.Send(ctx, 2, "the second", change, "2") },
	}
	for name, fails := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				for _, looks := range []bool{false, true} {
					err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
						must(t, tx.Send(ctx, 1, "the first", putSetting, "one", "1"))
						if err := fails(ctx, tx); err != nil {
							return err // SQLite runs it at once
						}
						if err := tx.Send(ctx, 0, "the third", putSetting, "three", "3"); err != nil || !looks {
							return err
						}
						_, err := tx.EnsureSetting(ctx, "four", "4")
						return err
					})
					if err == nil || !strings.Contains(err.Error(), "the second") {
						t.Fatalf("looks %v: %v", looks, err)
					}
				}
				for _, setting := range []string{"one", "three", "four"} {
					wantSetting(t, s, setting, "fresh")
				}
			})
		})
	}
}

// What is sent is done in its order, before what is read, and however much it is.
func TestD2WhatIsSentIsDoneInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const many = 150
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			must(t, tx.Send(ctx, 1, "begin", putSetting, "n", ""))
			for i := range many {
				must(t, tx.Send(ctx, 1, "add", "UPDATE settings SET value = value || $1 WHERE name = 'n'", fmt.Sprint(i, " ")))
			}
			got, err := tx.GetSetting(ctx, "n")
			if want := strings.Count(got, " "); err != nil || want != many || !strings.HasPrefix(got, "0 1 2 ") || !strings.HasSuffix(got, " 149 ") {
				t.Errorf("%q: %v", got, err)
			}
			return tx.Send(ctx, 1, "last", putSetting, "last", "done")
		})
		wantSetting(t, s, "last", "done")
	})
}

// On PostgreSQL a transaction waits only for what it reads, and for its commit.
func TestTripsOfTransactions(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{Database: storetest.Postgres(t)})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	send := func(ctx context.Context, tx *store.Tx) error {
		return tx.Send(ctx, 1, "put", putSetting, rowID(s), "x")
	}
	read := func(ctx context.Context, tx *store.Tx) error { return second(tx.GetSetting(ctx, "absent")) }
	for name, c := range map[string]struct {
		work  []func(context.Context, *store.Tx) error
		trips int64
	}{
		"nothing":     {nil, 0},
		"writes":      {slices.Repeat([]func(context.Context, *store.Tx) error{send}, 3), 1},
		"a read":      {[]func(context.Context, *store.Tx) error{read}, 2},
		"both":        {[]func(context.Context, *store.Tx) error{send, read, send, send}, 2},
		"two of each": {[]func(context.Context, *store.Tx) error{read, send, read, send}, 3},
	} {
		before := s.Trips()
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, work := range c.work {
				if err := ignoreNoRows(work(ctx, tx)); err != nil {
					return err
				}
			}
			return nil
		})
		if n := s.Trips() - before; n != c.trips {
			t.Errorf("%s: %d round trips, want %d", name, n, c.trips)
		}
	}
}

// The sizes of lists are few, and never smaller than what is in them.
func TestListsAreOfFewSizes(t *testing.T) {
	t.Parallel()
	sizes := map[int]bool{}
	for n := 1; n <= 1024; n++ {
		size := store.Roomier(n)
		if sizes[size] = true; size < n || size > n+n/2 {
			t.Fatalf("%d in %d", n, size)
		}
	}
	if len(sizes) > 20 {
		t.Errorf("%d sizes", len(sizes))
	}
}
