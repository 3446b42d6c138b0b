package web_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web"
)

// literalSite is a site in which everything that has tool servers has literal values,
// and the address of each of its pages by pattern.
func literalSite(t *testing.T) (s *site, address func(pattern string) string) {
	t.Helper()
	s = newSite(t)
	servers := map[string]lineshaft.MCPServer{
		"own": {Command: "serve", Env: map[string]string{"KEY": "hunter2", "NAMED": "{{SHARED}}"}},
		"far": {URL: "https://me:hunter2@mcp.example/x", Headers: map[string]string{"Authorization": "Bearer hunter2"}},
	}
	must(s.control.CreateSecret(t.Context(), s.admin, lineshaft.Secret{Name: "SHARED", Access: lineshaft.AccessRuns}, "a-value-that-is-not-literal"))
	config := lineshaft.AgentConfig{MCPServers: servers}
	p := s.platform()
	factory := s.factory("Shop").UID
	agent := must(s.control.CreateAgent(t.Context(), s.admin, lineshaft.Agent{FactoryUID: factory, Name: "Coder", Type: lineshaft.AgentCustom, Config: config}))
	automation := must(s.control.CreateAutomation(t.Context(), s.admin, factory, lineshaft.Automation{
		Name: "Nightly", Prompt: "p", Agent: "Coder", Config: config, Triggers: []lineshaft.Trigger{{Provider: lineshaft.ProviderRun, Event: lineshaft.EventFinished}},
	}))
	schedule := must(s.control.CreateSchedule(t.Context(), s.admin, trigger.NewSchedule{
		Name: "watch tools", Timing: lineshaft.Timing{Cron: "0 9 * * *", Timezone: "UTC"}, Enabled: true, Prompt: "look", Config: config,
	}))
	runID, job := s.working(lineshaft.NewRun{Config: config})
	s.end(job, lineshaft.TurnResult{State: lineshaft.Succeeded})
	revisions := must(s.control.ListRevisions(t.Context(), s.admin, factory, 1, ""))
	if len(revisions.Revisions) == 0 {
		t.Fatal("the factory has no revision")
	}
	number := strconv.FormatInt(revisions.Revisions[0].Number, 10)
	return s, func(pattern string) string {
		uid := agent.UID
		switch {
		case strings.Contains(pattern, "/automations/"):
			uid = automation.UID
		case strings.Contains(pattern, "/environments/"):
			uid = p.environment
		}
		id := runID
		if strings.Contains(pattern, "/schedules/") {
			id = schedule.ID
		}
		return strings.NewReplacer("{$}", "", "{factory}", factory, "{uid}", uid, "{id}", id, "{name}", "TOKEN", "{number}", number).Replace(strings.TrimPrefix(pattern, "GET "))
	}
}

// R-3, S-2: no page shows a literal value of a tool server, but for the files of a
// definition, which are for those who write them.
func TestR3S2NoPageShowsALiteralOfAToolServer(t *testing.T) {
	t.Parallel()
	s, address := literalSite(t)
	files := []string{"GET /factories/{factory}/revisions/{number}", "GET /factories/{factory}/revisions/{number}/rollback", "GET /factories/{factory}/export"}
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager} {
		s.as(role)
		seen := 0
		for _, r := range web.Routes() {
			method, _ := callable(r.Pattern)
			if method != http.MethodGet || strings.HasSuffix(r.Pattern, "/live") || role.May(lineshaft.PermissionFactoriesManage) && slices.Contains(files, r.Pattern) {
				continue
			}
			status, _, text := s.get(address(r.Pattern))
			if strings.Contains(text, "hunter2") {
				t.Errorf("%s shows %s a literal value", r.Pattern, role)
			}
			if status == http.StatusOK {
				seen++
			}
		}
		if seen < 20 {
			t.Errorf("%s saw %d pages", role, seen)
		}
	}
	s.as(lineshaft.RoleViewer)
	s.shows(address("GET /runs/{id}"), "{{SHARED}}", "***", "https://redacted@mcp.example/x", "!hunter2")
}
