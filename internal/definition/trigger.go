package definition

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
	"github.com/lineshaft/lineshaft/internal/cron"
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

// triggers are those of an automation. A filter or schedule without a value counts as absent.
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

// schedule is a cron expression, or an object with its name and time zone.
func schedule(to **lineshaft.Timing) value {
	long := option(to, timingKeys)
	plain := textRules{filled: true, most: 256}
	return value{
		read: func(r *reader, path string, n *node) {
			v := &lineshaft.Timing{}
			before := len(r.problems)
			if n.kind != textNode {
				r.object(path, n, timingKeys(v))
			} else if s, ok := r.readText(path, n, plain); ok {
				v.Cron = s
			}
			r.checkTiming(path, *v)
			if len(r.problems) == before {
				*to = v
			}
		},
		write: func() *node {
			n := long.write()
			if n != nil && len(n.fields) == 1 && n.fields[0].key == "cron" {
				return n.fields[0].value
			}
			return n
		},
		schema: func() schema { return schema{"oneOf": []any{plain.schema(), long.schema()}} },
	}
}

func timingKeys(t *lineshaft.Timing) []key {
	return []key{
		{name: "name", doc: "What distinguishes it from other schedules of the automation.", null: sameAsAbsent, value: text(&t.Name, textRules{filled: true, trim: true, most: lineshaft.MaxNameRunes})},
		{name: "cron", doc: "Five fields, @daily and the like, or @every 1h.", required: true, value: text(&t.Cron, textRules{filled: true, most: 256})},
		{name: "timezone", doc: "An IANA name such as Europe/Berlin; UTC by default.", value: text(&t.Timezone, textRules{})},
		{name: "overlap", doc: "What a fire does while the last run is live: skip it, or queue.", value: text(&t.Overlap, textRules{words: []string{string(lineshaft.OverlapSkip), string(lineshaft.OverlapQueue)}})},
	}
}

// checkTiming reads a cron expression and a time zone separately, so that one
// mistake does not hide the other.
func (r *reader) checkTiming(path string, t lineshaft.Timing) {
	if t.Cron != "" {
		if err := (lineshaft.Timing{Cron: t.Cron}).Validate(""); err != nil {
			r.blame(err, path)
		} else if _, err := cron.Parse(lineshaft.Timing{Cron: t.Cron}); err != nil {
			r.blame(err, path)
		}
	}
	if _, err := cron.Parse(lineshaft.Timing{Cron: "@daily", Timezone: t.Timezone}); err != nil {
		r.blame(err, path)
	}
}

// checkTrigger reports what is wrong with a trigger beyond the shape of its keys.
// Each part is checked in an otherwise sound trigger, so that one mistake does
// not hide another.
func checkTrigger(r *reader, path string, n *node, t *lineshaft.Trigger) {
	if t.Provider == "" || t.Event == "" {
		return // reported already
	}
	sound, before := soundTrigger(t.Provider), len(r.problems)
	rules := checkFired
	check := func(part lineshaft.Trigger) bool {
		err := rules(part)
		r.blame(err, path)
		return err == nil
	}
	event := sound
	if event.Event = t.Event; check(event) {
		sound.Event = t.Event // which filters it has depends on the event
	} else if len(catalog.Events(t.Provider)) > 1 {
		rules = func(t lineshaft.Trigger) error { return t.Validate("") }
	}
	timed := sound
	// What is wrong with the schedule alone is reported already.
	named := t.Filter.Set(lineshaft.KeyScheduleIDs) != nil
	if timed.Schedule = t.Schedule; t.Schedule != nil || n.get("schedule") == nil && !named {
		if t.Provider == lineshaft.ProviderSchedule && t.Schedule != nil {
			timed.Schedule = sound.Schedule
		}
		check(timed)
	}
	hooks := sound
	if hooks.Filter.Webhooks, hooks.Filter.WebhookIDs = t.Filter.Webhooks, t.Filter.WebhookIDs; !hooksReported(n) {
		check(hooks)
	}
	for _, part := range filterParts(t.Filter) {
		check(withPart(sound, part))
	}
	if len(r.problems) == before { // the parts are sound, but may not go together, or some may be missing
		whole := sound
		if whole.Filter.Sets = t.Filter.Sets; named {
			whole.Schedule = t.Schedule
		}
		check(whole)
	}
}

// withPart is a sound trigger with one condition.
func withPart(sound lineshaft.Trigger, part lineshaft.TriggerFilter) lineshaft.Trigger {
	for _, name := range sound.Filter.Keys() {
		if part.Set(name) == nil {
			part.Put(name, sound.Filter.Set(name))
		}
	}
	if part.Set(lineshaft.KeyScheduleIDs) != nil {
		sound.Schedule = nil
	}
	part.Webhooks = sound.Filter.Webhooks
	sound.Filter = part
	return sound
}

// hooksReported says that the webhooks of a trigger have been complained about.
func hooksReported(n *node) bool {
	filter := n.get("filter")
	if filter == nil {
		return false
	}
	for _, name := range []string{"webhooks", "webhook_ids"} {
		v := filter.get(name)
		if v != nil && v.kind == objectNode {
			v = v.get("in")
		}
		if v != nil && (v.kind != listNode || slices.ContainsFunc(v.items, func(item *node) bool { return item.kind != textNode || item.text == "" })) {
			return true
		}
	}
	return filter.kind != objectNode
}

func soundTrigger(provider string) lineshaft.Trigger { return catalog.Sample(provider) }

// filterParts splits a filter into filters of one condition each. A key that stands for
// another goes with it.
func filterParts(f lineshaft.TriggerFilter) []lineshaft.TriggerFilter {
	var parts []lineshaft.TriggerFilter
	if len(f.Payload) > 0 {
		parts = append(parts, lineshaft.TriggerFilter{Payload: f.Payload})
	}
	for _, spec := range catalog.Keys() {
		if f.Set(spec.Name) == nil {
			continue
		}
		var part lineshaft.TriggerFilter
		part.Put(spec.Name, f.Set(spec.Name))
		if spec.Alias != "" {
			part.Put(spec.Alias, f.Set(spec.Alias))
		}
		parts = append(parts, part)
	}
	return parts
}
