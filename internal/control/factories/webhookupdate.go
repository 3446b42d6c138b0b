package factories

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
)

// UpdateWebhook changes a webhook. Values that it already has may be sent again.
func (s *Factories) UpdateWebhook(ctx context.Context, c lineshaft.Caller, factoryUID, uid string, change WebhookChange) (lineshaft.Webhook, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return lineshaft.Webhook{}, err
	}
	var changed lineshaft.Webhook
	err := s.changeWebhook(ctx, c, factoryUID, uid, func(ctx context.Context, tx *store.Tx, w *store.Webhook) error {
		if err := change.refused(w.Webhook); err != nil {
			return err
		}
		was := *w
		if err := s.applyChange(ctx, tx, c, w, change); err != nil {
			return err
		}
		if changed = s.told(w); *w == was {
			return errUnchanged
		}
		w.UpdatedAt = s.Now()
		changed = s.told(w)
		return s.storeChange(ctx, tx, c, was.Webhook, w)
	})
	return changed, err
}

// refused names what a webhook keeps for its life.
func (change WebhookChange) refused(w lineshaft.Webhook) error {
	const second = "create a second webhook, move the sender to it, then delete this one"
	switch {
	case change.Name != nil && *change.Name != w.Name:
		return lineshaft.NotSupported("name", "renaming is not supported; "+second)
	case change.AuthMode != nil && *change.AuthMode != w.AuthMode:
		return lineshaft.NotSupported("auth_mode", "a webhook keeps its mode; "+second)
	case change.SignatureScheme != nil && *change.SignatureScheme != w.SignatureScheme:
		return lineshaft.NotSupported("signature_scheme", "a webhook keeps its scheme; "+second)
	case change.Secret != nil:
		return lineshaft.Invalid("secret", "a secret is replaced with POST …/webhooks/%s/rotate", w.UID)
	}
	return nil
}

func (s *Factories) applyChange(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w *store.Webhook, change WebhookChange) error {
	base.Assign(&w.DeliveryIDHeader, change.DeliveryIDHeader)
	base.Assign(&w.RateLimit, change.RateLimit)
	base.Assign(&w.MaxBodyBytes, change.MaxBodyBytes)
	base.Assign(&w.ReplayGuard, change.ReplayGuard)
	base.Assign(&w.HMAC, change.HMAC)
	if err := checkWebhook(w.Webhook); err != nil {
		return err
	}
	if name := change.SecretName; name != nil && (*name != w.SecretName || w.NeedsSecret) {
		owned := *w
		if err := s.referToSecret(ctx, tx, c, w, *name); err != nil {
			return err
		}
		if err := s.dropOwnedSecret(ctx, tx, c, &owned); err != nil {
			return err
		}
	}
	if change.Enabled == nil || *change.Enabled == w.Enabled {
		return nil
	}
	w.Enabled = *change.Enabled
	if !w.Enabled {
		return nil
	}
	return s.refreshCredential(ctx, tx, w)
}

// refreshCredential takes the value that the managed secret has now: a changed value
// reaches the webhook when it is switched on (S-1).
func (s *Factories) refreshCredential(ctx context.Context, tx *store.Tx, w *store.Webhook) error {
	if w.NeedsSecret {
		return lineshaft.Conflict("webhook %q has no secret yet; give it the one that the provider shows with `lineshaft webhook rotate` or POST …/rotate, which also enables it", w.Name)
	}
	value, _, err := s.secrets.SecretValue(ctx, tx, w.SecretName)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return lineshaft.Conflict("secret %s of webhook %q is gone; create it again, or name another secret_name", w.SecretName, w.Name)
	}
	if err != nil {
		return err
	}
	if err := secrets.CheckCredential(w.Webhook, value); err != nil {
		return lineshaft.Conflict("the value of secret %s cannot be used: %s; change it with `lineshaft secret update %s --team`", w.SecretName, base.Reason(err), w.SecretName)
	}
	return s.putCredential(w, value)
}

// storeChange stores a changed webhook and records what changed: the switch separately,
// everything else by name.
func (s *Factories) storeChange(ctx context.Context, tx *store.Tx, c lineshaft.Caller, was lineshaft.Webhook, w *store.Webhook) error {
	errs := []error{tx.PutWebhook(ctx, *w)}
	if fields := changedFields(was, w.Webhook); fields != "" {
		errs = append(errs, s.auditWebhook(ctx, tx, c, "webhook.update", w, map[string]string{"changed": fields}))
	}
	if was.Enabled != w.Enabled {
		action := "webhook.disable"
		if w.Enabled {
			action = "webhook.enable"
		}
		errs = append(errs, s.auditWebhook(ctx, tx, c, action, w, nil))
	}
	return errors.Join(errs...)
}

func changedFields(was, is lineshaft.Webhook) string {
	var names []string
	for _, field := range []struct {
		name    string
		changed bool
	}{
		{"auth_mode", was.AuthMode != is.AuthMode},
		{"signature_scheme", was.SignatureScheme != is.SignatureScheme},
		{"secret_name", was.SecretName != is.SecretName || was.OwnsSecret != is.OwnsSecret},
		{"delivery_id_header", was.DeliveryIDHeader != is.DeliveryIDHeader},
		{"rate_limit", was.RateLimit != is.RateLimit},
		{"max_body_bytes", was.MaxBodyBytes != is.MaxBodyBytes},
		{"replay_guard", was.ReplayGuard != is.ReplayGuard},
		{"hmac", was.HMAC != is.HMAC},
	} {
		if field.changed {
			names = append(names, field.name)
		}
	}
	return strings.Join(names, ", ")
}

// RotateWebhook replaces a webhook's secret. A webhook that waits for its provider's
// secret gets it here, and begins to take deliveries.
func (s *Factories) RotateWebhook(ctx context.Context, c lineshaft.Caller, factoryUID, uid string, r WebhookRotation) (IssuedWebhook, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return IssuedWebhook{}, err
	}
	if r.Overlap < 0 || r.Overlap > lineshaft.MaxOverlap {
		return IssuedWebhook{}, lineshaft.Invalid("overlap_seconds", "must be 0 to %d", int(lineshaft.MaxOverlap/time.Second))
	}
	// Mode and scheme seldom change: the secret is made before the transaction.
	was, err := s.GetWebhook(ctx, c, factoryUID, uid)
	if err != nil {
		return IssuedWebhook{}, err
	}
	f, err := s.VisibleFactory(ctx, c, factoryUID)
	if err != nil {
		return IssuedWebhook{}, err
	}
	if err := mayRotate(f.Mode, was, r); err != nil {
		return IssuedWebhook{}, err
	}
	fresh, err := s.prepareSecret(was, r.Secret)
	if err != nil {
		return IssuedWebhook{}, err
	}
	var made IssuedWebhook
	err = s.changeWebhook(ctx, c, factoryUID, uid, func(ctx context.Context, tx *store.Tx, w *store.Webhook) error {
		if err := mayRotate(f.Mode, w.Webhook, r); err != nil {
			return err
		}
		if err := secrets.CheckCredential(w.Webhook, fresh.value); err != nil { // a definition changed the mode or scheme just now
			return err
		}
		w.UpdatedAt = s.Now()
		if err := s.rotate(ctx, tx, c, w, fresh, r.Overlap); err != nil {
			return err
		}
		made.Webhook, made.Secret = s.told(w), ""
		if fresh.generated {
			made.Secret = fresh.value
		}
		return nil
	})
	if err != nil {
		return IssuedWebhook{}, err
	}
	return made, nil
}

func mayRotate(mode lineshaft.FactoryMode, w lineshaft.Webhook, r WebhookRotation) error {
	if !w.OwnsSecret {
		then := "disable and enable the webhook"
		if mode == lineshaft.ModeRepository {
			then = "apply the repository again with `lineshaft factory sync`"
		}
		return lineshaft.Conflict("webhook %q uses the managed secret %s: give that a new value with "+
			"`lineshaft secret update %s --team`, then %s", w.Name, w.SecretName, w.SecretName, then)
	}
	if r.Secret == nil && secretOrigin(w) == signature.Issued {
		return lineshaft.Invalid("secret", "the provider makes the secrets of scheme %s: give the one that it shows", w.SignatureScheme)
	}
	return nil
}

func (s *Factories) rotate(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w *store.Webhook, fresh newSecret, overlap time.Duration) error {
	detail := map[string]string{"overlap_seconds": strconv.Itoa(int(overlap / time.Second))}
	if w.NeedsSecret {
		return s.firstSecret(ctx, tx, c, w, fresh, detail)
	}
	if overlap > 0 && w.OldCredential != "" && w.OldUntil.After(w.UpdatedAt) {
		return lineshaft.Conflict("the secret before this one is still valid until %s; wait until then, or rotate without overlap, which ends both", w.OldUntil.Format(time.RFC3339))
	}
	w.OldCredential, w.OldUntil = "", time.Time{}
	if overlap > 0 {
		w.OldCredential, w.OldUntil = w.Credential, w.UpdatedAt.Add(overlap)
	}
	w.Credential = fresh.sealed
	if err := s.secrets.ReplaceSecretValue(ctx, tx, c, w.SecretName, fresh.value); err != nil {
		return err
	}
	if err := tx.PutWebhook(ctx, *w); err != nil {
		return err
	}
	return s.auditWebhook(ctx, tx, c, "webhook.rotate", w, detail)
}

// firstSecret brings a webhook that waited for its secret to life.
func (s *Factories) firstSecret(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w *store.Webhook, fresh newSecret, detail map[string]string) error {
	if _, err := tx.LockSecret(ctx, w.SecretName); err == nil {
		return lineshaft.Conflict("there is now a secret %s: make the webhook use it (update it with this secret_name), or delete it", w.SecretName)
	} else if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
		return err
	}
	if err := s.ownSecret(ctx, tx, c, w, fresh); err != nil {
		return err
	}
	w.NeedsSecret, w.Enabled = false, true
	if err := tx.PutWebhook(ctx, *w); err != nil {
		return err
	}
	if err := s.auditWebhook(ctx, tx, c, "webhook.rotate", w, detail); err != nil {
		return err
	}
	return s.auditWebhook(ctx, tx, c, "webhook.enable", w, nil)
}
