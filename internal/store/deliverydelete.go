package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/id"
)

// WebhookUIDs lists all webhooks, including deleted ones, in the order of their uid.
func (r reader) WebhookUIDs(ctx context.Context, after string, limit int) (live, deleted []string, err error) {
	found, err := r.webhooks(ctx, "WHERE uid > $1 ORDER BY uid LIMIT $2", after, limit)
	for _, w := range found {
		if w.DeletedAt.IsZero() {
			live = append(live, w.UID)
		} else {
			deleted = append(deleted, w.UID)
		}
	}
	return live, deleted, err
}

// DeleteDeliveries removes a webhook's deliveries that are older than a time and not
// among its newest ones, up to a limit. A body that a run still uses stays.
func (tx *Tx) DeleteDeliveries(ctx context.Context, webhookUID string, before time.Time, keep, limit int) (int, error) {
	if err := tx.settleLogs(ctx); err != nil {
		return 0, err
	}
	ceiling := id.Floor(before)
	if keep > 0 {
		newest, err := tx.texts(ctx, "SELECT id FROM deliveries WHERE webhook_uid = $1 ORDER BY id DESC LIMIT $2", webhookUID, keep)
		if err != nil {
			return 0, fmt.Errorf("find newest deliveries: %w", err)
		}
		if len(newest) < keep {
			return 0, nil
		}
		ceiling = min(ceiling, newest[keep-1])
	}
	old, err := tx.texts(ctx, "SELECT id FROM deliveries WHERE webhook_uid = $1 AND id < $2 ORDER BY id LIMIT $3", webhookUID, ceiling, limit)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	var args []any
	ids := list(&args, old)
	if _, err := tx.exec(ctx, "DELETE FROM deliveries WHERE id IN "+ids, args...); err != nil {
		return 0, fmt.Errorf("delete deliveries: %w", err)
	}
	return len(old), tx.dropPayloads(ctx, old)
}

// dropPayloads removes the bodies that neither a delivery nor a run needs any more. It
// locks them before it checks: two transactions that remove the last two reasons for a
// body would otherwise each see the other's, and leave it for ever.
func (tx *Tx) dropPayloads(ctx context.Context, deliveryIDs []string) error {
	if len(deliveryIDs) == 0 {
		return nil
	}
	var args []any
	found, err := tx.texts(ctx, "SELECT delivery_id FROM delivery_payloads WHERE delivery_id IN "+list(&args, deliveryIDs)+
		" ORDER BY delivery_id"+tx.d.forUpdate, args...)
	if err != nil {
		return fmt.Errorf("lock payloads: %w", err)
	}
	for _, deliveryID := range found {
		if _, err := tx.exec(ctx, `DELETE FROM delivery_payloads WHERE delivery_id = $1
			AND NOT EXISTS (SELECT 1 FROM deliveries WHERE id = $2) AND NOT EXISTS (SELECT 1 FROM attachments WHERE blob_id = $3)`,
			deliveryID, deliveryID, PayloadBlob(deliveryID)); err != nil {
			return fmt.Errorf("drop payload: %w", err)
		}
	}
	return nil
}

// deleteAttachments removes the attachments of a run, and bodies of deliveries that
// only this run still needed.
func (tx *Tx) deleteAttachments(ctx context.Context, runID string) error {
	attached, err := tx.texts(ctx, "DELETE FROM attachments WHERE run_id = $1 RETURNING blob_id", runID)
	if err != nil {
		return fmt.Errorf("delete attachments: %w", err)
	}
	var deliveries []string
	for _, blobID := range attached {
		if deliveryID, ok := strings.CutPrefix(blobID, payloadPrefix); ok {
			deliveries = append(deliveries, deliveryID)
		}
	}
	return tx.dropPayloads(ctx, deliveries)
}

// DeleteIdentities forgets identities accepted before a time whose delivery is gone
// from the log, up to a limit.
func (tx *Tx) DeleteIdentities(ctx context.Context, before time.Time, limit int) (int64, error) {
	ceiling := id.Floor(before)
	// A comparison, not NOT EXISTS: PostgreSQL would make a join of that and read both
	// tables as a whole.
	old, err := tx.texts(ctx, `SELECT digest FROM delivery_identities i WHERE delivery_id < $1
		AND (SELECT 1 FROM deliveries d WHERE d.id = i.delivery_id) IS NULL ORDER BY delivery_id LIMIT $2`, ceiling, limit)
	if err != nil {
		return 0, fmt.Errorf("find old identities: %w", err)
	}
	if len(old) == 0 {
		return 0, nil
	}
	args := []any{ceiling} // again: another node may have forgotten one, and a delivery claimed it again
	return tx.count(ctx, "delete identities", "DELETE FROM delivery_identities WHERE delivery_id < $1 AND digest IN "+list(&args, old), args...)
}

// DeleteWebhookRow removes a deleted webhook whose log is empty.
func (tx *Tx) DeleteWebhookRow(ctx context.Context, uid string) error {
	if err := tx.settleLogs(ctx); err != nil {
		return err
	}
	return tx.do(ctx, "delete webhook", `DELETE FROM webhooks WHERE uid = $1 AND deleted_at > 0
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE webhook_uid = $2)`, uid, uid)
}
