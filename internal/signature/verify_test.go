package signature

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestW9SignThenVerify(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		r := s.signed(t)
		if err := s.verifier(t).Verify(r); err != nil {
			t.Fatal(err)
		}
	})
}

func TestW9EverySchemeHasASample(t *testing.T) {
	t.Parallel()
	for _, scheme := range Schemes() {
		if !slices.ContainsFunc(samples(), func(s sample) bool { return s.scheme == scheme.Name }) {
			t.Errorf("%s has no sample", scheme.Name)
		}
	}
}

// A single bit changed anywhere in what is signed, or in the signature, is noticed.
func TestW9BitFlips(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		good, v := s.signed(t), s.verifier(t)
		for _, name := range signedHeaders(s, good) {
			text := good.Header.Get(name)
			for bit := range len(text) * 8 {
				r := clone(good)
				r.Header[name] = []string{flipped(text, bit)}
				if err := v.Verify(r); !errors.Is(err, ErrNotAuthentic) {
					t.Fatalf("bit %d of %s: %v", bit, name, err)
				}
			}
		}
		for bit := range len(good.Body) * 8 {
			r := clone(good)
			r.Body[bit/8] ^= 1 << (bit % 8)
			if err := v.Verify(r); (err == nil) != s.unbound {
				t.Fatalf("bit %d of the body: %v", bit, err)
			}
		}
	})
}

// Ids that a provider does not sign can be changed by everybody on the way. That
// is how it is; it must not look as if they were protected.
func TestW9UnsignedIDsAreNotProtected(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		good, v := s.signed(t), s.verifier(t)
		if s.unsigned == "" {
			return
		}
		text := good.Header.Get(s.unsigned)
		if text != testID {
			t.Fatalf("%s is %q", s.unsigned, text)
		}
		for bit := range len(text) * 8 {
			r := clone(good)
			r.Header.Set(s.unsigned, flipped(text, bit))
			if err := v.Verify(r); err != nil {
				t.Fatalf("bit %d of %s: %v", bit, s.unsigned, err)
			}
		}
	})
}

func flipped(text string, bit int) string {
	raw := []byte(text)
	raw[bit/8] ^= 1 << (bit % 8)
	return string(raw)
}

// Where the URL and the method are signed, they count.
func TestW9URLIsSigned(t *testing.T) {
	t.Parallel()
	covers := map[string]string{
		"square": "url", "twilio": "url", "twilio form": "url",
		"hubspot v2": "url method", "hubspot v3": "url method", "hmac sha512": "url method",
	}
	each(t, func(t *testing.T, s sample) {
		good, v := s.signed(t), s.verifier(t)
		other := clone(good)
		other.URL += "x"
		if err := v.Verify(other); (err != nil) != strings.Contains(covers[s.name], "url") {
			t.Errorf("other URL: %v", err)
		}
		other = clone(good)
		other.Method = http.MethodPut
		if err := v.Verify(other); (err != nil) != strings.Contains(covers[s.name], "method") {
			t.Errorf("other method: %v", err)
		}
	})
}

func TestW9TimeWindow(t *testing.T) {
	t.Parallel()
	stamped := map[string]time.Duration{
		"buildkite": window, "calendly": window, "discord": window, "gitlab signing token": window,
		"grafana with time": window, "hubspot v3": window, "linear": time.Minute, "slack": window,
		"standard_webhooks": window, "standard_webhooks v1a": window, "svix": window, "svix v1a": window,
		"stripe": window, "zoom": window, "hmac sha384": window, "hmac sha512": window,
	}
	each(t, func(t *testing.T, s sample) {
		good, v := s.signed(t), s.verifier(t)
		limit, timed := stamped[s.name]
		for _, away := range []time.Duration{limit, limit + 999*time.Millisecond, limit + time.Second, 100 * time.Hour} {
			for _, shift := range []time.Duration{away, -away} {
				r := clone(good)
				r.Now = testNow.Add(shift)
				err := v.Verify(r)
				if late := timed && away >= limit+time.Second; late != (err != nil) {
					t.Errorf("%v away: %v", shift, err)
				}
				if err != nil && !errors.Is(err, errStampFar) {
					t.Errorf("%v away: another reason: %v", shift, err)
				}
			}
		}
	})
}

func TestW9StampForms(t *testing.T) {
	t.Parallel()
	good := sample{name: "slack", scheme: "slack", secret: testSecret}
	v := good.verifier(t)
	for _, stamp := range []string{
		"", "now", "-1700000000", "+1700000000", " 1700000000", "1700000000 ", "1700000000.0", "1.7e9", "0x65",
		"01700000000", "1700000000000", "17000000000000000000000", "١٧٠٠٠٠٠٠٠٠", "1_700_000_000",
	} {
		r := good.signed(t)
		r.Header["X-Slack-Request-Timestamp"] = []string{stamp}
		r.Header.Set("X-Slack-Signature", "v0="+plainHMAC(testSecret, "v0:"+stamp+":"+testBody))
		if err := v.Verify(r); !errors.Is(err, ErrNotAuthentic) {
			t.Errorf("stamp %q: %v", stamp, err)
		}
	}
}

// Two copies of a header that takes part are refused, even equal ones.
func TestW9TwoCopiesOfAHeader(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		good, v := s.signed(t), s.verifier(t)
		names := signedHeaders(s, good)
		if len(names) == 0 {
			t.Fatal("no header takes part")
		}
		for _, name := range names {
			for _, second := range []string{good.Header.Get(name), "", "x"} {
				r := clone(good)
				r.Header[name] = append(r.Header[name], second)
				if err := v.Verify(r); !errors.Is(err, ErrNotAuthentic) {
					t.Errorf("second %s %q: %v", name, second, err)
				}
			}
		}
	})
}

func TestW9MissingAndAbsurdHeaders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		good, v := s.signed(t), s.verifier(t)
		for _, name := range signedHeaders(s, good) {
			text := good.Header.Get(name)
			for _, value := range []string{
				"", " ", ",", "=", text[:len(text)-1], text + "0", text + "=", " " + text, strings.ToUpper(text) + "x",
				text + strings.Repeat(",", maxHeader), text + strings.Repeat(" ", maxHeader), strings.Repeat(text, 100),
			} {
				r := clone(good)
				r.Header[name] = []string{value}
				if err := v.Verify(r); err == nil && strings.Trim(value, " ") != text {
					t.Errorf("%s accepted as %.80q", name, value)
				}
			}
			r := clone(good)
			delete(r.Header, name)
			if err := v.Verify(r); !errors.Is(err, ErrNotAuthentic) {
				t.Errorf("without %s: %v", name, err)
			}
		}
		if err := v.Verify(Request{Body: good.Body, Now: testNow}); !errors.Is(err, ErrNotAuthentic) {
			t.Errorf("without headers: %v", err)
		}
	})
}

// The digest belongs to the scheme: a signature over the right bytes with the right
// key is refused if it was made otherwise, under the right prefix and under others.
func TestW9DigestIsBound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		scheme, err := schemeOf(s.scheme, s.settings)
		if err != nil {
			t.Fatal(err)
		}
		k, err := scheme.readKey(s.secret)
		if err != nil {
			t.Fatal(err)
		}
		v, tried := s.verifier(t), 0
		for _, rule := range scheme.Rules {
			if rule.key != k.kind || rule.Digest == Token {
				continue
			}
			for _, forged := range otherwise(rule) {
				c, err := newCheck(forged, []key{k})
				if err != nil {
					t.Fatal(err)
				}
				r := Request{Method: http.MethodPost, URL: testURL, Header: http.Header{}, Body: []byte(s.text()), Now: testNow}
				if err := c.sign(&r, testID); err != nil {
					t.Fatal(err)
				}
				if tried++; v.Verify(r) == nil {
					t.Fatalf("%s %s accepted under %q", forged.Digest, forged.Encoding, forged.Prefix)
				}
			}
		}
		if tried == 0 && !s.unbound {
			t.Fatal("nothing tried")
		}
	})
}

// otherwise lists rules that differ from one in digest or encoding.
func otherwise(rule Rule) []Rule {
	var list []Rule
	for _, digest := range []Digest{SHA1, SHA256, SHA384, SHA512, Salted} {
		for _, encoding := range []Encoding{Hex, Base64} {
			for _, prefix := range []string{rule.Prefix, "sha1=", "sha256=", "sha512=", "v0=", "v1=", "v1,", "v1a,", ""} {
				other := rule
				other.Digest, other.Encoding, other.Prefix = digest, encoding, prefix
				if digest != rule.Digest || encoding != rule.Encoding {
					list = append(list, other)
				}
			}
		}
	}
	return list
}

func TestW9GitHubOlderHeaderAlone(t *testing.T) {
	t.Parallel()
	v, err := New("github", HMAC{}, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Body: []byte(testBody), Header: http.Header{}, Now: testNow}
	mac := hmac.New(sha1.New, []byte(testSecret))
	mac.Write(r.Body)
	old := hex.EncodeToString(mac.Sum(nil))
	r.Header.Set("X-Hub-Signature", "sha1="+old)
	if v.Verify(r) == nil {
		t.Error("the header of SHA-1 alone is enough")
	}
	r.Header.Set("X-Hub-Signature-256", "sha1="+old)
	if v.Verify(r) == nil {
		t.Error("SHA-1 is taken in the header of SHA-256")
	}
	r.Header.Set("X-Hub-Signature-256", "sha256="+strings.ToUpper(plainHMAC(testSecret, testBody)))
	if v.Verify(r) == nil {
		t.Error("there are two spellings of one signature")
	}
}

// During an overlap both secrets work, and either of several signatures does.
func TestW9SeveralKeysAndSignatures(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		r := s.signed(t)
		other := "another secret of some length"
		switch s.scheme {
		case "standard_webhooks":
			other = Generate(s.scheme)
		case "discord":
			other = strings.Repeat("ab", 32)
		}
		for _, secrets := range [][]string{{s.secret, other}, {other, s.secret}} {
			v, err := New(s.scheme, s.settings, secrets...)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Verify(r); err != nil {
				t.Errorf("one of two secrets: %v", err)
			}
		}
		v, err := New(s.scheme, s.settings, other)
		if err != nil {
			t.Fatal(err)
		}
		if v.Verify(r) == nil {
			t.Error("the wrong secret alone is enough")
		}
	})
}

func TestW9SignatureLists(t *testing.T) {
	t.Parallel()
	good := plainHMAC(testSecret, testBody)
	bad := plainHMAC("x", testBody)
	v, err := New("pagerduty", HMAC{}, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{
		"v1=" + good:                 true,
		"v1=" + bad + ",v1=" + good:  true,
		"v1=" + good + ", v1=" + bad: true,
		"v0=" + bad + ",v1=" + good:  true,
		"v1=" + bad:                  false,
		"v0=" + good:                 false,
		"V1=" + good:                 false,
		good:                         false,
		"v1=" + good + good:          false,
		"v1=" + good + ";v1=" + bad:  false,
		"v1=,v1=" + good:             true,
		strings.Repeat("v1=a,", 15) + "v1=" + good: true,
		strings.Repeat("v1=a,", 16) + "v1=" + good: false,
	} {
		r := Request{Header: http.Header{"X-Pagerduty-Signature": {value}}, Body: []byte(testBody), Now: testNow}
		if err := v.Verify(r); (err == nil) != want {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestW9StripeTwoTimes(t *testing.T) {
	t.Parallel()
	s := sample{name: "stripe", scheme: "stripe", secret: testSecret}
	r := s.signed(t)
	r.Header.Set("Stripe-Signature", "t=1700000000,"+r.Header.Get("Stripe-Signature"))
	if err := s.verifier(t).Verify(r); !errors.Is(err, errCopies) {
		t.Error(err)
	}
}

// Errors go to the log, so nothing that was sent or is secret may be in them.
func TestW9ErrorsTellNoSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sample) {
		v, good := s.verifier(t), s.signed(t)
		for _, name := range signedHeaders(s, good) {
			r := clone(good)
			r.Header[name] = []string{"leaked" + r.Header.Get(name)}
			err := v.Verify(r)
			if err == nil || strings.Contains(err.Error(), "leaked") || strings.Contains(err.Error(), s.secret) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
