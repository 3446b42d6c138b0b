package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// choiceSchema is that of a set of values: a list, or an object with in and not_in.
func choiceSchema(r huma.Registry) *huma.Schema {
	const name = "Choice"
	if r.Map()[name] == nil {
		values := map[string]any{"type": "array", "items": map[string]any{"type": []string{"string", "integer"}}, "maxItems": lineshaft.MaxChoices}
		r.Map()[name] = &huma.Schema{
			Description: "The allowed values, as a list, or as in and not_in; null and empty lists allow everything. If an event has several values, " +
				"one must be in in and none in not_in; an event without values fails in and passes not_in. Values are texts; those of pr_numbers are whole numbers.",
			Extensions: map[string]any{"anyOf": []any{
				values, map[string]any{"type": "object", "properties": map[string]any{"in": values, "not_in": values}, "additionalProperties": false},
			}},
		}
	}
	return &huma.Schema{Ref: schemaPrefix + name}
}

// Schema implements huma.SchemaProvider: the keys are those of the catalogue of events.
// Which of them an event has is judged by the catalogue, which says more than a schema.
func (TriggerFilter) Schema(r huma.Registry) *huma.Schema {
	const name = "TriggerFilter"
	if r.Map()[name] == nil {
		hooks := map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "maxItems": lineshaft.MaxTriggerHooks}
		properties := map[string]*huma.Schema{
			lineshaft.KeyWebhookIDs: {
				Description: "Webhooks of this factory by uid, as a list or as in. With webhooks, 1 to 50 in all.",
				Extensions:  map[string]any{"anyOf": []any{hooks, map[string]any{"type": "object", "properties": map[string]any{"in": hooks}, "additionalProperties": false}}},
			},
			lineshaft.KeyWebhooks: {Description: "Webhooks of this factory by name.", Extensions: hooks},
			lineshaft.KeyPayload:  payloadSchema(),
		}
		for _, spec := range factories.FilterKeys() {
			choice := choiceSchema(r)
			properties[spec.Name] = &huma.Schema{Description: spec.Doc, Extensions: map[string]any{"allOf": []any{map[string]any{"$ref": choice.Ref}}}}
		}
		r.Map()[name] = &huma.Schema{
			Type: huma.TypeObject, Properties: properties, AdditionalProperties: true,
			Description: "Which events count; all keys must match. The keys of each event are in GET /factory/automations/events/{provider}; any other is refused.",
		}
	}
	return &huma.Schema{Ref: schemaPrefix + name}
}

// UnmarshalJSON keeps the text; null means no filter. The text is read later, when its
// place is known.
func (f *TriggerFilter) UnmarshalJSON(data []byte) error {
	*f = nil
	if string(data) != "null" {
		*f = append(*f, data...)
	}
	return nil
}

// MarshalJSON writes the text.
func (f TriggerFilter) MarshalJSON() ([]byte, error) { return json.RawMessage(f).MarshalJSON() }

func wireFilter(filter lineshaft.TriggerFilter) TriggerFilter {
	text, _ := filter.MarshalJSON() // texts always can be; unlike json.Marshal it leaves a payload as it was written
	if string(text) == "{}" {
		return nil
	}
	return text
}

// TriggerEvent is an event that triggers of a provider may name.
type TriggerEvent struct {
	Event        string            `json:"event" doc:"Its name; * stands for any event of a provider whose events are not known."`
	FilterFields []string          `json:"filter_fields" doc:"The keys that its filters may have."`
	FieldSpecs   []FilterFieldSpec `json:"filter_field_specs" doc:"What each of the keys is."`
	Notice       string            `json:"notice,omitempty" doc:"Why a trigger with it never fires here."`
}

// FilterFieldSpec is a key of a filter.
type FilterFieldSpec struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Type        string   `json:"type" enum:"string,integer" doc:"Of each value."`
	Value       string   `json:"value" doc:"What a value is."`
	Forms       []string `json:"forms" doc:"How it may be written: list, in, not_in."`
	Match       string   `json:"match" enum:"exact,any_case,pattern,part" doc:"How values are compared: as they are, in any case, as patterns with * and **, or as part of the text."`
	AliasOf     string   `json:"alias_of,omitempty" doc:"The key that it stands for; use only one of the two."`
	Required    bool     `json:"required"`
	Notice      string   `json:"notice,omitempty" doc:"Why events usually do not have it."`
}

// ListTriggerEventsResponse has the events of a provider by name.
type ListTriggerEventsResponse struct {
	Provider string         `json:"provider"`
	Events   []TriggerEvent `json:"events"`
}

type listTriggerEventsInput struct {
	Provider string `path:"provider" doc:"Such as github or slack."`
}

func (s *server) listTriggerEvents(_ context.Context, in *listTriggerEventsInput) (*answer[ListTriggerEventsResponse], error) {
	events, err := factories.TriggerCatalog(in.Provider)
	return reply(ListTriggerEventsResponse{in.Provider, each(events, wireTriggerEvent)}, err)
}

func wireTriggerEvent(e *factories.TriggerEvent) TriggerEvent {
	name := func(k *factories.FilterKey) string { return k.Name }
	return TriggerEvent{Event: e.Event, FilterFields: each(e.Keys, name), FieldSpecs: each(e.Keys, wireKey), Notice: e.Silent}
}

func wireKey(k *factories.FilterKey) FilterFieldSpec {
	spec := FilterFieldSpec{
		Name: k.Name, Description: k.Doc, Type: "string", Value: k.Value, Forms: []string{"list", "in", "not_in"}, Match: "exact",
		AliasOf: k.Alias, Required: k.Required, Notice: k.Unseen,
	}
	switch {
	case k.List:
		spec.Forms = spec.Forms[:1]
	case k.InOnly:
		spec.Forms = spec.Forms[:2]
	}
	if k.Whole {
		spec.Type = "integer"
	}
	switch {
	case k.Patterns:
		spec.Match = "pattern"
	case k.Part:
		spec.Match = "part"
	case k.AnyCase:
		spec.Match = "any_case"
	}
	return spec
}

// TriggerSchedule says when a trigger fires.
type TriggerSchedule struct {
	Name     string `json:"name,omitempty" maxLength:"200" doc:"What distinguishes it from other schedules of the automation."`
	Cron     string `json:"cron" doc:"Five cron fields, @daily and the like, or @every 1h."`
	Timezone string `json:"timezone,omitempty" doc:"An IANA name; UTC when absent."`
	Overlap  string `json:"overlap,omitempty" doc:"skip or queue: what happens while the last run is live."`
}

// UnmarshalJSON also takes the cron expression alone.
func (t *TriggerSchedule) UnmarshalJSON(data []byte) error {
	*t = TriggerSchedule{}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		return json.Unmarshal(data, &t.Cron)
	}
	var fields map[string]string
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for name, value := range fields {
		switch name {
		case "name":
			t.Name = value
		case "cron":
			t.Cron = value
		case "timezone":
			t.Timezone = value
		case "overlap":
			t.Overlap = value
		default:
			return fmt.Errorf("schedule has no %q; it has name, cron, timezone and overlap", lineshaft.Clip(name, 80))
		}
	}
	return nil
}

// Schema implements huma.SchemaProvider. The domain checks the content, and says more
// than a schema could.
func (TriggerSchedule) Schema(huma.Registry) *huma.Schema {
	cron, zone := map[string]any{"type": "string", "format": "cron"}, map[string]any{"type": "string", "format": "timezone"}
	return &huma.Schema{
		Description: "For provider schedule only: a cron expression (five fields, @daily and the like, or @every 1h), or an object with cron, timezone (an IANA name; UTC when absent), overlap (skip or queue) and name (what distinguishes it from other schedules of the automation).",
		Extensions: map[string]any{"anyOf": []map[string]any{cron, {
			"type": "object", "required": []string{"cron"}, "additionalProperties": false,
			"properties": map[string]any{
				"name": map[string]any{"type": "string", "maxLength": 200}, "cron": cron, "timezone": zone,
				"overlap": map[string]any{"type": "string", "enum": []string{"skip", "queue"}},
			},
		}}},
	}
}

func domainTiming(t *TriggerSchedule) *lineshaft.Timing {
	if t == nil {
		return nil
	}
	return &lineshaft.Timing{Name: t.Name, Cron: t.Cron, Timezone: t.Timezone, Overlap: lineshaft.Overlap(t.Overlap)}
}

func wireTiming(t *lineshaft.Timing) *TriggerSchedule {
	if t == nil {
		return nil
	}
	return &TriggerSchedule{Name: t.Name, Cron: t.Cron, Timezone: t.Timezone, Overlap: string(t.Overlap)}
}
