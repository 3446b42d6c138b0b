package store

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Webhook is a webhook with its sealed credentials.
type Webhook struct {
	lineshaft.Webhook

	Credential string
	// OldCredential counts until OldUntil, after a rotation with overlap.
	OldCredential string
	OldUntil      time.Time
}

const webhookColumns = `uid, factory_uid, name, auth_mode, signature_scheme, secret_name, owns_secret, delivery_id_header, enabled, needs_secret,
	rate_limit, max_body_bytes, replay_guard, hmac, credential, old_credential, old_until, created_at, updated_at, deleted_at`

func scanWebhook(scan rowScan) (*Webhook, error) {
	w := &Webhook{}
	return w, scan(&w.UID, &w.FactoryUID, &w.Name, &w.AuthMode, &w.SignatureScheme, &w.SecretName, toFlag(&w.OwnsSecret), &w.DeliveryIDHeader,
		toFlag(&w.Enabled), toFlag(&w.NeedsSecret), &w.RateLimit, &w.MaxBodyBytes, toFlag(&w.ReplayGuard), toJSON(&w.HMAC), &w.Credential, &w.OldCredential,
		toTime(&w.OldUntil), toTime(&w.CreatedAt), toTime(&w.UpdatedAt), toTime(&w.DeletedAt))
}

// PutWebhook stores a webhook, new or changed; another live one of the same name
// in the factory is a conflict. The name of a stored one stays.
func (tx *Tx) PutWebhook(ctx context.Context, w Webhook) error {
	hmac, err := encode(w.HMAC)
	if err != nil {
		return err
	}
	return tx.do(ctx, "put webhook", `INSERT INTO webhooks (`+webhookColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
		ON CONFLICT (uid) DO UPDATE SET auth_mode = excluded.auth_mode, signature_scheme = excluded.signature_scheme, secret_name = excluded.secret_name, owns_secret = excluded.owns_secret,
		delivery_id_header = excluded.delivery_id_header, enabled = excluded.enabled, needs_secret = excluded.needs_secret,
		rate_limit = excluded.rate_limit, max_body_bytes = excluded.max_body_bytes, replay_guard = excluded.replay_guard, hmac = excluded.hmac,
		credential = excluded.credential, old_credential = excluded.old_credential, old_until = excluded.old_until,
		updated_at = excluded.updated_at, deleted_at = excluded.deleted_at`,
		w.UID, w.FactoryUID, w.Name, w.AuthMode, w.SignatureScheme, w.SecretName, flag(w.OwnsSecret), w.DeliveryIDHeader, flag(w.Enabled),
		flag(w.NeedsSecret), w.RateLimit, w.MaxBodyBytes, flag(w.ReplayGuard), hmac, w.Credential, w.OldCredential, micros(w.OldUntil),
		micros(w.CreatedAt), micros(w.UpdatedAt), micros(w.DeletedAt))
}

// GetWebhook reads a webhook of a factory, also a deleted one.
func (r reader) GetWebhook(ctx context.Context, factoryUID, uid string) (*Webhook, error) {
	return only(r.webhooks(ctx, "WHERE uid = $1 AND factory_uid = $2", uid, factoryUID)).orNotFound("webhook", uid)
}

// FindWebhook reads a webhook whose factory is not known, also a deleted one.
func (r reader) FindWebhook(ctx context.Context, uid string) (*Webhook, error) {
	return only(r.webhooks(ctx, "WHERE uid = $1", uid)).orNotFound("webhook", uid)
}

// ListWebhooks reads the live webhooks of a factory by name.
func (r reader) ListWebhooks(ctx context.Context, factoryUID string) ([]Webhook, error) {
	return r.webhooks(ctx, "WHERE factory_uid = $1 AND deleted_at = 0 ORDER BY name", factoryUID)
}

// WebhooksOf reads the live webhooks of factories, in no order.
func (r reader) WebhooksOf(ctx context.Context, factoryUIDs ...string) ([]Webhook, error) {
	if len(factoryUIDs) == 0 {
		return nil, nil
	}
	var args []any
	return r.webhooks(ctx, "WHERE deleted_at = 0 AND factory_uid IN "+list(&args, factoryUIDs), args...)
}

// WebhooksWithSecret reads the live webhooks that name a secret.
func (r reader) WebhooksWithSecret(ctx context.Context, name string) ([]Webhook, error) {
	return r.webhooks(ctx, "WHERE secret_name = $1 AND deleted_at = 0 ORDER BY factory_uid, name", name)
}

// ListCredentials reads live webhooks in the order of their uid, from after one on:
// for a change of the master key.
func (r reader) ListCredentials(ctx context.Context, after string, limit int) ([]Webhook, error) {
	return r.webhooks(ctx, "WHERE uid > $1 AND deleted_at = 0 ORDER BY uid LIMIT $2", after, limit)
}

// SetCredentials replaces the sealed credentials if they are still the given ones.
func (tx *Tx) SetCredentials(ctx context.Context, was Webhook, credential, old string) error {
	_, err := tx.exec(ctx, "UPDATE webhooks SET credential = $4, old_credential = $5 WHERE uid = $1 AND credential = $2 AND old_credential = $3",
		was.UID, was.Credential, was.OldCredential, credential, old)
	return err
}

func (r reader) webhooks(ctx context.Context, where string, args ...any) ([]Webhook, error) {
	return collect(ctx, r, "read webhooks", "SELECT "+webhookColumns+" FROM webhooks "+where, args, scanWebhook)
}
