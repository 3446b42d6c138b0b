package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	smallBody = 2_000
	largeBody = 27_000
)

// issueBody is a delivery of about 2 KB: someone opened an issue.
func issueBody() []byte {
	body := map[string]any{
		"action": "opened",
		"issue": map[string]any{
			"number": 118, "title": "The cider press stops after the second batch", "state": "open", "comments": 0, "labels": []any{label(1), label(2)},
			"user": map[string]any{"login": "fern", "id": 4021, "type": "User"}, "created_at": "2025-03-02T09:14:11Z",
		},
		"repository": map[string]any{"id": 77120, "full_name": "acme/orchard", "private": true, "default_branch": "main", "topics": []string{"fruit", "press"}},
		"sender":     map[string]any{"login": "fern", "id": 4021, "type": "User"},
		"text":       "",
	}
	return padded(body, body, "text", smallBody)
}

// pullBody is a delivery of about 27 KB, in the shape of GitHub's when a
// pull request is opened: mostly addresses, and users and repositories repeated
// many times. The id is where Stripe has it; others ignore it.
func pullBody() []byte {
	reviewers := []any{}
	for _, name := range []string{"alder", "birch", "cedar", "elm", "hazel", "larch"} {
		reviewers = append(reviewers, person(name))
	}
	labels := []any{}
	for i := range 8 {
		labels = append(labels, label(i))
	}
	pull := map[string]any{
		"number": 731, "state": "open", "draft": false, "merged": false, "title": "Sort apples by weight before pressing", "user": person("fern"),
		"labels": labels, "requested_reviewers": reviewers, "head": side("weights"), "base": side("main"), "milestone": nil,
		"additions": 214, "deletions": 87, "changed_files": 9, "created_at": "2025-03-02T09:14:11Z", "body": "",
	}
	body := map[string]any{
		"id": bodyID, "action": "opened", "number": 731, "pull_request": pull,
		"repository": repository(), "sender": person("fern"), "installation": map[string]any{"id": 90211},
	}
	return padded(body, pull, "body", largeBody)
}

// padded fills a text somewhere in a body until it has a size.
func padded(body, at map[string]any, field string, size int) []byte {
	sentence := "The press was cleaned on Monday and \"stops\" again after two batches.\r\n"
	text := encoded(body)
	if missing := size - len(text); missing > 0 {
		at[field] = strings.Repeat(sentence, missing/(len(sentence)+4)) // four characters are escaped
	}
	return encoded(body)
}

func encoded(body any) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // maps of plain values always have a JSON form
	}
	return text
}

func label(i int) map[string]any {
	return map[string]any{"id": 5500 + i, "name": fmt.Sprintf("area/%d", i), "color": "a0522d", "default": i == 0, "description": nil}
}

func person(login string) map[string]any {
	out := map[string]any{"login": login, "id": 4000 + len(login), "node_id": "VTpwZXJzb246" + login, "type": "User", "site_admin": false}
	for _, name := range strings.Fields("avatar followers following gists starred subscriptions organizations repos events received_events html") {
		out[name+"_url"] = "https://api.example.com/users/" + login + "/" + name + "{/other}"
	}
	return out
}

func repository() map[string]any {
	out := map[string]any{
		"id": 77120, "name": "orchard", "full_name": "acme/orchard", "private": true, "fork": false, "description": nil, "default_branch": "main",
		"stargazers_count": 12, "language": "Go", "topics": []string{"fruit", "press"}, "owner": person("acme"), "license": nil,
	}
	for _, name := range strings.Fields("archive assignees blobs branches collaborators comments commits compare contents contributors deployments " +
		"downloads events forks git_refs git_tags hooks issue_comment issue_events issues keys labels languages merges milestones " +
		"notifications pulls releases stargazers statuses subscribers tags teams trees clone html") {
		out[name+"_url"] = "https://api.example.com/repos/acme/orchard/" + name + "{/number}"
	}
	return out
}

func side(ref string) map[string]any {
	return map[string]any{"label": "acme:" + ref, "ref": ref, "sha": strings.Repeat("3f9a", 10), "user": person("acme"), "repo": repository()}
}
