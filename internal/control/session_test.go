package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// somebody is a member by the word of an identity provider.
func somebody() lineshaft.Identity {
	return lineshaft.Identity{Issuer: "https://id.example", Subject: "42", Name: "Ada", Email: "ada@example.com", Role: lineshaft.RoleMember}
}

func TestS6SessionsOfBrowsers(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		session := must[string](b)(b.s.CreateSession(b.Context(), adminKey, access.Visitor{}))
		if c := must[lineshaft.Caller](b)(b.s.SessionCaller(b.Context(), session)); c.Principal != b.admin.Principal || c.Role != lineshaft.RoleAdmin {
			b.Fatalf("%+v", c)
		}
		wantCode(b, b.s.EndSession(b.Context(), session), "")
		_, err := b.s.SessionCaller(b.Context(), session)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		session = must[string](b)(b.s.CreateSession(b.Context(), adminKey, access.Visitor{}))
		b.clock.advance(15 * 24 * time.Hour)
		_, err = b.s.SessionCaller(b.Context(), session)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		wantCode(b, b.s.Purge(b.Context()), "")
		_, err = b.s.SessionCaller(b.Context(), "")
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		_, worker, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "w", Role: lineshaft.RoleWorker, WorkerIDs: []string{"box"}})
		wantCode(b, err, "")
		_, err = b.s.CreateSession(b.Context(), worker, access.Visitor{})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, job := b.working(lineshaft.NewRun{})
		_, err = b.s.CreateSession(b.Context(), job.RunToken, access.Visitor{})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
	})
}

func (b *bench) session(key string) (string, lineshaft.Caller) {
	b.Helper()
	token := must[string](b)(b.s.CreateSession(b.Context(), key, access.Visitor{RemoteAddr: "192.0.2.1", UserAgent: "Firefox/1"}))
	return token, must[lineshaft.Caller](b)(b.s.SessionCaller(b.Context(), token))
}

func (b *bench) sessions(c lineshaft.Caller, everybody bool) []lineshaft.Session {
	b.Helper()
	return must[access.SessionPage](b)(b.s.ListSessions(b.Context(), c, everybody, 100, "")).Sessions
}

func TestS3IdentityProviderGivesARoleAndAStablePrincipal(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		sign := func(who lineshaft.Identity) lineshaft.Caller {
			b.Helper()
			token := must[string](b)(b.s.CreateIdentitySession(b.Context(), who, access.Visitor{RemoteAddr: "192.0.2.1"}))
			return must[lineshaft.Caller](b)(b.s.SessionCaller(b.Context(), token))
		}
		first := sign(somebody())
		if first.Role != lineshaft.RoleMember || first.KeyID != "" || first.SessionID == "" || first.Principal.Type != lineshaft.User || first.Principal.DisplayName != "Ada" {
			b.Fatalf("%+v", first)
		}
		renamed := somebody()
		renamed.Name, renamed.Email, renamed.Role = "Ada L.", "", lineshaft.RoleViewer
		second := sign(renamed)
		if second.Principal.UID != first.Principal.UID || second.Principal.DisplayName != "Ada L." || second.Principal.Email != "" || second.Role != lineshaft.RoleViewer {
			b.Errorf("%+v", second)
		}
		// The older session keeps its role until it ends: roles are read at sign-in.
		if list := b.sessions(first, false); len(list) != 2 || list[1].Role != lineshaft.RoleMember || list[1].Method != lineshaft.SessionByOIDC {
			b.Errorf("%+v", list)
		}
		other := somebody()
		other.Issuer, other.Subject = "https://id.example4", "2"
		if third := sign(other); third.Principal.UID == first.Principal.UID {
			b.Error("two people of two issuers are one")
		}
		for _, role := range []lineshaft.Role{"", lineshaft.RoleWorker, lineshaft.RoleRun, "root"} {
			who := somebody()
			who.Role = role
			_, err := b.s.CreateIdentitySession(b.Context(), who, access.Visitor{})
			wantCode(b, err, lineshaft.CodeNotAuthorized)
		}
		_, err := b.s.CreateIdentitySession(b.Context(), lineshaft.Identity{Role: lineshaft.RoleAdmin}, access.Visitor{})
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		b.clock.advance(base.OIDCSessionLife)
		wantCode(b, b.s.Recheck(b.Context(), first), lineshaft.CodeAuthenticationRequired)
	})
}

func TestS4SessionTokenRotatesAtSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		token, _ := b.session(adminKey)
		next := must[string](b)(b.s.CreateSession(b.Context(), adminKey, access.Visitor{Token: token}))
		if next == token {
			b.Error("the token stayed")
		}
		_, err := b.s.SessionCaller(b.Context(), token)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		must[lineshaft.Caller](b)(b.s.SessionCaller(b.Context(), next))
	})
}

func TestS4SessionsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		_, viewerKey, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "v", Role: lineshaft.RoleViewer})
		wantCode(b, err, "")
		_, mine := b.session(viewerKey)
		_, elsewhere := b.session(viewerKey)
		_, admin := b.session(adminKey)
		if list := b.sessions(mine, false); len(list) != 2 || list[0].ID != elsewhere.SessionID || list[1].RemoteAddr != "192.0.2.1" || list[1].UserAgent != "Firefox/1" || list[1].KeyName != "v" {
			b.Fatalf("%+v", list)
		}
		if list := b.sessions(admin, true); len(list) != 3 {
			b.Errorf("everybody has %d sessions", len(list))
		}
		_, err = b.s.ListSessions(b.Context(), mine, true, 10, "")
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		limited := admin
		limited.FactoryUIDs = []string{"f"}
		_, err = b.s.ListSessions(b.Context(), limited, true, 10, "")
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		// What belongs to someone else looks as if it did not exist.
		wantCode(b, b.s.RevokeSession(b.Context(), mine, admin.SessionID), lineshaft.CodeNotFound)
		wantCode(b, b.s.RevokeSession(b.Context(), limited, mine.SessionID), lineshaft.CodeNotFound)
		wantCode(b, b.s.RevokeSession(b.Context(), mine, "never"), lineshaft.CodeNotFound)
		wantCode(b, b.s.Recheck(b.Context(), elsewhere), "")
		wantCode(b, b.s.RevokeSession(b.Context(), mine, elsewhere.SessionID), "")
		wantCode(b, b.s.Recheck(b.Context(), elsewhere), lineshaft.CodeAuthenticationRequired)
		wantCode(b, b.s.RevokeSession(b.Context(), admin, mine.SessionID), "")
		wantCode(b, b.s.Recheck(b.Context(), mine), lineshaft.CodeAuthenticationRequired)
		if entries := b.audits(mine.SessionID); len(entries) != 2 {
			b.Errorf("audit %+v", entries)
		}
	})
}

func TestS4AllOtherSessionsEndAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		_, viewerKey, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "v", Role: lineshaft.RoleViewer})
		wantCode(b, err, "")
		_, mine := b.session(adminKey)
		_, phone := b.session(adminKey)
		_, other := b.session(viewerKey)
		if n := must[int](b)(b.s.RevokeOtherSessions(b.Context(), mine)); n != 1 {
			b.Errorf("%d ended", n)
		}
		wantCode(b, b.s.Recheck(b.Context(), mine), "")
		wantCode(b, b.s.Recheck(b.Context(), other), "")
		wantCode(b, b.s.Recheck(b.Context(), phone), lineshaft.CodeAuthenticationRequired)
	})
}

func TestS4SessionsOfARevokedKeyAreNotListed(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		stored, key, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "v", Role: lineshaft.RoleViewer})
		wantCode(b, err, "")
		_, c := b.session(key)
		wantCode(b, b.s.RevokeAPIKey(b.Context(), b.admin, stored.ID), "")
		wantCode(b, b.s.Recheck(b.Context(), c), lineshaft.CodeAuthenticationRequired)
		if list := b.sessions(b.admin, true); len(list) != 0 {
			b.Errorf("%+v", list)
		}
	})
}

func TestH8SessionsPageWithoutGapOrRepeat(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for range 7 {
			b.session(adminKey)
		}
		seen, cursor := map[string]bool{}, ""
		for {
			page := must[access.SessionPage](b)(b.s.ListSessions(b.Context(), b.admin, false, 3, cursor))
			for _, s := range page.Sessions {
				if seen[s.ID] {
					b.Errorf("%s twice", s.ID)
				}
				seen[s.ID] = true
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if len(seen) != 7 {
			b.Errorf("%d sessions", len(seen))
		}
	})
}

// A page view writes nothing; when sessions were seen is stored for all of them together.
func TestS4LastSeenIsStoredNowAndThen(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		token, c := b.session(adminKey)
		created := b.sessions(c, false)[0].LastSeenAt
		b.clock.advance(time.Minute)
		for range 20 {
			must[lineshaft.Caller](b)(b.s.SessionCaller(b.Context(), token))
		}
		if seen := b.sessions(c, false)[0].LastSeenAt; !seen.Equal(created) {
			b.Errorf("stored with the request: %v", seen)
		}
		wantCode(b, b.s.NoteKeyUse(b.Context()), "")
		if seen := b.sessions(c, false)[0].LastSeenAt; seen.Sub(created) < time.Minute {
			b.Errorf("last seen %v, created %v", seen, created)
		}
	})
}

func TestS4WhatBrowsersSayOfThemselvesIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		must[string](b)(b.s.CreateSession(b.Context(), adminKey, access.Visitor{UserAgent: strings.Repeat("\u00e4", 5000) + "\xff\x00"}))
		if list := b.sessions(b.admin, false); len(list) != 1 || len([]rune(list[0].UserAgent)) != 300 {
			b.Errorf("%d sessions", len(list))
		}
		must[string](b)(b.s.CreateSession(b.Context(), adminKey, access.Visitor{UserAgent: "\xff\x00x"}))
	})
}

// A session that ends on one node is over on the others, which ask the same store.
func TestS4SessionEndsOnAnotherNode(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	b, other := open(t, database), open(t, database)
	token, c := b.session(adminKey)
	must[lineshaft.Caller](b)(other.s.SessionCaller(b.Context(), token))
	wantCode(b, b.s.RevokeSession(b.Context(), c, c.SessionID), "")
	_, err := other.s.SessionCaller(b.Context(), token)
	wantCode(b, err, lineshaft.CodeAuthenticationRequired)
}
