package control_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// An admin key that is limited to factories must not lift its own limit (S-3).
func TestS3LimitedAdminStaysLimited(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		mine, foreign := b.factory("mine", "").UID, b.factory("foreign", "").UID
		limited := b.caller(lineshaft.RoleAdmin, mine)
		for name, factories := range map[string][]string{"unlimited": nil, "foreign": {foreign}, "wider": {mine, foreign}} {
			_, _, err := b.s.CreateAPIKey(b.Context(), limited, access.NewAPIKey{Name: name, Role: lineshaft.RoleAdmin, FactoryUIDs: factories})
			wantCode(b, err, lineshaft.CodeNotAuthorized)
		}
		own, _, err := b.s.CreateAPIKey(b.Context(), limited, access.NewAPIKey{Name: "own", Role: lineshaft.RoleViewer, FactoryUIDs: []string{mine}})
		wantCode(b, err, "")
		keys := must[base.Page[lineshaft.APIKey]](b)(b.s.ListAPIKeys(b.Context(), limited, base.MaxPage, "")).Items
		for _, k := range keys {
			if len(k.FactoryUIDs) != 1 || k.FactoryUIDs[0] != mine {
				b.Errorf("sees the key %+v", k)
			}
		}
		wantCode(b, b.s.RevokeAPIKey(b.Context(), limited, b.admin.KeyID), lineshaft.CodeNotFound)
		wantCode(b, b.s.RevokeAPIKey(b.Context(), limited, own.ID), "")
		_, err = b.s.ListAudit(b.Context(), limited, access.AuditQuery{Limit: 10})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
	})
}

// A member may look at others' runs but not push runs into their conversations or
// below them (S-3).
func TestS3MembersDoNotExtendForeignRuns(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		one, other := b.caller(lineshaft.RoleMember), b.caller(lineshaft.RoleMember)
		mine := must[runs.Started](b)(b.as(one, lineshaft.NewRun{Prompt: "mine"}))
		b.end(b.claimOne(lineshaft.HostedWorker, mine.RunID), lineshaft.Succeeded)
		run := b.run(mine.RunID)
		for _, req := range []lineshaft.NewRun{{Prompt: "x", ConversationID: run.ConversationID}, {Prompt: "x", ParentRunID: run.ID}} {
			_, err := b.as(other, req)
			wantCode(b, err, lineshaft.CodeNotAuthorized)
			_, err = b.as(one, req)
			wantCode(b, err, "")
		}
	})
}

// An answer is replayed also when what the call named is gone (H-9).
func TestH9ReplayOutlivesTheRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{}).RunID
		first := must[runs.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, runID, false, idem("c", "1")))
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, runID), "")
		again := must[runs.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, runID, false, idem("c", "1")))
		if again.RunID != first.RunID || !again.Replayed {
			b.Errorf("%+v", again)
		}
		_, err := b.s.Cancel(b.Context(), b.admin, runID, false, idem("c", "2"))
		wantCode(b, err, lineshaft.CodeIdempotencyMismatch)
	})
}

// Cascade reaches what is below a run that has ended already, and may be repeated.
func TestR7CascadeBelowAnEndedRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		parent := b.start(lineshaft.NewRun{}).RunID
		child := b.start(lineshaft.NewRun{ParentRunID: parent}).RunID
		b.cancel(parent)
		b.want(child, lineshaft.Queued)
		for range 2 {
			_, err := b.s.Cancel(b.Context(), b.admin, parent, true, nil)
			wantCode(b, err, "")
			b.want(child, lineshaft.Cancelled)
		}
	})
}

// A key for someone does not rename them, and an owner without a uid gets one (H-2).
func TestH2OwnersAreNotRenamed(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		_, _, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{
			Name: "second", Role: lineshaft.RoleViewer,
			Owner: lineshaft.Principal{UID: b.admin.Principal.UID, Type: lineshaft.User, DisplayName: "Hacked"},
		})
		wantCode(b, err, "")
		bob, key, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{
			Name: "third", Role: lineshaft.RoleViewer, Owner: lineshaft.Principal{Type: lineshaft.User, DisplayName: "Bob", Email: "bob@example.com"},
		})
		wantCode(b, err, "")
		caller := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), key))
		if caller.Principal.DisplayName != "Bob" || caller.Principal.Type != lineshaft.User || caller.Principal.UID == "" {
			b.Errorf("%+v", caller.Principal)
		}
		for _, k := range must[base.Page[lineshaft.APIKey]](b)(b.s.ListAPIKeys(b.Context(), b.admin, base.MaxPage, "")).Items {
			if k.Owner.DisplayName == "Hacked" && k.ID != bob.ID {
				b.Errorf("renamed: %+v", k)
			}
		}
	})
}

// What a stream asks from time to time (H-2).
func TestH2RecheckFindsARevokedKey(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		viewer := b.caller(lineshaft.RoleViewer)
		wantCode(b, b.s.Recheck(b.Context(), viewer), "")
		wantCode(b, b.s.RevokeAPIKey(b.Context(), b.admin, viewer.KeyID), "")
		wantCode(b, b.s.Recheck(b.Context(), viewer), lineshaft.CodeAuthenticationRequired)
		b.start(lineshaft.NewRun{})
		job := b.claim(1)[0]
		agent := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		wantCode(b, b.s.Recheck(b.Context(), agent), "")
		b.begin(job)
		b.end(job, lineshaft.Succeeded)
		wantCode(b, b.s.Recheck(b.Context(), agent), lineshaft.CodeAuthenticationRequired)
	})
}
