package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/web"
)

// callable fills the parameters of a pattern with ids that nobody has.
func callable(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	path = strings.TrimSuffix(path, "{$}")
	return method, regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(path, "01890000-0000-7000-8000-000000000000")
}

var update = flag.Bool("update", false, "rewrite e2e/browser/routes.json")

// The tests in a browser open every page and forge every change of this list.
func TestI2BrowserTestsKnowEveryRoute(t *testing.T) {
	t.Parallel()
	const path = "../../e2e/browser/routes.json"
	got, err := json.MarshalIndent(web.Patterns(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not the table of routes; run: go test ./internal/web -run EveryRoute -update, then say in e2e/browser/test/world.mjs where each new one is", path)
	}
}

// Every route asks for a session, and for the permission of its row in the table.
func TestS3EveryRouteAsksForItsPermission(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, r := range web.Routes() {
		method, path := callable(r.Pattern)
		if _, at, text := s.do(method, path, url.Values{}, nil); !strings.HasPrefix(at, "/login") || !strings.Contains(text, "Sign in") {
			t.Errorf("%s as nobody ends at %s", r.Pattern, at)
		}
		if r.Needs == lineshaft.PermissionNone || r.Needs == "" {
			t.Errorf("%s needs no permission", r.Pattern)
		}
		if method == http.MethodPost && r.Needs == lineshaft.PermissionRunsRead && !strings.HasPrefix(path, "/sessions") {
			t.Errorf("%s changes something with a permission to look", r.Pattern)
		}
	}
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager} {
		_, key, err := s.control.CreateAPIKey(t.Context(), s.admin, access.NewAPIKey{Name: string(role), Role: role})
		if err != nil {
			t.Fatal(err)
		}
		s.signIn(key)
		for _, r := range web.Routes() {
			if role.May(r.Needs) {
				continue
			}
			method, path := callable(r.Pattern)
			if status, _, text := s.do(method, path, url.Values{}, nil); status != http.StatusForbidden || !strings.Contains(text, "may not do that; it takes the role ") {
				t.Errorf("%s as %s: %d, want 403", r.Pattern, role, status)
			}
		}
	}
}

// What a reader may not open is not in the menu; what is in the menu opens.
func TestS3MenuShowsWhatOpens(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	link := regexp.MustCompile(`<li><a href="(/[a-z]*)"`)
	shown := map[lineshaft.Role]int{}
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager, lineshaft.RoleAdmin} {
		_, key, err := s.control.CreateAPIKey(t.Context(), s.admin, access.NewAPIKey{Name: string(role), Role: role})
		if err != nil {
			t.Fatal(err)
		}
		s.signIn(key)
		_, _, text := s.get("/runs")
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			shown[role]++
			if status, at, _ := s.get(found[1]); status != http.StatusOK || at != found[1] {
				t.Errorf("%s as %s: %d at %s", found[1], role, status, at)
			}
		}
	}
	if shown[lineshaft.RoleViewer] == 0 || shown[lineshaft.RoleViewer] >= shown[lineshaft.RoleAdmin] {
		t.Errorf("entries by role: %v", shown)
	}
}
