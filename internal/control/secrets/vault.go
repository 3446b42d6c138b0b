package secrets

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/vault"
)

// Sealed values are bound to one of these names: none can be passed off as something
// else.
func SecretSeal(name string) string { return "secret/" + name }

// WebhookSeal names the credential of a webhook.
func WebhookSeal(uid string) string { return "webhook/" + uid }

// temporaryVault is for a server without a master key: what it seals is lost with it.
func temporaryVault() (*vault.Vault, error) {
	raw := make([]byte, 32)
	defer clear(raw)
	_, _ = rand.Read(raw) // never fails: without randomness the program ends
	key, err := vault.NewKey(raw)
	if err != nil {
		return nil, err
	}
	return vault.New(key), nil
}

// SealValue encrypts a value for the database and binds it to a name.
func (s *Secrets) SealValue(name string, value []byte) (string, error) {
	return s.Cfg.Vault.Seal(name, value)
}

// OpenSealed decrypts what seal made for the same name.
func (s *Secrets) OpenSealed(name, sealed string) ([]byte, error) {
	return s.Cfg.Vault.Open(name, sealed)
}

// InsertSecret seals and stores a new secret of either kind. Its times are set here.
func (s *Secrets) InsertSecret(ctx context.Context, tx *store.Tx, c lineshaft.Caller, secret lineshaft.Secret, value string) error {
	if err := errors.Join(secret.Validate(), lineshaft.CheckSecretValue(value)); err != nil {
		return err
	}
	sealed, err := s.SealValue(SecretSeal(secret.Name), []byte(value))
	if err != nil {
		return err
	}
	_, err = s.putNewSecret(ctx, tx, c, secret, sealed)
	return err
}

func (s *Secrets) putNewSecret(ctx context.Context, tx *store.Tx, c lineshaft.Caller, secret lineshaft.Secret, sealed string) (lineshaft.Secret, error) {
	secret.CreatedAt = s.Store.Now()
	secret.UpdatedAt = secret.CreatedAt
	err := tx.InsertSecret(ctx, store.Secret{Secret: secret, Sealed: sealed})
	if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
		return secret, lineshaft.Conflict("secret %s exists already; update it, or choose another name", secret.Name)
	}
	if err != nil {
		return secret, err
	}
	return secret, s.Audit(ctx, tx, c, "secret.create", "secret", secret.Name, map[string]string{"kind": string(secret.Kind), "access": string(secret.Access)})
}

// ReplaceSecretValue seals and stores another value of a secret.
func (s *Secrets) ReplaceSecretValue(ctx context.Context, tx *store.Tx, c lineshaft.Caller, name, value string) error {
	secret, err := tx.LockSecret(ctx, name)
	if err != nil {
		return err
	}
	if err := lineshaft.CheckSecretValue(value); err != nil {
		return err
	}
	if secret.Sealed, err = s.SealValue(SecretSeal(name), []byte(value)); err != nil {
		return err
	}
	secret.UpdatedAt = s.Store.Now()
	if err := tx.UpdateSecret(ctx, *secret); err != nil {
		return err
	}
	return s.Audit(ctx, tx, c, "secret.update", "secret", name, map[string]string{"value": "changed"})
}

// SecretValue reads a secret with its value and keeps it from changing until the
// transaction ends.
func (s *Secrets) SecretValue(ctx context.Context, tx *store.Tx, name string) (string, lineshaft.Secret, error) {
	secret, err := tx.LockSecret(ctx, name)
	if err != nil {
		return "", lineshaft.Secret{}, err
	}
	value, err := s.OpenSealed(SecretSeal(name), secret.Sealed)
	if err != nil {
		return "", secret.Secret, fmt.Errorf("read secret: %w", err)
	}
	return string(value), secret.Secret, nil
}

// NotificationSeal names the secret of an endpoint.
func NotificationSeal(id string) string { return "notification/" + id }
