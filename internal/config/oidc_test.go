package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestOIDCSettingsAreChecked(t *testing.T) {
	t.Parallel()
	right := func() Config {
		c := Default()
		c.OIDCIssuer, c.OIDCClientID, c.OIDCDefaultRole = "https://id.example", "lineshaft", "viewer"
		return c
	}
	if c := right(); c.Validate() != nil {
		t.Errorf("%v", c.Validate())
	}
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no issuer":      {func(c *Config) { c.OIDCIssuer = "" }, "oidc-issuer: settings of an identity provider"},
		"no URL":         {func(c *Config) { c.OIDCIssuer = "id.example" }, "oidc-issuer: write the issuer's whole URL"},
		"other scheme":   {func(c *Config) { c.OIDCIssuer = "file:///etc" }, "oidc-issuer: write"},
		"user":           {func(c *Config) { c.OIDCIssuer = "https://u:p@id.example" }, "oidc-issuer: write"},
		"plain":          {func(c *Config) { c.OIDCIssuer = "http://id.example" }, "in the clear"},
		"no client":      {func(c *Config) { c.OIDCClientID = "" }, "oidc-client-id"},
		"nobody":         {func(c *Config) { c.OIDCDefaultRole = "" }, "oidc-roles: nobody"},
		"no claim":       {func(c *Config) { c.OIDCRoleClaim, c.OIDCRoles = "", []RoleMapping{{"a", "admin"}} }, "oidc-role-claim"},
		"role of none":   {func(c *Config) { c.OIDCDefaultRole = "worker" }, "oidc-default-role"},
		"short sessions": {func(c *Config) { c.OIDCSessionLife = 1 }, "oidc-session-life"},
	} {
		c := right()
		tc.change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
	c := right()
	c.OIDCIssuer, c.OIDCAllowPrivate = "http://127.0.0.1:1", true
	if err := c.Validate(); err != nil {
		t.Errorf("a provider on this machine: %v", err)
	}
}

func TestOIDCRoles(t *testing.T) {
	t.Parallel()
	var c Config
	v := roles(&c.OIDCRoles)
	if err := v.set([]string{" ops = admin ,, team=a=viewer", "x=manager"}); err != nil {
		t.Fatal(err)
	}
	want := []RoleMapping{{"ops", lineshaft.RoleAdmin}, {"team=a", lineshaft.RoleViewer}, {"x", lineshaft.RoleManager}}
	if !reflect.DeepEqual(c.OIDCRoles, want) {
		t.Errorf("%+v", c.OIDCRoles)
	}
	for text, hint := range map[string]string{"ops": "not value=role", "=admin": "not value=role", "ops=amdin": "did you mean admin?", "ops=worker": "not one of viewer", "ops=run": "not one of", "ops=": "not one of"} {
		if err := v.set([]string{text}); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
