package forge

import (
	"strings"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// GitHubHeader is where GitHub says what kind of event a request is about.
const GitHubHeader = "X-GitHub-Event"

// github are the events of GitHub. Those of published definitions that GitHub itself
// calls otherwise are aliases.
func github() []*family {
	repo := text("repository.full_name")
	pullRequest := func(author string) reads {
		return reads{
			repos: repo, labels: labelsOf("pull_request.labels"), authors: text(author),
			branches: text("pull_request.head.ref"), baseBranches: text("pull_request.base.ref"),
		}
	}
	return []*family{
		githubFamily("issues", "issue", "opened edited deleted transferred pinned unpinned closed reopened assigned unassigned labeled unlabeled locked unlocked milestoned demilestoned typed untyped",
			reads{repos: repo, labels: labelsOf("issue.labels"), authors: text("issue.user.login")}).alias("created", "opened"),
		githubFamily("issue_comment", "issue_comment", "created edited deleted",
			reads{repos: repo, labels: labelsOf("issue.labels"), authors: text("comment.user.login")}),
		githubFamily("pull_request", "pull_request",
			"opened edited closed reopened merged assigned unassigned labeled unlabeled locked unlocked milestoned demilestoned converted_to_draft ready_for_review "+
				"review_requested review_request_removed synchronize auto_merge_enabled auto_merge_disabled enqueued dequeued",
			pullRequest("pull_request.user.login")).alias("ready", "ready_for_review").alias("synchronized", "synchronize").doing(pullRequestActions),
		githubFamily("pull_request_review", "pull_request_review", "submitted edited dismissed", pullRequest("review.user.login")),
		githubFamily("pull_request_review_comment", "pull_request_review_comment", "created edited deleted", pullRequest("comment.user.login")),
		githubFamily("pull_request_review_thread", "pull_request_review_thread", "resolved unresolved", pullRequest("pull_request.user.login")),
		githubFamily("push", "push", "",
			reads{repos: repo, authors: text("pusher.name", "sender.login"), branches: branchOf("ref"), paths: changedPaths}),
		githubFamily("create", "create", "", reads{repos: repo, authors: text("sender.login"), branches: namedBranch}),
		githubFamily("delete", "delete", "", reads{repos: repo, authors: text("sender.login"), branches: namedBranch}),
		githubFamily("check_run", "check_run", "created completed rerequested requested_action",
			reads{repos: repo, branches: text("check_run.check_suite.head_branch"), conclusions: text("check_run.conclusion")}),
		githubFamily("check_suite", "check_suite", "completed requested rerequested",
			reads{repos: repo, branches: text("check_suite.head_branch"), conclusions: text("check_suite.conclusion")}),
		githubFamily("workflow_run", "workflow_run", "completed requested in_progress",
			reads{repos: repo, authors: text("workflow_run.actor.login"), branches: text("workflow_run.head_branch"), conclusions: text("workflow_run.conclusion")}),
		githubFamily("workflow_job", "workflow_job", "completed queued waiting in_progress",
			reads{repos: repo, branches: text("workflow_job.head_branch"), conclusions: text("workflow_job.conclusion")}),
		githubFamily("status", "status", "",
			reads{repos: repo, branches: list("branches", "name"), conclusions: text("state")}),
		githubFamily("release", "release", "created edited deleted published unpublished prereleased released",
			reads{repos: repo, authors: text("release.author.login")}),
		githubFamily("commit_comment", "commit_comment", "created", reads{repos: repo, authors: text("comment.user.login")}),
		githubFamily("discussion", "discussion", "created edited deleted transferred pinned unpinned closed reopened answered unanswered labeled unlabeled locked unlocked category_changed",
			reads{repos: repo, labels: labelsOf("discussion.labels"), authors: text("discussion.user.login")}),
		githubFamily("discussion_comment", "discussion_comment", "created edited deleted",
			reads{repos: repo, labels: labelsOf("discussion.labels"), authors: text("comment.user.login")}),
		githubFamily("dependabot_alert", "dependabot_alert", "created dismissed fixed reintroduced reopened auto_dismissed auto_reopened", reads{repos: repo}),
		githubFamily("code_scanning_alert", "code_scanning_alert", "created appeared_in_branch closed_by_user fixed reopened reopened_by_user",
			reads{repos: repo, branches: branchOf("ref")}),
		githubFamily("secret_scanning_alert", "secret_scanning_alert", "created resolved reopened revoked validated publicly_leaked", reads{repos: repo}),
	}
}

func githubFamily(kind, name, actions string, has reads) *family {
	f := &family{kind: kind, name: name, actions: strings.Fields(actions), has: has}
	if len(f.actions) > 0 {
		f.actionsOf = githubActions
	}
	return f
}

func (f *family) alias(other, action string) *family {
	if f.aliases == nil {
		f.aliases = map[string]string{}
	}
	f.aliases[other] = action
	return f
}

func (f *family) doing(actionsOf func(filter.Value) []string) *family {
	f.actionsOf = actionsOf
	return f
}

func githubActions(body filter.Value) []string {
	if action, ok := body.At("action").Text(); ok && action != "" {
		return []string{action}
	}
	return nil
}

// pullRequestActions are two when a pull request is closed by merging it.
func pullRequestActions(body filter.Value) []string {
	actions := githubActions(body)
	if len(actions) == 1 && actions[0] == "closed" && body.At("pull_request.merged").True() {
		actions = append(actions, "merged")
	}
	return actions
}

// labelsOf reads the one label that an event is about, or else all that are on a thing.
func labelsOf(path string) read {
	all, changed := list(path, "name"), text("label.name")
	return func(e *Event) []string {
		if e.did("labeled") || e.did("unlabeled") {
			return changed(e)
		}
		return all(e)
	}
}

// namedBranch reads the branch that was made or deleted; a tag is none.
func namedBranch(e *Event) []string {
	if kind, _ := e.body.At("ref_type").Text(); kind != "branch" {
		return nil
	}
	return text("ref")(e)
}

// githubConclusions are how checks and workflows end, and the states of a status.
func githubConclusions() []string {
	return []string{
		"success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required", "stale", "startup_failure", "error", "pending",
	}
}
