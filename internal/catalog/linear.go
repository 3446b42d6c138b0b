package catalog

import (
	"encoding/json"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// LinearHeader is where Linear says what kind of thing a request is about; the signed
// body says it, too.
const LinearHeader = "Linear-Event"

func linear() *provider {
	id := anyCase("id")
	return &provider{
		name: lineshaft.ProviderLinear, header: LinearHeader, families: linearFamilies(),
		kind: func(_ string, body filter.Value) string {
			kind, _ := body.At("type").Text()
			return kind
		},
		keys: []key{
			{name: "team_ids", doc: "Teams, by id.", form: id},
			{name: "teams", alias: "team_ids", doc: "Linear teams, by name or key.", form: named("name or key of a team")},
			{name: "project_ids", doc: "Projects, by id.", form: id},
			{name: "projects", alias: "project_ids", doc: "Linear projects, by name.", form: named("name of a project")},
			{name: keyLabels, doc: "Labels of the issue, by name.", form: anyCase("name of a label")},
			{name: "state_ids", doc: "States of the issue, by id.", form: id},
			{name: "states", alias: "state_ids", doc: "States of the issue, by name.", form: named("name of a state")},
			{name: "assignee_ids", doc: "Who the issue is assigned to, by id.", form: id},
			{name: "mentioned_user_ids", doc: "Who is mentioned, by id.", form: id},
			{name: "creator_ids", doc: "Who wrote the issue or comment, or began the session, by id.", form: id},
			{name: "issue_ids", doc: "Issues that the comment is on, by id.", form: id},
			{name: "issues", alias: "issue_ids", doc: "Issues that the comment is on, such as ENG-12, or by title.", form: named("issue")},
			{name: keyKeywords, doc: "Parts of the text, in any case.", form: keyword()},
		},
	}
}

// linearFamilies are the events of Linear: a change of an issue is one kind there, and
// what changed says which event it is.
func linearFamilies() []*family {
	issue := func(name, action string, changed func(e *Event) bool) *family {
		has := linearIssue("data")
		has["assignee_ids"], has["creator_ids"], has["mentioned_user_ids"] = text("data.assigneeId", "data.assignee.id"), text("data.creatorId", "data.creator.id"), linearMentions("data.descriptionData")
		if name == "issue_labeled" {
			has[keyLabels] = addedLabels
		}
		return &family{name: name, kinds: []string{"Issue"}, has: has, about: func(e *Event) bool { return linearDid(e, action) && changed(e) }}
	}
	comment := linearIssue("data.issue")
	comment["issue_ids"], comment["issues"] = text("data.issueId", "data.issue.id"), all(text("data.issueId", "data.issue.id"), text("data.issue.identifier"), text("data.issue.title"))
	comment["creator_ids"], comment["mentioned_user_ids"] = text("data.userId", "data.user.id"), linearMentions("data.bodyData")
	session := "agentSession.issue"
	return []*family{
		issue("issue_created", "create", func(*Event) bool { return true }),
		issue("issue_labeled", "update", func(e *Event) bool { return len(addedLabelIDs(e)) > 0 }),
		issue("issue_state_changed", "update", func(e *Event) bool { return e.body.At("updatedFrom.stateId").Exists() }),
		issue("issue_assigned", "update", func(e *Event) bool {
			return e.body.At("updatedFrom.assigneeId").Exists() && len(text("data.assigneeId", "data.assignee.id")(e)) > 0
		}),
		(&family{name: "comment_created", kinds: []string{"Comment"}, has: comment, about: func(e *Event) bool { return linearDid(e, "create") }}).
			unseen("Linear does not send the project, labels and state of a comment's issue, so a trigger with them never fires; filter on teams or issues",
				"project_ids", "projects", keyLabels, "state_ids", "states").
			unseen("Linear sends whom a comment mentions only in bodyData; without it the trigger does not fire", "mentioned_user_ids"),
		{
			name: "agent_session_created", kinds: []string{"AgentSessionEvent"}, about: func(e *Event) bool { return linearDid(e, "created") },
			has: reads{
				"team_ids": text(session+".teamId", session+".team.id"), "teams": all(text(session+".team.id", session+".teamId"), text(session+".team.name"), text(session+".team.key")),
				"creator_ids": text("agentSession.creatorId", "agentSession.creator.id"),
				keyKeywords:   first(all(text("agentSession.comment.body"), text(session+".title"), text(session+".description")), text("promptContext")),
			},
		},
	}
}

func linearIssue(at string) reads {
	return reads{
		"team_ids": text(at+".teamId", at+".team.id"), "teams": all(text(at+".teamId", at+".team.id"), text(at+".team.name"), text(at+".team.key")),
		"project_ids": text(at+".projectId", at+".project.id"), "projects": all(text(at+".projectId", at+".project.id"), text(at+".project.name")),
		keyLabels:   list(at+".labels", "name"),
		"state_ids": text(at+".stateId", at+".state.id"), "states": all(text(at+".stateId", at+".state.id"), text(at+".state.name")),
	}
}

func linearDid(e *Event, action string) bool {
	did, _ := e.body.At("action").Text()
	return did == action
}

// addedLabelIDs are the labels that an update put on an issue.
func addedLabelIDs(e *Event) []string {
	if !e.body.At("updatedFrom.labelIds").Exists() {
		return nil
	}
	before := list("updatedFrom.labelIds", "")(e)
	return slices.DeleteFunc(list("data.labelIds", "")(e), func(id string) bool { return slices.Contains(before, id) })
}

// addedLabels are the names of those labels, as they are now.
func addedLabels(e *Event) []string {
	added := addedLabelIDs(e)
	var names []string
	for label := range e.body.At("data.labels").Elements() {
		id, _ := label.At("id").Text()
		if name, ok := label.At("name").Text(); ok && slices.Contains(added, id) {
			names = append(names, name)
		}
	}
	return names
}

// linearMentions reads the users that a rich text mentions: it is a tree of nodes,
// written as JSON in a string.
func linearMentions(path string) read {
	return func(e *Event) []string {
		written, _ := e.body.At(path).Text()
		var tree richText
		if written == "" || json.Unmarshal([]byte(written), &tree) != nil {
			return nil
		}
		return tree.mentions(nil)
	}
}

type richText struct {
	Type  string `json:"type"`
	Attrs struct {
		ID string `json:"id"`
	} `json:"attrs"`
	Content []richText `json:"content"`
}

func (r richText) mentions(found []string) []string {
	if r.Type == "suggestion_userMentions" && r.Attrs.ID != "" {
		found = append(found, r.Attrs.ID)
	}
	for _, inner := range r.Content {
		found = inner.mentions(found)
	}
	return found
}
