package catalog

import (
	"github.com/lineshaft/lineshaft"
)

func teams() *provider {
	const silent = "nothing here receives events of Microsoft Teams"
	one, some, users := anyCase("id of a team"), exact("id of a channel"), anyCase("id of a user")
	one.allowed, one.most, some.allowed, users.allowed = true, 1, true, true
	keys := []string{"team_ids", "channel_ids", keyKeywords, "user_ids"}
	return &provider{
		name: lineshaft.ProviderTeams,
		keys: []key{
			{name: "team_ids", doc: "The team, by its id.", required: true, form: one},
			{name: "channel_ids", doc: "Channels, by id such as 19:…@thread.tacv2.", required: true, form: some},
			{name: keyKeywords, doc: "Parts of the text, in any case.", form: keyword()},
			{name: "user_ids", doc: "Who wrote it, by id.", form: users},
		},
		families: []*family{quiet("app_mention", silent, keys...), quiet("message_posted", silent, keys...)},
	}
}

// azureDevOps takes any event: the published names are not established.
func azureDevOps() *provider {
	const silent = "nothing here receives events of Azure DevOps"
	open := quiet("", silent, keyRepos, keyBranches, keyBaseBranches, "source_repos", keyLabels, keyAssignees, keyAuthors, keyMentioned)
	push := quiet("push", silent, keyRepos, keyBranches)
	return &provider{
		name: lineshaft.ProviderAzureDevOps,
		keys: []key{
			{name: keyRepos, doc: "Repositories.", form: anyCase("repository")},
			{name: keyBranches, doc: "Branches that were pushed.", form: branch()},
			{name: keyBaseBranches, doc: "Branches that the pull request goes to.", form: branch()},
			{name: "source_repos", doc: "Repositories that the pull request comes from.", form: anyCase("repository")},
			{name: keyLabels, doc: "Labels of the work item.", form: anyCase("name of a label")},
			{name: keyAssignees, doc: "Who the work item is assigned to.", form: anyCase("user")},
			{name: keyAuthors, doc: "Who wrote it.", form: anyCase("user")},
			{name: keyMentioned, doc: "Who is mentioned.", form: anyCase("user")},
		},
		families: []*family{push}, open: open,
	}
}
