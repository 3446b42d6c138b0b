package control_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestW5OnlyLiveWebhooksAreFound(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		if w.s.Hook(w.Context(), w.hook.UID) == nil {
			w.Error("a webhook that was just made is not found")
		}
		h := w.ready()
		if h.UID != w.hook.UID || w.s.Hook(w.Context(), "nobody") != nil || w.s.Hook(w.Context(), "") != nil {
			w.Errorf("%+v", h.Webhook)
		}
		waits := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{
			Name: "pay", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe",
		}))
		w.ready()
		if !waits.NeedsSecret || w.s.Hook(w.Context(), waits.UID) != nil {
			w.Error("a webhook without its secret takes deliveries")
		}
		w.update(factories.WebhookChange{Enabled: new(false)})
		wantCode(w, w.s.RefreshHooks(w.Context()), "")
		if w.s.Hook(w.Context(), w.hook.UID) != nil {
			w.Error("a disabled one takes deliveries")
		}
		w.update(factories.WebhookChange{Enabled: new(true)})
		if again := w.ready(); again == h {
			w.Error("the old copy is still there")
		}
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID), "")
		wantCode(w, w.s.RefreshHooks(w.Context()), "")
		if w.s.Hook(w.Context(), w.hook.UID) != nil {
			w.Error("a deleted one takes deliveries")
		}
	})
}

func TestW5TokensAndTheirOverlap(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		now, old := w.clock.now(), w.hook.Secret
		h := w.ready()
		for token, want := range map[string]bool{old: true, "": false, old + "x": false, old[1:]: false, "whatever": false} {
			if h.CheckToken(token, now) != want {
				w.Errorf("CheckToken(%q) is not %v", token, want)
			}
		}
		rotated := must[factories.IssuedWebhook](w.bench)(w.s.RotateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookRotation{Overlap: time.Hour}))
		h = w.ready()
		if !h.CheckToken(rotated.Secret, now) || !h.CheckToken(old, now) || h.CheckToken(old, now.Add(time.Hour+time.Minute)) || !h.CheckToken(rotated.Secret, now.Add(1000*time.Hour)) {
			w.Error("the overlap does not hold")
		}
		last := must[factories.IssuedWebhook](w.bench)(w.s.RotateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookRotation{}))
		h = w.ready()
		if h.CheckToken(rotated.Secret, now) || h.CheckToken(old, now) || !h.CheckToken(last.Secret, now) {
			w.Error("an old token is valid")
		}
		if loaded := w.stale(); loaded.CheckToken(last.Secret, now) || loaded.CheckToken("", now) || !errors.Is(loaded.Verify(signature.Request{}), signature.ErrNotAuthentic) {
			w.Error("a copy for looking at the log lets somebody in")
		}
	})
}

func TestW5SignaturesAndTheirOverlap(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "github", Secret: new(longToken)}, func(w *works) {
		signed := func(secret string, at time.Time) signature.Request {
			r := signature.Request{Method: "POST", Header: map[string][]string{}, Body: []byte(opened), Now: at}
			wantCode(w, signature.Sign("github", signature.HMAC{}, secret, &r, "1"), "")
			return r
		}
		now := w.clock.now()
		h := w.ready()
		if h.Provider() == nil || h.Verify(signed(longToken, now)) != nil || h.Verify(signed("another-secret-of-some-length", now)) == nil {
			w.Error("signatures are not told apart")
		}
		rotated := must[factories.IssuedWebhook](w.bench)(w.s.RotateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookRotation{Overlap: time.Minute}))
		h = w.ready()
		if h.Verify(signed(longToken, now)) != nil || h.Verify(signed(rotated.Secret, now)) != nil || h.Verify(signed(longToken, now.Add(2*time.Minute))) == nil {
			w.Error("the overlap does not hold")
		}
	})
}

// One that cannot be made ready does not take the others down.
func TestW5ABrokenWebhookIsAlone(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		broken := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "broken"}))
		row := must[*store.Webhook](w.bench)(w.store.GetWebhook(w.Context(), w.factory, broken.UID))
		row.Credential = "not sealed by us"
		w.changed(func(ctx context.Context, tx *store.Tx) error { return tx.PutWebhook(ctx, *row) })
		w.ready()
		if w.s.Hook(w.Context(), broken.UID) != nil {
			w.Error("it takes deliveries")
		}
		w.deliver("1", `{}`)
	})
}

// Every node follows, within a second, and stops when asked to.
func TestW5ChangesReachEveryNode(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		w := newWorks(t, database, factories.NewWebhook{})
		node := w
		if w.store.Engine() == "postgres" {
			node = w.node()
		}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); node.s.FollowFactories(ctx) }()
		defer func() { cancel(); <-over }()
		until := func(there bool) {
			t.Helper()
			tick, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
			defer tick.Stop()
			for (node.s.Hook(ctx, w.hook.UID) != nil) != there {
				select {
				case <-tick.C:
				case <-late:
					t.Fatalf("the node does not see that the webhook is there: %v", there)
				}
			}
		}
		until(true)
		w.update(factories.WebhookChange{Enabled: new(false)})
		until(false)
		w.update(factories.WebhookChange{Enabled: new(true)})
		until(true)
		wantCode(t, w.s.DeleteFactory(t.Context(), w.admin, w.factory), "")
		until(false)
	})
}
