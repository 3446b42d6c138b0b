package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestH2KeyRequests(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		now := b.clock.now()
		for name, test := range map[string]struct {
			req access.NewAPIKey
			ok  bool
		}{
			"viewer":          {access.NewAPIKey{Name: "n", Role: lineshaft.RoleViewer}, true},
			"with end":        {access.NewAPIKey{Name: "n", Role: lineshaft.RoleAdmin, ExpiresAt: now.Add(time.Hour)}, true},
			"worker":          {access.NewAPIKey{Name: "n", Role: lineshaft.RoleWorker, WorkerIDs: []string{"box"}}, true},
			"no name":         {access.NewAPIKey{Role: lineshaft.RoleViewer}, false},
			"long name":       {access.NewAPIKey{Name: strings.Repeat("n", 201), Role: lineshaft.RoleViewer}, false},
			"no role":         {access.NewAPIKey{Name: "n"}, false},
			"unknown role":    {access.NewAPIKey{Name: "n", Role: "root"}, false},
			"role run":        {access.NewAPIKey{Name: "n", Role: lineshaft.RoleRun}, false},
			"over already":    {access.NewAPIKey{Name: "n", Role: lineshaft.RoleViewer, ExpiresAt: now.Add(-time.Second)}, false},
			"worker, no ids":  {access.NewAPIKey{Name: "n", Role: lineshaft.RoleWorker}, false},
			"ids, no worker":  {access.NewAPIKey{Name: "n", Role: lineshaft.RoleMember, WorkerIDs: []string{"box"}}, false},
			"worker hosted":   {access.NewAPIKey{Name: "n", Role: lineshaft.RoleWorker, WorkerIDs: []string{"hosted"}}, false},
			"worker warp":     {access.NewAPIKey{Name: "n", Role: lineshaft.RoleWorker, WorkerIDs: []string{"box", "warp"}}, false},
			"worker, no name": {access.NewAPIKey{Name: "n", Role: lineshaft.RoleWorker, WorkerIDs: []string{""}}, false},
		} {
			stored, key, err := b.s.CreateAPIKey(b.Context(), b.admin, test.req)
			if !test.ok {
				if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
					b.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err != nil || !strings.HasPrefix(key, "ls_") || len(key) < 30 || strings.Contains(stored.Hint, key[8:]) || stored.Owner.Type != lineshaft.ServiceAccount {
				b.Errorf("%s: %+v, %v", name, stored, err)
			}
		}
	})
}

func TestH2KeyOpensWhatItSays(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		req := access.NewAPIKey{
			Name: "ci", Role: lineshaft.RoleMember, FactoryUIDs: []string{b.factory("f", "").UID},
			Owner: lineshaft.Principal{UID: "user_ann", Type: lineshaft.User, DisplayName: "Ann", Email: "ann@example.com"},
		}
		stored, key, err := b.s.CreateAPIKey(b.Context(), b.admin, req)
		wantCode(b, err, "")
		for range 2 { // from the store, then from memory
			c := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), key))
			if c.Principal != req.Owner || c.Role != lineshaft.RoleMember || c.KeyID != stored.ID || len(c.FactoryUIDs) != 1 || c.RunID != "" {
				b.Fatalf("%+v", c)
			}
		}
		for _, wrong := range []string{"", "ls_", key + "x", key[:len(key)-1], strings.ToUpper(key), "xx" + key, "ls_run_" + key[3:], "ls_" + strings.Repeat("x", 300), "ls_\x00", stored.ID} {
			_, err := b.s.Authenticate(b.Context(), wrong)
			if lineshaft.CodeOf(err) != lineshaft.CodeAuthenticationRequired {
				b.Errorf("%q: %v", wrong, err)
			}
			if err.Error() != errorOf(b, "ls_nobody") {
				b.Errorf("%q tells more than others: %v", wrong, err)
			}
		}
		keys := must[base.Page[lineshaft.APIKey]](b)(b.s.ListAPIKeys(b.Context(), b.admin, base.MaxPage, "")).Items
		if len(keys) != 2 || keys[0].ID != stored.ID || !keys[0].LastUsedAt.IsZero() {
			b.Fatalf("%+v", keys)
		}
		wantCode(b, b.s.NoteKeyUse(b.Context()), "")
		wantCode(b, b.s.NoteKeyUse(b.Context()), "")
		if keys := must[base.Page[lineshaft.APIKey]](b)(b.s.ListAPIKeys(b.Context(), b.admin, base.MaxPage, "")).Items; keys[0].LastUsedAt.IsZero() {
			b.Fatal("its use was not noted")
		}
	})
}

func errorOf(b *bench, key string) string {
	_, err := b.s.Authenticate(b.Context(), key)
	if err == nil {
		b.Fatalf("%q opens something", key)
	}
	return err.Error()
}

func TestH2RevokedKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		stored, key, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "n", Role: lineshaft.RoleMember})
		wantCode(b, err, "")
		must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), key)) // now it is in memory
		session := must[string](b)(b.s.CreateSession(b.Context(), key, access.Visitor{}))
		must[lineshaft.Caller](b)(b.s.SessionCaller(b.Context(), session))
		wantCode(b, b.s.RevokeAPIKey(b.Context(), b.admin, stored.ID), "")
		_, err = b.s.Authenticate(b.Context(), key)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		_, err = b.s.SessionCaller(b.Context(), session)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		_, err = b.s.CreateSession(b.Context(), key, access.Visitor{})
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		wantCode(b, b.s.RevokeAPIKey(b.Context(), b.admin, b.newID()), lineshaft.CodeNotFound)
		must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), adminKey)) // others are not hurt
	})
}

// A look-up that is under way while the key is revoked must not put it back.
func TestH2RevokeRacingUse(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for range rounds(100) {
			stored, key, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "n", Role: lineshaft.RoleMember})
			wantCode(b, err, "")
			together(5, func(who int) {
				if who == 0 {
					if err := b.s.RevokeAPIKey(b.Context(), b.admin, stored.ID); err != nil {
						b.Error(err)
					}
					return
				}
				for range 3 {
					_, err := b.s.Authenticate(b.Context(), key)
					if err != nil && lineshaft.CodeOf(err) != lineshaft.CodeAuthenticationRequired {
						b.Error(err)
					}
				}
			})
			_, err = b.s.Authenticate(b.Context(), key)
			wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		}
	})
}

// Another node refuses it within a second.
func TestH2RevokedKeyOnAnotherNode(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	b, other := open(t, database), open(t, database)
	stored, key, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "n", Role: lineshaft.RoleMember})
	wantCode(b, err, "")
	must[lineshaft.Caller](b)(other.s.Authenticate(b.Context(), key))
	wantCode(b, b.s.RevokeAPIKey(b.Context(), b.admin, stored.ID), "")
	other.clock.advance(time.Second)
	_, err = other.s.Authenticate(b.Context(), key)
	wantCode(b, err, lineshaft.CodeAuthenticationRequired)
}

func TestH2KeyExpires(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.clock.stop()
		end := b.clock.now().Add(time.Hour)
		_, key, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "n", Role: lineshaft.RoleMember, ExpiresAt: end})
		wantCode(b, err, "")
		session := must[string](b)(b.s.CreateSession(b.Context(), key, access.Visitor{}))
		b.clock.advance(time.Hour - 900*time.Millisecond)
		must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), key))
		b.clock.advance(901 * time.Millisecond) // less than what is kept in memory
		_, err = b.s.Authenticate(b.Context(), key)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		_, err = b.s.SessionCaller(b.Context(), session)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
	})
}

func TestS6FirstAdminKey(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		nodes := []*bench{bare(t, database)}
		if store.IsPostgres(database) {
			nodes = append(nodes, bare(t, database))
		}
		b := nodes[0]
		keys := make([]string, 6) // nodes that start together make one
		together(len(keys), func(i int) {
			key, err := nodes[i%len(nodes)].s.EnsureAdmin(b.Context(), "")
			if err != nil {
				b.Error(err)
			}
			keys[i] = key
		})
		made := ""
		for _, key := range keys {
			if key != "" && made != "" {
				b.Fatal("two keys were made")
			}
			made += key
		}
		if c := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), made)); c.Role != lineshaft.RoleAdmin || c.Principal.Type != lineshaft.User {
			b.Fatalf("%+v", c)
		}
		if key := must[string](b)(b.s.EnsureAdmin(b.Context(), "")); key != "" {
			b.Fatal("a second start made another key")
		}
		for range 2 { // the chosen one is added, once
			if key := must[string](b)(b.s.EnsureAdmin(b.Context(), adminKey)); key != "" {
				b.Fatal("a chosen key is not to be shown")
			}
		}
		together(6, func(i int) {
			if _, err := nodes[i%len(nodes)].s.EnsureAdmin(b.Context(), adminKey+"-2"); err != nil {
				b.Error(err)
			}
		})
		if all := must[base.Page[lineshaft.APIKey]](b)(b.s.ListAPIKeys(b.Context(), lineshaft.Caller{Role: lineshaft.RoleAdmin}, base.MaxPage, "")).Items; len(all) != 3 {
			b.Fatalf("%d keys", len(all))
		}
		must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), adminKey))
		for _, bad := range []string{"ls_short", "sk_0123456789012345678901234567890"} {
			_, err := b.s.EnsureAdmin(b.Context(), bad)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
		}
	})
}
