package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/web"
)

// operationsOf says which operations of the API do what a route of the pages does, for
// each route that is open to more than managers.
func operationsOf() map[string][]string {
	const hook = "/factories/{factory}/webhooks/{webhook}"
	return map[string][]string{
		"GET /{$}": {"listRuns"}, "GET /search": {"listRuns"},
		"GET /runs": {"listRuns"}, "GET /runs/rows": {"listRuns"}, "GET /runs/live": {"streamRunStates"},
		"GET /runs/new": {"createRun"}, "POST /runs": {"createRun"},
		// Those that are picked one by one; all that match need more, and control asks for it.
		"GET /runs/cancel": {"cancelRun"}, "POST /runs/cancel": {"cancelRun"},
		"GET /runs/{id}": {"getRun", "getRunTimeline", "getRunConversation"}, "GET /runs/{id}/items": {"getRunTranscript"},
		"GET /runs/{id}/events": {"getRunEvents"}, "GET /runs/{id}/log": {"getRunEvents"},
		"GET /runs/{id}/artifacts/{uid}": {"downloadArtifact"}, "GET /runs/{id}/attachments/{uid}": {"listHandoffAttachments"},
		"POST /runs/{id}/followups": {"submitRunFollowup"}, "POST /runs/{id}/interrupt": {"interruptRun"},
		"POST /runs/{id}/cancel": {"cancelRun"}, "POST /runs/{id}/rerun": {"rerunRun"},
		"GET /factories": {"listFactories"}, "GET /factories/{factory}": {"getFactory", "listAutomations", "listWebhooks", "listAgentIdentities", "listScheduledAgents"},
		"GET /agents": {"listAgentIdentities"}, "GET /agents/{uid}": {"getAgent"},
		"GET /automations": {"listAutomations"}, "GET /factories/{factory}/automations/{uid}": {"getAutomation"},
		"GET /webhooks": {"listWebhooks"}, "GET /factories/{factory}/webhooks": {"listWebhooks"}, "GET " + hook: {"getWebhook", "listDeliveries"},
		"GET " + hook + "/first": {"listDeliveries"}, "GET " + hook + "/deliveries": {"listDeliveries"},
		"GET " + hook + "/deliveries/{delivery}": {"getDelivery"}, "GET " + hook + "/deliveries/{delivery}/peek": {"getDelivery"},
		"GET " + hook + "/deliveries/{delivery}/outcomes": {"getDelivery"}, "GET " + hook + "/deliveries/{delivery}/payload": {"getDelivery"},
		"GET /notifications": {"listNotifications"}, "GET /notifications/{id}": {"getNotification", "listNotificationDeliveries"},
		"GET /notifications/{id}/deliveries/{delivery}": {"getNotificationDelivery"},
		"GET /schedules": {"listScheduledAgents"}, "GET /schedules/fires": {"listScheduledAgents"}, "GET /schedules/{id}": {"getScheduledAgent"},
		"GET /environments": {"listEnvironments"}, "GET /environments/{uid}": {"getEnvironment"},
		"GET /workers": {"listConnectedSelfHostedWorkers"}, "GET /workers/now": {"listConnectedSelfHostedWorkers"},
		// A person's own sessions.
		"GET /sessions": {"whoami"}, "GET /sessions/others": {"whoami"}, "POST /sessions/others": {"whoami"},
		"GET /sessions/{id}/end": {"whoami"}, "POST /sessions/{id}/end": {"whoami"},
		// What managers and admins have, named because it is worth stealing.
		"GET /factories/{factory}/revisions": {"listRevisions"}, "GET /factories/{factory}/revisions/{number}": {"getRevision"},
		"GET /factories/{factory}/export": {"getDefinition"}, "POST /factories/{factory}/revisions/{number}/rollback": {"rollbackDefinition"},
		"POST " + hook + "/deliveries/{delivery}/redeliver": {"redeliver"},
		"POST /notifications":                               {"createNotification"}, "POST /notifications/{id}/edit": {"updateNotification"},
		"POST /notifications/{id}/enable": {"updateNotification"}, "POST /notifications/{id}/disable": {"updateNotification"},
		"POST /notifications/{id}/rotate": {"rotateNotification"}, "POST /notifications/{id}/delete": {"deleteNotification"},
		"POST /notifications/{id}/test": {"testNotification"}, "POST /notifications/{id}/deliveries/{delivery}/replay": {"replayNotificationDelivery"},
		"GET /audit": {"listAudit"}, "GET /audit/export": {"listAudit"}, "GET /keys": {"listAPIKeys"}, "POST /keys": {"createAPIKey"},
		"GET /secrets": {"listSecrets"}, "GET /secrets/{name}": {"getSecret"}, "POST /secrets/{name}/value": {"updateSecret"},
		"GET /settings": {"listAPIKeys"}, "GET /settings/doctor": {"listAPIKeys"},
	}
}

// Whoever opens a page may ask the API for the same.
func TestS3NoPageNeedsLessThanTheAPI(t *testing.T) {
	t.Parallel()
	needs := map[string]lineshaft.Permission{}
	for _, r := range api.Routes() {
		needs[r.OperationID] = r.Permission
	}
	roles := []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager, lineshaft.RoleAdmin}
	operations := operationsOf()
	for _, r := range web.Routes() {
		same, listed := operations[r.Pattern]
		delete(operations, r.Pattern)
		if !listed && slices.ContainsFunc([]lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember}, func(role lineshaft.Role) bool { return role.May(r.Needs) }) {
			t.Errorf("%s is open to viewers or members: say which operation of the API does the same", r.Pattern)
		}
		for _, operation := range same {
			want, known := needs[operation]
			if !known {
				t.Errorf("%s: the API has no operation %s", r.Pattern, operation)
			}
			for _, role := range roles {
				if role.May(r.Needs) && !role.May(want) {
					t.Errorf("%s is open to a %s, and %s of the API is not: it needs %s", r.Pattern, role, operation, want)
				}
			}
		}
	}
	for pattern := range operations {
		t.Errorf("there is no route %s", pattern)
	}
}

// The sources of a factory are for those who may change it, and nobody else sees a way to them.
func TestS3ViewersAndMembersReadNoDefinition(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.factory("Shop")
	at := "/factories/" + f.UID
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager} {
		may := role == lineshaft.RoleManager
		as := s.signedIn(role)
		_, _, text := as.get(at)
		for _, path := range []string{"/revisions", "/revisions/1", "/export"} {
			status, _, _ := as.get(at + path)
			if shown := strings.Contains(text, at+path); may != (status != http.StatusForbidden) || !may && shown {
				t.Errorf("%s as %s: %d, with a link: %v", path, role, status, shown)
			}
		}
	}
}
