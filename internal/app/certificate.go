package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/certificate"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/oidc"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/web"
)

// certificates is where the certificates of the listener come from. Run works until its
// context ends; the others may be called at any time.
type certificates interface {
	TLS() *tls.Config
	Run(ctx context.Context)
	// Reload has the files read, or the CA asked, at once.
	Reload()
	Status() []certificate.Status
}

var (
	_ certificates = (*certificate.Files)(nil)
	_ certificates = (*certificate.ACME)(nil)
)

// openCertificates reads the certificate or prepares to get one. It comes after the
// listener, whose port the CA may ask.
func (a *App) openCertificates(ctx context.Context) error {
	if !a.cfg.TLS() {
		return nil
	}
	var err error
	if a.cfg.ACME() {
		err = a.openACME(ctx)
	} else {
		a.certificates, err = openFiles(a.cfg, a.opts)
	}
	if err != nil {
		return err
	}
	a.metrics.GaugeBy("lineshaft_certificate_expiry_timestamp_seconds", "When the certificate of a name ends, in seconds since 1970; 0 while there is none.", "name", func() map[string]float64 {
		return eachCertificate(a.certificates.Status(), func(s certificate.Status) float64 {
			if s.Until.IsZero() {
				return 0
			}
			return float64(s.Until.Unix())
		})
	})
	a.metrics.GaugeBy("lineshaft_certificate_problem", "1 when the certificate of a name cannot be got, read or renewed, else 0.", "name", func() map[string]float64 {
		return eachCertificate(a.certificates.Status(), func(s certificate.Status) float64 {
			if s.Problem != "" {
				return 1
			}
			return 0
		})
	})
	a.control.AddMinorPart("certificate", func() string { return certificateProblem(a.certificates.Status()) })
	return nil
}

func openFiles(cfg config.Config, opts Options) (*certificate.Files, error) {
	files, err := certificate.OpenFiles(cfg.TLSCert, cfg.TLSKey, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("load certificate: %w; check --tls-cert and --tls-key", err)
	}
	return files, nil
}

func (a *App) openACME(ctx context.Context) error {
	host, text, err := net.SplitHostPort(a.listener.Addr().String())
	if err != nil {
		return fmt.Errorf("read own address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("read own port: %w", err)
	}
	roots, err := certificate.ReadRoots(a.cfg.ACMECARoot)
	if err != nil {
		return err
	}
	source, err := certificate.NewACME(certificate.Config{
		Domains: acmeDomains(a.cfg), Directory: a.cfg.ACMEDirectory, Email: a.cfg.ACMEEmail, Roots: roots, Host: host, TLSPort: port, HTTPPort: a.cfg.ACMEHTTPPort,
		Store: a.store, Vault: a.vault, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.certificates = source
	if a.cfg.ACMEHTTPPort == 0 {
		return nil
	}
	return a.serveChallenges(ctx, net.JoinHostPort(host, strconv.Itoa(a.cfg.ACMEHTTPPort)), source.Challenges(redirectTo(a.URL())))
}

func acmeDomains(cfg config.Config) []string {
	var names []string
	for _, name := range cfg.ACMEDomains {
		names = append(names, strings.ToLower(name))
	}
	return names
}

// serveChallenges answers at the port for the HTTP challenge as long as the server runs:
// the CA may come to this node for a certificate that another one asks for.
func (a *App) serveChallenges(ctx context.Context, address string, handler http.Handler) error {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s for the CA: %w; allow it (ports below 1024 need CAP_NET_BIND_SERVICE), choose another port with --acme-http-port and forward port 80 to it, "+
			"or set it to 0 if port 443 leads to this server", address, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.done <- fmt.Errorf("serve challenges: %w", err)
		}
	}()
	a.onStop(func(context.Context) error { return server.Close() })
	return nil
}

// redirectTo sends browsers to HTTPS. Programs are refused: sending in the clear
// should not go unnoticed.
func redirectTo(base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			http.Redirect(w, r, base+r.URL.RequestURI(), http.StatusPermanentRedirect)
			return
		}
		http.Error(w, "this port is for certificates; send it to "+base, http.StatusBadRequest)
	})
}

func (a *App) reload(ctx context.Context) {
	if a.certificates == nil {
		a.log.InfoContext(ctx, "SIGHUP: this server speaks plain HTTP and has no certificate to read again")
		return
	}
	a.certificates.Reload()
}

func eachCertificate(all []certificate.Status, of func(certificate.Status) float64) map[string]float64 {
	values := map[string]float64{}
	for _, s := range all {
		values[s.Name] = of(s)
	}
	return values
}

// certificateProblem is what anyone may know of the certificates that have a problem.
func certificateProblem(all []certificate.Status) string {
	var problems []string
	for _, s := range all {
		switch {
		case s.Problem != "" && s.Until.IsZero():
			problems = append(problems, s.Name+" has no certificate yet: "+s.Problem)
		case s.Problem != "":
			problems = append(problems, fmt.Sprintf("that of %s ends %s: %s", s.Name, s.Until.UTC().Format(time.RFC3339), s.Problem))
		}
	}
	return strings.Join(problems, "; ")
}

// judgeCertificates says in what state the certificates are, and what to do.
func judgeCertificates(all []certificate.Status) config.Check {
	const name = "certificate"
	var ends, details []string
	state := config.CheckOK
	for _, s := range all {
		end := s.Name + " has none yet"
		if !s.Until.IsZero() {
			end = fmt.Sprintf("%s ends %s", s.Name, s.Until.UTC().Format(time.RFC3339))
		}
		if s.Problem != "" {
			end += ", " + s.Problem
		}
		ends = append(ends, end)
		if s.Detail != "" {
			details = append(details, s.Detail)
		}
		switch {
		case s.Problem != "" && time.Now().After(s.Until):
			state = config.CheckProblem
		case s.Problem != "" && state == config.CheckOK:
			state = config.CheckWarning
		}
	}
	text := strings.Join(append(ends, details...), "; ")
	if state == config.CheckOK {
		return good(name, "%s", text)
	}
	return bad(name, state, text, "docs/tls.md says what a CA needs to see and how files are replaced; a running server tries again on its own, and at once on SIGHUP")
}

// checkCertificates checks the files, or the CA and what nodes have from it.
func checkCertificates(ctx context.Context, cfg config.Config, opts Options) config.Check {
	if !cfg.ACME() {
		files, err := openFiles(cfg, opts)
		if err != nil {
			return bad("certificate", config.CheckProblem, err.Error(), "write the complete certificate and key, as PEM")
		}
		return judgeCertificates(files.Status())
	}
	all, err := storedCertificates(ctx, cfg)
	if err != nil {
		return bad("certificate", config.CheckProblem, err.Error(), "see database and master key")
	}
	roots, err := certificate.ReadRoots(cfg.ACMECARoot)
	if err == nil {
		err = certificate.Reach(ctx, cfg.ACMEDirectory, roots)
	}
	if err != nil {
		for i := range all {
			all[i].Problem = "the CA cannot be reached"
		}
		all[len(all)-1].Detail = err.Error() + "; check --acme-directory and --acme-ca-root"
	}
	return judgeCertificates(all)
}

// storedCertificates are those in the database, read beside a server that runs.
func storedCertificates(ctx context.Context, cfg config.Config) ([]certificate.Status, error) {
	none := make([]certificate.Status, 0, len(cfg.ACMEDomains))
	for _, name := range acmeDomains(cfg) {
		none = append(none, certificate.Status{Name: name})
	}
	database := cfg.DatabaseOrDefault()
	if _, err := os.Stat(database); !store.IsPostgres(database) && errors.Is(err, os.ErrNotExist) {
		return none, nil
	}
	s, err := store.OpenReadOnly(ctx, database)
	if err != nil {
		return nil, err
	}
	defer closeQuietly(s)
	keys, err := loadKeys(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return certificate.Stored(ctx, s, keys, cfg.ACMEDirectory, acmeDomains(cfg))
}

func closeQuietly(c io.Closer) { _ = c.Close() } // it was only read

func (a *App) pageCertificates() []web.Certificate {
	if a.certificates == nil {
		return nil
	}
	var all []web.Certificate
	for _, s := range a.certificates.Status() {
		all = append(all, web.Certificate{Name: s.Name, Until: s.Until, Problem: s.Problem})
	}
	return all
}

// oidcCallback is where the identity provider sends browsers back to.
const oidcCallback = "/login/oidc/callback"

// newProvider is the identity provider of the settings; nil when they name none.
func newProvider(cfg config.Config, base string) *oidc.Provider {
	if cfg.OIDCIssuer == "" {
		return nil
	}
	var roles []oidc.Mapping
	for _, m := range cfg.OIDCRoles {
		roles = append(roles, oidc.Mapping(m))
	}
	return oidc.New(oidc.Config{
		Issuer: cfg.OIDCIssuer, ClientID: cfg.OIDCClientID, ClientSecret: cfg.OIDCClientSecret.Reveal(), RedirectURL: strings.TrimSuffix(base, "/") + oidcCallback,
		Name: cfg.OIDCName, Scopes: cfg.OIDCScopes, RoleClaim: cfg.OIDCRoleClaim, Roles: roles, DefaultRole: lineshaft.Role(cfg.OIDCDefaultRole),
		AllowPrivate: cfg.OIDCAllowPrivate,
	})
}

// identity is the provider for the pages, which know no typed nil.
func (a *App) identity() web.IdentityProvider {
	if p := newProvider(a.cfg, a.URL()); p != nil {
		return p
	}
	return nil
}

func checkOIDC(ctx context.Context, cfg config.Config) config.Check {
	const name = "sign-in"
	p := newProvider(cfg, "")
	if p == nil {
		return good(name, "with keys; --oidc-issuer adds an identity provider")
	}
	if err := p.Check(ctx); err != nil {
		return bad(name, config.CheckProblem, err.Error(), "check --oidc-issuer and that this machine reaches it; people can sign in with keys meanwhile")
	}
	return good(name, "%s answers at %s", cfg.OIDCName, cfg.OIDCIssuer)
}
