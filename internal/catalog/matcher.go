package catalog

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// Matcher is a trigger of a provider that sends events, ready to be held against them.
type Matcher struct {
	provider   *provider
	event      string // as in the trigger
	family     *family
	action     string // "" is any
	conditions []condition
	payload    *filter.Filter
}

// condition is one key of a filter.
type condition struct {
	// name is as in the trigger, key whose values are looked at.
	name, key string
	in, notIn *set // nil when not given
	// blind says that an event without values cannot be judged.
	blind bool
}

// Compile makes a trigger ready. The handle is what the factory is mentioned by; only
// triggers that wait for that need one.
func Compile(t lineshaft.Trigger, handle string) (*Matcher, error) {
	if !t.Sent() {
		return nil, lineshaft.Invalid("provider", "%q sends no events to webhooks; there are %s", t.Provider, strings.Join(lineshaft.SendingProviders(), ", "))
	}
	if err := Check(t); err != nil {
		return nil, err
	}
	m := &Matcher{provider: providerOf(t.Provider), event: t.Event}
	m.family, m.action = m.provider.find(t.Event)
	for i := range m.provider.keys {
		k := &m.provider.keys[i]
		if choice := t.Filter.Set(k.name); choice != nil {
			c, err := m.condition(k, choice)
			if err != nil {
				return nil, err
			}
			m.conditions = append(m.conditions, c)
		}
	}
	if m.family.handled {
		m.conditions = append(m.conditions, handleCondition(handle))
	}
	var err error
	m.payload, err = filter.Compile(t.Filter.Payload)
	return m, payloadProblem(err)
}

func (m *Matcher) condition(k *key, choice *lineshaft.Choice) (condition, error) {
	c := condition{name: k.name, key: k.source(), blind: m.family.blind[k.source()] != ""}
	for _, side := range []struct {
		to     **set
		values []string
	}{{&c.in, choice.In}, {&c.notIn, choice.NotIn}} {
		if len(side.values) == 0 {
			continue
		}
		made, err := newSet(side.values, k.form)
		if err != nil {
			return c, lineshaft.Invalid("filter."+k.name, "the patterns cannot be used: %v", err)
		}
		*side.to = made
	}
	return c, nil
}

// handleCondition is met by an event that mentions the factory.
func handleCondition(handle string) condition {
	c := condition{name: keyMentioned, key: handleKey, in: &set{written: []string{}, form: mention()}}
	if handle != "" {
		c.in.written = []string{handle}
		c.in.exact = []string{strings.ReplaceAll(handle, " ", "-")}
	}
	return c
}

// handleKey has the mentions of an event whose filter has no key for them.
const handleKey = "@"

// Match says whether an event fires the trigger.
func (m *Matcher) Match(e *Event) bool {
	if !m.named(e) {
		return false
	}
	for i := range m.conditions {
		c := &m.conditions[i]
		values := m.values(e, c)
		if !c.passesIn(values) || !c.passesNotIn(values) {
			return false
		}
	}
	return m.payload.Match(e.doc)
}

func (m *Matcher) values(e *Event, c *condition) []string {
	if c.key == handleKey {
		return e.handles()
	}
	return e.of(m.family, c.key)
}

func (c *condition) passesIn(values []string) bool { return c.in == nil || c.in.overlaps(values) }

func (c *condition) passesNotIn(values []string) bool {
	return c.notIn == nil || !(c.blind && len(values) == 0) && !c.notIn.overlaps(values)
}

// named says whether it is one of the events that the trigger is about.
func (m *Matcher) named(e *Event) bool {
	return m.provider == e.provider && e.is(m.family) && (m.action == "" || slices.Contains(e.actions(m.family), m.action))
}
