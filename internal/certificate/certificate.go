// Package certificate gives the server's listener its certificates: from two files
// that are read again when they change, or from a CA that speaks ACME. It is for the
// assembly of the server alone, which asks it for a TLS configuration and for how the
// certificates stand.
//
// Neither source ever takes a certificate away that still works: what cannot be read
// or renewed is reported by Status, logged, and tried again.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// Status is how one certificate stands.
type Status struct {
	// Name is the host name, or the file of a certificate that names none.
	Name string
	// Until is when it ends; zero while there is none.
	Until time.Time
	// Problem is empty when all is well; otherwise a short word that everybody may see.
	Problem string
	// Detail is the cause, for the operator.
	Detail string
}

// newStatus says of a certificate when it ends, and whether that is over.
func newStatus(name string, leaf *x509.Certificate) Status {
	s := Status{Name: name}
	if leaf == nil {
		return s
	}
	s.Until = leaf.NotAfter
	if time.Now().After(s.Until) {
		s.Problem = "the certificate has ended"
	}
	return s
}

// newPlaceholder makes a certificate that nobody trusts and that names no host.
func newPlaceholder() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make placeholder key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Lineshaft has no certificate yet"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make placeholder: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
