package certificate

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/vault"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testVault(t *testing.T, letter string) *vault.Vault {
	t.Helper()
	key, err := vault.NewKey([]byte(strings.Repeat(letter, 32)))
	must(t, err)
	return vault.New(key)
}

func testStorage(t *testing.T, s *store.Store) *storage {
	t.Helper()
	return newStorage(s, testVault(t, "k"), slog.New(slog.DiscardHandler))
}

func TestH12StorageIsAFolder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s, ctx := testStorage(t, db), t.Context()
		if _, err := s.Load(ctx, "a/b.key"); !errors.Is(err, fs.ErrNotExist) || s.Exists(ctx, "a") {
			t.Fatalf("nothing is there: %v", err)
		}
		if _, err := s.List(ctx, "a", true); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("an empty folder: %v", err)
		}
		must(t, s.Delete(ctx, "a"))
		for _, key := range []string{"a/b.key", "a/b/c", "a/b/d", "ab"} {
			must(t, s.Store(ctx, key, []byte("was")))
			must(t, s.Store(ctx, key, []byte("in "+key)))
		}
		if got, err := s.Load(ctx, "a/b/c"); err != nil || string(got) != "in a/b/c" {
			t.Errorf("loaded %q, %v", got, err)
		}
		if got, err := s.List(ctx, "a", true); err != nil || !slices.Equal(got, []string{"a/b.key", "a/b/c", "a/b/d"}) {
			t.Errorf("all below a: %v, %v", got, err)
		}
		if got, err := s.List(ctx, "a", false); err != nil || !slices.Equal(got, []string{"a/b.key", "a/b"}) {
			t.Errorf("in a: %v, %v", got, err)
		}
		file, err := s.Stat(ctx, "a/b.key")
		folder, folderErr := s.Stat(ctx, "a/b")
		if err != nil || folderErr != nil || !file.IsTerminal || folder.IsTerminal {
			t.Errorf("a file %+v, %v, and a folder %+v, %v", file, err, folder, folderErr)
		}
		must(t, s.Delete(ctx, "a/b"))
		if s.Exists(ctx, "a/b") || s.Exists(ctx, "a/b/c") || !s.Exists(ctx, "a/b.key") || !s.Exists(ctx, "ab") {
			t.Error("a folder is deleted with what is in it, and nothing else")
		}
	})
}

func TestH12WhatIsStoredIsSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s, ctx := testStorage(t, db), t.Context()
		secret := []byte("-----BEGIN EC PRIVATE KEY-----")
		must(t, s.Store(ctx, "x.key", secret))
		must(t, s.Store(ctx, "y.key", []byte("another")))
		list, err := db.ListSettings(ctx, store.SealedPrefix, "", 10)
		if err != nil || len(list) != 2 || strings.Contains(list[0].Value, "PRIVATE") {
			t.Fatalf("stored %v, %v", list, err)
		}
		must(t, db.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutSetting(ctx, list[1].Name, list[0].Value) // one passed off as another
		}))
		if got, err := s.Load(ctx, "y.key"); !errors.Is(err, vault.ErrBroken) || errors.Is(err, fs.ErrNotExist) || bytes.Contains(got, secret) {
			t.Errorf("a swapped key: %q, %v", got, err)
		}
		s.vault = testVault(t, "z")
		if _, err := s.Load(ctx, "x.key"); !errors.Is(err, vault.ErrUnknownKey) {
			t.Errorf("with another master key: %v", err)
		}
	})
}

func TestH12LockOfAKilledNodeEnds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		a, b, ctx := testStorage(t, db), testStorage(t, db), t.Context()
		must(t, a.Lock(ctx, "issue"))
		if taken, err := b.TryLock(ctx, "issue"); taken || err != nil {
			t.Fatalf("two nodes hold a lock: %v", err)
		}
		if taken, err := a.TryLock(ctx, "issue"); taken || err != nil {
			t.Fatalf("two goroutines of a node hold a lock: %v", err)
		}
		impatient, cancel := context.WithTimeout(ctx, 3*lockPoll)
		defer cancel()
		if err := b.Lock(impatient, "issue"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("b waited with %v", err)
		}
		// A node that is killed extends nothing; its lease is made old instead of waited for.
		held := a.held["issue"]
		held.end()
		must(t, db.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.TakeLease(ctx, lockPrefix+"issue", held.holder, -time.Second)
			return err
		}))
		must(t, b.Lock(ctx, "issue"))
		must(t, a.Unlock(ctx, "issue")) // it comes back and must not take it from b
		if taken, err := a.TryLock(ctx, "issue"); taken || err != nil {
			t.Fatalf("a killed node ended the lock of another: %v", err)
		}
		must(t, b.Unlock(ctx, "issue"))
		if err := b.Unlock(ctx, "issue"); err == nil {
			t.Error("a lock that nobody holds was ended")
		}
		must(t, a.Lock(ctx, "issue"))
		must(t, a.Unlock(ctx, "issue"))
	})
}
