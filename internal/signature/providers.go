package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// overBody is the commonest rule: an HMAC with SHA-256 of the body, in hex, behind a prefix.
func overBody(header, prefix string) Rule {
	return Rule{Header: header, Prefix: prefix, Digest: SHA256, Encoding: Hex, Signed: "{body}"}
}

// in64 is a rule whose signature is written in base64.
func in64(rule Rule) Rule {
	rule.Encoding = Base64
	return rule
}

// in1 is a rule that signs with SHA-1.
func in1(rule Rule) Rule {
	rule.Digest = SHA1
	return rule
}

// listed is a rule whose header has several items with commas between them.
func listed(rule Rule) Rule {
	rule.List = ","
	return rule
}

// stamped is a rule that signs a time in seconds, too.
func stamped(rule Rule, signed string, stamp Stamp) Rule {
	stamp.Unit, stamp.Window = time.Second, window
	rule.Signed, rule.Stamp = signed, stamp
	return rule
}

// plainSchemes are those that are said by their rows; the others have files of their own.
func plainSchemes() []Scheme {
	return []Scheme{{
		// The cloud and the server product; the two headers with an id are theirs in this order.
		Name: "bitbucket", Title: "Bitbucket", SecretFrom: Chosen, Rules: []Rule{overBody("X-Hub-Signature", "sha256=")},
		Identity: []Source{{Header: "X-Request-UUID"}, {Header: "X-Request-Id"}},
	}, {
		// It signs, or sends the token as it is, which leaves the body unprotected: that is
		// chosen on its side. A signature that was sent decides.
		Name: "buildkite", Title: "Buildkite", SecretFrom: Issued, Rules: []Rule{
			stamped(listed(overBody("X-Buildkite-Signature", "signature=")), "{timestamp}.{body}", Stamp{Item: "timestamp"}),
			{Header: "X-Buildkite-Token", Digest: Token, Encoding: Plain},
		},
	}, {
		// It writes its header like Stripe.
		Name: "calendly", Title: "Calendly", SecretFrom: Chosen,
		Rules: []Rule{stamped(listed(overBody("Calendly-Webhook-Signature", "v1=")), "{timestamp}.{body}", Stamp{Item: "t"})},
	}, {
		// It may send other versions beside v1, the only one there is so far.
		Name: "circleci", Title: "CircleCI", SecretFrom: Chosen, Rules: []Rule{listed(overBody("Circleci-Signature", "v1="))},
		Identity: []Source{{Body: "id"}},
	}, {
		// It asks for an echo by GET, unsigned, when a URL is entered: see Challenge.
		Name: "dropbox", Title: "Dropbox", SecretFrom: Issued, Rules: []Rule{overBody("X-Dropbox-Signature", "")},
		Handshake: "GET with ?challenge= is answered 200 with the challenge",
	}, {
		// SHA-1, in the header that others use for SHA-256.
		Name: "intercom", Title: "Intercom", SecretFrom: Issued, Rules: []Rule{in1(overBody("X-Hub-Signature", "sha1="))},
		Identity: []Source{{Body: "id"}},
	}, {
		// It repeats its id when it tries again.
		Name: "jira", Title: "Jira", SecretFrom: Chosen, Rules: []Rule{overBody("X-Hub-Signature", "sha256=")},
		Identity: []Source{{Header: "X-Atlassian-Webhook-Identifier"}},
	}, {
		// One signature for each secret that is live. The header with the id stays the same
		// for every attempt.
		Name: "pagerduty", Title: "PagerDuty", SecretFrom: Issued, Rules: []Rule{listed(overBody("X-PagerDuty-Signature", "v1="))},
		Identity: []Source{{Header: "X-Webhook-Id"}, {Body: "event.id"}},
	}, {
		// The integration platform. Its time stamp is not signed and is not looked at; its
		// Request-ID is new for each attempt, so it is no identity.
		Name: "sentry", Title: "Sentry", SecretFrom: Issued, Rules: []Rule{overBody("Sentry-Hook-Signature", "")},
	}, {
		// There is a second name for the header, for its newer events.
		Name: "shopify", Title: "Shopify", SecretFrom: Issued,
		Rules:    []Rule{in64(overBody("X-Shopify-Hmac-Sha256", "")), in64(overBody("Shopify-Hmac-Sha256", ""))},
		Identity: []Source{{Header: "X-Shopify-Webhook-Id"}},
	}, {
		// It signs the URL that it was given together with the body.
		Name: "square", Title: "Square", SecretFrom: Issued,
		Rules:    []Rule{{Header: "X-Square-Hmacsha256-Signature", Digest: SHA256, Encoding: Base64, Signed: "{url}{body}"}},
		Identity: []Source{{Body: "event_id"}},
	}, {
		// Its HMAC is keyed with the whole text of the secret, whsec_ included, unlike Standard
		// Webhooks. There is one v1 for each secret that is live; v0 is a decoy.
		Name: "stripe", Title: "Stripe", SecretFrom: Issued,
		Rules:    []Rule{stamped(listed(overBody("Stripe-Signature", "v1=")), "{timestamp}.{body}", Stamp{Item: "t"})},
		Identity: []Source{{Body: "id"}},
	}, {
		// It writes base64 where others who say sha256= write hex.
		Name: "typeform", Title: "Typeform", SecretFrom: Chosen, Rules: []Rule{in64(overBody("Typeform-Signature", "sha256="))},
		Identity: []Source{{Body: "event_id"}},
	}, {
		Name: "vercel", Title: "Vercel", SecretFrom: Issued, Rules: []Rule{in1(overBody("X-Vercel-Signature", ""))},
		Identity: []Source{{Body: "id"}},
	}}
}

// linear puts the time in the signed body; the header with a time is not signed and
// is not looked at.
func linear() Scheme {
	rule := overBody("Linear-Signature", "")
	rule.Stamp = Stamp{Body: "webhookTimestamp", Unit: time.Millisecond, Window: time.Minute}
	return Scheme{Name: "linear", Title: "Linear", SecretFrom: Issued, Rules: []Rule{rule}, Identity: []Source{{Header: "Linear-Delivery"}}}
}

// Challenge returns the answer to a GET request that asks for an echo, which only
// Dropbox sends, or nil. Nobody has signed it: it must be served as plain text that
// no browser takes for anything else (X-Content-Type-Options: nosniff).
func Challenge(scheme string, query url.Values) *Answer {
	if values := query["challenge"]; scheme == "dropbox" && len(values) == 1 {
		return textAnswer(values[0])
	}
	return nil
}

// slack has one signing secret for an app.
func slack() Scheme {
	return Scheme{
		Name: "slack", Title: "Slack", SecretFrom: Issued,
		Rules:     []Rule{stamped(overBody("X-Slack-Signature", "v0="), "v0:{timestamp}:{body}", Stamp{Header: "X-Slack-Request-Timestamp"})},
		Identity:  []Source{{Body: "event_id"}},
		Handshake: "url_verification is answered 200 with its challenge",
		answer: func(_ key, r *Request) *Answer {
			if len(r.Body) > maxHandshake || jsontext.MemberText(r.Body, "type") != "url_verification" {
				return nil
			}
			return textAnswer(jsontext.MemberText(r.Body, "challenge"))
		},
	}
}

// zoom asks every 72 hours whether we still know the secret.
func zoom() Scheme {
	return Scheme{
		Name: "zoom", Title: "Zoom", SecretFrom: Issued,
		Rules:     []Rule{stamped(overBody("X-Zm-Signature", "v0="), "v0:{timestamp}:{body}", Stamp{Header: "X-Zm-Request-Timestamp"})},
		Handshake: "endpoint.url_validation is answered 200 with its token, plain and signed",
		answer:    zoomAnswer,
	}
}

func zoomAnswer(used key, r *Request) *Answer {
	if len(r.Body) > maxHandshake || jsontext.MemberText(r.Body, "event") != "endpoint.url_validation" {
		return nil
	}
	plain := challenge(jsontext.MemberText(r.Body, "payload.plainToken"))
	if plain == "" || strings.HasPrefix(plain, "v0:") { // we sign what is asked for, but no request
		return nil
	}
	mac := hmac.New(sha256.New, used.bytes)
	mac.Write([]byte(plain))
	body, err := json.Marshal(struct {
		Plain     string `json:"plainToken"`
		Encrypted string `json:"encryptedToken"`
	}{plain, hex.EncodeToString(mac.Sum(nil))})
	if err != nil {
		return nil
	}
	return &Answer{Status: 200, ContentType: "application/json", Body: body}
}

// github is also spoken by Gitea and Forgejo. The older header with SHA-1 is
// sent beside this one; it is not looked at.
func github() Scheme {
	return Scheme{
		Name: "github", Title: "GitHub", SecretFrom: Chosen, Rules: []Rule{overBody("X-Hub-Signature-256", "sha256=")},
		Identity: []Source{{Header: "X-GitHub-Delivery"}}, // the same when somebody redelivers by hand
		trial: trialEvent{"X-GitHub-Event", "push", `{"ref":"refs/heads/main","after":"%s","repository":{"name":"shop","full_name":"acme/shop","default_branch":"main"},` +
			`"pusher":{"name":"octocat"},"sender":{"login":"octocat"},"commits":[{"message":"hello","added":[],"removed":[],"modified":["README.md"]}]}`},
		Handshake: "the event ping is answered 202",
		answer: func(_ key, r *Request) *Answer {
			if r.Header.Get("X-Github-Event") != "ping" {
				return nil
			}
			return &Answer{Status: 202}
		},
	}
}

// gitlab has two kinds of secrets. A signing token (whsec_…) signs like Standard
// Webhooks; the older secret token is sent as it is and leaves the body unprotected.
// GitLab may send both: then the signature decides, if we know the signing token.
func gitlab() Scheme {
	return Scheme{
		Name: "gitlab", Title: "GitLab", SecretFrom: Chosen,
		Rules: []Rule{
			standardRule("webhook", SHA256),
			{Header: "X-Gitlab-Token", Digest: Token, Encoding: Plain},
		},
		// X-Gitlab-Event-UUID is no delivery id: all events that follow from one
		// another share it.
		Identity: []Source{{Header: "webhook-id", with: "webhook-signature"}, {Header: "Idempotency-Key"}},
		trial: trialEvent{"X-Gitlab-Event", "Push Hook", `{"object_kind":"push","event_name":"push","ref":"refs/heads/main","after":"%s","user_username":"octocat",` +
			`"project":{"name":"shop","path_with_namespace":"acme/shop","default_branch":"main"},"commits":[{"message":"hello","added":[],"removed":[],"modified":["README.md"]}]}`},
		read: func(secret string) (key, error) {
			if strings.HasPrefix(secret, prefixShared) {
				return readStandard(secret)
			}
			return key{kind: keyText, bytes: []byte(secret)}, nil
		},
	}
}

// grafana signs the body, or a time and the body if a header for the time is
// configured. Grafana lets people name both headers; these are the default and the
// name that goes with it. For other names there is the scheme hmac.
func grafana() Scheme {
	return Scheme{
		Name: "grafana", Title: "Grafana Alerting", SecretFrom: Chosen, Rules: []Rule{
			stamped(overBody("X-Grafana-Alerting-Signature", ""), "{timestamp}:{body}", Stamp{Header: "X-Grafana-Alerting-Timestamp"}),
			{Header: "X-Grafana-Alerting-Signature", Digest: SHA256, Encoding: Hex, Signed: "{body}", guard: noLeadingTime},
		},
	}
}

// noLeadingTime refuses a body that is a time and another body, which would turn an
// old request that had a time into one that has none.
func noLeadingTime(r *Request) error {
	rest := bytes.TrimLeft(r.Body, "0123456789")
	if len(rest) < len(r.Body) && len(rest) > 0 && rest[0] == ':' {
		return errBorder
	}
	return nil
}

// hubspot has three versions. The third is an HMAC with a time; if it is sent it
// decides. The first two are plain hashes with the secret in front. Their header
// does not tell them apart reliably, so both are tried.
func hubspot() Scheme {
	return Scheme{
		Name: "hubspot", Title: "HubSpot", SecretFrom: Issued,
		Rules: []Rule{
			{
				Header: "X-HubSpot-Signature-v3", Digest: SHA256, Encoding: Base64, Signed: "{method}{url}{body}{timestamp}",
				Stamp: Stamp{Header: "X-HubSpot-Request-Timestamp", Unit: time.Millisecond, Window: window},
			},
			{Header: "X-HubSpot-Signature", Digest: Salted, Encoding: Hex, Signed: "{method}{url}{body}", guard: wholeJSON},
			{Header: "X-HubSpot-Signature", Digest: Salted, Encoding: Hex, Signed: "{body}", guard: wholeJSON},
		},
		// The body is an array of events, whose ids are not unique.
	}
}

// wholeJSON makes up for the weakness of a plain hash: without the secret one can
// sign what was signed before with more bytes behind it, though not such that it
// is JSON. It also keeps a body of version one from being a method, a URL and a
// body of version two.
func wholeJSON(r *Request) error {
	if !json.Valid(r.Body) {
		return errBorder
	}
	return nil
}

// discord signs with the private key of the application; the secret is its public
// key in hex. To see whether we look, Discord also sends wrong signatures.
func discord() Scheme {
	return Scheme{
		Name: "discord", Title: "Discord", SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Signature-Ed25519",
			Digest:   Ed25519,
			Encoding: Hex,
			Signed:   "{timestamp}{body}",
			Stamp:    Stamp{Header: "X-Signature-Timestamp", Unit: time.Second, Window: window},
			key:      keyPublic,
		}},
		Handshake: "a PING is answered 204",
		read:      readHexPublic,
		answer: func(_ key, r *Request) *Answer {
			if len(r.Body) > maxHandshake {
				return nil
			}
			if kind, found := jsontext.Member(r.Body, "type"); !found || string(kind) != "0" {
				return nil
			}
			return &Answer{Status: 204}
		},
	}
}

// standardWebhooks is the common format of many senders. Svix writes its own name
// before the headers. A set of three headers must be complete; headers of the two
// sets are never mixed.
func standardWebhooks() Scheme {
	return Scheme{
		Name: "standard_webhooks", Title: "Standard Webhooks", SecretFrom: Generated,
		Rules: []Rule{
			standardRule("webhook", SHA256),
			standardRule("webhook", Ed25519),
			standardRule("svix", SHA256),
			standardRule("svix", Ed25519),
		},
		Identity: []Source{ // of the set that was verified
			{Header: "webhook-id", with: "webhook-signature"},
			{Header: "svix-id", with: "svix-signature"},
		},
		read: readStandard,
	}
}

// standardRule is one kind of signature under one set of headers. The version is
// bound to the kind of the key: v1 is never tried with a public key.
func standardRule(set string, digest Digest) Rule {
	rule := Rule{
		Header:   set + "-signature",
		List:     " ",
		Prefix:   "v1,",
		Digest:   digest,
		Encoding: Base64,
		Signed:   "{id}.{timestamp}.{body}", // so an id with a dot is refused
		Stamp:    Stamp{Header: set + "-timestamp", Unit: time.Second, Window: window},
		ID:       set + "-id",
		key:      keyShared,
	}
	if digest == Ed25519 {
		rule.Prefix, rule.key = "v1a,", keyPublic
	}
	return rule
}
