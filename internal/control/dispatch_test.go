package control_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store"
)

func (b *bench) dispatch(factoryUID string, d factories.Dispatch, key *base.Idempotency) factories.Dispatched {
	b.Helper()
	d.Source = lineshaft.SourceAPI
	return must[factories.Dispatched](b)(b.s.DispatchRun(b.Context(), b.admin, factoryUID, d, key))
}

func TestF1WorkGoesToTheForeman(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		foreman := b.foreman(f)
		must[*lineshaft.Factory](b)(b.s.UpdateFactory(b.Context(), b.admin, f, factories.FactoryChange{Paused: ref(true)})) // which is for automations
		done := b.dispatch(f, factories.Dispatch{Prompt: "Fix it.", Title: "t", TicketRef: "jira:A:1", TicketURL: "https://tracker.example/A"}, nil)
		run := b.run(done.RunID)
		if done.Foreman != "foreman" || done.FactoryUID != f || done.State != lineshaft.Queued || done.TicketRef != "jira:A:1" {
			b.Errorf("%+v", done)
		}
		if run.Prompt != "Fix it." || run.Title != "t" || run.AgentUID != foreman.UID || run.FactoryUID != f || run.Executor.DisplayName != "foreman" || run.Creator.UID != b.admin.Principal.UID {
			b.Errorf("%+v", run)
		}
		if m := run.Metadata; len(m) != 3 || m["ticket_source"] != "jira" || m["ticket_id"] != "A:1" || m["ticket_url"] != "https://tracker.example/A" {
			b.Errorf("%v", m)
		}
		adhoc := b.dispatch(f, factories.Dispatch{Prompt: "x"}, nil)
		if m := b.run(adhoc.RunID).Metadata; !strings.HasPrefix(adhoc.TicketRef, "adhoc:") || len(m) != 2 || "adhoc:"+m["ticket_id"] != adhoc.TicketRef || m["ticket_source"] != "adhoc" {
			b.Errorf("%+v, %v", adhoc, m)
		}
		if again := b.dispatch(f, factories.Dispatch{Prompt: "x"}, nil); again.TicketRef == adhoc.TicketRef {
			b.Error("two tickets are one")
		}
	})
}

func TestH9DispatchOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		first, second := b.dispatch(f, factories.Dispatch{Prompt: "x"}, idem("k", "1")), b.dispatch(f, factories.Dispatch{Prompt: "x"}, idem("k", "1"))
		if !second.Replayed || first.Replayed || second.RunID != first.RunID || second.TicketRef != first.TicketRef {
			b.Errorf("%+v, then %+v", first, second)
		}
		_, err := b.s.DispatchRun(b.Context(), b.admin, f, factories.Dispatch{Prompt: "y", Source: lineshaft.SourceAPI}, idem("k", "2"))
		wantCode(b, err, lineshaft.CodeIdempotencyMismatch)
	})
}

func TestF1WorkThatIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		own, other := b.factory("own", "").UID, b.factory("other", "").UID
		limited := b.caller(lineshaft.RoleMember, own)
		outside := b.token(b.start(lineshaft.NewRun{}).RunID)
		headless, at := b.store.NewID()
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertFactory(ctx, lineshaft.Factory{UID: headless, Name: "headless", Mode: lineshaft.ModeManaged, Foreman: "gone", CreatedAt: at, UpdatedAt: at})
		})
		long := strings.Repeat("x", lineshaft.MaxMetadataValue+1)
		for name, test := range map[string]struct {
			who     lineshaft.Caller
			factory string
			d       factories.Dispatch
			code    lineshaft.Code
			field   string
		}{
			"own":            {limited, own, factories.Dispatch{Prompt: "p"}, "", ""},
			"another's":      {limited, other, factories.Dispatch{Prompt: "p"}, lineshaft.CodeNotFound, ""},
			"unknown":        {b.admin, b.newID(), factories.Dispatch{Prompt: "p"}, lineshaft.CodeNotFound, ""},
			"a run's":        {outside, own, factories.Dispatch{Prompt: "p"}, lineshaft.CodeNotFound, ""},
			"no foreman":     {b.admin, headless, factories.Dispatch{Prompt: "p"}, lineshaft.CodeConflict, ""},
			"no prompt":      {b.admin, own, factories.Dispatch{}, lineshaft.CodeInvalidRequest, "prompt"},
			"no source":      {b.admin, own, factories.Dispatch{Prompt: "p", TicketRef: ":1"}, lineshaft.CodeInvalidRequest, "ticket_ref"},
			"no id":          {b.admin, own, factories.Dispatch{Prompt: "p", TicketRef: "jira:"}, lineshaft.CodeInvalidRequest, "ticket_ref"},
			"neither":        {b.admin, own, factories.Dispatch{Prompt: "p", TicketRef: "jira"}, lineshaft.CodeInvalidRequest, "ticket_ref"},
			"long id":        {b.admin, own, factories.Dispatch{Prompt: "p", TicketRef: "jira:" + long}, lineshaft.CodeInvalidRequest, "ticket_ref"},
			"long source":    {b.admin, own, factories.Dispatch{Prompt: "p", TicketRef: long + ":1"}, lineshaft.CodeInvalidRequest, "ticket_ref"},
			"no address":     {b.admin, own, factories.Dispatch{Prompt: "p", TicketURL: "javascript:x"}, lineshaft.CodeInvalidRequest, "ticket_url"},
			"long address":   {b.admin, own, factories.Dispatch{Prompt: "p", TicketURL: "https://x.example/" + long}, lineshaft.CodeInvalidRequest, "ticket_url"},
			"NUL in a title": {b.admin, own, factories.Dispatch{Prompt: "p", Title: "\x00"}, lineshaft.CodeInvalidRequest, "title"},
		} {
			test.d.Source = lineshaft.SourceAPI
			_, err := b.s.DispatchRun(b.Context(), test.who, test.factory, test.d, nil)
			if public := asPublic(err); (err == nil) != (test.code == "") || err != nil && (public.Code != test.code || public.Field != test.field) {
				b.Errorf("%s: %v, want %s in %q", name, err, test.code, test.field)
			}
		}
	})
}
