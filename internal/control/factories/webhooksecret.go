package factories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
)

// errSecretRaced says that another transaction took the secret's name meanwhile.
var errSecretRaced = errors.New("the name of the secret was taken meanwhile")

// newSecret is what deliveries will be checked with, made ready before the
// transaction. It is empty while the provider's secret is still to come.
type newSecret struct {
	value     string
	sealed    string
	generated bool
	// suffix makes the suggested name of the secret another one.
	suffix string
}

// prepareSecret takes the given secret or generates one.
func (s *Factories) prepareSecret(w lineshaft.Webhook, given *string) (newSecret, error) {
	fresh := newSecret{}
	switch {
	case given != nil:
		if err := secrets.CheckCredential(w, *given); err != nil {
			return newSecret{}, adviseGenerated(w, err)
		}
		fresh.value = *given
	case secretOrigin(w) == signature.Issued:
		return newSecret{}, nil
	default:
		fresh.value, fresh.generated = signature.Generate(w.SignatureScheme), true
	}
	var err error
	fresh.sealed, err = s.sealCredential(w.UID, fresh.value)
	return fresh, err
}

// secretOrigin says who makes the secret; in the token modes it is us.
func secretOrigin(w lineshaft.Webhook) signature.SecretOrigin {
	if scheme, ok := signature.Find(w.SignatureScheme); ok {
		return scheme.SecretFrom
	}
	return signature.Generated
}

// adviseGenerated adds to the complaint about a given secret what the caller can do: only
// here can it be left out.
func adviseGenerated(w lineshaft.Webhook, err error) error {
	if secretOrigin(w) == signature.Issued {
		return err
	}
	return lineshaft.Invalid("secret", "%s; leave it out to have one generated", base.Reason(err))
}

func (s *Factories) sealCredential(uid, value string) (string, error) {
	sealed, err := s.secrets.SealValue(secrets.WebhookSeal(uid), []byte(value))
	if err != nil {
		return "", fmt.Errorf("seal credential of webhook: %w", err)
	}
	return sealed, nil
}

// attachSecret gives a new webhook its managed secret: one that people manage and
// n names, or one of its own.
func (s *Factories) attachSecret(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w *store.Webhook, n NewWebhook, fresh newSecret) error {
	if n.SecretName == "" {
		name, err := freeSecretName(ctx, tx, w.SuggestedSecretName()+fresh.suffix)
		if err != nil {
			return err
		}
		w.SecretName = name
		err = s.ownSecret(ctx, tx, c, w, fresh)
		if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
			return fmt.Errorf("%w: %w", errSecretRaced, err)
		}
		return err
	}
	if !lineshaft.ValidSecretName(n.SecretName) {
		return invalidSecretName()
	}
	_, err := tx.LockSecret(ctx, n.SecretName)
	switch {
	case err == nil && n.Secret != nil:
		return lineshaft.Conflict("secret %s exists already; leave secret out to use its value, or give another secret_name", n.SecretName)
	case err == nil:
		return s.referToSecret(ctx, tx, c, w, n.SecretName)
	case lineshaft.CodeOf(err) != lineshaft.CodeNotFound:
		return err
	}
	taken, err := tx.WebhooksWithSecret(ctx, n.SecretName)
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		return lineshaft.Conflict("secret_name %s is already reserved by another webhook; choose a different name", n.SecretName)
	}
	w.SecretName = n.SecretName
	return s.ownSecret(ctx, tx, c, w, fresh)
}

func invalidSecretName() error {
	return lineshaft.Invalid("secret_name", "must be a capital letter, then capital letters, digits and '_', at most 128 in all")
}

// ownSecret stores a webhook's credential under its secret name. Without one the
// webhook waits for it and takes nothing.
func (s *Factories) ownSecret(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w *store.Webhook, fresh newSecret) error {
	w.OwnsSecret = true
	if fresh.value == "" {
		w.NeedsSecret, w.Enabled = true, false
		return nil
	}
	w.Credential = fresh.sealed
	return s.secrets.InsertSecret(ctx, tx, c, lineshaft.Secret{
		Name: w.SecretName, Kind: lineshaft.SecretWebhook, Access: lineshaft.AccessGranted,
		Description: fmt.Sprintf("Credential of webhook %q", w.Name),
	}, fresh.value)
}

// referToSecret makes a webhook use a secret that people manage, with the value it
// has now.
func (s *Factories) referToSecret(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w *store.Webhook, name string) error {
	if err := secrets.TeamSecrets(c); err != nil {
		return err
	}
	if !lineshaft.ValidSecretName(name) {
		return invalidSecretName()
	}
	value, secret, err := s.secrets.SecretValue(ctx, tx, name)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return lineshaft.Invalid("secret_name", "there is no secret %s; create it first with `lineshaft secret create %s --team`", name, name)
	}
	if err != nil {
		return err
	}
	if secret.Kind == lineshaft.SecretWebhook {
		return lineshaft.Conflict("secret %s was made for another webhook; give another secret_name", name)
	}
	if err := secrets.CheckCredential(w.Webhook, value); err != nil {
		return lineshaft.Invalid("secret_name",
			"the value of secret %s cannot be used: %s; change it with `lineshaft secret update %s --team`, or name another one", name, base.Reason(err), name)
	}
	w.SecretName, w.OwnsSecret, w.NeedsSecret = name, false, false
	return s.putCredential(w, value)
}

// putCredential makes a value the only one that counts; the same one changes nothing.
func (s *Factories) putCredential(w *store.Webhook, value string) error {
	if w.Credential != "" {
		was, err := s.secrets.OpenSealed(secrets.WebhookSeal(w.UID), w.Credential)
		if err != nil {
			return fmt.Errorf("open credential of webhook: %w", err)
		}
		if string(was) == value {
			return nil
		}
	}
	sealed, err := s.sealCredential(w.UID, value)
	w.Credential, w.OldCredential, w.OldUntil = sealed, "", time.Time{}
	return err
}

// dropOwnedSecret removes the secret that was made for a webhook. While the webhook
// waits for its secret, one of that name is someone else's.
func (s *Factories) dropOwnedSecret(ctx context.Context, tx *store.Tx, c lineshaft.Caller, w *store.Webhook) error {
	if !w.OwnsSecret || w.NeedsSecret {
		return nil
	}
	err := tx.DeleteSecret(ctx, w.SecretName)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Audit(ctx, tx, c, "secret.delete", "secret", w.SecretName, map[string]string{"webhook": w.UID})
}

// freeSecretName finds a name that neither a secret nor a webhook that waits for
// its secret has: the suggested one, or that with a number.
func freeSecretName(ctx context.Context, tx *store.Tx, suggested string) (string, error) {
	const numbered = 20
	for n := 1; n <= numbered; n++ {
		name := suggested
		if n > 1 {
			name = fmt.Sprintf("%s_%d", suggested, n)
		}
		_, err := tx.GetSecret(ctx, name)
		if err != nil && lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			return "", err
		}
		waiting, listErr := tx.WebhooksWithSecret(ctx, name)
		if listErr != nil {
			return "", listErr
		}
		if err != nil && len(waiting) == 0 {
			return name, nil
		}
	}
	return suggested + randomSuffix(), nil
}

// randomSuffix makes a name unique without looking at many others. The longest
// name of a webhook leaves room for it.
func randomSuffix() string { return "_" + strings.ReplaceAll(strings.ToUpper(id.Secret(5)), "-", "_") }
