package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// Audit appends entries in the transaction of the changes they tell of. Their ids
// and times are made here.
func (tx *Tx) Audit(ctx context.Context, entries ...lineshaft.AuditEntry) error {
	v := inserts{into: "audit_log (id, actor_uid, actor_type, actor_name, key_id, action, target_type, target_id, remote_addr, request_id, detail)"}
	for _, e := range entries {
		detail, err := json.Marshal(e.Detail)
		if err != nil {
			return fmt.Errorf("encode audit detail: %w", err)
		}
		v.row(tx.newID(), e.Actor.UID, e.Actor.Type, e.Actor.DisplayName, e.KeyID, e.Action, e.TargetType, e.TargetID,
			e.RemoteAddr, e.RequestID, string(detail))
	}
	return tx.insert(ctx, &v)
}

// ListAudit reads entries older than before ("" for the newest), newest first.
func (r reader) ListAudit(ctx context.Context, before string, limit int) ([]lineshaft.AuditEntry, error) {
	if before == "" {
		before = "z" // above every id
	}
	var entries []lineshaft.AuditEntry
	err := r.each(ctx, `SELECT id, actor_uid, actor_type, actor_name, key_id, action, target_type, target_id, remote_addr, request_id, detail
		FROM audit_log WHERE id < $1 ORDER BY id DESC LIMIT $2`, []any{before, limit}, func(scan func(...any) error) error {
		var e lineshaft.AuditEntry
		var detail string
		if err := scan(&e.ID, &e.Actor.UID, &e.Actor.Type, &e.Actor.DisplayName, &e.KeyID, &e.Action, &e.TargetType, &e.TargetID,
			&e.RemoteAddr, &e.RequestID, &detail); err != nil {
			return fmt.Errorf("scan audit entry: %w", err)
		}
		e.Time, _ = id.Time(e.ID)
		if err := json.Unmarshal([]byte(detail), &e.Detail); err != nil {
			return fmt.Errorf("decode audit entry: %w", err)
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
}
