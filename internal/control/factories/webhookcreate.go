package factories

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
)

// secretNameTries is how often a name is suggested when others are faster; from the
// second on it is a random one.
const secretNameTries = 3

// CreateWebhook makes a webhook. A secret that was generated is in the answer and
// cannot be read again.
func (s *Factories) CreateWebhook(ctx context.Context, c lineshaft.Caller, factoryUID string, n NewWebhook) (IssuedWebhook, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return IssuedWebhook{}, err
	}
	wanted := newWebhook(factoryUID, n)
	if err := checkWebhook(wanted); err != nil {
		return IssuedWebhook{}, err
	}
	fresh, err := s.prepareSecret(wanted, n.Secret)
	if err != nil {
		return IssuedWebhook{}, err
	}
	var made IssuedWebhook
	for range secretNameTries {
		err = s.changeFactory(ctx, c, factoryUID, func(ctx context.Context, tx *store.Tx, _ *lineshaft.Factory) error {
			stored, err := s.insertWebhook(ctx, tx, c, store.Webhook{Webhook: wanted}, n, fresh)
			if err != nil {
				return err
			}
			made.Webhook, made.Secret = stored.Webhook, ""
			if fresh.generated && stored.OwnsSecret {
				made.Secret = fresh.value
			}
			return nil
		})
		if !errors.Is(err, errSecretRaced) {
			break
		}
		fresh.suffix = randomSuffix()
	}
	if err != nil {
		return IssuedWebhook{}, err
	}
	return made, nil
}

func newWebhook(factoryUID string, n NewWebhook) lineshaft.Webhook {
	w := lineshaft.Webhook{
		UID: newWebhookUID(), FactoryUID: factoryUID, Name: n.Name, AuthMode: n.AuthMode, SignatureScheme: n.SignatureScheme,
		DeliveryIDHeader: n.DeliveryIDHeader, Enabled: true, RateLimit: lineshaft.DefaultWebhookRate,
		MaxBodyBytes: lineshaft.DefaultWebhookBytes, ReplayGuard: n.ReplayGuard, HMAC: n.HMAC,
	}
	w.AuthMode = cmp.Or(w.AuthMode, lineshaft.AuthToken)
	base.Assign(&w.Enabled, n.Enabled)
	base.Assign(&w.RateLimit, n.RateLimit)
	base.Assign(&w.MaxBodyBytes, n.MaxBodyBytes)
	return w
}

// checkWebhook adds to the noun's own checks what the table of schemes knows.
func checkWebhook(w lineshaft.Webhook) error {
	if err := w.Validate(); err != nil {
		return err
	}
	return signature.Check(w)
}

// insertWebhook stores a new webhook in a locked factory, with its secret.
func (s *Factories) insertWebhook(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w store.Webhook, n NewWebhook, fresh newSecret) (*store.Webhook, error) {
	others, err := tx.ListWebhooks(ctx, w.FactoryUID)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(others, func(other store.Webhook) bool { return sameFile(other.Name, w.Name) }) {
		return nil, lineshaft.Conflict("the factory already has a webhook %q, in this or another case; choose another name", w.Name)
	}
	if len(others) >= s.Cfg.MaxWebhooks {
		return nil, lineshaft.Conflict("the factory has %d webhooks, which is its limit; delete one, or ask the operator to raise --max-webhooks-per-factory", len(others))
	}
	if err := s.attachSecret(ctx, tx, c, &w, n, fresh); err != nil {
		return nil, err
	}
	w.CreatedAt = s.Now()
	w.UpdatedAt = w.CreatedAt
	if err := tx.PutWebhook(ctx, w); err != nil {
		return &w, err
	}
	return &w, s.auditWebhook(ctx, tx, c, "webhook.create", &w, createdDetail(w.Webhook))
}

// createdDetail says how a new webhook checks its deliveries, for the audit log.
func createdDetail(w lineshaft.Webhook) map[string]string {
	detail := map[string]string{"auth_mode": string(w.AuthMode), "secret_name": w.SecretName}
	if w.SignatureScheme != "" {
		detail["signature_scheme"] = w.SignatureScheme
	}
	return detail
}
