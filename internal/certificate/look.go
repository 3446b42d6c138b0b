package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3/acme"

	"github.com/lineshaft/lineshaft/internal/vault"
)

// lookTimeout is what a CA has to answer somebody who only looks.
const lookTimeout = 5 * time.Second

// ReadRoots reads what the CA's own address is trusted by; an empty file name is the
// machine's own roots, nil.
func ReadRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read acme-ca-root: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read acme-ca-root: %s has no certificate (PEM); write the root of your CA there", file)
	}
	return roots, nil
}

// Reach asks a CA for its directory, which costs nothing and changes nothing. The
// operator alone says where it is, so that it may be anywhere.
func Reach(ctx context.Context, directory string, roots *x509.CertPool) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := acme.Client{Directory: directory, HTTPClient: &http.Client{Transport: transport}}
	_, err := client.GetDirectory(ctx)
	return err
}

// Stored says how the certificates stand that nodes have got and keep in a database.
func Stored(ctx context.Context, r reader, v *vault.Vault, directory string, domains []string) ([]Status, error) {
	issuer := (&certmagic.ACMEIssuer{CA: directory}).IssuerKey()
	var all []Status
	for _, name := range domains {
		text, err := load(ctx, r, v, certmagic.StorageKeys.SiteCert(issuer, name))
		if errors.Is(err, fs.ErrNotExist) {
			all = append(all, Status{Name: name})
			continue
		}
		if err != nil {
			return nil, err
		}
		block, _ := pem.Decode(text)
		if block == nil {
			return nil, fmt.Errorf("the certificate of %s is damaged", name)
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the certificate of %s is damaged: %w", name, err)
		}
		all = append(all, newStatus(name, leaf))
	}
	return all, nil
}
