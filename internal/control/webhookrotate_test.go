package control_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

func (b *hookBench) rotate(w lineshaft.Webhook, r factories.WebhookRotation) (factories.IssuedWebhook, error) {
	return b.s.RotateWebhook(b.Context(), b.admin, w.FactoryUID, w.UID, r)
}

func TestW5RotationEndsTheOldSecret(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		made := b.hook(b.works(), factories.NewWebhook{Name: "ci"})
		b.clock.advance(time.Second)
		second := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{}))
		row := b.stored(made.Webhook)
		if second.Secret == made.Secret || len(second.Secret) != 43 || b.inForce(made.Webhook) != second.Secret || b.secretOf(made.SecretName) != second.Secret ||
			row.OldCredential != "" || !row.OldUntil.IsZero() || !second.UpdatedAt.After(made.UpdatedAt) || !second.CreatedAt.Equal(made.CreatedAt) {
			b.Errorf("%+v, row %+v", second, row)
		}
		given := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{Secret: new(longToken)}))
		if given.Secret != "" || b.inForce(made.Webhook) != longToken || b.secretOf(made.SecretName) != longToken {
			b.Errorf("%+v", given)
		}
	})
}

func TestW5RotationWithOverlap(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		made := b.hook(b.works(), factories.NewWebhook{Name: "ci"})
		second := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{Overlap: time.Hour}))
		row := b.stored(made.Webhook)
		if b.opened(made.UID, row.OldCredential) != made.Secret || !row.OldUntil.Equal(second.UpdatedAt.Add(time.Hour)) || b.inForce(made.Webhook) != second.Secret {
			b.Errorf("%+v", row)
		}
		_, err := b.rotate(made.Webhook, factories.WebhookRotation{Overlap: time.Minute})
		wantCode(b, err, lineshaft.CodeConflict) // the first overlap was promised for an hour
		b.clock.advance(time.Hour + time.Second)
		third := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{Overlap: lineshaft.MaxOverlap}))
		row = b.stored(made.Webhook)
		if b.opened(made.UID, row.OldCredential) != second.Secret || b.inForce(made.Webhook) != third.Secret {
			b.Errorf("two old secrets count: %+v", row)
		}
		must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{}))
		if row = b.stored(made.Webhook); row.OldCredential != "" || !row.OldUntil.IsZero() {
			b.Errorf("%+v", row)
		}
		for _, overlap := range []time.Duration{-time.Second, lineshaft.MaxOverlap + time.Second} {
			_, err := b.rotate(made.Webhook, factories.WebhookRotation{Overlap: overlap})
			ours, ok := errors.AsType[*lineshaft.Error](err)
			if !ok || ours.Field != "overlap_seconds" || ours.Code != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", overlap, err)
			}
		}
	})
}

func TestW5RefusedRotationsChangeNothing(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		token := b.hook(f, factories.NewWebhook{Name: "ci"})
		inURL := b.hook(f, factories.NewWebhook{Name: "url", AuthMode: lineshaft.AuthURLToken})
		stripe := b.hook(f, factories.NewWebhook{Name: "stripe", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe", Secret: new("whsec_first")})
		for name, tc := range map[string]struct {
			w factories.IssuedWebhook
			r factories.WebhookRotation
		}{
			"empty":                    {token, factories.WebhookRotation{Secret: new("")}},
			"short":                    {token, factories.WebhookRotation{Secret: new("short")}},
			"not for a URL":            {inURL, factories.WebhookRotation{Secret: new(longToken + "?")}},
			"issued, but none given":   {stripe, factories.WebhookRotation{}},
			"issued, but empty":        {stripe, factories.WebhookRotation{Secret: new("")}},
			"issued, with white space": {stripe, factories.WebhookRotation{Secret: new("whsec_second\n")}},
		} {
			before := b.stored(tc.w.Webhook)
			_, err := b.rotate(tc.w.Webhook, tc.r)
			ours, ok := errors.AsType[*lineshaft.Error](err)
			if !ok || ours.Field != "secret" || ours.Code != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", name, err)
			}
			if after := b.stored(tc.w.Webhook); *after != *before {
				b.Errorf("%s: changed %+v", name, after)
			}
		}
		if b.secretOf(stripe.SecretName) != "whsec_first" {
			b.Error("the secret was replaced")
		}
	})
}

// A provider that shows its secret once it knows the URL.
func TestW4SecretInASecondStep(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		made := b.hook(f, factories.NewWebhook{Name: "pay", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe", Enabled: new(true)})
		if !made.NeedsSecret || made.Enabled || made.Secret != "" || b.inForce(made.Webhook) != "" || b.secretOf(made.SecretName) != "" {
			b.Fatalf("%+v", made)
		}
		_, err := b.s.UpdateWebhook(b.Context(), b.admin, f, made.UID, factories.WebhookChange{Enabled: new(true)})
		wantConflict(b, err, "webhook rotate")
		// Its name is kept free, though there is no secret yet.
		other := b.hook(b.works(), factories.NewWebhook{Name: "pay"})
		if made.SecretName != "PAY_WEBHOOK_SECRET" || other.SecretName != "PAY_WEBHOOK_SECRET_2" {
			b.Errorf("%s, %s", made.SecretName, other.SecretName)
		}
		_, err = b.s.CreateWebhook(b.Context(), b.admin, f, factories.NewWebhook{Name: "x", SecretName: made.SecretName})
		wantConflict(b, err, made.SecretName)

		ready := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{Secret: new("whsec_theirs"), Overlap: time.Hour}))
		row := b.stored(made.Webhook)
		if ready.NeedsSecret || !ready.Enabled || ready.Secret != "" || b.inForce(made.Webhook) != "whsec_theirs" || b.secretOf(made.SecretName) != "whsec_theirs" || row.OldCredential != "" {
			b.Errorf("%+v, %+v", ready, row)
		}
		wantCode(b, b.s.DeleteWebhook(b.Context(), b.admin, f, made.UID), "")
		if b.secretOf(made.SecretName) != "" {
			b.Error("the secret outlives its webhook")
		}
	})
}

// TestW5OverlapIsTold: as long as an old secret counts, every answer says until when.
func TestW5OverlapIsTold(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		made := b.hook(f, factories.NewWebhook{Name: "ci"})
		if !made.OldSecretUntil.IsZero() {
			b.Errorf("new: %v", made.OldSecretUntil)
		}
		told := func() []lineshaft.Webhook {
			got := must[lineshaft.Webhook](b.bench)(b.s.GetWebhook(b.Context(), b.admin, f, made.UID))
			list := must[[]lineshaft.Webhook](b.bench)(b.s.ListWebhooks(b.Context(), b.admin, f))
			changed := must[lineshaft.Webhook](b.bench)(b.update(made.Webhook, factories.WebhookChange{ReplayGuard: new(true)}))
			return []lineshaft.Webhook{got, list[0], changed}
		}
		rotated := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{Overlap: time.Hour}))
		want := rotated.UpdatedAt.Add(time.Hour)
		for i, w := range append(told(), rotated.Webhook) {
			if !w.OldSecretUntil.Equal(want) {
				b.Errorf("%d: %v, want %v", i, w.OldSecretUntil, want)
			}
		}
		b.clock.advance(time.Hour)
		for i, w := range told() {
			if !w.OldSecretUntil.IsZero() {
				b.Errorf("%d, after it: %v", i, w.OldSecretUntil)
			}
		}
		if again := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{})); !again.OldSecretUntil.IsZero() {
			b.Errorf("without overlap: %v", again.OldSecretUntil)
		}
	})
}

// Two rotations at once: one secret is in force, and it is the one that is kept.
func TestW5RotationsAtOnce(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		made := b.hook(b.works(), factories.NewWebhook{Name: "ci"})
		shown := make([]string, 6)
		together(len(shown), func(i int) {
			rotated, err := b.rotate(made.Webhook, factories.WebhookRotation{})
			if err != nil {
				b.Error(err)
			}
			shown[i] = rotated.Secret
		})
		if now := b.inForce(made.Webhook); now != b.secretOf(made.SecretName) || !slices.Contains(shown, now) {
			b.Errorf("in force %q, kept %q", now, b.secretOf(made.SecretName))
		}
	})
}

// The audit log says what happened to a webhook, and no secret.
func TestS5WebhookChangesAreRecordedWithoutSecrets(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f, ctx := b.works(), b.Context()
		made := b.hook(f, factories.NewWebhook{Name: "ci", AuthMode: lineshaft.AuthSignature, SignatureScheme: "standard_webhooks"})
		second := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{Overlap: time.Minute}))
		must[lineshaft.Webhook](b.bench)(b.s.UpdateWebhook(ctx, b.admin, f, made.UID, factories.WebhookChange{Enabled: new(false), RateLimit: new(5), ReplayGuard: new(true)}))
		must[lineshaft.Webhook](b.bench)(b.s.UpdateWebhook(ctx, b.admin, f, made.UID, factories.WebhookChange{Enabled: new(true)}))
		must[lineshaft.Webhook](b.bench)(b.s.UpdateWebhook(ctx, b.admin, f, made.UID, factories.WebhookChange{Enabled: new(true), RateLimit: new(5)})) // nothing
		given := b.hook(f, factories.NewWebhook{Name: "given", Secret: new(longToken)})
		wantCode(b, b.s.DeleteWebhook(ctx, b.admin, f, made.UID), "")
		var got []string
		for _, e := range b.audits(made.UID) {
			got = append(got, e.Action)
			if e.TargetType != "webhook" || e.Detail["factory_uid"] != f || e.Detail["name"] != "ci" {
				b.Errorf("%+v", e)
			}
		}
		want := []string{"webhook.create", "webhook.rotate", "webhook.update", "webhook.disable", "webhook.enable", "webhook.delete"}
		if !slices.Equal(got, want) {
			b.Errorf("recorded %v, want %v", got, want)
		}
		if e := b.audits(made.UID)[2]; e.Detail["changed"] != "rate_limit, replay_guard" {
			b.Errorf("%+v", e)
		}
		page := must[access.AuditPage](b.bench)(b.s.ListAudit(ctx, b.admin, access.AuditQuery{Limit: 1000}))
		text := fmt.Sprintf("%+v", page)
		for _, secret := range []string{made.Secret, second.Secret, longToken, b.stored(given.Webhook).Credential} {
			if strings.Contains(text, secret) || strings.Contains(fmt.Sprint(given.Webhook), secret) {
				b.Error("a secret is told")
			}
		}
	})
}
