package lineshaft

import (
	"time"
)

// APIKey is a stored key; the key itself is never stored.
type APIKey struct {
	ID          string
	Name        string
	Role        Role
	Owner       Principal
	Hint        string
	FactoryUIDs []string
	WorkerIDs   []string
	CreatedAt   time.Time
	ExpiresAt   time.Time
	RevokedAt   time.Time
	LastUsedAt  time.Time
}

// Usable says whether the key opens anything at the given time.
func (k APIKey) Usable(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}
