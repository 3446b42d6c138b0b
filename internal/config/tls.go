package config

import (
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

const (
	// letsEncrypt is the directory of the CA that is asked when nobody names another.
	letsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"
	// maxACMEDomains bounds what a start may ask of a CA.
	maxACMEDomains = 100
)

func tlsFields() []Field {
	return []Field{
		text("tls-cert", "certificate file (PEM); with tls-key the server speaks HTTPS; read again when it changes and on SIGHUP", func(c *Config) *string { return &c.TLSCert }),
		text("tls-key", "private key file (PEM) of the certificate", func(c *Config) *string { return &c.TLSKey }),
		{Name: "acme-domain", Help: "host name of this server to get a certificate for, from a CA that speaks ACME; can be given several times", value: func(c *Config) value { return list(&c.ACMEDomains) }},
		text("acme-directory", "directory URL of the CA", func(c *Config) *string { return &c.ACMEDirectory }),
		text("acme-email", "address that the CA may write to", func(c *Config) *string { return &c.ACMEEmail }),
		text("acme-ca-root", "file (PEM) with the root that the CA's own address is trusted by, for a CA of your own", func(c *Config) *string { return &c.ACMECARoot }),
		{Name: "acme-http-port", Help: "port for the CA's HTTP challenge, which it asks for at port 80; 0 answers at the HTTPS port alone", value: func(c *Config) value { return number(&c.ACMEHTTPPort) }},
	}
}

// TLS says that the server itself speaks HTTPS.
func (c Config) TLS() bool { return c.TLSCert != "" && c.TLSKey != "" || c.ACME() }

// ACME says that certificates come from a CA.
func (c Config) ACME() bool { return len(c.ACMEDomains) > 0 }

func (c Config) checkTLS() []error {
	switch {
	case c.ACME() && (c.TLSCert != "" || c.TLSKey != ""):
		return []error{errors.New("acme-domain and tls-cert: the certificate comes from one place; keep acme-domain, or tls-cert with tls-key")}
	case c.TLSCert != "" && c.TLSKey == "":
		return []error{errors.New("tls-key: the certificate needs its private key; set tls-key, or leave tls-cert out")}
	case c.TLSCert == "" && c.TLSKey != "":
		return []error{errors.New("tls-cert: the private key needs its certificate; set tls-cert, or leave tls-key out")}
	case !c.ACME() && (c.ACMEEmail != "" || c.ACMECARoot != "" || c.ACMEDirectory != letsEncrypt):
		return []error{errors.New("acme-domain: settings for certificates from a CA are given, but no host name; set acme-domain")}
	case c.ACME():
		return c.checkACME()
	}
	return nil
}

func (c Config) checkACME() []error {
	var errs []error
	if len(c.ACMEDomains) > maxACMEDomains {
		errs = append(errs, fmt.Errorf("acme-domain: %d names are more than %d; leave some out, or put a proxy in front that has the certificates", len(c.ACMEDomains), maxACMEDomains))
	}
	for i, name := range c.ACMEDomains {
		err := c.checkACMEDomain(name)
		if err == nil && slices.ContainsFunc(c.ACMEDomains[:i], func(other string) bool { return strings.EqualFold(other, name) }) {
			err = errors.New("appears twice; leave one out")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("acme-domain: %q %w", name, err))
		}
	}
	if u, err := url.Parse(c.ACMEDirectory); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		errs = append(errs, errors.New("acme-directory: write the CA's whole https URL, such as "+letsEncrypt))
	}
	if address, err := mail.ParseAddress(c.ACMEEmail); c.ACMEEmail != "" && (err != nil || address.Address != c.ACMEEmail) {
		errs = append(errs, errors.New("acme-email: write one plain address, such as ops@example.com"))
	}
	if c.ACMEHTTPPort < 0 || c.ACMEHTTPPort > 65535 {
		errs = append(errs, fmt.Errorf("acme-http-port: %d is not between 0 and 65535", c.ACMEHTTPPort))
	}
	return errs
}

// checkACMEDomain says why no CA would give a certificate for a name.
func (c Config) checkACMEDomain(name string) error {
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return errors.New("is an address; write the host name that people use")
	}
	if strings.HasPrefix(name, "*.") {
		return errors.New("stands for many names, which a CA gives by DNS records only; write each host name")
	}
	lower := strings.ToLower(name)
	if strings.ContainsAny(name, "_:[]*") || !isHost(lower) || slices.ContainsFunc(strings.Split(lower, "."), func(label string) bool {
		return strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-")
	}) {
		return errors.New("is not a host name such as lineshaft.example.com; leave out scheme, port and path, and write other letters as xn--")
	}
	if !strings.Contains(name, ".") && c.ACMEDirectory == letsEncrypt {
		return errors.New("has no dot, and a public CA knows no such name; write the whole name, or name your own CA with acme-directory")
	}
	return nil
}
