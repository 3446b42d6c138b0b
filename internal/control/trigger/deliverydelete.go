package trigger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// identityLife is how long an identity is remembered at least (W-10).
	identityLife = 30 * 24 * time.Hour
	// rateIdle is how long a window without a hit is kept. The longest one is an
	// hour; the rest is for clocks that differ.
	rateIdle = 2 * time.Hour
)

// PurgeDeliveries removes what is too old of the log of deliveries (W-11): rows
// beyond the newest ones of their webhook, all rows of deleted webhooks and then the
// webhooks, identities, idle rate windows. It works in small steps.
func (s *Triggers) PurgeDeliveries(ctx context.Context) error {
	now := s.Store.Now()
	after := ""
	for {
		live, deleted, err := s.Store.WebhookUIDs(ctx, after, base.PurgeBatch)
		if err != nil {
			return fmt.Errorf("list webhooks: %w", err)
		}
		for _, uid := range live {
			if err := s.purgeLog(ctx, uid, now, s.Cfg.DeliveryKeep); err != nil {
				return err
			}
		}
		for _, uid := range deleted {
			if err := s.purgeDeleted(ctx, uid, now); err != nil {
				return err
			}
		}
		uids := slices.Concat(live, deleted)
		if len(uids) < base.PurgeBatch {
			break
		}
		after = slices.Max(uids)
	}
	forget := now.Add(-max(identityLife, s.Cfg.DeliveryRetention))
	if err := s.InBatches(ctx, "purge identities", func(ctx context.Context, tx *store.Tx) (int, error) {
		n, err := tx.DeleteIdentities(ctx, forget, base.PurgeBatch)
		return int(n), err
	}); err != nil {
		return err
	}
	return s.InBatches(ctx, "purge rate windows", func(ctx context.Context, tx *store.Tx) (int, error) {
		return tx.DeleteRates(ctx, now.Add(-rateIdle), base.PurgeBatch)
	})
}

// purgeLog removes a webhook's old deliveries but for the newest ones.
func (s *Triggers) purgeLog(ctx context.Context, uid string, now time.Time, keep int) error {
	return s.InBatches(ctx, "purge deliveries", func(ctx context.Context, tx *store.Tx) (int, error) {
		return tx.DeleteDeliveries(ctx, uid, now.Add(-s.Cfg.DeliveryRetention), keep, base.PurgeBatch)
	})
}

// purgeDeleted removes the old deliveries of a deleted webhook, and the webhook when
// none is left.
func (s *Triggers) purgeDeleted(ctx context.Context, uid string, now time.Time) error {
	if err := s.purgeLog(ctx, uid, now, 0); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteWebhookRow(ctx, uid) })
}
