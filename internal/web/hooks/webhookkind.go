package hooks

import (
	"errors"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// WebhookKind is one way in which a sender may prove who it is, for people who choose
// among all of them.
type WebhookKind struct {
	// Name is the scheme's, or the mode's where there is none.
	Name     string
	Title    string
	AuthMode lineshaft.AuthMode
	Scheme   string
	// Issued says that the provider makes the secret: it may come later.
	Issued bool
	// SecretFirst says that the provider asks the URL for an answer at once, so that you
	// enter it there last.
	SecretFirst bool
	// Handshake says in words which request of the provider starts nothing.
	Handshake string
}

// WebhookKinds lists the ways: first those that any sender can use, then providers
// by title.
func WebhookKinds() []WebhookKind {
	kinds := []WebhookKind{
		{Name: string(lineshaft.AuthToken), Title: "Bearer token", AuthMode: lineshaft.AuthToken},
		{Name: string(lineshaft.AuthURLToken), Title: "Token in the URL", AuthMode: lineshaft.AuthURLToken},
	}
	var providers []WebhookKind
	for _, s := range signature.Schemes() {
		kind := WebhookKind{
			Name: s.Name, Title: s.Title, AuthMode: lineshaft.AuthSignature, Scheme: s.Name, Handshake: s.Handshake,
			Issued: s.SecretFrom == signature.Issued, SecretFirst: s.SecretFrom == signature.Issued && s.Handshake != "",
		}
		if kind.Open() {
			kinds = append(kinds, kind)
		} else {
			providers = append(providers, kind)
		}
	}
	slices.SortFunc(providers, func(a, b WebhookKind) int {
		return strings.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
	})
	return append(kinds, providers...)
}

// Open says that the kind is not one provider's: any sender may use it.
func (k WebhookKind) Open() bool {
	return k.Scheme == "" || k.Scheme == "hmac" || k.Scheme == "standard_webhooks"
}

// kindOf finds the kind of a webhook.
func kindOf(w lineshaft.Webhook) WebhookKind {
	for _, kind := range WebhookKinds() {
		if kind.AuthMode == w.AuthMode && kind.Scheme == w.SignatureScheme {
			return kind
		}
	}
	return WebhookKind{Name: string(w.AuthMode), Title: w.SignatureScheme, AuthMode: w.AuthMode, Scheme: w.SignatureScheme}
}

// webhookTrial is what you need to send a first delivery by hand.
type webhookTrial struct {
	Webhook lineshaft.Webhook
	// URL is where deliveries go, without a token.
	URL string
	// Secret is the webhook's if the asker knows it; Told puts it into the script.
	Secret string
	Told   bool
}

// Event is the event that the script sends, as the provider calls it; empty for none.
func (t webhookTrial) Event() string { return signature.TrialEvent(t.Webhook.SignatureScheme) }

// Script returns lines for a shell that sign and send a delivery; empty where only the
// provider can sign.
func (t webhookTrial) Script() (string, error) {
	secret := signature.SecretPlace
	if t.Told {
		secret = t.Secret
	}
	body := "\n" + `body="{\"id\":\"$(openssl rand -hex 8)\",\"message\":\"hello\"}"` + "\n"
	switch t.Webhook.AuthMode {
	case lineshaft.AuthToken:
		return "url=" + signature.ShellWord(t.URL) + "\nsecret=" + signature.ShellWord(secret) + body +
			signature.ShellPost([]string{`"Authorization: Bearer $secret"`, "'Content-Type: application/json'"}), nil
	case lineshaft.AuthURLToken:
		return "url=" + signature.ShellWord(t.URL+"/"+secret) + body + signature.ShellPost([]string{"'Content-Type: application/json'"}), nil
	case lineshaft.AuthSignature:
	}
	script, err := signature.Trial{
		Scheme: t.Webhook.SignatureScheme, Settings: signature.HMAC(t.Webhook.HMAC), URL: t.URL, Secret: t.Secret, Told: t.Told,
	}.Script()
	if errors.Is(err, signature.ErrNoTrial) {
		return "", nil
	}
	return script, err
}

// hookGuide says where a sender wants the URL and the secret, by the kind's name.
func hookGuide(kind string) string {
	return map[string]string{
		"token":             "Give the sender the URL, and have it send the header Authorization with Bearer and the secret. Most tools that can call a URL can do that.",
		"url_token":         "Give the sender the URL and nothing else. Anyone who has it can send, so treat it like a password and rotate it when it leaks.",
		"hmac":              "Give the sender the URL and the secret. It must sign exactly as set up here.",
		"standard_webhooks": "Enter the URL as an endpoint and the secret as its signing secret. Senders that use Svix work as well.",
		"bitbucket":         "Repository settings, Webhooks, Add webhook: enter the URL and the secret, and choose the events.",
		"buildkite":         "Organization settings, Notification services, Webhook: enter the URL, and choose to send a signature with the token that Buildkite shows.",
		"calendly":          "Create a webhook subscription with Calendly's API, with the URL as url and the secret as signing_key.",
		"circleci":          "Project settings, Webhooks, Add webhook: enter the URL and, as secret token, the secret.",
		"discord":           "Developer Portal, your application, Webhooks: enter the URL last. Discord asks it for an answer at once.",
		"dropbox":           "App Console, your app, Webhooks: enter the URL last. Dropbox asks it for an answer at once. The secret is the app secret.",
		"github":            "Repository or organization settings, Webhooks, Add webhook: enter the URL and the secret, and choose application/json as the content type. Gitea and Forgejo work the same way.",
		"gitlab":            "Project or group settings, Webhooks, Add new webhook: enter the URL and, as secret token, the secret.",
		"grafana":           "Alerting, Contact points, a webhook contact point: enter the URL and, under HMAC signature, the secret.",
		"hubspot":           "Developer account, your app, Webhooks: enter the URL as target URL. The secret is the app's client secret.",
		"intercom":          "Developer Hub, your app, Webhooks: enter the URL and choose topics. The secret is the app's client secret.",
		"jira":              "Settings, System, WebHooks, Create a WebHook: enter the URL and the secret, and choose the events.",
		"linear":            "Settings, API, Webhooks, New webhook: enter the URL. Linear then shows the signing secret.",
		"pagerduty":         "Integrations, Generic Webhooks (v3), New webhook: enter the URL. PagerDuty shows the signing secret once.",
		"sentry":            "Settings, Developer Settings, your integration: enter the URL as webhook URL. The secret is the integration's client secret.",
		"shopify":           "Settings, Notifications, Webhooks: enter the URL with the format JSON. The secret is shown below the list; for an app it is the client secret.",
		"slack":             "Your Slack app, Event Subscriptions: enter the URL as Request URL last. Slack asks it for an answer at once. The secret is the signing secret under Basic Information.",
		"square":            "Developer Console, your application, Webhooks, Subscriptions: enter the URL exactly as shown here. Square then shows the signature key.",
		"stripe":            "Developers, Webhooks, Add endpoint: enter the URL. Stripe then reveals the signing secret (whsec_…).",
		"twilio":            "Enter the URL, exactly as shown here, where Twilio asks for a webhook. The secret is the account's auth token.",
		"typeform":          "Your form, Connect, Webhooks: enter the URL and the secret.",
		"vercel":            "Team settings, Webhooks: enter the URL. Vercel shows the secret once.",
		"zoom":              "App Marketplace, your app, Event subscriptions: enter the URL last. Zoom asks it for an answer at once. The secret is the app's secret token.",
	}[kind]
}

// kindWords says in a line what a kind is for that any sender can use.
func kindWords(kind string) string {
	return map[string]string{
		"token":             "Any tool that can send a header. The simplest choice for scripts and CI.",
		"url_token":         "For senders that can only be given a URL.",
		"hmac":              "Any other sender that signs with an HMAC; you describe how.",
		"standard_webhooks": "The format that many services share, Svix among them.",
	}[kind]
}
