package definition

import (
	"github.com/lineshaft/lineshaft"
)

func triggerKeys(t *lineshaft.Trigger) []key {
	return []key{
		{name: "provider", doc: "Where events come from: webhook, schedule, run, github, gitlab, …", required: true, value: text(&t.Provider, textRules{words: lineshaft.Providers()})},
		{name: "event", doc: "The event, such as received, cron_fired, finished or pull_request_opened.", required: true, value: text(&t.Event, textRules{most: 80, filled: true})},
		{name: "schedule", doc: "When it fires: a cron expression, or a block. For schedule only.", value: schedule(&t.Schedule)},
		{name: "filter", doc: "Which events count.", value: block(&t.Filter, filterKeys)},
	}
}

func filterKeys(f *lineshaft.TriggerFilter) []key {
	list := []key{
		{name: "webhooks", doc: "Names of webhooks of this folder.", value: texts(&f.Webhooks, lineshaft.MaxTriggerHooks, textRules{filled: true})},
		{name: "webhook_ids", doc: "Webhooks by uid.", value: texts(&f.WebhookIDs, lineshaft.MaxTriggerHooks, textRules{filled: true})},
		{name: "payload", doc: "What the body of a delivery must be; it mirrors the body.", value: payload(&f.Payload)},
	}
	for _, c := range choicesOf(f) {
		list = append(list, key{name: c.name, doc: c.doc, value: choice(c.to)})
	}
	return list
}

type choiceOf struct {
	name string
	to   **lineshaft.Choice
	doc  string
}

func choicesOf(f *lineshaft.TriggerFilter) []choiceOf {
	return []choiceOf{
		{"repos", &f.Repos, "Repositories of events of a forge, as owner/name."},
		{"labels", &f.Labels, "Labels of the issue or pull request."},
		{"authors", &f.Authors, "Who made the issue, pull request or push."},
		{"branches", &f.Branches, "Branches of the pull request or push."},
		{"base_branches", &f.BaseBranches, "Branches that the pull request goes to."},
		{"paths", &f.Paths, "Files that the push changes."},
		{"conclusions", &f.Conclusions, "How the check suite or workflow run ended."},
		{"agents", &f.Agents, "Agents of the run that has finished, by name."},
		{"automations", &f.Automations, "Automations of the run that has finished, by name."},
		{"states", &f.States, "States that the run ended in."},
		{"factories", &f.Factories, "Factories of the run that has finished, by uid."},
	}
}

// schedule is a cron expression, or an object with its time zone.
func schedule(to **lineshaft.Timing) value {
	keys := func(t *lineshaft.Timing) []key {
		return []key{
			{name: "cron", doc: "Five fields, @daily and the like, or @every 1h.", required: true, value: text(&t.Cron, textRules{filled: true, most: 256})},
			{name: "timezone", doc: "An IANA name such as Europe/Berlin; UTC by default.", value: text(&t.Timezone, textRules{})},
			{name: "overlap", doc: "What a fire does while the last run is live: skip it, or queue.", value: text(&t.Overlap, textRules{words: []string{string(lineshaft.OverlapSkip), string(lineshaft.OverlapQueue)}})},
		}
	}
	long := option(to, keys)
	cron := textRules{filled: true, most: 256}
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind != textNode {
				long.read(r, path, n)
			} else if s, ok := r.readText(path, n, cron); ok {
				*to = &lineshaft.Timing{Cron: s}
			}
			if *to == nil {
				return
			}
			if err := checkTiming(**to); err != nil {
				r.blame(err, path)
			}
		},
		write: func() *node {
			n := long.write()
			if n != nil && len(n.fields) == 1 && n.fields[0].key == "cron" {
				return n.fields[0].value
			}
			return n
		},
		schema: func() schema { return schema{"oneOf": []any{cron.schema(), long.schema()}} },
	}
}
