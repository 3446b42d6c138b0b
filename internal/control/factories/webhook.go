package factories

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
)

// NewWebhook asks for a webhook. What is left out gets its default.
type NewWebhook struct {
	Name string
	// AuthMode is token when empty.
	AuthMode        lineshaft.AuthMode
	SignatureScheme string
	// Secret is nil when left out: it is then generated, read from SecretName, or still
	// to come from the provider.
	Secret           *string
	SecretName       string
	DeliveryIDHeader string
	Enabled          *bool
	RateLimit        *int
	MaxBodyBytes     *int
	ReplayGuard      bool
	HMAC             lineshaft.WebhookHMAC
}

// WebhookChange says what to change; nil keeps. The first four are here to be
// refused with the way that there is instead.
type WebhookChange struct {
	Name            *string
	AuthMode        *lineshaft.AuthMode
	SignatureScheme *string
	Secret          *string

	SecretName       *string
	DeliveryIDHeader *string
	Enabled          *bool
	RateLimit        *int
	MaxBodyBytes     *int
	ReplayGuard      *bool
	HMAC             *lineshaft.WebhookHMAC
}

// WebhookRotation asks for a new secret.
type WebhookRotation struct {
	// Secret is nil to generate a new one.
	Secret *string
	// Overlap is how long the old secret stays valid; 0 ends it at once.
	Overlap time.Duration
}

// IssuedWebhook is a webhook with the secret that was generated for it. The secret is
// shown only this time; it is empty when people brought their own.
type IssuedWebhook struct {
	lineshaft.Webhook

	Secret string
}

// SignatureSchemes lists the names of the signature schemes.
func SignatureSchemes() []string { return signature.Names() }

// GetWebhook reads a live webhook.
func (s *Factories) GetWebhook(ctx context.Context, c lineshaft.Caller, factoryUID, uid string) (lineshaft.Webhook, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return lineshaft.Webhook{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return lineshaft.Webhook{}, err
	}
	w, err := s.Store.GetWebhook(ctx, factoryUID, uid)
	if err != nil {
		return lineshaft.Webhook{}, err
	}
	return s.told(w), live(w)
}

func (s *Factories) told(w *store.Webhook) lineshaft.Webhook {
	out := w.Webhook
	if w.OldCredential != "" && s.Store.Now().Before(w.OldUntil) {
		out.OldSecretUntil = w.OldUntil
	}
	return out
}

// ListWebhooks reads a factory's webhooks by name.
func (s *Factories) ListWebhooks(ctx context.Context, c lineshaft.Caller, factoryUID string) ([]lineshaft.Webhook, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return nil, err
	}
	stored, err := s.Store.ListWebhooks(ctx, factoryUID)
	var list []lineshaft.Webhook
	for i := range stored {
		list = append(list, s.told(&stored[i]))
	}
	// Databases order text in their own ways.
	slices.SortFunc(list, func(a, b lineshaft.Webhook) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// live refuses a deleted webhook whose row is kept for the log.
func live(w *store.Webhook) error {
	if !w.DeletedAt.IsZero() {
		return lineshaft.NotFound("webhook", w.UID)
	}
	return nil
}

// DeleteWebhook ends a webhook at once. Its log stays until it is old enough, and
// automations that select it stay and do not fire.
func (s *Factories) DeleteWebhook(ctx context.Context, c lineshaft.Caller, factoryUID, uid string) error {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return err
	}
	return s.changeWebhook(ctx, c, factoryUID, uid, func(ctx context.Context, tx *store.Tx, w *store.Webhook) error {
		return s.endWebhook(ctx, tx, c, w)
	})
}

// endWebhook makes a webhook a row that is left for its log.
func (s *Factories) endWebhook(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w *store.Webhook) error {
	if err := s.dropOwnedSecret(ctx, tx, c, w); err != nil {
		return err
	}
	w.Credential, w.OldCredential, w.OldUntil = "", "", time.Time{}
	w.Enabled, w.UpdatedAt = false, s.Now()
	w.DeletedAt = w.UpdatedAt
	if err := tx.PutWebhook(ctx, *w); err != nil {
		return err
	}
	return s.auditWebhook(ctx, tx, c, "webhook.delete", w, nil)
}

// changeWebhook makes one change to a live webhook, in a transaction with its
// factory locked. fn changes it, says when by UpdatedAt, and stores it.
func (s *Factories) changeWebhook(ctx context.Context, c lineshaft.Caller, factoryUID, uid string, fn func(context.Context, *store.Tx, *store.Webhook) error) error {
	return s.changeFactory(ctx, c, factoryUID, func(ctx context.Context, tx *store.Tx, _ *lineshaft.Factory) error {
		w, err := tx.GetWebhook(ctx, factoryUID, uid)
		if err != nil {
			return err
		}
		if err := live(w); err != nil {
			return err
		}
		return fn(ctx, tx, w)
	})
}

func (s *Factories) auditWebhook(ctx context.Context, tx *store.Tx, c lineshaft.Caller, action string, w *store.Webhook, detail map[string]string) error {
	if detail == nil {
		detail = map[string]string{}
	}
	detail["factory_uid"], detail["name"] = w.FactoryUID, w.Name
	return s.Audit(ctx, tx, c, action, "webhook", w.UID, detail)
}

// newWebhookUID makes the part of the address that cannot be guessed. One that
// begins with a dash would read as a flag in a command line.
func newWebhookUID() string {
	for {
		if uid := id.Secret(20); uid[0] != '-' {
			return uid
		}
	}
}

// Listeners reads the automations of a factory that listen to a webhook, by name:
// those that fall silent without it.
func (s *Factories) Listeners(ctx context.Context, c lineshaft.Caller, factoryUID, webhookUID string) ([]lineshaft.Automation, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	w, err := s.GetWebhook(ctx, c, factoryUID, webhookUID)
	if err != nil {
		return nil, err
	}
	found, err := s.Store.ListAutomations(ctx, factoryUID)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(a lineshaft.Automation) bool {
		return !slices.ContainsFunc(a.Triggers, func(t lineshaft.Trigger) bool { return trigger.Listens(t, w) })
	})
	slices.SortFunc(found, func(a, b lineshaft.Automation) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// reached are the uids of those factories that the caller's key reaches.
func reached(c lineshaft.Caller, factories []lineshaft.Factory) []string {
	var uids []string
	for _, f := range factories {
		if c.MaySeeFactory(f.UID) {
			uids = append(uids, f.UID)
		}
	}
	return uids
}

// WebhooksOf reads the webhooks of the factories that the caller's key reaches, by
// factory and in the order of their names.
func (s *Factories) WebhooksOf(ctx context.Context, c lineshaft.Caller, factories []lineshaft.Factory) (map[string][]lineshaft.Webhook, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	stored, err := s.Store.WebhooksOf(ctx, reached(c, factories)...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(stored, func(a, b store.Webhook) int { return strings.Compare(a.Name, b.Name) })
	found := map[string][]lineshaft.Webhook{}
	for i := range stored {
		found[stored[i].FactoryUID] = append(found[stored[i].FactoryUID], s.told(&stored[i]))
	}
	return found, nil
}

// LastDeliveries reads the newest delivery of each webhook of the factories that the
// caller's key reaches, by webhook; those without one are left out.
func (s *Factories) LastDeliveries(ctx context.Context, c lineshaft.Caller, factories []lineshaft.Factory) (map[string]lineshaft.Delivery, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	found, err := s.Store.LastDeliveries(ctx, reached(c, factories)...)
	last := make(map[string]lineshaft.Delivery, len(found))
	for _, d := range found {
		last[d.WebhookUID] = d
	}
	return last, err
}
