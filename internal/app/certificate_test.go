package app_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// acmeSettings ask a CA that is not there, and answer it at a port of this machine.
func acmeSettings(t *testing.T) (cfg config.Config, challenges net.Listener) {
	t.Helper()
	var l net.Listener
	var err error
	for range 100 { // below the ports that the system gives out: nobody else is given this one once it is closed
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 7_000+rand.IntN(5_000))); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg = settings(t)
	cfg.NoWorker, cfg.ACMEDomains, cfg.ACMEDirectory = true, []string{"Lineshaft.test"}, "https://127.0.0.1:1/dir"
	cfg.ACMEHTTPPort = int(netip.MustParseAddrPort(l.Addr().String()).Port())
	return cfg, l
}

func TestH12TakenChallengePortIsAClearError(t *testing.T) {
	t.Parallel()
	cfg, taken := acmeSettings(t)
	defer func() { _ = taken.Close() }()
	_, err := app.Start(t.Context(), cfg, options(t, nil))
	if err == nil || !strings.Contains(err.Error(), "--acme-http-port") || !strings.Contains(err.Error(), "or set it to 0") {
		t.Errorf("started with %v", err)
	}
}

func TestH12ServerWithoutACA(t *testing.T) {
	t.Parallel()
	cfg, port := acmeSettings(t)
	_ = port.Close()
	a := start(t, cfg, options(t, nil))
	if !strings.HasPrefix(a.URL(), "https://lineshaft.test:") {
		t.Errorf("links begin with %s", a.URL())
	}
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "certificate"); c.State != config.CheckProblem || !strings.Contains(c.Detail, "lineshaft.test has none yet, the CA cannot be reached") || c.Fix == "" {
		t.Errorf("doctor: %+v", c)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	plain := "http://127.0.0.1:" + strconv.Itoa(cfg.ACMEHTTPPort)
	_, own, _ := strings.Cut(strings.TrimPrefix(a.URL(), "https://"), ":")
	for _, test := range []struct {
		method, url string
		status      int
		to          string
	}{
		{http.MethodGet, plain + "/runs?x=1", http.StatusPermanentRedirect, a.URL() + "/runs?x=1"},
		{http.MethodGet, plain + "//evil.example/", http.StatusPermanentRedirect, a.URL() + "//evil.example/"},
		{http.MethodPost, plain + "/api/v1/agent/runs", http.StatusBadRequest, ""},
		{http.MethodGet, plain + "/.well-known/acme-challenge/nobodys", http.StatusPermanentRedirect, a.URL() + "/.well-known/acme-challenge/nobodys"},
		{http.MethodGet, "https://127.0.0.1:" + own + "/readyz", http.StatusOK, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body) // shown in messages only
		_ = res.Body.Close()
		if res.StatusCode != test.status || res.Header.Get("Location") != test.to {
			t.Errorf("%s %s: %d to %q: %s", test.method, test.url, res.StatusCode, res.Header.Get("Location"), body)
		}
	}
}
