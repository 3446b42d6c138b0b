package app

import (
	"context"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/oidc"
	"github.com/lineshaft/lineshaft/internal/web"
)

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

// checkOIDC asks the identity provider what it says of itself.
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
