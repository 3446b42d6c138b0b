package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/lineshaft/lineshaft"
)

// ListAllDeliveries reads a page of the logs of all webhooks, including deleted ones, newest
// first, from before an id on ("" for the newest) down to another. With refused it has only
// what was turned away.
func (r reader) ListAllDeliveries(ctx context.Context, refused bool, before, floor string, limit int) ([]lineshaft.Delivery, bool, error) {
	where := "WHERE id < $1 AND id >= $2"
	if refused {
		where += " AND status <> 'accepted' AND status <> 'duplicate'" // as its index says it
	}
	return r.pageDeliveries(ctx, where, []any{cmp.Or(before, "z"), floor}, limit)
}

// ListDeliveriesOf reads a page of the logs of the live webhooks of factories, as
// ListAllDeliveries does. It looks up the newest of each webhook, and reads the logs in that
// order until no other can have anything for the page.
func (r reader) ListDeliveriesOf(
	ctx context.Context, factoryUIDs []string, before, floor string, limit int,
) ([]lineshaft.Delivery, bool, error) {
	newest, err := r.newestDeliveries(ctx, factoryUIDs, before)
	if err != nil {
		return nil, false, err
	}
	var ids []string // newest first
	for _, uid := range newestFirst(newest) {
		if newest[uid] < floor || len(ids) > limit && ids[limit] > newest[uid] {
			break
		}
		more, err := r.loggedIDs(ctx, uid, before, floor, "", limit+1)
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, more...)
		slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(b, a) })
	}
	return r.pageDeliveriesByID(ctx, ids[:min(len(ids), limit+1)], limit)
}

func (r reader) pageDeliveriesByID(ctx context.Context, ids []string, limit int) ([]lineshaft.Delivery, bool, error) {
	if len(ids) == 0 {
		return nil, false, nil
	}
	var args []any
	return r.pageDeliveries(ctx, "WHERE id IN "+list(&args, ids), args, limit)
}

func (r reader) pageDeliveries(ctx context.Context, where string, args []any, limit int) ([]lineshaft.Delivery, bool, error) {
	return readPage(ctx, r, listing[lineshaft.Delivery]{
		sizes: "SELECT octet_length(outcomes) + octet_length(identity) + octet_length(event) FROM deliveries",
		end:   where + " ORDER BY id DESC", args: args, read: r.deliveries, cut: func(*lineshaft.Delivery) {},
	}, limit)
}

// WebhooksByUID reads webhooks, including deleted ones, in no order.
func (r reader) WebhooksByUID(ctx context.Context, uids []string) ([]Webhook, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	var args []any
	return r.webhooks(ctx, "WHERE uid IN "+list(&args, uids), args...)
}
