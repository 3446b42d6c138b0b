package ingress_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

func TestW10IdentityIsTheFirstThatIsThere(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		secret := "a-secret-that-github-was-told"
		w := g.hook(factories.NewWebhook{
			AuthMode: lineshaft.AuthSignature, SignatureScheme: "github", Secret: &secret, DeliveryIDHeader: "X-My-Id", RateLimit: number(0),
		})
		long := strings.Repeat("x", 2000)
		for i, tc := range []struct {
			header           map[string]string
			identity, source string
		}{
			{map[string]string{"X-My-Id": "mine", "X-Github-Delivery": "theirs", "X-Service-Delivery-Id": "ours"}, "mine", "X-My-Id"},
			{map[string]string{"X-My-Id": " ", "X-Github-Delivery": "theirs", "X-Service-Delivery-Id": "ours"}, "theirs", "X-GitHub-Delivery"},
			{map[string]string{"X-Service-Delivery-Id": "ours"}, "ours", "X-Service-Delivery-Id"},
			{map[string]string{"X-Lineshaft-Delivery-Id": "a"}, "a", "X-Lineshaft-Delivery-Id"},
			{map[string]string{"X-Warp-Delivery-Id": "b"}, "b", "X-Warp-Delivery-Id"},
			{map[string]string{"X-My-Id": long}, "sha256:", "X-My-Id"},
			{map[string]string{"X-My-Id": "\xff\xfe"}, "sha256:", "X-My-Id"},
			{nil, "", "hash of the body"},
		} {
			body := fmt.Sprintf(`{"n":%d}`, i)
			header := g.signed(w, secret, body, "", time.Now())
			header.Del("X-Github-Delivery")
			for name, value := range tc.header {
				header.Set(name, value)
			}
			g.wants(fmt.Sprint(i), g.send(sending{path: path(w.UID), header: header, body: body}), http.StatusAccepted)
			d := g.newest(w.UID)
			if !strings.HasPrefix(d.Identity, tc.identity) || !strings.HasSuffix(strings.ToLower(d.IdentitySource), strings.ToLower(tc.source)) || d.Status != lineshaft.DeliveryAccepted {
				g.Errorf("%d: %q from %q, %s", i, d.Identity, d.IdentitySource, d.Status)
			}
		}
	})
}

// The same delivery two hundred times at once: one is accepted, one run starts, and
// every answer names the same delivery.
func TestW10TwoHundredAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w := g.hook(factories.NewWebhook{RateLimit: number(0)})
		ids := make([]string, 200)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				a, err := g.try(g.Context(), sending{path: path(w.UID), token: w.Secret, body: `{"same": true}`})
				if err != nil || a.status != http.StatusAccepted {
					g.Errorf("%+v, %v", a, err)
					return
				}
				ids[i] = g.deliveryID(a)
			})
		}
		wg.Wait()
		statuses := map[lineshaft.DeliveryStatus]int{}
		runs := 0
		for _, d := range g.rows(w.UID) {
			statuses[d.Status]++
			runs += len(d.Outcomes)
		}
		if statuses[lineshaft.DeliveryAccepted] != 1 || statuses[lineshaft.DeliveryDuplicate] != 199 || runs != 1 {
			g.Errorf("%v, %d runs", statuses, runs)
		}
		for _, got := range ids {
			if got != ids[0] {
				g.Errorf("%s is not %s", got, ids[0])
			}
		}
	})
}

// No secret reaches a log line, an answer or the delivery log.
func TestS2NothingSecretIsWritten(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		token := g.hook(factories.NewWebhook{Name: "t"})
		inURL := g.hook(factories.NewWebhook{Name: "u", AuthMode: lineshaft.AuthURLToken})
		signed, secret := g.signatureHook("github")
		header := g.signed(signed, secret, "{}", "1", time.Now())
		var seen strings.Builder
		for _, s := range []sending{
			{path: path(token.UID), token: token.Secret, body: "{}"},
			{path: path(token.UID), token: token.Secret, body: "{"},
			{path: path(token.UID) + "/" + token.Secret, body: "{}"},
			{path: path(inURL.UID) + "/" + inURL.Secret, body: "{}"},
			{path: path(inURL.UID) + "/" + inURL.Secret + "/", body: "{}"},
			{path: path(inURL.UID), token: inURL.Secret, body: "{}"},
			{path: path(signed.UID), header: header, body: "{}"},
			{path: path(signed.UID), header: header, body: "{ }"},
			{method: http.MethodDelete, path: path(inURL.UID) + "/" + inURL.Secret},
		} {
			a := g.send(s)
			seen.WriteString(a.body + headerText(a.header))
		}
		for _, uid := range []string{token.UID, inURL.UID, signed.UID} {
			for _, d := range g.rows(uid) {
				fmt.Fprintf(&seen, "%+v", d)
			}
		}
		seen.WriteString(g.log.String())
		for _, hidden := range []string{token.Secret, inURL.Secret, secret, strings.TrimPrefix(header.Get("X-Hub-Signature-256"), "sha256=")} {
			if strings.Contains(seen.String(), hidden) {
				g.Errorf("%q was written", hidden)
			}
		}
		if strings.Count(g.log.String(), "\n") != 9 {
			g.Errorf("not one line for each request: %s", g.log)
		}
	})
}
