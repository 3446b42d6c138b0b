package api

import (
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// sayTriggers adds to the schema of triggers what the table of events says: which providers
// there are, their events, and the keys of their filters. Like the rules, it is for readers
// of the document; the table itself answers mistakes in its own words. Which keys each event
// has would be too much here: GET /factory/automations/events/{provider} says it.
func sayTriggers(schemas map[string]*huma.Schema) error {
	provider, err := schemaAt(schemas, "Trigger.provider")
	if err != nil {
		return err
	}
	provider.Extensions = keywords{"enum": lineshaft.Providers()}
	var branches []any
	for _, name := range lineshaft.Providers() {
		events, err := factories.TriggerCatalog(name)
		if err != nil {
			return err
		}
		branches = append(branches, triggersOf(name, events)...)
	}
	schemas["Trigger"].Extensions = keywords{"anyOf": branches}
	return nil
}

// keywords are those of a schema.
type keywords = map[string]any

// triggersOf are the forms that triggers of a provider have.
func triggersOf(provider string, events []factories.TriggerEvent) []any {
	filter, needed := sayFilter(provider, events)
	none := keywords{"type": "null"}
	properties := keywords{"provider": keywords{"const": provider}, "event": sayEvents(events), "filter": filter, "schedule": none}
	out := keywords{"properties": properties}
	if needed {
		out["required"] = []string{"filter"}
	}
	if provider != lineshaft.ProviderSchedule {
		return []any{out}
	}
	// A schedule stands in the trigger, or is named in the filter.
	ids, _ := filter["properties"].(keywords)[lineshaft.KeyScheduleIDs].(keywords)
	inline := maps.Clone(properties)
	inline["schedule"] = keywords{"type": []string{"string", "object"}}
	inline["filter"] = keywords{"propertyNames": filter["propertyNames"], "properties": keywords{lineshaft.KeyScheduleIDs: sayNothing()}}
	ids["anyOf"] = sayRequired()
	filter["type"], filter["required"] = "object", []string{lineshaft.KeyScheduleIDs}
	out["required"] = []string{"filter"}
	return []any{keywords{"required": []string{"schedule"}, "properties": inline}, out}
}

// sayEvents lists the names, or says what they look like where they are not established.
func sayEvents(events []factories.TriggerEvent) keywords {
	var names []string
	for _, e := range events {
		if e.Event == factories.AnyEvent {
			return keywords{"pattern": "^[A-Za-z0-9._-]+$", "maxLength": 80}
		}
		names = append(names, e.Event)
	}
	return keywords{"enum": names}
}

// sayFilter says which keys the filters of a provider have, and whether there has to be one.
func sayFilter(provider string, events []factories.TriggerEvent) (filter keywords, needed bool) {
	var names, required []string
	values := keywords{}
	if (lineshaft.Trigger{Provider: provider}).Delivered() {
		names = append(names, lineshaft.KeyWebhookIDs, lineshaft.KeyWebhooks, lineshaft.KeyPayload)
	}
	for _, e := range events {
		for _, k := range e.Keys {
			if slices.Contains(names, k.Name) {
				continue
			}
			names = append(names, k.Name)
			if values[k.Name] = sayValues(k); k.Required {
				required = append(required, k.Name)
			}
		}
	}
	filter = keywords{"propertyNames": keywords{"enum": names}, "properties": values}
	switch {
	case provider == lineshaft.ProviderWebhook:
		filter["type"] = "object"
		some, ids := keywords{"type": "array", "minItems": 1}, keywords{"anyOf": sayRequired()}
		filter["anyOf"] = []any{
			keywords{"required": []string{lineshaft.KeyWebhooks}, "properties": keywords{lineshaft.KeyWebhooks: some}},
			keywords{"required": []string{lineshaft.KeyWebhookIDs}, "properties": keywords{lineshaft.KeyWebhookIDs: ids}},
		}
	case required != nil:
		filter["type"], filter["required"] = "object", required
	default:
		return filter, false
	}
	return filter, true
}

// sayValues says what the values of a key are, in a list and in those of `in` and `not_in`.
func sayValues(k factories.FilterKey) keywords {
	item := keywords{"type": "string", "minLength": 1, "maxLength": 256}
	if k.Pattern != "" {
		item["pattern"] = k.Pattern
	}
	if k.Whole {
		item = keywords{"type": "integer", "minimum": 1}
	}
	in, notIn := keywords{"items": item}, keywords{"items": item}
	out := keywords{"items": item, "properties": keywords{"in": in, "not_in": notIn}}
	if k.Most > 0 {
		in["maxItems"], out["maxItems"] = k.Most, k.Most
	}
	if k.List || k.InOnly {
		notIn["maxItems"] = 0
	}
	if k.Required {
		out["anyOf"] = sayRequired()
	}
	return out
}

// sayRequired says that there is at least one value that is allowed.
func sayRequired() []any {
	some := keywords{"in": keywords{"minItems": 1}}
	return []any{keywords{"type": "array", "minItems": 1}, keywords{"type": "object", "required": []string{"in"}, "properties": some}}
}

// sayNothing says that there are no values.
func sayNothing() keywords {
	return keywords{"maxItems": 0, "properties": keywords{"in": keywords{"maxItems": 0}, "not_in": keywords{"maxItems": 0}}}
}
