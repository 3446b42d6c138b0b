// Package secrets keeps secrets and environments: sealing, who uses which secret, which
// one a run may have, and the change of the master key.
package secrets

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/control/base"
)

// Secrets has the use cases of secrets and environments.
type Secrets struct{ *base.Base }

// New returns the room of secrets. A given vault must be the one that sealed the
// secrets of the store; without one, the key of the vault is lost with the process.
func New(ctx context.Context, b *base.Base) (*Secrets, error) {
	s := &Secrets{Base: b}
	if b.Cfg.Vault != nil {
		return s, s.checkVault(ctx)
	}
	var err error
	b.Cfg.Vault, err = temporaryVault()
	return s, err
}
