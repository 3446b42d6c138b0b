package web_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/web"
)

// provider is an identity provider that believes everyone who brings back their ticket.
type provider struct {
	who      lineshaft.Identity
	begin    error
	finish   error
	began    int
	finished []string
	// signOut is where people sign out; back is where they were to come back to.
	signOut string
	back    []string
}

func (p *provider) SignOut(_ context.Context, back string) string {
	p.back = append(p.back, back)
	return p.signOut
}

func (p *provider) Name() string { return `Example <b>ID</b>` }

func (p *provider) Begin(context.Context) (address, ticket string, err error) {
	p.began++
	return "/elsewhere?state=s" + fmt.Sprint(p.began), fmt.Sprintf("ticket-%d", p.began), p.begin
}

func (p *provider) Finish(_ context.Context, ticket string, answer url.Values) (lineshaft.Identity, error) {
	p.finished = append(p.finished, ticket+" "+answer.Get("code"))
	if ticket == "" {
		return lineshaft.Identity{}, &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired, Message: "not the one that began; sign in again"}
	}
	return p.who, p.finish
}

func TestS4SignInAtAnIdentityProvider(t *testing.T) {
	t.Parallel()
	there := &provider{who: lineshaft.Identity{Issuer: "https://id.example", Subject: "1", Name: "Ada <i>L</i>", Role: lineshaft.RoleViewer}}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Identity = there })
	_, _, text := s.get("/login?next=/runs?q=%22a,b%22")
	if !strings.Contains(text, "Sign in with <bdi>Example &lt;b&gt;ID&lt;/b&gt;</bdi>") || !strings.Contains(text, `name="key"`) || !strings.Contains(text, `href="/login/oidc?next=%2fruns%3fq%3d%22a%2cb%22"`) {
		t.Errorf("the page has no way there: %s", text)
	}
	if _, at, _ := s.get("/login/oidc?next=" + url.QueryEscape(`/runs?q="a,b"`)); at != "/elsewhere?state=s1" {
		t.Fatalf("began at %s", at)
	}
	if _, at, text := s.get("/login/oidc/callback?code=c&state=s1"); at != `/runs?q="a,b"` || !strings.Contains(text, "Ada &lt;i&gt;L&lt;/i&gt;") {
		t.Errorf("came back to %s", at)
	}
	if there.finished[0] != "ticket-1 c" {
		t.Errorf("finished with %v", there.finished)
	}
	// The ticket is gone with the first answer; the session stays.
	if status, _, text := s.get("/login/oidc/callback?code=c&state=s1"); status != http.StatusUnauthorized || !strings.Contains(text, "Not the one that began; sign in again.") {
		t.Errorf("the same answer again: %d", status)
	}
	if _, at, _ := s.get("/runs"); at != "/runs" {
		t.Errorf("signed out: at %s", at)
	}
	// Roles hold: a viewer has no settings.
	if status, _, _ := s.get("/settings"); status != http.StatusForbidden {
		t.Errorf("settings of a viewer: %d", status)
	}
}

func TestS4AnotherBrowserCannotFinishASignIn(t *testing.T) {
	t.Parallel()
	there := &provider{who: lineshaft.Identity{Issuer: "i", Subject: "1", Role: lineshaft.RoleAdmin}}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Identity = there })
	s.get("/login/oidc")
	victim := s.stranger()
	if status, _, _ := victim.get("/login/oidc/callback?code=attackers&state=s1"); status != http.StatusUnauthorized {
		t.Errorf("the answer of another browser: %d", status)
	}
	if _, at, _ := victim.get("/runs"); !strings.HasPrefix(at, "/login") {
		t.Errorf("the victim is signed in at %s", at)
	}
}

func TestS4SignInElsewhereLeadsBackHereOnly(t *testing.T) {
	t.Parallel()
	there := &provider{who: lineshaft.Identity{Issuer: "i", Subject: "1", Role: lineshaft.RoleViewer}}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Identity = there })
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)", "", "/" + strings.Repeat("x", 5000)} {
		s.get("/login/oidc?next=" + url.QueryEscape(next))
		if _, at, _ := s.get("/login/oidc/callback?code=c"); at != "/" {
			t.Errorf("next=%.30s led to %.30s", next, at)
		}
	}
	// A cookie that someone has changed does not lead away either.
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	s.browser.Jar.SetCookies(at, []*http.Cookie{{Name: "lineshaft_ticket", Value: "t|aHR0cHM6Ly9ldmlsLmV4YW1wbGU", Path: "/"}})
	if _, at, _ := s.get("/login/oidc/callback?code=c"); at != "/" {
		t.Errorf("led to %s", at)
	}
}

func TestS4SignInElsewhereThatFails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	there := &provider{}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Identity, d.Logger = there, slog.New(slog.NewTextHandler(&log, nil)) })
	for _, tc := range []struct {
		begin, finish error
		who           lineshaft.Role
		status        int
		text          string
	}{
		{begin: &lineshaft.Error{Code: lineshaft.CodeUnavailable, Message: "away; try later"}, status: http.StatusServiceUnavailable, text: "Away; try later."},
		{finish: &lineshaft.Error{Code: lineshaft.CodeNotAuthorized, Message: "no role; ask an admin"}, status: http.StatusForbidden, text: "No role; ask an admin."},
		{finish: &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired, Message: "refused", Cause: context.Canceled}, status: http.StatusUnauthorized, text: "Refused."},
		{who: lineshaft.RoleWorker, status: http.StatusForbidden, text: "has no role here"},
	} {
		there.begin, there.finish, there.who = tc.begin, tc.finish, lineshaft.Identity{Issuer: "i", Subject: "1", Role: tc.who}
		status, _, text := s.get("/login/oidc?next=/runs")
		if tc.begin == nil {
			status, _, text = s.get("/login/oidc/callback?code=SECRETCODE&state=x")
		}
		if status != tc.status || !strings.Contains(text, tc.text) || !strings.Contains(text, `value="/runs"`) || strings.Contains(text, "SECRETCODE") {
			t.Errorf("%v %v: %d %s", tc.begin, tc.finish, status, text)
		}
	}
	if strings.Contains(log.String(), "SECRETCODE") || strings.Contains(log.String(), "ticket-") || !strings.Contains(log.String(), "context canceled") {
		t.Errorf("log: %s", log.String())
	}
}

func TestS4OtherSitesDoNotBeginASignIn(t *testing.T) {
	t.Parallel()
	there := &provider{}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Identity = there })
	if _, at, _ := s.do(http.MethodGet, "/login/oidc", nil, map[string]string{"Sec-Fetch-Site": "cross-site"}); at != "/login" || there.began != 0 {
		t.Errorf("at %s, began %d", at, there.began)
	}
	plain := newSite(t)
	for _, path := range []string{"/login/oidc", "/login/oidc/callback?code=x"} {
		if _, at, text := plain.get(path); at != "/login" || strings.Contains(text, "Sign in with") {
			t.Errorf("%s without a provider: at %s", path, at)
		}
	}
}

func TestS4CookiesOnHTTPS(t *testing.T) {
	t.Parallel()
	there := &provider{who: lineshaft.Identity{Issuer: "i", Subject: "1", Role: lineshaft.RoleViewer}}
	s := newSite(t).withDeps(func(d *web.Deps) { d.Secure, d.Identity = true, there })
	s.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, form := range map[string]url.Values{"/login": {"key": {s.key}}, "/login/oidc": nil, "/login/oidc/callback": nil} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
		if form != nil {
			req, err = http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(form.Encode()))
		}
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Cookie", "__Host-lineshaft_ticket=t|")
		res, err := s.browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if len(res.Cookies()) == 0 {
			t.Errorf("%s sets no cookie", path)
		}
		for _, cookie := range res.Cookies() {
			if !strings.HasPrefix(cookie.Name, "__Host-") || !cookie.Secure || !cookie.HttpOnly || cookie.Path != "/" || cookie.Domain != "" || cookie.SameSite != http.SameSiteLaxMode {
				t.Errorf("%s: %+v", path, cookie)
			}
			if strings.Contains(cookie.Name, "session") && path == "/login/oidc/callback" && cookie.MaxAge != 12*3600 {
				t.Errorf("the session of a provider lives %d s", cookie.MaxAge)
			}
		}
	}
}

func TestS4WrongKeysAreSlowedDownByAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t).withDeps(func(d *web.Deps) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	try := func(address, key string) (int, string) {
		status, _, text := s.stranger().do(http.MethodPost, "/login", url.Values{"key": {key}, "next": {"/runs"}}, map[string]string{"X-Forwarded-For": address})
		return status, text
	}
	for range 10 {
		if status, _ := try("192.0.2.1", s.key); status != http.StatusOK { // right keys do not count
			t.Fatalf("right key: %d", status)
		}
	}
	for i := range 10 {
		if status, _ := try("192.0.2.1", "ls_wrong"); status != http.StatusUnauthorized {
			t.Fatalf("wrong key %d: %d", i, status)
		}
	}
	for _, key := range []string{"ls_wrong", s.key} {
		if status, text := try("192.0.2.1", key); status != http.StatusTooManyRequests || !strings.Contains(text, "Too many wrong keys came from your address. Wait ") {
			t.Errorf("after ten: %d", status)
		}
	}
	if status, _ := try("192.0.2.2", s.key); status != http.StatusOK {
		t.Errorf("another address: %d", status)
	}
	for i := range 11 { // one network of IPv6 is one visitor
		want := http.StatusUnauthorized
		if i == 10 {
			want = http.StatusTooManyRequests
		}
		if status, _ := try(fmt.Sprintf("2001:db8::%d", i), "ls_wrong"); status != want {
			t.Errorf("IPv6, %d: %d", i, status)
		}
	}
}

// What a stranger says of its address counts for nothing.
func TestS4OnlyTrustedProxiesNameTheAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 11 {
		status, _, _ := s.do(http.MethodPost, "/login", url.Values{"key": {"ls_wrong"}}, map[string]string{"X-Forwarded-For": fmt.Sprintf("192.0.2.%d", i)})
		if want := i == 10; (status == http.StatusTooManyRequests) != want {
			t.Errorf("try %d: %d", i, status)
		}
	}
}

func TestS4WorkersCannotSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, key, err := s.control.CreateAPIKey(t.Context(), s.admin, access.NewAPIKey{Name: "w", Role: lineshaft.RoleWorker, WorkerIDs: []string{"box"}})
	if err != nil {
		t.Fatal(err)
	}
	if status, _, text := s.post("/login", url.Values{"key": {key}}); status != http.StatusForbidden || !strings.Contains(text, "Sign in with the key of a person") {
		t.Errorf("%d", status)
	}
}
