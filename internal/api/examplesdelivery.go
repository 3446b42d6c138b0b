package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

// The examples of the delivery log, and what is told about its operations.

const exampleDeliveryID = "01980f6e-5b70-7d2c-a3f4-1b2c3d4e5f60"

func deliveryExamples() map[string]any {
	return map[string]any{
		"list_deliveries_response": exampleDeliveries(),
		"delivery":                 exampleDelivery(),
		"redeliver_request":        RedeliverRequest{DryRun: true},
		"redeliver_response":       exampleRedelivered(),
		"test_filter_request":      exampleFilterTest(),
		"test_filter_response":     exampleFilterVerdict(),
	}
}

func deliveryDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listDeliveries": {
			tag: tagWebhooks, summary: "Read the log of a webhook",
			text:  "Newest first; also of a deleted webhook. What is older than 7 days and not among the newest 50 is removed.",
			codes: []lineshaft.Code{notFound}, response: exampleDeliveries(),
		},
		"getDelivery": {
			tag: tagWebhooks, summary: "Get a delivery", text: "With its payload, if it was accepted.",
			codes: []lineshaft.Code{notFound}, response: exampleDelivery(),
		},
		"redeliver": {
			tag: tagWebhooks, summary: "Deliver again", status: http.StatusAccepted, idempotent: true,
			text: "Evaluates a stored delivery with the automations of today, under a new id. Neither the rate nor the identity counts, and a disabled webhook does it too. " +
				"Only accepted deliveries can be repeated; for a duplicate, repeat the first one. A dry run, asked for in the body or the query, stores and starts nothing.",
			codes: []lineshaft.Code{notFound, conflict, mismatch}, request: RedeliverRequest{DryRun: true}, response: exampleRedelivered(),
		},
		"testFilter": {
			nul: true, tag: tagWebhooks, summary: "Try a filter", large: true,
			text:  "Against a stored delivery or a given payload. Nothing is stored or started.",
			codes: []lineshaft.Code{notFound, conflict}, request: exampleFilterTest(), response: exampleFilterVerdict(),
		},
	}
}

func exampleLogRow() Delivery {
	return Delivery{
		DeliveryID: exampleDeliveryID, Status: "accepted", Size: 43, ReceivedAt: exampleCreatedAt, Identity: "evt_1a2b3c", IdentitySource: "header webhook-id",
		RemoteAddr: "192.0.2.7", NotMatched: 1,
		Outcomes: []DeliveryOutcome{{AutomationID: exampleAutomationUID, AutomationName: "triage", Result: "started", RunID: exampleRunID}},
	}
}

func exampleDeliveries() ListDeliveriesResponse {
	return ListDeliveriesResponse{Deliveries: []Delivery{exampleLogRow()}, PageInfo: PageInfo{HasNextPage: true, NextCursor: "eyJ2IjoxfQ"}}
}

func exampleDelivery() DeliveryDetail {
	return DeliveryDetail{
		Delivery: exampleLogRow(), Payload: AnyJSON(`{"action":"opened","issue":{"number":4711}}`),
		Missed: &[]MissedAutomation{{AutomationID: "01980f11-9988-7a77-8665-544332211000", AutomationName: "close", Checks: []MissedCheck{{
			FilterCheck: FilterCheck{Path: "payload.action", Operator: "in", Expected: AnyJSON(`["closed"]`), Seen: AnyJSON(`"opened"`)},
		}}}},
	}
}

func exampleRedelivered() RedeliverResponse {
	return RedeliverResponse{DeliveryID: "01980f7a-0001-7c3d-9e4f-a1b2c3d4e5f6", Outcomes: exampleLogRow().Outcomes}
}

func exampleFilterTest() TestFilterRequest {
	return TestFilterRequest{Filter: exampleTriggers()[0].Filter, DeliveryID: exampleDeliveryID}
}

func exampleFilterVerdict() TestFilterResponse {
	return TestFilterResponse{WouldTrigger: true, Checks: []FilterCheck{
		{Path: "webhook", Operator: "in", Expected: AnyJSON(`["issues"]`), Seen: AnyJSON(`"issues"`), Passed: true},
		{Path: "payload.action", Operator: "in", Expected: AnyJSON(`["opened"]`), Seen: AnyJSON(`"opened"`), Passed: true},
		{Path: "payload.issue.labels.name", Operator: "not_in", Expected: AnyJSON(`["wontfix"]`), Passed: true},
	}}
}
