package trigger

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
)

// testID is the header that tells test events apart if the sender has none of its own.
const testID = "X-Lineshaft-Delivery-Id"

// TestEvent is a delivery that someone wants to see arrive.
type TestEvent struct {
	FactoryUID, WebhookUID string
	// URL is the webhook's address, which some senders sign.
	URL string
	// Text is the body, or empty for an example, with signature.TrialID and signature.TrialNow in it.
	Text string
	// Event is what the header of the sender names, where it has one.
	Event string
}

// SignTestEvent turns an event into the request that the webhook's sender would send: signed
// with the webhook's own secret, which leaves this room only inside of it. Hand it to the
// ingress, and nowhere else.
func (s *Triggers) SignTestEvent(ctx context.Context, c lineshaft.Caller, e TestEvent) (signature.Request, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return signature.Request{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, e.FactoryUID); err != nil {
		return signature.Request{}, err
	}
	w, err := s.Store.GetWebhook(ctx, e.FactoryUID, e.WebhookUID)
	if err != nil {
		return signature.Request{}, err
	}
	if !w.DeletedAt.IsZero() || !w.Enabled || w.Credential == "" {
		return signature.Request{}, lineshaft.Conflict("webhook %q takes no deliveries now; enable it first", w.Name)
	}
	if e.Text == "" {
		e.Text, _ = signature.TrialBody(w.SignatureScheme)
		e.Event = cmp.Or(e.Event, signature.TrialEvent(w.SignatureScheme))
	}
	signed, err := s.signTest(*w, e)
	if err != nil {
		return signature.Request{}, err
	}
	return signed, s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return s.Audit(ctx, tx, c, "webhook.test", "webhook", w.UID, map[string]string{"factory_uid": w.FactoryUID})
	})
}

func (s *Triggers) signTest(w store.Webhook, e TestEvent) (signature.Request, error) {
	secret, err := s.secrets.OpenSealed(secrets.WebhookSeal(w.UID), w.Credential)
	if err != nil {
		return signature.Request{}, fmt.Errorf("open credential of webhook %s: %w", w.UID, err)
	}
	now, unique := s.Store.Now(), id.Secret(12)
	body := signature.FillTrial(e.Text, unique, now)
	r := signature.Request{Method: "POST", URL: e.URL, Header: map[string][]string{}, Body: body, Now: now}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(testID, unique)
	if w.DeliveryIDHeader != "" {
		r.Header.Set(w.DeliveryIDHeader, unique)
	}
	switch w.AuthMode {
	case lineshaft.AuthToken:
		r.Header.Set("Authorization", "Bearer "+string(secret))
	case lineshaft.AuthURLToken:
		r.URL += "/" + string(secret)
	case lineshaft.AuthSignature:
		if _, header := signature.TrialBody(w.SignatureScheme); header != "" && e.Event != "" {
			r.Header.Set(header, e.Event)
		}
		r.URL = signature.TrialURL(w.SignatureScheme, r.URL, r.Body)
		err = signature.Sign(w.SignatureScheme, signature.HMAC(w.HMAC), string(secret), &r, unique)
	}
	return r, err
}
