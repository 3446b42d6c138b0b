package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// RoleMapping gives everybody whose claim has a value a role.
type RoleMapping struct {
	Value string
	Role  lineshaft.Role
}

func peopleRoles() []string {
	return []string{string(lineshaft.RoleViewer), string(lineshaft.RoleMember), string(lineshaft.RoleManager), string(lineshaft.RoleAdmin)}
}

func oidcFields() []Field {
	return []Field{
		text("oidc-issuer", "identity provider (OpenID Connect) that people sign in with, such as https://id.example.com; empty is keys only", func(c *Config) *string { return &c.OIDCIssuer }),
		text("oidc-client-id", "what the provider calls this server", func(c *Config) *string { return &c.OIDCClientID }),
		{Name: "oidc-client-secret", Help: "secret of that client; empty for a public client", Secret: true, EnvOnly: true, value: func(c *Config) value { return secret(&c.OIDCClientSecret) }},
		text("oidc-name", "name of the provider on the sign-in page", func(c *Config) *string { return &c.OIDCName }),
		{Name: "oidc-scopes", Help: "scopes to ask for besides openid; can be given several times", value: func(c *Config) value { return list(&c.OIDCScopes) }},
		text("oidc-role-claim", "claim with the values that oidc-roles maps; a path such as realm_access.roles also works", func(c *Config) *string { return &c.OIDCRoleClaim }),
		{Name: "oidc-roles", Help: "who gets which role, as value=role with a value of the claim, such as platform-team=admin; the strongest counts; can be given several times", value: func(c *Config) value { return roles(&c.OIDCRoles) }},
		words("oidc-default-role", "role of people without a match in oidc-roles; empty refuses them", func(c *Config) *string { return &c.OIDCDefaultRole }, append([]string{""}, peopleRoles()...)...),
		{Name: "oidc-session-life", Help: "how long a person stays signed in before the provider is asked again", value: func(c *Config) value { return duration(&c.OIDCSessionLife) }},
		{Name: "oidc-allow-private", Help: "let the provider be in a private network or on this machine", value: func(c *Config) value { return flip(&c.OIDCAllowPrivate) }},
	}
}

func (c Config) checkOIDC() []error {
	if c.OIDCIssuer == "" {
		if c.OIDCClientID != "" || len(c.OIDCRoles) > 0 || c.OIDCDefaultRole != "" {
			return []error{errors.New("oidc-issuer: settings of an identity provider are given, but not which one; set oidc-issuer")}
		}
		return nil
	}
	var errs []error
	u, err := url.Parse(c.OIDCIssuer)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		errs = append(errs, errors.New("oidc-issuer: write the issuer's whole URL, such as https://id.example.com"))
	case u.Scheme == "http" && !c.OIDCAllowPrivate:
		errs = append(errs, errors.New("oidc-issuer: tokens must not travel in the clear; write https://, or set oidc-allow-private for a provider on this machine"))
	}
	if c.OIDCClientID == "" {
		errs = append(errs, errors.New("oidc-client-id: register this server at the provider and set the client id it gives"))
	}
	if c.OIDCRoleClaim == "" && len(c.OIDCRoles) > 0 {
		errs = append(errs, errors.New("oidc-role-claim: roles are mapped, but the claim is not named; set oidc-role-claim"))
	}
	if len(c.OIDCRoles) == 0 && c.OIDCDefaultRole == "" {
		errs = append(errs, errors.New("oidc-roles: nobody would get a role; set oidc-roles, such as platform-team=admin, or oidc-default-role"))
	}
	return errs
}

// roles takes value=role pairs, several in one text with commas between them.
func roles(to *[]RoleMapping) value {
	write := func(m RoleMapping) string { return m.Value + "=" + string(m.Role) }
	return several[RoleMapping]{to: to, split: byCommas, read: readMapping, write: write, between: ","}
}

// readMapping reads value=role. A value may have an = itself: the last one counts.
func readMapping(text string) (RoleMapping, error) {
	at := strings.LastIndex(text, "=")
	if at <= 0 {
		return RoleMapping{}, fmt.Errorf("%q is not value=role, such as platform-team=admin", text)
	}
	value, role := strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+1:])
	if !slices.Contains(peopleRoles(), role) {
		return RoleMapping{}, noneOf(role, peopleRoles())
	}
	return RoleMapping{Value: value, Role: lineshaft.Role(role)}, nil
}
