package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

func TestF6WhichEventsATriggerIsAbout(t *testing.T) {
	t.Parallel()
	merged := `{"action":"closed","pull_request":{"merged":true}}`
	for _, c := range []struct {
		provider, event, header, body string
		want                          bool
	}{
		{"github", "issue_opened", "issues", `{"action":"opened"}`, true},
		{"github", "issue_opened", "issues", `{"action":"closed"}`, false},
		{"github", "issue_opened", "pull_request", `{"action":"opened"}`, false},
		{"github", "issue_created", "issues", `{"action":"opened"}`, true},
		{"github", "issue_created", "issues", `{"action":"created"}`, false},
		{"github", "issue_*", "issues", `{"action":"new_in_2030"}`, true},
		{"github", "issue_*", "issues", `{}`, true},
		{"github", "issue_*", "issue_comment", `{"action":"created"}`, false},
		{"github", "issue_comment_*", "issue_comment", `{"action":"created"}`, true},
		{"github", "pull_request_*", "pull_request_review", `{"action":"submitted"}`, false},
		{"github", "pull_request_*", "pull_request", `{"action":"opened"}`, true},
		{"github", "pull_request_closed", "pull_request", merged, true},
		{"github", "pull_request_merged", "pull_request", merged, true},
		{"github", "pull_request_merged", "pull_request", `{"action":"closed","pull_request":{"merged":false}}`, false},
		{"github", "pull_request_merged", "pull_request", `{"action":"merged"}`, true},
		{"github", "pull_request_synchronized", "pull_request", `{"action":"synchronize"}`, true},
		{"github", "pull_request_ready", "pull_request", `{"action":"ready_for_review"}`, true},
		{"github", "push", "push", `{}`, true},
		{"github", "push", "Push Hook", `{"object_kind":"push"}`, false},
		{"gitlab", "merge_request", "Merge Request Hook", `{"object_attributes":{"action":"open"}}`, true},
		{"gitlab", "merge_request", "Note Hook", about(`{"object_kind":"note","object_attributes":{"about":"MergeRequest"}}`), false},
		{"gitlab", "merge_request_opened", "Merge Request Hook", `{"object_attributes":{"action":"open"}}`, true},
		{"gitlab", "merge_request_opened", "Merge Request Hook", `{"object_attributes":{"action":"update"}}`, false},
		{"gitlab", "push", "Push Hook", `{}`, true},
	} {
		m := compile(t, c.provider, c.event, lineshaft.TriggerFilter{})
		if got := match(t, m, event(t, c.provider, c.header, c.body)); got != c.want {
			t.Errorf("%s on %s %s: %v", c.event, c.header, c.body, got)
		}
	}
	// The same event of the other forge is another one.
	if compile(t, "gitlab", "push", lineshaft.TriggerFilter{}).Match(event(t, "github", "push", `{}`)) {
		t.Error("a trigger of gitlab matches a push to github")
	}
}

const (
	pullRequest = `{"action":"opened","pull_request":{"user":{"login":"Ann"},"head":{"ref":"feature/x"},"base":{"ref":"main"},
		"labels":[{"name":"Bug"},{"name":"help wanted"},{"name":7},null]},"sender":{"login":"bob"},"repository":{"full_name":"Acme/Web"}}`
	labeled = `{"action":"labeled","label":{"name":"ready"},"issue":{"user":{"login":"ann"},"labels":[{"name":"bug"},{"name":"ready"}]}}`
	push    = `{"ref":"refs/heads/release/1","pusher":{"name":"carl"},"commits":[{"added":["docs/a.md","x.go"],"modified":[],"removed":["src/deep/old.go"]},
		{"added":"odd","modified":["x.go"]},null]}`
	pushTag  = `{"ref":"refs/tags/v1","pusher":{"name":"carl"},"commits":[]}`
	suite    = `{"action":"completed","check_suite":{"conclusion":"failure","head_branch":"main"}}`
	mergeReq = `{"object_kind":"merge_request","user":{"username":"ann"},"project":{"path_with_namespace":"acme/sub/web"},"labels":[{"title":"API"}],
		"object_attributes":{"action":"open","source_branch":"fix","target_branch":"main"}}`
	pipeline = `{"object_kind":"pipeline","user":{"username":"ann"},"object_attributes":{"status":"failed","ref":"main","tag":false}}`
)

func TestF6Filters(t *testing.T) {
	t.Parallel()
	type filter = lineshaft.TriggerFilter
	for _, c := range []struct {
		provider, event, header, body string
		filter                        filter
		want                          bool
	}{
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"repos": in("x/y", "acme/web")}}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"repos": in("acme/*")}}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"repos": in("acme/we")}}, false},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"repos": notIn("ACME/web")}}, false},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"labels": in("bug")}}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"labels": in("7")}}, false},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"labels": &lineshaft.Choice{In: []string{"bug"}, NotIn: []string{"help wanted"}}}}, false},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"labels": notIn("wip")}}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"labels": &lineshaft.Choice{In: []string{}, NotIn: []string{"wip"}}}}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"authors": in("ann")}}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"authors": in("bob")}}, false},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"branches": in("feature/*")}}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"branches": in("*")}}, false},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"branches": in("Feature/x")}}, false},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"base_branches": in("refs/heads/main")}}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Sets: sets{"base_branches": notIn("main", "next")}}, false},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Payload: json.RawMessage(`{"sender":{"login":["bob"]}}`)}, true},
		{"github", "pull_request_*", "pull_request", pullRequest, filter{Payload: json.RawMessage(`{"sender":{"login":["ann"]}}`)}, false},
		{"github", "issue_labeled", "issues", labeled, filter{Sets: sets{"labels": in("ready")}}, true},
		{"github", "issue_labeled", "issues", labeled, filter{Sets: sets{"labels": in("bug")}}, false},
		{"github", "push", "push", push, filter{Sets: sets{"branches": in("release/*"), "authors": in("Carl")}}, true},
		{"github", "push", "push", push, filter{Sets: sets{"paths": in("docs/**")}}, true},
		{"github", "push", "push", push, filter{Sets: sets{"paths": in("src/*")}}, false},
		{"github", "push", "push", push, filter{Sets: sets{"paths": in("**/old.go")}}, true},
		{"github", "push", "push", push, filter{Sets: sets{"paths": in("odd")}}, false},
		{"github", "push", "push", push, filter{Sets: sets{"paths": notIn("docs/**")}}, false},
		{"github", "push", "push", push, filter{Sets: sets{"paths": notIn("web/**")}}, true},
		{"github", "push", "push", pushTag, filter{Sets: sets{"branches": in("**")}}, false},
		{"github", "push", "push", pushTag, filter{Sets: sets{"branches": notIn("main")}}, true},
		{"github", "push", "push", pushTag, filter{Sets: sets{"paths": notIn("**")}}, true},
		{"github", "check_suite_completed", "check_suite", suite, filter{Sets: sets{"conclusions": in("failure", "timed_out"), "branches": in("main")}}, true},
		{"github", "check_suite_completed", "check_suite", suite, filter{Sets: sets{"conclusions": notIn("FAILURE")}}, false},
		{"gitlab", "merge_request", "Merge Request Hook", mergeReq, filter{Sets: sets{"repos": in("acme/sub/web"), "labels": in("api"), "authors": in("ann")}}, true},
		{"gitlab", "merge_request", "Merge Request Hook", mergeReq, filter{Sets: sets{"repos": in("acme/*")}}, false},
		{"gitlab", "merge_request", "Merge Request Hook", mergeReq, filter{Sets: sets{"repos": in("acme/**")}}, true},
		{"gitlab", "merge_request_opened", "Merge Request Hook", mergeReq, filter{Sets: sets{"branches": in("fix"), "base_branches": in("main")}}, true},
		{"gitlab", "merge_request_opened", "Merge Request Hook", mergeReq, filter{Sets: sets{"base_branches": in("fix")}}, false},
		{"gitlab", "pipeline_completed", "Pipeline Hook", pipeline, filter{Sets: sets{"conclusions": in("failed"), "branches": in("main")}}, true},
		{"gitlab", "pipeline_completed", "Pipeline Hook", strings.Replace(pipeline, "false", "true", 1), filter{Sets: sets{"branches": in("main")}}, false},
		{"gitlab", "pipeline_*", "Pipeline Hook", strings.Replace(pipeline, "failed", "running", 1), filter{Sets: sets{"conclusions": notIn("failed")}}, true},
		{"github", "issue_*", "issues", `{}`, filter{Sets: sets{"repos": in("a/b")}}, false},
		{"github", "issue_*", "issues", `{}`, filter{Sets: sets{"repos": notIn("a/b"), "labels": notIn("x"), "authors": notIn("y")}}, true},
	} {
		m := compile(t, c.provider, c.event, c.filter)
		if got := match(t, m, event(t, c.provider, c.header, c.body)); got != c.want {
			text, _ := json.Marshal(c.filter)
			t.Errorf("%s %s on %s: %v", c.event, text, c.body, got)
		}
	}
}

func TestF6RefusedTriggers(t *testing.T) {
	t.Parallel()
	type filter = lineshaft.TriggerFilter
	for _, c := range []struct {
		provider, event string
		filter          filter
		field, says     string
	}{
		{"webhook", "received", filter{}, "provider", "github, gitlab"},
		{"slack", "app_mentioned", filter{}, "event", "did you mean app_mention?"},
		{"slack", "app_*", filter{}, "event", "not an event of slack"},
		{"jira", "sprint_closed", filter{}, "event", "status_changed"},
		{"slack", "app_mention", filter{Sets: sets{"channel": in("C1")}}, "filter.channel", "there are channels"},
		{"slack", "app_mention", filter{Sets: sets{"emojis": in("x")}}, "filter.emojis", "reaction_added"},
		{"slack", "app_mention", filter{Sets: sets{"channels": in("#ops"), "channel_ids": in("C1")}}, "filter.channels", "channel_ids"},
		{"slack", "app_mention", filter{Sets: sets{"channels": notIn("#ops")}}, "filter.channels", "plain list"},
		{"slack", "app_mention", filter{Sets: sets{"keywords": in("  ")}}, "filter.keywords", "says nothing"},
		{"slack", "app_mention", filter{Sets: sets{"keywords": both("Deploy", " deploy ")}}, "filter.keywords", "both in in and in not_in"},
		{"slack", "reaction_added", filter{Sets: sets{"emojis": both(":thumbsup::skin-tone-3:", "thumbsup")}}, "filter.emojis", "both in in and in not_in"},
		{"linear", "issue_created", filter{Sets: sets{"labels": both("Bug", "bug")}}, "filter.labels", "both in in and in not_in"},
		{"linear", "issue_created", filter{Sets: sets{"mentioned_user_ids": both("AB", "ab")}}, "filter.mentioned_user_ids", "both in in and in not_in"},
		{"github", "push", filter{Sets: sets{"branches": both("refs/heads/main", "main")}}, "filter.branches", "both in in and in not_in"},
		{"github", "pull_request_opened", filter{Sets: sets{"authors": both("Ann", "ann")}}, "filter.authors", "both in in and in not_in"},
		{"github", "pull_request_opened", filter{Sets: sets{"pr_numbers": in("7")}}, "filter.pr_numbers", "whole numbers"},
		{"github", "pull_request_opened", filter{Sets: sets{"pr_numbers": {In: []string{"-7"}, Whole: true}}}, "filter.pr_numbers", "such as 42"},
		{"github", "pull_request_opened", filter{Sets: sets{"labels": {In: []string{"7"}, Whole: true}}}, "filter.labels", "quotes"},
		{"github", "pull_request_opened", filter{Sets: sets{"base_branches": in("main"), "baseBranches": in("main")}}, "filter.baseBranches", "keep one"},
		{"github", "pull_request_opened", filter{Sets: sets{"prNumbers": {In: []string{"7"}, Whole: true}, "pr_numbers": {In: []string{"8"}, Whole: true}}}, "filter.prNumbers", "keep one"},
		{"github", "pull_request_opened", filter{Sets: sets{"reviewers": in("ann")}}, "filter.reviewers", "pull_request_review_requested"},
		{"github", "pull_request_review_submitted", filter{Sets: sets{"review_states": in("fine")}}, "filter.review_states", "approved"},
		{"github", "pull_request_review_submitted", filter{Sets: sets{"review_states": both("CHANGES_REQUESTED", "changes requested")}}, "filter.review_states", "both in in and in not_in"},
		{"gitlab", "merge_request", filter{Sets: sets{"actions": in("opened")}}, "filter.actions", "open"},
		{"gitlab", "merge_request", filter{Sets: sets{"repos": both("A/b", "a/B")}}, "filter.repos", "both in in and in not_in"},
		{"gitlab", "bot_mentioned", filter{Sets: sets{"mentioned": in("ann")}}, "filter.mentioned", "repos"},
		{"github", "issue_opend", filter{}, "event", "did you mean issue_opened"},
		{"github", "pull_request", filter{}, "event", "did you mean pull_request_"},
		{"github", "merge_request", filter{}, "event", "not an event of github"},
		{"gitlab", "pull_request_opened", filter{}, "event", "did you mean merge_request_opened"},
		{"github", "something else entirely", filter{}, "event", "pull_request_review"},
		{"github", "*", filter{}, "event", "issue_*"},
		{"github", "pull_req*", filter{}, "event", "pull_request_*"},
		{"github", "push_*", filter{}, "event", "star"},
		{"github", "issue_opened", filter{Sets: sets{"paths": in("a")}}, "filter.paths", "they go with pull_request_*, push"},
		{"github", "issue_opened", filter{Sets: sets{"base_branches": in("a")}}, "filter.base_branches", "pull_request_*"},
		{"github", "check_suite_rerequested", filter{Sets: sets{"labels": in("a")}}, "filter.labels", "issue_*"},
		{"github", "check_suite_requested", filter{Sets: sets{"conclusions": in("success")}}, "filter.conclusions", "check_suite_completed"},
		{"github", "check_suite_completed", filter{Sets: sets{"conclusions": in("failed")}}, "filter.conclusions", "there are failure"},
		{"gitlab", "pipeline_completed", filter{Sets: sets{"conclusions": in("failure")}}, "filter.conclusions", "there are failed"},
		{"github", "push", filter{Sets: sets{"repos": in("web")}}, "filter.repos", "owner/name"},
		{"github", "push", filter{Sets: sets{"repos": notIn("https://github.com/acme/web")}}, "filter.repos", "owner/name"},
		{"github", "push", filter{Sets: sets{"repos": in("acme/")}}, "filter.repos", "owner/name"},
		{"github", "push", filter{Sets: sets{"authors": in("@ann")}}, "filter.authors", "such as ann,"},
		{"github", "push", filter{Sets: sets{"authors": in("*")}}, "filter.authors", "octocat"},
		{"github", "push", filter{Sets: sets{"paths": in("/src/a.go")}}, "filter.paths", "write src/a.go"},
		{"github", "push", filter{Sets: sets{"paths": in("./src/a.go")}}, "filter.paths", "write src/a.go"},
		{"github", "push", filter{Sets: sets{"paths": in("src/")}}, "filter.paths", "write src/**"},
		{"github", "push", filter{Payload: json.RawMessage(`{"ref":"main"}`)}, "filter.payload.ref", ""},
		{"github", "push", filter{Payload: json.RawMessage(`[`)}, "filter.payload", ""},
	} {
		_, err := catalog.Compile(lineshaft.Trigger{Provider: c.provider, Event: c.event, Filter: c.filter}, "")
		pub, ok := errors.AsType[*lineshaft.Error](err)
		if !ok || pub.Code != lineshaft.CodeInvalidRequest || pub.Field != c.field || !strings.Contains(pub.Message, c.says) {
			t.Errorf("%s %s: %v, want field %s and %q", c.provider, c.event, err, c.field, c.says)
		}
	}
	// Files whose names begin with a dot are no mistake.
	compile(t, "github", "push", filter{Sets: sets{"paths": in(".github/**", "..odd")}})
}

func TestW16Explain(t *testing.T) {
	t.Parallel()
	m := compile(t, "github", "pull_request_merged", lineshaft.TriggerFilter{Payload: json.RawMessage(`{"action":["closed"]}`), Sets: sets{"labels": &lineshaft.Choice{In: []string{"bug"}, NotIn: []string{"wip"}}, "authors": in("bob")}})
	var got []string
	for _, check := range m.Explain(event(t, "github", "pull_request", pullRequest)) {
		verdict := "fails"
		if check.Passed {
			verdict = "passes"
		}
		got = append(got, strings.Join([]string{check.Path, check.Operator, string(check.Expected), string(check.Seen), verdict}, " "))
	}
	want := []string{
		`event in ["pull_request_merged"] "pull_request_opened" fails`,
		`labels in ["bug"] ["Bug","help wanted"] passes`,
		`labels not_in ["wip"] ["Bug","help wanted"] passes`,
		`authors in ["bob"] "Ann" fails`,
		`payload.action in ["closed"] "opened" fails`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("checks:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What a bot writes has the name that the trigger wants: the explanation says what it is.
func TestW16ExplainWhatIsLeftAside(t *testing.T) {
	t.Parallel()
	m := compile(t, "slack", "app_mention", lineshaft.TriggerFilter{})
	checks := m.Explain(event(t, "slack", "", `{"type":"event_callback","event":{"type":"app_mention","bot_id":"B1","text":"hi"}}`))
	if seen := string(checks[0].Seen); checks[0].Passed || !strings.Contains(seen, "app_mention (from a program") {
		t.Errorf("passed %t, seen %s", checks[0].Passed, seen)
	}
	checks = m.Explain(event(t, "slack", "", `{"type":"event_callback","event":{"type":"app_mention","user":"U1","text":"hi"}}`))
	if seen := string(checks[0].Seen); !checks[0].Passed || seen != `"app_mention"` {
		t.Errorf("of a person: passed %t, seen %s", checks[0].Passed, seen)
	}
}

// A push of many files is shown in part, and one without any as nothing.
func TestW16ExplainLongLists(t *testing.T) {
	t.Parallel()
	files := strings.TrimSuffix(strings.Repeat(`"f",`, 50), ",")
	for i := range 50 {
		files = strings.Replace(files, `"f"`, `"f`+string(rune('0'+i/10))+string(rune('0'+i%10))+`"`, 1)
	}
	m := compile(t, "github", "push", lineshaft.TriggerFilter{Sets: sets{"paths": in("x")}})
	checks := m.Explain(event(t, "github", "push", `{"commits":[{"added":[`+files+`]}]}`))
	var seen []string
	if err := json.Unmarshal(checks[1].Seen, &seen); err != nil || len(seen) != 21 || seen[20] != "… (50 in all)" {
		t.Errorf("seen: %s (%v)", checks[1].Seen, err)
	}
	if checks := m.Explain(event(t, "github", "push", `{}`)); checks[1].Seen != nil || checks[1].Passed {
		t.Errorf("nothing is seen as %s", checks[1].Seen)
	}
}

func TestMatchingAllocatesLittle(t *testing.T) { //nolint:paralleltest // allocations are counted for the whole process
	m := compile(t, "github", "pull_request_*", lineshaft.TriggerFilter{Sets: sets{"repos": in("acme/*"), "labels": in("bug"), "branches": in("feature/**")}})
	other := compile(t, "github", "issue_opened", lineshaft.TriggerFilter{Sets: sets{"labels": in("bug")}})
	e := event(t, "github", "pull_request", pullRequest)
	if !m.Match(e) {
		t.Fatal("does not match")
	}
	if n := testing.AllocsPerRun(100, func() { m.Match(e); other.Match(e) }); n > 0 {
		t.Errorf("%v allocations to match an event that was read", n)
	}
}
