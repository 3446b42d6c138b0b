package control_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store"
)

func (b *hookBench) update(w lineshaft.Webhook, change factories.WebhookChange) (lineshaft.Webhook, error) {
	return b.s.UpdateWebhook(b.Context(), b.admin, w.FactoryUID, w.UID, change)
}

// toggle switches a webhook off and on.
func (b *hookBench) toggle(w lineshaft.Webhook) error {
	_, off := b.update(w, factories.WebhookChange{Enabled: new(false)})
	_, on := b.update(w, factories.WebhookChange{Enabled: new(true)})
	return errors.Join(off, on)
}

// people give a managed secret a value.
func (b *hookBench) people(name, value string) {
	b.Helper()
	sealed, err := b.vault.Seal("secret/"+name, []byte(value))
	wantCode(b, err, "")
	err = b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		secret := store.Secret{Secret: lineshaft.Secret{Name: name, Kind: lineshaft.SecretManaged, Access: lineshaft.AccessGranted, CreatedAt: b.clock.now()}, Sealed: sealed}
		if _, err := tx.GetSecret(ctx, name); err == nil {
			return tx.UpdateSecret(ctx, secret)
		}
		return tx.InsertSecret(ctx, secret)
	})
	wantCode(b, err, "")
}

func TestW3UpdateWebhook(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		made := b.hook(b.works(), factories.NewWebhook{Name: "ci", DeliveryIDHeader: "X-Id"})
		b.clock.advance(time.Second)
		changed := must[lineshaft.Webhook](b.bench)(b.update(made.Webhook, factories.WebhookChange{
			Name: new("ci"), AuthMode: new(lineshaft.AuthToken), SignatureScheme: new(""), SecretName: new(made.SecretName), // as they are
			DeliveryIDHeader: new("X-Other"), Enabled: new(false), RateLimit: new(0), MaxBodyBytes: new(1000), ReplayGuard: new(true),
		}))
		want := made.Webhook
		want.DeliveryIDHeader, want.Enabled, want.RateLimit, want.MaxBodyBytes, want.ReplayGuard, want.UpdatedAt = "X-Other", false, 0, 1000, true, changed.UpdatedAt
		if changed != want || !changed.UpdatedAt.After(made.UpdatedAt) {
			b.Errorf("%+v\nwant %+v", changed, want)
		}
		if read := must[lineshaft.Webhook](b.bench)(b.s.GetWebhook(b.Context(), b.admin, made.FactoryUID, made.UID)); read != want {
			b.Errorf("%+v", read)
		}
		b.clock.advance(time.Second)
		if same := must[lineshaft.Webhook](b.bench)(b.update(made.Webhook, factories.WebhookChange{RateLimit: new(0), Enabled: new(false)})); same != want {
			b.Errorf("no change changed %+v", same)
		}
		cleared := must[lineshaft.Webhook](b.bench)(b.update(made.Webhook, factories.WebhookChange{DeliveryIDHeader: new("")}))
		if cleared.DeliveryIDHeader != "" || b.inForce(made.Webhook) != made.Secret {
			b.Errorf("%+v", cleared)
		}
	})
}

func TestW3WhatAWebhookKeeps(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		made := b.hook(b.works(), factories.NewWebhook{
			Name: "ci", AuthMode: lineshaft.AuthSignature, SignatureScheme: "hmac", HMAC: lineshaft.WebhookHMAC{Header: "X-Sig"},
		})
		before := b.stored(made.Webhook)
		for name, tc := range map[string]struct {
			change factories.WebhookChange
			code   lineshaft.Code
			field  string
		}{
			"name":           {factories.WebhookChange{Name: new("other")}, lineshaft.CodeNotSupported, "name"},
			"no name":        {factories.WebhookChange{Name: new("")}, lineshaft.CodeNotSupported, "name"},
			"mode":           {factories.WebhookChange{AuthMode: new(lineshaft.AuthToken)}, lineshaft.CodeNotSupported, "auth_mode"},
			"scheme":         {factories.WebhookChange{SignatureScheme: new("github")}, lineshaft.CodeNotSupported, "signature_scheme"},
			"secret":         {factories.WebhookChange{Secret: new(longToken)}, lineshaft.CodeInvalidRequest, "secret"},
			"rate":           {factories.WebhookChange{RateLimit: new(-5)}, lineshaft.CodeInvalidRequest, "rate_limit"},
			"bytes":          {factories.WebhookChange{MaxBodyBytes: new(2 << 20)}, lineshaft.CodeInvalidRequest, "max_body_bytes"},
			"id header":      {factories.WebhookChange{DeliveryIDHeader: new("X-SIG")}, lineshaft.CodeInvalidRequest, "delivery_id_header"},
			"no hmac":        {factories.WebhookChange{HMAC: new(lineshaft.WebhookHMAC{})}, lineshaft.CodeInvalidRequest, "hmac.header"},
			"bad hmac":       {factories.WebhookChange{HMAC: &lineshaft.WebhookHMAC{Header: "X-Sig", Digest: "md5"}}, lineshaft.CodeInvalidRequest, "hmac.digest"},
			"bad name":       {factories.WebhookChange{SecretName: new("lower")}, lineshaft.CodeInvalidRequest, "secret_name"},
			"no such name":   {factories.WebhookChange{SecretName: new("NOT_THERE")}, lineshaft.CodeInvalidRequest, "secret_name"},
			"one of twain":   {factories.WebhookChange{RateLimit: new(7), Name: new("x")}, lineshaft.CodeNotSupported, "name"},
			"without a name": {factories.WebhookChange{SecretName: new("")}, lineshaft.CodeInvalidRequest, "secret_name"},
		} {
			_, err := b.update(made.Webhook, tc.change)
			ours, ok := errors.AsType[*lineshaft.Error](err)
			if !ok || ours.Code != tc.code || ours.Field != tc.field {
				b.Errorf("%s: %v", name, err)
			}
		}
		if after := b.stored(made.Webhook); *after != *before {
			b.Errorf("changed %+v", after)
		}
		changed := must[lineshaft.Webhook](b.bench)(b.update(made.Webhook, factories.WebhookChange{HMAC: &lineshaft.WebhookHMAC{Header: "X-Other", Digest: "sha512"}}))
		if changed.HMAC.Header != "X-Other" || b.inForce(made.Webhook) != made.Secret {
			b.Errorf("%+v", changed)
		}
	})
}

// A secret that people manage: used, never shown, taken again when the webhook is
// switched on.
func TestS1ReferencedSecret(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		b.people("CI_TOKEN", longToken)
		made := b.hook(f, factories.NewWebhook{Name: "ci", SecretName: "CI_TOKEN"})
		if made.Secret != "" || made.OwnsSecret || made.SecretName != "CI_TOKEN" || b.inForce(made.Webhook) != longToken {
			b.Fatalf("%+v", made)
		}
		_, err := b.rotate(made.Webhook, factories.WebhookRotation{})
		wantConflict(b, err, "lineshaft secret update CI_TOKEN")
		_, err = b.s.CreateWebhook(b.Context(), b.admin, f, factories.NewWebhook{Name: "x", SecretName: "CI_TOKEN", Secret: new(longToken)})
		wantConflict(b, err, "CI_TOKEN")

		b.people("CI_TOKEN", longToken+"-2")
		must[lineshaft.Webhook](b.bench)(b.update(made.Webhook, factories.WebhookChange{Enabled: new(true), RateLimit: new(3)}))
		if b.inForce(made.Webhook) != longToken {
			b.Error("the new value came without switching")
		}
		wantCode(b, b.toggle(made.Webhook), "")
		if b.inForce(made.Webhook) != longToken+"-2" {
			b.Error("the new value did not come")
		}
		sealed := b.stored(made.Webhook).Credential
		wantCode(b, b.toggle(made.Webhook), "")
		if b.stored(made.Webhook).Credential != sealed {
			b.Error("the same value was sealed again")
		}

		b.people("CI_TOKEN", "short")
		wantConflict(b, b.toggle(made.Webhook), "CI_TOKEN")
		if row := b.stored(made.Webhook); row.Enabled || b.inForce(made.Webhook) != longToken+"-2" {
			b.Errorf("%+v", row)
		}
		wantCode(b, b.s.DeleteWebhook(b.Context(), b.admin, f, made.UID), "")
		if b.secretOf("CI_TOKEN") != "short" {
			b.Error("the people's secret went with the webhook")
		}
	})
}

func TestW3ReferencesThatDoNotDo(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		owner := b.hook(f, factories.NewWebhook{Name: "owner"})
		_, err := b.s.CreateWebhook(b.Context(), b.admin, f, factories.NewWebhook{Name: "thief", SecretName: owner.SecretName})
		wantConflict(b, err, "another webhook")
		b.people("SHORT", "short")
		b.people("SPACED", longToken+" x")
		for name, n := range map[string]factories.NewWebhook{
			"short":         {Name: "n", SecretName: "SHORT"},
			"not for a URL": {Name: "n", AuthMode: lineshaft.AuthURLToken, SecretName: "SPACED"},
			"not a key":     {Name: "n", AuthMode: lineshaft.AuthSignature, SignatureScheme: "standard_webhooks", SecretName: "SHORT"},
		} {
			_, err := b.s.CreateWebhook(b.Context(), b.admin, f, n)
			ours, ok := errors.AsType[*lineshaft.Error](err)
			if !ok || ours.Code != lineshaft.CodeInvalidRequest || ours.Field != "secret_name" {
				b.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestW3SwitchToAnotherSecret(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		b.people("CI_TOKEN", longToken)
		made := b.hook(f, factories.NewWebhook{Name: "ci"})
		must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{Overlap: time.Hour}))
		changed := must[lineshaft.Webhook](b.bench)(b.update(made.Webhook, factories.WebhookChange{SecretName: new("CI_TOKEN")}))
		row := b.stored(made.Webhook)
		if changed.OwnsSecret || changed.SecretName != "CI_TOKEN" || b.inForce(made.Webhook) != longToken || row.OldCredential != "" || b.secretOf(made.SecretName) != "" {
			b.Errorf("%+v, %+v", changed, row)
		}
		// A webhook that waits can be pointed at one, also at one of the name it waits for.
		for _, name := range []string{"PAY_WEBHOOK_SECRET", "CI_TOKEN"} {
			waiting := b.hook(f, factories.NewWebhook{Name: "pay", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe"})
			b.people("PAY_WEBHOOK_SECRET", "whsec_people")
			_, err := b.rotate(waiting.Webhook, factories.WebhookRotation{Secret: new("whsec_x")})
			if name == waiting.SecretName {
				wantConflict(b, err, waiting.SecretName)
			} else {
				wantCode(b, err, "")
			}
			changed := must[lineshaft.Webhook](b.bench)(b.update(waiting.Webhook, factories.WebhookChange{SecretName: new(name), Enabled: new(true)}))
			if changed.NeedsSecret || !changed.Enabled || changed.OwnsSecret || b.inForce(waiting.Webhook) != b.secretOf(name) || b.secretOf("PAY_WEBHOOK_SECRET") != "whsec_people" {
				b.Errorf("%s: %+v", name, changed)
			}
			wantCode(b, b.s.DeleteWebhook(b.Context(), b.admin, f, waiting.UID), "")
		}
	})
}

// While a webhook waits for its secret, one of that name belongs to people.
func TestW3DeletingAWaitingWebhookSparesSecrets(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		first, second := b.works(), b.works()
		stripe := factories.NewWebhook{Name: "pay", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe"}
		waiting := b.hook(first, stripe)
		b.people(waiting.SecretName, "whsec_people")
		wantCode(b, b.s.DeleteWebhook(b.Context(), b.admin, first, waiting.UID), "")
		stripe.Name = "pay more"
		more := b.hook(second, stripe)
		b.people(more.SecretName, "whsec_more")
		owner := b.hook(second, factories.NewWebhook{Name: "owner"})
		wantCode(b, b.s.DeleteFactory(b.Context(), b.admin, second), "")
		if b.secretOf(waiting.SecretName) != "whsec_people" || b.secretOf(more.SecretName) != "whsec_more" || b.secretOf(owner.SecretName) != "" {
			b.Error("a secret went that should stay, or the other way round")
		}
	})
}
