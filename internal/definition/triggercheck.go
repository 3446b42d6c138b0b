package definition

import (
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

// checkTrigger reports what is wrong with a trigger beyond the shape of its keys.
// Each part is checked in a trigger that is sound otherwise, so that one mistake does
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
	// What is wrong with a schedule by itself is reported already.
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

// soundTrigger is a trigger of a provider that has no mistakes.
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
