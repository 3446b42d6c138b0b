package secrets

import (
	"context"
	"errors"
	"fmt"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/vault"
)

const (
	// ProbeSetting holds a text sealed under the master key that this database's
	// secrets are under: a server with another key finds out before it does harm.
	ProbeSetting = "vault_probe"

	// rewrapBatch is how many secrets are wrapped again in one transaction.
	rewrapBatch = 100
)

// checkVault makes sure that this server has the master key of this database. The first
// server decides which one that is.
func (s *Secrets) checkVault(ctx context.Context) error {
	mine, err := s.SealValue(ProbeSetting, []byte(ProbeSetting))
	if err != nil {
		return err
	}
	var probe string
	if err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		probe, err = tx.EnsureSetting(ctx, ProbeSetting, mine)
		return err
	}); err != nil {
		return fmt.Errorf("check master key: %w", err)
	}
	_, err = s.OpenSealed(ProbeSetting, probe)
	if errors.Is(err, vault.ErrUnknownKey) {
		return fmt.Errorf("the secrets in this database are not encrypted with this server's master key %s: %w; all servers of a database need the same key", s.Cfg.Vault.CurrentID(), err)
	}
	if err != nil {
		return fmt.Errorf("check master key: %w", err)
	}
	return s.checkNotificationKeys(ctx)
}

// checkNotificationKeys makes sure that this server opens the secrets which it signs with for
// endpoints. The probe does not vouch for them: a node of the version before callbacks, still
// running while this one is rolled out, moves the probe to a new key without them.
func (s *Secrets) checkNotificationKeys(ctx context.Context) error {
	list, err := s.Store.ListNotifications(ctx)
	if err != nil {
		return fmt.Errorf("check master key: %w", err)
	}
	for _, n := range list {
		if !n.Enabled {
			continue
		}
		_, err := s.OpenSealed(NotificationSeal(n.ID), n.Credential)
		if !errors.Is(err, vault.ErrUnknownKey) && s.Store.Now().Before(n.OldUntil) {
			_, err = s.OpenSealed(NotificationSeal(n.ID), n.OldCredential)
		}
		if errors.Is(err, vault.ErrUnknownKey) {
			return fmt.Errorf("the secret of notification %q is not encrypted with this server's master key %s: %w; it was left behind when the key was changed", n.Name, s.Cfg.Vault.CurrentID(), err)
		}
	}
	return nil
}

// SealedCount counts what a look at everything sealed found.
type SealedCount struct {
	// Current are under the current master key already.
	Current int
	// Old are under an older key; RewrapSecrets has wrapped them again.
	Old int
	// Stuck are damaged, or under a key that this server does not have.
	Stuck int
}

// RewrapSecrets puts everything that is sealed under an older master key under the
// current one, in small steps, and returns how many that were. What is changed
// meanwhile is left for the next round.
func (s *Secrets) RewrapSecrets(ctx context.Context) (int, error) {
	total := 0
	for range 3 { // the probe follows when a look finds nothing old any more
		found, err := s.rewrapOnce(ctx)
		if err != nil {
			return total, fmt.Errorf("rewrap secrets: %w", err)
		}
		total += found.Old
		if found.Stuck > 0 {
			s.Log.WarnContext(ctx, "secrets cannot be opened: they are damaged, or encrypted with a master key that this server does not have; update them, or add the key to LINESHAFT_MASTER_KEY_OLD", "count", found.Stuck)
		}
		if found.Old == 0 {
			break
		}
	}
	if total > 0 {
		s.Log.InfoContext(ctx, "secrets are encrypted with the new master key", "count", total, "key_id", s.Cfg.Vault.CurrentID())
	}
	return total, nil
}

func (s *Secrets) rewrapOnce(ctx context.Context) (SealedCount, error) {
	return sealedValues{s.Store, s.Cfg.Vault}.each(ctx, func(changes []change) error {
		return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			for _, change := range changes {
				if err := change(ctx, tx); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// CountSealed says how much is under the current master key, and how much is not.
func CountSealed(ctx context.Context, s *store.Store, v *vault.Vault) (SealedCount, error) {
	return sealedValues{s, v}.each(ctx, func([]change) error { return nil })
}

// change is a write in a transaction.
type change func(ctx context.Context, tx *store.Tx) error

// sealedValues is everything in a database that a vault has sealed.
type sealedValues struct {
	store *store.Store
	vault *vault.Vault
}

// each looks at all of it and gives the changes that put it under the current key
// to write, a few at a time. The probe is the last: as long as anything else needs
// the older key, a server without that key does not start.
func (v sealedValues) each(ctx context.Context, write func([]change) error) (SealedCount, error) {
	var found SealedCount
	for i, part := range []func(context.Context, *SealedCount, string) ([]change, string, error){v.secrets, v.credentials, v.notifications, v.settings, v.probe} {
		if i == 4 && found.Old+found.Stuck > 0 {
			break // something may still need the older key
		}
		for after := ""; ; {
			changes, last, err := part(ctx, &found, after)
			if err != nil {
				return found, err
			}
			if len(changes) > 0 {
				if err := write(changes); err != nil {
					return found, err
				}
			}
			if last == "" {
				break
			}
			after = last
		}
	}
	return found, nil
}

// rewrap returns a sealed text under the current key, and counts what it was.
func (v sealedValues) rewrap(found *SealedCount, name, sealed string) (fresh string, changed bool) {
	if sealed == "" { // no credential
		return "", false
	}
	fresh, changed, err := v.vault.Rewrap(name, sealed)
	switch {
	case err != nil:
		found.Stuck++
		return sealed, false
	case changed:
		found.Old++
	default:
		found.Current++
	}
	return fresh, changed
}

func (v sealedValues) secrets(ctx context.Context, found *SealedCount, after string) (changes []change, last string, err error) {
	list, err := v.store.ListSecrets(ctx, "", after, rewrapBatch, true)
	for _, secret := range list {
		last = secret.Name
		if fresh, changed := v.rewrap(found, SecretSeal(secret.Name), secret.Sealed); changed {
			changes = append(changes, func(ctx context.Context, tx *store.Tx) error {
				return tx.ReplaceSealed(ctx, secret.Name, secret.Sealed, fresh)
			})
		}
	}
	return changes, last, err
}

func (v sealedValues) credentials(ctx context.Context, found *SealedCount, after string) (changes []change, last string, err error) {
	list, err := v.store.ListCredentials(ctx, after, rewrapBatch)
	for _, hook := range list {
		last = hook.UID
		fresh, changed := v.rewrap(found, WebhookSeal(hook.UID), hook.Credential)
		old, oldChanged := v.rewrap(found, WebhookSeal(hook.UID), hook.OldCredential)
		if changed || oldChanged {
			changes = append(changes, func(ctx context.Context, tx *store.Tx) error { return tx.SetCredentials(ctx, hook, fresh, old) })
		}
	}
	return changes, last, err
}

// notifications are few enough for one look.
func (v sealedValues) notifications(ctx context.Context, found *SealedCount, _ string) (changes []change, last string, err error) {
	list, err := v.store.ListNotifications(ctx)
	for _, n := range list {
		fresh, changed := v.rewrap(found, NotificationSeal(n.ID), n.Credential)
		old, oldChanged := v.rewrap(found, NotificationSeal(n.ID), n.OldCredential)
		if changed || oldChanged {
			changes = append(changes, func(ctx context.Context, tx *store.Tx) error {
				return tx.SetNotificationCredentials(ctx, n, fresh, old)
			})
		}
	}
	return changes, "", err
}

// settings are what other parts keep for all nodes, such as the keys of certificates.
func (v sealedValues) settings(ctx context.Context, found *SealedCount, after string) (changes []change, last string, err error) {
	list, err := v.store.ListSettings(ctx, store.SealedPrefix, after, rewrapBatch)
	for _, setting := range list {
		last = setting.Name
		if fresh, changed := v.rewrap(found, setting.Name, setting.Value); changed {
			changes = append(changes, func(ctx context.Context, tx *store.Tx) error {
				return tx.ReplaceSetting(ctx, setting.Name, setting.Value, fresh)
			})
		}
	}
	return changes, last, err
}

func (v sealedValues) probe(ctx context.Context, _ *SealedCount, _ string) (changes []change, last string, err error) {
	probe, err := v.store.GetSetting(ctx, ProbeSetting)
	if err != nil || probe == "" {
		return nil, "", err
	}
	var ignored SealedCount // it is not a secret
	if fresh, changed := v.rewrap(&ignored, ProbeSetting, probe); changed {
		changes = append(changes, func(ctx context.Context, tx *store.Tx) error {
			return tx.ReplaceSetting(ctx, ProbeSetting, probe, fresh)
		})
	}
	return changes, "", nil
}
