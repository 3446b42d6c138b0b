package control_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestF5PushIsInForceAfterOneLook(t *testing.T) {
	t.Parallel()
	eachOrigin(t, func(b *bench, o *origin) {
		source := lineshaft.GitSource{URL: o.bare, Branch: "main"}
		made := must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "Given", Repository: &source}))
		if made.Mode != lineshaft.ModeRepository || made.Repository == nil || made.Repository.Source != source || made.Name != "Given" || made.Foreman != lineshaft.ForemanName {
			b.Fatalf("made %+v", made)
		}
		if n := must[int](b)(b.s.SyncRepositories(b.Context())); n != 1 {
			b.Fatalf("%d repositories are due at first, want 1", n)
		}
		first := o.git(o.bare, "rev-parse", "main")
		b.wantRepository(must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, made.UID)), "First", first, first)
		if n := must[int](b)(b.s.SyncRepositories(b.Context())); n != 0 {
			b.Fatalf("%d repositories are due before the poll interval is over", n)
		}
		second := o.push("main", folder("Second"))
		f := b.round(made.UID)
		b.wantRepository(f, "Second", second, second)
		// Nothing new: only the time of the check is written.
		again := b.round(made.UID)
		if again.Revision != f.Revision || !again.Repository.AppliedAt.Equal(f.Repository.AppliedAt) || !again.Repository.CheckedAt.After(f.Repository.CheckedAt) {
			b.Errorf("a look at nothing new: %+v\nbefore: %+v", again.Repository, f.Repository)
		}
		listed := must[factories.FactoryPage](b)(b.s.ListFactories(b.Context(), b.admin, factories.FactoryQuery{Limit: 5}))
		if len(listed.Factories) != 1 || listed.Factories[0].Repository == nil || listed.Factories[0].Repository.Applied != second {
			b.Errorf("listed as %+v", listed.Factories)
		}
	})
}

// A commit that is reported as in force is: what was read before it is read again.
func TestF5ListedFactoriesHaveWhatTheirCommitChanged(t *testing.T) {
	t.Parallel()
	eachOrigin(t, func(b *bench, o *origin) {
		stale := *b.following(lineshaft.GitSource{URL: o.bare, Branch: "main"})
		stale.Repository = nil
		second := o.push("main", folder("Second"))
		b.round(stale.UID)
		if err := control.WithRepositories(b.Context(), b.s, &stale); err != nil {
			b.Fatal(err)
		}
		b.wantRepository(&stale, "Second", second, second)
	})
}

func TestF5BrokenPushLeavesTheOldInForce(t *testing.T) {
	t.Parallel()
	for _, top := range []string{"", "factories/shop"} {
		t.Run("in "+top, func(t *testing.T) {
			t.Parallel()
			eachOrigin(t, func(b *bench, o *origin) {
				place := func(files map[string]string) map[string]string {
					if top == "" {
						files["main.go"] = "package main" // what is beside a definition is not its business
						return files
					}
					return below(top, files)
				}
				good := o.push("main", place(folder("Good")))
				uid := b.following(lineshaft.GitSource{URL: o.bare, Branch: "main", Path: top}).UID
				bad := o.push("main", place(folder("Bad", "titel: x")))
				f := b.round(uid)
				b.wantRepository(f, "Good", bad, good)
				file := strings.TrimPrefix(top+"/factory.yaml", "/")
				if p := f.Repository.Problems; len(p) != 1 || p[0].File != file || p[0].Line != 3 || p[0].Column != 1 || !strings.Contains(p[0].Message, "titel") {
					b.Errorf("problems are %+v, want one at %s:3:1", p, file)
				}
				fixed := o.push("main", place(folder("Fixed")))
				f = b.round(uid)
				b.wantRepository(f, "Fixed", fixed, fixed)
				if len(f.Repository.Problems) != 0 {
					b.Errorf("problems are left: %+v", f.Repository.Problems)
				}
				// A definition that is gone is a mistake, not an empty one.
				gone := o.push("main", map[string]string{"README.md": "moved"})
				f = b.round(uid)
				b.wantRepository(f, "Fixed", gone, fixed)
				if p := f.Repository.Problems; len(p) != 1 || p[0].File != file || p[0].Hint == "" {
					b.Errorf("problems are %+v", p)
				}
				// Back at what is in force there is nothing to fix.
				o.git(o.work, "push", "--quiet", "--force", "origin", fixed+":refs/heads/main")
				f = b.round(uid)
				b.wantRepository(f, "Fixed", fixed, fixed)
				if len(f.Repository.Problems) != 0 {
					b.Errorf("problems are left: %+v", f.Repository.Problems)
				}
			})
		})
	}
}

func TestF5RepositoriesThatGoAndComeBack(t *testing.T) {
	t.Parallel()
	eachOrigin(t, func(b *bench, o *origin) {
		commit := o.git(o.bare, "rev-parse", "main")
		uid := b.following(lineshaft.GitSource{URL: o.bare, Branch: "main"}).UID
		fault := func(says string) {
			b.Helper()
			f := b.round(uid)
			b.wantRepository(f, "First", commit, commit)
			if !strings.Contains(f.Repository.Fault, says) {
				b.Errorf("fault is %q, want one that says %q", f.Repository.Fault, says)
			}
		}
		healthy := func(name string) {
			b.Helper()
			f := b.round(uid)
			commit = o.git(o.bare, "rev-parse", "main")
			b.wantRepository(f, name, commit, commit)
			if f.Repository.Fault != "" {
				b.Errorf("fault is %q", f.Repository.Fault)
			}
		}
		o.git(o.bare, "update-ref", "-d", "refs/heads/main")
		fault(`no branch "main"`)
		o.git(o.bare, "update-ref", "refs/heads/main", commit)
		healthy("First")
		if err := os.Rename(o.bare, o.bare+".away"); err != nil {
			b.Fatal(err)
		}
		fault("no repository at")
		if err := os.Rename(o.bare+".away", o.bare); err != nil {
			b.Fatal(err)
		}
		healthy("First")
		// Another history altogether.
		o.git(o.work, "checkout", "--quiet", "--orphan", "again")
		o.push("main", folder("Opaque"))
		healthy("Opaque")
	})
}

func TestF5SecretThatComesLater(t *testing.T) {
	t.Parallel()
	eachOrigin(t, func(b *bench, o *origin) {
		first := o.git(o.bare, "rev-parse", "main")
		uid := b.following(lineshaft.GitSource{URL: o.bare}).UID
		commit := o.push("main", folder("Second", "secrets: [TOKEN]"))
		f := b.round(uid)
		b.wantRepository(f, "First", commit, first)
		if p := f.Repository.Problems; len(p) != 1 || !strings.Contains(p[0].Message, "TOKEN") || p[0].Line != 3 {
			b.Errorf("problems are %+v", p)
		}
		must[lineshaft.Secret](b)(b.s.CreateSecret(b.Context(), b.admin, lineshaft.Secret{Name: "TOKEN"}, "value-of-the-secret"))
		f = b.round(uid)
		b.wantRepository(f, "Second", commit, commit)
	})
}

func TestF5SyncOnDemand(t *testing.T) {
	t.Parallel()
	eachOrigin(t, func(b *bench, o *origin) {
		uid := b.following(lineshaft.GitSource{URL: o.bare}).UID
		second := o.push("main", folder("Second"))
		f := must[*lineshaft.Factory](b)(b.s.SyncRepository(b.Context(), b.admin, uid))
		b.wantRepository(f, "Second", second, second)
		again := must[*lineshaft.Factory](b)(b.s.SyncRepository(b.Context(), b.admin, uid))
		if again.Revision != f.Revision {
			b.Errorf("a sync of nothing new made revision %d of %d", again.Revision, f.Revision)
		}
		if n := must[int](b)(b.s.SyncRepositories(b.Context())); n != 0 {
			b.Errorf("%d repositories are due after a sync", n)
		}
		if !slices.Contains(b.actions(uid), "factory.sync") {
			b.Errorf("audited: %v", b.actions(uid))
		}
		bad := o.push("main", folder("Third", "titel: x"))
		f = must[*lineshaft.Factory](b)(b.s.SyncRepository(b.Context(), b.admin, uid))
		b.wantRepository(f, "Second", bad, second)
		managed := b.factory("managed", "")
		_, err := b.s.SyncRepository(b.Context(), b.admin, managed.UID)
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = b.s.SyncRepository(b.Context(), b.caller(lineshaft.RoleManager, managed.UID), uid)
		wantCode(b, err, lineshaft.CodeNotFound)
		_, err = b.s.SyncRepository(b.Context(), b.admin, "nobody")
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// Every kind of edit is refused with the repository to go to; changes about running the
// factory are not.
func TestF5EditsAreRefusedWithTheLink(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		o := newOrigin(w.T)
		o.push("main", folder("Broken", "titel: x")) // so that the webhook and the automation stay
		automated := w.automation("a", "")
		source := lineshaft.GitSource{URL: o.bare, Branch: "main", Path: "shop"}
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{Repository: &source}))
		ctx, c, f := w.Context(), w.admin, w.factory
		for name, edit := range map[string]func() error{
			"name": func() error { return second(w.s.UpdateFactory(ctx, c, f, factories.FactoryChange{Name: ref("x")})) },
			"alias and pause": func() error {
				return second(w.s.UpdateFactory(ctx, c, f, factories.FactoryChange{Alias: ref("x"), Paused: ref(true)}))
			},
			"description": func() error {
				return second(w.s.UpdateFactory(ctx, c, f, factories.FactoryChange{Description: ref("x")}))
			},
			"nothing":           func() error { return second(w.s.UpdateFactory(ctx, c, f, factories.FactoryChange{})) },
			"create automation": func() error { return second(w.s.CreateAutomation(ctx, c, f, automation("b", w.hook.UID))) },
			"update automation": func() error {
				return second(w.s.UpdateAutomation(ctx, c, f, automated.UID, factories.AutomationChange{Enabled: ref(false)}))
			},
			"delete automation": func() error { return w.s.DeleteAutomation(ctx, c, f, automated.UID) },
			"create webhook":    func() error { return second(w.s.CreateWebhook(ctx, c, f, factories.NewWebhook{Name: "b"})) },
			"update webhook": func() error {
				return second(w.s.UpdateWebhook(ctx, c, f, w.hook.UID, factories.WebhookChange{Enabled: ref(false)}))
			},
			"rotate webhook": func() error { return second(w.s.RotateWebhook(ctx, c, f, w.hook.UID, factories.WebhookRotation{})) },
			"delete webhook": func() error { return w.s.DeleteWebhook(ctx, c, f, w.hook.UID) },
		} {
			err := edit()
			refused, ok := errors.AsType[*lineshaft.Error](err)
			if !ok || refused.Code != lineshaft.CodeConflict || refused.Retryable || !strings.Contains(refused.Message, o.bare) || !strings.Contains(refused.Message, "folder shop") {
				w.Errorf("%s: %v, want a conflict with the repository", name, err)
			}
		}
		paused := must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(ctx, c, f, factories.FactoryChange{Paused: ref(true)}))
		if !paused.Paused || paused.Name != "works" || paused.Repository == nil {
			w.Errorf("paused: %+v", paused)
		}
		wantCode(w, w.s.DeleteFactory(ctx, c, f), "")
		if found, err := w.store.Repositories(ctx, f); err != nil || len(found) != 0 {
			w.Errorf("the link of a deleted factory: %+v, %v", found, err)
		}
	}, localGit(t))
}

// S-1: the advice of a refused rotation can be followed where a factory follows a
// repository.
func TestS1SecretsOfARepositorysWebhooksAreChanged(t *testing.T) {
	t.Parallel()
	eachOrigin(t, func(b *bench, o *origin) {
		b.teamSecret("ISSUES", issuesSecret)
		files := folder("Shop")
		files["webhooks/issues.yaml"] = "secretName: ISSUES\n"
		o.push("main", files)
		f := b.following(lineshaft.GitSource{URL: o.bare, Branch: "main"})
		hook := b.webhookNamed(f.UID, "issues")
		_, err := b.s.RotateWebhook(b.Context(), b.admin, f.UID, hook.UID, factories.WebhookRotation{})
		wantCode(b, err, lineshaft.CodeConflict)
		if !strings.Contains(err.Error(), "`lineshaft secret update ISSUES --team`, then apply the repository again with `lineshaft factory sync`") {
			b.Errorf("advises %v", err)
		}
		fresh := strings.Repeat("fresh", 8)
		must[lineshaft.Secret](b)(b.s.UpdateSecret(b.Context(), b.admin, "ISSUES", secrets.SecretChange{Value: &fresh}))
		must[*lineshaft.Factory](b)(b.s.SyncRepository(b.Context(), b.admin, f.UID))
		if !b.takes(hook.UID, fresh) {
			b.Error("the new secret is not in force")
		}
	})
}

func TestF5LinkAndUnlink(t *testing.T) {
	t.Parallel()
	eachOrigin(t, func(b *bench, o *origin) {
		uid := b.factory("Managed", "").UID
		change := func(c factories.FactoryChange) (*lineshaft.Factory, error) {
			return b.s.UpdateFactory(b.Context(), b.admin, uid, c)
		}
		source := lineshaft.GitSource{URL: o.bare, Branch: "main"}
		linked := must[*lineshaft.Factory](b)(change(factories.FactoryChange{Repository: &source}))
		if linked.Mode != lineshaft.ModeRepository || linked.Repository == nil || linked.Repository.Source != source || linked.Name != "Managed" {
			b.Fatalf("linked: %+v", linked)
		}
		f := b.round(uid)
		first := o.git(o.bare, "rev-parse", "main")
		b.wantRepository(f, "First", first, first)
		// Another branch begins again.
		second := o.push("dev", folder("Second"))
		dev := source
		dev.Branch = "dev"
		relinked := must[*lineshaft.Factory](b)(change(factories.FactoryChange{Repository: &dev, Paused: ref(true)}))
		if relinked.Repository.Applied != "" || relinked.Name != "First" || !relinked.Paused {
			b.Fatalf("linked again: %+v %+v", relinked, relinked.Repository)
		}
		b.wantRepository(b.round(uid), "Second", second, second)
		unlinked := must[*lineshaft.Factory](b)(change(factories.FactoryChange{Unlink: true}))
		if unlinked.Mode != lineshaft.ModeManaged || unlinked.Repository != nil || unlinked.Name != "Second" || unlinked.Foreman != "boss" {
			b.Fatalf("unlinked: %+v", unlinked)
		}
		edited := must[*lineshaft.Factory](b)(change(factories.FactoryChange{Name: ref("Mine")}))
		if edited.Name != "Mine" || edited.Foreman != "boss" {
			b.Errorf("edited: %+v", edited)
		}
		if n := must[int](b)(b.s.SyncRepositories(b.Context())); n != 0 {
			b.Errorf("%d repositories are due without a link", n)
		}
		_, err := change(factories.FactoryChange{Repository: &source, Name: ref("x")})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		_, err = change(factories.FactoryChange{Unlink: true, Alias: ref("x")})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		// A repository's definition may name secrets of the whole team.
		limited := b.caller(lineshaft.RoleManager, uid)
		_, err = b.s.UpdateFactory(b.Context(), limited, uid, factories.FactoryChange{Repository: &source})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		details := ""
		for _, e := range b.audits(uid) {
			details += e.Detail["repository"] + "\n"
		}
		if !strings.Contains(details, o.bare+", branch dev") || !strings.Contains(details, "none") {
			b.Errorf("audited: %q", details)
		}
	})
}

func TestF5SourcesThatAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.factory("f", "").UID
		for name, tc := range map[string]struct {
			source lineshaft.GitSource
			field  string
		}{
			"no address":  {lineshaft.GitSource{}, "repository.url"},
			"option":      {lineshaft.GitSource{URL: "--upload-pack=x"}, "repository.url"},
			"helper":      {lineshaft.GitSource{URL: "ext::sh -c x"}, "repository.url"},
			"password":    {lineshaft.GitSource{URL: "https://u:p@example.com/r"}, "repository.url"},
			"branch":      {lineshaft.GitSource{URL: "https://example.com/r", Branch: "--x"}, "repository.branch"},
			"branch dots": {lineshaft.GitSource{URL: "https://example.com/r", Branch: "a..b"}, "repository.branch"},
			"up":          {lineshaft.GitSource{URL: "https://example.com/r", Path: "../x"}, "repository.path"},
			"slash":       {lineshaft.GitSource{URL: "https://example.com/r", Path: "/x"}, "repository.path"},
			"git":         {lineshaft.GitSource{URL: "https://example.com/r", Path: "a/.git"}, "repository.path"},
			"long":        {lineshaft.GitSource{URL: "https://example.com/r", Path: strings.Repeat("x", 600)}, "repository.path"},
		} {
			_, createErr := b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "x", Repository: &tc.source})
			_, updateErr := b.s.UpdateFactory(b.Context(), b.admin, uid, factories.FactoryChange{Repository: &tc.source})
			for _, err := range []error{createErr, updateErr} {
				if wrong, ok := errors.AsType[*lineshaft.Error](err); !ok || wrong.Code != lineshaft.CodeInvalidRequest || wrong.Field != tc.field || strings.Contains(wrong.Message, "u:p@") {
					b.Errorf("%s: %v, want %s to be refused", name, err, tc.field)
				}
			}
		}
		if page := must[factories.FactoryPage](b)(b.s.ListFactories(b.Context(), b.admin, factories.FactoryQuery{Limit: 5})); len(page.Factories) != 1 {
			b.Errorf("%d factories", len(page.Factories))
		}
	}, localGit(t))
	each(t, func(b *bench) {
		_, err := b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "x", Repository: &lineshaft.GitSource{URL: "https://example.com/r"}})
		wantCode(b, err, lineshaft.CodeNotSupported)
		if n := must[int](b)(b.s.SyncRepositories(b.Context())); n != 0 {
			b.Errorf("a server without git looked at %d", n)
		}
	})
}

// A reader who sees a commit in force sees what it changed: people wait for the one and
// then look at the other. Here the commit comes while a reader waits for what the
// factory follows; had it read the factory before, that would be the old one. (On
// SQLite nobody waits, and the order of the reads is the same.)
func TestF5CommitIsNotShownBeforeWhatItChanged(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	b := open(t, database, localGit(t))
	o := newOrigin(t)
	o.push("main", folder("First"))
	uid := b.following(lineshaft.GitSource{URL: o.bare}).UID
	held := storetest.Hold(t, database, "factory_repositories")
	read := make(chan *lineshaft.Factory, 1)
	go func() {
		f, err := b.s.GetFactory(b.Context(), b.admin, uid)
		if err != nil {
			b.Error(err)
		}
		read <- f
	}()
	held.Waiting()
	held.Change("UPDATE factories SET name = 'Second' WHERE uid = $1", uid)
	held.Change("UPDATE factory_repositories SET applied = 'second' WHERE factory_uid = $1", uid)
	held.Release()
	if f := <-read; f == nil || f.Name != "Second" || f.Repository.Applied != "second" {
		b.Errorf("with the commit comes %+v", f)
	}
}

// Many who look at the same time, also on another node, apply each commit once.
func TestF5EachCommitIsAppliedOnce(t *testing.T) {
	t.Parallel()
	rounds := func(b *bench, nodes ...*bench) {
		o := newOrigin(b.T)
		o.push("main", folder("Zero"))
		f := b.following(lineshaft.GitSource{URL: o.bare})
		for _, name := range []string{"One", "Two", "Three"} {
			commit := o.push("main", folder(name))
			before := f.Revision
			b.write(func(ctx context.Context, tx *store.Tx) error { return tx.DueRepository(ctx, f.UID) })
			var wait sync.WaitGroup
			for i := range 6 {
				wait.Go(func() {
					node := nodes[i%len(nodes)]
					var err error
					if i < 4 {
						_, err = node.s.SyncRepositories(b.Context())
					} else {
						_, err = node.s.SyncRepository(b.Context(), b.admin, f.UID)
					}
					if err != nil {
						b.Errorf("node: %v", err)
					}
				})
			}
			wait.Wait()
			f = must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, f.UID))
			b.wantRepository(f, name, commit, commit)
			if f.Revision != before+1 {
				b.Errorf("revision %d after %d: the commit was not applied once", f.Revision, before)
			}
		}
	}
	t.Run("one node", func(t *testing.T) {
		t.Parallel()
		each(t, func(b *bench) { rounds(b, b) }, localGit(t))
	})
	t.Run("two nodes", func(t *testing.T) {
		t.Parallel()
		database := storetest.Postgres(t)
		one := open(t, database, localGit(t))
		rounds(one, one, open(t, database, localGit(t)))
	})
}
