package factories

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// checkWebhooks decides for every webhook of the definition what becomes of it. A
// webhook keeps its uid while its name stays.
func (w *work) checkWebhooks() error {
	for _, wanted := range w.d.Webhooks {
		was, there := base.Named(w.parts.webhooks, wanted.Name, storedName)
		one := webhookWork{next: was}
		if there {
			one.was = &was
		} else {
			one.next.UID, one.next.FactoryUID, one.next.Name, one.next.CreatedAt = newWebhookUID(), w.factory.UID, wanted.Name, w.at
		}
		next := &one.next
		next.AuthMode, next.SignatureScheme, next.SecretName, next.DeliveryIDHeader = wanted.AuthMode, wanted.SignatureScheme, wanted.SecretName, wanted.DeliveryIDHeader
		next.Enabled, next.RateLimit, next.MaxBodyBytes, next.ReplayGuard, next.HMAC = wanted.Enabled, wanted.RateLimit, wanted.MaxBodyBytes, wanted.ReplayGuard, wanted.HMAC
		if err := w.giveCredential(&one); err != nil {
			return err
		}
		w.webhooks = append(w.webhooks, one)
	}
	return nil
}

// giveCredential finds what deliveries to a webhook are checked with: its own secret,
// or the value that the managed secret has now (S-1). An unsuitable one is a problem.
func (w *work) giveCredential(one *webhookWork) error {
	was, next := one.was, &one.next
	recast := was == nil || was.AuthMode != next.AuthMode || was.SignatureScheme != next.SignatureScheme || was.HMAC != next.HMAC
	if recast {
		// What was valid under other rules must not stay so under these.
		next.OldCredential, next.OldUntil = "", time.Time{}
	}
	owned := was != nil && was.OwnsSecret && was.SecretName == next.SecretName
	switch {
	case owned && was.NeedsSecret && !recast && (w.secrets[next.SecretName] == nil || secrets.TeamSecrets(w.c) != nil):
		if next.Enabled {
			w.webhookProblem(next, "enabled", fmt.Sprintf("webhook %q has no secret yet", next.Name),
				"give it the one that the provider shows with `lineshaft webhook rotate`, which enables it, or write enabled: false")
		}
		return nil
	case owned && !was.NeedsSecret:
		return w.takeValue(next, w.secrets[next.SecretName])
	}
	next.OwnsSecret, next.NeedsSecret = false, false
	secret := w.secrets[next.SecretName]
	switch {
	case next.SecretName == "": // the folder itself is wrong
	case secret == nil:
		w.webhookProblem(next, "secretName", "there is no secret "+next.SecretName, createSecretHint(next.SecretName))
	case secret.Kind == lineshaft.SecretWebhook:
		w.webhookProblem(next, "secretName", fmt.Sprintf("secret %s was made for another webhook", next.SecretName), "create a secret of another name and write that one here")
	case (was == nil || was.SecretName != next.SecretName || was.NeedsSecret) && secrets.TeamSecrets(w.c) != nil:
		w.webhookProblem(next, "secretName", base.Reason(secrets.TeamSecrets(w.c)), "")
	default:
		return w.takeValue(next, secret)
	}
	return nil
}

func createSecretHint(name string) string {
	return fmt.Sprintf("create it with `lineshaft secret create %s --team`, then apply again", name)
}

// takeValue makes the value of a secret a webhook's credential, if it does.
func (w *work) takeValue(next *store.Webhook, secret *store.Secret) error {
	if secret == nil {
		w.webhookProblem(next, "secretName", fmt.Sprintf("secret %s is gone", next.SecretName), createSecretHint(next.SecretName))
		return nil
	}
	value, err := w.s.secrets.OpenSealed(secrets.SecretSeal(secret.Name), secret.Sealed)
	if err != nil {
		return fmt.Errorf("open secret %s: %w", secret.Name, err)
	}
	if err := secrets.CheckCredential(next.Webhook, string(value)); err != nil {
		if w.bad[w.d.Problem(definition.KindWebhook, next.Name, "", "", "").File] {
			return nil // its mode may be what is wrong
		}
		w.webhookProblem(next, "secretName", fmt.Sprintf("the value of secret %s cannot be used: %s", secret.Name, base.Reason(err)),
			fmt.Sprintf("change it with `lineshaft secret update %s --team`, or name another one", secret.Name))
		return nil
	}
	return w.s.putCredential(next, string(value))
}

func (w *work) webhookProblem(next *store.Webhook, field, message, hint string) {
	w.problems = append(w.problems, w.d.Problem(definition.KindWebhook, next.Name, field, message, hint))
}

// freshCredentials counts the webhooks that take over a changed secret although
// their definition stays.
func (w *work) freshCredentials() int {
	count := 0
	for _, one := range w.webhooks {
		if one.was != nil && *one.was != one.next && definedWebhook(one.was.Webhook) == definedWebhook(one.next.Webhook) {
			count++
		}
	}
	return count
}

// writeWebhooks removes, adds and changes webhooks, with the secrets that are theirs.
func (w *work) writeWebhooks(ctx context.Context, tx *store.Tx) error {
	for i := range w.parts.webhooks {
		was := &w.parts.webhooks[i]
		if _, stays := base.Named(w.d.Webhooks, was.Name, webhookName); stays {
			continue
		}
		gone := *was
		if err := w.s.endWebhook(ctx, tx, w.c, &gone); err != nil {
			return err
		}
	}
	for _, one := range w.webhooks {
		if err := w.writeWebhook(ctx, tx, one); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) writeWebhook(ctx context.Context, tx *store.Tx, one webhookWork) error {
	was, next := one.was, one.next
	if was != nil && *was == next {
		return nil
	}
	next.UpdatedAt = w.at
	if was == nil {
		if err := tx.PutWebhook(ctx, next); err != nil {
			return err
		}
		return w.s.auditWebhook(ctx, tx, w.c, "webhook.create", &next, createdDetail(next.Webhook))
	}
	if was.OwnsSecret && !next.OwnsSecret {
		if err := w.s.dropOwnedSecret(ctx, tx, w.c, was); err != nil {
			return err
		}
	}
	return w.s.storeChange(ctx, tx, w.c, was.Webhook, &next)
}
