package trigger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/id"
)

// DeliveryQuery selects a page of a webhook's log.
type DeliveryQuery struct {
	// After is inclusive, Before exclusive; zero times do not limit.
	After  time.Time
	Before time.Time
	Filter DeliveryFilter
	Limit  int
	Cursor string
}

// DeliveryPage is a page of a webhook's log, newest first.
type DeliveryPage = base.Page[lineshaft.Delivery]

// DeliveryDetail is one delivery with what is shown only for a single one.
type DeliveryDetail struct {
	lineshaft.Delivery

	// Payload is the body, byte for byte; nil when none was stored.
	Payload []byte
	// Missed has, if it was asked for, the automations of the webhook that do not
	// match the payload today. MissedCut says that there is more than is shown.
	Missed    []MissedAutomation
	MissedCut bool
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

// hasLog says whether a webhook exists, or did: the log of a deleted one is kept.
func (s *Triggers) hasLog(ctx context.Context, c lineshaft.Caller, factoryUID, uid string) error {
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return err
	}
	_, err := s.Store.GetWebhook(ctx, factoryUID, uid)
	return err
}

// ListDeliveries reads a page of the log of a webhook, also of a deleted one. Ids
// carry the time of receipt, so every page reads as many rows as it shows.
func (s *Triggers) ListDeliveries(ctx context.Context, c lineshaft.Caller, factoryUID, webhookUID string, q DeliveryQuery) (DeliveryPage, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return DeliveryPage{}, err
	}
	if err := s.hasLog(ctx, c, factoryUID, webhookUID); err != nil {
		return DeliveryPage{}, err
	}
	newest, floor := idsBetween(q.After, q.Before)
	list := fmt.Sprintf("deliveries\x00%s\x00%d\x00%d", webhookUID, unixMicro(q.After), unixMicro(q.Before))
	idOf := func(d *lineshaft.Delivery) string { return d.ID }
	if q.Filter.empty() {
		return base.ReadPage(list, q.Cursor, idOf, func(before string) ([]lineshaft.Delivery, bool, error) {
			return s.Store.ListDeliveries(ctx, webhookUID, cmp.Or(before, newest), floor, q.Limit)
		})
	}
	return base.FilterPage(q.Limit, q.Cursor, q.Filter.selects, func(limit int, cursor string) (DeliveryPage, error) {
		return base.ReadPage(list+q.Filter.name(), cursor, idOf, func(before string) ([]lineshaft.Delivery, bool, error) {
			return s.Store.ListDeliveries(ctx, webhookUID, cmp.Or(before, newest), floor, limit)
		})
	})
}

// idsBetween are the ids that a stretch of time begins before and ends at; a zero time has none.
func idsBetween(after, before time.Time) (newest, floor string) {
	if !before.IsZero() {
		newest = id.Floor(before)
	}
	if !after.IsZero() {
		floor = id.Floor(after)
	}
	return newest, floor
}

func unixMicro(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// GetDelivery reads one delivery with its payload. With explain it also says which of
// the current automations do not match and why.
func (s *Triggers) GetDelivery(ctx context.Context, c lineshaft.Caller, factoryUID, webhookUID, deliveryID string, explain bool) (DeliveryDetail, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return DeliveryDetail{}, err
	}
	if err := s.hasLog(ctx, c, factoryUID, webhookUID); err != nil {
		return DeliveryDetail{}, err
	}
	found, err := s.Store.GetDelivery(ctx, webhookUID, deliveryID)
	if err != nil {
		return DeliveryDetail{}, err
	}
	detail := DeliveryDetail{Delivery: *found}
	if detail.Headers, err = s.Store.DeliveryHeaders(ctx, deliveryID); err != nil {
		return DeliveryDetail{}, err
	}
	if found.Status != lineshaft.DeliveryAccepted {
		return detail, nil
	}
	detail.Payload, err = s.Store.GetPayload(ctx, deliveryID)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return detail, nil // a handshake may have come without a body
	}
	if err != nil || !explain {
		return detail, err
	}
	h, err := s.LoadHook(ctx, factoryUID, webhookUID)
	if err != nil {
		return DeliveryDetail{}, err
	}
	detail.Missed, detail.MissedCut, err = h.missed(found.Event, detail.Payload)
	return detail, err
}

// missed explains for each automation of the webhook that does not match a body
// which checks failed.
func (h *Hook) missed(event string, body []byte) (missed []MissedAutomation, cut bool, err error) {
	ev := h.Evaluate(event, body)
	if ev.doc == nil {
		return nil, false, nil // nothing to match, or not JSON: the outcome of each says so
	}
	left := explainedBytes
	for _, a := range h.Automations {
		if slices.Contains(ev.Matched, a) {
			continue
		}
		if left <= 0 {
			return missed, true, nil
		}
		checks, err := a.failures(h.Webhook, ev, &left)
		if err != nil {
			return nil, false, err
		}
		left -= checkOverhead
		missed = append(missed, MissedAutomation{UID: a.UID, Name: a.Name, Checks: checks})
	}
	return missed, left <= 0, nil
}

// explainedBytes is how much is said about why automations do not match (H-14): each has
// many triggers, and a factory many automations. checkOverhead is what a check counts
// besides its texts.
const (
	explainedBytes = 512 << 10
	checkOverhead  = 100
)

// failures are the checks that a delivery fails, in all triggers of the automation
// that listen to the webhook, until what is left is used up.
func (h *HookAutomation) failures(w lineshaft.Webhook, ev Evaluation, left *int) ([]MissedCheck, error) {
	var failed []MissedCheck
	for i, t := range h.Triggers {
		if !Listens(t, w) {
			continue
		}
		f, m, err := CompileTrigger(t, h.handle)
		if err != nil {
			return nil, fmt.Errorf("compile filter of automation %s: %w", h.UID, err)
		}
		checks := f.Explain
		if m != nil {
			checks = func(*filter.Doc) []filter.Check { return m.Explain(ev.event) }
		}
		for _, check := range checks(ev.doc) {
			if check.Passed {
				continue
			}
			if *left <= 0 {
				return failed, nil
			}
			*left -= checkOverhead + len(check.Path) + len(check.Expected) + len(check.Seen)
			failed = append(failed, MissedCheck{Check: check, Trigger: i})
		}
	}
	return failed, nil
}
