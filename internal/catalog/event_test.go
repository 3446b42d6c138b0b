package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

func TestF6GitHubEventNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ header, body, want string }{
		{"issues", `{"action":"opened"}`, "issue_opened"},
		{"issues", `{"action":"new_in_2030"}`, "issue_new_in_2030"},
		{"issues", `{}`, "issue"},
		{"issues", `{"action":7}`, "issue"},
		{"issue_comment", `{"action":"created"}`, "issue_comment_created"},
		{"pull_request", `{"action":"closed","pull_request":{"merged":false}}`, "pull_request_closed"},
		{"pull_request", `{"action":"closed","pull_request":{"merged":true}}`, "pull_request_closed pull_request_merged"},
		{"pull_request", `{"action":"labeled","pull_request":{"merged":true}}`, "pull_request_labeled"},
		{"pull_request", `{"action":"closed","pull_request":null}`, "pull_request_closed"},
		{"pull_request_review", `{"action":"submitted"}`, "pull_request_review_submitted"},
		{"push", `{"action":"opened"}`, "push"},
		{"check_suite", `{"action":"completed"}`, "check_suite_completed"},
		{"workflow_run", `{"action":"completed"}`, "workflow_run_completed"},
		{"ping", `{"zen":"x"}`, "ping"},
		{"", `{"action":"opened"}`, ""},
		{"issues", `[]`, "issue"},
		{"issues", `null`, "issue"},
	} {
		if got := strings.Join(event(t, lineshaft.ProviderGitHub, c.header, c.body).Names(), " "); got != c.want {
			t.Errorf("%s %s is called %q, want %q", c.header, c.body, got, c.want)
		}
	}
}

func TestF6GitLabEventNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ header, body, want string }{
		{"Push Hook", `{"object_kind":"push"}`, "push"},
		{"System Hook", `{"object_kind":"push"}`, "push"},
		{"Push Hook", `{}`, "push"},
		{"Tag Push Hook", `{"object_kind":"tag_push"}`, "tag_push"},
		{"Merge Request Hook", `{"object_kind":"merge_request","object_attributes":{"action":"open"}}`, "merge_request_opened"},
		{"Merge Request Hook", `{"object_kind":"merge_request","object_attributes":{"action":"merge"}}`, "merge_request_merged"},
		{"Merge Request Hook", `{"object_attributes":{"action":"approved"}}`, "merge_request_approved"},
		{"Merge Request Hook", `{"object_kind":"merge_request"}`, "merge_request"},
		{"Confidential Issue Hook", `{"object_attributes":{"action":"close"}}`, "issue_closed"},
		{"Note Hook", about(`{"object_kind":"note","object_attributes":{"about":"Issue","action":"create"}}`), "issue_comment_created"},
		{"Note Hook", about(`{"object_kind":"note","object_attributes":{"about":"MergeRequest"}}`), "merge_request_comment_created"},
		{"Note Hook", about(`{"object_kind":"note","object_attributes":{"about":"Commit","action":"update"}}`), "commit_comment_updated"},
		{"Note Hook", about(`{"object_kind":"note","object_attributes":{"about":"Snippet"}}`), "snippet_comment_created"},
		{"Note Hook", `{"object_kind":"note"}`, "Note Hook"},
		{"Pipeline Hook", `{"object_kind":"pipeline","object_attributes":{"status":"failed"}}`, "pipeline_completed"},
		{"Pipeline Hook", `{"object_kind":"pipeline","object_attributes":{"status":"running"}}`, "pipeline_running"},
		{"Job Hook", `{"build_status":"success"}`, "job_completed"},
		{"Job Hook", `{"object_kind":"build","build_status":"pending"}`, "job_pending"},
		{"Job Hook", `{"object_kind":"build"}`, "job"},
		{"Deployment Hook", `{"object_kind":"deployment","status":"canceled"}`, "deployment_completed"},
		{"Release Hook", `{"object_kind":"release","action":"create"}`, "release_created"},
		{"Wiki Page Hook", `{"object_kind":"wiki_page"}`, "Wiki Page Hook"},
	} {
		if got := strings.Join(event(t, lineshaft.ProviderGitLab, c.header, c.body).Names(), " "); got != c.want {
			t.Errorf("%s %s is called %q, want %q", c.header, c.body, got, c.want)
		}
	}
}

func TestF6OtherProvidersHaveNoEvents(t *testing.T) {
	t.Parallel()
	if got := event(t, "stripe", "issues", `{"action":"opened"}`).Names(); !slices.Equal(got, []string{"issues"}) {
		t.Errorf("stripe has the event %q", got)
	}
	for provider, want := range map[string]string{"github": "X-GitHub-Event", "gitlab": "X-Gitlab-Event", "linear": "Linear-Event", "slack": "", "stripe": ""} {
		if got := catalog.Header(provider); got != want {
			t.Errorf("header of %s is %q", provider, got)
		}
	}
	if got := catalog.Events("stripe"); len(got) != 0 {
		t.Errorf("stripe has %q", got)
	}
}

func TestF6Repo(t *testing.T) {
	t.Parallel()
	if got := event(t, "github", "issues", `{"repository":{"full_name":"acme/web"}}`).Repo(); got != "acme/web" {
		t.Errorf("repository is %q", got)
	}
	if got := event(t, "gitlab", "Push Hook", `{"project":{"path_with_namespace":"acme/sub/web"}}`).Repo(); got != "acme/sub/web" {
		t.Errorf("repository is %q", got)
	}
	if got := event(t, "github", "ping", `{"repository":{"full_name":"acme/web"}}`).Repo(); got != "" {
		t.Errorf("repository of an event that is not known is %q", got)
	}
}

// Every name that is listed can be used in a trigger, and every published one is listed.
func TestF6EventsAreKnown(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"github", "gitlab"} {
		names := catalog.Events(provider)
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%s: not sorted, or some twice: %q", provider, names)
		}
		for _, name := range names {
			trigger := lineshaft.Trigger{Provider: provider, Event: name}
			if err := trigger.Validate("trigger"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			compile(t, provider, name, lineshaft.TriggerFilter{Sets: sets{"repos": in("a/b")}})
		}
	}
	for _, name := range strings.Fields("issue_* issue_created issue_labeled issue_assigned pull_request_* pull_request_opened pull_request_ready pull_request_closed " +
		"pull_request_merged pull_request_labeled pull_request_synchronized pull_request_reopened pull_request_assigned pull_request_review_requested " +
		"pull_request_review_submitted push check_suite_completed workflow_run_completed check_run_rerequested check_suite_rerequested") {
		if !slices.Contains(catalog.Events("github"), name) {
			t.Errorf("github has no %s", name)
		}
	}
	for _, name := range []string{"merge_request", "merge_request_opened", "push", "pipeline_completed", "issue_opened"} {
		if !slices.Contains(catalog.Events("gitlab"), name) {
			t.Errorf("gitlab has no %s", name)
		}
	}
}
