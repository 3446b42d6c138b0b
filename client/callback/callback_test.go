package callback_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/client/callback"
	"github.com/lineshaft/lineshaft/internal/signature"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body   = `{"type":"run.state_changed","timestamp":"2026-01-02T03:04:05Z","data":{"event_id":"e1","sequence":7,"run_id":"r1",` +
		`"state":"SUCCEEDED","previous_state":"INPROGRESS","title":"Mend","created_at":"2026-01-02T03:00:00Z",` +
		`"finished_at":"2026-01-02T03:04:05Z","url":"https://lineshaft.example/runs/r1","brand_new":1}}`
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC) }

// signed makes the headers that the server sends.
func signed(t *testing.T, text string, at time.Time, secrets ...string) http.Header {
	t.Helper()
	header := http.Header{}
	var all []string
	for _, s := range secrets {
		r := &signature.Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(text), Now: at}
		if err := signature.Sign("standard_webhooks", signature.HMAC{}, s, r, "e1"); err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Header.Get("Webhook-Signature"))
		header.Set("Webhook-Id", r.Header.Get("Webhook-Id"))
		header.Set("Webhook-Timestamp", r.Header.Get("Webhook-Timestamp"))
	}
	header.Set("Webhook-Signature", strings.Join(all, " "))
	return header
}

func verifier(t *testing.T, opts ...callback.Option) *callback.Verifier {
	t.Helper()
	v, err := callback.New(secret, append([]callback.Option{callback.WithClock(clock)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestC1CallbackIsVerifiedAndTyped(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	req.Header = signed(t, body, clock(), secret)
	event, err := verifier(t).Read(req)
	if err != nil {
		t.Fatal(err)
	}
	if event.ID != "e1" || event.Type != callback.RunStateChanged || event.Data.RunID != "r1" || event.Data.Sequence != 7 ||
		event.Data.State != client.StateSucceeded || !event.Data.State.Terminal() || event.Data.FinishedAt == nil {
		t.Errorf("event %+v", event)
	}
}

// While a secret is replaced both sides may be ahead.
func TestC1SeveralSignaturesAndSecrets(t *testing.T) {
	t.Parallel()
	other := signature.Generate("standard_webhooks")
	for name, c := range map[string]struct {
		v      *callback.Verifier
		header http.Header
		right  bool
	}{
		"the second signature is ours": {verifier(t), signed(t, body, clock(), other, secret), true},
		"the old secret still counts":  {verifier(t, callback.WithOldSecret(other)), signed(t, body, clock(), other), true},
		"neither is ours":              {verifier(t), signed(t, body, clock(), other), false},
	} {
		if _, err := c.v.Verify(c.header, []byte(body)); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The example of the API goes through the type with nothing lost.
func TestC1ExampleOfAPayload(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../api/examples/notification_delivery.json")
	if err != nil {
		t.Fatal(err)
	}
	var delivery struct {
		Payload map[string]any `json:"payload"`
	}
	if err := json.Unmarshal(text, &delivery); err != nil || delivery.Payload == nil {
		t.Fatalf("no payload in the example: %v", err)
	}
	payload, err := json.Marshal(delivery.Payload)
	if err != nil {
		t.Fatal(err)
	}
	event, err := verifier(t).Verify(signed(t, string(payload), clock(), secret), payload)
	if err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(back, &got); err != nil {
		t.Fatal(err)
	}
	want, _ := delivery.Payload["data"].(map[string]any)
	fields, _ := got["data"].(map[string]any)
	for name := range want {
		if _, ok := fields[name]; !ok {
			t.Errorf("the event loses %s", name)
		}
	}
}

func TestC1Tolerance(t *testing.T) {
	t.Parallel()
	for seconds, right := range map[int]bool{0: true, 300: true, -300: true, 301: false, -301: false} {
		away := time.Duration(seconds) * time.Second
		_, err := verifier(t).Verify(signed(t, body, clock().Add(away), secret), []byte(body))
		if (err == nil) != right {
			t.Errorf("%s away: %v", away, err)
		}
	}
	wide := verifier(t, callback.WithTolerance(time.Hour))
	if _, err := wide.Verify(signed(t, body, clock().Add(-50*time.Minute), secret), []byte(body)); err != nil {
		t.Errorf("a wider tolerance: %v", err)
	}
}

// What anybody could send is refused.
func TestC1ForgedCallbacksAreRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(h http.Header) (text string){
		"another body":       func(http.Header) string { return body + " " },
		"no signature":       func(h http.Header) string { h.Del("Webhook-Signature"); return body },
		"an empty signature": func(h http.Header) string { h.Set("Webhook-Signature", ""); return body },
		"no id":              func(h http.Header) string { h.Del("Webhook-Id"); return body },
		"another id":         func(h http.Header) string { h.Set("Webhook-Id", "e2"); return body },
		"two ids":            func(h http.Header) string { h.Add("Webhook-Id", "e1"); return body },
		"another time":       func(h http.Header) string { h.Set("Webhook-Timestamp", "1767323045"); return body },
		"no time":            func(h http.Header) string { h.Del("Webhook-Timestamp"); return body },
		"a time with a sign": func(h http.Header) string { h.Set("Webhook-Timestamp", "+"+h.Get("Webhook-Timestamp")); return body },
		"a time in words":    func(h http.Header) string { h.Set("Webhook-Timestamp", "now"); return body },
		"another version": func(h http.Header) string {
			h.Set("Webhook-Signature", "v2"+h.Get("Webhook-Signature")[2:])
			return body
		},
		"no version":      func(h http.Header) string { h.Set("Webhook-Signature", h.Get("Webhook-Signature")[3:]); return body },
		"a cut signature": func(h http.Header) string { h.Set("Webhook-Signature", h.Get("Webhook-Signature")[:20]); return body },
		"too many signatures": func(h http.Header) string {
			h.Set("Webhook-Signature", strings.Repeat("v1,x ", 40)+h.Get("Webhook-Signature"))
			return body
		},
	} {
		header := signed(t, body, clock(), secret)
		text := spoil(header)
		if _, err := verifier(t).Verify(header, []byte(text)); !errors.Is(err, callback.ErrNotAuthentic) {
			t.Errorf("%s: error %v, want ErrNotAuthentic", name, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error shows the secret", name)
		}
	}
}

func TestC1OddCallbacks(t *testing.T) {
	t.Parallel()
	broken := `{"type":`
	if _, err := verifier(t).Verify(signed(t, broken, clock(), secret), []byte(broken)); err == nil || errors.Is(err, callback.ErrNotAuthentic) {
		t.Errorf("broken JSON: %v", err)
	}
	huge := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", 2<<20)))
	if _, err := verifier(t).Read(huge); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a huge body: %v", err)
	}
	for _, bad := range []string{"", "whsec_", "whsec_short", "not base64!", "whsec_AAAA"} {
		if _, err := callback.New(bad); err == nil {
			t.Errorf("the secret %q is accepted", bad)
		}
		if _, err := callback.New(secret, callback.WithOldSecret(bad)); err == nil && bad != "" {
			t.Errorf("the old secret %q is accepted", bad)
		}
	}
}
