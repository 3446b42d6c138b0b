package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
)

type (
	// DeliveryStatus is what became of a request to a webhook.
	DeliveryStatus string
	// OutcomeResult is what one automation made of a delivery.
	OutcomeResult string
)

// Schema implements huma.SchemaProvider.
func (DeliveryStatus) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "DeliveryStatus", lineshaft.DeliveryStatuses(), "What became of a request. Those that got 404 or 429 are not in the log.")
}

// Schema implements huma.SchemaProvider.
func (OutcomeResult) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "OutcomeResult", lineshaft.OutcomeResults(), "What an automation made of a delivery. filtered appears in dry runs only: the log counts those in not_matched.")
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
	Identity       string            `json:"identity" doc:"What tells this delivery from another; empty for refused ones."`
	IdentitySource string            `json:"identity_source" doc:"Where the identity was found."`
	RemoteAddr     string            `json:"remote_addr"`
	RedeliveryOf   string            `json:"redelivery_of,omitempty" doc:"The delivery that this one repeats, because somebody asked for it."`
	DuplicateOf    string            `json:"duplicate_of,omitempty" doc:"The first delivery with this identity."`
	NotMatched     int               `json:"not_matched" doc:"How many automations of the webhook did not match."`
	Outcomes       []DeliveryOutcome `json:"outcomes"`
	Event          string            `json:"event,omitempty" doc:"What GitHub or GitLab named in its header, such as pull_request."`
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
	Payload   AnyJSON             `json:"payload,omitempty" doc:"The body, of accepted deliveries only."`
	Missed    *[]MissedAutomation `json:"not_matched_automations,omitempty" doc:"With explain: what does not match today, and why."`
	MissedCut bool                `json:"not_matched_truncated,omitempty" doc:"More does not match than is said."`
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
	Path     string  `json:"path" doc:"webhook, signature_scheme, event, the name of a set such as labels, or the way to the field from payload."`
	Operator string  `json:"operator" enum:"in,not_in,exists,object" doc:"object: the field has conditions below it, but is no object."`
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
	DryRun bool `json:"dry_run,omitempty" doc:"Tells what would come of it and stores nothing."`
}

// RedeliverResponse is what came of it, or would.
type RedeliverResponse struct {
	DeliveryID string            `json:"delivery_id" doc:"The new delivery; in a dry run the old one."`
	Outcomes   []DeliveryOutcome `json:"outcomes" doc:"In a dry run also of automations that do not match."`
}

// TestFilterRequest asks whether a filter would match.
type TestFilterRequest struct {
	Filter     TriggerFilter `json:"filter" doc:"As in a trigger. One that names no webhooks listens to all of them."`
	DeliveryID string        `json:"delivery_id,omitempty" doc:"A stored delivery of the factory. This or payload."`
	Payload    AnyJSON       `json:"payload,omitempty" doc:"Any JSON value. This or delivery_id."`
	WebhookID  string        `json:"webhook_id,omitempty" doc:"Where the payload comes in; absent, the webhook check passes."`

	Provider     string `json:"provider,omitempty" doc:"Of the trigger: webhook when absent, github, gitlab, linear, slack or jira."`
	Event        string `json:"event,omitempty" doc:"Of the trigger: such as issue_opened."`
	PayloadEvent string `json:"payload_event,omitempty" maxLength:"100" doc:"What the provider's header says with this payload, such as issues of GitHub; a stored delivery knows its own."`
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

type (
	listDeliveriesInput struct {
		WebhookPath
		ReceivedAfter  time.Time `query:"received_after" doc:"Inclusive."`
		ReceivedBefore time.Time `query:"received_before" doc:"Exclusive."`
		Limit          int       `query:"limit" default:"20" minimum:"1" maximum:"500"`
		Cursor         string    `query:"cursor" maxLength:"4096" doc:"From page_info.next_cursor."`
	}
	listDeliveriesOutput struct{ Body ListDeliveriesResponse }
	getDeliveryInput     struct {
		DeliveryPath
		Explain bool `query:"explain" doc:"Adds not_matched_automations."`
	}
	getDeliveryOutput struct{ Body DeliveryDetail }
	redeliverInput    struct {
		DeliveryPath
		DryRun bool `query:"dry_run" doc:"The same as dry_run in the body."`
		Body   *RedeliverRequest
	}
	redeliverOutput struct {
		Replayed string `header:"Idempotent-Replayed" doc:"true when this is the kept answer to an earlier request with the same Idempotency-Key."`
		Body     RedeliverResponse
	}
	testFilterInput struct {
		FactoryPath
		Body TestFilterRequest
	}
	testFilterOutput struct{ Body TestFilterResponse }
)

func (s *server) listDeliveries(ctx context.Context, in *listDeliveriesInput) (*listDeliveriesOutput, error) {
	if err := s.takeTurn(ctx, weightList); err != nil {
		return nil, err
	}
	page, err := s.Control.ListDeliveries(ctx, infoFrom(ctx).caller, in.FactoryUID, in.WebhookUID, trigger.DeliveryQuery{
		After: in.ReceivedAfter, Before: in.ReceivedBefore, Limit: in.Limit, Cursor: in.Cursor,
	})
	if err != nil {
		return nil, err
	}
	out := &listDeliveriesOutput{}
	out.Body.Deliveries, out.Body.PageInfo, err = fillPage(page, always(wireDelivery))
	return out, err
}

func (s *server) getDelivery(ctx context.Context, in *getDeliveryInput) (*getDeliveryOutput, error) {
	if err := s.takeTurn(ctx, weightRun); err != nil {
		return nil, err
	}
	found, err := s.Control.GetDelivery(ctx, infoFrom(ctx).caller, in.FactoryUID, in.WebhookUID, in.DeliveryID, in.Explain)
	if err != nil {
		return nil, err
	}
	out := &getDeliveryOutput{DeliveryDetail{Delivery: wireDelivery(&found.Delivery), Payload: AnyJSON(found.Payload)}}
	if in.Explain {
		missed := []MissedAutomation{}
		for _, m := range found.Missed {
			missed = append(missed, wireMissed(m))
		}
		out.Body.Missed, out.Body.MissedCut = &missed, found.MissedCut
	}
	return out, nil
}

func (s *server) redeliver(ctx context.Context, in *redeliverInput) (*redeliverOutput, error) {
	info := infoFrom(ctx)
	wanted := trigger.Redelivery{FactoryUID: in.FactoryUID, WebhookUID: in.WebhookUID, DeliveryID: in.DeliveryID}
	wanted.DryRun = in.DryRun || in.Body != nil && in.Body.DryRun
	key := info.idempotency
	if in.DryRun {
		key = nil // it knows bodies apart, not queries, and nothing is done that must not be done twice
	}
	result, err := s.Control.Redeliver(ctx, info.caller, wanted, key)
	if err != nil {
		return nil, err
	}
	return &redeliverOutput{
		Replayed: replayed(result.Replayed), Body: RedeliverResponse{DeliveryID: result.DeliveryID, Outcomes: wireOutcomes(result.Outcomes)},
	}, nil
}

func (s *server) testFilter(ctx context.Context, in *testFilterInput) (*testFilterOutput, error) {
	if err := storableButPayload(in.Body); err != nil {
		return nil, err
	}
	filter, err := domainFilter("filter", in.Body.Filter)
	if err != nil {
		return nil, err
	}
	verdict, err := s.Control.TestFilter(ctx, infoFrom(ctx).caller, in.FactoryUID, factories.FilterTest{
		Provider: in.Body.Provider, Event: in.Body.Event, Filter: filter, PayloadEvent: in.Body.PayloadEvent,
		DeliveryID: in.Body.DeliveryID, Payload: json.RawMessage(in.Body.Payload), WebhookID: in.Body.WebhookID,
	})
	if err != nil {
		return nil, err
	}
	out := &testFilterOutput{TestFilterResponse{WouldTrigger: verdict.WouldTrigger, Checks: []FilterCheck{}}}
	for _, check := range verdict.Checks {
		out.Body.Checks = append(out.Body.Checks, wireCheck(check))
	}
	return out, nil
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
		NotMatched: d.NotMatched, Outcomes: wireOutcomes(d.Outcomes), Event: d.Event,
	}
}

func wireOutcomes(list []lineshaft.DeliveryOutcome) []DeliveryOutcome {
	out := []DeliveryOutcome{}
	for _, o := range list {
		out = append(out, DeliveryOutcome{
			AutomationID: o.AutomationID, AutomationName: o.AutomationName, Result: OutcomeResult(o.Result), Reason: o.Reason, RunID: o.RunID,
		})
	}
	return out
}

func wireMissed(m trigger.MissedAutomation) MissedAutomation {
	out := MissedAutomation{AutomationID: m.UID, AutomationName: m.Name, Checks: []MissedCheck{}}
	for _, check := range m.Checks {
		out.Checks = append(out.Checks, MissedCheck{Trigger: check.Trigger, FilterCheck: wireCheck(check.Check)})
	}
	return out
}

func wireCheck(c factories.Check) FilterCheck {
	return FilterCheck{Path: c.Path, Operator: c.Operator, Expected: AnyJSON(c.Expected), Seen: AnyJSON(c.Seen), Passed: c.Passed}
}
