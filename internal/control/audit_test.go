package control_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// Every change leaves an entry that says who, what, to which thing and from where.
func TestS5EveryChangeIsRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ann := b.caller(lineshaft.RoleAdmin)
		ann.RemoteAddr, ann.RequestID = "192.0.2.7", "req-1"
		ctx := b.Context()
		runID := must[runs.Started](b)(b.as(ann, lineshaft.NewRun{Source: lineshaft.SourceMCP})).RunID
		job := b.claimOne(lineshaft.HostedWorker, runID)
		b.begin(job)
		must[runs.FollowupResult](b)(b.s.Followup(ctx, ann, lineshaft.NewFollowup{RunID: runID, Message: "x"}, nil))
		wantCode(b, b.s.Interrupt(ctx, ann, runID), "")
		must[runs.CancelResult](b)(b.s.Cancel(ctx, ann, runID, true, nil))
		b.end(job, lineshaft.Cancelled)
		wantCode(b, b.s.DeleteRun(ctx, ann, runID), "")
		stored, _, err := b.s.CreateAPIKey(ctx, ann, access.NewAPIKey{Name: "n", Role: lineshaft.RoleViewer})
		wantCode(b, err, "")
		wantCode(b, b.s.RevokeAPIKey(ctx, ann, stored.ID), "")
		want := map[string][]string{
			runID:     {"run.create", "run.followup", "run.interrupt", "run.cancel", "run.delete"},
			stored.ID: {"apikey.create", "apikey.revoke"},
		}
		for target, actions := range want {
			var got []string
			for _, e := range b.audits(target) {
				got = append(got, e.Action)
				if e.Actor.UID != ann.Principal.UID || e.Actor.DisplayName != ann.Principal.DisplayName || e.KeyID != ann.KeyID ||
					e.RemoteAddr != "192.0.2.7" || e.RequestID != "req-1" || e.Time.IsZero() || e.TargetType == "" {
					b.Errorf("%+v", e)
				}
			}
			if !slices.Equal(got, actions) {
				b.Errorf("recorded %v, want %v", got, actions)
			}
		}
		if first := b.audits(runID)[0]; first.Detail["source"] != "MCP" {
			b.Errorf("%+v", first)
		}
	})
}

func TestS5SweepsAndTheServerAreRecordedToo(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		parent := b.start(lineshaft.NewRun{}).RunID
		child := b.start(lineshaft.NewRun{ParentRunID: parent}).RunID
		must[runs.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, parent, true, nil))
		filtered := b.start(lineshaft.NewRun{}).RunID
		must[[]string](b)(b.s.CancelMatching(b.Context(), b.admin, lineshaft.RunFilter{}))
		replaced := b.start(keyed("")).RunID
		b.start(keyed(lineshaft.PolicyCancelPrevious))
		for name, runID := range map[string]string{"cascade": child, "by filter": filtered, "replaced": replaced} {
			if entries := b.audits(runID); len(entries) != 2 || entries[1].Action != "run.cancel" {
				b.Errorf("%s: %+v", name, entries)
			}
		}
		keys := must[base.Page[lineshaft.APIKey]](b)(b.s.ListAPIKeys(b.Context(), b.admin, base.MaxPage, "")).Items
		if entries := b.audits(keys[0].ID); len(entries) != 1 || entries[0].Actor.UID != "system" {
			b.Errorf("%+v", entries)
		}
	})
}

// Calls that fail or only read leave nothing; a call that is repeated leaves one.
func TestS5FailedCallsLeaveNoEntry(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{}).RunID
		b.cancel(runID)
		before := must[access.AuditPage](b)(b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Limit: 1000}))
		ctx := b.Context()
		_, cancelErr := b.s.Cancel(ctx, b.admin, runID, false, nil)
		_, followErr := b.s.Followup(ctx, b.admin, lineshaft.NewFollowup{RunID: runID}, nil)
		_, startErr := b.s.StartRun(ctx, b.admin, lineshaft.NewRun{}, nil)
		_, parentErr := b.as(b.admin, lineshaft.NewRun{ParentRunID: b.newID()})
		_, _, keyErr := b.s.CreateAPIKey(ctx, b.admin, access.NewAPIKey{})
		for _, err := range []error{
			cancelErr, followErr, startErr, parentErr, keyErr, b.s.Interrupt(ctx, b.admin, runID), b.s.DeleteRun(ctx, b.admin, b.newID()),
			b.s.RevokeAPIKey(ctx, b.admin, b.newID()),
		} {
			if err == nil {
				b.Error("a call that should fail did not")
			}
		}
		b.run(runID)
		b.list(lineshaft.RunFilter{})
		after := must[access.AuditPage](b)(b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Limit: 1000}))
		if !reflect.DeepEqual(before, after) {
			b.Fatalf("new entries: %+v", after.Entries[:len(after.Entries)-len(before.Entries)])
		}
		for range 3 {
			must[runs.Started](b)(b.s.StartRun(ctx, b.admin, doIt(), idem("k", "1")))
		}
		after = must[access.AuditPage](b)(b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Limit: 1000}))
		if len(after.Entries) != len(before.Entries)+1 {
			b.Fatalf("%d entries for one run", len(after.Entries)-len(before.Entries))
		}
	})
}

func TestS5AuditIsPaged(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for range 7 {
			b.start(lineshaft.NewRun{})
		}
		all := must[access.AuditPage](b)(b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Limit: 1000}))
		var got []lineshaft.AuditEntry
		for cursor, pages := "", 0; ; pages++ {
			page := must[access.AuditPage](b)(b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Limit: 3, Cursor: cursor}))
			got = append(got, page.Entries...)
			if cursor = page.Next; cursor == "" || pages > 10 {
				break
			}
		}
		if len(all.Entries) != 8 || !reflect.DeepEqual(got, all.Entries) {
			b.Fatalf("%d of %d entries", len(got), len(all.Entries))
		}
		_, err := b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Limit: 3, Cursor: "' OR 1=1"})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
	})
}

// An index serves one thing at a time, and a cursor one list.
func TestS5AuditIsFiltered(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.start(lineshaft.NewRun{}).RunID
		second := b.start(lineshaft.NewRun{}).RunID
		b.cancel(first)
		between := time.Now()
		read := func(f lineshaft.AuditFilter) string {
			b.Helper()
			var list []string
			for cursor := ""; ; {
				page := must[access.AuditPage](b)(b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Filter: f, Limit: 1, Cursor: cursor}))
				for _, e := range page.Entries {
					list = append(list, e.Action)
				}
				if cursor = page.Next; cursor == "" {
					return strings.Join(list, " ")
				}
			}
		}
		for want, f := range map[string]lineshaft.AuditFilter{
			"run.cancel run.create":            {Target: first},
			"run.create":                       {Target: second},
			"run.create run.create":            {Action: "run.create"},
			"run.cancel run.create run.create": {Actor: b.admin.Principal.UID},
			"apikey.create":                    {Actor: "system"},
			"":                                 {Action: "run.delete"},
		} {
			if got := read(f); got != want {
				b.Errorf("%+v: %q, want %q", f, got, want)
			}
		}
		for want, f := range map[string]lineshaft.AuditFilter{
			"run.create": {Target: second, Since: between.Add(-time.Hour), Until: between.Add(time.Hour)},
			"":           {Since: between.Add(time.Hour)},
		} {
			if got := read(f); got != want {
				b.Errorf("%+v: %q, want %q", f, got, want)
			}
		}
		if got := read(lineshaft.AuditFilter{Until: between.Add(-time.Hour)}); got != "" {
			b.Errorf("before: %q", got)
		}
		page := must[access.AuditPage](b)(b.s.ListAudit(b.Context(), b.admin, access.AuditQuery{Limit: 1}))
		for _, q := range []access.AuditQuery{
			{Filter: lineshaft.AuditFilter{Action: "run.create"}, Limit: 1, Cursor: page.Next},
			{Filter: lineshaft.AuditFilter{Action: "run.create", Actor: "a"}, Limit: 1},
			{Filter: lineshaft.AuditFilter{Action: "\x00"}, Limit: 1},
		} {
			_, err := b.s.ListAudit(b.Context(), b.admin, q)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
		}
	})
}
