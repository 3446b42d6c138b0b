package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often the files are compared with what was read. Reading a few
// kilobytes costs less than a watch, and sees every way in which files are replaced.
const lookEvery = time.Second

// endsSoon is how long before its end a certificate needs attention that somebody else
// has to replace; for those with a short life it is a quarter of that.
const endsSoon = 7 * 24 * time.Hour

// Files is a certificate and its key in two PEM files.
type Files struct {
	certFile, keyFile string
	log               *slog.Logger
	again             chan struct{}

	mu      sync.Mutex
	current *tls.Certificate
	// seen is what was read last, whether it could be used or not.
	seen pair
	// fault is why it could not be used; nil when it is the current one.
	fault error
}

// pair is the text of both files, or why it could not be read.
type pair struct {
	cert, key []byte
	err       string
}

func (p pair) equal(other pair) bool {
	return p.err == other.err && bytes.Equal(p.cert, other.cert) && bytes.Equal(p.key, other.key)
}

// OpenFiles reads a certificate and its key, which must be good at the start.
func OpenFiles(certFile, keyFile string, log *slog.Logger) (*Files, error) {
	f := &Files{certFile: certFile, keyFile: keyFile, log: log, again: make(chan struct{}, 1)}
	f.seen = f.read()
	var err error
	f.current, err = parsePair(f.seen)
	return f, err
}

// TLS is what a listener needs.
func (f *Files) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.current, nil
	}}
}

// Run reads the files again when they change, until ctx ends.
func (f *Files) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-f.again:
			asked = true
		}
		f.look(ctx, asked)
	}
}

// Reload has the files read again and the outcome logged, whether they changed or not.
func (f *Files) Reload() {
	select {
	case f.again <- struct{}{}:
	default: // it is about to be done
	}
}

// Status says how the certificate stands that is served.
func (f *Files) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := f.certFile
	if names := f.current.Leaf.DNSNames; len(names) > 0 {
		name = names[0]
	}
	s, life := newStatus(name, f.current.Leaf), f.current.Leaf.NotAfter.Sub(f.current.Leaf.NotBefore)
	if s.Problem == "" && time.Until(s.Until) < min(endsSoon, life/4) {
		s.Problem = "it must be replaced soon"
	}
	if f.fault != nil {
		s.Problem, s.Detail = "the new certificate cannot be used", f.fault.Error()
	}
	return []Status{s}
}

// look takes what the files hold if it is new and whole, and keeps the old certificate
// otherwise: somebody may be writing them just now.
func (f *Files) look(ctx context.Context, asked bool) {
	found := f.read()
	f.mu.Lock()
	defer f.mu.Unlock()
	if found.equal(f.seen) && !asked {
		return
	}
	f.seen = found
	fresh, err := parsePair(found)
	f.fault = err
	if err != nil {
		f.log.WarnContext(ctx, "the new certificate cannot be used, the old one stays; write the complete certificate and key, they are read again at once",
			"tls_cert", f.certFile, "tls_key", f.keyFile, "until", f.current.Leaf.NotAfter, "err", err)
		return
	}
	f.current = fresh
	f.log.InfoContext(ctx, "certificate read", "tls_cert", f.certFile, "until", fresh.Leaf.NotAfter)
}

func (f *Files) read() pair {
	cert, certErr := readRegular(f.certFile)
	key, keyErr := readRegular(f.keyFile)
	if err := errors.Join(certErr, keyErr); err != nil {
		return pair{err: err.Error()}
	}
	return pair{cert: cert, key: key}
}

// readRegular reads a file that is one: opening a pipe would wait for its writer.
func readRegular(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; put the certificate itself there", name)
	}
	return os.ReadFile(name)
}

func parsePair(p pair) (*tls.Certificate, error) {
	if p.err != "" {
		return nil, errors.New(p.err)
	}
	cert, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	return &cert, nil
}
