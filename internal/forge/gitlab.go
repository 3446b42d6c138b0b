package forge

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// GitLabHeader is where GitLab says what kind of event a request is about. The body
// says it more exactly.
const GitLabHeader = "X-Gitlab-Event"

const (
	kindNote  = "note"
	noteAbout = "noteable_type" //nolint:misspell // GitLab's spelling
)

// gitlab are the events of GitLab. Comments are one kind there, but about different
// things; builds are called jobs everywhere else.
func gitlab() []*family {
	repo, user := text("project.path_with_namespace"), text("user.username")
	pushed := reads{repos: repo, authors: text("user_username"), branches: branchOf("ref"), paths: changedPaths}
	comment := reads{repos: repo, authors: user}
	return []*family{
		{kind: "push", name: "push", has: pushed},
		{kind: "tag_push", name: "tag_push", has: reads{repos: repo, authors: text("user_username"), paths: changedPaths}},
		gitlabFamily("merge_request", "merge_request", "opened updated approved unapproved approval unapproval merged closed reopened", reads{
			repos: repo, labels: firstList("labels", "object_attributes.labels"), authors: user,
			branches: text("object_attributes.source_branch"), baseBranches: text("object_attributes.target_branch"),
		}).allOf(),
		gitlabFamily("issue", "issue", "opened updated closed reopened",
			reads{repos: repo, labels: firstList("labels", "object_attributes.labels"), authors: user}).alias("created", "opened"),
		gitlabFamily(kindNote, "issue_comment", "created updated", reads{repos: repo, authors: user, labels: list("issue.labels", "title")}),
		gitlabFamily(kindNote, "merge_request_comment", "created updated", reads{
			repos: repo, authors: user, labels: list("merge_request.labels", "title"),
			branches: text("merge_request.source_branch"), baseBranches: text("merge_request.target_branch"),
		}),
		gitlabFamily(kindNote, "commit_comment", "created updated", comment),
		gitlabFamily(kindNote, "snippet_comment", "created updated", comment),
		gitlabFamily("pipeline", "pipeline", "created pending running manual completed", reads{
			repos: repo, authors: user, branches: untagged("object_attributes.ref", "object_attributes.tag"), conclusions: ended("object_attributes.status"),
		}).doing(progress("object_attributes.status")),
		gitlabFamily("build", "job", "created pending running manual completed", reads{
			repos: text("project.path_with_namespace", "project_name"), authors: user, branches: untagged("ref", "tag"), conclusions: ended("build_status"),
		}).doing(progress("build_status")),
		gitlabFamily("deployment", "deployment", "created running completed", reads{
			repos: repo, authors: user, branches: text("ref"), conclusions: ended("status"),
		}).doing(progress("status")),
		gitlabFamily("release", "release", "created updated deleted", reads{repos: repo}).doing(func(body filter.Value) []string {
			return gitlabAction(body, "action")
		}),
	}
}

func gitlabFamily(kind, name, actions string, has reads) *family {
	return &family{kind: kind, name: name, actions: strings.Fields(actions), has: has, actionsOf: func(body filter.Value) []string {
		found := gitlabAction(body, "object_attributes.action")
		if found == nil && kind == kindNote {
			return []string{"created"} // older versions told of new ones only
		}
		return found
	}}
}

func (f *family) allOf() *family {
	f.whole = true
	return f
}

// gitlabKind tells which family a body is about.
func gitlabKind(header string, body filter.Value) *family {
	kind, ok := body.At("object_kind").Text()
	if !ok {
		kind = strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(header, "Confidential "), " Hook"), " ", "_"))
		if kind == "job" {
			kind = "build"
		}
	}
	name := ""
	if kind == kindNote {
		about, _ := body.At("object_attributes." + noteAbout).Text()
		name = map[string]string{
			"Issue": "issue_comment", "MergeRequest": "merge_request_comment", "Commit": "commit_comment", "Snippet": "snippet_comment",
		}[about]
		if name == "" {
			return nil
		}
	}
	at := slices.IndexFunc(gitlabFamilies, func(f *family) bool { return f.kind == kind && (name == "" || f.name == name) })
	if at < 0 {
		return nil
	}
	return gitlabFamilies[at]
}

// gitlabAction reads what was done, in the words of triggers.
func gitlabAction(body filter.Value, path string) []string {
	action, ok := body.At(path).Text()
	if !ok || action == "" {
		return nil
	}
	if done, known := map[string]string{
		"open": "opened", "close": "closed", "reopen": "reopened", "update": "updated", "merge": "merged", "create": "created", "delete": "deleted",
	}[action]; known {
		action = done
	}
	return []string{action}
}

// gitlabConclusions are how pipelines, jobs and deployments end.
func gitlabConclusions() []string { return []string{"success", "failed", "canceled", "skipped"} }

// progress makes one action of all ways to end.
func progress(path string) func(filter.Value) []string {
	return func(body filter.Value) []string {
		status, ok := body.At(path).Text()
		if !ok || status == "" {
			return nil
		}
		if slices.Contains(gitlabConclusions(), status) {
			status = actionCompleted
		}
		return []string{status}
	}
}

// ended reads a status that is a way to end.
func ended(path string) read {
	status := text(path)
	return func(e *Event) []string {
		if found := status(e); len(found) == 1 && slices.Contains(gitlabConclusions(), found[0]) {
			return found
		}
		return nil
	}
}

// untagged reads a branch, unless it is the name of a tag.
func untagged(path, tag string) read {
	branch := text(path)
	return func(e *Event) []string {
		if e.body.At(tag).True() {
			return nil
		}
		return branch(e)
	}
}

// firstList reads the titles of the first array that has any.
func firstList(paths ...string) read {
	return func(e *Event) []string {
		for _, path := range paths {
			if found := list(path, "title")(e); len(found) > 0 {
				return found
			}
		}
		return nil
	}
}
