package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

func deliveryDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listDeliveries": {
			tag: tagWebhooks, summary: "Read the log of a webhook",
			text:  "Newest first; also of a deleted webhook. What is older than 7 days and not among the newest 50 is removed.",
			codes: []lineshaft.Code{notFound}, response: example("list_deliveries_response"),
		},
		"getDelivery": {
			tag: tagWebhooks, summary: "Get a delivery", text: "With its payload, if it was accepted.",
			codes: []lineshaft.Code{notFound}, response: example("delivery"),
		},
		"redeliver": {
			tag: tagWebhooks, summary: "Deliver again", status: http.StatusAccepted, idempotent: true,
			text: "Evaluates a stored delivery with the automations of today, under a new id. Neither the rate nor the identity counts, and a disabled webhook does it too. " +
				"Only accepted deliveries can be repeated; for a duplicate, repeat the first one. A dry run, asked for in the body or the query, stores and starts nothing.",
			codes: []lineshaft.Code{notFound, conflict, mismatch}, request: example("redeliver_request"), response: example("redeliver_response"),
		},
		"testFilter": {
			nul: true, tag: tagWebhooks, summary: "Try a filter", large: true,
			text:  "Against a stored delivery or a given payload. Nothing is stored or started.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("test_filter_request"), response: example("test_filter_response"),
		},
	}
}
