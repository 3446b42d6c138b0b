package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// Check says whether a trigger of any provider is one of the table: its event, its
// keys and their values. Errors say what to write instead; their fields are relative to
// the trigger, such as event or filter.paths.
func Check(t lineshaft.Trigger) error {
	p := providerOf(t.Provider)
	if p == nil {
		return lineshaft.Invalid("provider", "%q is not one of %s", t.Provider, strings.Join(lineshaft.Providers(), ", "))
	}
	f, action := p.find(t.Event)
	if f == nil {
		return p.unknownEvent(t.Event)
	}
	for _, name := range t.Filter.Keys() {
		k := p.key(name)
		if k == nil {
			return p.unknownKey(t.Event, name, p.keysOf(f, action))
		}
		if f.lacks(k.source(), action) {
			return p.misplaced(t.Event, k)
		}
		if t.Filter.Set(name) == nil {
			continue
		}
		if k.alias != "" && t.Filter.Set(k.alias) != nil {
			return lineshaft.Invalid("filter."+name, "stands for %s, which is also there; keep one of the two", k.alias)
		}
		if err := k.check(t.Filter.Set(name)); err != nil {
			return err
		}
	}
	for _, k := range p.keysOf(f, action) {
		if k.required && (t.Filter.Set(k.name) == nil || len(t.Filter.Set(k.name).In) == 0) {
			return lineshaft.Invalid("filter", "%s of %s needs %s; write %s: [%s]", t.Event, p.name, k.name, k.name, k.form.kind)
		}
	}
	_, err := filter.Compile(t.Filter.Payload)
	return payloadProblem(err)
}

func payloadProblem(err error) error {
	if _, ok := errors.AsType[*lineshaft.Error](err); err != nil && !ok {
		return fmt.Errorf("compile payload filter: %w", err)
	}
	return lineshaft.Rename(err, lineshaft.Below("filter"))
}

func (p *provider) unknownEvent(event string) error {
	names := Events(p.name)
	if len(names) == 1 {
		return lineshaft.Invalid("event", "provider %s has the event %s only", p.name, names[0])
	}
	if strings.Contains(event, "*") && len(p.familyNames(true)) > 0 {
		base := cmp.Or(strings.Trim(event, "*_"), "issue")
		return lineshaft.Invalid("event", "%q is not an event of %s; a star stands for every action of one event, such as %s_*", event, p.name,
			nearest.Words(base, p.familyNames(true), 1)[0])
	}
	if near := nearest.Word(event, names); near != "" {
		return lineshaft.Invalid("event", "%q is not an event of %s; did you mean %s?", event, p.name, near)
	}
	if len(p.familyNames(true)) == 0 {
		return lineshaft.Invalid("event", "%q is not an event of %s; there are %s", event, p.name, strings.Join(names, ", "))
	}
	return lineshaft.Invalid("event", "%q is not an event of %s; known are, with _ and what was done: %s", event, p.name, strings.Join(p.familyNames(false), ", "))
}

// familyNames are the names of the families, all or those with actions.
func (p *provider) familyNames(acting bool) []string {
	var names []string
	for _, f := range p.families {
		if !acting || len(f.actions) > 0 {
			names = append(names, f.name)
		}
	}
	return names
}

func (p *provider) unknownKey(event, name string, keys []key) error {
	names := []string{lineshaft.KeyWebhooks, lineshaft.KeyWebhookIDs, lineshaft.KeyPayload}
	if !(lineshaft.Trigger{Provider: p.name}).Delivered() {
		names = nil
	}
	for _, k := range keys {
		names = append(names, k.name)
	}
	return lineshaft.Invalid("filter."+name, "%s of %s has no such key; there are %s", event, p.name, strings.Join(nearest.Words(name, names, len(names)), ", "))
}

// misplaced says that the event never has what a key asks for, and which do.
func (p *provider) misplaced(event string, k *key) error {
	var having []string
	for _, f := range p.families {
		switch {
		case f.lacks(k.source(), ""):
		case f.only[k.source()] != nil:
			having = append(having, f.name+"_"+f.only[k.source()][0])
		case len(f.actions) > 0:
			having = append(having, f.name+"_*")
		default:
			having = append(having, f.name)
		}
	}
	return lineshaft.Invalid("filter."+k.name, "%s of %s does not say any %s, so this would never match; they go with %s",
		event, p.name, strings.ReplaceAll(k.name, "_", " "), strings.Join(having, ", "))
}

// check refuses a set that the key cannot have.
func (k *key) check(c *lineshaft.Choice) error {
	field := "filter." + k.name
	if err := c.Validate(field); err != nil {
		return err
	}
	switch {
	case k.form.whole != c.Whole && k.form.whole:
		return lineshaft.Invalid(field, "are whole numbers; write them without quotes, such as [42]")
	case k.form.whole != c.Whole:
		return lineshaft.Invalid(field, "are texts; put the values in quotes")
	case k.form.listed && len(c.NotIn) > 0:
		return lineshaft.Invalid(field, "is a plain list of names; for in and not_in write ids in %s", k.alias)
	case k.form.allowed && len(c.NotIn) > 0:
		return lineshaft.Invalid(field, "takes a list, or in; not_in is not possible")
	case k.form.most > 0 && len(c.In) > k.form.most:
		return lineshaft.Invalid(field, "takes exactly %d; %d are written", k.form.most, len(c.In))
	}
	refused := make([]string, len(c.NotIn))
	for i, value := range c.NotIn {
		refused[i] = k.form.canonical(value)
	}
	for i, value := range c.Values() {
		meant := k.form.canonical(value)
		if meant == "" {
			return lineshaft.Invalid(field, "%q says nothing; write a %s", value, k.form.kind)
		}
		if k.form.check != nil {
			if err := k.form.checkValue(value); err != nil {
				return lineshaft.Rename(err, func(string) string { return field })
			}
		}
		if i < len(c.In) && slices.Contains(refused, meant) {
			return lineshaft.Invalid(field, "%q is both in in and in not_in; keep one of them", value)
		}
	}
	return nil
}

// checkValue checks a value as it is compared, but with its own case.
func (f form) checkValue(value string) error {
	if f.clean != nil {
		value = f.clean(value)
	}
	return f.check(value)
}

// Explain returns how each check of the trigger went on an event: the event itself,
// each filter, and the payload's. The trigger fires exactly when all passed.
func (m *Matcher) Explain(e *Event) []filter.Check {
	checks := []filter.Check{{Path: "event", Operator: "in", Expected: quote([]string{m.event}), Seen: seen(m.namesOf(e)), Passed: m.named(e)}}
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

// namesOf are the names of an event. One that the trigger's provider leaves aside says why: its
// name may be the very one that the trigger wants.
func (m *Matcher) namesOf(e *Event) []string {
	names := e.Names()
	if m.provider != e.provider || m.family.aside == "" || !slices.Contains(m.family.kinds, e.kind) ||
		slices.ContainsFunc(e.provider.families, e.is) {
		return names
	}
	return []string{strings.Join(names, ", ") + " (" + m.family.aside + ")"}
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
