package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

// PutPrincipal stores a principal or changes its names.
func (tx *Tx) PutPrincipal(ctx context.Context, p lineshaft.Principal, at time.Time) error {
	_, err := tx.exec(ctx, `INSERT INTO principals (uid, type, display_name, email, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (uid) DO UPDATE SET display_name = excluded.display_name, email = excluded.email`,
		p.UID, p.Type, p.DisplayName, p.Email, micros(at))
	if err != nil {
		return fmt.Errorf("put principal: %w", err)
	}
	return nil
}
