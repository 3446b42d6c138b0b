package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

func (b *bench) webhookNamed(factory, name string) store.Webhook {
	b.Helper()
	for _, w := range must[[]store.Webhook](b)(b.store.ListWebhooks(b.Context(), factory)) {
		if w.Name == name {
			return w
		}
	}
	b.Fatalf("no webhook %s", name)
	return store.Webhook{}
}

// takes says whether a webhook takes a token.
func (b *bench) takes(uid, token string) bool {
	b.Helper()
	wantCode(b, b.s.RefreshHooks(b.Context()), "")
	h := b.s.Hook(b.Context(), uid)
	return h != nil && h.CheckToken(token, b.clock.now())
}

// A changed value of a managed secret reaches a webhook when its definition is next
// applied, although nothing in the folder differs, and not before.
func TestS1SecretsArePickedUp(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		hook := b.webhookNamed(uid, "issues").UID
		const fresh = "the-secret-of-the-issues-webhook-2"
		must[lineshaft.Secret](b)(b.s.UpdateSecret(b.Context(), b.admin, "ISSUES", secrets.SecretChange{Value: new(fresh)}))
		if !b.takes(hook, issuesSecret) || b.takes(hook, fresh) {
			b.Fatal("the value counts before the apply")
		}
		done := b.apply(uid, shop())
		if !done.Changed || len(done.Changes) > 0 || done.Revision != 2 {
			b.Errorf("%+v", done)
		}
		if b.takes(hook, issuesSecret) || !b.takes(hook, fresh) {
			b.Error("the value does not count after the apply")
		}
		if last := b.audits(uid)[len(b.audits(uid))-1]; last.Action != "definition.apply" || last.Detail["credentials"] != "1" {
			b.Errorf("%+v", last)
		}
		if again := b.apply(uid, shop()); again.Changed {
			b.Errorf("%+v", again)
		}
		// A value that does not do is a problem, and the old one stays.
		must[lineshaft.Secret](b)(b.s.UpdateSecret(b.Context(), b.admin, "ISSUES", secrets.SecretChange{Value: new("too short")}))
		_, err := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: shop()})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if strings.Contains(tell(err), "too short") || !b.takes(hook, fresh) {
			b.Error(tell(err))
		}
	})
}

// A changed mode or scheme keeps the webhook and its address.
func TestW2ModeAndSchemeChange(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		before := b.webhookNamed(uid, "issues")
		for _, tc := range []struct {
			text   string
			mode   lineshaft.AuthMode
			scheme string
		}{
			{"authMode: url_token\nsecretName: ISSUES\n", lineshaft.AuthURLToken, ""},
			{"authMode: signature\nsignatureScheme: github\nsecretName: ISSUES\n", lineshaft.AuthSignature, "github"},
			{"authMode: signature\nsignatureScheme: hmac\nsecretName: ISSUES\nhmac:\n  header: X-Sig\n", lineshaft.AuthSignature, "hmac"},
			{"secretName: ISSUES\n", lineshaft.AuthToken, ""},
		} {
			b.apply(uid, with(shop(), "webhooks/issues.yaml", tc.text))
			after := b.webhookNamed(uid, "issues")
			if after.UID != before.UID || after.AuthMode != tc.mode || after.SignatureScheme != tc.scheme || !after.CreatedAt.Equal(before.CreatedAt) || after.RateLimit != lineshaft.DefaultWebhookRate {
				b.Errorf("%+v", after)
			}
			wantCode(b, b.s.RefreshHooks(b.Context()), "")
			if b.s.Hook(b.Context(), before.UID) == nil {
				b.Errorf("%s takes no deliveries", tc.text)
			}
		}
		if !b.takes(before.UID, issuesSecret) {
			b.Error("the secret does not count")
		}
	})
}

// Webhooks that own their secret keep it while their file names it, also through other
// changes; a changed mode checks it.
func TestF5OwnedSecretsStay(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		rotated := must[factories.IssuedWebhook](w.bench)(w.s.RotateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookRotation{Overlap: time.Hour}))
		files := w.export(w.factory).Files
		if again := w.apply(w.factory, files); again.Changed {
			w.Fatalf("%+v", again)
		}
		path := "webhooks/issues.yaml"
		w.apply(w.factory, with(files, path, files[path]+"replayGuard: true\n"))
		stored := w.webhookNamed(w.factory, "issues")
		if !stored.OwnsSecret || !stored.ReplayGuard || !w.takes(w.hook.UID, rotated.Secret) || !w.takes(w.hook.UID, w.hook.Secret) {
			w.Errorf("%+v", stored)
		}
		w.apply(w.factory, with(files, path, "authMode: url_token\n"+files[path]))
		if stored = w.webhookNamed(w.factory, "issues"); !stored.OwnsSecret || !w.takes(w.hook.UID, rotated.Secret) || w.takes(w.hook.UID, w.hook.Secret) {
			w.Errorf("an old secret counts under other rules: %+v", stored)
		}
		_, err := w.s.ApplyDefinition(w.Context(), w.admin, w.factory, factories.Application{
			Files: with(files, path, "authMode: signature\nsignatureScheme: discord\n"+files[path]),
		})
		wantCode(w, err, lineshaft.CodeInvalidRequest)
		// Another webhook cannot take it over, renamed or not.
		_, err = w.s.ApplyDefinition(w.Context(), w.admin, w.factory, factories.Application{Files: with(files, path, "", "webhooks/renamed.yaml", files[path])})
		wantCode(w, err, lineshaft.CodeInvalidRequest)
		if !strings.Contains(tell(err), "made for another webhook") {
			w.Error(tell(err))
		}
		// With another secret its own is gone.
		w.teamSecret("MINE", issuesSecret)
		w.apply(w.factory, with(files, path, "secretName: MINE\n"))
		if _, err := w.s.GetSecret(w.Context(), w.admin, w.hook.SecretName); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			w.Errorf("%v", err)
		}
		if stored = w.webhookNamed(w.factory, "issues"); stored.OwnsSecret || stored.UID != w.hook.UID || !w.takes(w.hook.UID, issuesSecret) || w.takes(w.hook.UID, rotated.Secret) {
			w.Errorf("%+v", stored)
		}
	})
}

// A webhook that waits for its provider's secret stays so, until there is one.
func TestW4WaitingWebhooksInAFolder(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.plain("works")
		made := must[factories.IssuedWebhook](b)(b.s.CreateWebhook(b.Context(), b.admin, uid, factories.NewWebhook{Name: "pay", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe", SecretName: "PAY"}))
		files := b.export(uid).Files
		if again := b.apply(uid, files); again.Changed || !b.webhookNamed(uid, "pay").NeedsSecret {
			b.Fatalf("%+v", again)
		}
		b.apply(uid, with(files, "webhooks/pay.yaml", files["webhooks/pay.yaml"]+"rateLimit: 7\n"))
		if w := b.webhookNamed(uid, "pay"); !w.NeedsSecret || !w.OwnsSecret || w.RateLimit != 7 {
			b.Errorf("%+v", w)
		}
		for name, text := range map[string]string{
			"enabled":      strings.ReplaceAll(files["webhooks/pay.yaml"], "enabled: false", "enabled: true"),
			"other mode":   "secretName: PAY\n",
			"other secret": strings.ReplaceAll(files["webhooks/pay.yaml"], "PAY", "OTHER"),
		} {
			_, err := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: with(files, "webhooks/pay.yaml", text)})
			if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || len(asPublic(err).Problems) != 1 {
				b.Errorf("%s: %s", name, tell(err))
			}
		}
		b.teamSecret("PAY", "whsec_of_the_provider_0123456789")
		done := b.apply(uid, strippedEnabled(files))
		if w := b.webhookNamed(uid, "pay"); w.NeedsSecret || w.OwnsSecret || !w.Enabled || w.UID != made.UID || !done.Changed {
			b.Errorf("%+v, %+v", w, done)
		}
		wantCode(b, b.s.RefreshHooks(b.Context()), "")
		if b.s.Hook(b.Context(), made.UID) == nil {
			b.Error("it takes no deliveries")
		}
	})
}

func strippedEnabled(files definition.Files) definition.Files {
	return with(files, "webhooks/pay.yaml", strings.ReplaceAll(files["webhooks/pay.yaml"], "enabled: false\n", ""))
}

// A webhook that leaves the folder ends as if it were deleted; its name is free.
func TestF5RemovedWebhooksEnd(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.deliver("1", opened)
		files := w.export(w.factory).Files
		done := w.apply(w.factory, with(files, "webhooks/issues.yaml", ""))
		if got := changesOf(done.Changes); len(got) != 1 || got[0] != "remove webhook issues" {
			w.Errorf("%v", got)
		}
		if _, err := w.s.GetSecret(w.Context(), w.admin, w.hook.SecretName); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			w.Errorf("its secret: %v", err)
		}
		if w.takes(w.hook.UID, w.hook.Secret) {
			w.Error("it takes deliveries")
		}
		if page := must[trigger.DeliveryPage](w.bench)(w.s.ListDeliveries(w.Context(), w.admin, w.factory, w.hook.UID, trigger.DeliveryQuery{Limit: 5})); len(page.Items) != 1 {
			w.Errorf("%+v", page)
		}
		w.teamSecret("NEXT", issuesSecret)
		w.apply(w.factory, with(files, "webhooks/issues.yaml", "secretName: NEXT\n"))
		if next := w.webhookNamed(w.factory, "issues"); next.UID == w.hook.UID {
			w.Error("a deleted webhook came back")
		}
		if actions := w.actions(w.hook.UID); actions[len(actions)-1] != "webhook.delete" {
			w.Errorf("%v", actions)
		}
	})
}

func TestW1NoMoreWebhooksThanAllowed(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.shopSecrets()
		uid := b.plain("plain")
		files := shop()
		for _, name := range []string{"a", "b"} {
			files["webhooks/"+name+".yaml"] = "secretName: ISSUES\n"
		}
		_, err := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: files})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if problems := asPublic(err).Problems; len(problems) != 1 || problems[0].File != "webhooks/issues.yaml" || !strings.Contains(problems[0].Message, "3 webhooks") {
			b.Error(tell(err))
		}
		b.apply(uid, with(files, "webhooks/a.yaml", ""))
	}, func(cfg *base.Config) { cfg.MaxWebhooks = 2 })
}

// A definition may name webhooks by uid, those that it keeps (F-7).
func TestF7WebhooksByUID(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		hook := b.webhookNamed(uid, "issues").UID
		byUID := replaced(shop(), "automations/triage/automation.md", "webhooks: [issues]", "webhook_ids: ["+hook+"]")
		b.apply(uid, byUID)
		if again := b.apply(uid, b.export(uid).Files); again.Changed {
			b.Errorf("%+v", again)
		}
		_, err := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: with(byUID, "webhooks/issues.yaml", "")})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if len(asPublic(err).Problems) != 1 {
			b.Error(tell(err))
		}
	})
}
