package catalog

import (
	"regexp"
	"slices"
	"strings"
)

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

// overlaps says whether one of the values is in the set.
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
