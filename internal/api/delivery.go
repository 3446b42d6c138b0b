package api

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
)

type (
	// DeliveryStatus is the result of a request to a webhook.
	DeliveryStatus string
	// OutcomeResult is what one automation made of a delivery.
	OutcomeResult string
)

// Schema implements huma.SchemaProvider.
func (DeliveryStatus) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "DeliveryStatus", lineshaft.DeliveryStatuses(), "The result of a request. Requests that got 404 or 429 are not in the log.")
}

// Schema implements huma.SchemaProvider.
func (OutcomeResult) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "OutcomeResult", lineshaft.OutcomeResults(), "What an automation did with a delivery. filtered appears only in dry runs: the log counts those in not_matched.")
}

// AnyJSON is a JSON value as it was sent: double keys and long numbers stay.
type AnyJSON json.RawMessage

// UnmarshalJSON keeps the text, null included.
func (a *AnyJSON) UnmarshalJSON(data []byte) error {
	*a = append((*a)[:0], data...)
	return nil
}

// MarshalJSON writes the text.
func (a AnyJSON) MarshalJSON() ([]byte, error) { return json.RawMessage(a).MarshalJSON() }

// Schema implements huma.SchemaProvider.
func (AnyJSON) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "Any JSON value."}
}

// Delivery is a row of a webhook's log.
type Delivery struct {
	DeliveryID     string            `json:"delivery_id"`
	Status         DeliveryStatus    `json:"status"`
	Size           int64             `json:"size" doc:"Bytes of the body, as far as they were read."`
	ReceivedAt     string            `json:"received_at" format:"date-time"`
	Identity       string            `json:"identity" doc:"What identifies this delivery; empty for refused ones."`
	IdentitySource string            `json:"identity_source" doc:"Where the identity was found."`
	RemoteAddr     string            `json:"remote_addr"`
	RedeliveryOf   string            `json:"redelivery_of,omitempty" doc:"The delivery that this one repeats on request."`
	DuplicateOf    string            `json:"duplicate_of,omitempty" doc:"The first delivery with this identity."`
	NotMatched     int               `json:"not_matched" doc:"How many automations of the webhook did not match."`
	Outcomes       []DeliveryOutcome `json:"outcomes"`
	Event          string            `json:"event,omitempty" doc:"The event that GitHub or GitLab named in its header, such as pull_request."`
	Test           bool              `json:"test,omitempty" doc:"A test that the server sent itself, on request."`
	AnswerStatus   int               `json:"answer_status,omitempty" doc:"The status that the sender got; absent if there was no sender."`
	AnswerMS       float64           `json:"answer_ms,omitempty" doc:"Milliseconds from its arrival until it was written."`
}

// LoggedDelivery is a row of the logs of all webhooks of a factory.
type LoggedDelivery struct {
	Delivery
	WebhookID   string `json:"webhook_id"`
	WebhookName string `json:"webhook_name"`
}

// ListFactoryDeliveriesResponse is a page of the logs of a factory's webhooks.
type ListFactoryDeliveriesResponse struct {
	Deliveries []LoggedDelivery `json:"deliveries"`
	PageInfo   PageInfo         `json:"page_info"`
}

// TestWebhookRequest says what to send.
type TestWebhookRequest struct {
	Body  string `json:"body,omitempty" maxLength:"262144" doc:"The text to send as the body. Absent: an example of what the provider sends."`
	Event string `json:"event,omitempty" maxLength:"100" doc:"The event in the provider's header, such as issues."`
}

// TestWebhookResponse is what the sender of the event would have got.
type TestWebhookResponse struct {
	Status     int    `json:"status" doc:"The HTTP status of the answer."`
	DeliveryID string `json:"delivery_id,omitempty" doc:"The resulting delivery."`
	Detail     string `json:"detail,omitempty" doc:"Why the webhook refused it."`
}

// DeliveryOutcome is what one automation made of a delivery.
type DeliveryOutcome struct {
	AutomationID   string        `json:"automation_id,omitempty" doc:"Absent for a handshake."`
	AutomationName string        `json:"automation_name,omitempty"`
	Result         OutcomeResult `json:"result"`
	Reason         string        `json:"reason,omitempty" doc:"Why no run was started."`
	RunID          string        `json:"run_id,omitempty" doc:"The run that was started, or that got a follow-up."`
}

// DeliveryDetail adds what only a look at one delivery shows.
type DeliveryDetail struct {
	Delivery
	Headers   map[string]string   `json:"request_headers,omitempty" doc:"At most 8 KiB; credentials and signatures are masked."`
	Payload   AnyJSON             `json:"payload,omitempty" doc:"The body, of accepted deliveries only."`
	Missed    *[]MissedAutomation `json:"not_matched_automations,omitempty" doc:"With explain: which automations do not match now, and why."`
	MissedCut bool                `json:"not_matched_truncated,omitempty" doc:"More automations do not match than are listed."`
}

// MissedAutomation is an automation that does not match a delivery.
type MissedAutomation struct {
	AutomationID   string        `json:"automation_id"`
	AutomationName string        `json:"automation_name"`
	Checks         []MissedCheck `json:"checks" doc:"The checks that fail."`
}

// MissedCheck is a failing check of one trigger.
type MissedCheck struct {
	Trigger int `json:"trigger" doc:"Which of the automation's triggers, from 0."`
	FilterCheck
}

// FilterCheck is one condition of a filter and how a payload fared.
type FilterCheck struct {
	Path     string  `json:"path" doc:"webhook, signature_scheme, event, the name of a set such as labels, or the path of the field from payload."`
	Operator string  `json:"operator" enum:"in,not_in,exists,object" doc:"object: the field has conditions below it, but is not an object."`
	Expected AnyJSON `json:"expected"`
	Seen     AnyJSON `json:"seen,omitempty" doc:"The value that was found; absent when there is none. Long values are cut."`
	Passed   bool    `json:"passed"`
}

// ListDeliveriesResponse is a page of a webhook's log.
type ListDeliveriesResponse struct {
	Deliveries []Delivery `json:"deliveries"`
	PageInfo   PageInfo   `json:"page_info"`
}

// RedeliverRequest says how to redeliver.
type RedeliverRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Shows what would happen and stores nothing."`
}

// RedeliverResponse is the result of redelivering, or what it would be.
type RedeliverResponse struct {
	DeliveryID string            `json:"delivery_id" doc:"The new delivery; in a dry run the old one."`
	Outcomes   []DeliveryOutcome `json:"outcomes" doc:"In a dry run, including automations that do not match."`
}

// TestFilterRequest asks whether a filter would match.
type TestFilterRequest struct {
	Filter     TriggerFilter `json:"filter" doc:"As in a trigger. If it names no webhooks, it listens to all of them."`
	DeliveryID string        `json:"delivery_id,omitempty" doc:"A stored delivery of the factory. This or payload."`
	Payload    AnyJSON       `json:"payload,omitempty" doc:"Any JSON value. This or delivery_id."`
	WebhookID  string        `json:"webhook_id,omitempty" doc:"The webhook that gets the payload; if absent, the webhook check passes."`

	Provider     string `json:"provider,omitempty" doc:"The trigger's provider: webhook if absent, github, gitlab, linear, slack or jira."`
	Event        string `json:"event,omitempty" doc:"The trigger's event, such as issue_opened."`
	PayloadEvent string `json:"payload_event,omitempty" maxLength:"100" doc:"The event in the provider's header with this payload, such as issues for GitHub; a stored delivery has its own."`
}

// TestFilterResponse says whether a filter would match and why.
type TestFilterResponse struct {
	WouldTrigger bool          `json:"would_trigger"`
	Checks       []FilterCheck `json:"checks" doc:"The webhook first, then every condition of the filter."`
}

// DeliveryPath is the part of a path that names a delivery.
type DeliveryPath struct {
	WebhookPath
	DeliveryID string `path:"deliveryId" doc:"The id of a delivery."`
}

// DeliveryFilter selects rows of a log. All that are given must hold. A page may be short and still have a cursor.
type DeliveryFilter struct {
	Status  []DeliveryStatus `query:"status,explode" doc:"Repeatable."`
	Outcome []OutcomeResult  `query:"outcome,explode" doc:"Deliveries for which an automation had this outcome. Repeatable."`
	Event   string           `query:"event" maxLength:"100" doc:"The event that the provider named in its header."`
	Q       string           `query:"q" maxLength:"1024" doc:"A part of an id, an identity, an address, an automation's name or a reason."`
}

func (f DeliveryFilter) domain() trigger.DeliveryFilter {
	out := trigger.DeliveryFilter{Event: f.Event, Text: f.Q}
	for _, status := range f.Status {
		out.Statuses = append(out.Statuses, lineshaft.DeliveryStatus(status))
	}
	for _, result := range f.Outcome {
		out.Results = append(out.Results, lineshaft.OutcomeResult(result))
	}
	return out
}

type (
	listDeliveriesInput struct {
		WebhookPath
		ReceivedAfter  time.Time `query:"received_after" doc:"Inclusive."`
		ReceivedBefore time.Time `query:"received_before" doc:"Exclusive."`
		DeliveryFilter
		PageQuery
	}
	listFactoryDeliveriesInput struct {
		FactoryPath
		DeliveryFilter
		PageQuery
	}
	getDeliveryInput struct {
		DeliveryPath
		Explain bool `query:"explain" doc:"Adds not_matched_automations."`
	}
	redeliverInput struct {
		DeliveryPath
		DryRun bool `query:"dry_run" doc:"The same as dry_run in the body."`
		Body   *RedeliverRequest
	}
)

func (s *server) listDeliveries(ctx context.Context, in *listDeliveriesInput) (*answer[ListDeliveriesResponse], error) {
	if err := s.takeTurn(ctx, weightList); err != nil {
		return nil, err
	}
	deliveries, info, err := fillWith(wireDelivery)(s.Control.ListDeliveries(ctx, callerOf(ctx), in.FactoryUID, in.WebhookUID, trigger.DeliveryQuery{
		After: in.ReceivedAfter, Before: in.ReceivedBefore, Filter: in.DeliveryFilter.domain(), Limit: in.Limit, Cursor: in.Cursor,
	}))
	return reply(ListDeliveriesResponse{deliveries, info}, err)
}

func (s *server) listFactoryDeliveries(
	ctx context.Context, in *listFactoryDeliveriesInput,
) (*answer[ListFactoryDeliveriesResponse], error) {
	if err := s.takeTurn(ctx, weightList); err != nil {
		return nil, err
	}
	deliveries, info, err := fillWith(wireLogged)(s.Control.ListAllDeliveries(ctx, callerOf(ctx), trigger.LogQuery{
		FactoryUID: in.FactoryUID, Filter: in.DeliveryFilter.domain(), Limit: in.Limit, Cursor: in.Cursor,
	}))
	return reply(ListFactoryDeliveriesResponse{deliveries, info}, err)
}

func (s *server) testWebhook(ctx context.Context, in *ofWebhook[*TestWebhookRequest]) (*answer[TestWebhookResponse], error) {
	if s.SendTest == nil {
		return nil, lineshaft.Conflict("this server takes no deliveries")
	}
	event := trigger.TestEvent{FactoryUID: in.FactoryUID, WebhookUID: in.WebhookUID, URL: s.ingressURL(in.WebhookUID)}
	if in.Body != nil {
		event.Text, event.Event = in.Body.Body, in.Body.Event
	}
	caller := callerOf(ctx)
	signed, err := s.Control.SignTestEvent(ctx, caller, event)
	if err != nil {
		return nil, err
	}
	status, body, err := s.SendTest(ctx, signed, caller.RemoteAddr)
	out := TestWebhookResponse{Status: status}
	if err == nil {
		_ = json.Unmarshal(body, &out) // a handshake answers with anything
		out.Status = status
	}
	return reply(out, err)
}

func (s *server) getDelivery(ctx context.Context, in *getDeliveryInput) (*answer[DeliveryDetail], error) {
	if err := s.takeTurn(ctx, weightRun); err != nil {
		return nil, err
	}
	found, err := s.Control.GetDelivery(ctx, callerOf(ctx), in.FactoryUID, in.WebhookUID, in.DeliveryID, in.Explain)
	if err != nil {
		return nil, err
	}
	out := DeliveryDetail{Delivery: wireDelivery(&found.Delivery), Headers: wireHeaders(found.Headers), Payload: AnyJSON(found.Payload)}
	if in.Explain {
		out.Missed, out.MissedCut = new(each(found.Missed, wireMissed)), found.MissedCut
	}
	return reply(out, nil)
}

func (s *server) redeliver(ctx context.Context, in *redeliverInput) (*kept[RedeliverResponse], error) {
	info := infoFrom(ctx)
	wanted := trigger.Redelivery{FactoryUID: in.FactoryUID, WebhookUID: in.WebhookUID, DeliveryID: in.DeliveryID}
	wanted.DryRun = in.DryRun || in.Body != nil && in.Body.DryRun
	key := info.idempotency
	if in.DryRun {
		key = nil // it distinguishes bodies, not queries, and nothing is done that must not be done twice
	}
	result, err := s.Control.Redeliver(ctx, info.caller, wanted, key)
	return keep(result.Replayed, RedeliverResponse{DeliveryID: result.DeliveryID, Outcomes: each(result.Outcomes, wireOutcome)}, err)
}

func (s *server) testFilter(ctx context.Context, in *ofFactory[TestFilterRequest]) (*answer[TestFilterResponse], error) {
	if err := storableButPayload(in.Body); err != nil {
		return nil, err
	}
	filter, err := lineshaft.ReadTriggerFilter("filter", in.Body.Filter)
	if err != nil {
		return nil, err
	}
	verdict, err := s.Control.TestFilter(ctx, callerOf(ctx), in.FactoryUID, factories.FilterTest{
		Provider: in.Body.Provider, Event: in.Body.Event, Filter: filter, PayloadEvent: in.Body.PayloadEvent,
		DeliveryID: in.Body.DeliveryID, Payload: json.RawMessage(in.Body.Payload), WebhookID: in.Body.WebhookID,
	})
	return reply(TestFilterResponse{verdict.WouldTrigger, each(verdict.Checks, wireCheck)}, err)
}

// storableButPayload refuses U+0000 except in the payload, which may hold it as a delivery may.
func storableButPayload(request TestFilterRequest) error {
	request.Payload = nil
	text, err := marshal(request)
	if err != nil {
		return err
	}
	return jsonbody.Check(text, jsonbody.Options{Limit: int64(len(text))})
}

func wireDelivery(d *lineshaft.Delivery) Delivery {
	return Delivery{
		DeliveryID: d.ID, Status: DeliveryStatus(d.Status), Size: d.Size, ReceivedAt: stamp(d.ReceivedAt), Identity: d.Identity,
		IdentitySource: d.IdentitySource, RemoteAddr: d.RemoteAddr, RedeliveryOf: d.RedeliveryOf, DuplicateOf: d.DuplicateOf,
		NotMatched: d.NotMatched, Outcomes: each(d.Outcomes, wireOutcome), Event: d.Event,
		Test: d.Test, AnswerStatus: d.AnswerStatus, AnswerMS: float64(d.Took.Microseconds()) / 1000,
	}
}

func wireLogged(d *trigger.LoggedDelivery) LoggedDelivery {
	return LoggedDelivery{wireDelivery(&d.Delivery), d.WebhookUID, d.Webhook.Name}
}

func wireHeaders(lines string) map[string]string {
	headers := map[string]string{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		headers[name] = value
	}
	return headers
}

func wireOutcome(o *lineshaft.DeliveryOutcome) DeliveryOutcome {
	return DeliveryOutcome{o.AutomationID, o.AutomationName, OutcomeResult(o.Result), o.Reason, o.RunID}
}

func wireMissed(m *trigger.MissedAutomation) MissedAutomation {
	return MissedAutomation{m.UID, m.Name, each(m.Checks, func(check *trigger.MissedCheck) MissedCheck {
		return MissedCheck{check.Trigger, wireCheck(&check.Check)}
	})}
}

func wireCheck(c *factories.Check) FilterCheck {
	return FilterCheck{Path: c.Path, Operator: c.Operator, Expected: AnyJSON(c.Expected), Seen: AnyJSON(c.Seen), Passed: c.Passed}
}
