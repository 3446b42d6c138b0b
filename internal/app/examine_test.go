package app_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// page reads a page of a running server as its admin.
func page(t *testing.T, base, key, path string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	res, err := browser.PostForm(base+"/login", url.Values{"key": {key}, "next": {path}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return string(text)
}

// The checks of a running server neither open its database again nor try its port.
func TestI2DoctorOfARunningServer(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.NotFoundHandler())
	defer provider.Close()
	cfg := settings(t)
	cfg.AdminKey = "ls_admin_key_of_this_very_test"
	cfg.OIDCIssuer, cfg.OIDCClientID, cfg.OIDCDefaultRole, cfg.OIDCAllowPrivate, cfg.OIDCClientSecret = provider.URL, "x", "viewer", true, "a-client-secret-of-this-test"
	a, err := app.Start(t.Context(), cfg, options(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	text := page(t, a.URL(), cfg.AdminKey.Reveal(), "/settings/doctor")
	for _, want := range []string{"sqlite answers, schema is current", "with 0 secrets under it", "not late, 0 waiting", "check --oidc-issuer", "set, not shown", "single sign-on"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, secret := range []string{cfg.AdminKey.Reveal(), "a-client-secret-of-this-test", "in use by a running server", "address already in use"} {
		if strings.Contains(text, secret) {
			t.Errorf("the page has %q", secret)
		}
	}
}

func TestS4DoctorAsksTheIdentityProvider(t *testing.T) {
	t.Parallel()
	var provider *httptest.Server
	provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(`{"issuer":"@","authorization_endpoint":"@/a","token_endpoint":"@/t","jwks_uri":"@/j"}`, "@", provider.URL))
	}))
	defer provider.Close()
	cfg := settings(t)
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "sign-in"); c.State != config.CheckOK {
		t.Errorf("without a provider: %+v", c)
	}
	cfg.OIDCIssuer, cfg.OIDCClientID, cfg.OIDCDefaultRole, cfg.OIDCAllowPrivate = provider.URL, "x", "viewer", true
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "sign-in"); c.State != config.CheckOK || !strings.Contains(c.Detail, provider.URL) {
		t.Errorf("%+v", c)
	}
	cfg.OIDCAllowPrivate = false
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "sign-in"); c.State != config.CheckProblem || !strings.Contains(c.Detail, "--oidc-allow-private") {
		t.Errorf("%+v", c)
	}
}

// Cookies and links behind a proxy are for the address that people use.
func TestS4DoctorAsksForTheAddressOfTheProxy(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for base, want := range map[string]config.CheckState{"": config.CheckWarning, "http://a.example": config.CheckWarning, "https://a.example": config.CheckOK} {
		cfg.BaseURL = base
		if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "address"); c.State != want {
			t.Errorf("%q: %+v", base, c)
		}
	}
}
