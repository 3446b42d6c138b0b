package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// Choice is a set of values in the text that the caller wrote: a list, or an object
// with in and not_in. It is read later, when it is known where it stands.
type Choice json.RawMessage

// UnmarshalJSON keeps the text; null is no choice.
func (c *Choice) UnmarshalJSON(data []byte) error {
	*c = nil
	if string(data) != "null" {
		*c = append(*c, data...)
	}
	return nil
}

// MarshalJSON writes the text.
func (c Choice) MarshalJSON() ([]byte, error) { return json.RawMessage(c).MarshalJSON() }

// Schema implements huma.SchemaProvider.
func (Choice) Schema(r huma.Registry) *huma.Schema {
	const name = "Choice"
	if r.Map()[name] == nil {
		values := map[string]any{"type": "array", "items": map[string]any{"type": []string{"string", "integer"}}, "maxItems": lineshaft.MaxChoices}
		r.Map()[name] = &huma.Schema{
			Description: "Values that are allowed, as a list, or in and not_in; null and empty lists impose nothing. Of several values that an event has, " +
				"one must be in in and none in not_in; an event that has none fails in and passes not_in. Values are texts, those of pr_numbers whole numbers.",
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
				Description: "Webhooks of this factory by uid, as a list or as in. Together with webhooks 1 to 50.",
				Extensions:  map[string]any{"anyOf": []any{hooks, map[string]any{"type": "object", "properties": map[string]any{"in": hooks}, "additionalProperties": false}}},
			},
			lineshaft.KeyWebhooks: {Description: "Webhooks of this factory by name.", Extensions: hooks},
			lineshaft.KeyPayload:  PayloadFilter{}.Schema(r),
		}
		for _, spec := range factories.FilterKeys() {
			choice := Choice{}.Schema(r)
			properties[spec.Name] = &huma.Schema{Description: spec.Doc, Extensions: map[string]any{"allOf": []any{map[string]any{"$ref": choice.Ref}}}}
		}
		r.Map()[name] = &huma.Schema{
			Type: huma.TypeObject, Properties: properties, AdditionalProperties: true,
			Description: "Which events count; all keys must match. The keys of each event are in GET /factory/automations/events/{provider}; any other is refused.",
		}
	}
	return &huma.Schema{Ref: schemaPrefix + name}
}

// UnmarshalJSON keeps the text; null is no filter. It is read later, when it is known
// where it is.
func (f *TriggerFilter) UnmarshalJSON(data []byte) error {
	*f = nil
	if string(data) != "null" {
		*f = append(*f, data...)
	}
	return nil
}

// MarshalJSON writes the text.
func (f TriggerFilter) MarshalJSON() ([]byte, error) { return json.RawMessage(f).MarshalJSON() }

// domainFilter reads a filter that stands at a field.
func domainFilter(field string, wire TriggerFilter) (lineshaft.TriggerFilter, error) {
	var filter lineshaft.TriggerFilter
	if len(wire) == 0 {
		return filter, nil
	}
	err := json.Unmarshal(wire, &filter)
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok {
		blamed := *pub
		blamed.Field = strings.TrimSuffix(field+"."+pub.Field, ".")
		return filter, &blamed
	}
	return filter, err
}

func wireFilter(filter lineshaft.TriggerFilter) TriggerFilter {
	text, _ := filter.MarshalJSON() // texts always can be; unlike json.Marshal it leaves a payload as it was written
	if string(text) == "{}" {
		return nil
	}
	return text
}

func triggerField(i int, name string) string { return fmt.Sprintf("triggers[%d].%s", i, name) }
