package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// Explain returns how each check of the trigger went on an event: the event itself,
// each filter, and the payload's. The trigger fires exactly when all passed.
func (m *Matcher) Explain(e *Event) []filter.Check {
	checks := []filter.Check{{Path: "event", Operator: "in", Expected: quote([]string{m.event}), Seen: seen(e.Names()), Passed: m.named(e)}}
	for i := range m.conditions {
		c := &m.conditions[i]
		values := m.values(e, c)
		if c.in != nil {
			checks = append(checks, filter.Check{Path: c.name, Operator: "in", Expected: quote(c.in.written), Seen: seen(values), Passed: c.passesIn(values)})
		}
		if c.notIn != nil {
			checks = append(checks, filter.Check{Path: c.name, Operator: "not_in", Expected: quote(c.notIn.written), Seen: seen(values), Passed: c.passesNotIn(values)})
		}
	}
	return append(checks, m.payload.Explain(e.doc)...)
}

// maxSeen is how many values a check shows.
const maxSeen = 20

// seen is one value, a list of some, or nothing.
func seen(values []string) json.RawMessage {
	switch {
	case len(values) == 0:
		return nil
	case len(values) == 1:
		text, _ := json.Marshal(values[0]) // a text always can be
		return text
	case len(values) > maxSeen:
		values = append(values[:maxSeen:maxSeen], fmt.Sprintf("… (%d in all)", len(values)))
	}
	return quote(values)
}

func quote(values []string) json.RawMessage {
	text, _ := json.Marshal(values) // texts always can be
	return text
}
