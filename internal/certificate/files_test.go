package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
)

// makePair makes a certificate for a host with a life, and its key.
func makePair(t *testing.T, host string, from, until time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func TestH12FilesKeepWhatWorks(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	certFile, keyFile := filepath.Join(t.TempDir(), "c.pem"), filepath.Join(t.TempDir(), "k.pem")
	write := func(cert, key []byte) {
		t.Helper()
		must(t, os.WriteFile(certFile, cert, 0o600))
		must(t, os.WriteFile(keyFile, key, 0o600))
	}
	year := time.Now().AddDate(1, 0, 0)
	cert, key := makePair(t, "first.test", time.Now().Add(-time.Hour), year)
	newCert, newKey := makePair(t, "second.test", time.Now().Add(-time.Hour), year)
	write(cert, key[:20])
	if _, err := OpenFiles(certFile, keyFile, slog.New(slog.DiscardHandler)); err == nil {
		t.Fatal("half a key is good enough for a start")
	}
	write(cert, key)
	f, err := OpenFiles(certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	for name, bad := range map[string][2][]byte{
		"half a certificate": {newCert[:len(newCert)/2], newKey}, "another's key": {newCert, key}, "empty": {nil, nil}, "no PEM": {[]byte("hello"), newKey},
	} {
		log.Reset()
		write(bad[0], bad[1])
		f.look(t.Context(), false)
		f.look(t.Context(), false) // told once
		if s := f.Status()[0]; s.Name != "first.test" || s.Problem == "" || s.Detail == "" || strings.Count(log.String(), "the old one stays") != 1 {
			t.Errorf("%s: %+v, logged %s", name, s, &log)
		}
	}
	must(t, os.Remove(certFile))
	must(t, syscall.Mkfifo(certFile, 0o600)) // nobody will ever write to it
	if f.look(t.Context(), true); f.Status()[0].Problem == "" {
		t.Error("a pipe is read as a certificate")
	}
	must(t, os.Remove(certFile))
	must(t, os.Remove(keyFile))
	f.look(t.Context(), false)
	if s := f.Status()[0]; s.Name != "first.test" || !strings.Contains(s.Detail, "no such file") {
		t.Errorf("without a key: %+v", s)
	}
	write(newCert, newKey)
	f.look(t.Context(), false)
	if s := f.Status()[0]; s.Name != "second.test" || s.Problem != "" || !s.Until.Equal(year.Truncate(time.Second)) {
		t.Errorf("the new one: %+v", s)
	}
}

func TestH12FilesSayWhenTheyEnd(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		age, left time.Duration
		want      string
	}{
		"fresh": {day, 89 * day, ""}, "a week left": {84 * day, 6 * day, "it must be replaced soon"}, "ended": {90 * day, -time.Minute, "the certificate has ended"},
		"of a day, fresh": {time.Hour, 23 * time.Hour, ""}, "of a day, late": {20 * time.Hour, 4 * time.Hour, "it must be replaced soon"},
	} {
		dir := t.TempDir()
		cert, key := makePair(t, "a.test", time.Now().Add(-test.age), time.Now().Add(test.left))
		must(t, os.WriteFile(filepath.Join(dir, "c"), cert, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "k"), key, 0o600))
		f, err := OpenFiles(filepath.Join(dir, "c"), filepath.Join(dir, "k"), slog.New(slog.DiscardHandler))
		must(t, err)
		if got := f.Status()[0].Problem; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestLoggerWritesDetails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	quiet := newLogger(slog.New(slog.NewTextHandler(&log, nil)))
	quiet.Error("not for an operator", zap.String("a", "b"))
	if log.Len() > 0 {
		t.Errorf("without debug: %s", &log)
	}
	loud := newLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	loud.With(zap.Int("n", 1)).Warn("a step", zap.String("a", "b"))
	for _, word := range []string{"level=DEBUG", "msg=acme", `step="a step"`, "n=1", "a=b", "level_there=warn"} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("%s is not in %s", word, &log)
		}
	}
	must(t, loud.Sync())
}
