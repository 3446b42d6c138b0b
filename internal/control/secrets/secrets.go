// Package secrets keeps secrets and environments: sealing, who uses which secret, which
// one a run may have, and the change of the master key.
package secrets

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/control/base"
)

// Secrets has the use cases of secrets and environments.
type Secrets struct{ *base.Base }

// New returns the room of secrets. A vault that was given must be the one that the
// secrets of the store were sealed with; without one there is a vault whose key is lost
// with the process.
func New(ctx context.Context, b *base.Base) (*Secrets, error) {
	s := &Secrets{Base: b}
	if b.Cfg.Vault != nil {
		return s, s.checkVault(ctx)
	}
	var err error
	b.Cfg.Vault, err = temporaryVault()
	return s, err
}
