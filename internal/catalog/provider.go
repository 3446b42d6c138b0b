package catalog

import (
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// provider is one row of the table: who sends events, and what they are.
type provider struct {
	name string
	// header is where requests name the kind of event; "" when only the body does.
	header string
	// kind is what the provider calls a request.
	kind     func(header string, body filter.Value) string
	keys     []key
	families []*family
	// open takes every event: their names are not established.
	open *family
}

// table is in the order of lineshaft.Providers.
var table = []*provider{webhook(), schedule(), run(), github(), gitlab(), linear(), slack(), jira(), teams(), azureDevOps(), factory()}

func providerOf(name string) *provider {
	if at := slices.IndexFunc(table, func(p *provider) bool { return p.name == name }); at >= 0 {
		return table[at]
	}
	return nil
}

// key finds a key by its name; nil when the provider has none.
func (p *provider) key(name string) *key {
	if at := slices.IndexFunc(p.keys, func(k key) bool { return k.name == name }); at >= 0 {
		return &p.keys[at]
	}
	return nil
}

// source is the key whose values a key looks at.
func (k *key) source() string {
	if k.spelling {
		return k.alias
	}
	return k.name
}

// keysOf are the keys that events of a family with an action have, in order.
func (p *provider) keysOf(f *family, action string) []key {
	var list []key
	for _, k := range p.keys {
		if !f.lacks(k.source(), action) {
			list = append(list, k)
		}
	}
	return list
}

func (p *provider) find(event string) (f *family, action string) {
	for _, one := range p.families {
		if found, ok := one.find(event); ok {
			return one, found
		}
	}
	return p.open, ""
}

// Header is where a provider names the kind of event; "" when the body says it.
func Header(name string) string {
	if p := providerOf(name); p != nil {
		return p.header
	}
	return ""
}

// Events lists what triggers of a provider may name as their event, sorted.
func Events(name string) []string {
	p := providerOf(name)
	if p == nil {
		return nil
	}
	var names []string
	for _, f := range p.families {
		names = append(names, f.names()...)
	}
	slices.Sort(names)
	return names
}

// quiet is a family of one event without reads, for providers that send nothing.
func quiet(name, silent string, keys ...string) *family {
	f := &family{name: name, silent: silent, has: reads{}}
	for _, one := range keys {
		f.has[one] = nil
	}
	return f
}

func webhook() *provider {
	return &provider{name: lineshaft.ProviderWebhook, families: []*family{quiet(lineshaft.EventReceived, "")}}
}

func schedule() *provider {
	ids := exact("uid of a schedule")
	ids.allowed = true
	return &provider{
		name:     lineshaft.ProviderSchedule,
		keys:     []key{{name: lineshaft.KeyScheduleIDs, doc: "Schedules that exist already, instead of an inline schedule.", form: ids}},
		families: []*family{quiet(lineshaft.EventCronFired, "", lineshaft.KeyScheduleIDs)},
	}
}

func run() *provider {
	state := func(value string) error {
		if !lineshaft.RunState(value).Terminal() {
			return lineshaft.Invalid("", "%q is not a state that a run ends in; use SUCCEEDED, FAILED, ERROR or CANCELLED", value)
		}
		return nil
	}
	return &provider{
		name: lineshaft.ProviderRun,
		keys: []key{
			{name: lineshaft.KeyAgents, doc: "Agents of the run that has finished, by name.", form: exact("name of an agent")},
			{name: lineshaft.KeyAutomations, doc: "Automations of the run that has finished, by name.", form: exact("name of an automation")},
			{
				name: lineshaft.KeyStates, doc: "States that the run ended in.",
				form: form{kind: "state", check: state, pattern: `^(SUCCEEDED|FAILED|ERROR|CANCELLED)$`},
			},
			{name: lineshaft.KeyFactories, doc: "Factories of the run that has finished, by uid.", form: exact("uid of a factory")},
		},
		families: []*family{quiet(lineshaft.EventFinished, "", lineshaft.KeyAgents, lineshaft.KeyAutomations, lineshaft.KeyStates, lineshaft.KeyFactories)},
	}
}

func factory() *provider {
	return &provider{
		name:     lineshaft.ProviderFactory,
		keys:     []key{{name: "stages", doc: "Stages that the work item gets to.", form: anyCase("stage")}},
		families: []*family{quiet("work_item_stage_changed", "this server has no stages of work items", "stages")},
	}
}

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
