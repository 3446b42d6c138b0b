package factories

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
	controltrigger "github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// Check is the outcome of one condition of a filter, for transports.
type Check = filter.Check

// FilterTest asks whether a trigger's filter would match: a stored delivery, or a
// payload that came to a webhook.
type FilterTest struct {
	// Provider and Event are the trigger's; empty means webhook and received.
	Provider string
	Event    string
	Filter   lineshaft.TriggerFilter
	// DeliveryID or Payload, not both. The payload is one JSON value.
	DeliveryID string
	Payload    json.RawMessage
	// WebhookID is where the payload came in; empty means one that the filter names.
	WebhookID string
	// PayloadEvent is what the provider's header said when the payload came.
	PayloadEvent string
}

func (t FilterTest) trigger() lineshaft.Trigger {
	return lineshaft.Trigger{
		Provider: cmp.Or(t.Provider, lineshaft.ProviderWebhook), Event: cmp.Or(t.Event, lineshaft.EventReceived), Filter: t.Filter,
	}
}

// FilterVerdict says whether a filter matches, and how each of its checks went.
type FilterVerdict struct {
	WouldTrigger bool
	Checks       []filter.Check
}

// TestFilter evaluates a filter as the ingress would.
func (s *Factories) TestFilter(ctx context.Context, c lineshaft.Caller, factoryUID string, t FilterTest) (FilterVerdict, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return FilterVerdict{}, err
	}
	factory, err := s.VisibleFactory(ctx, c, factoryUID)
	if err != nil {
		return FilterVerdict{}, err
	}
	if (t.DeliveryID == "") == (len(t.Payload) == 0) {
		return FilterVerdict{}, lineshaft.Invalid("delivery_id", "give either the delivery_id of a stored delivery or a payload to test the filter on")
	}
	if err := t.validate(); err != nil {
		return FilterVerdict{}, err
	}
	compiled, matcher, err := controltrigger.CompileTrigger(t.trigger(), factory.Alias)
	if err != nil {
		return FilterVerdict{}, err
	}
	subject, err := s.testSubject(ctx, factoryUID, t)
	if err != nil {
		return FilterVerdict{}, err
	}
	doc, err := filter.Parse(subject.body)
	if err != nil {
		return FilterVerdict{}, lineshaft.Invalid("payload", "a filter cannot be evaluated on it: %v", err)
	}
	checks := []filter.Check{webhookCheck(t.Filter, subject.webhook)}
	if matcher == nil {
		checks = append(checks, compiled.Explain(doc)...)
	} else {
		checks = append(checks, schemeChecks(t.Provider, subject.webhook)...)
		checks = append(checks, matcher.Explain(catalog.Read(t.Provider, subject.event, doc))...)
	}
	failed := slices.ContainsFunc(checks, func(check filter.Check) bool { return !check.Passed })
	return FilterVerdict{WouldTrigger: !failed, Checks: checks}, nil
}

func (t FilterTest) validate() error {
	trigger := t.trigger()
	if trigger.Sent() {
		if t.Provider == lineshaft.ProviderGitHub && t.DeliveryID == "" && t.PayloadEvent == "" {
			return lineshaft.Invalid("payload_event", "the payload alone does not show the event; give what the header %s said, such as issues", catalog.GitHubHeader)
		}
		return nil
	}
	if trigger.Provider != lineshaft.ProviderWebhook {
		return lineshaft.Invalid("provider", "deliveries fire only triggers of webhook, %s; test one of those", strings.Join(lineshaft.SendingProviders(), ", "))
	}
	return nil
}

// schemeChecks is whether a provider sends to a webhook; none for a payload from nowhere.
func schemeChecks(provider string, w *lineshaft.Webhook) []filter.Check {
	if w == nil {
		return nil
	}
	check := filter.Check{Path: "signature_scheme", Operator: "in", Expected: quoted(provider), Passed: controltrigger.SenderOf(*w) == provider}
	if w.SignatureScheme != "" {
		check.Seen, _ = json.Marshal(w.SignatureScheme) // a text always can be
	}
	return []filter.Check{check}
}

// testSubject is what a filter is tried on: a body, where it came in (nil is
// anywhere), and what its sender called it.
type testSubject struct {
	body    []byte
	webhook *lineshaft.Webhook
	event   string
}

func (s *Factories) testSubject(ctx context.Context, factoryUID string, t FilterTest) (testSubject, error) {
	webhookUID, subject := t.WebhookID, testSubject{body: []byte(t.Payload), event: t.PayloadEvent}
	if t.DeliveryID != "" {
		d, err := s.testDelivery(ctx, factoryUID, t)
		if err != nil {
			return subject, err
		}
		if subject.body, err = s.Store.GetPayload(ctx, d.ID); err != nil {
			return subject, err
		}
		webhookUID, subject.event = d.WebhookUID, cmp.Or(t.PayloadEvent, d.Event)
	}
	if webhookUID == "" {
		return subject, nil
	}
	w, err := s.Store.GetWebhook(ctx, factoryUID, webhookUID)
	if err != nil {
		return subject, err
	}
	subject.webhook = &w.Webhook
	return subject, nil
}

// testDelivery finds the stored delivery. One of another factory gets the same answer
// as a missing one.
func (s *Factories) testDelivery(ctx context.Context, factoryUID string, t FilterTest) (*lineshaft.Delivery, error) {
	d, err := s.Store.FindDelivery(ctx, t.DeliveryID)
	if err != nil {
		return nil, err
	}
	if _, err := s.Store.GetWebhook(ctx, factoryUID, d.WebhookUID); err != nil {
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			return nil, lineshaft.NotFound("delivery", t.DeliveryID)
		}
		return nil, err
	}
	if t.WebhookID != "" && t.WebhookID != d.WebhookUID {
		return nil, lineshaft.Invalid("webhook_id", "the delivery came to webhook %s; leave webhook_id out", d.WebhookUID)
	}
	if d.Status != lineshaft.DeliveryAccepted {
		return nil, lineshaft.Conflict("delivery %s is %s, and only accepted ones have a payload; test another one, or give the payload", d.ID, d.Status)
	}
	return d, nil
}

// webhookCheck is the first check of a trigger: that it listens to the webhook. It
// passes for a payload without a webhook, and for a filter that names no webhooks: that
// cannot be saved, but its payload part can be tried.
func webhookCheck(f lineshaft.TriggerFilter, w *lineshaft.Webhook) filter.Check {
	named := slices.Concat(f.WebhookIDs, f.Webhooks)
	check := filter.Check{Path: "webhook", Operator: "in", Expected: quoted(named...), Passed: true}
	if w == nil {
		return check
	}
	check.Passed = len(named) == 0 || controltrigger.Selects(f, *w)
	check.Seen = quoted(w.Name)
	if len(f.Webhooks) == 0 || slices.Contains(f.WebhookIDs, w.UID) {
		check.Seen = quoted(w.UID)
	}
	check.Seen = check.Seen[1 : len(check.Seen)-1] // the text alone, not a list of one
	return check
}

func quoted(texts ...string) json.RawMessage {
	if texts == nil {
		texts = []string{}
	}
	raw, _ := json.Marshal(texts) // strings always can be
	return raw
}
