package cli

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// sender gives a scheme's secret as its two sides have it.
func sender(scheme string) (secret, known string) {
	private := ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	public, _ := private.Public().(ed25519.PublicKey)
	if scheme == "discord" {
		return hex.EncodeToString(private.Seed()), hex.EncodeToString(public)
	}
	secret = signature.Generate(scheme)
	return secret, secret
}

// receiver answers 202 to what one verifier accepts, and keeps the last request.
func receiver(t *testing.T, check func(signature.Request) error) (url string, last *signature.Request) {
	t.Helper()
	last = &signature.Request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*last = signature.Request{Method: r.Method, URL: "http://" + r.Host + r.URL.String(), Header: r.Header, Body: body, Now: time.Date(2026, 1, 2, 4, 0, 1, 0, time.UTC)}
		if err := check(*last); err != nil {
			problem(401, "authentication_required", "no")(w, r)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"delivery_id":"d-1"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/webhooks/w/uid", last
}

// Every scheme signs in a way that its verifier accepts, and no other secret does.
func TestI1SendSignsWithEveryScheme(t *testing.T) {
	t.Parallel()
	for _, scheme := range signature.Schemes() {
		t.Run(scheme.Name, func(t *testing.T) {
			t.Parallel()
			settings, flags := signature.HMAC{}, []string{}
			if scheme.Name == "hmac" {
				settings = signature.HMAC{Header: "X-Sig", Template: "{timestamp}.{id}.{body}", TimestampHeader: "X-Time", IDHeader: "X-Id"}
				flags = strings.Fields("--hmac-header X-Sig --hmac-template {timestamp}.{id}.{body} --hmac-timestamp-header X-Time --hmac-id-header X-Id")
			}
			secret, known := sender(scheme.Name)
			verifier, err := signature.New(scheme.Name, settings, known)
			if err != nil {
				t.Fatal(err)
			}
			url, _ := receiver(t, func(r signature.Request) error { return verifier.Verify(r) })
			s := newStage(t)
			args := append([]string{"webhook", "send", url, "--scheme", scheme.Name, "--secret-file"}, file(t, "s", secret))
			if r := s.run(t.Context(), append(args, flags...)...); r.code != 0 || r.out != "d-1\n" || !strings.Contains(r.err, "202 Accepted") || strings.Contains(r.err, secret) {
				t.Errorf("%+v", r)
			}
			other := []byte(secret)
			other[len(other)-3] ^= 1
			args[len(args)-1] = file(t, "s", string(other))
			if r := s.run(t.Context(), append(args, flags...)...); r.code == 0 {
				t.Errorf("%+v", r)
			}
			if len(s.requests()) != 0 {
				t.Error("the server was asked")
			}
		})
	}
}

// identity is what the server tells deliveries apart by.
func identity(verifier *signature.Verifier, r signature.Request) string {
	if id, _ := verifier.Identity(r); id != "" {
		return id
	}
	return r.Header.Get("X-Lineshaft-Delivery-Id")
}

// TestW6SendIDs: with every scheme, the same --id is the same delivery, and without
// one each is a new one.
func TestW6SendIDs(t *testing.T) {
	t.Parallel()
	for _, scheme := range signature.Schemes() {
		t.Run(scheme.Name, func(t *testing.T) {
			t.Parallel()
			settings, flags := signature.HMAC{}, []string{}
			if scheme.Name == "hmac" {
				settings, flags = signature.HMAC{Header: "X-Sig"}, []string{"--hmac-header", "X-Sig"}
			}
			secret, known := sender(scheme.Name)
			verifier, err := signature.New(scheme.Name, settings, known)
			if err != nil {
				t.Fatal(err)
			}
			url, last := receiver(t, func(r signature.Request) error { return verifier.Verify(r) })
			send := append([]string{"webhook", "send", url, "--scheme", scheme.Name, "--secret-file", file(t, "s", secret)}, flags...)
			if r := newStage(t).run(t.Context(), append(send, "--id", "twice")...); r.code != 0 || identity(verifier, *last) != "twice" || strings.Contains(r.err, "--id") {
				t.Errorf("%+v, identity %q of %s", r, identity(verifier, *last), last.Body)
			}
			var fresh []string
			for range 2 {
				if r := newStage(t).run(t.Context(), send...); r.code != 0 {
					t.Fatalf("%+v", r)
				}
				fresh = append(fresh, identity(verifier, *last))
			}
			if fresh[0] == fresh[1] || fresh[0] == "" {
				t.Errorf("two deliveries are %q", fresh)
			}
		})
	}
}

func TestW6SendTellsThatTheBodyHasAnID(t *testing.T) {
	t.Parallel()
	url, _ := receiver(t, func(signature.Request) error { return nil })
	for _, tc := range []struct {
		scheme, data string
		told         bool
	}{
		{"slack", `{"event_id":"other"}`, true},
		{"slack", `{"event_id":"mine"}`, false},
		{"slack", `{"event_id":7}`, false},
		{"slack", `[]`, false},
		{"slack", `{}`, false},
		{"pagerduty", `{"event":{"id":"other"}}`, false}, // its header counts first
		{"github", `{"id":"other"}`, false},
	} {
		args := []string{"webhook", "send", url, "--scheme", tc.scheme, "--secret-file", file(t, "s", "s3cret"), "--data", tc.data}
		if r := newStage(t).run(t.Context(), append(args, "--id", "mine")...); r.code != 0 || strings.Contains(r.err, "--id has no effect") != tc.told {
			t.Errorf("%+v: %+v", tc, r)
		}
		if r := newStage(t).run(t.Context(), args...); r.code != 0 || strings.Contains(r.err, "--id") {
			t.Errorf("%+v: %+v", tc, r)
		}
	}
	for _, id := range []string{" a", "a\nb", "é", strings.Repeat("x", 257)} {
		if r := newStage(t).run(t.Context(), "webhook", "send", url, "--id", id); r.code != shell.ExitUsage || !strings.Contains(r.err, "--id is not an id") {
			t.Errorf("%q: %+v", id, r)
		}
	}
}

func TestI1SendStandardWebhooksWithAPrivateKey(t *testing.T) {
	t.Parallel()
	private := ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	public, _ := private.Public().(ed25519.PublicKey)
	verifier, err := signature.New("standard_webhooks", signature.HMAC{}, "whpk_"+base64.StdEncoding.EncodeToString(public))
	if err != nil {
		t.Fatal(err)
	}
	url, _ := receiver(t, func(r signature.Request) error { return verifier.Verify(r) })
	key := file(t, "s", "whsk_"+base64.StdEncoding.EncodeToString(private.Seed()))
	if r := newStage(t).run(t.Context(), "webhook", "send", url, "--scheme", "standard_webhooks", "--secret-file", key); r.code != 0 {
		t.Errorf("%+v", r)
	}
}

func TestI1SendTokens(t *testing.T) {
	t.Parallel()
	url, last := receiver(t, func(signature.Request) error { return nil })
	path := func() string { return last.URL[strings.Index(last.URL, "/webhooks"):] }
	secret := file(t, "s", "tok~en\n")
	for _, tc := range []struct {
		name       string
		args       []string
		path, auth string
	}{
		{"token", []string{url, "--secret-file", secret}, "/webhooks/w/uid", "Bearer tok~en"},
		{"in the URL", []string{url, "--mode", "url_token", "--secret-file", secret}, "/webhooks/w/uid/tok~en", ""},
		{"for the mark", []string{url + "/{token}", "--secret-file", secret}, "/webhooks/w/uid/tok~en", ""},
		{"already there", []string{url + "/abc"}, "/webhooks/w/uid/abc", ""},
	} {
		r := newStage(t).run(t.Context(), append([]string{"webhook", "send", "--id", "my-id", "--data", `{"a":1}`, "--header", "X-One: 1"}, tc.args...)...)
		if r.code != 0 || path() != tc.path || last.Header.Get("Authorization") != tc.auth || string(last.Body) != `{"a":1}` ||
			last.Header.Get("X-Lineshaft-Delivery-Id") != "my-id" || last.Header.Get("X-One") != "1" {
			t.Errorf("%s: %+v\ngot %+v", tc.name, r, last)
		}
	}
	body := file(t, "b", "[1,\n2]")
	if r := newStage(t).run(t.Context(), "webhook", "send", url, "--data", "@"+body, "-o", "json"); r.code != 0 || string(last.Body) != "[1,\n2]" || !strings.Contains(r.out, `"delivery_id": "d-1"`) || !strings.Contains(r.out, `"status": 202`) {
		t.Errorf("%+v", r)
	}
	s := newStage(t)
	s.deps.Stdin = strings.NewReader("from stdin")
	if r := s.run(t.Context(), "webhook", "send", url, "--data", "-"); r.code != 0 || string(last.Body) != "from stdin" {
		t.Errorf("%+v", r)
	}
}

// By name, mode, scheme and settings come from the server.
func TestI1SendToAWebhook(t *testing.T) {
	t.Parallel()
	verifier, err := signature.New("hmac", signature.HMAC{Header: "X-Sig", Digest: "sha512"}, "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	url, last := receiver(t, func(r signature.Request) error { return verifier.Verify(r) })
	s := newStage(t)
	s.answer("GET /api/v1/factory", 200, factoriesJSON)
	s.answer("GET /api/v1/factory/f1/webhooks", 200, `{"webhooks":[`+hookJSON(`"token"`, `"signature","signature_scheme":"hmac","hmac":{"header":"X-Sig","digest":"sha512"},"delivery_id_header":"X-My-Id"`,
		`http://server/webhooks/w/w1`, url)+`],"page_info":{"has_next_page":false}}`)
	if r := s.run(t.Context(), "webhook", "send", "ci", "--secret-file", file(t, "s", "s3cret"), "--id", "i-1"); r.code != 0 || last.Header.Get("X-My-Id") != "i-1" {
		t.Errorf("%+v, %+v", r, last)
	}
	if r := s.run(t.Context(), "webhook", "send", "ci", "--secret-file", file(t, "s", "wrong")); r.code != shell.ExitDenied || !strings.Contains(r.err, "does not accept this secret") {
		t.Errorf("%+v", r)
	}
}

// TestW9SendShowsHandshakes: what a handshake is answered, and not what a delivery is.
func TestW9SendShowsHandshakes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "chal\x1b[31mlenge") }))
	t.Cleanup(server.Close)
	r := newStage(t).run(t.Context(), "webhook", "send", server.URL)
	if r.code != 0 || !strings.HasPrefix(r.out, "chal") || strings.Contains(r.out, "\x1b") || !strings.Contains(r.err, "200 OK") {
		t.Errorf("%+v", r)
	}
	if r := newStage(t).run(t.Context(), "webhook", "send", server.URL, "-o", "ndjson"); r.code != 0 || !strings.Contains(r.out, `"answer":"chal`) {
		t.Errorf("%+v", r)
	}
	url, _ := receiver(t, func(signature.Request) error { return nil })
	if r := newStage(t).run(t.Context(), "webhook", "send", url, "-o", "ndjson"); r.code != 0 || strings.Contains(r.out, "answer") {
		t.Errorf("%+v", r)
	}
}

// TestW8SendTellsWhichLimit: of deliveries, or of wrong secrets.
func TestW8SendTellsWhichLimit(t *testing.T) {
	t.Parallel()
	for _, detail := range []string{"too many requests to this webhook failed authentication; check the secret", ""} {
		server := httptest.NewServer(problem(429, "resource_unavailable", detail))
		r := newStage(t).run(t.Context(), "webhook", "send", server.URL)
		server.Close()
		if want := "429: " + max(detail, "too many deliveries"); r.code != shell.ExitFailed || !strings.Contains(r.err, want) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

func TestI1SendTellsWhatCameBack(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]int{200: 0, 202: 0, 204: 0, 302: shell.ExitFailed, 400: shell.ExitFailed, 401: shell.ExitDenied, 404: shell.ExitNotFound, 413: shell.ExitFailed, 429: shell.ExitFailed, 500: shell.ExitFailed} {
		calls := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
		}))
		r := newStage(t).run(t.Context(), "webhook", "send", server.URL+"/webhooks/w/uid/s3cret")
		server.Close()
		if r.code != code || calls != 1 || (code != 0) != strings.Contains(r.err, "Error:") || code != 0 && strings.Contains(r.err, "s3cret") {
			t.Errorf("%d: %+v after %d calls", status, r, calls)
		}
		// Nobody listens any more: the address is not shown.
		if r := newStage(t).run(t.Context(), "webhook", "send", server.URL+"/webhooks/w/uid/s3cret"); r.code != shell.ExitFailed || strings.Contains(r.err, "s3cret") {
			t.Errorf("%+v", r)
		}
	}
}
