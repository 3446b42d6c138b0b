package trigger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

// LogQuery selects a page of the logs of many webhooks.
type LogQuery struct {
	// FactoryUID narrows it to one factory; empty are all that the caller may see.
	FactoryUID string
	// Refused asks for what was turned away. It is a wish: a caller who sees only some
	// factories gets everything, and must choose.
	Refused bool
	// After is inclusive, Before exclusive; zero times do not limit.
	After, Before time.Time
	Filter        DeliveryFilter
	Limit         int
	Cursor        string
}

// LoggedDelivery is a delivery with the webhook that got it.
type LoggedDelivery struct {
	lineshaft.Delivery

	Webhook lineshaft.Webhook
}

// LogPage is a page of the logs of many webhooks, newest first.
type LogPage = base.Page[LoggedDelivery]

// ListAllDeliveries reads a page of the logs of all webhooks that the caller may see. It reads
// as many rows as it shows, and for a caller who sees some factories one for each webhook there.
func (s *Triggers) ListAllDeliveries(ctx context.Context, c lineshaft.Caller, q LogQuery) (LogPage, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return LogPage{}, err
	}
	if q.FactoryUID != "" {
		if _, err := s.VisibleFactory(ctx, c, q.FactoryUID); err != nil {
			return LogPage{}, err
		}
	}
	uids, ok := base.ListedFactories(c, q.FactoryUID)
	if !ok {
		return LogPage{}, nil
	}
	list := "all deliveries\x00" + q.FactoryUID
	if !q.After.IsZero() || !q.Before.IsZero() {
		list += fmt.Sprintf("\x00%d\x00%d", unixMicro(q.After), unixMicro(q.Before))
	}
	newest, floor := idsBetween(q.After, q.Before)
	if q.Refused && len(uids) == 0 {
		list += "\x00refused"
	}
	read := func(limit int, cursor string) (LogPage, error) {
		idOf := func(d *LoggedDelivery) string { return d.ID }
		return base.ReadPage(list+q.Filter.name(), cursor, idOf, func(before string) ([]LoggedDelivery, bool, error) {
			q.Limit = limit
			found, more, err := s.readLogs(ctx, uids, q, cmp.Or(before, newest), floor)
			if err != nil {
				return nil, false, err
			}
			logged, err := s.withWebhooks(ctx, found)
			return logged, more, err
		})
	}
	if q.Filter.empty() {
		return read(q.Limit, q.Cursor)
	}
	return base.FilterPage(q.Limit, q.Cursor, func(d *LoggedDelivery) bool { return q.Filter.selects(&d.Delivery) }, read)
}

func (s *Triggers) readLogs(
	ctx context.Context, factoryUIDs []string, q LogQuery, before, floor string,
) ([]lineshaft.Delivery, bool, error) {
	if len(factoryUIDs) == 0 {
		return s.Store.ListAllDeliveries(ctx, q.Refused, before, floor, q.Limit)
	}
	return s.Store.ListDeliveriesOf(ctx, factoryUIDs, before, floor, q.Limit)
}

func (s *Triggers) withWebhooks(ctx context.Context, deliveries []lineshaft.Delivery) ([]LoggedDelivery, error) {
	var uids []string
	for _, d := range deliveries {
		uids = append(uids, d.WebhookUID)
	}
	slices.Sort(uids)
	webhooks, err := s.Store.WebhooksByUID(ctx, slices.Compact(uids))
	byUID := make(map[string]lineshaft.Webhook, len(webhooks))
	for _, w := range webhooks {
		byUID[w.UID] = w.Webhook
	}
	logged := make([]LoggedDelivery, len(deliveries))
	for i, d := range deliveries {
		logged[i] = LoggedDelivery{d, byUID[d.WebhookUID]}
	}
	return logged, err
}
