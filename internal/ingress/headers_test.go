package ingress_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/ingress"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// detail reads the newest delivery of a webhook.
func (g *gate) detail(uid string) trigger.DeliveryDetail {
	g.Helper()
	newest := g.newest(uid)
	found, err := g.control.GetDelivery(g.Context(), g.admin, g.factory, uid, newest.ID, false)
	if err != nil {
		g.Fatal(err)
	}
	return found
}

// The log keeps the headers of accepted and refused requests and what was answered, without
// any credential, cookie or signature.
func TestW18LogKeepsHeadersAndAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{})
		secret := w.Secret
		header := http.Header{
			"X-Sender": {"acme", "two"}, "Cookie": {"a=crumbs"}, "X-Api-Key": {"tin"}, "X-Hub-Signature-256": {"sha256=ff"},
			"X-Original-Uri": {"/webhooks/w/x/" + secret}, "X-Forwarded-Url": {"https%3A%2F%2Fh%2Fwebhooks%2Fw%2Fx%2F" + secret},
			"X-Odd": {"a=" + secret + "/x#y"}, "X-Foo": {"Bearer other-credential"}, "Referer": {"https://u:p@h/"}, "X-Link": {"https://h/?access_token=abc"},
			"X-Webhook-Sig": {"f00d"}, "X-Page": {"https://h/?page=2"}, "X-Broken": {"caf\xe9"}, "X-Long": {strings.Repeat("l", 5000)},
		}
		for _, sent := range []struct {
			with   sending
			status int
		}{
			{sending{token: secret, body: `{"a":1}`}, http.StatusAccepted},
			{sending{token: secret, body: `{"a":`}, http.StatusBadRequest},
			{sending{token: "wrong-" + secret, body: `{"a":1}`}, http.StatusUnauthorized},
		} {
			sent.with.path, sent.with.header = "/webhooks/w/"+w.UID, header
			if got := g.send(sent.with); got.status != sent.status {
				t.Fatalf("answer: got %d %s, want %d", got.status, got.body, sent.status)
			}
			d := g.detail(w.UID)
			if d.AnswerStatus != sent.status || d.Took <= 0 || d.Test {
				t.Errorf("logged: got %d in %s, test %v; want %d", d.AnswerStatus, d.Took, d.Test, sent.status)
			}
			for _, line := range []string{"X-Sender: acme, two\n", "X-Page: https://h/?page=2\n", "Cookie: ***\n", "Authorization: ***\n", "X-Api-Key: ***\n", "X-Hub-Signature-256: ***\n", "X-Original-Uri: ***\n"} {
				if !strings.Contains(d.Headers, line) {
					t.Errorf("headers have no %q: %s", line, d.Headers)
				}
			}
			for _, hidden := range []string{secret, "crumbs", "tin", "ff\n", "other-credential", "u:p@", "abc", "f00d"} {
				if strings.Contains(d.Headers, hidden) {
					t.Errorf("headers show %q: %s", hidden, d.Headers)
				}
			}
		}
		many := http.Header{}
		for i := range 40 {
			many.Set("X-N"+strings.Repeat("n", i), strings.Repeat("v", 900))
		}
		g.send(sending{path: "/webhooks/w/" + w.UID, token: secret, body: `{"b":1}`, header: many})
		if d := g.detail(w.UID); len(d.Headers) > 8<<10 || len(d.Headers) < 4<<10 {
			t.Errorf("headers: got %d bytes, want at most 8 KiB", len(d.Headers))
		}
	})
}

// No header that a scheme signs with is shown, whatever it is called.
func TestW18SignaturesOfEverySchemeAreMasked(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		in := ingress.New(ingress.Deps{Control: g.control, BaseURL: "https://hooks.example"})
		for _, scheme := range signature.Schemes() {
			if scheme.Name == "discord" { // only Discord can sign
				continue
			}
			secret := signature.Generate(scheme.Name)
			if secret == "" {
				secret = strings.Repeat("ab", 16)
			}
			n := factories.NewWebhook{Name: scheme.Name, AuthMode: lineshaft.AuthSignature, SignatureScheme: scheme.Name, Secret: &secret}
			if scheme.Name == "hmac" {
				n.HMAC = lineshaft.WebhookHMAC{Header: "X-Odd", Digest: "sha256", Encoding: "hex"}
			}
			w := g.hook(n)
			signed, err := g.control.SignTestEvent(g.Context(), g.admin, trigger.TestEvent{
				FactoryUID: g.factory, WebhookUID: w.UID, URL: "https://hooks.example/webhooks/w/" + w.UID,
			})
			if err != nil {
				t.Fatalf("%s: %v", scheme.Name, err)
			}
			status, body, err := in.SendTest(g.Context(), signed, "192.0.2.9")
			if err != nil || status >= http.StatusBadRequest {
				t.Fatalf("%s: %d %s, %v", scheme.Name, status, body, err)
			}
			d := g.detail(w.UID)
			if !d.Test || d.AnswerStatus != status || d.RemoteAddr != "192.0.2.9" {
				t.Errorf("%s: got test %v, status %d from %s; want a test with %d", scheme.Name, d.Test, d.AnswerStatus, d.RemoteAddr, status)
			}
			if !strings.Contains(d.Headers, ": ***\n") && !strings.Contains(signed.URL, "?") {
				t.Errorf("%s: nothing is masked: %s", scheme.Name, d.Headers)
			}
			for _, name := range []string{"X-Odd", "X-Gitlab-Token"} {
				if value := signed.Header.Get(name); value != "" && strings.Contains(d.Headers, value) {
					t.Errorf("%s: headers show %s: %s", scheme.Name, name, d.Headers)
				}
			}
			if err := g.control.DeleteWebhook(g.Context(), g.admin, g.factory, w.UID); err != nil { // a factory has at most 20
				t.Fatal(err)
			}
		}
	})
}
