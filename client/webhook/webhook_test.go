package webhook_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client/webhook"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// secrets makes what a sender signs with and what the server knows.
func secrets(scheme string) (private, known string) {
	if scheme == "discord" {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		public, _ := key.Public().(ed25519.PublicKey)
		return hex.EncodeToString(key.Seed()), hex.EncodeToString(public)
	}
	secret := signature.Generate(scheme)
	return secret, secret
}

func received(t *testing.T, req *http.Request, now time.Time) signature.Request {
	t.Helper()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	return signature.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header, Body: body, Now: now}
}

// Every scheme signs in a way that the server accepts, and a changed body is refused.
func TestI3SignsWithEveryScheme(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if len(webhook.Schemes()) < 25 {
		t.Errorf("%d schemes", len(webhook.Schemes()))
	}
	for _, scheme := range webhook.Schemes() {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			settings := webhook.HMAC{}
			if scheme == "hmac" {
				settings = webhook.HMAC{Header: "X-Sig", Template: "{timestamp}.{id}.{body}", TimestampHeader: "X-Time", IDHeader: "X-Id"}
			}
			private, known := secrets(scheme)
			verifier, err := signature.New(scheme, signature.HMAC(settings), known)
			if err != nil {
				t.Fatal(err)
			}
			sender := webhook.Sender{Scheme: scheme, Secret: private, HMAC: settings, Now: func() time.Time { return now }}
			body := []byte(`{"id":"d-1","webhookTimestamp":1767323045000,"a":"ü"}`)
			req, err := sender.NewRequest(t.Context(), "https://lineshaft.example/webhooks/w/uid", body, "d-1")
			if err != nil {
				t.Fatal(err)
			}
			got := received(t, req, now)
			if err := verifier.Verify(got); err != nil {
				t.Errorf("the server refuses it: %v; headers %v", err, req.Header)
			}
			if strings.Contains(got.URL, private) {
				t.Error("the address holds the secret")
			}
			got.Body = append([]byte(" "), got.Body...)
			if err := verifier.Verify(got); err == nil && !strings.HasPrefix(scheme, "gitlab") {
				t.Error("a changed body is accepted")
			}
		})
	}
}

func TestI3TokenScheme(t *testing.T) {
	t.Parallel()
	sender := webhook.Sender{Scheme: webhook.TokenScheme, Secret: "a-secret"}
	req, err := sender.NewRequest(t.Context(), "https://lineshaft.example/webhooks/w/uid", []byte("{}"), "d-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := req.Header.Get("Authorization"); got != "Bearer a-secret" || req.Header.Get("X-Lineshaft-Delivery-Id") != "d-1" {
		t.Errorf("headers %v", req.Header)
	}
}

// What cannot be signed says why, and never shows the secret.
func TestI3RefusesWhatCannotBeSigned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sender  webhook.Sender
		address string
		id      string
		want    string
	}{
		"no secret":   {webhook.Sender{Scheme: "github"}, "https://a.example", "", "secret of the webhook is empty"},
		"no scheme":   {webhook.Sender{Scheme: "smoke", Secret: "topsecret"}, "https://a.example", "", "smoke"},
		"bad address": {webhook.Sender{Scheme: "github", Secret: "topsecret"}, "https://a.example/%zz-topsecret", "", "not well formed"},
		"two lines":   {webhook.Sender{Scheme: "github", Secret: "topsecret"}, "https://a.example", "a\nb", "one line"},
		"no settings": {webhook.Sender{Scheme: "hmac", Secret: "topsecret"}, "https://a.example", "", "hmac"},
	} {
		_, err := c.sender.NewRequest(t.Context(), c.address, []byte("{}"), c.id)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: error %v, want one that names %q", name, err, c.want)
		}
	}
}
