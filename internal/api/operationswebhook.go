package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

func webhookDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listWebhooks": {tag: tagWebhooks, summary: "List webhooks", text: "All of the factory, by name.", codes: []lineshaft.Code{notFound}, response: example("list_webhooks_response")},
		"createWebhook": {
			tag: tagWebhooks, summary: "Create a webhook", status: http.StatusCreated,
			text: "A secret that the server generates is in this answer and in no other. A secret that is issued by the provider may be left out: " +
				"the webhook is then made disabled with needs_secret, and rotateWebhook takes the secret. At most 20 for a factory.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("create_webhook_request"), response: example("create_webhook_response"),
		},
		"getWebhook": {tag: tagWebhooks, summary: "Get a webhook", codes: []lineshaft.Code{notFound}, response: example("webhook")},
		"updateWebhook": {
			tag: tagWebhooks, summary: "Change a webhook", text: "What is absent stays. Senders of a disabled webhook get 404 at once.",
			codes: []lineshaft.Code{notFound, conflict, notSupported}, request: example("update_webhook_request"), response: example("webhook"),
		},
		"rotateWebhook": {
			tag: tagWebhooks, summary: "Replace the secret of a webhook",
			text: "The old secret ends at once, or after overlap_seconds. A webhook that waits for its provider's secret is enabled with it. " +
				"One that uses a secret which people manage is 409: change the value of that secret instead.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("rotate_webhook_request"), response: example("create_webhook_response"),
		},
		"deleteWebhook": {
			tag: tagWebhooks, summary: "Delete a webhook", status: http.StatusNoContent,
			text: "Senders get 404 at once. Its log stays until it is old enough; automations that select it stay and do not fire.", codes: []lineshaft.Code{notFound, conflict},
		},
	}
}
