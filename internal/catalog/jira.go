package catalog

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

func jira() *provider {
	return &provider{
		name: lineshaft.ProviderJira, families: jiraFamilies(),
		kind: func(_ string, body filter.Value) string {
			kind, _ := body.At("webhookEvent").Text()
			return kind
		},
		keys: []key{
			{name: "project_keys", doc: "Projects, by key.", form: exact("key of a project")},
			{name: keyLabels, doc: "Labels of the issue; case matters.", form: exact("label")},
			{name: "status_ids", doc: "Statuses that the issue gets, by id.", form: exact("id of a status")},
			{name: keyKeywords, doc: "Parts of the text, in any case.", form: keyword()},
		},
	}
}

func jiraFamilies() []*family {
	updated := []string{"jira:issue_updated"}
	return []*family{
		{name: "issue_created", kinds: []string{"jira:issue_created"}, has: reads{"project_keys": jiraProject, keyLabels: list("issue.fields.labels", "")}},
		{
			name: "issue_labeled", kinds: updated, has: reads{"project_keys": jiraProject, keyLabels: jiraAddedLabels},
			about: func(e *Event) bool { return len(jiraAddedLabels(e)) > 0 },
		},
		{
			name: "status_changed", kinds: updated, has: reads{"project_keys": jiraProject, "status_ids": first(jiraChanged("status", "to"), text("issue.fields.status.id"))},
			about: func(e *Event) bool { return len(jiraChanged("status", "to")(e)) > 0 },
		},
		quiet("agent_session_created", "Jira does not send sessions of agents to webhooks", "project_keys", keyLabels, keyKeywords),
	}
}

// jiraProject reads the project of an issue, or else the part of the issue's key that
// names it.
func jiraProject(e *Event) []string {
	if found := text("issue.fields.project.key")(e); found != nil {
		return found
	}
	issue, _ := e.body.At("issue.key").Text()
	if project, _, ok := strings.Cut(issue, "-"); ok {
		return []string{project}
	}
	return nil
}

// jiraChanged reads what a field was changed to.
func jiraChanged(field, side string) read {
	return func(e *Event) []string {
		var values []string
		for item := range e.body.At("changelog.items").Elements() {
			name, _ := item.At("field").Text()
			if value, ok := item.At(side).Text(); ok && name == field {
				values = append(values, value)
			}
		}
		return values
	}
}

// jiraAddedLabels reads the labels that an update put on: Jira lists all of them before
// and after, with blanks between.
func jiraAddedLabels(e *Event) []string {
	before := strings.Fields(strings.Join(jiraChanged("labels", "fromString")(e), " "))
	after := strings.Fields(strings.Join(jiraChanged("labels", "toString")(e), " "))
	return slices.DeleteFunc(after, func(label string) bool { return slices.Contains(before, label) })
}
