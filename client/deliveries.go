package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// DeliveryQuery selects a part of a webhook's log.
type DeliveryQuery struct {
	ReceivedAfter  time.Time // inclusive
	ReceivedBefore time.Time // exclusive
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// Deliveries reads one page of the log of a webhook, also of a deleted one.
func (s *WebhooksService) Deliveries(ctx context.Context, factoryUID, uid string, q DeliveryQuery) (*DeliveryPage, error) {
	path, err := webhookPath(factoryUID, uid, "/deliveries")
	if err != nil {
		return nil, err
	}
	query := pageQuery(q.Limit, q.Cursor)
	for name, at := range map[string]time.Time{"received_after": q.ReceivedAfter, "received_before": q.ReceivedBefore} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return get[DeliveryPage](ctx, s.c, path, query)
}

// AllDeliveries goes through the log of a webhook, newest first, page by page.
func (s *WebhooksService) AllDeliveries(ctx context.Context, factoryUID, uid string, q DeliveryQuery) iter.Seq2[Delivery, error] {
	return pages(q.Cursor, func(cursor string) ([]Delivery, PageInfo, error) {
		q.Cursor = cursor
		page, err := s.Deliveries(ctx, factoryUID, uid, q)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return page.Deliveries, page.PageInfo, nil
	})
}

// GetDelivery reads one delivery with its payload.
func (s *WebhooksService) GetDelivery(ctx context.Context, factoryUID, uid, deliveryID string) (*Delivery, error) {
	return s.delivery(ctx, factoryUID, uid, deliveryID, nil)
}

// ExplainDelivery reads one delivery and why automations do not match it today.
func (s *WebhooksService) ExplainDelivery(ctx context.Context, factoryUID, uid, deliveryID string) (*Delivery, error) {
	return s.delivery(ctx, factoryUID, uid, deliveryID, url.Values{"explain": {"true"}})
}

func (s *WebhooksService) delivery(ctx context.Context, factoryUID, uid, deliveryID string, query url.Values) (*Delivery, error) {
	path, err := deliveryPath(factoryUID, uid, deliveryID, "")
	if err != nil {
		return nil, err
	}
	return get[Delivery](ctx, s.c, path, query)
}

// Redeliver evaluates a stored delivery again, with the automations of today and
// under a new id. It is safe to repeat when its answer is lost.
func (s *WebhooksService) Redeliver(ctx context.Context, factoryUID, uid, deliveryID string) (*Redelivered, error) {
	return s.redeliver(ctx, factoryUID, uid, deliveryID, false)
}

// TryRedeliver tells what Redeliver would do; nothing is stored or started.
func (s *WebhooksService) TryRedeliver(ctx context.Context, factoryUID, uid, deliveryID string) (*Redelivered, error) {
	return s.redeliver(ctx, factoryUID, uid, deliveryID, true)
}

func (s *WebhooksService) redeliver(ctx context.Context, factoryUID, uid, deliveryID string, dryRun bool) (*Redelivered, error) {
	path, err := deliveryPath(factoryUID, uid, deliveryID, "/redeliver")
	if err != nil {
		return nil, err
	}
	var out Redelivered
	return result(&out, s.c.do(ctx, call{
		method: http.MethodPost, path: path, body: map[string]bool{"dry_run": dryRun}, out: &out, keyed: true, replay: true,
	}))
}

// TestFilter tells whether a filter would match; nothing is stored or started.
func (s *WebhooksService) TestFilter(ctx context.Context, factoryUID string, req FilterTest) (*FilterVerdict, error) {
	path, err := factoryPath(factoryUID, "/test-filter")
	if err != nil {
		return nil, err
	}
	var out FilterVerdict
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out, replay: true}))
}

func deliveryPath(factoryUID, uid, deliveryID, rest string) (string, error) {
	part, err := segment("delivery", deliveryID)
	if err != nil {
		return "", err
	}
	return webhookPath(factoryUID, uid, "/deliveries/"+part+rest)
}
