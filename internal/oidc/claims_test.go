package oidc_test

import (
	"net/http"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/oidc"
)

func TestS3ClaimsMapToTheStrongestRole(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		claim  string
		values any
		other  lineshaft.Role
		want   lineshaft.Role
	}{
		"list":                      {"groups", []string{"staff", "ops"}, "", lineshaft.RoleAdmin},
		"text":                      {"groups", "staff", "", lineshaft.RoleViewer},
		"path":                      {"realm_access.roles", map[string]any{"roles": []string{"ops"}}, "", lineshaft.RoleAdmin},
		"unmapped, default":         {"groups", []string{"x"}, lineshaft.RoleViewer, lineshaft.RoleViewer},
		"mapped beats default":      {"groups", []string{"ops"}, lineshaft.RoleMember, lineshaft.RoleAdmin},
		"default beats mapped":      {"groups", []string{"staff"}, lineshaft.RoleManager, lineshaft.RoleManager},
		"unmapped":                  {"groups", []string{"x"}, "", ""},
		"other case":                {"groups", []string{"OPS"}, "", ""},
		"part of a word":            {"groups", "ops staff", "", ""},
		"numbers":                   {"groups", []any{1, nil, map[string]any{"ops": true}}, "", ""},
		"an object":                 {"groups", map[string]any{"ops": "ops"}, "", ""},
		"a path that leads nowhere": {"realm_access.roles.deep", map[string]any{"roles": []string{"ops"}}, "", ""},
	} {
		s := newScripted(t)
		s.change = func(c map[string]any) {
			delete(c, "groups")
			c["realm_access"] = tc.values
			if tc.claim == "groups" {
				c["groups"] = tc.values
			}
		}
		s.userinfo = map[string]any{"sub": "42"}
		cfg := s.config()
		cfg.RoleClaim, cfg.DefaultRole = tc.claim, tc.other
		who, err := s.signIn(oidc.New(cfg))
		if tc.want == "" {
			s.refused(name, err, lineshaft.CodeNotAuthorized)
			continue
		}
		if err != nil || who.Role != tc.want {
			t.Errorf("%s: %q, %v", name, who.Role, err)
		}
	}
}

func TestS3ClaimsComeFromUserInfoToo(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.change = func(c map[string]any) { delete(c, "groups"); delete(c, "name"); delete(c, "email") }
	s.userinfo = map[string]any{"sub": "42", "preferred_username": "ada", "groups": []string{"ops"}, "email": "ada@example.com", "email_verified": true}
	p := oidc.New(s.config())
	if who, err := s.signIn(p); err != nil || who.Role != lineshaft.RoleAdmin || who.Name != "ada" || who.Email != "ada@example.com" {
		t.Errorf("%+v, %v", who, err)
	}
	// What the token says is not overruled.
	s.change = func(c map[string]any) { delete(c, "name"); c["groups"] = []string{"staff"} }
	if who, err := s.signIn(p); err != nil || who.Role != lineshaft.RoleViewer {
		t.Errorf("%+v, %v", who, err)
	}
	s.change = func(c map[string]any) { delete(c, "groups") }
	s.userinfo["sub"] = "somebody else"
	_, err := s.signIn(p)
	s.refused("somebody else", err, lineshaft.CodeAuthenticationRequired)
	s.info = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		answer(w, accessToken)
	}
	_, err = s.signIn(p)
	s.refused("broken", err, lineshaft.CodeAuthenticationRequired)
}

func TestS3NamesAndAddresses(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.userinfo = map[string]any{"sub": "42"}
	p := oidc.New(s.config())
	for name, tc := range map[string]struct {
		change             func(map[string]any)
		wantName, wantMail string
	}{
		"unverified":   {func(c map[string]any) { c["email_verified"] = false }, "Ada", ""},
		"verified":     {func(c map[string]any) { c["email_verified"] = "true" }, "Ada", "ada@example.com"},
		"blank name":   {func(c map[string]any) { c["name"] = "  " }, "ada@example.com", "ada@example.com"},
		"name as list": {func(c map[string]any) { c["name"] = []string{"x"}; delete(c, "email") }, "", ""},
	} {
		s.change = tc.change
		if who, err := s.signIn(p); err != nil || who.Name != tc.wantName || who.Email != tc.wantMail {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
}
