package signature

import (
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

func TestW9HandshakesOfVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vector string
		status int
		kind   string
		body   string
	}{
		{"github-ping", 202, "", ""},
		{"slack-url-verification", 200, "text/plain; charset=utf-8", "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"},
		{
			"zoom-url-validation", 200, "application/json",
			`{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"d9e0d764a78494688ba3f2d5c0ed4ca311394b4834d959759213424d2df961e3"}`,
		},
		{"discord-ping", 204, "", ""},
	} {
		vec := vectorNamed(t, c.vector)
		other := "the next secret"
		if vec.Scheme == "discord" {
			other = strings.Repeat("ab", 32)
		}
		v, err := New(vec.scheme(), HMAC{}, other, vec.Secret) // the key that was used answers
		if err != nil {
			t.Fatal(err)
		}
		got := v.Handshake(vec.request())
		if got == nil || got.Status != c.status || got.ContentType != c.kind || string(got.Body) != c.body {
			t.Errorf("%s: %+v", c.vector, got)
		}
		wrong, err := New(vec.scheme(), HMAC{}, other)
		if err != nil {
			t.Fatal(err)
		}
		if got := wrong.Handshake(vec.request()); got != nil {
			t.Errorf("%s: an answer for a request that is not authentic: %+v", c.vector, got)
		}
	}
}

// Ordinary deliveries are no handshakes, and not all that looks like one is.
func TestW9NoHandshake(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		if got := s.verifier(t).Handshake(s.signed(t)); got != nil {
			t.Errorf("%+v", got)
		}
	})
	public, seed := pair()
	for _, c := range []struct{ scheme, body string }{
		{"slack", `{"type":"url_verification"}`},
		{"slack", `{"type":"url_verification","challenge":7}`},
		{"slack", `{"type":"url_verification","challenge":"` + strings.Repeat("x", 257) + `"}`},
		{"slack", `{"type":"url_verification","challenge":"a\u0000b"}`},
		{"slack", `{"type":"url_verification","challenge":"x","pad":"` + strings.Repeat("x", maxHandshake) + `"}`},
		{"slack", `{"event":{"type":"url_verification","challenge":"x"}}`},
		{"zoom", `{"event":"endpoint.url_validation","payload":{}}`},
		{"zoom", `{"event":"endpoint.url_validation","payload":{"plainToken":"v0:1700000000:{}"}}`},
		{"zoom", `{"event":"meeting.started","payload":{"plainToken":"x"}}`},
		{"discord", `{"type":1}`},
		{"discord", `{"type":"0"}`},
		{"discord", `{"event":{"type":0}}`},
	} {
		secret, private := testSecret, testSecret
		if c.scheme == "discord" {
			secret, private = hex.EncodeToString(public), hex.EncodeToString(seed)
		}
		s := sample{name: c.scheme, scheme: c.scheme, secret: secret, private: private, body: c.body}
		v, r := s.verifier(t), s.signed(t)
		if err := v.Verify(r); err != nil {
			t.Fatal(err)
		}
		if got := v.Handshake(r); got != nil {
			t.Errorf("%s %.80s: %+v", c.scheme, c.body, got)
		}
	}
}

func TestW9DropboxChallenge(t *testing.T) {
	t.Parallel()
	got := Challenge("dropbox", url.Values{"challenge": {"abc <b>123"}})
	if got == nil || got.Status != 200 || got.ContentType != "text/plain; charset=utf-8" || string(got.Body) != "abc <b>123" {
		t.Errorf("%+v", got)
	}
	for _, values := range [][]string{nil, {""}, {"a", "b"}, {strings.Repeat("x", 257)}, {"a\nb"}, {"ä"}, {"a\x7f"}} {
		if got := Challenge("dropbox", url.Values{"challenge": values}); got != nil {
			t.Errorf("%.20q: %+v", values, got)
		}
	}
	for _, s := range Schemes() {
		if got := Challenge(s.Name, url.Values{"challenge": {"x"}}); got != nil && s.Name != "dropbox" {
			t.Errorf("%s: %+v", s.Name, got)
		}
	}
}
