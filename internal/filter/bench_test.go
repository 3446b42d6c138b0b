package filter_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// githubBody is shaped like the largest pull_request deliveries of GitHub: 27 KB,
// mostly addresses, two thirds of it repositories and users. The variable
// FILTER_BENCH_BODY names a file to measure with instead.
func githubBody(tb testing.TB) []byte {
	tb.Helper()
	if path := os.Getenv("FILTER_BENCH_BODY"); path != "" {
		body, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		return body
	}
	user := func(login string) map[string]any {
		out := map[string]any{"login": login, "id": 21031067, "node_id": "MDQ6VXNlcjIxMDMxMDY3", "gravatar_id": "", "type": "User", "site_admin": false}
		for _, name := range strings.Fields("avatar followers following gists starred subscriptions organizations repos events received_events html") {
			out[name+"_url"] = "https://api.github.com/users/" + login + "/" + name + "{/other_user}"
		}
		return out
	}
	repository := map[string]any{
		"id": 186853002, "name": "hello-world", "full_name": "acme/hello-world", "private": false, "fork": false, "description": nil,
		"default_branch": "main", "stargazers_count": 0, "language": nil, "topics": []string{"go", "webhooks"}, "owner": user("acme"), "license": nil,
	}
	for _, name := range strings.Fields("archive assignees blobs branches collaborators comments commits compare contents contributors deployments " +
		"downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels languages merges milestones " +
		"notifications pulls releases stargazers statuses subscribers subscription tags teams trees git ssh clone svn html") {
		repository[name+"_url"] = "https://api.github.com/repos/acme/hello-world/" + name + "{/sha}"
	}
	var labels []map[string]any
	for i := range 8 {
		labels = append(labels, map[string]any{"id": 1362934389 + i, "name": fmt.Sprintf("area/%d", i), "color": "d73a4a", "default": i == 0, "description": nil})
	}
	side := func(ref string) map[string]any {
		return map[string]any{"label": "acme:" + ref, "ref": ref, "sha": "ec26c3e57ca3a959ca5aad62de7213c562f8c821", "user": user("acme"), "repo": repository}
	}
	pull := map[string]any{
		"id": 279147437, "number": 2, "state": "open", "locked": false, "title": "Update the README with new information.", "user": user("octocat"),
		"body": "This is a pretty simple change:\r\n\r\n* one\r\n* \"two\"\r\n", "labels": labels, "draft": false, "merged": false, "milestone": nil,
		"assignees": []any{user("hubot"), user("monalisa"), user("mona"), user("lisa"), user("defunkt"), user("mojombo"), user("pjhyett")}, "requested_reviewers": []any{user("reviewer"), user("second-reviewer")}, "head": side("changes"), "base": side("main"),
		"created_at": "2019-05-15T15:20:33Z", "comments": 0, "commits": 1, "additions": 1, "deletions": 1, "changed_files": 1, "mergeable": nil,
	}
	body, err := json.Marshal(map[string]any{"action": "opened", "number": 2, "pull_request": pull, "repository": repository, "sender": user("octocat")})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// benchFilters makes n filters of one sort each; all of them fit a pull request.
func benchFilters() map[string]func(i int) string {
	return map[string]func(i int) string{
		"usual": func(i int) string { // own repository, common actions, some labels
			return fmt.Sprintf(`{"action":["opened","synchronize"],"repository":{"full_name":["acme/repo-%d"]},"pull_request":{"draft":[false],"labels":{"name":["area/%d"]}}}`, i, i%50)
		},
		"same": func(int) string {
			return `{"action":["opened"],"pull_request":{"draft":[false],"base":{"ref":["main"]},"labels":{"name":["area/7"]}}}`
		},
		"allmatch": func(i int) string { // each its own, and all to be evaluated and found
			return fmt.Sprintf(`{"action":["opened"],"pull_request":{"base":{"ref":["main"]},"user":{"login":{"not_in":["bot-%d"]}}}}`, i)
		},
		"unindexed": func(i int) string { // nothing to look them up by
			return fmt.Sprintf(`{"pull_request":{"head":{"repo":{"full_name":{"not_in":["acme/fork-%d","acme/hello-world"]}}}},"sender":{"login":{"exists":true}}}`, i)
		},
		"labels": func(i int) string { // inside of an array of objects, half of the sets known
			return fmt.Sprintf(`{"pull_request":{"labels":{"name":["area/%d"],"default":[false]},"number":{"not_in":[%d]}}}`, i%16, i)
		},
		"paths": func(i int) string { // each a path of its own
			return fmt.Sprintf(`{"pull_request":{"field_%d":{"exists":false},"id":[279147437,%d]}}`, i, i)
		},
	}
}

func benchSet(tb testing.TB, n int, text func(i int) string) *filter.Set {
	tb.Helper()
	filters := make([]*filter.Filter, n)
	for i := range filters {
		filters[i] = compile(tb, text(i))
	}
	return filter.NewSet(filters)
}

// BenchmarkB4 parses a body and matches it against automations; "x" is the median
// time as a multiple of the median of json.Unmarshal into any. The two take turns,
// so that a busy machine slows both.
func BenchmarkB4(b *testing.B) {
	body := githubBody(b)
	for _, sort := range []string{"usual", "same", "allmatch", "unindexed", "labels", "paths"} {
		for _, n := range []int{1, 100, 1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/automations=%d", sort, n), func(b *testing.B) {
				set := benchSet(b, n, benchFilters()[sort])
				var anchor, match []time.Duration
				var found []int
				for b.Loop() {
					start := time.Now()
					var value any
					if err := json.Unmarshal(body, &value); err != nil {
						b.Fatal(err)
					}
					between := time.Now()
					doc, err := filter.Parse(body)
					if err != nil {
						b.Fatal(err)
					}
					found = set.Match(doc, found)
					anchor, match = append(anchor, between.Sub(start)), append(match, time.Since(between))
				}
				slices.Sort(anchor)
				slices.Sort(match)
				own, unit := match[len(match)/2], anchor[len(anchor)/2]
				b.ReportMetric(float64(own), "ns/op")
				b.ReportMetric(float64(own)/float64(unit), "x")
				b.ReportMetric(float64(len(found)), "found")
			})
		}
	}
}

func BenchmarkB4Anchor(b *testing.B) {
	body := githubBody(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	body := githubBody(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := filter.Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewSet(b *testing.B) {
	filters := make([]*filter.Filter, 10_000)
	for i := range filters {
		filters[i] = compile(b, benchFilters()["usual"](i))
	}
	for b.Loop() {
		filter.NewSet(filters)
	}
}

//nolint:paralleltest // AllocsPerRun counts for the whole process
func TestB4MatchingDoesNotAllocatePerValue(t *testing.T) {
	body := githubBody(t)
	if len(body) < 26_000 || len(body) > 28_000 {
		t.Fatalf("the body has %d bytes; B4 is about 27 KB", len(body))
	}
	if n := testing.AllocsPerRun(50, func() { parse(t, string(body)) }); n > 4 {
		t.Errorf("%v allocations to parse a body", n)
	}
	doc := parse(t, string(body))
	f := compile(t, benchFilters()["allmatch"](1))
	if n := testing.AllocsPerRun(50, func() { f.Match(doc) }); n > 0 {
		t.Errorf("%v allocations to match a filter", n)
	}
}
