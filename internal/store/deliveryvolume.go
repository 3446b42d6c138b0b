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
	// Started says that it started a run or reached one, Failed that one could not be started,
	// Handshake that the provider only asked whether anyone answers.
	Started, Failed, Handshake bool
}

// volumeColumns say what came of a delivery without reading its outcomes into memory. Names in
// them cannot be mistaken for results: their quotes are escaped.
const volumeColumns = `id, status, CASE WHEN outcomes LIKE '%"result":"` + string(lineshaft.ResultError) + `"%' THEN 2
	WHEN outcomes LIKE '%"result":"` + string(lineshaft.ResultLimit) + `"%' THEN 2
	WHEN outcomes LIKE '%"result":"` + string(lineshaft.ResultHandshake) + `"%' THEN 3
	WHEN outcomes LIKE '%"result":"` + string(lineshaft.ResultStarted) + `"%' THEN 1
	WHEN outcomes LIKE '%"result":"` + string(lineshaft.ResultFollowedUp) + `"%' THEN 1 ELSE 0 END`

// DeliveryScope is whose deliveries are read: those to one webhook, to the live webhooks of
// factories, or all.
type DeliveryScope struct {
	WebhookUID  string
	FactoryUIDs []string
}

// BriefDeliveries reads the newest deliveries of a scope, newest first, down to an id.
func (r reader) BriefDeliveries(ctx context.Context, of DeliveryScope, floor string, limit int) ([]DeliveryBrief, error) {
	switch {
	case of.WebhookUID != "":
		return r.volumeTo(ctx, of.WebhookUID, floor, limit)
	case len(of.FactoryUIDs) > 0:
		return r.volumeOf(ctx, of.FactoryUIDs, floor, limit)
	}
	return r.volume(ctx, "SELECT "+volumeColumns+" FROM deliveries WHERE id >= $1 ORDER BY id DESC LIMIT $2", floor, limit)
}

func (r reader) volumeTo(ctx context.Context, webhookUID, floor string, limit int) ([]DeliveryBrief, error) {
	branch := func(log string) string {
		return "SELECT " + volumeColumns + " FROM deliveries WHERE " + log + " AND id >= $2"
	}
	query := branch("webhook_uid = $1")
	if r.d.settlesLogs {
		query += " UNION ALL " + branch("webhook_uid = '' AND unsettled_uid = $1")
	}
	return r.volume(ctx, query+" ORDER BY id DESC LIMIT $3", webhookUID, floor, limit)
}

// volumeOf reads one log after the other. What one has raises the floor for the next, so that
// few rows are read in vain.
func (r reader) volumeOf(ctx context.Context, factoryUIDs []string, floor string, limit int) ([]DeliveryBrief, error) {
	newest, err := r.newestDeliveries(ctx, factoryUIDs, "")
	if err != nil {
		return nil, err
	}
	var all []DeliveryBrief
	for _, uid := range newestFirst(newest) {
		if newest[uid] < floor {
			break
		}
		more, err := r.volumeTo(ctx, uid, floor, limit)
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
		b.Started, b.Failed, b.Handshake = came == 1, came == 2, came == 3
		return &b, err
	})
}
