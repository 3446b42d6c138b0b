package store

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
)

// PutPrincipal stores a principal unless it is known: making a key for someone does not
// rename them.
func (tx *Tx) PutPrincipal(ctx context.Context, p lineshaft.Principal, at time.Time) error {
	return tx.do(ctx, "put principal", `INSERT INTO principals (uid, type, display_name, email, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (uid) DO NOTHING`,
		p.UID, p.Type, p.DisplayName, p.Email, micros(at))
}

// RenamePrincipal changes how a principal is shown, also as the creator of what it
// made before.
func (tx *Tx) RenamePrincipal(ctx context.Context, p lineshaft.Principal) error {
	return tx.do(ctx, "rename principal", "UPDATE principals SET display_name = $2 WHERE uid = $1", p.UID, p.DisplayName)
}

// UpdatePrincipal stores a principal, with the name and address that it has now.
func (tx *Tx) UpdatePrincipal(ctx context.Context, p lineshaft.Principal, at time.Time) error {
	return tx.do(ctx, "update principal", `INSERT INTO principals (uid, type, display_name, email, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (uid) DO UPDATE SET display_name = excluded.display_name, email = excluded.email`,
		p.UID, p.Type, p.DisplayName, p.Email, micros(at))
}
