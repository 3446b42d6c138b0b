package store_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func putKey(t *testing.T, s *store.Store, k lineshaft.APIKey, key string) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutPrincipal(ctx, k.Owner, k.CreatedAt); err != nil {
			return err
		}
		return tx.InsertAPIKey(ctx, k, key)
	})
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		at := time.UnixMicro(1_700_000_000_000_003).UTC()
		ada := lineshaft.Principal{UID: "u1", Type: lineshaft.ServiceAccount, DisplayName: "Ada", Email: "a@b"}
		first := lineshaft.APIKey{
			Name: "ci", Role: lineshaft.RoleMember, Owner: ada, Hint: "ls_…abc", FactoryUIDs: []string{"f1", "f2"}, WorkerIDs: []string{"w1"},
			CreatedAt: at, ExpiresAt: at.Add(time.Hour),
		}
		first.ID, _ = s.NewID()
		second := lineshaft.APIKey{Name: "admin", Role: lineshaft.RoleAdmin, Owner: ada, CreatedAt: at}
		second.ID, _ = s.NewID()
		putKey(t, s, first, "the-first-secret")
		putKey(t, s, second, "the-second-secret")

		got, err := s.FindAPIKey(t.Context(), "the-first-secret")
		must(t, err)
		if !reflect.DeepEqual(got, &first) {
			t.Errorf("found %+v, want %+v", got, first)
		}
		if got, err = s.GetAPIKey(t.Context(), second.ID); err != nil || got.Name != "admin" {
			t.Errorf("got %+v, %v", got, err)
		}
		list, _, err := s.PageAPIKeys(t.Context(), "", 2)
		if err != nil || len(list) != 2 || list[0].ID != second.ID {
			t.Errorf("list %+v, %v", list, err)
		}
		_, err = s.FindAPIKey(t.Context(), "the-third-secret")
		wantCode(t, err, lineshaft.CodeNotFound)
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			again := second
			again.ID, _ = s.NewID()
			return tx.InsertAPIKey(ctx, again, "the-first-secret")
		})
		wantCode(t, err, lineshaft.CodeConflict)
		if rows := texts(t, s.DB(), "SELECT key_hash FROM api_keys WHERE key_hash LIKE '%secret%'"); len(rows) != 0 {
			t.Error("a key is stored as it is")
		}
	})
}

func TestAPIKeyEnds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		at := time.Unix(1_700_000_000, 0).UTC()
		k := lineshaft.APIKey{Name: "ci", Role: lineshaft.RoleMember, Owner: lineshaft.Principal{UID: "u1", Type: lineshaft.User}, CreatedAt: at}
		k.ID, _ = s.NewID()
		putKey(t, s, k, "secret")
		for _, used := range []time.Duration{2 * time.Minute, 3 * time.Minute, time.Minute} { // notes of use may come late
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return tx.TouchAPIKey(ctx, k.ID, at.Add(used))
			})
		}
		for _, revoked := range []time.Duration{5 * time.Minute, 9 * time.Minute} { // the first time counts
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return tx.RevokeAPIKey(ctx, k.ID, at.Add(revoked))
			})
		}
		got, err := s.GetAPIKey(t.Context(), k.ID)
		must(t, err)
		if !got.LastUsedAt.Equal(at.Add(3*time.Minute)) || !got.RevokedAt.Equal(at.Add(5*time.Minute)) {
			t.Errorf("used %v, revoked %v", got.LastUsedAt, got.RevokedAt)
		}
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.RevokeAPIKey(ctx, "missing", at) })
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}

// Making a key for someone does not rename them.
func TestPrincipalKeepsItsName(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		for _, name := range []string{"Ada", "Somebody else"} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return tx.PutPrincipal(ctx, lineshaft.Principal{UID: "u1", Type: lineshaft.User, DisplayName: name}, time.Now())
			})
			if got, err := s.GetRun(t.Context(), run); err != nil || got.Creator.DisplayName != "Ada" || got.Creator.Type != lineshaft.User {
				t.Errorf("creator %+v, %v", got.Creator, err)
			}
		}
	})
}

// The first value of a setting stays, anyone who comes.
func TestSettings(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		values := make([]string, 8)
		must(t, inParallel(len(values), func(i int) error {
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
				values[i], err = tx.EnsureSetting(ctx, "secret", string(rune('a'+i)))
				return err
			})
		}))
		for _, value := range values {
			if value == "" || value != values[0] {
				t.Fatalf("values %v", values)
			}
		}
	})
}
