package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func insertSession(t *testing.T, s *store.Store, token string, made lineshaft.Session) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.UpdatePrincipal(ctx, made.Principal, made.CreatedAt); err != nil {
			return err
		}
		return tx.InsertSession(ctx, made, token)
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		at := time.Unix(1_700_000_000, 0)
		ada := lineshaft.Principal{UID: "user_ada", Type: lineshaft.User, DisplayName: "Ada", Email: "ada@example.com"}
		for _, name := range []string{"one", "two"} {
			insertSession(t, s, name, lineshaft.Session{
				ID: name, Principal: ada, Method: lineshaft.SessionByOIDC, Role: lineshaft.RoleMember, RemoteAddr: "192.0.2.1", UserAgent: "ua", CreatedAt: at, ExpiresAt: at.Add(time.Hour),
			})
		}
		got, err := s.FindSession(t.Context(), "one", at)
		must(t, err)
		if got.ID != "one" || got.Principal != ada || got.Role != lineshaft.RoleMember || got.Method != lineshaft.SessionByOIDC || got.FactoryUIDs != nil || !got.LastSeenAt.Equal(at) {
			t.Errorf("%+v", got)
		}
		_, err = s.FindSession(t.Context(), "one", at.Add(time.Hour))
		wantCode(t, err, lineshaft.CodeNotFound)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if ended, err := tx.DeleteSession(ctx, "one"); err != nil || ended != "one" {
				t.Errorf("ended %q, %v", ended, err)
			}
			if ended, err := tx.DeleteSession(ctx, "one"); err != nil || ended != "" {
				t.Errorf("ended %q a second time, %v", ended, err)
			}
			return nil
		})
		_, err = s.FindSession(t.Context(), "one", at)
		wantCode(t, err, lineshaft.CodeNotFound)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteOldSessions(ctx, at.Add(2*time.Hour)) })
		_, err = s.GetSession(t.Context(), "two", at)
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}

func TestSessionsOfAKeyAreWhatTheKeyIs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		at := time.Unix(1_700_000_000, 0)
		owner := lineshaft.Principal{UID: "user_x", Type: lineshaft.User, DisplayName: "X"}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.PutPrincipal(ctx, owner, at); err != nil {
				return err
			}
			return tx.InsertAPIKey(ctx, lineshaft.APIKey{ID: "k", Name: "n", Role: lineshaft.RoleManager, Owner: owner, FactoryUIDs: []string{"f"}, CreatedAt: at, ExpiresAt: at.Add(time.Minute)}, "ls_secret")
		})
		insertSession(t, s, "token", lineshaft.Session{ID: "s", Principal: owner, Method: lineshaft.SessionByKey, KeyID: "k", CreatedAt: at, ExpiresAt: at.Add(time.Hour)})
		got, err := s.FindSession(t.Context(), "token", at)
		must(t, err)
		if got.Role != lineshaft.RoleManager || got.KeyName != "n" || len(got.FactoryUIDs) != 1 {
			t.Errorf("%+v", got)
		}
		_, err = s.FindSession(t.Context(), "token", at.Add(time.Minute)) // the key is over
		wantCode(t, err, lineshaft.CodeNotFound)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeAPIKey(ctx, "k", at) })
		_, err = s.GetSession(t.Context(), "s", at)
		wantCode(t, err, lineshaft.CodeNotFound)
		// A session of a key that does not exist any more opens nothing either.
		insertSession(t, s, "lost", lineshaft.Session{ID: "l", Principal: owner, Method: lineshaft.SessionByKey, KeyID: "gone", CreatedAt: at, ExpiresAt: at.Add(time.Hour)})
		_, err = s.FindSession(t.Context(), "lost", at)
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}

func TestSessionListAndEnd(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		at := time.Unix(1_700_000_000, 0)
		for i := range 6 {
			owner := lineshaft.Principal{UID: fmt.Sprintf("user_%d", i%2), Type: lineshaft.User}
			insertSession(t, s, fmt.Sprint(i), lineshaft.Session{ID: fmt.Sprintf("s%d", i), Principal: owner, Method: lineshaft.SessionByOIDC, Role: lineshaft.RoleViewer, CreatedAt: at, ExpiresAt: at.Add(time.Hour)})
		}
		names := func(owner, before string, limit int) (ids string) {
			list, err := s.ListSessions(t.Context(), owner, before, limit, at)
			must(t, err)
			for _, one := range list {
				ids += one.ID + " "
			}
			return ids
		}
		for want, got := range map[string]string{
			"s5 s4 s3 s2 s1 s0 ": names("", "", 10), "s4 s2 s0 ": names("user_0", "", 10), "s3 s2 ": names("", "s4", 2), "s0 ": names("user_0", "s2", 5),
		} {
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if n, err := tx.EndOtherSessions(ctx, "user_0", "s2"); err != nil || n != 2 {
				t.Errorf("%d ended, %v", n, err)
			}
			return tx.EndSession(ctx, "s5")
		})
		if left := names("", "", 10); left != "s3 s2 s1 " {
			t.Errorf("left are %s", left)
		}
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.EndSession(ctx, "s5") })
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}
