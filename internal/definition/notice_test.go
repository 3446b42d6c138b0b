package definition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A plan says which triggers never fire, and why.
func TestF6PlansNoteTriggersThatNeverFire(t *testing.T) {
	t.Parallel()
	for trigger, want := range map[string]string{
		"provider: teams, event: app_mention, filter: {team_ids: [t], channel_ids: [c]}":             "triggers[0]: nothing here receives events of Microsoft Teams",
		"provider: azure_devops, event: work_item_created":                                           "nothing here receives events of Azure DevOps",
		"provider: factory, event: work_item_stage_changed, filter: {stages: [REVIEW]}":              "no stages of work items",
		"provider: jira, event: agent_session_created":                                               "Jira does not send sessions",
		"provider: github, event: pull_request_opened, filter: {paths: [a]}":                         "triggers[0].filter.paths: GitHub does not send the files",
		"provider: github, event: check_suite_completed, filter: {labels: [a]}":                      "triggers[0].filter.labels: GitHub does not send the labels",
		"provider: linear, event: comment_created, filter: {states: [Done]}":                         "triggers[0].filter.states: Linear does not send",
		"provider: slack, event: reaction_added, filter: {keywords: [a]}":                            "triggers[0].filter.keywords: Slack does not send",
		"provider: slack, event: app_mention, filter: {channels: [C0123456, '#ops']}":                `triggers[0].filter.channels: "#ops" is a name, and Slack sends ids; write the id in channel_ids`,
		"provider: schedule, event: cron_fired, filter: {schedule_ids: [x]}":                         "triggers[0].filter.schedule_ids: schedules of this server",
		"provider: gitlab, event: bot_mentioned":                                                     "the factory has no alias",
		"provider: slack, event: app_mention, filter: {channels: [C0123456], users: [U0123456]}":     "",
		"provider: github, event: push, filter: {paths: [a]}":                                        "",
		"provider: linear, event: issue_created, filter: {teams: [ENG], states: [Todo]}":             "",
		"provider: github, event: workflow_run_completed, filter: {authors: [ann], workflows: [CI]}": "",
	} {
		files := sound()
		before, problems := Parse(files)
		files["automations/new/automation.md"] = "---\ntriggers: [{" + trigger + "}]\n---\nGo.\n"
		after, more := Parse(files)
		if len(problems)+len(more) > 0 {
			t.Errorf("%s: %+v", trigger, more)
			continue
		}
		changes := Compare(before, after)
		if len(changes) != 1 || !strings.Contains(changes[0].Note, want) || want == "" && changes[0].Note != "" {
			t.Errorf("%s: %+v", trigger, changes)
		}
	}
}

// Where a rule differs from the published one, a plan says so, once.
func TestF2PlansNoteOtherRules(t *testing.T) {
	t.Parallel()
	const push, shared, of = "triggers: [{provider: github, event: push}]\n", "secrets: [S]\n", "authMode: signature\nsecretName: A\nsignatureScheme: "
	unheard := "automations/a/automation.md:2:12: triggers[0]: the factory has no webhook that takes events of github"
	limited := func(names string) string {
		return "automations/a/automation.md:1:1: secrets: runs that a delivery or another run starts do not get " + names + " of"
	}
	for name, c := range map[string]struct {
		automation, agent, factory, webhook string
		want                                []string
	}{
		"no webhook":               {automation: push, want: []string{unheard}},
		"a webhook of another":     {automation: push, webhook: of + "gitlab\n", want: []string{unheard}},
		"its webhook":              {automation: push, webhook: of + "github\n"},
		"two triggers, said once":  {automation: strings.Replace(push, "}]", "}, {provider: github, event: create}]", 1), want: []string{unheard}},
		"secrets of all":           {automation: push, factory: shared + "agentDefaults: {secrets: [D]}\n", agent: "secrets: [A]\n", want: []string{limited("A, S"), unheard}},
		"secrets of defaults":      {automation: push, factory: "agentDefaults: {secrets: [D]}\n", want: []string{limited("D"), unheard}},
		"its own beside all":       {automation: push + "secrets: [S, A]\n", factory: shared, agent: "secrets: [A]\n", want: []string{unheard}},
		"secrets of a tool server": {automation: push, factory: "mcpServers: {m: {command: a, env: {A: '{{T}}'}}}\n", want: []string{limited("T"), unheard}},
		"after another run":        {automation: "triggers: [{provider: run, event: finished}]\n", factory: shared, want: []string{limited("S")}},
		"by the clock":             {automation: "triggers: [{provider: schedule, event: cron_fired, schedule: '@daily'}]\n", factory: shared},
		"a model that is chosen":   {factory: "agentDefaults: {model: auto-x}\n", agent: "model: auto\n", want: []string{`factory.yaml:3:24: agentDefaults.model: "auto-x" leaves`}},
		"in the harness":           {agent: "harness: {model: auto}\n", want: []string{`agents/boss/agent.md:3:18: harness.model: "auto" leaves`}},
		"a model like it":          {agent: "model: autobahn\n"},
	} {
		files := Files{factoryFile: "schemaVersion: v1alpha1\nname: acme\n" + c.factory}
		files["agents/boss/agent.md"] = "---\nagentType: FOREMAN\n" + c.agent + "---\nGo.\n"
		if c.automation != "" {
			files["automations/a/automation.md"] = "---\n" + c.automation + "---\nGo.\n"
		}
		if c.webhook != "" {
			files["webhooks/w.yaml"] = c.webhook
		}
		d, problems := Parse(files)
		var got []string
		for _, n := range d.Notices {
			got = append(got, fmt.Sprintf("%s:%d:%d: %s", n.File, n.Line, n.Column, n.Message))
		}
		if len(problems) > 0 || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, problems %+v", name, got, problems)
		}
	}
}

// A plan has a line for each scorer and benchmark that is added, changed or removed.
func TestF2PlansShowFilesWithoutEffect(t *testing.T) {
	t.Parallel()
	before, _ := Parse(publishedFolder(t))
	files := publishedFolder(t)
	files["scorers/quality/scorer.md"] += "Be strict.\n"
	files["benchmarks/smoke/tasks/first.yaml"] += "# easy\n"
	files["scorers/new/scorer.md"] = files["scorers/quality/scorer.md"]
	after, problems := Parse(files)
	if len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	line := func(c Change) string {
		return string(c.Action) + " " + string(c.Kind) + " " + c.Name + " " + c.File + ": " + c.Note
	}
	want := []string{
		"change benchmark smoke/first benchmarks/smoke/tasks/first.yaml: has no effect on this server",
		"add scorer new scorers/new/scorer.md: has no effect on this server",
		"change scorer quality scorers/quality/scorer.md: has no effect on this server",
	}
	var got []string
	for _, c := range Compare(before, after) {
		got = append(got, line(c))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	back := Compare(after, before)
	if len(back) != 3 || line(back[2]) != "remove scorer new scorers/new/scorer.md: has no effect on this server" {
		t.Errorf("%+v", back)
	}
	// What the store holds has none of these files; the folder that was kept has.
	stored := *before
	stored.kept, stored.inert = nil, nil
	if changes := Compare(Keep(publishedFolder(t)).Complete(&stored), before); len(changes) != 0 {
		t.Errorf("%+v", changes)
	}
}
