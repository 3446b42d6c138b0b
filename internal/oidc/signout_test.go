package oidc_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/lineshaft/lineshaft/internal/oidc"
)

// S-4: signing out leads to the provider's own place for it, if it has one, with who asks
// and where to come back to, and without a token.
func TestS4SignOutAtTheProvider(t *testing.T) {
	t.Parallel()
	const back = "https://lineshaft.example/login"
	for name, tc := range map[string]struct {
		endpoint any
		want     url.Values
	}{
		"a place":         {"/logout", url.Values{"client_id": {clientID}, "post_logout_redirect_uri": {back}}},
		"with a query":    {"/logout?tenant=a%26b", url.Values{"tenant": {"a&b"}, "client_id": {clientID}, "post_logout_redirect_uri": {back}}},
		"no place":        {nil, nil},
		"a script":        {"javascript:alert(1)", nil},
		"not an address":  {"::", nil},
		"of another kind": {"ftp://id.example/logout", nil},
	} {
		s := newScripted(t)
		s.discovery = func(w http.ResponseWriter, _ *http.Request) {
			about := s.about()
			if text, ok := tc.endpoint.(string); ok {
				if text[0] == '/' {
					text = s.server.URL + text
				}
				about["end_session_endpoint"] = text
			}
			answer(w, about)
		}
		p := oidc.New(s.config())
		if _, err := s.signIn(p); err != nil {
			t.Errorf("%s: signing in: %v", name, err)
		}
		got := p.SignOut(t.Context(), back)
		if tc.want == nil {
			if got != "" {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		u, err := url.Parse(got)
		if err != nil || u.Path != "/logout" || u.Query().Encode() != tc.want.Encode() {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// A provider that is away keeps nobody from signing out here.
func TestS4SignOutWhileTheProviderIsAway(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.discovery = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	if got := oidc.New(s.config()).SignOut(t.Context(), "https://lineshaft.example/login"); got != "" {
		t.Error(got)
	}
}
