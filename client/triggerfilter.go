package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// TriggerSchedule says when a trigger of provider schedule fires.
type TriggerSchedule struct {
	// Cron has five fields, or is @daily and the like, or @every 1h.
	Cron string `json:"cron"`
	// Timezone is an IANA name; empty is UTC.
	Timezone string `json:"timezone,omitempty"`
	// Overlap is skip or queue while the last run is live.
	Overlap string `json:"overlap,omitempty"`
}

// TriggerFilter names the webhooks of a trigger, by uid or by name, and which of
// their deliveries count.
type TriggerFilter struct {
	WebhookIDs []string
	Webhooks   []string
	// Payload is a payload filter; nil matches every delivery.
	Payload json.RawMessage
	// Sets are all other keys, such as labels or channel_ids; the list of events says which
	// of them an event has.
	Sets map[string]Choice
}

// MarshalJSON writes the sets beside the other keys.
func (f TriggerFilter) MarshalJSON() ([]byte, error) {
	keys := map[string]any{}
	for key, set := range f.Sets {
		keys[key] = set
	}
	if len(f.WebhookIDs) > 0 {
		keys["webhook_ids"] = f.WebhookIDs
	}
	if len(f.Webhooks) > 0 {
		keys["webhooks"] = f.Webhooks
	}
	if len(f.Payload) > 0 {
		keys["payload"] = f.Payload
	}
	return encodeJSON(keys)
}

// UnmarshalJSON reads every key, also those that a newer server has.
func (f *TriggerFilter) UnmarshalJSON(text []byte) error {
	*f = TriggerFilter{}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return err
	}
	for key, value := range keys {
		if key == "payload" {
			f.Payload = value
			continue
		}
		var set Choice
		if err := json.Unmarshal(value, &set); err != nil {
			return fmt.Errorf("filter key %s: %w", key, err)
		}
		switch {
		case key == "webhook_ids" && set.NotIn == nil:
			f.WebhookIDs = set.In
		case key == "webhooks" && set.NotIn == nil:
			f.Webhooks = set.In
		default:
			if f.Sets == nil {
				f.Sets = map[string]Choice{}
			}
			f.Sets[key] = set
		}
	}
	return nil
}

// Choice is a set of allowed values and one of refused ones. The API also writes it
// as a list when nothing is refused.
type Choice struct {
	In    []string
	NotIn []string
	// Whole says that the values are whole numbers, as those of pr_numbers are.
	Whole bool
}

// MarshalJSON writes in and not_in, unless they are nil.
func (c Choice) MarshalJSON() ([]byte, error) {
	lists := map[string]any{}
	for key, values := range map[string][]string{"in": c.In, "not_in": c.NotIn} {
		if values != nil {
			lists[key] = writtenValues(values, c.Whole)
		}
	}
	return encodeJSON(lists)
}

func writtenValues(values []string, whole bool) any {
	if !whole {
		return values
	}
	numbers := make([]json.Number, len(values))
	for i, value := range values {
		numbers[i] = json.Number(value)
	}
	return numbers
}

// UnmarshalJSON reads both forms.
func (c *Choice) UnmarshalJSON(text []byte) error {
	*c = Choice{}
	var lists struct {
		In    []choiceValue `json:"in"`
		NotIn []choiceValue `json:"not_in"`
	}
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		err = json.Unmarshal(text, &lists.In)
	} else {
		err = json.Unmarshal(text, &lists)
	}
	c.In, c.NotIn = textsOf(lists.In), textsOf(lists.NotIn)
	c.Whole = slices.ContainsFunc(slices.Concat(lists.In, lists.NotIn), func(v choiceValue) bool { return v.whole })
	return err
}

func textsOf(values []choiceValue) []string {
	if values == nil {
		return nil
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = value.text
	}
	return texts
}

// choiceValue is a text or a number.
type choiceValue struct {
	text  string
	whole bool
}

func (v *choiceValue) UnmarshalJSON(data []byte) error {
	var number json.Number
	if bytes.HasPrefix(data, []byte(`"`)) {
		return json.Unmarshal(data, &v.text)
	}
	err := json.Unmarshal(data, &number)
	v.text, v.whole = number.String(), true
	return err
}
