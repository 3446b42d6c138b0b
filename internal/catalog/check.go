package catalog

import (
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
		return lineshaft.Invalid("provider", "%q is none of %s", t.Provider, strings.Join(lineshaft.Providers(), ", "))
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
			return lineshaft.Invalid("filter."+name, "stands for %s, which is there, too; keep one of the two", k.alias)
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
	if err == nil {
		return nil
	}
	pub, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return fmt.Errorf("compile payload filter: %w", err)
	}
	blamed := *pub
	blamed.Field = strings.TrimSuffix("filter."+pub.Field, ".")
	return &blamed
}

func (p *provider) unknownEvent(event string) error {
	names := Events(p.name)
	if len(names) == 1 {
		return lineshaft.Invalid("event", "provider %s has the event %s only", p.name, names[0])
	}
	if strings.Contains(event, "*") && len(p.familyNames(true)) > 0 {
		base := strings.Trim(event, "*_")
		if base == "" {
			base = "issue"
		}
		return lineshaft.Invalid("event", "%q is no event of %s; a star stands for every action of one event, such as %s_*", event, p.name,
			nearest.Words(base, p.familyNames(true), 1)[0])
	}
	if near := nearest.Word(event, names); near != "" {
		return lineshaft.Invalid("event", "%q is no event of %s; did you mean %s?", event, p.name, near)
	}
	if len(p.familyNames(true)) == 0 {
		return lineshaft.Invalid("event", "%q is no event of %s; there are %s", event, p.name, strings.Join(names, ", "))
	}
	return lineshaft.Invalid("event", "%q is no event of %s; known are, with _ and what was done: %s", event, p.name, strings.Join(p.familyNames(false), ", "))
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
		return lineshaft.Invalid(field, "takes a list, or in; not_in does not go with it")
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
				return inField(err, field)
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

func inField(err error, field string) error {
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok {
		blamed := *pub
		blamed.Field = field
		return &blamed
	}
	return err
}
