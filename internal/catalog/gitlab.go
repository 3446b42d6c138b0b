package catalog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// GitLabHeader is where GitLab says what kind of event a request is about. The body
// says it more exactly.
const GitLabHeader = "X-Gitlab-Event"

const (
	kindNote  = "note"
	noteAbout = "noteable_type" //nolint:misspell // GitLab's spelling
)

func gitlab() *provider {
	return &provider{
		name: lineshaft.ProviderGitLab, header: GitLabHeader, kind: gitlabKind, families: gitlabFamilies(),
		keys: []key{
			{name: keyRepos, doc: "Repositories, with all groups.", form: repository()},
			{name: "actions", doc: "What was done to the merge request, in GitLab's words.", form: word("action of GitLab", gitlabActions()...)},
			{name: keyLabels, doc: "Labels of the issue or merge request.", form: anyCase("name of a label")},
			{name: keyAuthors, doc: "Who did it.", form: login()},
			{name: keyBranches, doc: "Branches of the merge request, push or pipeline.", form: branch()},
			{name: keyBaseBranches, doc: "Branches that the merge request goes to.", form: branch()},
			{name: keyPaths, doc: "Files that the push changes.", form: file()},
			{name: keyConclusions, doc: "How the pipeline, job or deployment ended.", form: word("conclusion of GitLab", gitlabConclusions()...)},
		},
	}
}

// gitlabFamilies are the events of GitLab. Comments are one kind there, but about
// different things; builds are called jobs everywhere else.
func gitlabFamilies() []*family {
	repo, user := text("project.path_with_namespace"), text("user.username")
	comment := reads{keyRepos: repo, keyAuthors: user}
	return []*family{
		{kinds: []string{"push"}, name: "push", has: reads{keyRepos: repo, keyAuthors: text("user_username"), keyBranches: branchOf("ref"), keyPaths: changedPaths}},
		{kinds: []string{"tag_push"}, name: "tag_push", has: reads{keyRepos: repo, keyAuthors: text("user_username"), keyPaths: changedPaths}},
		gitlabFamily("merge_request", "merge_request", "opened updated approved unapproved approval unapproval merged closed reopened", reads{
			keyRepos: repo, "actions": lowered(text("object_attributes.action")), keyLabels: firstList("labels", "object_attributes.labels"), keyAuthors: user,
			keyBranches: text("object_attributes.source_branch"), keyBaseBranches: text("object_attributes.target_branch"),
		}).allOf(),
		gitlabFamily("issue", "issue", "opened updated closed reopened",
			reads{keyRepos: repo, keyLabels: firstList("labels", "object_attributes.labels"), keyAuthors: user}).alias("created", "opened"),
		gitlabFamily(kindNote+"/Issue", "issue_comment", "created updated", reads{keyRepos: repo, keyAuthors: user, keyLabels: list("issue.labels", "title")}),
		gitlabFamily(kindNote+"/MergeRequest", "merge_request_comment", "created updated", reads{
			keyRepos: repo, keyAuthors: user, keyLabels: list("merge_request.labels", "title"),
			keyBranches: text("merge_request.source_branch"), keyBaseBranches: text("merge_request.target_branch"),
		}),
		gitlabFamily(kindNote+"/Commit", "commit_comment", "created updated", comment),
		gitlabFamily(kindNote+"/Snippet", "snippet_comment", "created updated", comment),
		{
			name: "bot_mentioned", kinds: []string{"issue", "merge_request", kindNote + "/Issue", kindNote + "/MergeRequest", kindNote + "/Commit", kindNote + "/Snippet"},
			about: func(e *Event) bool { return len(gitlabMentions(e)) > 0 }, handled: true, has: reads{keyRepos: repo},
		},
		gitlabFamily("pipeline", "pipeline", "created pending running manual completed", reads{
			keyRepos: repo, keyAuthors: user, keyBranches: untagged("object_attributes.ref", "object_attributes.tag"), keyConclusions: ended("object_attributes.status"),
		}).doing(progress("object_attributes.status")).keysOnly(actionCompleted, keyConclusions),
		gitlabFamily("build", "job", "created pending running manual completed", reads{
			keyRepos: text("project.path_with_namespace", "project_name"), keyAuthors: user, keyBranches: untagged("ref", "tag"), keyConclusions: ended("build_status"),
		}).doing(progress("build_status")).keysOnly(actionCompleted, keyConclusions),
		gitlabFamily("deployment", "deployment", "created running completed", reads{
			keyRepos: repo, keyAuthors: user, keyBranches: text("ref"), keyConclusions: ended("status"),
		}).doing(progress("status")).keysOnly(actionCompleted, keyConclusions),
		gitlabFamily("release", "release", "created updated deleted", reads{keyRepos: repo}).doing(func(body filter.Value) []string {
			return gitlabAction(body, "action")
		}),
	}
}

func gitlabFamily(kind, name, actions string, has reads) *family {
	return &family{kinds: []string{kind}, name: name, actions: strings.Fields(actions), has: has, actionsOf: func(body filter.Value) []string {
		found := gitlabAction(body, "object_attributes.action")
		if found == nil && strings.HasPrefix(kind, kindNote) {
			return []string{"created"} // older versions sent new ones only
		}
		return found
	}}
}

func (f *family) allOf() *family {
	f.whole = true
	return f
}

// gitlabKind is the kind that a body says, or else the header; comments with what they
// are about.
func gitlabKind(header string, body filter.Value) string {
	kind, ok := body.At("object_kind").Text()
	if !ok {
		kind = strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(header, "Confidential "), " Hook"), " ", "_"))
		if kind == "job" {
			kind = "build"
		}
	}
	if kind == kindNote {
		about, _ := body.At("object_attributes." + noteAbout).Text()
		kind += "/" + about
	}
	return kind
}

// gitlabBot is the account of an access token.
var gitlabBot = regexp.MustCompile(`^(?:project|group)_[0-9]+_bot(?:_|$)`)

// gitlabMentions reads whom a person mentions in a text that is new.
func gitlabMentions(e *Event) []string {
	author, _ := e.body.At("user.username").Text()
	action := strings.Join(gitlabAction(e.body, "object_attributes.action"), "")
	path, fresh := "object_attributes.description", "opened"
	if strings.HasPrefix(e.kind, kindNote) {
		path, fresh = "object_attributes.note", "created"
	}
	if gitlabBot.MatchString(author) || action != fresh && (action != "" || fresh != "created") || e.body.At("object_attributes.system").True() {
		return nil
	}
	body, _ := e.body.At(path).Text()
	return mentions(body, gitlabMention)
}

func gitlabActions() []string {
	return []string{"open", "update", "close", "reopen", "merge", "approved", "unapproved", "approval", "unapproval"}
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
