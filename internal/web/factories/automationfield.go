package factories

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// mostFields is how many fields of a delivery are offered, of a payload of fieldBytes at most, which
	// takes ten times as much memory. deepestField is how deep they lie, and longestWanted how long a
	// value a filter asks for word for word.
	mostFields    = 200
	fieldBytes    = 1 << 20
	deepestField  = 8
	longestWanted = 100
)

// payloadField is a value of a delivery that a filter can ask for.
type payloadField struct {
	// Path is the keys that lead to it, as JSON; Name and Value are for people.
	Path, Name, Value string

	keys  []string
	value any
}

// payloadFields lists the values of a body. Of an array it has those of the first element: a
// filter holds when one element fits.
func payloadFields(body []byte) []payloadField {
	var list []payloadField
	var walk func(keys []string, value any)
	walk = func(keys []string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				if len(keys) < deepestField && !slices.Contains(operators, key) {
					walk(append(slices.Clone(keys), key), value[key])
				}
			}
		case []any:
			if len(value) > 0 {
				walk(keys, value[0])
			}
		default:
			if len(list) == mostFields || len(keys) == 0 {
				return
			}
			path, _ := json.Marshal(keys) // of texts, which were JSON
			list = append(list, payloadField{
				Path: string(path), Name: page.OneLine(strings.Join(keys, "."), 120), Value: page.OneLine(shortJSON(value), 60),
				keys: keys, value: value,
			})
		}
	}
	if value, err := decodeNumbers(body); err == nil {
		walk(nil, value)
	}
	return list
}

// shortJSON is a text, a number, true, false or null as a filter has it, without escapes for HTML.
func shortJSON(value any) string {
	text, ok := value.(string)
	if !ok {
		written, _ := json.Marshal(value) // it was JSON
		return string(written)
	}
	return strconv.Quote(lineshaft.CutBytes(text, 4*longestWanted))
}

// operators are keys that a filter does not read as fields.
var operators = []string{"in", "not_in", "exists"}

func decodeNumbers(body []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// withField is a payload filter that also asks for the value of a field. It is not possible where
// the filter asks for something else there.
func withField(filter json.RawMessage, field payloadField) (json.RawMessage, bool) {
	root := map[string]any{}
	if len(filter) > 0 {
		value, err := decodeNumbers(filter)
		if root, _ = value.(map[string]any); err != nil || root == nil {
			return nil, false
		}
	}
	at := root
	for _, key := range field.keys[:len(field.keys)-1] {
		if at[key] == nil {
			at[key] = map[string]any{}
		}
		below, ok := at[key].(map[string]any)
		if !ok {
			return nil, false
		}
		at = below
	}
	last := field.keys[len(field.keys)-1]
	text, isText := field.value.(string)
	switch before := at[last].(type) {
	case nil:
		if at[last] = []any{field.value}; field.value == nil || isText && len(text) > longestWanted {
			at[last] = map[string]any{"exists": true}
		}
	case []any:
		if !slices.Contains(before, field.value) {
			at[last] = append(before, field.value)
		}
	default:
		return nil, false
	}
	made, err := json.Marshal(root)
	return made, err == nil
}

// offerFields lists what the filter of a trigger can ask of a delivery: of the body that was
// pasted for a trial, of the delivery that was chosen for it, or of the newest.
func (s pages) offerFields(r *page.Request, f *automationForm, t *triggerForm) {
	body, err := s.offeredBody(r, f)
	switch {
	case err != nil:
		t.FieldsProblem = s.problemText(r.Context(), err)
	case len(body) > fieldBytes:
		t.FieldsProblem = "The payload is larger than 1 MB. Paste the part that you need under “Try it”."
	case body == nil:
		t.FieldsProblem = "No delivery is stored yet. Send one, or paste a payload under “Try it”."
	default:
		if t.Fields = payloadFields(body); len(t.Fields) == 0 {
			t.FieldsProblem = "The payload is not a JSON object, so it has no fields."
		}
	}
}

func (s pages) offeredBody(r *page.Request, f *automationForm) ([]byte, error) {
	if strings.TrimSpace(f.Subject.Body) != "" {
		return []byte(f.Subject.Body), nil
	}
	chosen := slices.IndexFunc(f.Past, func(d pastDelivery) bool { return d.ID == f.Subject.Delivery })
	if chosen < 0 && len(f.Past) > 0 {
		chosen = 0
	}
	if chosen < 0 {
		return nil, nil
	}
	past := f.Past[chosen]
	for _, h := range f.Hooks {
		if h.Name == past.Webhook {
			found, err := s.Control.GetDelivery(r.Context(), r.Caller, f.Factory.UID, h.UID, past.ID, false)
			return found.Payload, err
		}
	}
	return nil, lineshaft.NotFound("webhook", past.Webhook)
}

// useField adds a field to the filter of a trigger, and offers the others again.
func (s pages) useField(r *page.Request, f *automationForm, t *triggerForm, path string) {
	s.offerFields(r, f, t)
	i := slices.IndexFunc(t.Fields, func(one payloadField) bool { return one.Path == path })
	if i < 0 {
		return
	}
	changed := t.read
	if len(t.Check.Problems) > 0 {
		t.FieldsProblem = "Fix the mistake in the filter first."
		return
	}
	if t.Check.Unticked {
		changed.Filter.Webhooks = nil
	}
	var ok bool
	if changed.Filter.Payload, ok = withField(changed.Filter.Payload, t.Fields[i]); !ok {
		t.FieldsProblem = "The filter already asks something else of " + t.Fields[i].Name + ". Change that in the text."
		return
	}
	made := f.trigger(t.Index, changed, factories.WriteTriggerFilter(changed))
	made.Fields = t.Fields
	*t = made
}
