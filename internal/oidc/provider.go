package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/lineshaft/lineshaft"
)

// Mapping gives everybody whose claim has a value a role.
type Mapping struct {
	Value string
	Role  lineshaft.Role
}

// Config says which provider, and who may come in.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	// RedirectURL is where the provider sends the browser back to.
	RedirectURL string
	// Name is what people call the provider.
	Name string
	// Scopes are asked for beside openid.
	Scopes []string
	// RoleClaim is a claim, or a path with dots to one.
	RoleClaim string
	Roles     []Mapping
	// DefaultRole is for those without a mapped value; empty refuses them.
	DefaultRole lineshaft.Role
	// AllowPrivate lets the provider be in a private network or on this machine (S-7).
	AllowPrivate bool
	// Resolve finds the addresses of a name; nil is the machine's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

const (
	// fresh is how long what the provider says of itself is believed. Its keys are
	// read again as soon as a token has one that is not known.
	fresh = time.Hour
	// within bounds one conversation with the provider.
	within = 15 * time.Second
	// signOutWithin bounds it for those who leave: they are signed out here in any case.
	signOutWithin = 3 * time.Second
)

// Provider is an identity provider. It is safe for concurrent use.
type Provider struct {
	cfg    Config
	client *http.Client
	now    func() time.Time
	used   usedStates

	mu    sync.Mutex
	known *endpoints
}

// endpoints is what the provider says of itself.
type endpoints struct {
	provider *gooidc.Provider
	oauth    oauth2.Config
	// answersWithIssuer says that each answer names its issuer (RFC 9207).
	answersWithIssuer bool
	// signOut is where people sign out of the provider; empty when it has no such place.
	signOut string
	readAt  time.Time
}

// New returns a provider that is asked for its endpoints when somebody first signs in:
// a provider that is away does not keep the server from starting.
func New(cfg Config) *Provider {
	p := &Provider{cfg: cfg, client: newClient(cfg), now: cfg.Now}
	if p.now == nil {
		p.now = time.Now
	}
	return p
}

// Name is what people call the provider.
func (p *Provider) Name() string { return p.cfg.Name }

// Check asks the provider for its endpoints, for those who look whether all is well.
func (p *Provider) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := p.discover(ctx)
	return err
}

// endpoints are those that were read within the last hour. When they cannot be read
// again, the old ones go on.
func (p *Provider) endpoints(ctx context.Context) (*endpoints, error) {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	if known != nil && p.now().Sub(known.readAt) < fresh {
		return known, nil
	}
	found, err := p.discover(ctx)
	if err != nil {
		if known != nil {
			return known, nil
		}
		return nil, away(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = found
	return found, nil
}

func (p *Provider) discover(ctx context.Context) (*endpoints, error) {
	found, err := gooidc.NewProvider(gooidc.ClientContext(ctx, p.client), p.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read what %s says of itself: %w", p.cfg.Issuer, plainError(err))
	}
	var more struct {
		JWKS              string   `json:"jwks_uri"`
		UserInfo          string   `json:"userinfo_endpoint"`
		Methods           []string `json:"token_endpoint_auth_methods_supported"`
		AnswersWithIssuer bool     `json:"authorization_response_iss_parameter_supported"`
		EndSession        string   `json:"end_session_endpoint"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, fmt.Errorf("read what %s says of itself: %w", p.cfg.Issuer, err)
	}
	at := found.Endpoint()
	for name, address := range map[string]string{"authorization_endpoint": at.AuthURL, "token_endpoint": at.TokenURL, "jwks_uri": more.JWKS, "userinfo_endpoint": more.UserInfo} {
		if address == "" && name == "userinfo_endpoint" {
			continue
		}
		if err := p.checkAddress(address); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, p.cfg.Issuer, err)
		}
	}
	if p.checkAddress(more.EndSession) != nil {
		more.EndSession = "" // signing in does not depend on it
	}
	at.AuthStyle = authStyle(p.cfg.ClientSecret, more.Methods)
	return &endpoints{
		provider: found, answersWithIssuer: more.AnswersWithIssuer, signOut: more.EndSession, readAt: p.now(),
		oauth: oauth2.Config{
			ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: at, RedirectURL: p.cfg.RedirectURL,
			Scopes: append([]string{gooidc.ScopeOpenID}, p.cfg.Scopes...),
		},
	}, nil
}

// checkAddress keeps tokens from travelling in the clear.
func (p *Provider) checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !p.cfg.AllowPrivate) {
		return errors.New("not an https:// address")
	}
	return nil
}

// authStyle is decided here: the library would try one way and then the other, and
// with that send a code twice.
func authStyle(secret string, methods []string) oauth2.AuthStyle {
	basic := len(methods) == 0 || slices.Contains(methods, "client_secret_basic")
	if secret == "" || !basic && slices.Contains(methods, "client_secret_post") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}
