package certificate

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3/acme"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// newTestACME asks a CA that is not there.
func newTestACME(t *testing.T, s *store.Store) *ACME {
	t.Helper()
	m, err := NewACME(Config{
		Domains: []string{"a.test", "b.test"}, Directory: "https://127.0.0.1:1/dir", Store: s, Vault: testVault(t, "k"), Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	return m
}

func TestH12PlaceholderForOurNamesOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTestACME(t, s)
		t.Cleanup(m.cache.Stop)
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.TLS = m.TLS()
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
		server.StartTLS()
		t.Cleanup(server.Close)
		for name, want := range map[string]bool{"": true, "a.test": true, "B.test": true, "elsewhere.test": false} {
			dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: name}}
			conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if (err == nil) != want {
				t.Errorf("%q: %v", name, err)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	})
}

func TestH12FaultsAreToldApart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTestACME(t, s)
		t.Cleanup(m.cache.Stop)
		away := fmt.Errorf("wrapped: %w", &url.Error{Op: "Get", URL: "https://ca", Err: io.EOF})
		refused := fmt.Errorf("wrapped: %w", acme.Problem{Type: "unauthorized", Detail: "no"})
		ended := map[string]error{}
		attempt := func(name string) context.Context {
			return context.WithValue(t.Context(), endKey{}, context.CancelCauseFunc(func(err error) { ended[name] = err }))
		}
		problems := func() (found [2]string) {
			for i, status := range m.Status() {
				found[i] = status.Problem
			}
			return found
		}
		event := func(ctx context.Context, event, name string, err error) {
			must(t, m.onEvent(ctx, event, map[string]any{"identifier": name, "error": err, "sans": []string{name}}))
		}
		if got := problems(); got != [2]string{"the CA was asked for a certificate", "the CA was asked for a certificate"} {
			t.Errorf("at first: %q", got)
		}
		event(attempt("a.test"), "cert_failed", "a.test", away)
		if !errors.Is(ended["a.test"], io.EOF) {
			t.Error("certmagic waits a minute for a CA that cannot be reached")
		}
		event(attempt("b.test"), "cert_failed", "b.test", refused)
		if got := problems(); ended["b.test"] != nil || got[1] != "the CA gives no certificate" {
			t.Errorf("a CA that has refused is asked again at once, or %q", got)
		}
		m.Reload()
		if !errors.Is(ended["b.test"], errAgain) {
			t.Error("a hang-up makes no attempt")
		}
		event(t.Context(), "cert_failed", "a.test", away) // of a renewal
		if got := problems(); got[0] != "the CA cannot be reached" {
			t.Errorf("a failed renewal: %q", got)
		}
		event(t.Context(), "cert_obtained", "a.test", nil)
		event(t.Context(), "cached_managed_cert", "b.test", nil) // another node got it
		if got := problems(); got != [2]string{"the CA was asked for a certificate", "the CA was asked for a certificate"} {
			t.Errorf("after success: %q", got)
		}
		event(attempt("b.test"), "cert_obtaining", "b.test", nil)
		if len(m.waiting) != 0 {
			t.Error("an attempt that is made waits for the next one")
		}
	})
}

// warnings holds the first lines of a log, as many as it has room for.
type warnings chan string

func (w warnings) Write(line []byte) (int, error) {
	select {
	case w <- string(line):
	default:
	}
	return len(line), nil
}

func TestH12RunStopsWhileTheCAIsDown(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTestACME(t, s)
		m.cfg.Domains = m.cfg.Domains[:1]
		logged := make(warnings, 1)
		m.cfg.Logger = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); m.Run(ctx) }()
		<-logged
		if got := m.Status(); got[0].Problem != "the CA cannot be reached" || got[0].Detail == "" {
			t.Errorf("status %+v", got)
		}
		m.Reload()
		cancel()
		<-over
	})
}

func TestH12LooksAtACA(t *testing.T) {
	t.Parallel()
	ca := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"newNonce": "x", "newAccount": "x", "newOrder": "x"}`)
	}))
	ca.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	t.Cleanup(ca.Close)
	if err := Reach(t.Context(), ca.URL, nil); err == nil {
		t.Error("a CA that nobody vouches for is reached")
	}
	file := filepath.Join(t.TempDir(), "root.pem")
	if _, err := ReadRoots(file); err == nil {
		t.Error("roots of a file that is not there")
	}
	must(t, os.WriteFile(file, []byte("no PEM"), 0o600))
	if _, err := ReadRoots(file); err == nil || !strings.Contains(err.Error(), "acme-ca-root") {
		t.Errorf("roots of no PEM: %v", err)
	}
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate().Raw}), 0o600))
	roots, err := ReadRoots(file)
	must(t, err)
	if err := Reach(t.Context(), ca.URL, roots); err != nil {
		t.Error(err)
	}
}

func TestH12StoredCertificates(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s, directory := testStorage(t, db), "https://ca.test/dir"
		until := time.Now().Add(time.Hour).Truncate(time.Second)
		cert, _ := makePair(t, "a.test", time.Now(), until)
		issuer := (&certmagic.ACMEIssuer{CA: directory}).IssuerKey()
		must(t, s.Store(t.Context(), certmagic.StorageKeys.SiteCert(issuer, "a.test"), cert))
		got, err := Stored(t.Context(), db, s.vault, directory, []string{"a.test", "b.test"})
		if err != nil || len(got) != 2 || !got[0].Until.Equal(until) || !got[1].Until.IsZero() {
			t.Errorf("stored: %+v, %v", got, err)
		}
		must(t, s.Store(t.Context(), certmagic.StorageKeys.SiteCert(issuer, "b.test"), []byte("no PEM")))
		if _, err := Stored(t.Context(), db, s.vault, directory, []string{"b.test"}); err == nil {
			t.Error("a damaged certificate is good")
		}
	})
}
