package certificate

import (
	"context"
	"crypto/x509"
	"errors"
	"net/url"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3/acme"
)

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
