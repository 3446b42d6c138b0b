package control_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// keyOf stores a key of a principal, as an admin may have made it earlier; its
// factories need not exist.
func (b *bench) keyOf(owner lineshaft.Principal, role lineshaft.Role, factories ...string) string {
	b.Helper()
	keyID, at := b.store.NewID()
	key := "ls_key-of-somebody-" + keyID
	made := lineshaft.APIKey{ID: keyID, Name: "key of a " + string(role), Role: role, Owner: owner, FactoryUIDs: factories, CreatedAt: at}
	if role == lineshaft.RoleWorker {
		made.WorkerIDs = []string{"box"}
	}
	b.write(func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.PutPrincipal(ctx, owner, at), tx.InsertAPIKey(ctx, made, key))
	})
	return key
}

func TestS3LimitedAdminMakesNoKeyOfSomebodyElse(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		mine := b.factory("B", "").UID
		limited := b.caller(lineshaft.RoleAdmin, mine)
		must[string](b)(b.s.CreateIdentitySession(b.Context(), somebody(), access.Visitor{}))
		person := b.sessions(b.admin, true)[0].Principal
		for _, uid := range []string{b.admin.Principal.UID, person.UID, "user_of-tomorrow"} {
			_, _, err := b.s.CreateAPIKey(b.Context(), limited, access.NewAPIKey{
				Name: "n", Role: lineshaft.RoleViewer, FactoryUIDs: []string{mine}, Owner: lineshaft.Principal{UID: uid, Type: lineshaft.User, DisplayName: "Mallory"},
			})
			if lineshaft.CodeOf(err) != lineshaft.CodeNotAuthorized || fieldOf(err) != "owner.uid" {
				b.Errorf("owner %s: %v", uid, err)
			}
		}
		for _, owner := range []lineshaft.Principal{{}, {Type: lineshaft.User, DisplayName: "New"}, limited.Principal} {
			made, _, err := b.s.CreateAPIKey(b.Context(), limited, access.NewAPIKey{Name: "n", Role: lineshaft.RoleViewer, FactoryUIDs: []string{mine}, Owner: owner})
			if err != nil || owner.UID != "" && made.Owner != limited.Principal {
				b.Errorf("owner %+v: %+v, %v", owner, made.Owner, err)
			}
		}
		made, _, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{
			Name: "n", Role: lineshaft.RoleViewer, Owner: lineshaft.Principal{UID: person.UID, Type: lineshaft.User, DisplayName: "Renamed", Email: "other@example.com"},
		})
		if err != nil || made.Owner != person {
			b.Errorf("an unlimited admin made a key of %+v, %v; want %+v", made.Owner, err, person)
		}
	})
}

// Not even an administrator can make a key for a principal that acts without one.
func TestS3KeysOfTheServersOwnNames(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, uid := range []string{"system", "repository", "run_" + b.newID(), "automation_x", "schedule_x"} {
			_, _, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "n", Role: lineshaft.RoleViewer, Owner: lineshaft.Principal{UID: uid, Type: lineshaft.User}})
			if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", uid, err)
			}
		}
	})
}

// If someone also has an unlimited key, their limited key reaches the sessions of its
// own limits.
func TestS3LimitedKeyLeavesSessionsThatReachFurther(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		limitedKey := b.keyOf(b.admin.Principal, lineshaft.RoleAdmin, "f1")
		_, wide := b.session(adminKey)
		_, other := b.session(b.keyOf(b.admin.Principal, lineshaft.RoleViewer, "f1", "f2"))
		_, mine := b.session(limitedKey)
		_, phone := b.session(limitedKey)
		for range 3 {
			b.session(adminKey)
		}
		page := must[access.SessionPage](b)(b.s.ListSessions(b.Context(), mine, false, 1, ""))
		if len(page.Sessions) != 1 || page.Sessions[0].ID != phone.SessionID || page.Next == "" {
			b.Fatalf("first page %+v", page)
		}
		page = must[access.SessionPage](b)(b.s.ListSessions(b.Context(), mine, false, 1, page.Next))
		if len(page.Sessions) != 1 || page.Sessions[0].ID != mine.SessionID || page.Next != "" {
			b.Fatalf("second page %+v", page)
		}
		for _, foreign := range []lineshaft.Caller{wide, other} {
			_, err := b.s.GetSession(b.Context(), mine, foreign.SessionID)
			wantCode(b, err, lineshaft.CodeNotFound)
			wantCode(b, b.s.RevokeSession(b.Context(), mine, foreign.SessionID), lineshaft.CodeNotFound)
		}
		if n := must[int](b)(b.s.RevokeOtherSessions(b.Context(), mine)); n != 1 {
			b.Errorf("%d sessions ended, want the one of the same key", n)
		}
		for _, live := range []lineshaft.Caller{wide, other, mine} {
			wantCode(b, b.s.Recheck(b.Context(), live), "")
		}
		wantCode(b, b.s.Recheck(b.Context(), phone), lineshaft.CodeAuthenticationRequired)
		if list := b.sessions(b.admin, false); len(list) != 6 {
			b.Errorf("the administrator sees %d sessions", len(list))
		}
	})
}

func TestH9KeysOfOnePrincipalShareAnswersOfTheSameReach(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		mine := b.factory("B", "").UID
		caller := func(factories ...string) lineshaft.Caller {
			return must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), b.keyOf(b.admin.Principal, lineshaft.RoleManager, factories...)))
		}
		first := must[runs.Started](b)(b.s.StartRun(b.Context(), b.admin, doIt(), idem("k", "1")))
		again := must[runs.Started](b)(b.s.StartRun(b.Context(), caller(), doIt(), idem("k", "1")))
		if !again.Replayed || again.RunID != first.RunID {
			b.Errorf("another unlimited key of the same principal got %+v", again)
		}
		dispatch := func(c lineshaft.Caller) controlfactories.Dispatched {
			return must[controlfactories.Dispatched](b)(b.s.DispatchRun(b.Context(), c, mine, controlfactories.Dispatch{Prompt: "p", Source: lineshaft.SourceAPI}, idem("k", "1")))
		}
		one := dispatch(caller(mine, "f2"))
		if one.Replayed || one.RunID == first.RunID {
			b.Fatalf("a limited key was shown the answer to an unlimited one: %+v", one)
		}
		if two := dispatch(caller("f2", mine)); !two.Replayed || two.RunID != one.RunID {
			b.Errorf("a key of the same factories got %+v", two)
		}
		if three := dispatch(caller(mine)); three.Replayed {
			b.Errorf("a key of fewer factories got %+v", three)
		}
	})
}

func TestS3KeyFactoriesAreThere(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for name, uids := range map[string][]string{"none": {}, "unknown": {"f1"}, "empty": {""}, "odd": {"\x00\xff"}, "one of two": {b.factory("B", "").UID, "f1"}} {
			_, _, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "n", Role: lineshaft.RoleViewer, FactoryUIDs: uids})
			if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestS3KeyOfDeletedFactoriesReachesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		mine := b.factory("B", "").UID
		limited := b.caller(lineshaft.RoleAdmin, mine)
		runID := b.start(lineshaft.NewRun{}).RunID
		wantCode(b, b.s.DeleteFactory(b.Context(), b.admin, mine), "")
		b.clock.advance(time.Hour) // no key is trusted that long
		if !slices.Equal(limited.FactoryUIDs, []string{mine}) {
			b.Fatalf("%+v", limited)
		}
		_, err := b.s.GetRun(b.Context(), limited, runID)
		wantCode(b, err, lineshaft.CodeNotFound)
		_, _, err = b.s.CreateAPIKey(b.Context(), limited, access.NewAPIKey{Name: "n", Role: lineshaft.RoleAdmin})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
	})
}

func TestS3LastAdminKeyStays(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.keyOf(lineshaft.Principal{UID: "user_b", Type: lineshaft.User}, lineshaft.RoleAdmin, "f1")
		b.keyOf(lineshaft.Principal{UID: "user_c", Type: lineshaft.User}, lineshaft.RoleManager)
		expired, _, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "n", Role: lineshaft.RoleAdmin, ExpiresAt: b.clock.now().Add(time.Hour)})
		wantCode(b, err, "")
		b.clock.advance(2 * time.Hour)
		wantCode(b, b.s.RevokeAPIKey(b.Context(), b.admin, b.admin.KeyID), lineshaft.CodeConflict)
		wantCode(b, b.s.RevokeAPIKey(b.Context(), b.admin, expired.ID), "")
		must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), adminKey))
		// Two that revoke each other leave one.
		for range rounds(20) {
			second := b.caller(lineshaft.RoleAdmin)
			third := b.caller(lineshaft.RoleAdmin)
			wantCode(b, b.s.RevokeAPIKey(b.Context(), second, b.admin.KeyID), "")
			var refused atomic.Int32
			pair := []lineshaft.Caller{second, third}
			together(2, func(i int) {
				if err := b.s.RevokeAPIKey(b.Context(), pair[i], pair[1-i].KeyID); lineshaft.CodeOf(err) == lineshaft.CodeConflict {
					refused.Add(1)
				} else if err != nil {
					b.Error(err)
				}
			})
			if refused.Load() != 1 {
				b.Fatalf("%d of two were refused", refused.Load())
			}
			// The operator makes another by starting with it.
			chosen := adminKey + b.newID()
			must[string](b)(b.s.EnsureAdmin(b.Context(), chosen))
			b.admin = must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), chosen))
			for _, c := range pair {
				wantCode(b, b.s.RevokeAPIKey(b.Context(), b.admin, c.KeyID), "")
			}
		}
	})
}
