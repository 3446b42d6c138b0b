package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/id"
)

// DeliveryQuery selects a page of a webhook's log.
type DeliveryQuery struct {
	// After is inclusive, Before exclusive; zero times do not limit.
	After  time.Time
	Before time.Time
	Limit  int
	Cursor string
}

// DeliveryPage is a page of a webhook's log, newest first.
type DeliveryPage struct {
	Deliveries []lineshaft.Delivery
	Next       string
}

// DeliveryDetail is one delivery with what only a look at it alone shows.
type DeliveryDetail struct {
	lineshaft.Delivery

	// Payload is the body, byte for byte; nil when none was stored.
	Payload []byte
	// Missed has, if it was asked for, the automations of the webhook that do not
	// match the payload today.
	Missed []MissedAutomation
}

// MissedAutomation is an automation that a payload does not match, and why.
type MissedAutomation struct {
	UID    string
	Name   string
	Checks []MissedCheck
}

// MissedCheck is a check that failed, in the trigger with that index.
type MissedCheck struct {
	filter.Check

	Trigger int
}

// hasLog says whether a webhook is there, or was: the log of a deleted one is kept.
func (s *Service) hasLog(ctx context.Context, c lineshaft.Caller, factoryUID, uid string) error {
	if _, err := s.visibleFactory(ctx, c, factoryUID); err != nil {
		return err
	}
	_, err := s.store.GetWebhook(ctx, factoryUID, uid)
	return err
}

// ListDeliveries reads a page of the log of a webhook, also of a deleted one. Ids
// carry the time of receipt, so every page reads as many rows as it shows.
func (s *Service) ListDeliveries(ctx context.Context, c lineshaft.Caller, factoryUID, webhookUID string, q DeliveryQuery) (DeliveryPage, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return DeliveryPage{}, err
	}
	if err := s.hasLog(ctx, c, factoryUID, webhookUID); err != nil {
		return DeliveryPage{}, err
	}
	list := fingerprint(fmt.Sprintf("deliveries\x00%s\x00%d\x00%d", webhookUID, unixMicro(q.After), unixMicro(q.Before)))
	before, floor := "", ""
	if !q.Before.IsZero() {
		before = id.Floor(q.Before)
	}
	if !q.After.IsZero() {
		floor = id.Floor(q.After)
	}
	if q.Cursor != "" {
		key, err := decodeCursor[string](list, q.Cursor)
		if err != nil {
			return DeliveryPage{}, err
		}
		before = *key
	}
	found, err := s.store.ListDeliveries(ctx, webhookUID, before, q.Limit+1)
	if err != nil {
		return DeliveryPage{}, err
	}
	found = slices.DeleteFunc(found, func(d lineshaft.Delivery) bool { return d.ID < floor })
	if len(found) <= q.Limit {
		return DeliveryPage{Deliveries: found}, nil
	}
	next, err := encodeCursor(list, found[q.Limit-1].ID)
	return DeliveryPage{Deliveries: found[:q.Limit], Next: next}, err
}

func unixMicro(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// GetDelivery reads one delivery with its payload. With explain it also tells, by
// the automations of today, which do not match and why.
func (s *Service) GetDelivery(ctx context.Context, c lineshaft.Caller, factoryUID, webhookUID, deliveryID string, explain bool) (DeliveryDetail, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return DeliveryDetail{}, err
	}
	if err := s.hasLog(ctx, c, factoryUID, webhookUID); err != nil {
		return DeliveryDetail{}, err
	}
	found, err := s.store.GetDelivery(ctx, webhookUID, deliveryID)
	if err != nil {
		return DeliveryDetail{}, err
	}
	detail := DeliveryDetail{Delivery: *found}
	if found.Status != lineshaft.DeliveryAccepted {
		return detail, nil
	}
	detail.Payload, err = s.store.GetPayload(ctx, deliveryID)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return detail, nil // a handshake may have come without a body
	}
	if err != nil || !explain {
		return detail, err
	}
	h, err := s.loadHook(ctx, factoryUID, webhookUID)
	if err != nil {
		return DeliveryDetail{}, err
	}
	detail.Missed, err = h.missed(found.Event, detail.Payload)
	return detail, err
}

// missed explains for each automation of the webhook that does not match a body
// which checks failed.
func (h *Hook) missed(event string, body []byte) ([]MissedAutomation, error) {
	ev := h.evaluate(event, body)
	if ev.doc == nil {
		return nil, nil // nothing to match, or not JSON: the outcome of each says so
	}
	var missed []MissedAutomation
	for _, a := range h.automations {
		if slices.Contains(ev.matched, a) {
			continue
		}
		checks, err := a.failures(h.Webhook, ev)
		if err != nil {
			return nil, err
		}
		missed = append(missed, MissedAutomation{UID: a.UID, Name: a.Name, Checks: checks})
	}
	return missed, nil
}

// failures are the checks that a delivery fails, in all triggers of the automation
// that listen to the webhook.
func (h *hookAutomation) failures(w lineshaft.Webhook, ev evaluation) ([]MissedCheck, error) {
	var failed []MissedCheck
	for i, t := range h.Triggers {
		if !listens(t, w) {
			continue
		}
		f, m, err := compileTrigger(t, h.handle)
		if err != nil {
			return nil, fmt.Errorf("compile filter of automation %s: %w", h.UID, err)
		}
		checks := f.Explain
		if m != nil {
			checks = func(*filter.Doc) []filter.Check { return m.Explain(ev.event) }
		}
		for _, check := range checks(ev.doc) {
			if !check.Passed {
				failed = append(failed, MissedCheck{Check: check, Trigger: i})
			}
		}
	}
	return failed, nil
}
