package control_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

func (b *bench) factory(name, alias string) *lineshaft.Factory {
	b.Helper()
	return must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, controlfactories.NewFactory{Name: name, Alias: alias}))
}

// write changes the store behind the control plane's back.
func (b *bench) write(fn func(ctx context.Context, tx *store.Tx) error) {
	b.Helper()
	if err := b.store.Write(b.Context(), fn); err != nil {
		b.Fatal(err)
	}
}

// listener puts a webhook into a factory.
func (b *bench) listener(factoryUID, name string) string {
	b.Helper()
	return b.listenerWith(factoryUID, name, "", false)
}

// listenerWith puts a webhook with a secret into a factory.
func (b *bench) listenerWith(factoryUID, name, secret string, owned bool) string {
	b.Helper()
	uid, at := b.store.NewID()
	b.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.PutWebhook(ctx, store.Webhook{Webhook: lineshaft.Webhook{
			UID: uid, FactoryUID: factoryUID, Name: name, AuthMode: lineshaft.AuthToken, SecretName: secret, OwnsSecret: owned,
			Enabled: true, MaxBodyBytes: 1, CreatedAt: at, UpdatedAt: at,
		}, Credential: "sealed"})
	})
	return uid
}

func (b *bench) secret(name string) {
	b.Helper()
	b.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertSecret(ctx, store.Secret{
			Secret: lineshaft.Secret{Name: name, Kind: lineshaft.SecretWebhook, Access: lineshaft.AccessGranted}, Sealed: "sealed",
		})
	})
}

func (b *bench) actions(targetID string) []string {
	b.Helper()
	var list []string
	for _, e := range b.audits(targetID) {
		list = append(list, e.Action)
	}
	return list
}

func ref[T any](v T) *T { return &v }

func TestF1FactoryStartsWithAForeman(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		made := must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, controlfactories.NewFactory{Name: "Web shop", Alias: "Shop 1", Description: "d"}))
		if !id.Valid(made.UID) || made.Name != "Web shop" || made.Alias != "Shop 1" || made.Description != "d" || made.Mode != lineshaft.ModeManaged ||
			made.Foreman != "foreman" || made.Revision < 1 || made.Paused || made.CreatedAt.IsZero() || made.UpdatedAt.IsZero() {
			b.Fatalf("%+v", made)
		}
		if read := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, made.UID)); !reflect.DeepEqual(read, made) {
			b.Fatalf("read %+v, made %+v", read, made)
		}
		agents := must[[]lineshaft.Agent](b)(b.store.ListAgents(b.Context(), made.UID))
		if len(agents) != 1 || agents[0].Name != lineshaft.ForemanName || agents[0].Type != lineshaft.AgentForeman || !id.Valid(agents[0].UID) {
			b.Fatalf("%+v", agents)
		}
		entries := b.audits(made.UID)
		if len(entries) != 1 || entries[0].Action != "factory.create" || entries[0].TargetType != "factory" || entries[0].Detail["name"] != "Web shop" {
			b.Fatalf("%+v", entries)
		}
		_, err := b.s.GetFactory(b.Context(), b.admin, b.newID())
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

func TestF1BadFactories(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for name, n := range map[string]controlfactories.NewFactory{
			"no name":          {},
			"blank name":       {Name: " \t"},
			"long name":        {Name: strings.Repeat("é", 201)},
			"NUL in name":      {Name: "a\x00"},
			"bad alias":        {Name: "n", Alias: "a/b"},
			"alias with space": {Name: "n", Alias: " a"},
			"alias with more":  {Name: "n", Alias: "é!"},
			"long alias":       {Name: "n", Alias: strings.Repeat("a", 61)},
			"long description": {Name: "n", Description: strings.Repeat("a", 2001)},
		} {
			if _, err := b.s.CreateFactory(b.Context(), b.admin, n); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", name, err)
			}
		}
		if page := b.factories(b.admin, ""); len(page) != 0 {
			b.Fatalf("%d factories were made", len(page))
		}
		made := must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, controlfactories.NewFactory{
			Name: strings.Repeat("é", 200), Alias: strings.Repeat("a", 60), Description: strings.Repeat("é", 2000),
		}))
		for name, change := range map[string]controlfactories.FactoryChange{
			"no name": {Name: ref("")}, "bad alias": {Alias: ref("ä!")}, "long description": {Description: ref(strings.Repeat("a", 2001))},
		} {
			if _, err := b.s.UpdateFactory(b.Context(), b.admin, made.UID, change); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", name, err)
			}
		}
		if read := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, made.UID)); !reflect.DeepEqual(read, made) {
			b.Fatalf("a refused change left %+v", read)
		}
	})
}

// factories reads all pages, two at a time.
func (b *bench) factories(c lineshaft.Caller, search string) []string {
	b.Helper()
	var names []string
	for cursor := ""; ; {
		page := must[controlfactories.FactoryPage](b)(b.s.ListFactories(b.Context(), c, controlfactories.FactoryQuery{Search: search, Limit: 2, Cursor: cursor}))
		for _, f := range page.Factories {
			names = append(names, f.Name)
		}
		if cursor = page.Next; cursor == "" {
			return names
		}
		if len(page.Factories) != 2 {
			b.Fatalf("a page of %d has a next one", len(page.Factories))
		}
	}
}

func TestF1ListSearchesAndPages(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var uids []string
		for _, n := range [][2]string{{"Alpha", "one"}, {"beta", "TWO"}, {"Straße", ""}, {"ALPHA two", ""}, {"a%b_c", "x.y"}} {
			uids = append(uids, b.factory(n[0], n[1]).UID)
		}
		limited := b.caller(lineshaft.RoleViewer, uids[3], uids[1], b.newID())
		for _, test := range []struct {
			who    lineshaft.Caller
			search string
			want   []string
		}{
			{b.admin, "", []string{"Alpha", "beta", "Straße", "ALPHA two", "a%b_c"}},
			{b.admin, "alpha", []string{"Alpha", "ALPHA two"}},
			{b.admin, "tWo", []string{"beta", "ALPHA two"}},
			{b.admin, "RASSE", []string{"Straße"}},
			{b.admin, "traß", []string{"Straße"}},
			{b.admin, "%", []string{"a%b_c"}},
			{b.admin, "_", []string{"a%b_c"}},
			{b.admin, "x.Y", []string{"a%b_c"}},
			{b.admin, "nothing", nil},
			{limited, "", []string{"beta", "ALPHA two"}},
			{limited, "beta", []string{"beta"}},
			{limited, "straße", nil},
		} {
			if got := b.factories(test.who, test.search); !slices.Equal(got, test.want) {
				b.Errorf("%q: %q, want %q", test.search, got, test.want)
			}
		}
		page := must[controlfactories.FactoryPage](b)(b.s.ListFactories(b.Context(), b.admin, controlfactories.FactoryQuery{Limit: 5}))
		if len(page.Factories) != 5 || page.Next != "" {
			b.Fatalf("%d, %q", len(page.Factories), page.Next)
		}
	})
}

func TestH8FactoryCursorsBelongToTheirList(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first, second := b.factory("a", ""), b.factory("ab", "")
		b.hookFactory(first.UID)
		factories := must[controlfactories.FactoryPage](b)(b.s.ListFactories(b.Context(), b.admin, controlfactories.FactoryQuery{Search: "a", Limit: 1})).Next
		automations := must[controlfactories.AutomationPage](b)(b.s.ListAutomations(b.Context(), b.admin, first.UID, 1, "")).Next
		if factories == "" || automations == "" {
			b.Fatal("no cursor to try")
		}
		for name, cursor := range map[string]string{"another search": factories, "another list": automations, "garbage": "x", "base64": "eyJ2IjoxfQ"} {
			if _, err := b.s.ListFactories(b.Context(), b.admin, controlfactories.FactoryQuery{Search: "b", Limit: 1, Cursor: cursor}); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", name, err)
			}
		}
		for name, cursor := range map[string]string{"another factory": automations, "another list": factories, "garbage": "%"} {
			if _, err := b.s.ListAutomations(b.Context(), b.admin, second.UID, 1, cursor); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestF1UpdateKeepsWhatIsAbsent(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		was := must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, controlfactories.NewFactory{Name: "n", Alias: "a", Description: "d"}))
		update := func(change controlfactories.FactoryChange) *lineshaft.Factory {
			b.Helper()
			changed := must[*lineshaft.Factory](b)(b.s.UpdateFactory(b.Context(), b.admin, was.UID, change))
			if changed.Revision <= was.Revision || changed.UpdatedAt.Before(was.UpdatedAt) || changed.CreatedAt != was.CreatedAt || changed.Foreman != was.Foreman {
				b.Fatalf("%+v became %+v", was, changed)
			}
			if read := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, was.UID)); !reflect.DeepEqual(read, changed) {
				b.Fatalf("read %+v, answered %+v", read, changed)
			}
			was = changed
			return changed
		}
		if f := update(controlfactories.FactoryChange{Paused: ref(true)}); !f.Paused || f.Name != "n" || f.Alias != "a" || f.Description != "d" {
			b.Fatalf("%+v", f)
		}
		if f := update(controlfactories.FactoryChange{Name: ref("m"), Alias: ref("A")}); !f.Paused || f.Name != "m" || f.Alias != "A" || f.Description != "d" {
			b.Fatalf("%+v", f)
		}
		if f := update(controlfactories.FactoryChange{Alias: ref(""), Description: ref(""), Paused: ref(false)}); f.Paused || f.Name != "m" || f.Alias != "" || f.Description != "" {
			b.Fatalf("%+v", f)
		}
		if got := b.actions(was.UID); !slices.Equal(got, []string{"factory.create", "factory.update", "factory.update", "factory.update"}) {
			b.Fatalf("%v", got)
		}
		if detail := b.audits(was.UID)[1].Detail; detail["paused"] != "true" || len(detail) != 1 {
			b.Fatalf("%v", detail)
		}
		_, err := b.s.UpdateFactory(b.Context(), b.admin, b.newID(), controlfactories.FactoryChange{})
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

func TestF2AliasIsUniqueWhateverItsCase(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first, second := b.factory("one", "Shop"), b.factory("two", "")
		b.factory("three", "") // no alias may be there twice
		_, err := b.s.CreateFactory(b.Context(), b.admin, controlfactories.NewFactory{Name: "x", Alias: "sHOP"})
		wantCode(b, err, lineshaft.CodeConflict)
		if text := err.Error(); !strings.Contains(text, `"sHOP"`) || !strings.Contains(text, "alias") {
			b.Errorf("unclear: %s", text)
		}
		_, err = b.s.UpdateFactory(b.Context(), b.admin, second.UID, controlfactories.FactoryChange{Alias: ref("SHOP")})
		wantCode(b, err, lineshaft.CodeConflict)
		must[*lineshaft.Factory](b)(b.s.UpdateFactory(b.Context(), b.admin, first.UID, controlfactories.FactoryChange{Alias: ref("SHOP")}))
		must[*lineshaft.Factory](b)(b.s.UpdateFactory(b.Context(), b.admin, first.UID, controlfactories.FactoryChange{Alias: ref("")}))
		must[*lineshaft.Factory](b)(b.s.UpdateFactory(b.Context(), b.admin, second.UID, controlfactories.FactoryChange{Alias: ref("shop")}))
		wantCode(b, b.s.DeleteFactory(b.Context(), b.admin, second.UID), "")
		b.factory("again", "shop")
	})
}

// Of several that take an alias at the same moment one wins; the others hear why.
func TestF2AliasRace(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		spare := b.factory("spare", "")
		for round := range rounds(20) {
			alias := fmt.Sprintf("alias %d", round)
			var mu sync.Mutex
			won := 0
			together(4, func(who int) {
				var err error
				if who == 0 {
					_, err = b.s.UpdateFactory(b.Context(), b.admin, spare.UID, controlfactories.FactoryChange{Alias: ref(strings.ToUpper(alias))})
				} else {
					_, err = b.s.CreateFactory(b.Context(), b.admin, controlfactories.NewFactory{Name: fmt.Sprint(who), Alias: alias})
				}
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won++
				case lineshaft.CodeOf(err) != lineshaft.CodeConflict || !strings.Contains(err.Error(), "alias"):
					b.Error(err)
				}
			})
			if won != 1 {
				b.Fatalf("%d have the alias", won)
			}
		}
	})
}

func TestF1DeleteTakesThePartsAlong(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		gone, stays := b.factory("gone", "g"), b.factory("stays", "")
		for _, name := range []string{"OWNED", "NOT_YET_GIVEN", "MANAGED", "OTHER"} {
			b.secret(name)
		}
		hook := b.listenerWith(gone.UID, "hook", "OWNED", true)
		waiting := b.listenerWith(gone.UID, "waits for its secret", "NOT_YET_GIVEN", true)
		b.write(func(ctx context.Context, tx *store.Tx) error {
			w, err := tx.GetWebhook(ctx, gone.UID, waiting)
			if err != nil {
				return err
			}
			w.NeedsSecret = true // so the secret of that name is someone else's
			return tx.PutWebhook(ctx, *w)
		})
		b.listenerWith(gone.UID, "lost its secret", "NEVER_MADE", true)
		b.listenerWith(gone.UID, "borrower", "MANAGED", false)
		b.listenerWith(stays.UID, "own", "OTHER", true)
		made := b.automate(gone.UID, "a", hook)
		kept := b.hookFactory(stays.UID)[0]
		run := b.inFactory(gone.UID, lineshaft.NewRun{})
		wantCode(b, b.s.DeleteFactory(b.Context(), b.admin, gone.UID), "")
		for _, err := range []error{
			b.s.DeleteFactory(b.Context(), b.admin, gone.UID),
			second(b.s.GetFactory(b.Context(), b.admin, gone.UID)),
			second(b.s.GetAutomation(b.Context(), b.admin, gone.UID, made.UID)),
			second(b.s.ListAutomations(b.Context(), b.admin, gone.UID, 10, "")),
		} {
			wantCode(b, err, lineshaft.CodeNotFound)
		}
		if agents := must[[]lineshaft.Agent](b)(b.store.ListAgents(b.Context(), gone.UID)); len(agents) > 0 {
			b.Errorf("%d agents are left", len(agents))
		}
		if left := must[[]lineshaft.Automation](b)(b.store.ListAutomations(b.Context(), gone.UID)); len(left) > 0 {
			b.Errorf("%d automations are left", len(left))
		}
		w := must[*store.Webhook](b)(b.store.GetWebhook(b.Context(), gone.UID, hook))
		if w.DeletedAt.IsZero() || w.Credential != "" {
			b.Errorf("%+v", w)
		}
		for name, want := range map[string]lineshaft.Code{"OWNED": lineshaft.CodeNotFound, "NOT_YET_GIVEN": "", "MANAGED": "", "OTHER": ""} {
			_, err := b.store.GetSecret(b.Context(), name)
			wantCode(b, err, want)
		}
		if got := b.actions("OWNED"); !slices.Equal(got, []string{"secret.delete"}) {
			b.Errorf("%v", got)
		}
		if got := b.actions(hook); !slices.Equal(got, []string{"webhook.delete"}) {
			b.Errorf("%v", got)
		}
		if got := b.actions(gone.UID); !slices.Equal(got, []string{"factory.create", "factory.delete"}) {
			b.Errorf("%v", got)
		}
		must[*lineshaft.Automation](b)(b.s.GetAutomation(b.Context(), b.admin, stays.UID, kept))
		b.run(run) // runs outlive their factory
	})
}

func second[T any](_ T, err error) error { return err }

func TestS3LimitedKeysStayInTheirFactories(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		own, foreign := b.factory("own", "own"), b.factory("foreign", "foreign")
		kept := b.hookFactory(foreign.UID)[0]
		hook := b.listener(foreign.UID, "another hook")
		manager := b.caller(lineshaft.RoleManager, own.UID)
		_, err := b.s.CreateFactory(b.Context(), manager, controlfactories.NewFactory{Name: "new"})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		if !strings.Contains(err.Error(), "limited to factories") {
			b.Errorf("no reason: %v", err)
		}
		for _, err := range []error{
			second(b.s.GetFactory(b.Context(), manager, foreign.UID)),
			second(b.s.UpdateFactory(b.Context(), manager, foreign.UID, controlfactories.FactoryChange{Paused: ref(true)})),
			b.s.DeleteFactory(b.Context(), manager, foreign.UID),
			second(b.s.ListAutomations(b.Context(), manager, foreign.UID, 10, "")),
			second(b.s.GetAutomation(b.Context(), manager, foreign.UID, kept)),
			second(b.s.CreateAutomation(b.Context(), manager, foreign.UID, automation("x", hook))),
			second(b.s.UpdateAutomation(b.Context(), manager, foreign.UID, kept, controlfactories.AutomationChange{Enabled: ref(false)})),
			b.s.DeleteAutomation(b.Context(), manager, foreign.UID, kept),
			// A foreign automation is not reached through the own factory either.
			second(b.s.GetAutomation(b.Context(), manager, own.UID, kept)),
			second(b.s.UpdateAutomation(b.Context(), manager, own.UID, kept, controlfactories.AutomationChange{Enabled: ref(false)})),
			b.s.DeleteAutomation(b.Context(), manager, own.UID, kept),
		} {
			wantCode(b, err, lineshaft.CodeNotFound)
		}
		_, err = b.s.CreateAutomation(b.Context(), manager, own.UID, automation("x", hook))
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		unknown := second(b.s.CreateAutomation(b.Context(), manager, own.UID, automation("x", b.newID())))
		if strings.ReplaceAll(err.Error(), hook, "") == err.Error() || len(err.Error()) != len(unknown.Error()) {
			b.Errorf("a foreign webhook answers %v, an unknown one %v", err, unknown)
		}
		must[*lineshaft.Factory](b)(b.s.UpdateFactory(b.Context(), manager, own.UID, controlfactories.FactoryChange{Paused: ref(true)}))
		if f := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, foreign.UID)); f.Paused || len(b.actions(kept)) != 1 {
			b.Errorf("%+v, %v", f, b.actions(kept))
		}
		wantCode(b, b.s.DeleteFactory(b.Context(), manager, own.UID), "")
	})
}

// Every change is one revision, also when many come at once: nothing is lost.
func TestF1RevisionsGrowWithEveryChange(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "")
		hook := b.listener(f.UID, "hook")
		const n = 8
		together(n, func(who int) {
			if _, err := b.s.CreateAutomation(b.Context(), b.admin, f.UID, automation(fmt.Sprint("a", who), hook)); err != nil {
				b.Error(err)
			}
		})
		read := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, f.UID))
		if read.Revision != f.Revision+n {
			b.Fatalf("revision %d after %d changes to %d", read.Revision, n, f.Revision)
		}
	})
}

// A factory that follows a repository is edited there.
func TestF5RepositoryFactoriesAreNotEdited(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid, at := b.store.NewID()
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertFactory(ctx, lineshaft.Factory{UID: uid, Name: "repo", Mode: lineshaft.ModeRepository, Foreman: "boss", CreatedAt: at, UpdatedAt: at})
		})
		before := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, uid))
		_, err := b.s.UpdateFactory(b.Context(), b.admin, uid, controlfactories.FactoryChange{Name: ref("x")})
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = b.s.CreateAutomation(b.Context(), b.admin, uid, automation("x", b.newID()))
		wantCode(b, err, lineshaft.CodeConflict)
		if after := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, uid)); !reflect.DeepEqual(after, before) {
			b.Fatalf("%+v", after)
		}
	})
}
