package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/lineshaft/lineshaft"
)

// skew is how far the provider's clock may be from ours.
const skew = 30 * time.Second

// oldest is how long ago a token may have been made: it was, for this sign-in.
const oldest = SignInLife

// algorithms are the signatures that are taken. None of them can be made with what is
// public, such as HS256 with a public key as its secret.
func algorithms() []string { return []string{gooidc.RS256, gooidc.ES256, gooidc.EdDSA} }

// verify checks the ID token and returns its claims.
func (p *Provider) verify(ctx context.Context, at *endpoints, tokens *oauth2.Token, nonce string) (map[string]any, error) {
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return nil, errors.New("the provider sent no ID token")
	}
	// The library checks the signature, the issuer and the audience; the times are
	// checked below, with a skew that is smaller than its own.
	token, err := at.provider.Verifier(&gooidc.Config{ClientID: p.cfg.ClientID, SupportedSigningAlgs: algorithms(), SkipExpiryCheck: true}).Verify(ctx, raw)
	if err != nil {
		return nil, errors.New(lineshaft.Clip(plainError(err).Error(), 200))
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 {
		return nil, errors.New("the nonce is another one")
	}
	var more struct {
		AZP       string  `json:"azp"`
		NotBefore float64 `json:"nbf"`
	}
	claims := map[string]any{}
	if err := errors.Join(token.Claims(&more), token.Claims(&claims)); err != nil {
		return nil, errors.New("the claims cannot be read")
	}
	if more.AZP == "" && len(token.Audience) > 1 || more.AZP != "" && more.AZP != p.cfg.ClientID {
		return nil, errors.New("the token was made for another client")
	}
	now := p.now()
	switch {
	case now.After(token.Expiry.Add(skew)):
		return nil, errors.New("the token has expired")
	case token.IssuedAt.Unix() <= 0 || token.IssuedAt.After(now.Add(skew)) || now.Sub(token.IssuedAt) > oldest+skew:
		return nil, errors.New("the token was not made just now")
	case more.NotBefore > float64(now.Add(skew).Unix()):
		return nil, errors.New("the token is for later")
	case token.Subject == "":
		return nil, errors.New("the token names nobody")
	}
	if token.AccessTokenHash != "" {
		if err := token.VerifyAccessToken(tokens.AccessToken); err != nil {
			return nil, errors.New("the access token is not the one of the ID token")
		}
	}
	claims["sub"] = token.Subject
	return claims, nil
}

// addUserInfo asks the provider for claims that the token lacks: many put groups and
// names there only.
func (p *Provider) addUserInfo(ctx context.Context, at *endpoints, tokens *oauth2.Token, claims map[string]any) error {
	_, named := claims["name"]
	if at.provider.UserInfoEndpoint() == "" || named && len(p.values(claims)) > 0 {
		return nil
	}
	info, err := at.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return errors.New("the provider did not answer who that is") // the cause may tell who
	}
	if info.Subject != claims["sub"] {
		return errors.New("the provider answered about someone else")
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return errors.New("what the provider says of people cannot be read")
	}
	for name, value := range more {
		if _, ok := claims[name]; !ok {
			claims[name] = value
		}
	}
	return nil
}

// identity is who the claims are about, with the strongest role they map to.
func (p *Provider) identity(claims map[string]any) (lineshaft.Identity, error) {
	who := lineshaft.Identity{Issuer: p.cfg.Issuer, Role: p.cfg.DefaultRole}
	who.Subject, _ = claims["sub"].(string)
	who.Email, _ = claims["email"].(string)
	if verified, ok := claims["email_verified"]; ok && verified != true && verified != "true" {
		who.Email = ""
	}
	for _, name := range []string{"name", "preferred_username", "email"} {
		if text, ok := claims[name].(string); ok && strings.TrimSpace(text) != "" {
			who.Name = strings.TrimSpace(text)
			break
		}
	}
	values := p.values(claims)
	for _, m := range p.cfg.Roles {
		if slices.Contains(values, m.Value) && slices.Index(lineshaft.Roles(), m.Role) > slices.Index(lineshaft.Roles(), who.Role) {
			who.Role = m.Role
		}
	}
	if who.Role == "" {
		return lineshaft.Identity{}, &lineshaft.Error{
			Code:    lineshaft.CodeNotAuthorized,
			Message: "you are signed in at the identity provider, but none of your groups has a role here; ask an admin of this server to map one of them (--oidc-roles)",
			Cause:   fmt.Errorf("claim %q has %d values, and none of them is mapped", p.cfg.RoleClaim, len(values)),
		}
	}
	return who, nil
}

// values are those of the claim that roles are mapped from: a text or a list of texts,
// under its own name or at the end of a path with dots.
func (p *Provider) values(claims map[string]any) []string {
	found, ok := claims[p.cfg.RoleClaim]
	if !ok {
		found = any(claims)
		for part := range strings.SplitSeq(p.cfg.RoleClaim, ".") {
			inner, ok := found.(map[string]any)
			if !ok {
				return nil
			}
			found = inner[part]
		}
	}
	switch found := found.(type) {
	case string:
		return []string{found}
	case []any:
		var texts []string
		for _, one := range found {
			if text, ok := one.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return nil
}
