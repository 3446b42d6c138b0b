package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/oidc"
)

const (
	clientID     = "lineshaft"
	clientSecret = "client-secret-of-this-test"
	accessToken  = "access-token-of-this-test"
)

// scripted is a provider whose answers a test changes.
type scripted struct {
	*testing.T
	server *httptest.Server

	mu sync.Mutex
	// key signs tokens; published are the keys that jwks tells.
	key       crypto.Signer
	keyID     string
	published map[string]crypto.PublicKey
	// codes are the authorization codes that are out, with what was asked.
	codes map[string]url.Values
	// change is called with the claims of each ID token before it is signed.
	change func(map[string]any)
	// forge, when set, makes the ID token instead.
	forge func(claims map[string]any) string
	// tokens and discovery, when set, answer instead.
	tokens, discovery, info http.HandlerFunc
	userinfo                map[string]any
	keyReads                int
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{T: t, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", s.serveDiscovery)
	mux.HandleFunc("GET /jwks", s.serveKeys)
	mux.HandleFunc("POST /token", s.serveTokens)
	mux.HandleFunc("GET /userinfo", s.serveInfo)
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	s.rotate("first", newEd(t))
	return s
}

func newRSA(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// rotate replaces all keys.
func (s *scripted) rotate(keyID string, key crypto.Signer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.keyID, s.published = key, keyID, map[string]crypto.PublicKey{keyID: key.Public()}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

func (s *scripted) about() map[string]any {
	at := s.server.URL
	return map[string]any{
		"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "jwks_uri": at + "/jwks", "userinfo_endpoint": at + "/userinfo",
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "EdDSA", "HS256", "none"},
	}
}

func (s *scripted) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	if s.discovery != nil {
		s.discovery(w, r)
		return
	}
	answer(w, s.about())
}

func (s *scripted) serveKeys(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyReads++
	var keys []map[string]string
	for keyID, key := range s.published {
		keys = append(keys, jwk(keyID, key))
	}
	answer(w, map[string]any{"keys": keys})
}

func jwk(keyID string, key crypto.PublicKey) map[string]string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return map[string]string{"kid": keyID, "kty": "RSA", "alg": "RS256", "use": "sig", "n": encode(key.N.Bytes()), "e": "AQAB"}
	case *ecdsa.PublicKey:
		raw, _ := key.Bytes()
		return map[string]string{"kid": keyID, "kty": "EC", "crv": "P-256", "use": "sig", "x": encode(raw[1:33]), "y": encode(raw[33:])}
	case ed25519.PublicKey:
		return map[string]string{"kid": keyID, "kty": "OKP", "crv": "Ed25519", "use": "sig", "x": encode(key)}
	}
	panic("no such key")
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// authorize is what happens at the provider: somebody signs in, and the browser goes
// back with a code.
func (s *scripted) authorize(address string) url.Values {
	s.Helper()
	u, err := url.Parse(address)
	if err != nil {
		s.Fatal(err)
	}
	asked := u.Query()
	code := "code-" + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code] = asked
	return url.Values{"code": {code}, "state": {asked.Get("state")}}
}

// serveTokens checks the client, the code and the verifier as a provider must.
func (s *scripted) serveTokens(w http.ResponseWriter, r *http.Request) {
	if s.tokens != nil {
		s.tokens(w, r)
		return
	}
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": code, "error_description": "the code " + r.PostFormValue("code") + " is wrong"})
	}
	user, password, _ := r.BasicAuth()
	if user != clientID || password != clientSecret {
		refuse("invalid_client")
		return
	}
	s.mu.Lock()
	asked, ok := s.codes[r.PostFormValue("code")]
	delete(s.codes, r.PostFormValue("code"))
	s.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != encode(sum[:]) || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") {
		refuse("invalid_grant")
		return
	}
	answer(w, map[string]any{"access_token": accessToken, "token_type": "Bearer", "expires_in": 60, "id_token": s.idToken(asked.Get("nonce"))})
}

func (s *scripted) idToken(nonce string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	claims := map[string]any{
		"iss": s.server.URL, "sub": "42", "aud": clientID, "exp": now.Add(time.Minute).Unix(), "iat": now.Unix(), "nonce": nonce,
		"name": "Ada", "email": "ada@example.com", "groups": []string{"staff", "ops"},
	}
	if s.change != nil {
		s.change(claims)
	}
	if s.forge != nil {
		return s.forge(claims)
	}
	return s.sign(map[string]any{"alg": algorithm(s.key), "kid": s.keyID}, claims)
}

func algorithm(key crypto.Signer) string {
	switch key.(type) {
	case *ecdsa.PrivateKey:
		return "ES256"
	case ed25519.PrivateKey:
		return "EdDSA"
	}
	return "RS256"
}

func unsigned(header, claims map[string]any) string {
	head, _ := json.Marshal(header)
	body, _ := json.Marshal(claims)
	return encode(head) + "." + encode(body)
}

func (s *scripted) sign(header, claims map[string]any) string {
	text := unsigned(header, claims)
	sum := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch key := s.key.(type) {
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, []byte(text))
	case *ecdsa.PrivateKey:
		r, v, signErr := ecdsa.Sign(rand.Reader, key, sum[:])
		err, signature = signErr, append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	}
	if err != nil {
		s.Error(err)
	}
	return text + "." + encode(signature)
}

func (s *scripted) serveInfo(w http.ResponseWriter, r *http.Request) {
	if s.info != nil {
		s.info(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+accessToken {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	answer(w, s.userinfo)
}

// config lets staff in as viewers and ops as admins.
func (s *scripted) config() oidc.Config {
	return oidc.Config{
		Issuer: s.server.URL, ClientID: clientID, ClientSecret: clientSecret, RedirectURL: "https://lineshaft.example/login/oidc/callback", Name: "Example",
		Scopes: []string{"profile"}, RoleClaim: "groups", AllowPrivate: true,
		Roles: []oidc.Mapping{{Value: "ops", Role: lineshaft.RoleAdmin}, {Value: "staff", Role: lineshaft.RoleViewer}},
	}
}

// signIn goes the whole way.
func (s *scripted) signIn(p *oidc.Provider) (lineshaft.Identity, error) {
	s.Helper()
	address, ticket, err := p.Begin(s.Context())
	if err != nil {
		return lineshaft.Identity{}, err
	}
	return p.Finish(s.Context(), ticket, s.authorize(address))
}

// refused wants an error of that code that says what to do and tells no secret, neither
// to people nor to the log.
func (s *scripted) refused(name string, err error, code lineshaft.Code) {
	s.Helper()
	if lineshaft.CodeOf(err) != code {
		s.Errorf("%s: %v, want %s", name, err, code)
		return
	}
	text := fmt.Sprintf("%v %+v", err, err)
	for cause := err; cause != nil; {
		text += " " + cause.Error()
		unwrapper, ok := cause.(interface{ Unwrap() error })
		if !ok {
			break
		}
		cause = unwrapper.Unwrap()
	}
	for _, secret := range []string{clientSecret, accessToken, "code-", "eyJ"} {
		if strings.Contains(text, secret) {
			s.Errorf("%s: the error tells %s: %s", name, secret, text)
		}
	}
	if !strings.Contains(text, "again") && !strings.Contains(text, "ask an admin") {
		s.Errorf("%s: %s does not say what to do", name, text)
	}
}

func newEC(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newEd(t *testing.T) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
