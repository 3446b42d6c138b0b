package oidc

import (
	"context"
	"net/url"
)

// SignOut is the address at which a browser signs out of the provider (OpenID Connect
// RP-Initiated Logout 1.0), which then sends it back; empty when the provider has none, or
// does not answer. The client id says who asks. An ID token would spare people a question
// of the provider, and would have to be kept for as long as the session: it is not.
func (p *Provider) SignOut(ctx context.Context, back string) string {
	ctx, cancel := context.WithTimeout(ctx, signOutWithin)
	defer cancel()
	at, err := p.endpoints(ctx)
	if err != nil || at.signOut == "" {
		return ""
	}
	address, err := url.Parse(at.signOut)
	if err != nil {
		return ""
	}
	query := address.Query()
	query.Set("client_id", p.cfg.ClientID)
	query.Set("post_logout_redirect_uri", back)
	address.RawQuery = query.Encode()
	return address.String()
}
