package catalog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// Event is what a provider sent. Its values are looked for when a filter asks, and kept.
type Event struct {
	provider *provider
	kind     string
	// header is what the request itself called the event.
	header string
	doc    *filter.Doc
	body   filter.Value
	about  map[*family]bool
	did    map[*family][]string
	values map[place][]string
}

// place is where the values of a key come from: one key may mean different things in
// the families that an event belongs to.
type place struct {
	family *family
	key    string
}

// Read reads a request to a webhook: what the provider's header said, and the body.
func Read(name, header string, doc *filter.Doc) *Event {
	e := &Event{
		provider: providerOf(name), kind: header, header: header, doc: doc, body: doc.Root(),
		about: map[*family]bool{}, did: map[*family][]string{}, values: map[place][]string{},
	}
	if e.provider != nil && e.provider.kind != nil {
		e.kind = e.provider.kind(header, e.body)
	}
	return e
}

func (e *Event) is(f *family) bool {
	if !slices.Contains(f.kinds, e.kind) {
		return false
	}
	if f.about == nil {
		return true
	}
	about, known := e.about[f]
	if !known {
		about = f.about(e)
		e.about[f] = about
	}
	return about
}

// actions are what was done, in the words of a family.
func (e *Event) actions(f *family) []string {
	if f.actionsOf == nil {
		return nil
	}
	actions, known := e.did[f]
	if !known {
		actions = f.actionsOf(e.body)
		e.did[f] = actions
	}
	return actions
}

// Names are what triggers call the event: none or one, or several, as for a pull
// request that was closed by merging it. An event that triggers do not know has the
// provider's own name.
func (e *Event) Names() []string {
	if e.provider == nil {
		return named1(e.header)
	}
	var names []string
	for _, f := range e.provider.families {
		if !e.is(f) {
			continue
		}
		actions := e.actions(f)
		if len(actions) == 0 {
			names = append(names, f.name)
		}
		for _, action := range actions {
			names = append(names, f.name+"_"+action)
		}
	}
	if names == nil && e.header == "" {
		return named1(e.kind)
	}
	if names == nil {
		return named1(e.header)
	}
	return names
}

func named1(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// Repo is the repository that it is about, as owner/name; "" when there is none.
func (e *Event) Repo() string {
	if e.provider == nil {
		return ""
	}
	for _, f := range e.provider.families {
		if e.is(f) {
			return strings.Join(e.of(f, keyRepos), "")
		}
	}
	return ""
}

// of are the values that a key of a family looks at.
func (e *Event) of(f *family, key string) []string {
	at := place{f, key}
	values, known := e.values[at]
	if !known {
		if find := f.has[key]; find != nil {
			values = find(e)
		}
		e.values[at] = values
	}
	return values
}

func (e *Event) handles() []string { return gitlabMentions(e) }

// set is a list of values or patterns of a filter.
type set struct {
	// written is as in the trigger.
	written []string
	exact   []string
	// pattern is all patterns in one; nil when there are none. It takes time in
	// proportion to the text, whatever people write.
	pattern *regexp.Regexp
	form    form
}

func newSet(written []string, f form) (*set, error) {
	s := &set{written: written, form: f}
	var patterns []string
	for _, value := range written {
		if f.clean != nil {
			value = f.clean(value)
		}
		switch {
		case f.globs && strings.ContainsAny(value, "*?"):
			patterns = append(patterns, globPattern(value))
		case f.part:
			s.exact = append(s.exact, strings.ToLower(value))
		default:
			s.exact = append(s.exact, value)
		}
	}
	if len(patterns) == 0 {
		return s, nil
	}
	flags := "s"
	if f.fold {
		flags = "si"
	}
	var err error
	s.pattern, err = regexp.Compile("(?" + flags + ")^(?:" + strings.Join(patterns, "|") + ")$")
	return s, err
}

func (s *set) overlaps(values []string) bool { return slices.ContainsFunc(values, s.holds) }

func (s *set) holds(value string) bool {
	if s.form.part {
		value = strings.ToLower(value)
		return slices.ContainsFunc(s.exact, func(one string) bool { return strings.Contains(value, one) })
	}
	for _, exact := range s.exact {
		if value == exact || s.form.fold && strings.EqualFold(value, exact) {
			return true
		}
	}
	return s.pattern != nil && s.pattern.MatchString(value)
}

// globPattern writes a glob as a regular expression.
func globPattern(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); {
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || glob[i-1] == '/'):
			b.WriteString("(?:.*/)?")
			i += 3
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i += 2
		case rest[0] == '*':
			b.WriteString("[^/]*")
			i++
		case rest[0] == '?':
			b.WriteString("[^/]")
			i++
		default:
			end := strings.IndexAny(rest, "*?")
			if end < 0 {
				end = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:end]))
			i += end
		}
	}
	return b.String()
}
