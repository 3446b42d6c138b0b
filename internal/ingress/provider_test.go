package ingress_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// The bodies are of the shape that the providers document, NOW being the time in
// milliseconds that Linear signs.
const (
	slackMention = `{"token":"z","team_id":"T1","api_app_id":"A1","type":"event_callback","event_id":"Ev%d","event_time":1700000000,"authorizations":[{"team_id":"T1","user_id":"UBOT","is_bot":true}],` +
		`"event":{"type":"app_mention","user":"U0123456","text":"<@UBOT> please Deploy &lt;api&gt;","ts":"1700000000.000100","channel":"C0123456","event_ts":"1700000000.000100"}}`
	slackMessage = `{"team_id":"T1","api_app_id":"A1","type":"event_callback","event_id":"Ev%d","authorizations":[{"user_id":"UBOT","is_bot":true}],` +
		`"event":{"type":"message","channel":"D0123456","channel_type":"im","user":"U0123456","text":"hello","ts":"1.1"}}`
	slackReaction = `{"team_id":"T1","type":"event_callback","event_id":"Ev%d","event":{"type":"reaction_added","user":"U0123456","reaction":"+1::skin-tone-3","item_user":"U7654321",` +
		`"item":{"type":"message","channel":"C0123456","ts":"1.1"},"event_ts":"1.2"}}`
	linearLabeled = `{"action":"update","type":"Issue","createdAt":"2026-01-01T00:00:00Z","organizationId":"O1","webhookTimestamp":NOW,"webhookId":"W%d","actor":{"id":"U1","type":"user","name":"Ann"},` +
		`"url":"https://linear.app/acme/issue/ENG-12","updatedFrom":{"updatedAt":"2026-01-01T00:00:00Z","labelIds":["L1"]},"data":{"id":"I1","number":12,"identifier":"ENG-12","title":"Broken",` +
		`"teamId":"T1","team":{"id":"T1","key":"ENG","name":"Engineering"},"stateId":"S1","state":{"id":"S1","name":"Todo","type":"unstarted"},"creatorId":"U1","labelIds":["L1","L2"],` +
		`"labels":[{"id":"L1","name":"Old"},{"id":"L2","name":"Renamed"}]}}`
	linearSession = `{"action":"created","type":"AgentSessionEvent","organizationId":"O1","oauthClientId":"C1","appUserId":"U9","webhookTimestamp":NOW,"webhookId":"W%d","promptContext":"<issue/>",` +
		`"agentSession":{"id":"A1","creatorId":"U1","issueId":"I1","issue":{"id":"I1","identifier":"ENG-12","title":"Broken","teamId":"T1","team":{"id":"T1","key":"ENG","name":"Engineering"}},"comment":{"id":"K1","body":"Fix this"}}}`
	jiraStatus = `{"timestamp":%d,"webhookEvent":"jira:issue_updated","issue_event_type_name":"issue_generic","user":{"accountId":"a"},"issue":{"id":"10","key":"OPS-7","fields":{"project":{"key":"OPS"},` +
		`"labels":["prod"],"status":{"id":"3","name":"In Progress"}}},"changelog":{"id":"1","items":[{"field":"status","fieldtype":"jira","from":"1","fromString":"To Do","to":"3","toString":"In Progress"}]}}`
	githubComment = `{"action":"created","issue":{"number":%d,"labels":[{"name":"bug"}],"user":{"login":"ann"}},"comment":{"user":{"login":"ann","type":"User"},"body":"@acme/ops look, not ` + "`@zoe`" + `"},` +
		`"repository":{"full_name":"acme/web"},"sender":{"login":"ann","type":"User"}}`
)

// Payloads of every provider, signed as it signs them, start exactly the runs that the
// filters say.
func TestF6ProvidersStartRuns(t *testing.T) {
	t.Parallel()
	for provider, tc := range map[string]struct {
		header, event string
		source        lineshaft.Source
		// bodies with the automations that each starts; filters have event and filter.
		bodies  map[string][]string
		filters map[string][2]string
	}{
		"slack": {source: lineshaft.SourceSlack, filters: map[string][2]string{
			"mention": {"app_mention", `{"channel_ids":["C0123456"],"keywords":[" DEPLOY <api> "]}`}, "other channel": {"app_mention", `{"channel_ids":{"not_in":["C0123456"]}}`},
			"direct": {"message_dm", `{"users":["U0123456"]}`}, "posted": {"message_posted", `{}`}, "thumbs": {"reaction_added", `{"emojis":[":+1:"],"itemUsers":["U7654321"]}`}, "blind": {"reaction_added", `{"keywords":{"not_in":["x"]}}`},
		}, bodies: map[string][]string{
			slackMention: {"mention"}, slackMessage: {"direct"}, slackReaction: {"thumbs"},
			strings.Replace(slackMention, `"user":"U0123456"`, `"user":"UBOT"`, 1): nil, strings.Replace(slackMessage, `"user":`, `"bot_id":"B1","user":`, 1): nil,
			strings.Replace(slackMessage, `"ts":"1.1"`, `"subtype":"message_changed","ts":"1.1"`, 1): nil,
		}},
		"linear": {header: "Linear-Event", event: "Issue", source: lineshaft.SourceLinear, filters: map[string][2]string{
			"renamed": {"issue_labeled", `{"labels":["renamed"],"teams":["eng"]}`}, "old": {"issue_labeled", `{"labels":["Old"]}`}, "state": {"issue_state_changed", `{}`},
			"session": {"agent_session_created", `{"team_ids":["T1"],"creator_ids":["U1"],"keywords":["fix"]}`},
		}, bodies: map[string][]string{linearLabeled: {"renamed"}, linearSession: {"session"}, strings.Replace(linearLabeled, `"labelIds":["L1"]}`, `"labelIds":["L1","L2","L3"]}`, 1): nil}},
		"jira": {source: lineshaft.SourceJira, filters: map[string][2]string{
			"moved": {"status_changed", `{"project_keys":["OPS"],"status_ids":["3"]}`}, "elsewhere": {"status_changed", `{"status_ids":["1"]}`}, "labeled": {"issue_labeled", `{}`},
		}, bodies: map[string][]string{jiraStatus: {"moved"}}},
		"github": {header: "X-Github-Event", event: "issue_comment", source: lineshaft.SourceGitHub, filters: map[string][2]string{
			"mentioned": {"issue_mentioned", `{"mentioned":["Acme/Ops"],"labels":["bug"]}`}, "in code": {"issue_mentioned", `{"mentioned":["zoe"]}`}, "pull request": {"pull_request_mentioned", `{}`},
		}, bodies: map[string][]string{
			githubComment: {"mentioned"}, strings.Replace(githubComment, `"created"`, `"edited"`, 1): nil, strings.ReplaceAll(githubComment, `"User"`, `"Bot"`): nil,
			strings.Replace(githubComment, `"issue":{`, `"issue":{"pull_request":{"url":"x"},`, 1): {"pull request"},
		}},
	} {
		each(t, func(g *gate) {
			w, secret := g.signatureHook(provider)
			for name, filter := range tc.filters {
				trigger := lineshaft.Trigger{Provider: provider, Event: filter[0]}
				if err := json.Unmarshal([]byte(filter[1]), &trigger.Filter); err != nil {
					g.Fatal(err)
				}
				if _, err := g.control.CreateAutomation(g.Context(), g.admin, g.factory, lineshaft.Automation{Name: name, Prompt: "p", Enabled: true, Triggers: []lineshaft.Trigger{trigger}}); err != nil {
					g.Fatal(err)
				}
			}
			g.refresh()
			count := 0
			for body, want := range tc.bodies {
				count++
				now := time.Now()
				body = strings.ReplaceAll(fmt.Sprintf(body, count), "NOW", fmt.Sprint(now.UnixMilli()))
				sent := g.signed(w, secret, body, fmt.Sprintf("id-%d", count), now)
				if tc.header != "" {
					sent.Set(tc.header, tc.event)
				}
				g.wants(provider, g.send(sending{path: path(w.UID), header: sent, body: body}), http.StatusAccepted)
				var got []string
				for _, o := range g.newest(w.UID).Outcomes {
					run, err := g.store.GetRun(g.Context(), o.RunID)
					if err != nil {
						g.Fatal(err)
					}
					if run.Source == tc.source { // another one listens to all deliveries
						got = append(got, o.AutomationName)
					}
				}
				if !slices.Equal(got, want) {
					g.Errorf("%s started %q, want %q", body, got, want)
				}
			}
			if sent := g.send(sending{path: path(w.UID), header: http.Header{}, body: `{}`}); sent.status != http.StatusUnauthorized {
				g.Errorf("%s: unsigned is answered with %d", provider, sent.status)
			}
		})
	}
}
