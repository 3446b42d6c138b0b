package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

const hostileName = `<script>alert(1)</script> "quoted" ` + "\u202egnp.exe"

// platform is one of each thing.
type platform struct{ environment, schedule, key string }

func (s *site) platform() platform {
	s.Helper()
	if _, err := s.control.CreateSecret(s.Context(), s.admin, lineshaft.Secret{Name: "TOKEN"}, "the-value-itself"); err != nil {
		s.Fatal(err)
	}
	environment, err := s.control.CreateEnvironment(s.Context(), s.admin, lineshaft.EnvironmentConfig{Name: "shop"})
	if err != nil {
		s.Fatal(err)
	}
	schedule, err := s.control.CreateSchedule(s.Context(), s.admin, trigger.NewSchedule{
		Name: "watch", Timing: lineshaft.Timing{Cron: "0 9 * * 1-5", Timezone: "Europe/Berlin"}, Enabled: true, Prompt: "look",
	})
	if err != nil {
		s.Fatal(err)
	}
	key, _, err := s.control.CreateAPIKey(s.Context(), s.admin, access.NewAPIKey{Name: "ci", Role: lineshaft.RoleMember})
	if err != nil {
		s.Fatal(err)
	}
	return platform{environment.UID, schedule.ID, key.ID}
}

// Each role sees what it may, without buttons for what it may not, and cannot send
// what it has no form for.
func TestS3PlatformPagesAskForTheirRole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.platform()
	pages := map[lineshaft.Permission][]string{ //nolint:exhaustive // of these pages
		lineshaft.PermissionRunsRead:        {"/workers", "/workers/now"},
		lineshaft.PermissionFactoriesRead:   {"/environments", "/environments/" + p.environment, "/schedules", "/schedules/" + p.schedule, "/schedules/fires?cron=@daily"},
		lineshaft.PermissionFactoriesManage: {"/environments/new", "/environments/" + p.environment + "/edit", "/environments/" + p.environment + "/delete", "/schedules/new", "/schedules/" + p.schedule + "/edit", "/schedules/" + p.schedule + "/delete"},
		lineshaft.PermissionSecrets:         {"/secrets", "/secrets/new", "/secrets/TOKEN", "/secrets/TOKEN/delete"},
		lineshaft.PermissionKeys:            {"/keys", "/keys?show=ended", "/keys/new", "/keys/" + p.key + "/revoke"},
		lineshaft.PermissionAudit:           {"/audit", "/audit/export"},
	}
	forms := map[lineshaft.Permission][]string{ //nolint:exhaustive // of these pages
		lineshaft.PermissionFactoriesManage: {
			"/environments", "/environments/" + p.environment, "/environments/" + p.environment + "/delete",
			"/schedules", "/schedules/" + p.schedule, "/schedules/" + p.schedule + "/pause", "/schedules/" + p.schedule + "/resume", "/schedules/" + p.schedule + "/delete",
		},
		lineshaft.PermissionSecrets: {"/secrets", "/secrets/TOKEN", "/secrets/TOKEN/value", "/secrets/TOKEN/delete"},
		lineshaft.PermissionKeys:    {"/keys", "/keys/" + p.key + "/revoke"},
	}
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager, lineshaft.RoleAdmin} {
		s.as(role)
		for needs, paths := range pages {
			for _, path := range paths {
				want := http.StatusForbidden
				if role.May(needs) {
					want = http.StatusOK
				}
				if status, _, _ := s.get(path); status != want {
					t.Errorf("GET %s as %s: %d, want %d", path, role, status, want)
				}
			}
		}
		for needs, paths := range forms {
			for _, path := range paths {
				if role.May(needs) {
					continue
				}
				if status, _, _ := s.post(path, url.Values{"name": {"X"}, "value": {"x"}, "role": {"admin"}}); status != http.StatusForbidden {
					t.Errorf("POST %s as %s: %d, want 403", path, role, status)
				}
			}
		}
		for _, path := range []string{"/environments", "/environments/" + p.environment, "/schedules", "/schedules/" + p.schedule, "/workers"} {
			text := s.shows(path)
			for word, needs := range map[string]lineshaft.Permission{
				"/new\"": lineshaft.PermissionFactoriesManage, "/edit\"": lineshaft.PermissionFactoriesManage, "/delete\"": lineshaft.PermissionFactoriesManage,
				"/pause\"": lineshaft.PermissionFactoriesManage, "/keys/new": lineshaft.PermissionKeys, "href=\"/secrets": lineshaft.PermissionSecrets,
			} {
				if !role.May(needs) && strings.Contains(text, word) {
					t.Errorf("GET %s as %s has %s", path, role, word)
				}
			}
		}
	}
	if after := fmt.Sprint(len(must(s.control.ListEnvironments(t.Context(), s.admin, ""))), len(must(s.control.ListSchedules(t.Context(), s.admin, "", base.MaxPage, "")).Items)); after != "1 1" {
		t.Errorf("environments and schedules afterwards: %s", after)
	}
}

// What is not there is not found, whatever is asked for.
func TestI2PlatformPagesOfNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for _, path := range []string{
		"/secrets/NONE", "/secrets/lower", "/secrets/NONE/delete", "/secrets/%00", "/environments/none", "/environments/none/edit", "/environments/none/delete",
		"/schedules/none", "/schedules/none/edit", "/schedules/none/delete", "/keys/none/revoke", "/keys/01890000-0000-7000-8000-000000000000/revoke",
	} {
		if status, _, _ := s.get(path); status != http.StatusNotFound {
			t.Errorf("GET %s: %d, want 404", path, status)
		}
	}
	for _, path := range []string{
		"/secrets/NONE", "/secrets/NONE/value", "/secrets/NONE/delete", "/environments/none", "/environments/none/delete", "/schedules/none", "/schedules/none/pause",
		"/schedules/none/delete", "/keys/none/revoke",
	} {
		if status, _, _ := s.post(path, url.Values{"value": {"x"}, "access": {"runs"}, "name": {"n"}}); status != http.StatusNotFound {
			t.Errorf("POST %s: %d, want 404", path, status)
		}
	}
	for path, text := range map[string]string{
		"/secrets": "lineshaft secret create", "/environments": "lineshaft environment create", "/schedules": "lineshaft schedule create",
		"/workers": "lineshaft worker --id", "/keys?show=ended": "No key has ended", "/audit?by=action&value=none": "No entry matches",
	} {
		s.shows(path, text)
	}
}
