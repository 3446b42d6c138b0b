package factories

import (
	"context"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
)

// RotateWebhook replaces a webhook's secret. For one that waits for its provider's
// secret this is where it comes in, and the webhook begins to take deliveries.
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
		return lineshaft.Conflict("webhook %q takes its secret from %s, which people manage: give that a new value with "+
			"`lineshaft secret update %s --team`, then %s", w.Name, w.SecretName, w.SecretName, then)
	}
	if r.Secret == nil && secretOrigin(w) == signature.Issued {
		return lineshaft.Invalid("secret", "secrets of scheme %s are made by the provider: give the one that it shows", w.SignatureScheme)
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
		return lineshaft.Conflict("there is a secret %s by now: make the webhook use it (update it with this secret_name), or delete it", w.SecretName)
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
