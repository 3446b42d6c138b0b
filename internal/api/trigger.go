package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
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
		values := map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "maxItems": lineshaft.MaxChoices}
		r.Map()[name] = &huma.Schema{
			Description: "Values that are allowed, as a list, or in and not_in. Of several values that an event has, one must be in in and none in not_in; " +
				"an event that has none fails in and passes not_in.",
			Extensions: map[string]any{"anyOf": []any{
				values, map[string]any{"type": "object", "properties": map[string]any{"in": values, "not_in": values}, "additionalProperties": false},
			}},
		}
	}
	return &huma.Schema{Ref: schemaPrefix + name}
}

// choices are the sets of a filter with where they go.
func (f *TriggerFilter) choices(to *lineshaft.TriggerFilter) []struct {
	name string
	wire *Choice
	to   **lineshaft.Choice
} {
	return []struct {
		name string
		wire *Choice
		to   **lineshaft.Choice
	}{
		{"repos", &f.Repos, &to.Repos},
		{"labels", &f.Labels, &to.Labels},
		{"authors", &f.Authors, &to.Authors},
		{"branches", &f.Branches, &to.Branches},
		{"base_branches", &f.BaseBranches, &to.BaseBranches},
		{"paths", &f.Paths, &to.Paths},
		{"conclusions", &f.Conclusions, &to.Conclusions},
		{"agents", &f.Agents, &to.Agents},
		{"automations", &f.Automations, &to.Automations},
		{"states", &f.States, &to.States},
		{"factories", &f.Factories, &to.Factories},
	}
}

// UnmarshalJSON also remembers a key that is not known. Elsewhere such keys mean
// nothing; here one that is left out would let more events through than was asked for.
func (f *TriggerFilter) UnmarshalJSON(data []byte) error {
	type plain TriggerFilter
	if err := json.Unmarshal(data, (*plain)(f)); err != nil {
		return err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	for _, known := range filterKeys() {
		delete(keys, known)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		f.unknown = key
		break
	}
	return nil
}

func filterKeys() []string {
	keys := []string{"webhook_ids", "webhooks", "payload"}
	for _, c := range new(TriggerFilter).choices(new(lineshaft.TriggerFilter)) {
		keys = append(keys, c.name)
	}
	return keys
}

// domainFilter reads a filter that stands at a field. What providers that never fire
// have besides is not kept.
func domainFilter(field, provider string, wire TriggerFilter) (lineshaft.TriggerFilter, error) {
	filter := lineshaft.TriggerFilter{WebhookIDs: wire.WebhookIDs, Webhooks: wire.Webhooks, Payload: json.RawMessage(wire.Payload)}
	if wire.unknown != "" && !(lineshaft.Trigger{Provider: provider}).Dormant() {
		return filter, lineshaft.Invalid(field, "has no %q; it has %s", clipText(wire.unknown), strings.Join(filterKeys(), ", "))
	}
	for _, c := range wire.choices(&filter) {
		if len(*c.wire) == 0 {
			continue
		}
		var read lineshaft.Choice
		if err := json.Unmarshal(*c.wire, &read); err != nil {
			return filter, lineshaft.Invalid(field+"."+c.name, `has to be a list of texts, or an object with in and not_in, such as ["a"] or {"not_in": ["b"]}`)
		}
		*c.to = &read
	}
	return filter, nil
}

func wireFilter(filter lineshaft.TriggerFilter) TriggerFilter {
	wire := TriggerFilter{WebhookIDs: filter.WebhookIDs, Webhooks: filter.Webhooks, Payload: PayloadFilter(filter.Payload)}
	for _, c := range wire.choices(&filter) {
		if *c.to != nil {
			*c.wire, _ = json.Marshal(*c.to) // lists of texts always can be
		}
	}
	return wire
}

// clipText keeps what a caller sent short in a message.
func clipText(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

func triggerField(i int, name string) string { return fmt.Sprintf("triggers[%d].%s", i, name) }
