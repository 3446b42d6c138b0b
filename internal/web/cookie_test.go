package web_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/web"
)

// Behind a proxy that ends TLS, cookies are for HTTPS though the server's own address is
// not; nobody but a trusted proxy can say so.
func TestS4CookiesBehindAProxyAreSecure(t *testing.T) {
	t.Parallel()
	for trusted, want := range map[string]bool{"127.0.0.0/8": true, "10.0.0.0/8": false} {
		s := newSite(t).withDeps(func(d *web.Deps) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(trusted)} })
		s.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/login", strings.NewReader(url.Values{"key": {s.key}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("X-Forwarded-Proto", "https")
		res, err := s.browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		cookies := res.Cookies()
		if len(cookies) != 1 || cookies[0].Secure != want || strings.HasPrefix(cookies[0].Name, "__Host-") != want {
			t.Errorf("trusting %s: %+v", trusted, cookies)
		}
	}
}
