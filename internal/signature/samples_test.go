package signature

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"
)

const (
	testURL    = "https://lineshaft.example/webhooks/w/7"
	testBody   = `{"id":"evt_1","event_id":"evt_2","event":{"id":"evt_3"},"type":"x","webhookTimestamp":1700000000000}`
	testSecret = "a secret of some length, 7"
	testShared = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	testID     = "delivery-77"
	formType   = "application/x-www-form-urlencoded"
)

var testNow = time.Unix(1700000000, 0)

// sample is one way to sign that the package knows. Every rule of the table has one.
type sample struct {
	name     string
	scheme   string
	settings HMAC
	secret   string // given to New
	private  string // given to Sign; the secret if empty
	body     string // testBody if empty
	kind     string // content type
	change   func(r *Request, secret string)
	idAt     string // where the provider's id is found
	unsigned string // header with an id that the provider does not sign
	unbound  bool   // the body is not covered by the credential
}

func (s sample) text() string {
	if s.body == "" {
		return testBody
	}
	return s.body
}

// signed returns what a sender would send.
func (s sample) signed(tb testing.TB) Request {
	tb.Helper()
	r := Request{Method: http.MethodPost, URL: testURL, Header: http.Header{}, Body: []byte(s.text()), Now: testNow}
	if s.kind != "" {
		r.Header.Set("Content-Type", s.kind)
	}
	private := s.private
	if private == "" {
		private = s.secret
	}
	if err := Sign(s.scheme, s.settings, private, &r, testID); err != nil {
		tb.Fatalf("%s: sign: %v", s.name, err)
	}
	if s.change != nil {
		s.change(&r, s.secret)
	}
	return r
}

func (s sample) verifier(tb testing.TB) *Verifier {
	tb.Helper()
	v, err := New(s.scheme, s.settings, s.secret)
	if err != nil {
		tb.Fatalf("%s: %v", s.name, err)
	}
	return v
}

// clone copies what a test is about to damage.
func clone(r Request) Request {
	r.Header = r.Header.Clone()
	r.Body = slices.Clone(r.Body)
	return r
}

// pair makes an Ed25519 pair that is the same in every run.
func pair() (public, seed []byte) {
	seed = []byte("0123456789abcdef0123456789abcdef")
	return ed25519.NewKeyFromSeed(seed)[ed25519.SeedSize:], seed
}

func plainHMAC(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func plainHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// onlyHeader leaves one header in a request.
func onlyHeader(r *Request, name, value string) {
	r.Header = http.Header{}
	r.Header.Set(name, value)
}

func samples() []sample {
	public, seed := pair()
	whpk := prefixPublic + base64.StdEncoding.EncodeToString(public)
	whsk := prefixPrivate + base64.StdEncoding.EncodeToString(append(slices.Clone(seed), public...))
	list := []sample{
		{name: "bitbucket", scheme: "bitbucket", idAt: "header X-Request-UUID", unsigned: "X-Request-Uuid"},
		{name: "buildkite", scheme: "buildkite"},
		{
			name: "buildkite token", scheme: "buildkite", unbound: true,
			change: func(r *Request, secret string) { onlyHeader(r, "X-Buildkite-Token", secret) },
		},
		{name: "calendly", scheme: "calendly"},
		{name: "circleci", scheme: "circleci", idAt: "body id"},
		{name: "discord", scheme: "discord", secret: hex.EncodeToString(public), private: hex.EncodeToString(seed)},
		{name: "dropbox", scheme: "dropbox"},
		{name: "github", scheme: "github", idAt: "header X-GitHub-Delivery", unsigned: "X-Github-Delivery"},
		{name: "gitlab signing token", scheme: "gitlab", secret: testShared, idAt: "header webhook-id"},
		{name: "gitlab token", scheme: "gitlab", idAt: "header Idempotency-Key", unsigned: "Idempotency-Key", unbound: true},
		{name: "grafana with time", scheme: "grafana"},
		{
			name: "grafana without time", scheme: "grafana",
			change: func(r *Request, secret string) {
				onlyHeader(r, "X-Grafana-Alerting-Signature", plainHMAC(secret, string(r.Body)))
			},
		},
		{name: "hubspot v3", scheme: "hubspot"},
		{
			name: "hubspot v2", scheme: "hubspot",
			change: func(r *Request, secret string) {
				onlyHeader(r, "X-Hubspot-Signature", plainHash(secret+r.Method+r.URL+string(r.Body)))
			},
		},
		{
			name: "hubspot v1", scheme: "hubspot",
			change: func(r *Request, secret string) {
				onlyHeader(r, "X-Hubspot-Signature", plainHash(secret+string(r.Body)))
			},
		},
		{name: "intercom", scheme: "intercom", idAt: "body id"},
		{name: "jira", scheme: "jira", idAt: "header X-Atlassian-Webhook-Identifier", unsigned: "X-Atlassian-Webhook-Identifier"},
		{name: "linear", scheme: "linear", idAt: "header Linear-Delivery", unsigned: "Linear-Delivery"},
		{name: "pagerduty", scheme: "pagerduty", idAt: "header X-Webhook-Id", unsigned: "X-Webhook-Id"},
		{name: "sentry", scheme: "sentry"},
		{name: "shopify", scheme: "shopify", idAt: "header X-Shopify-Webhook-Id", unsigned: "X-Shopify-Webhook-Id"},
		{
			name: "shopify events", scheme: "shopify",
			change: func(r *Request, _ string) {
				onlyHeader(r, "Shopify-Hmac-Sha256", r.Header.Get("X-Shopify-Hmac-Sha256"))
			},
		},
		{name: "slack", scheme: "slack", idAt: "body event_id"},
		{name: "square", scheme: "square", idAt: "body event_id"},
		{name: "standard_webhooks", scheme: "standard_webhooks", secret: testShared, idAt: "header webhook-id"},
		{name: "standard_webhooks v1a", scheme: "standard_webhooks", secret: whpk, private: whsk, idAt: "header webhook-id"},
		{name: "svix", scheme: "standard_webhooks", secret: testShared, idAt: "header svix-id", change: asSvix},
		{name: "svix v1a", scheme: "standard_webhooks", secret: whpk, private: whsk, idAt: "header svix-id", change: asSvix},
		{name: "stripe", scheme: "stripe", idAt: "body id"},
		{name: "twilio", scheme: "twilio", idAt: "header I-Twilio-Idempotency-Token", unsigned: "I-Twilio-Idempotency-Token"},
		{
			name: "twilio form", scheme: "twilio", kind: formType, body: "From=%2814%29&To=me&To=all&Digits=9",
			idAt: "header I-Twilio-Idempotency-Token", unsigned: "I-Twilio-Idempotency-Token",
		},
		{name: "typeform", scheme: "typeform", idAt: "body event_id"},
		{name: "vercel", scheme: "vercel", idAt: "body id"},
		{name: "zoom", scheme: "zoom"},
	}
	list = append(list, genericSamples()...)
	for i := range list {
		if list[i].secret == "" {
			list[i].secret = testSecret
		}
	}
	return list
}

func genericSamples() []sample {
	return []sample{
		{name: "hmac", scheme: "hmac", settings: HMAC{Header: "X-Sig"}},
		{
			name: "hmac sha1", scheme: "hmac", idAt: "header X-Id", unsigned: "X-Id",
			settings: HMAC{Header: "X-Sig", Prefix: "sha1=", Digest: "sha1", IDHeader: "X-Id"},
		},
		{
			name: "hmac sha384", scheme: "hmac",
			settings: HMAC{Header: "X-Sig", Digest: "sha384", Encoding: "base64", Template: "{timestamp}{body}", TimestampHeader: "x-time"},
		},
		{
			name: "hmac sha512", scheme: "hmac", idAt: "header X-Id",
			settings: HMAC{
				Header: "X-Sig", Prefix: "v1,", Digest: "sha512", Encoding: "hex",
				Template: "{method} {url} {id}.{timestamp}.{body}", TimestampHeader: "X-Time", IDHeader: "X-Id",
			},
		},
	}
}

// asSvix renames the headers of Standard Webhooks.
func asSvix(r *Request, _ string) {
	for _, name := range []string{"Id", "Timestamp", "Signature"} {
		r.Header["Svix-"+name] = r.Header["Webhook-"+name]
		delete(r.Header, "Webhook-"+name)
	}
}

// each runs a test for every sample.
func each(t *testing.T, test func(t *testing.T, s sample)) {
	t.Helper()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// signedHeaders lists the headers of a request that take part in its signature.
func signedHeaders(s sample, r Request) []string {
	scheme, _ := schemeOf(s.scheme, s.settings)
	takes := map[string]bool{}
	for _, rule := range scheme.Rules {
		for _, name := range []string{rule.Header, rule.Stamp.Header, rule.ID} {
			if name = http.CanonicalHeaderKey(name); len(r.Header[name]) > 0 {
				takes[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(takes))
}
