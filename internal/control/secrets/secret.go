package secrets

import (
	"cmp"
	"context"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
)

// maxUses bounds how many users of a secret a refusal to delete it names.
const maxUses = 5

// SecretChange is what to change in a secret; nil keeps a value.
type SecretChange struct {
	Value       *string
	Description *string
	Access      *lineshaft.SecretAccess
}

// SecretPage is a page of secrets, by name.
type SecretPage = base.Page[lineshaft.Secret]

// TeamSecrets says whether a caller's key reaches secrets, which belong to the team.
func TeamSecrets(c lineshaft.Caller) error {
	if len(c.FactoryUIDs) > 0 {
		return lineshaft.Denied("secrets belong to the whole team, and your key is limited to some factories; use another key")
	}
	return nil
}

// mayTouch says whether a caller may look at or change a secret of that name.
func mayTouch(c lineshaft.Caller, name string) error {
	if err := TeamSecrets(c); err != nil {
		return err
	}
	if !lineshaft.ValidSecretName(name) { // no database can be asked for every text
		return lineshaft.NotFound("secret", name)
	}
	return nil
}

// CreateSecret stores a secret that people manage. Its value cannot be read again.
func (s *Secrets) CreateSecret(ctx context.Context, c lineshaft.Caller, secret lineshaft.Secret, value string) (lineshaft.Secret, error) {
	if err := c.Need(lineshaft.PermissionSecrets); err != nil {
		return lineshaft.Secret{}, err
	}
	secret.Kind = lineshaft.SecretManaged
	secret.Access = cmp.Or(secret.Access, lineshaft.AccessGranted)
	if err := TeamSecrets(c); err != nil {
		return lineshaft.Secret{}, err
	}
	if err := secret.Validate(); err != nil {
		return lineshaft.Secret{}, err
	}
	if err := lineshaft.CheckSecretValue(value); err != nil {
		return lineshaft.Secret{}, err
	}
	sealed, err := s.SealValue(SecretSeal(secret.Name), []byte(value))
	if err != nil {
		return lineshaft.Secret{}, err
	}
	var made lineshaft.Secret
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		made, err = s.putNewSecret(ctx, tx, c, secret, sealed)
		return err
	})
	return made, err
}

// UpdateSecret changes a secret. Runs that begin later get the new value.
func (s *Secrets) UpdateSecret(ctx context.Context, c lineshaft.Caller, name string, change SecretChange) (lineshaft.Secret, error) {
	if err := c.Need(lineshaft.PermissionSecrets); err != nil {
		return lineshaft.Secret{}, err
	}
	if err := mayTouch(c, name); err != nil {
		return lineshaft.Secret{}, err
	}
	if change == (SecretChange{}) {
		return lineshaft.Secret{}, lineshaft.Invalid("value", "nothing to change; give a value, a description or an access")
	}
	sealed := ""
	if change.Value != nil {
		err := lineshaft.CheckSecretValue(*change.Value)
		if err == nil {
			sealed, err = s.SealValue(SecretSeal(name), []byte(*change.Value))
		}
		if err != nil {
			return lineshaft.Secret{}, err
		}
	}
	var changed lineshaft.Secret
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		secret, err := tx.LockSecret(ctx, name)
		if err != nil {
			return err
		}
		if change.Value != nil {
			if err := fitsOwner(ctx, tx, secret, *change.Value); err != nil {
				return err
			}
		}
		detail := change.apply(secret, sealed)
		if err := secret.Validate(); err != nil {
			return err
		}
		secret.UpdatedAt = s.Store.Now()
		changed = secret.Secret
		if err := tx.UpdateSecret(ctx, *secret); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "secret.update", "secret", name, detail)
	})
	return changed, err
}

// apply writes the change into a secret and says for the audit log what it was, without
// the value.
func (change SecretChange) apply(secret *store.Secret, sealed string) map[string]string {
	detail := map[string]string{}
	if sealed != "" {
		secret.Sealed = sealed
		detail["value"] = "changed"
	}
	if change.Description != nil {
		secret.Description = *change.Description
		detail["description"] = "changed"
	}
	if change.Access != nil {
		secret.Access = *change.Access
		detail["access"] = string(*change.Access)
	}
	return detail
}

// fitsOwner refuses a value that the webhook which owns a secret could not check its
// deliveries with. The webhook takes a new value when its definition next applies (S-1).
func fitsOwner(ctx context.Context, tx *store.Tx, secret *store.Secret, value string) error {
	if secret.Kind != lineshaft.SecretWebhook {
		return nil
	}
	hooks, err := tx.WebhooksWithSecret(ctx, secret.Name)
	if err != nil {
		return err
	}
	for _, hook := range hooks {
		if !hook.OwnsSecret {
			continue
		}
		if err := CheckCredential(hook.Webhook, value); err != nil {
			return lineshaft.Invalid("value", "webhook %q cannot use it: %s", hook.Name, base.Reason(err))
		}
	}
	return nil
}

// GetSecret reads a secret without its value.
func (s *Secrets) GetSecret(ctx context.Context, c lineshaft.Caller, name string) (lineshaft.Secret, error) {
	if err := c.Need(lineshaft.PermissionSecrets); err != nil {
		return lineshaft.Secret{}, err
	}
	if err := mayTouch(c, name); err != nil {
		return lineshaft.Secret{}, err
	}
	secret, err := s.Store.GetSecret(ctx, name)
	if err != nil {
		return lineshaft.Secret{}, err
	}
	return secret.Secret, nil
}

// ListSecrets reads secrets without their values, by name: of one kind, or of all for an empty one.
func (s *Secrets) ListSecrets(ctx context.Context, c lineshaft.Caller, kind lineshaft.SecretKind, limit int, cursor string) (SecretPage, error) {
	if err := c.Need(lineshaft.PermissionSecrets); err != nil {
		return SecretPage{}, err
	}
	if err := TeamSecrets(c); err != nil {
		return SecretPage{}, err
	}
	nameOf := func(one *lineshaft.Secret) string { return one.Name }
	return base.ReadPage("secrets", cursor, nameOf, func(after string) ([]lineshaft.Secret, bool, error) {
		found, err := s.Store.ListSecrets(ctx, kind, after, limit+1, false)
		list := make([]lineshaft.Secret, min(len(found), limit))
		for i := range list {
			list[i] = found[i].Secret
		}
		return list, len(found) > limit, err
	})
}

// DeleteSecret removes a secret that no definition names.
func (s *Secrets) DeleteSecret(ctx context.Context, c lineshaft.Caller, name string) error {
	if err := c.Need(lineshaft.PermissionSecrets); err != nil {
		return err
	}
	if err := mayTouch(c, name); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// The lock keeps definitions from naming it meanwhile: they take it as well.
		if _, err := tx.LockSecret(ctx, name); err != nil {
			return err
		}
		uses, err := secretUses(ctx, tx, name)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return lineshaft.Conflict("secret %s is in use by %s; change these first", name, NameUses(texts(uses)))
		}
		if err := tx.DeleteSecret(ctx, name); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "secret.delete", "secret", name, nil)
	})
}

// CheckCredential says whether deliveries could safely be checked with a secret,
// without saying what it is.
func CheckCredential(w lineshaft.Webhook, secret string) error {
	if w.AuthMode == lineshaft.AuthSignature {
		_, err := signature.New(w.SignatureScheme, signature.HMAC(w.HMAC), secret)
		return err
	}
	switch {
	case len(secret) < lineshaft.MinTokenBytes:
		return lineshaft.Invalid("secret", "the secret has %d bytes; it needs at least %d", len(secret), lineshaft.MinTokenBytes)
	case len(secret) > lineshaft.MaxTokenBytes:
		return lineshaft.Invalid("secret", "the secret is longer than %d bytes", lineshaft.MaxTokenBytes)
	case w.AuthMode == lineshaft.AuthURLToken && !lineshaft.URLSafe(secret):
		return lineshaft.Invalid("secret", "in a URL it may have only letters, digits and . _ ~ - (and no line break)")
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		return lineshaft.Invalid("secret", "a header can carry only printable ASCII without spaces or line breaks")
	}
	return nil
}
