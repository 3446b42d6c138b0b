package forge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// Matcher is a trigger of a forge, ready to be held against events.
type Matcher struct {
	provider   string
	event      string // as in the trigger
	family     *family
	action     string // "" is any
	conditions []condition
	payload    *filter.Filter
}

// condition is one filter of a trigger.
type condition struct {
	field     field
	in, notIn *set // nil when not given
}

// Compile makes a trigger ready. Errors say what to write instead; their fields are
// relative to the trigger, such as event or filter.paths.
func Compile(t lineshaft.Trigger) (*Matcher, error) {
	if !t.Forge() {
		return nil, lineshaft.Invalid("provider", "%q is no forge; it has to be github or gitlab", t.Provider)
	}
	m := &Matcher{provider: t.Provider, event: t.Event}
	for _, f := range families(t.Provider) {
		if action, ok := f.find(t.Event); ok {
			m.family, m.action = f, action
		}
	}
	if m.family == nil {
		return nil, unknownEvent(t.Provider, t.Event)
	}
	for f := range field(fieldCount) {
		choice := f.of(t.Filter)
		if choice == nil {
			continue
		}
		if m.family.lacks(f, m.action) {
			return nil, m.misplaced(f)
		}
		c, err := m.condition(f, choice)
		if err != nil {
			return nil, err
		}
		m.conditions = append(m.conditions, c)
	}
	var err error
	if m.payload, err = filter.Compile(t.Filter.Payload); err != nil {
		return nil, payloadProblem(err)
	}
	return m, nil
}

func payloadProblem(err error) error {
	pub, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return fmt.Errorf("compile payload filter: %w", err)
	}
	blamed := *pub
	blamed.Field = strings.TrimSuffix("filter."+pub.Field, ".")
	return &blamed
}

func unknownEvent(provider, event string) error {
	if strings.Contains(event, "*") {
		return lineshaft.Invalid("event", "%q is no event of %s; a star stands for every action of one event, such as %s_*", event, provider,
			nearest.Words(cmp.Or(strings.Trim(event, "*_"), "issue"), familyNames(provider, true), 1)[0])
	}
	if word := nearest.Word(event, Events(provider)); word != "" {
		return lineshaft.Invalid("event", "%q is no event of %s; did you mean %s?", event, provider, word)
	}
	return lineshaft.Invalid("event", "%q is no event of %s; known are, with _ and what was done: %s", event, provider, strings.Join(familyNames(provider, false), ", "))
}

// familyNames are the names of a provider's families, all or those with actions.
func familyNames(provider string, acting bool) []string {
	var names []string
	for _, f := range families(provider) {
		if !acting || len(f.actions) > 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// misplaced says that the event never has what a filter asks for, and which do.
func (m *Matcher) misplaced(f field) error {
	var having []string
	for _, other := range families(m.provider) {
		switch {
		case other.has[f] == nil:
		case f == conclusions && len(other.actions) > 0:
			having = append(having, other.name+"_"+actionCompleted)
		case len(other.actions) > 0:
			having = append(having, other.name+"_*")
		default:
			having = append(having, other.name)
		}
	}
	return lineshaft.Invalid("filter."+f.String(), "%s of %s does not say any %s, so this would never match; they go with %s",
		m.event, m.provider, strings.ReplaceAll(f.String(), "_", " "), strings.Join(having, ", "))
}

func (m *Matcher) condition(f field, choice *lineshaft.Choice) (condition, error) {
	c := condition{field: f}
	if err := choice.Validate("filter." + f.String()); err != nil {
		return c, err
	}
	for _, side := range []struct {
		to     **set
		values []string
	}{{&c.in, choice.In}, {&c.notIn, choice.NotIn}} {
		if side.values == nil {
			continue
		}
		meant := make([]string, len(side.values))
		for i, value := range side.values {
			var err error
			if meant[i], err = m.value(f, value); err != nil {
				return c, err
			}
		}
		globs := f == repos || f == branches || f == baseBranches || f == paths
		fold := f == repos || f == labels || f == authors || f == conclusions
		made, err := newSet(side.values, meant, globs, fold)
		if err != nil {
			return c, lineshaft.Invalid("filter."+f.String(), "the patterns cannot be used: %v", err)
		}
		*side.to = made
	}
	return c, nil
}

// value refuses what no event can have, and takes off what means nothing.
func (m *Matcher) value(f field, value string) (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", lineshaft.Invalid("filter."+f.String(), "%q: "+format, append([]any{value}, args...)...)
	}
	switch f {
	case labels: // may be anything
	case repos:
		owner, name, ok := strings.Cut(value, "/")
		if !ok || owner == "" || name == "" || strings.HasSuffix(value, "/") || strings.Contains(value, ":") {
			return refuse("a repository is written as owner/name")
		}
	case authors:
		if strings.HasPrefix(value, "@") || strings.ContainsAny(value, "* ") {
			return refuse("an author is a login, such as %s, without @ and not a pattern", cmp.Or(strings.Trim(value, "@* "), "octocat"))
		}
	case branches, baseBranches:
		value = strings.TrimPrefix(value, refPrefix)
	case paths:
		if plain := strings.TrimPrefix(strings.TrimPrefix(value, "."), "/"); plain != value && strings.HasPrefix(strings.TrimPrefix(value, "."), "/") {
			return refuse("paths begin at the top of the repository; write %s", cmp.Or(plain, "**"))
		}
		if strings.HasSuffix(value, "/") {
			return refuse("this is a folder, and paths are files; write %s** for all that is in it", value)
		}
	case conclusions:
		known := githubConclusions()
		if m.provider == lineshaft.ProviderGitLab {
			known = gitlabConclusions()
		}
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, value) }) {
			return refuse("no conclusion of %s; there are %s", m.provider, strings.Join(nearest.Words(value, known, len(known)), ", "))
		}
	}
	return value, nil
}

// Match says whether an event fires the trigger.
func (m *Matcher) Match(e *Event) bool {
	if !m.named(e) {
		return false
	}
	for i := range m.conditions {
		c := &m.conditions[i]
		values := e.of(c.field)
		if c.in != nil && !c.in.overlaps(values) || c.notIn != nil && c.notIn.overlaps(values) {
			return false
		}
	}
	return m.payload.Match(e.doc)
}

// named says whether it is one of the events that the trigger is about.
func (m *Matcher) named(e *Event) bool {
	return m.family == e.family && (m.action == "" || e.did(m.action))
}
