package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/vault"
)

// Config is what ACME needs.
type Config struct {
	// Domains are the host names in small letters; the first one is for clients that name none.
	Domains []string
	// Directory is the URL of the CA.
	Directory string
	Email     string
	// Roots are what the CA's own address is trusted by; nil is the machine's.
	Roots *x509.CertPool
	// Host is the address that this server listens on, TLSPort where it speaks HTTPS,
	// HTTPPort where Challenges is served; 0 if nowhere.
	Host              string
	TLSPort, HTTPPort int
	Store             *store.Store
	Vault             *vault.Vault
	Logger            *slog.Logger
}

// ACME gets certificates from a CA, one for each name, and renews them. All nodes of
// a database share them, and ask for each of them once. Run does the work; the rest may
// be called at any time.
type ACME struct {
	cfg         Config
	cache       *certmagic.Cache
	magic       *certmagic.Config
	issuer      *certmagic.ACMEIssuer
	placeholder *tls.Certificate

	mu     sync.Mutex
	faults map[string]error
	// waiting ends the wait of certmagic between two attempts for a name.
	waiting map[string]context.CancelCauseFunc
	// again is closed and replaced when somebody wants all attempts to be made now.
	again chan struct{}
	// fresh says that there is a certificate whose life is not known to renew yet.
	fresh chan struct{}
}

// NewACME prepares everything and asks for nothing yet.
func NewACME(cfg Config) (*ACME, error) {
	m := &ACME{cfg: cfg, faults: map[string]error{}, waiting: map[string]context.CancelCauseFunc{}, again: make(chan struct{}), fresh: make(chan struct{}, len(cfg.Domains))}
	var err error
	if m.placeholder, err = newPlaceholder(); err != nil {
		return nil, err
	}
	log := newLogger(cfg.Logger)
	m.cache = certmagic.NewCache(m.options(certmagic.DefaultRenewCheckInterval))
	m.magic = certmagic.New(m.cache, certmagic.Config{
		Storage: newStorage(cfg.Store, cfg.Vault, cfg.Logger), DisableStorageCheck: true, DefaultServerName: cfg.Domains[0], OnEvent: m.onEvent, Logger: log,
		KeySource: certmagic.StandardKeyGenerator{KeyType: certmagic.P256},
		OCSP:      certmagic.OCSPConfig{DisableStapling: true}, // CAs have given it up, and it is a way out that a certificate names
	})
	m.issuer = certmagic.NewACMEIssuer(m.magic, certmagic.ACMEIssuer{
		CA: cfg.Directory, Email: cfg.Email, Agreed: true, TrustedRoots: cfg.Roots, ListenHost: cfg.Host,
		AltHTTPPort: cfg.HTTPPort, AltTLSALPNPort: cfg.TLSPort, DisableHTTPChallenge: cfg.HTTPPort == 0, Logger: log,
	})
	m.magic.Issuers = []certmagic.Issuer{m.issuer}
	return m, nil
}

func (m *ACME) options(every time.Duration) certmagic.CacheOptions {
	return certmagic.CacheOptions{
		GetConfigForCert:   func(certmagic.Certificate) (*certmagic.Config, error) { return m.magic, nil },
		RenewCheckInterval: every, Logger: newLogger(m.cfg.Logger),
	}
}

// TLS is what a listener needs; it also answers the TLS-ALPN challenge.
func (m *ACME) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1", acmez.ACMETLS1Protocol}, GetCertificate: m.certificate}
}

// certificate finds the certificate of a name. While there is none for a name of ours,
// a placeholder that nobody trusts lets those in who do not ask for trust, such as the
// health check of a load balancer.
func (m *ACME) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	cert, err := m.magic.GetCertificate(hello)
	if err != nil && (hello.ServerName == "" || slices.Contains(m.cfg.Domains, strings.ToLower(hello.ServerName))) {
		return m.placeholder, nil
	}
	return cert, err
}

// Challenges answers the HTTP challenges of all nodes, and leaves the rest to next.
func (m *ACME) Challenges(next http.Handler) http.Handler { return m.issuer.HTTPChallengeHandler(next) }

// Status says how the certificate of each name stands.
func (m *ACME) Status() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Status
	for _, name := range m.cfg.Domains {
		s := newStatus(name, newest(m.cache.AllMatchingCertificates(name)))
		switch fault := m.faults[name]; {
		case unreachable(fault):
			s.Problem, s.Detail = "the CA cannot be reached", fault.Error()
		case fault != nil:
			s.Problem, s.Detail = "the CA gives no certificate", fault.Error()
		case s.Until.IsZero():
			s.Problem = "the CA was asked for a certificate"
		}
		all = append(all, s)
	}
	return all
}

func newest(certs []certmagic.Certificate) (leaf *x509.Certificate) {
	for _, cert := range certs {
		if cert.Leaf != nil && (leaf == nil || cert.Leaf.NotAfter.After(leaf.NotAfter)) {
			leaf = cert.Leaf
		}
	}
	return leaf
}

// fail keeps and logs why there is no new certificate.
func (m *ACME) fail(ctx context.Context, name string, err error) {
	m.mu.Lock()
	m.faults[name] = err
	m.mu.Unlock()
	if ctx.Err() != nil {
		return // it is the server that stops
	}
	advice := "see err; most often the name does not lead to this server, at port 80 or 443"
	if unreachable(err) {
		advice = "check --acme-directory and --acme-ca-root, and that this machine reaches the CA"
	}
	m.cfg.Logger.WarnContext(ctx, "no new certificate; this is tried again, and at once on SIGHUP", "name", name, "ca", m.cfg.Directory, "advice", advice, "err", err)
}

func (m *ACME) succeed(names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		delete(m.faults, name)
		delete(m.waiting, name)
	}
}

// unreachable says that the CA has not even answered.
func unreachable(err error) bool {
	var problem acme.Problem
	var request *url.Error
	return !errors.As(err, &problem) && errors.As(err, &request)
}
