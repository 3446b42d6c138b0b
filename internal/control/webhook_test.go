package control_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/vault"
)

// longToken is a secret that every mode takes.
const longToken = "0123456789abcdefghijklmnopqrstuv"

// hookBench is a bench that can look behind the seals.
type hookBench struct {
	*bench
	vault *vault.Vault
}

// eachHook runs fn with a fresh control plane on every engine.
func eachHook(t *testing.T, fn func(b *hookBench), settings ...func(*base.Config)) {
	t.Helper()
	key, err := vault.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	box := vault.New(key)
	settings = append(settings, func(cfg *base.Config) { cfg.Vault = box })
	each(t, func(b *bench) { fn(&hookBench{b, box}) }, settings...)
}

// wantConflict checks for a conflict whose message says something.
func wantConflict(tb testing.TB, err error, says string) {
	tb.Helper()
	wantCode(tb, err, lineshaft.CodeConflict)
	if !strings.Contains(err.Error(), says) {
		tb.Errorf("%v does not say %s", err, says)
	}
}

// works makes a factory and returns its uid.
func (b *hookBench) works() string { return b.factory("works", "").UID }

func (b *hookBench) hook(factory string, n controlfactories.NewWebhook) controlfactories.IssuedWebhook {
	b.Helper()
	return must[controlfactories.IssuedWebhook](b.bench)(b.s.CreateWebhook(b.Context(), b.admin, factory, n))
}

// stored is a webhook with its sealed credentials.
func (b *hookBench) stored(w lineshaft.Webhook) *store.Webhook {
	b.Helper()
	return must[*store.Webhook](b.bench)(b.store.GetWebhook(b.Context(), w.FactoryUID, w.UID))
}

// opened unseals a credential of a webhook.
func (b *hookBench) opened(uid, sealed string) string {
	b.Helper()
	if sealed == "" {
		return ""
	}
	return string(must[[]byte](b.bench)(b.vault.Open("webhook/"+uid, sealed)))
}

// inForce is the secret that deliveries are checked with.
func (b *hookBench) inForce(w lineshaft.Webhook) string {
	return b.opened(w.UID, b.stored(w).Credential)
}

// secretOf is the value of a managed secret; empty when there is none.
func (b *hookBench) secretOf(name string) string {
	b.Helper()
	secret, err := b.store.GetSecret(b.Context(), name)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound && err != nil {
		return ""
	}
	wantCode(b, err, "")
	return string(must[[]byte](b.bench)(b.vault.Open("secret/"+name, secret.Sealed)))
}

func TestW1DefaultsOfAWebhook(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		made := b.hook(f, controlfactories.NewWebhook{Name: "internal-ci"})
		if len(made.UID) < 26 || !lineshaft.URLSafe(made.UID) || made.UID[0] == '-' {
			b.Errorf("uid %q", made.UID)
		}
		want := lineshaft.Webhook{
			UID: made.UID, FactoryUID: f, Name: "internal-ci", AuthMode: lineshaft.AuthToken, SecretName: "INTERNAL_CI_WEBHOOK_SECRET", OwnsSecret: true,
			Enabled: true, RateLimit: 60, MaxBodyBytes: 262_144, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt,
		}
		if made.Webhook != want || made.CreatedAt.IsZero() {
			b.Errorf("made %+v\nwant %+v", made.Webhook, want)
		}
		if read := must[lineshaft.Webhook](b.bench)(b.s.GetWebhook(b.Context(), b.admin, f, made.UID)); read != want {
			b.Errorf("read %+v\nwant %+v", read, want)
		}
		if len(made.Secret) != 43 || !lineshaft.URLSafe(made.Secret) || b.inForce(made.Webhook) != made.Secret || b.secretOf(made.SecretName) != made.Secret {
			b.Errorf("secret %q, in force %q, kept %q", made.Secret, b.inForce(made.Webhook), b.secretOf(made.SecretName))
		}
		kept := must[*store.Secret](b.bench)(b.store.GetSecret(b.Context(), made.SecretName))
		if kept.Kind != lineshaft.SecretWebhook || kept.Access != lineshaft.AccessGranted {
			b.Errorf("%+v", kept.Secret)
		}
	})
}

func TestW1WhatIsRefused(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		sign := func(scheme string, change ...func(*controlfactories.NewWebhook)) controlfactories.NewWebhook {
			n := controlfactories.NewWebhook{Name: "n", AuthMode: lineshaft.AuthSignature, SignatureScheme: scheme}
			for _, fn := range change {
				fn(&n)
			}
			return n
		}
		idHeader := func(name string) func(*controlfactories.NewWebhook) {
			return func(n *controlfactories.NewWebhook) { n.DeliveryIDHeader = name }
		}
		hmac := func(n *controlfactories.NewWebhook) {
			n.HMAC = lineshaft.WebhookHMAC{Header: "X-Sig", TimestampHeader: "X-Time", Template: "{timestamp}.{body}", IDHeader: "X-Id"}
		}
		for name, tc := range map[string]struct {
			n     controlfactories.NewWebhook
			field string
		}{
			"no name":                 {controlfactories.NewWebhook{}, "name"},
			"slash":                   {controlfactories.NewWebhook{Name: "a/b"}, "name"},
			"emoji":                   {controlfactories.NewWebhook{Name: "hook 🪝"}, "name"},
			"dots":                    {controlfactories.NewWebhook{Name: ".."}, "name"},
			"long name":               {controlfactories.NewWebhook{Name: strings.Repeat("n", 101)}, "name"},
			"unknown mode":            {controlfactories.NewWebhook{Name: "n", AuthMode: "basic"}, "auth_mode"},
			"scheme without mode":     {controlfactories.NewWebhook{Name: "n", SignatureScheme: "github"}, "signature_scheme"},
			"mode without scheme":     {sign(""), "signature_scheme"},
			"unknown scheme":          {sign("GitHub"), "signature_scheme"},
			"negative rate":           {controlfactories.NewWebhook{Name: "n", RateLimit: new(-1)}, "rate_limit"},
			"too much rate":           {controlfactories.NewWebhook{Name: "n", RateLimit: new(60_001)}, "rate_limit"},
			"no bytes":                {controlfactories.NewWebhook{Name: "n", MaxBodyBytes: new(0)}, "max_body_bytes"},
			"too many bytes":          {controlfactories.NewWebhook{Name: "n", MaxBodyBytes: new(1<<20 + 1)}, "max_body_bytes"},
			"hmac elsewhere":          {sign("github", hmac), "hmac"},
			"hmac without settings":   {sign("hmac"), "hmac.header"},
			"not a header":            {controlfactories.NewWebhook{Name: "n", DeliveryIDHeader: "X Id"}, "delivery_id_header"},
			"header with colon":       {controlfactories.NewWebhook{Name: "n", DeliveryIDHeader: "X-Id:"}, "delivery_id_header"},
			"credential header":       {controlfactories.NewWebhook{Name: "n", DeliveryIDHeader: "aUTHORIZATION"}, "delivery_id_header"},
			"cookie":                  {controlfactories.NewWebhook{Name: "n", DeliveryIDHeader: "Cookie"}, "delivery_id_header"},
			"length as id":            {controlfactories.NewWebhook{Name: "n", DeliveryIDHeader: "content-length"}, "delivery_id_header"},
			"host as id":              {controlfactories.NewWebhook{Name: "n", DeliveryIDHeader: "HOST"}, "delivery_id_header"},
			"signature header":        {sign("github", idHeader("x-hub-signature-256")), "delivery_id_header"},
			"gitlab's token header":   {sign("gitlab", idHeader("X-GITLAB-TOKEN")), "delivery_id_header"},
			"time header":             {sign("slack", idHeader("x-slack-request-timestamp")), "delivery_id_header"},
			"hmac's own header":       {sign("hmac", hmac, idHeader("x-sig")), "delivery_id_header"},
			"hmac's time header":      {sign("hmac", hmac, idHeader("x-time")), "delivery_id_header"},
			"empty secret":            {controlfactories.NewWebhook{Name: "n", Secret: new("")}, "secret"},
			"empty signing secret":    {sign("github", func(n *controlfactories.NewWebhook) { n.Secret = new("") }), "secret"},
			"empty issued secret":     {sign("stripe", func(n *controlfactories.NewWebhook) { n.Secret = new("") }), "secret"},
			"short token":             {controlfactories.NewWebhook{Name: "n", Secret: new(longToken[:23])}, "secret"},
			"long token":              {controlfactories.NewWebhook{Name: "n", Secret: new(strings.Repeat("x", 4097))}, "secret"},
			"token with a line end":   {controlfactories.NewWebhook{Name: "n", Secret: new(longToken + "\n")}, "secret"},
			"token with a space":      {controlfactories.NewWebhook{Name: "n", Secret: new(longToken + " x")}, "secret"},
			"token outside ASCII":     {controlfactories.NewWebhook{Name: "n", Secret: new(longToken + "é")}, "secret"},
			"token not for URLs":      {controlfactories.NewWebhook{Name: "n", AuthMode: lineshaft.AuthURLToken, Secret: new(longToken + "/x")}, "secret"},
			"short token in a URL":    {controlfactories.NewWebhook{Name: "n", AuthMode: lineshaft.AuthURLToken, Secret: new("short")}, "secret"},
			"short Standard Webhooks": {sign("standard_webhooks", func(n *controlfactories.NewWebhook) { n.Secret = new("whsec_c2hvcnQ=") }), "secret"},
			"no public key":           {sign("discord", func(n *controlfactories.NewWebhook) { n.Secret = new("xyz") }), "secret"},
			"secret name":             {controlfactories.NewWebhook{Name: "n", SecretName: "lower"}, "secret_name"},
			"long secret name":        {controlfactories.NewWebhook{Name: "n", SecretName: strings.Repeat("N", 129)}, "secret_name"},
		} {
			_, err := b.s.CreateWebhook(b.Context(), b.admin, f, tc.n)
			ours, ok := errors.AsType[*lineshaft.Error](err)
			if !ok || ours.Code != lineshaft.CodeInvalidRequest || ours.Field != tc.field {
				b.Errorf("%s: %v, want field %s", name, err, tc.field)
			}
		}
		if list := must[[]lineshaft.Webhook](b.bench)(b.s.ListWebhooks(b.Context(), b.admin, f)); len(list) != 0 {
			b.Errorf("a refused request made %+v", list)
		}
		if secrets := must[[]store.Secret](b.bench)(b.store.ListSecrets(b.Context(), "", "", 10, false)); len(secrets) != 0 {
			b.Errorf("a refused request made %+v", secrets)
		}
	})
}

// Every scheme can be made without saying more than its name; whose secrets come
// from the provider wait for them.
func TestW4EveryScheme(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		schemes := signature.Schemes()
		if len(schemes) < 25 {
			b.Errorf("only %d schemes", len(schemes))
		}
		for _, scheme := range schemes {
			n := controlfactories.NewWebhook{Name: scheme.Name, AuthMode: lineshaft.AuthSignature, SignatureScheme: scheme.Name}
			if scheme.Name == "hmac" {
				n.HMAC = lineshaft.WebhookHMAC{Header: "X-Sig"}
			}
			f := b.works()
			made := b.hook(f, n)
			issued := scheme.SecretFrom == signature.Issued
			if made.NeedsSecret != issued || made.Enabled == issued || (made.Secret == "") != issued || b.inForce(made.Webhook) != made.Secret {
				b.Errorf("%s: %+v", scheme.Name, made)
			}
			if scheme.Name == "standard_webhooks" && !strings.HasPrefix(made.Secret, "whsec_") {
				b.Errorf("%q", made.Secret)
			}
			if !made.OwnsSecret || made.SecretName == "" || b.secretOf(made.SecretName) != made.Secret {
				b.Errorf("%s: %+v", scheme.Name, made)
			}
		}
	})
}

// A secret that was given is used and never shown.
func TestW3GivenSecretIsNotEchoed(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		for _, mode := range []lineshaft.AuthMode{lineshaft.AuthToken, lineshaft.AuthURLToken} {
			made := b.hook(f, controlfactories.NewWebhook{Name: string(mode), AuthMode: mode, Secret: new(longToken)})
			if made.Secret != "" || b.inForce(made.Webhook) != longToken || !made.OwnsSecret {
				b.Errorf("%+v", made)
			}
		}
		made := b.hook(f, controlfactories.NewWebhook{Name: "stripe", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe", Secret: new("whsec_x"), SecretName: "MY_STRIPE"})
		if made.Secret != "" || made.NeedsSecret || !made.Enabled || made.SecretName != "MY_STRIPE" || b.secretOf("MY_STRIPE") != "whsec_x" {
			b.Errorf("%+v", made)
		}
		disabled := b.hook(f, controlfactories.NewWebhook{Name: "off", Enabled: new(false), RateLimit: new(0), MaxBodyBytes: new(1 << 20), ReplayGuard: true, DeliveryIDHeader: "X-My-Id"})
		if disabled.Enabled || disabled.NeedsSecret || disabled.RateLimit != 0 || disabled.MaxBodyBytes != 1<<20 || !disabled.ReplayGuard || disabled.DeliveryIDHeader != "X-My-Id" || disabled.Secret == "" {
			b.Errorf("%+v", disabled)
		}
	})
}

func TestW1NamesAreUniqueInAFactory(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f, other := b.works(), b.works()
		first := b.hook(f, controlfactories.NewWebhook{Name: "ci"})
		_, err := b.s.CreateWebhook(b.Context(), b.admin, f, controlfactories.NewWebhook{Name: "ci"})
		wantConflict(b, err, `"ci"`)
		second := b.hook(other, controlfactories.NewWebhook{Name: "ci"})
		third := b.hook(b.works(), controlfactories.NewWebhook{Name: "ci"})
		if first.SecretName != "CI_WEBHOOK_SECRET" || second.SecretName != "CI_WEBHOOK_SECRET_2" || third.SecretName != "CI_WEBHOOK_SECRET_3" {
			b.Errorf("%s, %s, %s", first.SecretName, second.SecretName, third.SecretName)
		}
		wantCode(b, b.s.DeleteWebhook(b.Context(), b.admin, f, first.UID), "")
		again := b.hook(f, controlfactories.NewWebhook{Name: "ci"})
		if again.UID == first.UID || again.SecretName != "CI_WEBHOOK_SECRET" {
			b.Errorf("%+v", again)
		}
		b.hook(f, controlfactories.NewWebhook{Name: "aa"})
		b.hook(f, controlfactories.NewWebhook{Name: "B"})
		var names []string
		for _, w := range must[[]lineshaft.Webhook](b.bench)(b.s.ListWebhooks(b.Context(), b.admin, f)) {
			names = append(names, w.Name)
		}
		if !slices.Equal(names, []string{"B", "aa", "ci"}) {
			b.Errorf("%v", names)
		}
	})
}

// Thirty at once: twenty are made.
func TestW1LimitHoldsInARace(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		errs := make([]error, 30)
		together(len(errs), func(i int) {
			_, errs[i] = b.s.CreateWebhook(b.Context(), b.admin, f, controlfactories.NewWebhook{Name: fmt.Sprint("hook ", i)})
		})
		refused := 0
		for _, err := range errs {
			if err != nil {
				refused++
				wantConflict(b, err, "--max-webhooks-per-factory")
			}
		}
		list := must[[]lineshaft.Webhook](b.bench)(b.s.ListWebhooks(b.Context(), b.admin, f))
		if refused != 10 || len(list) != 20 {
			b.Fatalf("%d refused, %d made", refused, len(list))
		}
		wantCode(b, b.s.DeleteWebhook(b.Context(), b.admin, f, list[3].UID), "")
		b.hook(f, controlfactories.NewWebhook{Name: "one more"})
		_, err := b.s.CreateWebhook(b.Context(), b.admin, f, controlfactories.NewWebhook{Name: "too many"})
		wantConflict(b, err, "20 webhooks")
		b.hook(b.works(), controlfactories.NewWebhook{Name: "elsewhere"})
	})
}

// Factories that suggest the same name for a secret at the same time do not fail.
func TestW3SuggestedNamesInARace(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		factories := make([]string, 8)
		for i := range factories {
			factories[i] = b.works()
		}
		names := make([]string, len(factories))
		together(len(factories), func(i int) {
			made, err := b.s.CreateWebhook(b.Context(), b.admin, factories[i], controlfactories.NewWebhook{Name: "ci"})
			if err != nil {
				b.Error(err)
			}
			names[i] = made.SecretName
		})
		slices.Sort(names)
		if len(slices.Compact(names)) != len(factories) {
			b.Errorf("%v", names)
		}
	})
}

func TestW3DeleteWebhook(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		made := b.hook(f, controlfactories.NewWebhook{Name: "ci"})
		must[controlfactories.IssuedWebhook](b.bench)(b.s.RotateWebhook(b.Context(), b.admin, f, made.UID, controlfactories.WebhookRotation{Overlap: lineshaft.MaxOverlap}))
		wantCode(b, b.s.DeleteWebhook(b.Context(), b.admin, f, made.UID), "")
		row := b.stored(made.Webhook)
		if row.DeletedAt.IsZero() || row.Credential != "" || row.OldCredential != "" || row.Enabled || b.secretOf(made.SecretName) != "" {
			b.Errorf("%+v", row)
		}
		_, err := b.s.GetWebhook(b.Context(), b.admin, f, made.UID)
		wantCode(b, err, lineshaft.CodeNotFound)
		wantCode(b, b.s.DeleteWebhook(b.Context(), b.admin, f, made.UID), lineshaft.CodeNotFound)
		_, err = b.s.UpdateWebhook(b.Context(), b.admin, f, made.UID, controlfactories.WebhookChange{Enabled: new(true)})
		wantCode(b, err, lineshaft.CodeNotFound)
		_, err = b.s.RotateWebhook(b.Context(), b.admin, f, made.UID, controlfactories.WebhookRotation{})
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// A key that is limited to factories finds no webhook of others, nor does a wrong
// pair of factory and webhook name one.
func TestS3WebhooksOfOtherFactories(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f, other := b.works(), b.works()
		made := b.hook(f, controlfactories.NewWebhook{Name: "ci"})
		limited, ctx := b.caller(lineshaft.RoleManager, other), b.Context()
		for name, at := range map[string]struct {
			c       lineshaft.Caller
			factory string
		}{"foreign factory": {limited, f}, "wrong factory": {b.admin, other}, "no factory": {b.admin, "nowhere"}} {
			_, getErr := b.s.GetWebhook(ctx, at.c, at.factory, made.UID)
			_, updateErr := b.s.UpdateWebhook(ctx, at.c, at.factory, made.UID, controlfactories.WebhookChange{Enabled: new(false)})
			_, rotateErr := b.s.RotateWebhook(ctx, at.c, at.factory, made.UID, controlfactories.WebhookRotation{})
			for _, err := range []error{getErr, updateErr, rotateErr, b.s.DeleteWebhook(ctx, at.c, at.factory, made.UID)} {
				if err == nil || lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
					b.Errorf("%s: %v", name, err)
				}
			}
		}
		_, listErr := b.s.ListWebhooks(ctx, limited, f)
		_, createErr := b.s.CreateWebhook(ctx, limited, f, controlfactories.NewWebhook{Name: "x"})
		for _, err := range []error{listErr, createErr} {
			wantCode(b, err, lineshaft.CodeNotFound)
		}
		if b.inForce(made.Webhook) != made.Secret {
			b.Error("it was changed")
		}
	})
}

func awayWebhookCalls(b *bench, one func(name string, call func() (any, error))) {
	ctx, s, c := b.Context(), b.s, b.admin
	one("CreateWebhook", func() (any, error) { return s.CreateWebhook(ctx, c, "f", controlfactories.NewWebhook{Name: "w"}) })
	one("GetWebhook", func() (any, error) { return s.GetWebhook(ctx, c, "f", "w") })
	one("ListWebhooks", func() (any, error) { return s.ListWebhooks(ctx, c, "f") })
	one("UpdateWebhook", func() (any, error) { return s.UpdateWebhook(ctx, c, "f", "w", controlfactories.WebhookChange{}) })
	one("RotateWebhook", func() (any, error) { return s.RotateWebhook(ctx, c, "f", "w", controlfactories.WebhookRotation{}) })
	one("DeleteWebhook", func() (any, error) { return nil, s.DeleteWebhook(ctx, c, "f", "w") })
}
