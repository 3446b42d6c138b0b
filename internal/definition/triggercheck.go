package definition

import (
	"slices"

	"github.com/lineshaft/lineshaft"
)

// checkTrigger reports what is wrong with a trigger beyond the shape of its keys.
// Each part is checked in a trigger that is sound otherwise, so that one mistake does
// not hide another.
func checkTrigger(r *reader, path string, n *node, t *lineshaft.Trigger) {
	if t.Provider == "" || t.Event == "" {
		return // reported already
	}
	sound := soundTrigger(t.Provider)
	rules := checkFired
	check := func(part lineshaft.Trigger) bool {
		err := rules(part)
		r.blame(err, path)
		return err == nil
	}
	event := sound
	if event.Event = t.Event; check(event) {
		sound.Event = t.Event // which filters it has depends on the event
	} else {
		rules = func(t lineshaft.Trigger) error { return t.Validate("") }
	}
	timed := sound
	// What is wrong with a schedule by itself is reported already.
	if timed.Schedule = t.Schedule; t.Schedule != nil || n.get("schedule") == nil {
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
		narrow := sound
		part.Webhooks = sound.Filter.Webhooks
		narrow.Filter = part
		check(narrow)
	}
}

// hooksReported says that the webhooks of a trigger have been complained about.
func hooksReported(n *node) bool {
	filter := n.get("filter")
	if filter == nil {
		return false
	}
	for _, name := range []string{"webhooks", "webhook_ids"} {
		v := filter.get(name)
		if v != nil && (v.kind != listNode || slices.ContainsFunc(v.items, func(item *node) bool { return item.kind != textNode || item.text == "" })) {
			return true
		}
	}
	return filter.kind != objectNode
}

// soundTrigger is a trigger of a provider that has no mistakes.
func soundTrigger(provider string) lineshaft.Trigger {
	t := lineshaft.Trigger{Provider: provider, Event: lineshaft.EventReceived}
	switch provider {
	case lineshaft.ProviderWebhook:
		t.Filter.Webhooks = []string{"any"}
	case lineshaft.ProviderSchedule:
		t.Event, t.Schedule = lineshaft.EventCronFired, &lineshaft.Timing{Cron: "@daily"}
	case lineshaft.ProviderRun:
		t.Event = lineshaft.EventFinished
	case lineshaft.ProviderGitHub:
		t.Event = "pull_request_*"
	case lineshaft.ProviderGitLab:
		t.Event = "merge_request"
	}
	return t
}

// filterParts splits a filter into filters of one condition each.
func filterParts(f lineshaft.TriggerFilter) []lineshaft.TriggerFilter {
	var parts []lineshaft.TriggerFilter
	if len(f.Payload) > 0 {
		parts = append(parts, lineshaft.TriggerFilter{Payload: f.Payload})
	}
	for i, c := range choicesOf(&f) {
		if *c.to != nil {
			var part lineshaft.TriggerFilter
			*choicesOf(&part)[i].to = *c.to
			parts = append(parts, part)
		}
	}
	return parts
}
