package catalog_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

// sample is a payload that has every key of an event, and one that has none of them.
type sample struct{ header, full, bare string }

// essential are keys without which an event would not be that event.
var essential = map[string]string{
	"github issue_mentioned mentioned": "it is made of mentions", "github pull_request_mentioned mentioned": "it is made of mentions",
	"linear issue_assigned assignee_ids": "somebody was assigned", "jira issue_labeled labels": "one was put on", "jira status_changed status_ids": "it was changed",
	"slack app_mention user_ids": "a person did it", "slack app_mention users": "a person did it", "slack message_dm user_ids": "a person did it", "slack message_dm users": "a person did it",
	"slack message_im user_ids": "a person did it", "slack message_im users": "a person did it", "slack message_mpim user_ids": "a person did it", "slack message_mpim users": "a person did it",
	"slack message_posted user_ids": "a person did it", "slack message_posted users": "a person did it", "slack reaction_added user_ids": "a person did it", "slack reaction_added users": "a person did it",
	"github workflow_run_completed conclusions": "it is completed",
}

// never are keys that no payload has.
var never = []string{"github pull_request paths", "slack reaction_added keywords"}

// values are a value that the full payloads have, and another one, for each key.
var values = map[string]map[string][2]string{
	"github": {
		"repos": {"acme/web", "acme/other"}, "labels": {"bug", "docs"}, "authors": {"ann", "zoe"}, "assignees": {"bob", "zoe"}, "mentioned": {"acme/ops", "zoe"},
		"branches": {"feature/x", "other"}, "base_branches": {"main", "next"}, "baseBranches": {"main", "next"}, "pr_numbers": {"7", "8"}, "prNumbers": {"7", "8"},
		"paths": {"docs/**", "src/**"}, "reviewers": {"rob", "zoe"}, "reviewer_teams": {"acme/qa", "acme/ops"}, "review_states": {"Changes requested", "approved"},
		"conclusions": {"failure", "success"}, "workflows": {"CI", "Release"},
	},
	"gitlab": {
		"repos": {"acme/sub/web", "acme/web"}, "actions": {"OPEN", "merge"}, "labels": {"bug", "docs"}, "authors": {"ann", "zoe"}, "branches": {"feature/x", "other"},
		"base_branches": {"main", "next"}, "paths": {"docs/**", "src/**"}, "conclusions": {"failed", "success"},
	},
	"linear": {
		"team_ids": {"T1", "T2"}, "teams": {"engineering", "Design"}, "project_ids": {"P1", "P2"}, "projects": {"launch", "Other"}, "labels": {"BUG", "docs"},
		"state_ids": {"S1", "S2"}, "states": {"in progress", "Done"}, "assignee_ids": {"U2", "U9"}, "mentioned_user_ids": {"u3", "U9"}, "creator_ids": {"U1", "U9"},
		"issue_ids": {"I1", "I2"}, "issues": {"eng-12", "ENG-13"}, "keywords": {" Please FIX ", "deploy"},
	},
	"slack": {
		"channel_ids": {"C0123456", "C9999999"}, "channels": {"#C0123456", "#other"}, "user_ids": {"U0123456", "U9999999"}, "users": {"@ann", "zoe"},
		"emojis": {":THUMBSUP::skin-tone-2:", "eyes"}, "keywords": {" Deploy <now> ", "rollback"}, "item_user_ids": {"U7654321", "U9999999"}, "itemUsers": {"U7654321", "zoe"},
	},
	"jira": {"project_keys": {"OPS", "WEB"}, "labels": {"Bug", "bug"}, "status_ids": {"10001", "10002"}},
}

// gitlabWords are what GitLab itself calls what was done to a merge request.
var gitlabWords = map[string]string{
	"merge_request_opened": "open", "merge_request_updated": "update", "merge_request_closed": "close", "merge_request_reopened": "reopen", "merge_request_merged": "merge",
	"merge_request_approved": "approved", "merge_request_unapproved": "unapproved", "merge_request_approval": "approval", "merge_request_unapproval": "unapproval",
}

// githubParts are what the payloads of GitHub are made of.
const githubParts = `"repository":{"full_name":"Acme/Web","owner":{"login":"acme"}},"sender":{"login":"ann","type":"User"},"label":{"name":"Bug"},"assignee":{"login":"Bob"},` +
	`"requested_reviewer":{"login":"Rob"},"requested_team":{"slug":"qa"}`

const githubThing = `{"number":7,"body":"cc @acme/ops","state":"changes_requested","name":"ci","conclusion":"failure","user":{"login":"Ann","type":"User"},"author":{"login":"ann"},"actor":{"login":"ann"},` +
	`"labels":[{"name":"Bug"}],"assignees":[{"login":"bob"}],"head":{"ref":"feature/x"},"base":{"ref":"main"},"head_branch":"feature/x","check_suite":{"head_branch":"feature/x"},` +
	`"pull_requests":[{"number":7,"labels":[{"name":"bug"}],"user":{"login":"ann"}}]}`

// githubSample is a payload of an event whose parts are called by their usual names.
func githubSample(event string) sample {
	kind, action := githubKind(event)
	things := map[string][]string{
		"issues": {"issue"}, "issue_comment": {"issue", "comment"}, "pull_request": {"pull_request"}, "pull_request_review": {"pull_request", "review"},
		"pull_request_review_comment": {"pull_request", "comment"}, "pull_request_review_thread": {"pull_request"}, "commit_comment": {"comment"},
		"discussion": {"discussion"}, "discussion_comment": {"discussion", "comment"},
	}[kind]
	if things == nil {
		things = []string{kind}
	}
	full, bare := []string{`"action":"` + action + `"`, githubParts}, []string{`"action":"` + action + `"`}
	for _, thing := range things {
		full = append(full, `"`+thing+`":`+githubThing)
	}
	switch {
	case event == "pull_request_merged":
		full[2], bare = strings.Replace(full[2], `{`, `{"merged":true,`, 1), append(bare, `"pull_request":{"merged":true}`)
	case strings.HasSuffix(event, "_mentioned"):
		bare = append(bare, `"`+things[0]+`":{"body":"@someone"}`)
	}
	switch kind {
	case "push", "create", "delete", "status", "code_scanning_alert":
		full = append(full, `"ref_type":"branch","pusher":{"name":"ann"},"branches":[{"name":"feature/x"}],"state":"failure","commits":[{"added":["docs/a.md"]}]`)
		if ref := "feature/x"; kind == "push" || kind == "code_scanning_alert" {
			full = append(full, `"ref":"refs/heads/`+ref+`"`)
		} else {
			full = append(full, `"ref":"`+ref+`"`)
		}
	}
	return sample{kind, "{" + strings.Join(full, ",") + "}", "{" + strings.Join(bare, ",") + "}"}
}

// githubKind is the header and action of an event.
func githubKind(event string) (kind, action string) {
	for _, one := range []string{
		"issue_comment", "issue", "pull_request_review_comment", "pull_request_review_thread", "pull_request_review", "pull_request", "commit_comment", "discussion_comment", "discussion",
		"check_run", "check_suite", "workflow_run", "workflow_job", "release", "dependabot_alert", "code_scanning_alert", "secret_scanning_alert",
	} {
		rest, ok := strings.CutPrefix(event, one+"_")
		if ok && one == "pull_request_review" && strings.HasPrefix(rest, "request") || event == "pull_request_review_requested" && one != "pull_request" {
			continue
		}
		if !ok {
			continue
		}
		if one == "issue" {
			one = "issues"
		}
		if action := map[string]string{"mentioned": "opened", "ready": "ready_for_review", "synchronized": "synchronize", "merged": "closed"}[rest]; action != "" {
			return one, action
		}
		if one == "issues" && rest == "created" {
			rest = "opened"
		}
		return one, rest
	}
	return event, ""
}

// gitlabSample is a payload of GitLab; its bodies say everything.
func gitlabSample(event string) sample {
	const thing = `"user":{"username":"Ann"},"user_username":"ann","project":{"path_with_namespace":"Acme/sub/web"},"labels":[{"title":"Bug"}],"ref":"feature/x","tag":false,"build_status":"failed","status":"failed",` +
		`"issue":{"labels":[{"title":"bug"}]},"merge_request":{"source_branch":"feature/x","target_branch":"main","labels":[{"title":"bug"}]},"commits":[{"added":["docs/a.md"]}]`
	words := map[string]string{"opened": "open", "updated": "update", "closed": "close", "reopened": "reopen", "merged": "merge", "created": "create", "deleted": "delete"}
	at := strings.LastIndex(event, "_")
	family, done := event, "open"
	if at > 0 && event != "merge_request" && event != "tag_push" && event != "bot_mentioned" {
		family, done = event[:at], event[at+1:]
		if words[done] != "" {
			done = words[done]
		}
	}
	noted := map[string]string{"issue_comment": "Issue", "merge_request_comment": "MergeRequest", "commit_comment": "Commit", "snippet_comment": "Snippet", "bot_mentioned": "Issue"}
	kind := map[string]string{"job": "build"}[family]
	if kind == "" {
		kind = family
	}
	attributes := `"action":"` + done + `"`
	if noted[family] != "" {
		kind, attributes = "note", `"action":"`+map[bool]string{true: "update", false: "create"}[done == "update"]+`","note":"@builder look","noteable_type":"`+noted[family]+`"` //nolint:misspell // GitLab's spelling
	}
	if kind == "issue" && done == "create" {
		attributes = `"action":"open"`
	}
	if slices.Contains([]string{"pipeline", "build", "deployment"}, kind) {
		status := map[string]string{"completed": "failed", "create": "created"}[done]
		if status == "" {
			status = done
		}
		body := strings.ReplaceAll(thing, `"failed"`, `"`+status+`"`)
		return sample{
			"", `{"object_kind":"` + kind + `",` + body + `,"object_attributes":{"status":"` + status + `","ref":"feature/x","tag":false}}`,
			`{"object_kind":"` + kind + `","status":"` + status + `","build_status":"` + status + `","object_attributes":{"status":"` + status + `"}}`,
		}
	}
	full := thing
	if kind == "push" || kind == "tag_push" {
		full = strings.Replace(thing, `"ref":"`, `"ref":"refs/heads/`, 1)
	}
	if event == "merge_request" {
		return sample{"", `{"object_kind":"merge_request",` + full + `,"object_attributes":{` + attributes + `,"source_branch":"feature/x","target_branch":"main"}}`, `{"object_kind":"merge_request"}`}
	}
	return sample{
		"", `{"object_kind":"` + kind + `","action":"` + done + `",` + full + `,"object_attributes":{` + attributes + `,"source_branch":"feature/x","target_branch":"main"}}`,
		`{"object_kind":"` + kind + `","action":"` + done + `","object_attributes":{` + attributes + `}}`,
	}
}

func linearSample(event string) sample {
	const issue = `"id":"I1","identifier":"ENG-12","title":"Please fix it","teamId":"T1","team":{"id":"T1","key":"ENG","name":"Engineering"},"projectId":"P1","project":{"id":"P1","name":"Launch"},` +
		`"stateId":"S1","state":{"id":"S1","name":"In Progress"},"labelIds":["L1","L2"],"labels":[{"id":"L1","name":"Old"},{"id":"L2","name":"Bug"}],"assigneeId":"U2","creatorId":"U1",` +
		`"descriptionData":"{\"type\":\"doc\",\"content\":[{\"type\":\"paragraph\",\"content\":[{\"type\":\"suggestion_userMentions\",\"attrs\":{\"id\":\"U3\",\"label\":\"cy\"}}]}]}"`
	update := func(changed, needs string) sample {
		return sample{"", `{"type":"Issue","action":"update","data":{` + issue + `},"updatedFrom":{` + changed + `}}`, `{"type":"Issue","action":"update","data":{` + needs + `},"updatedFrom":{` + changed + `}}`}
	}
	return map[string]sample{
		"issue_created":       {"", `{"type":"Issue","action":"create","data":{` + issue + `}}`, `{"type":"Issue","action":"create"}`},
		"issue_labeled":       update(`"labelIds":["L1"]`, `"labelIds":["L1","L2"]`),
		"issue_state_changed": update(`"stateId":"S0"`, ``),
		"issue_assigned":      update(`"assigneeId":null`, `"assigneeId":"somebody"`),
		"comment_created": {"", `{"type":"Comment","action":"create","data":{"id":"K1","body":"x","issueId":"I1","userId":"U1","issue":{` + issue + `},` +
			`"bodyData":"{\"type\":\"suggestion_userMentions\",\"attrs\":{\"id\":\"U3\"}}"}}`, `{"type":"Comment","action":"create","data":{}}`},
		"agent_session_created": {
			"", `{"type":"AgentSessionEvent","action":"created","agentSession":{"id":"A1","creatorId":"U1","issue":{` + issue + `},"comment":{"body":"hello"}}}`,
			`{"type":"AgentSessionEvent","action":"created","agentSession":{}}`,
		},
	}[event]
}

func slackSample(event string) sample {
	kind := map[string]string{"message_dm": "im", "message_im": "im", "message_mpim": "mpim", "message_posted": "channel"}[event]
	name := event
	if kind != "" {
		name = "message"
	}
	wrap := func(parts string) string {
		return `{"type":"event_callback","event_id":"Ev1","event":{"type":"` + name + `","channel_type":"` + kind + `",` + parts + `}}`
	}
	return sample{
		"", wrap(`"user":"U0123456","user_profile":{"name":"ann"},"channel":"C0123456","text":"please deploy &lt;now&gt; to prod","reaction":"thumbsup::skin-tone-5","item_user":"U7654321","item":{"type":"message","channel":"C0123456"}`),
		wrap(`"user":"U000000"`),
	}
}

func jiraSample(event string) sample {
	const issue = `"issue":{"key":"OPS-1","fields":{"project":{"key":"OPS"},"labels":["Bug","old"],"status":{"id":"10001"}}}`
	change := func(item, bare string) sample {
		return sample{"", `{"webhookEvent":"jira:issue_updated",` + issue + `,"changelog":{"items":[` + item + `]}}`, `{"webhookEvent":"jira:issue_updated","changelog":{"items":[` + bare + `]}}`}
	}
	return map[string]sample{
		"issue_created":  {"", `{"webhookEvent":"jira:issue_created",` + issue + `}`, `{"webhookEvent":"jira:issue_created"}`},
		"issue_labeled":  change(`{"field":"labels","fromString":"old","toString":"Bug old"}`, `{"field":"labels","fromString":"","toString":"new"}`),
		"status_changed": change(`{"field":"status","from":"10000","to":"10001"}`, `{"field":"status","to":"1"}`),
	}[event]
}

// Every key of every event has a payload that matches, one that does not, and one that
// lacks it. A key or event that is added to the table without them fails here.
func TestF6EveryKeyHasItsCases(t *testing.T) {
	t.Parallel()
	samples := map[string]func(string) sample{"github": githubSample, "gitlab": gitlabSample, "linear": linearSample, "slack": slackSample, "jira": jiraSample}
	pairs := 0
	for _, provider := range lineshaft.SendingProviders() {
		events, _ := catalog.Catalog(provider)
		for _, spec := range events {
			if spec.Silent != "" || strings.HasSuffix(spec.Event, "_*") {
				continue
			}
			s := samples[provider](spec.Event)
			if s.full == "" {
				t.Errorf("%s %s has no payloads", provider, spec.Event)
				continue
			}
			for _, body := range []string{s.full, s.bare} {
				if m := compile(t, provider, spec.Event, lineshaft.TriggerFilter{}); !json.Valid([]byte(body)) || !match(t, m, event(t, provider, s.header, body)) {
					t.Errorf("%s %s does not match %s, which is %q", provider, spec.Event, body, event(t, provider, s.header, body).Names())
				}
			}
			for _, key := range spec.Keys {
				pairs++
				checkKey(t, provider, spec.Event, key, s)
			}
		}
	}
	if pairs < 226 {
		t.Errorf("only %d pairs of event and key", pairs)
	}
}

func checkKey(t *testing.T, provider, name string, key catalog.KeySpec, s sample) {
	t.Helper()
	pair, known := values[provider][key.Name]
	if !known {
		t.Errorf("%s %s: %s has no cases", provider, name, key.Name)
		return
	}
	has, hasNot := pair[0], pair[1]
	if word := gitlabWords[name]; key.Name == "actions" && word != "" {
		has, hasNot = word, map[bool]string{true: "open", false: "merge"}[word == "merge"]
	}
	is := func(body, operator, value string) bool {
		choice := &lineshaft.Choice{In: []string{value}, Whole: key.Whole}
		if operator == "not_in" {
			choice = &lineshaft.Choice{NotIn: []string{value}, Whole: key.Whole}
		}
		return match(t, compile(t, provider, name, lineshaft.TriggerFilter{Sets: sets{key.Name: choice}}), event(t, provider, s.header, body))
	}
	family := provider + " " + strings.SplitN(name, "_", 3)[0] + "_" + strings.SplitN(name+"_", "_", 3)[1]
	unseen := slices.Contains(never, family+" "+key.Name)
	told := essential[provider+" "+name+" "+key.Name] != ""
	// What was done and how it ended are what these events are made of, so no payload lacks them.
	whole := provider == "gitlab" && (key.Name == "conclusions" || key.Name == "actions" && name != "merge_request")
	want := map[[3]string]bool{{"full", "in", has}: !unseen, {"full", "in", hasNot}: false, {"bare", "in", has}: whole}
	if !key.List {
		want[[3]string{"full", "not_in", has}], want[[3]string{"full", "not_in", hasNot}] = false, !unseen
		want[[3]string{"bare", "not_in", has}] = (key.Unseen == "" || told) && !whole
	}
	for _, asked := range slices.SortedFunc(maps.Keys(want), func(a, b [3]string) int { return strings.Compare(strings.Join(a[:], " "), strings.Join(b[:], " ")) }) {
		body := map[string]string{"full": s.full, "bare": s.bare}[asked[0]]
		if got := is(body, asked[1], asked[2]); got != want[asked] {
			t.Errorf("%s %s: %s %s %q on %s: %v", provider, name, key.Name, asked[1], asked[2], body, got)
		}
	}
}
