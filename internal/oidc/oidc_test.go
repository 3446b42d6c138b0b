package oidc_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/oidc"
)

func TestS4SignInWithEachAlgorithm(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]crypto.Signer{"RS256": newRSA(t), "ES256": newEC(t), "EdDSA": newEd(t)} {
		s := newScripted(t)
		s.rotate("k", key)
		who, err := s.signIn(oidc.New(s.config()))
		if err != nil || who != (lineshaft.Identity{Issuer: s.server.URL, Subject: "42", Name: "Ada", Email: "ada@example.com", Role: lineshaft.RoleAdmin}) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
}

func TestS4TheAddressAsksForCodePKCEStateAndNonce(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	p := oidc.New(s.config())
	first, ticket, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("client_id") != clientID || q.Get("scope") != "openid profile" ||
		len(q.Get("state")) < 26 || len(q.Get("nonce")) < 26 || q.Get("redirect_uri") != s.config().RedirectURL || strings.Contains(first, clientSecret) {
		t.Errorf("%v", q)
	}
	verifier := strings.Split(ticket, ".")[2]
	if strings.Contains(first, verifier) {
		t.Error("the address tells the verifier")
	}
	if other, _ := url.Parse(second); other.Query().Get("state") == q.Get("state") || other.Query().Get("nonce") == q.Get("nonce") {
		t.Error("two sign-ins share a state or a nonce")
	}
}

// Tokens that a provider did not make for this sign-in.
func TestS4TokensThatAreRefused(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for name, change := range map[string]func(map[string]any){
		"other nonce":           func(c map[string]any) { c["nonce"] = "another" },
		"no nonce":              func(c map[string]any) { delete(c, "nonce") },
		"other audience":        func(c map[string]any) { c["aud"] = "somebody-else" },
		"no audience":           func(c map[string]any) { delete(c, "aud") },
		"several, no azp":       func(c map[string]any) { c["aud"] = []string{clientID, "b"} },
		"other azp":             func(c map[string]any) { c["azp"] = "somebody-else" },
		"several and other azp": func(c map[string]any) { c["aud"], c["azp"] = []string{clientID, "b"}, "b" },
		"other issuer":          func(c map[string]any) { c["iss"] = "https://evil.example" },
		"expired":               func(c map[string]any) { c["exp"] = at(-time.Minute) },
		"no expiry":             func(c map[string]any) { delete(c, "exp") },
		"made later":            func(c map[string]any) { c["iat"] = at(5 * time.Minute) },
		"made long ago":         func(c map[string]any) { c["iat"] = at(-time.Hour) },
		"made never":            func(c map[string]any) { delete(c, "iat") },
		"for later":             func(c map[string]any) { c["nbf"] = at(5 * time.Minute) },
		"nobody":                func(c map[string]any) { c["sub"] = "" },
		"other access token":    func(c map[string]any) { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" },
		"times as text":         func(c map[string]any) { c["exp"] = "tomorrow" },
	} {
		s := newScripted(t)
		s.change = change
		_, err := s.signIn(oidc.New(s.config()))
		s.refused(name, err, lineshaft.CodeAuthenticationRequired)
	}
	// Clocks may differ a little, and several audiences are fine with an azp.
	for name, change := range map[string]func(map[string]any){
		"just expired":   func(c map[string]any) { c["exp"] = at(-5 * time.Second) },
		"a little ahead": func(c map[string]any) { c["iat"], c["nbf"] = at(10*time.Second), at(10*time.Second) },
		"several":        func(c map[string]any) { c["aud"], c["azp"] = []string{"b", clientID}, clientID },
	} {
		s := newScripted(t)
		s.change = change
		if _, err := s.signIn(oidc.New(s.config())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestS4ForgedSignaturesAreRefused(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.rotate("first", newRSA(t))
	public, ok := s.key.Public().(*rsa.PublicKey)
	if !ok {
		t.Fatal("no RSA key")
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	mac := func(secret []byte, claims map[string]any) string {
		text := unsigned(map[string]any{"alg": "HS256", "kid": "first"}, claims)
		sum := hmac.New(sha256.New, secret)
		sum.Write([]byte(text))
		return text + "." + encode(sum.Sum(nil))
	}
	other := newScripted(t)
	other.rotate("evil", newRSA(t))
	for name, forge := range map[string]func(map[string]any) string{
		"none":                      func(c map[string]any) string { return unsigned(map[string]any{"alg": "none"}, c) + "." },
		"None":                      func(c map[string]any) string { return unsigned(map[string]any{"alg": "None"}, c) + "." },
		"HS256 with the public key": func(c map[string]any) string { return mac(der, c) },
		"HS256 with the PEM": func(c map[string]any) string {
			return mac(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), c)
		},
		"HS256 with the secret": func(c map[string]any) string { return mac([]byte(clientSecret), c) },
		"another key":           func(c map[string]any) string { return other.sign(map[string]any{"alg": "RS256", "kid": "first"}, c) },
		"own key in the header": func(c map[string]any) string {
			return other.sign(map[string]any{"alg": "RS256", "kid": "evil", "jwk": jwk("evil", other.key.Public())}, c)
		},
		"no signature": func(c map[string]any) string {
			return unsigned(map[string]any{"alg": "RS256", "kid": "first"}, c) + "."
		},
		"other claims": func(c map[string]any) string {
			right := s.sign(map[string]any{"alg": "RS256", "kid": "first"}, c)
			c["sub"] = "1"
			return unsigned(map[string]any{"alg": "RS256", "kid": "first"}, c) + right[strings.LastIndex(right, "."):]
		},
		"garbage": func(map[string]any) string { return "eyJx.y.z" },
		"empty":   func(map[string]any) string { return "" },
	} {
		s.forge = forge
		_, err := s.signIn(oidc.New(s.config()))
		s.refused(name, err, lineshaft.CodeAuthenticationRequired)
	}
}

func TestS4KeysRotate(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	p := oidc.New(s.config())
	for _, keyID := range []string{"first", "second", "third"} {
		s.rotate(keyID, newEC(t))
		for range 2 {
			if _, err := s.signIn(p); err != nil {
				t.Errorf("with key %s: %v", keyID, err)
			}
		}
	}
	if s.keyReads != 3 {
		t.Errorf("keys were read %d times", s.keyReads)
	}
	// A key that was taken back signs nobody in.
	old := s.key
	s.rotate("fourth", newEC(t))
	s.key, s.keyID = old, "third"
	fresh := oidc.New(s.config())
	_, err := s.signIn(fresh)
	s.refused("old key", err, lineshaft.CodeAuthenticationRequired)
}

func TestS4AnAnswerBelongsToOneBrowserAndCountsOnce(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	p := oidc.New(s.config())
	begin := func() (url.Values, string) {
		address, ticket, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.authorize(address), ticket
	}
	mine, ticket := begin()
	foreign, foreignTicket := begin()
	for name, tc := range map[string]struct {
		ticket string
		answer url.Values
	}{
		"no ticket":       {"", mine},
		"half a ticket":   {ticket[:20], mine},
		"garbage":         {"a.b.c.d", mine},
		"huge":            {strings.Repeat("a", 5000) + ".b.c.1", mine},
		"foreign state":   {ticket, foreign},
		"no state":        {ticket, url.Values{"code": mine["code"]}},
		"two states":      {ticket, url.Values{"code": mine["code"], "state": {mine.Get("state"), mine.Get("state")}}},
		"foreign browser": {foreignTicket, mine},
	} {
		_, err := p.Finish(t.Context(), tc.ticket, tc.answer)
		s.refused(name, err, lineshaft.CodeAuthenticationRequired)
	}
	if _, err := p.Finish(t.Context(), ticket, mine); err != nil {
		t.Fatalf("the right answer: %v", err)
	}
	_, err := p.Finish(t.Context(), ticket, mine)
	s.refused("the same answer again", err, lineshaft.CodeAuthenticationRequired)
	// A code that belongs to another sign-in does not fit the verifier of this one.
	injected, victim := begin()
	injected.Set("code", foreign.Get("code"))
	_, err = p.Finish(t.Context(), victim, injected)
	s.refused("injected code", err, lineshaft.CodeAuthenticationRequired)
}

func TestS4SignInsTakeTenMinutesAtMost(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	now := time.Now()
	cfg := s.config()
	cfg.Now = func() time.Time { return now }
	p := oidc.New(cfg)
	address, ticket, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(oidc.SignInLife + time.Second)
	_, err = p.Finish(t.Context(), ticket, s.authorize(address))
	s.refused("late", err, lineshaft.CodeAuthenticationRequired)
}

func TestS4AnswersThatAreNoCode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(url.Values)
		want   string
	}{
		"cancelled":     {func(v url.Values) { v.Del("code"); v.Set("error", "access_denied") }, "was cancelled"},
		"failed":        {func(v url.Values) { v.Set("error", "server_error"); v.Set("error_description", "<b>code-x</b>") }, "did not sign you in"},
		"hostile":       {func(v url.Values) { v.Set("error", "<script>eyJ") }, "did not sign you in"},
		"no code":       {func(v url.Values) { v.Del("code") }, "could not be verified"},
		"two codes":     {func(v url.Values) { v.Add("code", "code-y") }, "could not be verified"},
		"other issuer":  {func(v url.Values) { v.Set("iss", "https://evil.example") }, "could not be verified"},
		"unknown code":  {func(v url.Values) { v.Set("code", "code-unknown") }, "could not be verified"},
		"issuer absent": {func(v url.Values) { v.Del("iss") }, "could not be verified"},
	} {
		s := newScripted(t)
		s.discovery = func(w http.ResponseWriter, _ *http.Request) {
			about := s.about()
			about["authorization_response_iss_parameter_supported"] = true
			answer(w, about)
		}
		p := oidc.New(s.config())
		address, ticket, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		values := s.authorize(address)
		values.Set("iss", s.server.URL)
		tc.change(values)
		_, err = p.Finish(t.Context(), ticket, values)
		s.refused(name, err, lineshaft.CodeAuthenticationRequired)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
