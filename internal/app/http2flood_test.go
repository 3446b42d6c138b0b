package app_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/config"
)

// certified gives a server a certificate of its own.
func certified(t *testing.T, cfg config.Config) config.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg.TLSCert, cfg.TLSKey = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{cfg.TLSCert: {Type: "CERTIFICATE", Bytes: cert}, cfg.TLSKey: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// The frames of HTTP/2 that floods are made of.
const (
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	frameContinuation = 9
)

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	head = append(head, kind, flags)
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// speakHTTP2 opens a connection and greets.
func speakHTTP2(t *testing.T, host string) net.Conn {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	if _, err := conn.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(frameSettings, 0, 0, nil)...)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestH12FloodsOfHTTP2AreCutOff opens and resets streams without end, and sends headers
// that never end: the server cuts them off and serves others.
func TestH12FloodsOfHTTP2AreCutOff(t *testing.T) {
	t.Parallel()
	a := start(t, certified(t, settings(t)), options(t, nil))
	host := strings.TrimPrefix(a.URL(), "https://")
	request := []byte{0x82, 0x87, 0x84, 0x41, 1, 'x'} // GET https / at x, by the static table
	resets := bufio.NewWriter(speakHTTP2(t, host))
	for stream := uint32(1); stream < 40_000; stream += 2 {
		_, _ = resets.Write(frame(frameHeaders, 0x5, stream, request))
		if _, err := resets.Write(frame(frameReset, 0, stream, []byte{0, 0, 0, 8})); err != nil {
			break // cut off
		}
	}
	_ = resets.Flush()

	endless := speakHTTP2(t, host)
	_, _ = endless.Write(frame(frameHeaders, 0x1, 1, request))
	field := append([]byte{0, 1, 'a', 127, 0x81, 0x77}, bytes.Repeat([]byte{'v'}, 15_000)...) // a literal that is not kept
	sent := 0
	for ; sent < 64<<20; sent += len(field) {
		if _, err := endless.Write(frame(frameContinuation, 0, 1, field)); err != nil {
			break
		}
	}
	if sent >= 64<<20 {
		t.Error("headers without end were read to the last")
	}

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		t.Errorf("%s over %s", answer.Status, answer.Proto)
	}
	if n := runtime.NumGoroutine(); n > 5000 {
		t.Errorf("%d goroutines are left of 20,000 streams", n)
	}
}

// TestH12OldTLSIsRefused wants TLS 1.2 at least.
func TestH12OldTLSIsRefused(t *testing.T) {
	t.Parallel()
	a := start(t, certified(t, settings(t)), options(t, nil))
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}
	if conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(a.URL(), "https://")); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 was taken")
	}
}
