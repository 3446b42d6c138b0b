package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// Check is the outcome of one condition of a filter, for transports.
type Check = filter.Check

// FilterTest asks whether a trigger's filter would match: a stored delivery, or a
// payload that came to a webhook.
type FilterTest struct {
	Filter lineshaft.TriggerFilter
	// DeliveryID or Payload, not both. The payload is one JSON value.
	DeliveryID string
	Payload    json.RawMessage
	// WebhookID is where the payload came in; empty means one that the filter names.
	WebhookID string
}

// FilterVerdict says whether a filter matches, and how each of its checks went.
type FilterVerdict struct {
	WouldTrigger bool
	Checks       []filter.Check
}

// TestFilter evaluates a filter as the ingress would.
func (s *Service) TestFilter(ctx context.Context, c lineshaft.Caller, factoryUID string, t FilterTest) (FilterVerdict, error) {
	if _, err := s.visibleFactory(ctx, c, factoryUID); err != nil {
		return FilterVerdict{}, err
	}
	if (t.DeliveryID == "") == (len(t.Payload) == 0) {
		return FilterVerdict{}, lineshaft.Invalid("delivery_id", "give either the delivery_id of a stored delivery or a payload to test the filter on")
	}
	compiled, err := filter.Compile(t.Filter.Payload)
	if err != nil {
		return FilterVerdict{}, filterProblem(err)
	}
	body, webhook, err := s.testSubject(ctx, factoryUID, t)
	if err != nil {
		return FilterVerdict{}, err
	}
	doc, err := filter.Parse(body)
	if err != nil {
		return FilterVerdict{}, lineshaft.Invalid("payload", "no filter can be evaluated on it: %v", err)
	}
	checks := append([]filter.Check{webhookCheck(t.Filter, webhook)}, compiled.Explain(doc)...)
	failed := slices.ContainsFunc(checks, func(check filter.Check) bool { return !check.Passed })
	return FilterVerdict{WouldTrigger: !failed, Checks: checks}, nil
}

// filterProblem says where in the request the filter is.
func filterProblem(err error) error {
	pub, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return fmt.Errorf("compile filter: %w", err)
	}
	blamed := *pub
	blamed.Field = "filter." + pub.Field
	return &blamed
}

// testSubject finds the body to test and where it came in; nil is anywhere.
func (s *Service) testSubject(ctx context.Context, factoryUID string, t FilterTest) ([]byte, *lineshaft.Webhook, error) {
	webhookUID, body := t.WebhookID, []byte(t.Payload)
	if t.DeliveryID != "" {
		d, err := s.store.FindDelivery(ctx, t.DeliveryID)
		if err != nil {
			return nil, nil, err
		}
		// One of another factory gets the same answer as none at all.
		if _, err := s.store.GetWebhook(ctx, factoryUID, d.WebhookUID); err != nil {
			if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
				return nil, nil, lineshaft.NotFound("delivery", t.DeliveryID)
			}
			return nil, nil, err
		}
		if t.WebhookID != "" && t.WebhookID != d.WebhookUID {
			return nil, nil, lineshaft.Invalid("webhook_id", "the delivery came to webhook %s; leave webhook_id out", d.WebhookUID)
		}
		if d.Status != lineshaft.DeliveryAccepted {
			return nil, nil, lineshaft.Conflict("delivery %s is %s, and only accepted ones have a payload; test another one, or give the payload", d.ID, d.Status)
		}
		if body, err = s.store.GetPayload(ctx, d.ID); err != nil {
			return nil, nil, err
		}
		webhookUID = d.WebhookUID
	}
	if webhookUID == "" {
		return body, nil, nil
	}
	w, err := s.store.GetWebhook(ctx, factoryUID, webhookUID)
	if err != nil {
		return nil, nil, err
	}
	return body, &w.Webhook, nil
}

// webhookCheck is the first check of a trigger: that it listens to the webhook. It
// passes for a payload from nowhere, and for a filter that names no webhooks: such
// a one cannot be saved, but its payload part can be tried.
func webhookCheck(f lineshaft.TriggerFilter, w *lineshaft.Webhook) filter.Check {
	named := slices.Concat(f.WebhookIDs, f.Webhooks)
	check := filter.Check{Path: "webhook", Operator: "in", Expected: quoted(named...), Passed: true}
	if w == nil {
		return check
	}
	check.Passed = len(named) == 0 || selects(f, *w)
	check.Seen = quoted(w.Name)
	if len(f.Webhooks) == 0 || slices.Contains(f.WebhookIDs, w.UID) {
		check.Seen = quoted(w.UID)
	}
	check.Seen = check.Seen[1 : len(check.Seen)-1] // the text alone, not a list of one
	return check
}

// quoted writes texts as a JSON array.
func quoted(texts ...string) json.RawMessage {
	if texts == nil {
		texts = []string{}
	}
	raw, _ := json.Marshal(texts) // strings always can be
	return raw
}
