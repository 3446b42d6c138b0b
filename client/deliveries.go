package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Delivery is a row of a webhook's log.
type Delivery struct {
	DeliveryID string `json:"delivery_id"`
	// Status is accepted, duplicate, rejected_auth, rejected_invalid_json or
	// rejected_too_large.
	Status     string    `json:"status"`
	Size       int64     `json:"size"`
	ReceivedAt time.Time `json:"received_at"`
	// Identity tells the delivery from another; IdentitySource is where it was found.
	Identity       string `json:"identity"`
	IdentitySource string `json:"identity_source"`
	RemoteAddr     string `json:"remote_addr"`
	RedeliveryOf   string `json:"redelivery_of,omitempty"`
	DuplicateOf    string `json:"duplicate_of,omitempty"`
	// NotMatched is how many automations did not match.
	NotMatched int               `json:"not_matched"`
	Outcomes   []DeliveryOutcome `json:"outcomes"`
	// Event is what GitHub or GitLab named in its header; empty for others.
	Event string `json:"event,omitempty"`
	// Payload is the body as it was sent. Only GetDelivery returns it, for accepted ones.
	Payload json.RawMessage `json:"payload,omitempty"`
	// NotMatchedAutomations tells why automations do not match; only ExplainDelivery
	// returns it.
	NotMatchedAutomations []MissedAutomation `json:"not_matched_automations,omitempty"`
	// NotMatchedTruncated says that more do not match than NotMatchedAutomations has.
	NotMatchedTruncated bool `json:"not_matched_truncated,omitempty"`
}

// DeliveryOutcome is what one automation made of a delivery; a handshake has none.
type DeliveryOutcome struct {
	AutomationID   string `json:"automation_id,omitempty"`
	AutomationName string `json:"automation_name,omitempty"`
	// Result is started, skipped, followed_up, handshake, disabled, limit, error or, in
	// a dry run, filtered.
	Result string `json:"result"`
	Reason string `json:"reason,omitempty"`
	RunID  string `json:"run_id,omitempty"`
}

// MissedAutomation is an automation that a delivery does not match.
type MissedAutomation struct {
	AutomationID   string        `json:"automation_id"`
	AutomationName string        `json:"automation_name"`
	Checks         []FilterCheck `json:"checks"`
}

// FilterCheck is one condition of a filter and how a payload fared.
type FilterCheck struct {
	// Trigger is the index of the automation's trigger; 0 in a FilterVerdict.
	Trigger int    `json:"trigger,omitempty"`
	Path    string `json:"path"`
	// Operator is in, not_in, exists or object.
	Operator string          `json:"operator"`
	Expected json.RawMessage `json:"expected"`
	// Seen is the value that was found; nil when there is none.
	Seen   json.RawMessage `json:"seen,omitempty"`
	Passed bool            `json:"passed"`
}

// DeliveryQuery selects a part of a webhook's log.
type DeliveryQuery struct {
	ReceivedAfter  time.Time // inclusive
	ReceivedBefore time.Time // exclusive
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// DeliveryPage is one page of a webhook's log, newest first.
type DeliveryPage struct {
	Deliveries []Delivery `json:"deliveries"`
	PageInfo   PageInfo   `json:"page_info"`
}

// Redelivered is what came of a redelivery, or would come of it.
type Redelivered struct {
	// DeliveryID is the new delivery; after a dry run the old one.
	DeliveryID string            `json:"delivery_id"`
	Outcomes   []DeliveryOutcome `json:"outcomes"`
}

// FilterTest asks whether a filter would match a stored delivery or a payload.
type FilterTest struct {
	Filter TriggerFilter `json:"filter"`
	// DeliveryID or Payload, not both.
	DeliveryID string          `json:"delivery_id,omitempty"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	// WebhookID is where the payload comes in.
	WebhookID string `json:"webhook_id,omitempty"`
	// Provider and Event are the trigger's; empty means webhook and received.
	Provider string `json:"provider,omitempty"`
	Event    string `json:"event,omitempty"`
	// PayloadEvent is what the header of a forge says with this payload.
	PayloadEvent string `json:"payload_event,omitempty"`
}

// FilterVerdict says whether a filter would match and how each check went.
type FilterVerdict struct {
	WouldTrigger bool          `json:"would_trigger"`
	Checks       []FilterCheck `json:"checks"`
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
