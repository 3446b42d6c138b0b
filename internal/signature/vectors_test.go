package signature

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"
)

// vector is a request that was signed with a provider's own library, or taken from
// its documentation.
type vector struct {
	Name       string            `json:"name"`
	Scheme     string            `json:"scheme"`
	Secret     string            `json:"secret"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
	Expect     string            `json:"expect"`
	Now        int64             `json:"now"`
	URL        string            `json:"url"`
	DeliveryID string            `json:"delivery_id"`
}

// vectorSchemes are the names that vectors use for parts of a scheme.
var vectorSchemes = map[string]string{
	"svix":                  "standard_webhooks",
	"standard_webhooks_v1a": "standard_webhooks",
	"gitlab_signing_token":  "gitlab",
	"gitlab_token":          "gitlab",
	"hubspot_v1":            "hubspot",
	"hubspot_v3":            "hubspot",
}

func (v vector) scheme() string {
	if name, found := vectorSchemes[v.Scheme]; found {
		return name
	}
	return v.Scheme
}

func (v vector) request() Request {
	r := Request{Method: http.MethodPost, URL: v.URL, Header: http.Header{}, Body: []byte(v.Body), Now: time.Unix(v.Now, 0)}
	for name, value := range v.Headers {
		r.Header.Add(name, value)
	}
	return r
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 100 {
		t.Fatalf("only %d vectors", len(list))
	}
	return list
}

func vectorNamed(t *testing.T, name string) vector {
	t.Helper()
	for _, v := range vectors(t) {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no vector %s", name)
	return vector{}
}

func TestW9Vectors(t *testing.T) {
	t.Parallel()
	for _, vec := range vectors(t) {
		t.Run(vec.Name, func(t *testing.T) {
			t.Parallel()
			v, err := New(vec.scheme(), HMAC{}, vec.Secret)
			if err != nil {
				t.Fatal(err)
			}
			err = v.Verify(vec.request())
			switch vec.Expect {
			case "accept":
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
			case "reject", "either": // either: time stamps with a leading zero, which we refuse
				if !errors.Is(err, ErrNotAuthentic) {
					t.Fatalf("accepted: %v", err)
				}
			default:
				t.Fatalf("expect %q", vec.Expect)
			}
		})
	}
}

func TestW10VectorIdentities(t *testing.T) {
	t.Parallel()
	found := 0
	for _, vec := range vectors(t) {
		if vec.Expect != "accept" {
			continue
		}
		v, err := New(vec.scheme(), HMAC{}, vec.Secret)
		if err != nil {
			t.Fatal(err)
		}
		want := vec.DeliveryID
		switch {
		case vec.Scheme == "sentry": // its Request-ID is new for each attempt
			want = ""
		case vec.Name == "github-push--replayed-new-delivery-id": // the replayer's own
			want = vec.Headers["X-GitHub-Delivery"]
		}
		id, from := v.Identity(vec.request())
		if id != want || (id == "") != (from == "") {
			t.Errorf("%s: identity %q from %q, want %q", vec.Name, id, from, want)
		}
		if id != "" {
			found++
		}
	}
	if found < 20 {
		t.Errorf("only %d identities", found)
	}
}

// Two schemes share the prefix whsec_ and make different keys of it.
func TestW9StripeAndStandardKeysDiffer(t *testing.T) {
	t.Parallel()
	const secret = testShared
	for _, scheme := range []string{"stripe", "standard_webhooks"} {
		r := Request{Method: http.MethodPost, Body: []byte(testBody), Now: testNow}
		if err := Sign(scheme, HMAC{}, secret, &r, "msg_1"); err != nil {
			t.Fatal(err)
		}
		text := "1700000000." + testBody
		if scheme == "standard_webhooks" {
			text = "msg_1." + text
		}
		asText := plainHMAC(secret, text)
		if got := r.Header.Get("Stripe-Signature") == "t=1700000000,v1="+asText; got != (scheme == "stripe") {
			t.Errorf("%s: keyed with the text of the secret: %v", scheme, got)
		}
	}
}
