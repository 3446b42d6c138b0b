package signature

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

func TestW9Table(t *testing.T) {
	t.Parallel()
	want := []string{
		"bitbucket", "buildkite", "calendly", "circleci", "discord", "dropbox", "github", "gitlab", "grafana", "hmac",
		"hubspot", "intercom", "jira", "linear", "pagerduty", "sentry", "shopify", "slack", "square",
		"standard_webhooks", "stripe", "twilio", "typeform", "vercel", "zoom",
	}
	var got []string
	for _, s := range Schemes() {
		got = append(got, s.Name)
		found, ok := Find(s.Name)
		if !ok || found.Title != s.Title || s.Title == "" || len(s.Rules) == 0 {
			t.Errorf("%s: %+v", s.Name, found)
		}
		if !slices.Contains([]SecretOrigin{Generated, Chosen, Issued}, s.SecretFrom) {
			t.Errorf("%s: secret from %q", s.Name, s.SecretFrom)
		}
		if s.Name != "hmac" && len(s.Headers) == 0 {
			t.Errorf("%s: no headers", s.Name)
		}
		for _, name := range s.Headers {
			if name != http.CanonicalHeaderKey(name) {
				t.Errorf("%s: %s is not canonical", s.Name, name)
			}
		}
		if (s.Handshake != "") != slices.Contains([]string{"discord", "dropbox", "github", "slack", "zoom"}, s.Name) {
			t.Errorf("%s: handshake %q", s.Name, s.Handshake)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("schemes %v", got)
	}
	if _, found := Find("nobody"); found {
		t.Error("an unknown scheme is found")
	}
}

// The list that a caller gets is his own.
func TestW9TableDoesNotChange(t *testing.T) {
	t.Parallel()
	Schemes()[0].Name = "changed"
	if Schemes()[0].Name != "bitbucket" {
		t.Error("the table can be changed from outside")
	}
}

func TestW4SecretOrigins(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]SecretOrigin{
		"stripe": Issued, "pagerduty": Issued, "vercel": Issued, "linear": Issued, "slack": Issued, "sentry": Issued,
		"discord": Issued, "zoom": Issued, "twilio": Issued, "square": Issued, "buildkite": Issued, "shopify": Issued,
		"intercom": Issued, "hubspot": Issued, "dropbox": Issued,
		"github": Chosen, "gitlab": Chosen, "bitbucket": Chosen, "jira": Chosen, "circleci": Chosen, "grafana": Chosen,
		"calendly": Chosen, "typeform": Chosen, "hmac": Chosen, "standard_webhooks": Generated,
	} {
		if s, _ := Find(name); s.SecretFrom != want {
			t.Errorf("%s: %s, want %s", name, s.SecretFrom, want)
		}
	}
}

func TestW9StandardWebhooksSets(t *testing.T) {
	t.Parallel()
	s := sample{name: "standard_webhooks", scheme: "standard_webhooks", secret: testShared}
	v := s.verifier(t)
	mixed := s.signed(t)
	mixed.Header["Svix-Id"] = mixed.Header["Webhook-Id"]
	delete(mixed.Header, "Webhook-Id")
	if v.Verify(mixed) == nil {
		t.Error("headers of two sets are mixed")
	}

	both := s.signed(t)
	both.Header.Set("Svix-Id", "other")
	if id, from := v.Identity(both); v.Verify(both) != nil || id != testID || from != "header webhook-id" {
		t.Errorf("identity %q from %q", id, from)
	}

	// The id of the set that nobody signed is not taken.
	svix := s.signed(t)
	asSvix(&svix, "")
	svix.Header.Set("Webhook-Id", "forged")
	if id, _ := v.Identity(svix); v.Verify(svix) != nil || id != testID {
		t.Errorf("identity %q of a request signed under other headers", id)
	}

	dotted := s.signed(t)
	dotted.Header.Set("Webhook-Id", "a.b")
	if err := v.Verify(dotted); !errors.Is(err, errID) {
		t.Errorf("id with a dot: %v", err)
	}
	if err := Sign("standard_webhooks", HMAC{}, testShared, &dotted, "a.b"); err == nil {
		t.Error("an id with a dot is signed")
	}
	long := s.signed(t)
	if err := Sign("standard_webhooks", HMAC{}, testShared, &long, strings.Repeat("x", 256)); err != nil || v.Verify(long) != nil {
		t.Errorf("an id of 256 characters is refused: %v", err)
	}
	if err := Sign("standard_webhooks", HMAC{}, testShared, &long, ""); err == nil {
		t.Error("signed without an id")
	}
}

func TestW9GitLabSignatureDecides(t *testing.T) {
	t.Parallel()
	signing := sample{name: "gitlab", scheme: "gitlab", secret: testShared}
	both, err := New("gitlab", HMAC{}, testShared, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := signing.signed(t)
	r.Header.Set("X-Gitlab-Token", "wrong")
	if err := both.Verify(r); err != nil {
		t.Errorf("right signature, wrong token: %v", err)
	}
	r.Header.Set("X-Gitlab-Token", testSecret)
	r.Body[0] ^= 1
	if both.Verify(r) == nil {
		t.Error("wrong signature, right token: accepted")
	}
	// We know the token alone, GitLab sends both: the token is all that we can check.
	token, err := New("gitlab", HMAC{}, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	if err := token.Verify(r); err != nil {
		t.Errorf("token only: %v", err)
	}
	// A signing token is never taken for a token that is sent in the open.
	r = Request{Header: http.Header{"X-Gitlab-Token": {testShared}}, Now: testNow}
	if signing.verifier(t).Verify(r) == nil {
		t.Error("the signing token is taken as a plain one")
	}
}

func TestW9BuildkiteSignatureDecides(t *testing.T) {
	t.Parallel()
	s := sample{name: "buildkite", scheme: "buildkite", secret: testSecret}
	r := s.signed(t)
	r.Header.Set("X-Buildkite-Token", testSecret)
	r.Body[0] ^= 1
	if s.verifier(t).Verify(r) == nil {
		t.Error("a wrong signature is passed over for the token")
	}
}

// What was signed with a time cannot be sent again as a body that holds the time.
func TestW9GrafanaTimeStaysOutside(t *testing.T) {
	t.Parallel()
	s := sample{name: "grafana", scheme: "grafana", secret: testSecret}
	r := s.signed(t)
	r.Body = append([]byte("1700000000:"), r.Body...)
	delete(r.Header, "X-Grafana-Alerting-Timestamp")
	r.Now = testNow.Add(time.Hour)
	if err := s.verifier(t).Verify(r); !errors.Is(err, errBorder) {
		t.Error(err)
	}
}

func TestW9HubSpotPlainHashes(t *testing.T) {
	t.Parallel()
	v, err := New("hubspot", HMAC{}, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	// A signature of version two, passed off as version one.
	r := Request{Method: http.MethodPost, URL: testURL, Header: http.Header{}, Now: testNow}
	r.Body = []byte(http.MethodPost + testURL + testBody)
	r.Header.Set("X-Hubspot-Signature", plainHash(testSecret+string(r.Body)))
	if err := v.Verify(r); !errors.Is(err, errBorder) {
		t.Errorf("a body that is a URL and a body: %v", err)
	}
	// What a plain hash lets everybody append is not JSON.
	r.Body = append([]byte(testBody), 0x80, 0, 0, 0)
	r.Header.Set("X-Hubspot-Signature", plainHash(testSecret+string(r.Body)))
	if err := v.Verify(r); !errors.Is(err, errBorder) {
		t.Errorf("a longer body: %v", err)
	}
	// The third version decides if it is there.
	r.Body = []byte(testBody)
	r.Header.Set("X-Hubspot-Signature", plainHash(testSecret+testBody))
	r.Header.Set("X-Hubspot-Signature-V3", "wrong")
	r.Header.Set("X-Hubspot-Request-Timestamp", "1700000000000")
	if v.Verify(r) == nil {
		t.Error("a wrong signature of version three is passed over")
	}
}

func TestW9TwilioURLs(t *testing.T) {
	t.Parallel()
	s := sample{name: "twilio", scheme: "twilio", secret: testSecret}
	v, good := s.verifier(t), s.signed(t)
	member := "bodySHA256=" + plainHash(testBody)

	full := clone(good)
	full.URL += "?" + member
	if err := v.Verify(full); err != nil {
		t.Errorf("the URL with its hash: %v", err)
	}
	forged := clone(full)
	forged.Body = nil
	if v.Verify(forged) == nil {
		t.Error("the hash of another body is accepted with an empty form")
	}
	forged = clone(good)
	for _, body := range []string{"%3F" + strings.Replace(member, "=", "%3D", 1), "=%3F" + strings.Replace(member, "=", "%3D", 1), "?" + member} {
		forged.Body = []byte(body)
		if v.Verify(forged) == nil {
			t.Errorf("the URL's hash is accepted as the form %s", body)
		}
	}

	query := Request{Method: http.MethodPost, URL: testURL + "?a=b", Body: []byte(testBody), Now: testNow}
	if err := Sign("twilio", HMAC{}, testSecret, &query, ""); err != nil || v.Verify(query) != nil {
		t.Errorf("a URL with a query: %v", err)
	}
	wide := Request{
		Method: http.MethodPost, URL: testURL, Now: testNow,
		Header: http.Header{"Content-Type": {formType}}, Body: []byte(strings.Repeat("a=b&", maxMembers)),
	}
	if err := Sign("twilio", HMAC{}, testSecret, &wide, ""); err != nil || v.Verify(wide) == nil {
		t.Errorf("a form without end: %v", err)
	}
}

func TestW9LinearTimeIsInTheBody(t *testing.T) {
	t.Parallel()
	v, err := New("linear", HMAC{}, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{
		`{"webhookTimestamp":1700000000000}`:                              true,
		`{"a":{"webhookTimestamp":1},"webhookTimestamp": 1700000060999 }`: true,
		`{"webhookTimestamp":1700000061000}`:                              false,
		`{"webhookTimestamp":1699999939000}`:                              false,
		`{"webhookTimestamp":"1700000000000"}`:                            false,
		`{"webhookTimestamp":1700000000}`:                                 false,
		`{"webhookTimestamp":1700000000000.5}`:                            false,
		`{"webhookTimestamp":null}`:                                       false,
		`{"data":{"webhookTimestamp":1700000000000}}`:                     false,
		`{"data":[1,],"webhookTimestamp":1700000000000}`:                  true, // authentic, and refused as JSON
		`[]`: false,
		``:   false,
	} {
		r := Request{Header: http.Header{}, Body: []byte(body), Now: testNow}
		r.Header.Set("Linear-Signature", plainHMAC(testSecret, body))
		r.Header.Set("Linear-Timestamp", "1700000000000")
		if err := v.Verify(r); (err == nil) != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	r := Request{Body: []byte(`{}`), Now: testNow}
	if Sign("linear", HMAC{}, testSecret, &r, "") == nil {
		t.Error("a body without a time is signed")
	}
}

func TestW10Identity(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		id, from := s.verifier(t).Identity(s.signed(t))
		if from != s.idAt {
			t.Fatalf("identity %q from %q, want it from %q", id, from, s.idAt)
		}
		want := ""
		if path, inBody := strings.CutPrefix(s.idAt, "body "); inBody {
			want = jsontext.MemberText([]byte(testBody), path)
		} else if s.idAt != "" {
			want = testID
		}
		if id != want {
			t.Errorf("identity %q, want %q", id, want)
		}
	})
}

func TestW10IdentityMustBeUsable(t *testing.T) {
	t.Parallel()
	v, err := New("pagerduty", HMAC{}, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]string{nil, {""}, {"a", "b"}, {strings.Repeat("x", 257)}, {"a\x00b"}, {"ä"}} {
		r := Request{Header: http.Header{"X-Webhook-Id": ids}, Body: []byte(testBody)}
		if id, from := v.Identity(r); id != "evt_3" || from != "body event.id" {
			t.Errorf("%.20q: identity %q from %q", ids, id, from)
		}
	}
	for _, id := range []any{"", 7, nil, []string{"x"}, "a\x00b", strings.Repeat("x", 257)} {
		body, err := json.Marshal(map[string]any{"event": map[string]any{"id": id}})
		if err != nil {
			t.Fatal(err)
		}
		if id, from := v.Identity(Request{Body: body}); id != "" || from != "" {
			t.Errorf("%s: identity %q from %q", body, id, from)
		}
	}
}
