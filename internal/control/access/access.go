// Package access knows who calls: API keys, browser sessions, identity providers, and the
// audit log of what they did.
package access

import "github.com/lineshaft/lineshaft/internal/control/base"

// Access has the use cases of keys, sessions and the audit log.
type Access struct {
	*base.Base
	keys *keyCache
}

// New returns the room of access.
func New(b *base.Base) *Access { return &Access{Base: b, keys: newKeyCache(b.Hub)} }
