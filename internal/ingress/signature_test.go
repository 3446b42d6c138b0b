package ingress_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// signatureHook makes a webhook of a scheme with a secret that suits it.
func (g *gate) signatureHook(scheme string) (factories.IssuedWebhook, string) {
	g.Helper()
	n := factories.NewWebhook{Name: strings.ReplaceAll(scheme, "_", "-"), AuthMode: lineshaft.AuthSignature, SignatureScheme: scheme, RateLimit: number(0)}
	secret := signature.Generate(scheme)
	if scheme == "hmac" {
		n.HMAC = lineshaft.WebhookHMAC{Header: "X-Mac", Digest: "sha512", Encoding: "base64", Template: "{timestamp}.{body}", TimestampHeader: "X-Time"}
	}
	n.Secret = &secret
	return g.hook(n), secret
}

// signable are the schemes whose sender's side needs no private key of its own.
func signable() []string {
	var names []string
	for _, s := range signature.Schemes() {
		if s.Name != "discord" { // Ed25519 only: the webhook holds the public half
			names = append(names, s.Name)
		}
	}
	return names
}

func TestW9EverySchemeEndToEnd(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		for i, scheme := range signable() {
			if i%15 == 14 { // a factory takes twenty webhooks
				f, err := g.control.CreateFactory(g.Context(), g.admin, factories.NewFactory{Name: "more"})
				if err != nil {
					g.Fatal(err)
				}
				g.factory = f.UID
			}
			w, secret := g.signatureHook(scheme)
			now := time.Now()
			body := fmt.Sprintf(`{"id": "evt_1", "type": "x", "webhookTimestamp": %d}`, now.UnixMilli())
			header := g.signed(w, secret, body, "id-1", now)
			g.wants(scheme, g.send(sending{path: path(w.UID), header: header, body: body}), http.StatusAccepted)
			again := g.send(sending{path: path(w.UID), header: header, body: body})
			g.wants(scheme+" again", again, http.StatusAccepted)
			if d := g.newest(w.UID); d.Status != lineshaft.DeliveryDuplicate || d.DuplicateOf != g.deliveryID(again) {
				g.Errorf("%s: %+v", scheme, d)
			}
			g.wants(scheme+" unsigned", g.send(sending{path: path(w.UID), body: body}), http.StatusUnauthorized)
			g.wants(scheme+" with a token in the URL", g.send(sending{path: path(w.UID) + "/x", header: header, body: body}), http.StatusUnauthorized)
			if other := strings.Replace(body, "evt_1", "evt_2", 1); scheme != "gitlab" { // whose token covers no body
				g.wants(scheme+" other body", g.send(sending{path: path(w.UID), header: header, body: other}), http.StatusUnauthorized)
			}
		}
	})
}

// Time-stamped signatures are good for 300 whole seconds, both ways.
func TestW9SignatureAge(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		for _, scheme := range []string{"stripe", "standard_webhooks", "slack"} {
			w, secret := g.signatureHook(scheme)
			for seconds, status := range map[int]int{-299: 202, -302: 401, 299: 202, 302: 401, 86_400: 401} {
				offset := time.Duration(seconds) * time.Second
				body := fmt.Sprintf(`{"offset": %d}`, offset)
				header := g.signed(w, secret, body, fmt.Sprint("m", offset), time.Now().Add(offset))
				g.wants(fmt.Sprint(scheme, offset), g.send(sending{path: path(w.UID), header: header, body: body}), status)
			}
		}
	})
}

func TestW9Handshakes(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		for _, tc := range []struct {
			scheme, body string
			extra        http.Header
			status       int
			want         string
		}{
			{"github", `{"zen":"x","hook_id":1}`, http.Header{"X-Github-Event": {"ping"}}, 202, "delivery_id"},
			{"slack", `{"type":"url_verification","challenge":"abc123"}`, nil, 200, "abc123"},
			{"zoom", `{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8"}}`, nil, 200, "encryptedToken"},
		} {
			w, secret := g.signatureHook(tc.scheme)
			header := g.signed(w, secret, tc.body, "h1", time.Now())
			maps.Copy(header, tc.extra)
			a := g.send(sending{path: path(w.UID), header: header, body: tc.body})
			g.wants(tc.scheme, a, tc.status)
			if !strings.Contains(a.body, tc.want) {
				g.Errorf("%s: %s", tc.scheme, a.body)
			}
			d := g.newest(w.UID)
			if len(d.Outcomes) != 1 || d.Outcomes[0].Result != lineshaft.ResultHandshake || d.Outcomes[0].RunID != "" {
				g.Errorf("%s: %+v", tc.scheme, d)
			}
			g.wants(tc.scheme+" unsigned", g.send(sending{path: path(w.UID), body: tc.body, header: tc.extra}), http.StatusUnauthorized)
		}
		w, _ := g.signatureHook("dropbox")
		a := g.send(sending{method: http.MethodGet, path: path(w.UID) + "?challenge=" + url.QueryEscape("echo-me")})
		g.wants("dropbox", a, http.StatusOK)
		if a.body != "echo-me" || a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
			g.Errorf("%+v", a)
		}
		if d := g.newest(w.UID); d.Outcomes[0].Result != lineshaft.ResultHandshake {
			g.Errorf("%+v", d)
		}
		github, _ := g.control.ListWebhooks(g.Context(), g.admin, g.factory)
		g.wants("github asked like dropbox", g.send(sending{method: http.MethodGet, path: path(github[1].UID) + "?challenge=x"}), http.StatusMethodNotAllowed)
	})
}

// A sender who cannot sign cannot make the log grow with large or broken bodies.
func TestW11UnauthenticatedBodiesAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w, _ := g.signatureHook("github")
		large := sized(300_000)
		counts := map[int]int{}
		for i := range 60 {
			s := sending{path: path(w.UID), body: large, from: "198.51.100.1"}
			if i%2 == 1 {
				s.body, s.header = "{}", http.Header{"Content-Encoding": {"br"}}
			}
			counts[g.send(s).status]++
		}
		if counts[413] != 15 || counts[400] != 15 || counts[429] != 30 || len(g.rows(w.UID)) != 30 {
			g.Errorf("%v, %d rows", counts, len(g.rows(w.UID)))
		}
	})
}
