package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/web"
)

// signOut sends the form and says where the answer leads and what it says.
func (s *site) signOut() (status int, refresh, at, text string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+"/logout", http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	res, err := s.browser.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var body strings.Builder
	if err := res.Write(&body); err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Refresh"), res.Request.URL.Path, body.String()
}

func (s *site) signInElsewhere() {
	s.Helper()
	s.get("/login/oidc")
	if _, at, _ := s.get("/login/oidc/callback?code=c&state=s"); at != "/" {
		s.Fatalf("signed in at %s", at)
	}
}

func TestS4SigningOutLeadsToTheProvider(t *testing.T) {
	t.Parallel()
	const address = "https://id.example/logout?client_id=lineshaft&post_logout_redirect_uri=x"
	there := &provider{who: lineshaft.Identity{Issuer: "i", Subject: "1", Role: lineshaft.RoleViewer}, signOut: address}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Identity = there })
	s.signInElsewhere()
	token := s.cookieNamed("lineshaft_session")
	status, refresh, at, text := s.signOut()
	if status != http.StatusOK || refresh != "0; url="+address || at != "/logout" || !strings.Contains(text, `href="https://id.example/logout?client_id=lineshaft&amp;`) {
		t.Errorf("%d, %q at %s\n%s", status, refresh, at, content(text))
	}
	if !slices.Equal(there.back, []string{"https://a.example/login"}) {
		t.Errorf("people come back to %v", there.back)
	}
	if _, err := s.control.SessionCaller(t.Context(), token); lineshaft.CodeOf(err) != lineshaft.CodeAuthenticationRequired {
		t.Errorf("the session goes on: %v", err)
	}
	// What comes afterwards does not sign in again on its own.
	if _, at, _ := s.get("/runs"); !strings.HasPrefix(at, "/login?") {
		t.Errorf("signed out, at %s", at)
	}
}

func TestS4SigningOutStaysHere(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		address string
		withKey bool
		asked   int
	}{"with a key": {"https://id.example/logout", true, 0}, "no place to sign out": {"", false, 1}} {
		there := &provider{who: lineshaft.Identity{Issuer: "i", Subject: "1", Role: lineshaft.RoleViewer}, signOut: tc.address}
		s := newSite(t).withDeps(func(d *web.Deps) { d.Identity = there })
		if tc.withKey {
			s.signIn(s.key)
		} else {
			s.signInElsewhere()
		}
		if status, refresh, at, _ := s.signOut(); status != http.StatusOK || refresh != "" || at != "/login" || len(there.back) != tc.asked {
			t.Errorf("%s: %d, %q at %s, asked %v", name, status, refresh, at, there.back)
		}
	}
}

// cookieNamed is what the browser has.
func (s *site) cookieNamed(name string) string {
	s.Helper()
	for _, cookie := range s.browser.Jar.Cookies(must(url.Parse(s.url))) {
		if cookie.Name == name {
			return cookie.Value
		}
	}
	return ""
}

// A role at the provider changes: it counts with the next sign-in, which happens on its own
// when the session's time is over.
func TestS3AChangedRoleCountsWithTheNextSession(t *testing.T) {
	t.Parallel()
	there := &provider{who: lineshaft.Identity{Issuer: "i", Subject: "1", Role: lineshaft.RoleAdmin}}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Identity = there })
	s.signInElsewhere()
	s.shows("/settings")
	there.who.Role = lineshaft.RoleViewer
	s.keep("lineshaft_session", "") // as the browser does when its time is over
	if _, at, _ := s.get("/settings"); at != "/elsewhere?state=s2" {
		t.Fatalf("sent to %s", at)
	}
	status, at, _ := s.get("/login/oidc/callback?code=c&state=s2")
	if status != http.StatusForbidden || at != "/settings" {
		t.Errorf("a viewer has %d at %s", status, at)
	}
}

// A session that someone ended, and a browser that signs in with keys, see the page.
func TestS4NobodyIsSentToTheProviderUnasked(t *testing.T) {
	t.Parallel()
	there := &provider{who: lineshaft.Identity{Issuer: "i", Subject: "1", Role: lineshaft.RoleViewer}}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Identity = there })
	s.signInElsewhere()
	c := must(s.control.SessionCaller(t.Context(), s.cookieNamed("lineshaft_session")))
	if err := s.control.RevokeSession(t.Context(), s.admin, c.SessionID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, at, _ := s.get("/runs"); !strings.HasPrefix(at, "/login?") {
			t.Errorf("after its end: at %s", at)
		}
		s.keep("lineshaft_session", "")
	}
	s.signInElsewhere()
	s.signIn(s.key)
	s.keep("lineshaft_session", "")
	if _, at, _ := s.get("/runs"); !strings.HasPrefix(at, "/login?") {
		t.Errorf("with a key: at %s", at)
	}
	if there.began != 2 {
		t.Errorf("%d sign-ins began", there.began)
	}
}

// The life of a session of the provider is a setting, and what its cookie lives.
func TestS3SessionsOfTheProviderEndInTime(t *testing.T) {
	t.Parallel()
	there := &provider{who: lineshaft.Identity{Issuer: "i", Subject: "1", Role: lineshaft.RoleViewer}}
	life := base.OIDCSessionLife / 4
	s := newSite(t, func(c *base.Config) { c.OIDCSessionLife = life }).withDeps(func(d *web.Deps) { d.Identity = there })
	s.signInElsewhere()
	list := must(s.control.ListSessions(t.Context(), s.admin, true, 10, ""))
	for _, one := range list.Sessions {
		if one.Method == lineshaft.SessionByOIDC && one.ExpiresAt.Sub(one.CreatedAt) != life {
			t.Errorf("it lives %v", one.ExpiresAt.Sub(one.CreatedAt))
		}
	}
}
