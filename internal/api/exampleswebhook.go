package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

// The words and examples of webhooks.

const (
	exampleWebhookUID    = "q3Zr8mVt0LkXw7bNcYp2sHdJfGe"
	exampleWebhookSecret = "whsec_c2l4dGVlbiBieXRlcyBhcmUgbm90IGVub3VnaCE="
)

func webhookExamples() map[string]any {
	return map[string]any{
		"create_webhook_request":  exampleWebhookRequest(),
		"create_webhook_response": exampleIssuedWebhook(),
		"update_webhook_request":  exampleWebhookUpdate(),
		"rotate_webhook_request":  exampleRotation(),
		"webhook":                 exampleWebhook(),
		"list_webhooks_response":  exampleWebhooks(),
	}
}

func webhookDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listWebhooks": {tag: tagWebhooks, summary: "List webhooks", text: "All of the factory, by name.", codes: []lineshaft.Code{notFound}, response: exampleWebhooks()},
		"createWebhook": {
			tag: tagWebhooks, summary: "Create a webhook", status: http.StatusCreated,
			text: "A secret that the server generates is in this answer and in no other. A secret that is issued by the provider may be left out: " +
				"the webhook is then made disabled with needs_secret, and rotateWebhook takes the secret. At most 20 for a factory.",
			codes: []lineshaft.Code{notFound, conflict}, request: exampleWebhookRequest(), response: exampleIssuedWebhook(),
		},
		"getWebhook": {tag: tagWebhooks, summary: "Get a webhook", codes: []lineshaft.Code{notFound}, response: exampleWebhook()},
		"updateWebhook": {
			tag: tagWebhooks, summary: "Change a webhook", text: "What is absent stays. Senders of a disabled webhook get 404 at once.",
			codes: []lineshaft.Code{notFound, conflict, notSupported}, request: exampleWebhookUpdate(), response: exampleWebhook(),
		},
		"rotateWebhook": {
			tag: tagWebhooks, summary: "Replace the secret of a webhook",
			text: "The old secret ends at once, or after overlap_seconds. A webhook that waits for its provider's secret is enabled with it. " +
				"One that uses a secret which people manage is 409: change the value of that secret instead.",
			codes: []lineshaft.Code{notFound, conflict}, request: exampleRotation(), response: exampleIssuedWebhook(),
		},
		"deleteWebhook": {
			tag: tagWebhooks, summary: "Delete a webhook", status: http.StatusNoContent,
			text: "Senders get 404 at once. Its log stays until it is old enough; automations that select it stay and do not fire.", codes: []lineshaft.Code{notFound, conflict},
		},
	}
}

func exampleWebhookRequest() CreateWebhookRequest {
	return CreateWebhookRequest{Name: "issues", AuthMode: "signature", SignatureScheme: "standard_webhooks", RateLimit: ptr(120), ReplayGuard: true}
}

func exampleWebhook() Webhook {
	return Webhook{
		UID: exampleWebhookUID, FactoryUID: exampleFactoryUID, Name: "issues", AuthMode: "signature", SignatureScheme: "standard_webhooks",
		SecretName: "ISSUES_WEBHOOK_SECRET", Enabled: true, RateLimit: 120, MaxBodyBytes: lineshaft.DefaultWebhookBytes, ReplayGuard: true,
		IngressURL: exampleBase + ingressPath + exampleWebhookUID, CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt,
	}
}

func exampleIssuedWebhook() IssuedWebhook {
	return IssuedWebhook{Webhook: exampleWebhook(), Secret: exampleWebhookSecret}
}

func exampleWebhookUpdate() UpdateWebhookRequest {
	return UpdateWebhookRequest{Enabled: ptr(false), RateLimit: ptr(0)}
}

func exampleRotation() RotateWebhookRequest { return RotateWebhookRequest{OverlapSeconds: 3600} }

func exampleWebhooks() ListWebhooksResponse {
	return ListWebhooksResponse{Webhooks: []Webhook{exampleWebhook()}}
}
