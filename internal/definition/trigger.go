package definition

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

func triggerKeys(t *lineshaft.Trigger) []key {
	return []key{
		{name: "provider", doc: "Where events come from: webhook, schedule, run, github, slack, …", required: true, value: text(&t.Provider, textRules{words: lineshaft.Providers()})},
		{name: "event", doc: "The event, such as received, cron_fired, finished or pull_request_opened.", required: true, value: text(&t.Event, textRules{most: 80, filled: true})},
		{name: "schedule", doc: "When it fires: a cron expression, or a block. For schedule only.", value: schedule(&t.Schedule)},
		{name: "filter", doc: "Which events count.", value: filterBlock(&t.Filter)},
	}
}

func filterKeys(f *lineshaft.TriggerFilter) []key {
	list := []key{
		{name: lineshaft.KeyWebhooks, doc: "Names of webhooks of this folder.", value: texts(&f.Webhooks, lineshaft.MaxTriggerHooks, textRules{filled: true})},
		{name: lineshaft.KeyWebhookIDs, doc: "Webhooks by uid.", value: webhookIDs(f)},
		{name: lineshaft.KeyPayload, doc: "What the body of a delivery must be; it mirrors the body.", value: payload(&f.Payload)},
	}
	for _, spec := range catalog.Keys() {
		list = append(list, key{name: spec.Name, doc: spec.Doc, value: choice(f, spec)})
	}
	return list
}

// triggers are those of an automation. A filter or schedule without a value is none.
func triggers(to *[]lineshaft.Trigger) value {
	v := blocks(to, lineshaft.MaxTriggers, triggerKeys, checkTrigger)
	read, described := v.read, v.schema
	v.read = func(r *reader, path string, n *node) {
		out := *n
		out.items = make([]*node, len(n.items))
		for i, item := range n.items {
			if out.items[i] = item; item.kind == objectNode {
				out.items[i] = withoutNulls(item, "filter", "schedule")
			}
		}
		read(r, path, &out)
	}
	v.schema = func() schema {
		s := described()
		if items, ok := s["items"].(schema); ok {
			items["allOf"] = eventRules()
		}
		return s
	}
	return v
}

// eventRules are what a schema says about events and the keys of their filters.
func eventRules() []any {
	var rules []any
	for _, provider := range lineshaft.Providers() {
		specs, _ := catalog.Catalog(provider)
		var names []string
		keys, order := map[string][]string{}, []string{}
		for _, spec := range specs {
			group := strings.Join(allowedKeys(provider, spec), " ")
			if keys[group] == nil {
				order = append(order, group)
			}
			keys[group] = append(keys[group], spec.Event)
			names = append(names, spec.Event)
		}
		open := slices.Contains(names, catalog.AnyEvent)
		if !open {
			rules = append(rules, whenTrigger(provider, nil, schema{"event": schema{"enum": names}}))
		}
		for _, group := range order {
			events := keys[group]
			if slices.Contains(events, catalog.AnyEvent) {
				events = nil
			}
			rules = append(rules, whenTrigger(provider, events, schema{"filter": schema{"propertyNames": schema{"enum": strings.Fields(group)}}}))
		}
	}
	return rules
}

// whenTrigger is a rule for triggers of a provider, and of some events.
func whenTrigger(provider string, events []string, properties schema) schema {
	of, required := schema{"provider": schema{"const": provider}}, []string{"provider"}
	if events != nil {
		of["event"], required = schema{"enum": events}, []string{"provider", "event"}
	}
	return schema{"if": schema{"properties": of, "required": required}, "then": schema{"properties": properties}}
}

// allowedKeys are the keys that filters of an event may have.
func allowedKeys(provider string, spec catalog.EventSpec) []string {
	var names []string
	if (lineshaft.Trigger{Provider: provider}).Delivered() {
		names = []string{lineshaft.KeyWebhooks, lineshaft.KeyWebhookIDs, lineshaft.KeyPayload}
	}
	for _, k := range spec.Keys {
		names = append(names, k.Name)
	}
	return names
}

// filterBlock is a block whose keys may have no value.
func filterBlock(f *lineshaft.TriggerFilter) value {
	v := block(f, filterKeys)
	read, described := v.read, v.schema
	v.schema = func() schema { return nullable(described()) }
	v.read = func(r *reader, path string, n *node) {
		if n.kind == objectNode {
			n = withoutNulls(n, names(filterKeys(f))...)
		}
		read(r, path, n)
	}
	return v
}
