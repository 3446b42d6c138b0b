package catalog

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// GitHubHeader is where GitHub says what kind of event a request is about.
const GitHubHeader = "X-GitHub-Event"

func github() *provider {
	return &provider{
		name: lineshaft.ProviderGitHub, header: GitHubHeader, families: githubFamilies(),
		kind: func(header string, _ filter.Value) string { return header },
		keys: []key{
			{name: keyRepos, doc: "Repositories, as owner/name.", form: repository()},
			{name: keyLabels, doc: "Labels of the issue or pull request.", form: anyCase("name of a label")},
			{name: keyAuthors, doc: "Who wrote the issue, pull request or comment, or pushed.", form: login()},
			{name: keyAssignees, doc: "Who the issue or pull request is assigned to.", form: login()},
			{name: keyMentioned, doc: "Who is mentioned.", form: mention()},
			{name: keyBranches, doc: "Branches of the pull request or push.", form: branch()},
			{name: keyBaseBranches, doc: "Branches that the pull request goes to.", form: branch()},
			{name: "baseBranches", alias: keyBaseBranches, spelling: true, doc: "Another spelling of base_branches.", form: branch()},
			{name: keyPRNumbers, doc: "Numbers of pull requests.", form: wholeNumber()},
			{name: "prNumbers", alias: keyPRNumbers, spelling: true, doc: "Another spelling of pr_numbers.", form: wholeNumber()},
			{name: keyPaths, doc: "Files that the push changes.", form: file()},
			{name: keyReviewers, doc: "Who is asked for a review.", form: login()},
			{name: keyTeams, doc: "Teams that are asked for a review.", form: mention()},
			{name: keyReviewStates, doc: "What the review says.", form: word("state of a review", "approved", "changes_requested", "commented", "dismissed", "pending")},
			{name: keyConclusions, doc: "How the check, workflow or pipeline ended.", form: word("conclusion of GitHub", githubConclusions()...)},
			{name: keyWorkflows, doc: "Workflows, by name.", form: anyCase("name of a workflow")},
		},
	}
}

// The reasons why a key is not in a payload.
const (
	noFiles  = "GitHub does not send the files of a pull request, so a trigger with paths never fires; leave paths out, or use the event push"
	noLinked = "GitHub does not send the %s of the linked pull request, so a trigger with them never fires; filter on branches"
)

// githubFamilies are the events of GitHub. Those of published definitions that GitHub
// itself calls otherwise are aliases.
func githubFamilies() []*family { return slices.Concat(githubTalk(), githubCode(), githubChecks()) }

var githubRepo = text("repository.full_name")

// pullRequestReads are the keys of events about a pull request.
func pullRequestReads(author string) reads {
	return reads{
		keyRepos: githubRepo, keyLabels: labelsOf("pull_request.labels"), keyAuthors: text(author), keyPRNumbers: number("pull_request.number"),
		keyBranches: text("pull_request.head.ref"), keyBaseBranches: text("pull_request.base.ref"),
	}
}

// githubTalk is about issues, pull requests and what people say about them.
func githubTalk() []*family {
	issue := func(author string) reads {
		return reads{keyRepos: githubRepo, keyLabels: labelsOf("issue.labels"), keyAuthors: text(author)}
	}
	issues := issue("issue.user.login")
	issues[keyAssignees] = assigneesOf("issue.assignees")
	pulls := pullRequestReads("pull_request.user.login")
	pulls[keyAssignees], pulls[keyPaths] = assigneesOf("pull_request.assignees"), none
	pulls[keyReviewers], pulls[keyTeams] = first(text("requested_reviewer.login"), list("pull_request.requested_reviewers", "login")), reviewerTeams
	review := pullRequestReads("review.user.login")
	review[keyMentioned], review[keyReviewStates] = githubMentions, lowered(text("review.state"))
	return []*family{
		githubFamily("issues", "issue", "opened edited deleted transferred pinned unpinned closed reopened assigned unassigned labeled unlabeled locked unlocked milestoned demilestoned typed untyped",
			issues).alias("created", "opened"),
		{
			name: "issue_mentioned", kinds: []string{"issues", "issue_comment"}, about: func(e *Event) bool { return !onPullRequest(e) && mentionsSomeone(e) },
			has: reads{keyRepos: githubRepo, keyMentioned: githubMentions, keyLabels: list("issue.labels", "name")},
		},
		githubFamily("issue_comment", "issue_comment", "created edited deleted", issue("comment.user.login")),
		githubFamily("pull_request", "pull_request",
			"opened edited closed reopened merged assigned unassigned labeled unlabeled locked unlocked milestoned demilestoned converted_to_draft ready_for_review "+
				"review_requested review_request_removed synchronize auto_merge_enabled auto_merge_disabled enqueued dequeued", pulls).
			alias("ready", "ready_for_review").alias("synchronized", "synchronize").doing(pullRequestActions).
			keysOnly("review_requested review_request_removed", keyReviewers, keyTeams).unseen(noFiles, keyPaths),
		{
			name: "pull_request_mentioned", kinds: []string{"pull_request", "issue_comment", "pull_request_review", "pull_request_review_comment"},
			about: func(e *Event) bool { return onPullRequest(e) && mentionsSomeone(e) },
			has:   reads{keyRepos: githubRepo, keyMentioned: githubMentions, keyLabels: first(list("pull_request.labels", "name"), list("issue.labels", "name"))},
		},
		githubFamily("pull_request_review", "pull_request_review", "submitted edited dismissed", review).keysOnly("submitted", keyMentioned),
		githubFamily("pull_request_review_comment", "pull_request_review_comment", "created edited deleted", pullRequestReads("comment.user.login")),
		githubFamily("pull_request_review_thread", "pull_request_review_thread", "resolved unresolved", pullRequestReads("pull_request.user.login")),
		githubFamily("commit_comment", "commit_comment", "created", reads{keyRepos: githubRepo, keyAuthors: text("comment.user.login")}),
		githubFamily("discussion", "discussion", "created edited deleted transferred pinned unpinned closed reopened answered unanswered labeled unlabeled locked unlocked category_changed",
			reads{keyRepos: githubRepo, keyLabels: labelsOf("discussion.labels"), keyAuthors: text("discussion.user.login")}),
		githubFamily("discussion_comment", "discussion_comment", "created edited deleted",
			reads{keyRepos: githubRepo, keyLabels: labelsOf("discussion.labels"), keyAuthors: text("comment.user.login")}),
	}
}

func githubCode() []*family {
	return []*family{
		githubFamily("push", "push", "",
			reads{keyRepos: githubRepo, keyAuthors: text("pusher.name", "sender.login"), keyBranches: branchOf("ref"), keyPaths: changedPaths}),
		githubFamily("create", "create", "", reads{keyRepos: githubRepo, keyAuthors: text("sender.login"), keyBranches: namedBranch}),
		githubFamily("delete", "delete", "", reads{keyRepos: githubRepo, keyAuthors: text("sender.login"), keyBranches: namedBranch}),
		githubFamily("release", "release", "created edited deleted published unpublished prereleased released",
			reads{keyRepos: githubRepo, keyAuthors: text("release.author.login")}),
	}
}

// githubChecks is about checks, workflows and alerts.
func githubChecks() []*family {
	// Of the pull requests of a check or workflow GitHub sends little more than numbers.
	linked := func(under string) (labels, authors read) {
		return nested(under+".pull_requests", "labels", "name"), list(under+".pull_requests", "user.login")
	}
	suiteLabels, suiteAuthors := linked("check_suite")
	runLabels, runAuthors := linked("workflow_run")
	const ended = actionCompleted
	return []*family{
		githubFamily("check_run", "check_run", "created completed rerequested requested_action",
			reads{keyRepos: githubRepo, keyBranches: text("check_run.check_suite.head_branch"), keyConclusions: text("check_run.conclusion")}).keysOnly(ended, keyConclusions),
		githubFamily("check_suite", "check_suite", "completed requested rerequested", reads{
			keyRepos: githubRepo, keyBranches: text("check_suite.head_branch"), keyConclusions: text("check_suite.conclusion"), keyLabels: suiteLabels, keyAuthors: suiteAuthors,
		}).keysOnly(ended, keyConclusions, keyLabels, keyAuthors).unseen(strings.Replace(noLinked, "%s", "labels", 1), keyLabels).unseen(strings.Replace(noLinked, "%s", "author", 1), keyAuthors),
		githubFamily("workflow_run", "workflow_run", "completed requested in_progress", reads{
			keyRepos: githubRepo, keyBranches: text("workflow_run.head_branch"), keyConclusions: text("workflow_run.conclusion"), keyWorkflows: text("workflow_run.name", "workflow.name"),
			keyLabels: runLabels, keyAuthors: first(runAuthors, text("workflow_run.actor.login")),
		}).keysOnly(ended, keyConclusions).unseen(strings.Replace(noLinked, "%s", "labels", 1), keyLabels),
		githubFamily("workflow_job", "workflow_job", "completed queued waiting in_progress",
			reads{keyRepos: githubRepo, keyBranches: text("workflow_job.head_branch"), keyConclusions: text("workflow_job.conclusion")}).keysOnly(ended, keyConclusions),
		githubFamily("status", "status", "",
			reads{keyRepos: githubRepo, keyBranches: list("branches", "name"), keyConclusions: text("state")}),
		githubFamily("dependabot_alert", "dependabot_alert", "created dismissed fixed reintroduced reopened auto_dismissed auto_reopened", reads{keyRepos: githubRepo}),
		githubFamily("code_scanning_alert", "code_scanning_alert", "created appeared_in_branch closed_by_user fixed reopened reopened_by_user",
			reads{keyRepos: githubRepo, keyBranches: branchOf("ref")}),
		githubFamily("secret_scanning_alert", "secret_scanning_alert", "created resolved reopened revoked validated publicly_leaked", reads{keyRepos: githubRepo}),
	}
}

func githubFamily(kind, name, actions string, has reads) *family {
	f := &family{kinds: []string{kind}, name: name, actions: strings.Fields(actions), has: has}
	if len(f.actions) > 0 {
		f.actionsOf = githubActions
	}
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
func labelsOf(path string) read { return changedOr("labeled", text("label.name"), list(path, "name")) }

// assigneesOf reads who was just assigned, or else all who are.
func assigneesOf(path string) read {
	return changedOr("assigned", text("assignee.login"), list(path, "login"))
}

// changedOr reads what an action, or its opposite, was done with; for other actions all.
func changedOr(action string, changed, all read) read {
	return func(e *Event) []string {
		if done := githubActions(e.body); slices.Contains(done, action) || slices.Contains(done, "un"+action) {
			return changed(e)
		}
		return all(e)
	}
}

// reviewerTeams reads the teams that are asked for a review, with and without their
// organization.
func reviewerTeams(e *Event) []string {
	slugs := first(text("requested_team.slug"), list("pull_request.requested_teams", "slug"))(e)
	owner, _ := e.body.At("repository.owner.login").Text()
	for _, slug := range slugs {
		if owner != "" {
			slugs = append(slugs, owner+"/"+slug)
		}
	}
	return slugs
}

func lowered(of read) read {
	return func(e *Event) []string {
		values := of(e)
		for i, value := range values {
			values[i] = strings.ToLower(value)
		}
		return values
	}
}

// onPullRequest says whether an event is about a pull request: comments on them are
// comments on issues at GitHub.
func onPullRequest(e *Event) bool {
	return e.body.At("pull_request").Exists() || e.body.At("issue.pull_request").Exists()
}

func mentionsSomeone(e *Event) bool { return len(githubMentions(e)) > 0 }

// githubMentions reads whom a person mentions in a text that is new.
func githubMentions(e *Event) []string {
	action := strings.Join(githubActions(e.body), "")
	written := map[string]string{
		"issues opened": "issue", "pull_request opened": "pull_request", "issue_comment created": "comment",
		"pull_request_review submitted": "review", "pull_request_review_comment created": "comment",
	}[e.kind+" "+action]
	if written == "" || githubBot(e.body.At(written+".user")) || githubBot(e.body.At("sender")) {
		return nil
	}
	body, _ := e.body.At(written + ".body").Text()
	return mentions(body, githubMention)
}

func githubBot(user filter.Value) bool {
	kind, _ := user.At("type").Text()
	login, _ := user.At("login").Text()
	return kind == "Bot" || strings.HasSuffix(login, "[bot]")
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
