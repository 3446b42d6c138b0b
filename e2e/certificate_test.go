package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// servedCertificate is what a node shows to everyone.
func servedCertificate(ctx context.Context, n *node) *x509.Certificate {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", n.address())
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	secure, _ := conn.(*tls.Conn)
	return secure.ConnectionState().PeerCertificates[0]
}

// TestH12FilesAreReadAgain replaces the files of a server that runs: whole, by halves
// and mismatched, with a hang-up and without.
func TestH12FilesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, cert, key, "first.test")
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker", "--tls-cert", cert, "--tls-key", key)
	n.launch()
	serves := func(name string) func() bool {
		return func() bool {
			leaf := servedCertificate(t.Context(), n)
			return leaf != nil && leaf.Subject.CommonName == name
		}
	}
	replace := func(file string, text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the first certificate is served", serves("first.test"))

	newCert, newKey := newPair(t, "second.test")
	replace(cert, newCert[:len(newCert)/2])
	eventually(t, "half a certificate is logged", func() bool { return strings.Contains(n.log.tail(4000), "cannot be used, the old one stays") })
	if !serves("first.test")() {
		t.Error("half a file took the certificate away")
	}
	replace(cert, newCert) // the key is still the old one's
	eventually(t, "a mismatch is logged", func() bool { return strings.Contains(n.log.tail(4000), "private key does not match public key") })
	if !serves("first.test")() {
		t.Error("a key that does not fit took the certificate away")
	}
	if said := doctor(t, n); !strings.Contains(said, "private key does not match") {
		t.Errorf("doctor: %s", said)
	}
	replace(key, newKey)
	eventually(t, "the second certificate is served", serves("second.test"))

	hangUp(t, n)
	eventually(t, "a hang-up reads them again", func() bool { return strings.Count(n.log.tail(8000), `"certificate read"`) == 2 })
	if !serves("second.test")() {
		t.Error("a hang-up took the certificate away")
	}
}

func hangUp(t *testing.T, n *node) {
	t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// TestH12HangupNeverEndsAServer sends hang-ups to a server without a certificate, while
// it starts and after that.
func TestH12HangupNeverEndsAServer(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nkill -HUP $PPID\nkill -HUP $PPID\necho "+masterKey+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker", "--master-key-command", script)
	n.extraEnv = []string{"LINESHAFT_MASTER_KEY="}
	n.start(t.Context())
	heard := func(times int) func() bool {
		return func() bool { return strings.Count(n.log.tail(8000), "SIGHUP: this server speaks plain HTTP") == times }
	}
	eventually(t, "the hang-up of the start is heard", heard(1))
	hangUp(t, n)
	eventually(t, "a hang-up is heard", heard(2))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := browser().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	n.stop()
}
