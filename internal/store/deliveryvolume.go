package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/lineshaft/lineshaft"
)

// DeliveryBrief is what is counted of a delivery.
type DeliveryBrief struct {
	ID     string
	Status lineshaft.DeliveryStatus
	// Started says that it started a run or reached one, Failed that one could not be started.
	Started, Failed bool
}

// volumeColumns say what came of a delivery without reading its outcomes into memory. Names in
// them cannot be mistaken for results: their quotes are escaped.
const volumeColumns = `id, status, CASE WHEN outcomes LIKE '%"result":"` + string(lineshaft.ResultError) + `"%' THEN 2
	WHEN outcomes LIKE '%"result":"` + string(lineshaft.ResultStarted) + `"%' OR outcomes LIKE '%"result":"` + string(lineshaft.ResultFollowedUp) + `"%' THEN 1 ELSE 0 END`

// BriefDeliveries reads the newest deliveries to all webhooks, newest first, down to an id.
func (r reader) BriefDeliveries(ctx context.Context, floor string, limit int) ([]DeliveryBrief, error) {
	return r.volume(ctx, "SELECT "+volumeColumns+" FROM deliveries WHERE id >= $1 ORDER BY id DESC LIMIT $2", floor, limit)
}

// BriefDeliveriesTo reads those to one webhook.
func (r reader) BriefDeliveriesTo(ctx context.Context, webhookUID, floor string, limit int) ([]DeliveryBrief, error) {
	branch := func(log string) string {
		return "SELECT " + volumeColumns + " FROM deliveries WHERE " + log + " AND id >= $2"
	}
	query := branch("webhook_uid = $1")
	if r.d.settlesLogs {
		query += " UNION ALL " + branch("webhook_uid = '' AND unsettled_uid = $1")
	}
	return r.volume(ctx, query+" ORDER BY id DESC LIMIT $3", webhookUID, floor, limit)
}

// BriefDeliveriesOf reads those to the live webhooks of factories. What one log has raises the
// floor for the next, so that few rows are read in vain.
func (r reader) BriefDeliveriesOf(ctx context.Context, factoryUIDs []string, floor string, limit int) ([]DeliveryBrief, error) {
	newest, err := r.newestDeliveries(ctx, factoryUIDs, "")
	if err != nil {
		return nil, err
	}
	var all []DeliveryBrief
	for _, uid := range newestFirst(newest) {
		if newest[uid] < floor {
			break
		}
		more, err := r.BriefDeliveriesTo(ctx, uid, floor, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
		slices.SortFunc(all, func(a, b DeliveryBrief) int { return cmp.Compare(b.ID, a.ID) })
		if len(all) >= limit {
			all = all[:limit]
			floor = all[limit-1].ID
		}
	}
	return all, nil
}

func (r reader) volume(ctx context.Context, query string, args ...any) ([]DeliveryBrief, error) {
	return collect(ctx, r, "read volume of deliveries", query, args, func(scan rowScan) (*DeliveryBrief, error) {
		var b DeliveryBrief
		var came int
		err := scan(&b.ID, &b.Status, &came)
		b.Started, b.Failed = came == 1, came == 2
		return &b, err
	})
}
