package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

// PutPrincipal stores a principal unless it is known: who makes a key for somebody
// does not rename them.
func (tx *Tx) PutPrincipal(ctx context.Context, p lineshaft.Principal, at time.Time) error {
	_, err := tx.exec(ctx, `INSERT INTO principals (uid, type, display_name, email, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (uid) DO NOTHING`,
		p.UID, p.Type, p.DisplayName, p.Email, micros(at))
	if err != nil {
		return fmt.Errorf("put principal: %w", err)
	}
	return nil
}
