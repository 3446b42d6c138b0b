package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft/internal/id"
)

// The log of a webhook is also settled. A page of the index of logs belongs to one webhook: a
// commit of deliveries to many webhooks would write as many pages. On SQLite a delivery is
// therefore inserted without its webhook_uid and with unsettled_uid instead; its entry is then
// the last of the index. SettleDeliveries moves many of them at a time. Until then a log is
// read together with what is not settled, so nobody sees a difference.

const (
	// logBatch is how many deliveries are settled by one write.
	logBatch = 512
	// logPatience is how long fewer than that wait for others.
	logPatience = 5 * time.Second
)

// webhookOfDelivery is the webhook of a row of deliveries, settled or not.
const webhookOfDelivery = "CASE webhook_uid WHEN '' THEN unsettled_uid ELSE webhook_uid END"

// SettleDeliveries puts deliveries into the logs of their webhooks, if there are many or they
// have waited. More says that there may be others.
func (s *Store) SettleDeliveries(ctx context.Context) (more bool, err error) {
	waiting, err := s.unsettledDeliveries(ctx)
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	if since, ok := id.Time(waiting[0]); ok && len(waiting) < logBatch && s.now().Sub(since) < logPatience {
		return false, nil
	}
	return len(waiting) == logBatch, s.Write(ctx, func(ctx context.Context, tx *Tx) error { return tx.settleDeliveries(ctx, waiting) })
}

// unsettledDeliveries reads which deliveries are not in their logs, the oldest first.
func (r reader) unsettledDeliveries(ctx context.Context) ([]string, error) {
	return r.texts(ctx, "SELECT id FROM deliveries WHERE webhook_uid = '' ORDER BY id LIMIT $1", logBatch)
}

func (tx *Tx) settleDeliveries(ctx context.Context, ids []string) error {
	var args []any
	return tx.do(ctx, "settle deliveries",
		"UPDATE deliveries SET webhook_uid = unsettled_uid, unsettled_uid = '' WHERE webhook_uid = '' AND id IN "+list(&args, ids), args...)
}

// settleLogs settles every delivery: before a log is shortened, and on PostgreSQL, which
// reads nothing but logs, after a restore.
func (tx *Tx) settleLogs(ctx context.Context) error {
	for {
		ids, err := tx.unsettledDeliveries(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := tx.settleDeliveries(ctx, ids); err != nil {
			return err
		}
	}
}

// loggedIDs reads ids of a webhook's deliveries, newest first, from before an id ("" for the
// newest) down to another, that a text of SQL selects.
func (r reader) loggedIDs(ctx context.Context, webhookUID, before, floor, also string, limit int) ([]string, error) {
	branch := func(log string) string {
		return "SELECT id FROM deliveries WHERE " + log + " AND id < $2 AND id >= $3" + also
	}
	query := branch("webhook_uid = $1")
	if r.d.settlesLogs {
		query += " UNION ALL " + branch("webhook_uid = '' AND unsettled_uid = $1")
	}
	ids, err := r.texts(ctx, query+" ORDER BY id DESC LIMIT $4", webhookUID, cmp.Or(before, "z"), floor, limit)
	if err != nil {
		return nil, fmt.Errorf("read ids of deliveries: %w", err)
	}
	return ids, nil
}

// newestDeliveries reads the newest delivery before an id of each live webhook of factories
// that has one.
func (r reader) newestDeliveries(ctx context.Context, factoryUIDs []string, before string) (map[string]string, error) {
	before = cmp.Or(before, "z")
	// First those that are not settled: one that is settled meanwhile is then seen twice, not never.
	unsettled := map[string]string{}
	err := r.each(ctx, "SELECT unsettled_uid, id FROM deliveries WHERE webhook_uid = '' AND id < $1", []any{before}, func(scan rowScan) error {
		var uid, id string
		err := scan(&uid, &id)
		unsettled[uid] = max(unsettled[uid], id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read unsettled deliveries: %w", err)
	}
	args := []any{before}
	newest, err := pairs[string, string](ctx, r, "read newest deliveries", `SELECT w.uid, COALESCE((SELECT d.id FROM deliveries d
		WHERE `+fmt.Sprintf(r.d.follow, "d.webhook_uid", "w.uid")+` AND d.id < $1 ORDER BY d.webhook_uid DESC, d.id DESC LIMIT 1), '')
		FROM webhooks w WHERE w.deleted_at = 0 AND w.factory_uid IN `+list(&args, factoryUIDs), args)
	for uid := range newest {
		newest[uid] = max(newest[uid], unsettled[uid])
	}
	maps.DeleteFunc(newest, func(_, id string) bool { return id == "" })
	return newest, err
}

// newestFirst sorts webhooks by the newest delivery of each.
func newestFirst(newest map[string]string) []string {
	return slices.SortedFunc(maps.Keys(newest), func(a, b string) int { return cmp.Compare(newest[b], newest[a]) })
}
