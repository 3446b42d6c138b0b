package store_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func insertSecret(t *testing.T, s *store.Store, name string) store.Secret {
	t.Helper()
	_, at := s.NewID()
	secret := store.Secret{Sealed: "sealed", Secret: lineshaft.Secret{
		Name: name, Kind: lineshaft.SecretManaged, Access: lineshaft.AccessGranted, Description: "d", CreatedAt: at, UpdatedAt: at,
	}}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertSecret(ctx, secret) })
	return secret
}

func wantSecret(t *testing.T, s *store.Store, want store.Secret) {
	t.Helper()
	got, err := s.GetSecret(t.Context(), want.Name)
	must(t, err)
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("secret\n%+v, want\n%+v", *got, want)
	}
}

func TestS1SecretRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		secret := insertSecret(t, s, "ONE")
		wantSecret(t, s, secret)
		secret.Access, secret.Description, secret.Sealed, secret.UpdatedAt = lineshaft.AccessRuns, "", "other", secret.UpdatedAt.Add(time.Hour)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSecret(ctx, secret) })
		wantSecret(t, s, secret)
		for _, kind := range []lineshaft.SecretKind{lineshaft.SecretWebhook, lineshaft.SecretManaged} { // the name counts, not the kind
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				again := secret
				again.Kind, again.Sealed = kind, "stolen"
				return tx.InsertSecret(ctx, again)
			})
			wantCode(t, err, lineshaft.CodeConflict)
		}
		wantSecret(t, s, secret)
		drop := func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSecret(ctx, "ONE") }
		write(t, s, drop)
		wantCode(t, s.Write(t.Context(), drop), lineshaft.CodeNotFound)
		_, err := s.GetSecret(t.Context(), "ONE")
		wantCode(t, err, lineshaft.CodeNotFound)
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSecret(ctx, secret) })
		wantCode(t, err, lineshaft.CodeNotFound)
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return second(tx.LockSecret(ctx, "ONE")) })
		wantCode(t, err, lineshaft.CodeNotFound)
		insertSecret(t, s, "ONE")
	})
}

// A value that was sealed again does not undo a change that came between.
func TestS1SealedIsReplacedOnlyUnchanged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		secret, other := insertSecret(t, s, "ONE"), insertSecret(t, s, "TWO")
		replace := func(name, was, sealed string) {
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ReplaceSealed(ctx, name, was, sealed) })
		}
		replace("ONE", "sealed", "again")
		secret.Sealed = "again"
		replace("ONE", "sealed", "lost")
		replace("MISSING", "sealed", "lost")
		wantSecret(t, s, secret)
		wantSecret(t, s, other)
	})
}

func TestS1SecretsPage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		want := []string{"A", "A1", "AB", "A_", "B", "C"} // as bytes
		for _, name := range []string{"C", "A_", "AB", "B", "A", "A1"} {
			insertSecret(t, s, name)
		}
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.ListSecrets(t.Context(), "", after, 2, true)
			must(t, err)
			for _, secret := range page {
				got = append(got, secret.Name)
			}
			if len(page) < 2 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages have %v, want %v", got, want)
		}
	})
}

func TestS1SecretsOfOneKind(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for i, name := range []string{"A", "B", "C", "D"} {
			secret := store.Secret{Sealed: "sealed", Secret: lineshaft.Secret{Name: name, Kind: lineshaft.SecretManaged, Access: lineshaft.AccessGranted}}
			if i%2 == 1 {
				secret.Kind = lineshaft.SecretWebhook
			}
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertSecret(ctx, secret) })
		}
		for kind, want := range map[lineshaft.SecretKind]string{"": "A B C", lineshaft.SecretManaged: "A C", lineshaft.SecretWebhook: "B D"} {
			found, err := s.ListSecrets(t.Context(), kind, "", 3, false)
			must(t, err)
			var names []string
			for _, one := range found {
				names = append(names, one.Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("kind %q: %s, want %s", kind, got, want)
			}
		}
	})
}

// On PostgreSQL a secret that one node relies on cannot be removed by another.
func TestS1LockSecret(t *testing.T) {
	t.Parallel()
	a, b, waits := twoNodes(t)
	for i, second := range []func(ctx context.Context, tx *store.Tx, name string) error{
		func(ctx context.Context, tx *store.Tx, name string) error { return tx.DeleteSecret(ctx, name) },
		func(ctx context.Context, tx *store.Tx, name string) error {
			got, err := tx.LockSecret(ctx, name)
			if err == nil && got.Sealed != "changed" {
				return fmt.Errorf("read %q, not what the other wrote", got.Sealed)
			}
			return err
		},
	} {
		name := fmt.Sprint("S", i)
		secret := insertSecret(t, a, name)
		checkLock(t, a, waits, lockCase{
			first: func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.LockSecret(ctx, name); err != nil {
					return err
				}
				secret.Sealed = "changed"
				return tx.UpdateSecret(ctx, secret)
			},
			second: in(b, func(ctx context.Context, tx *store.Tx) error { return second(ctx, tx, name) }),
			waits:  true,
		})
	}
}
