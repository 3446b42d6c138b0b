package definition

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/nearest"
)

// textRules are what a text must keep to.
type textRules struct {
	// most is how many characters it may have; 0 is any number.
	most int
	// words are what it may be; none is anything.
	words []string
	// check is a further rule, with its pattern for the schema.
	check   func(string) error
	pattern string
	// filled says that it must not be empty, once that a list has it only once.
	filled bool
	once   bool
}

func (t textRules) schema() schema {
	s := schema{"type": "string"}
	if t.most > 0 {
		s["maxLength"] = t.most
	}
	if len(t.words) > 0 {
		s["enum"] = t.words
	}
	if t.pattern != "" {
		s["pattern"] = t.pattern
	}
	if t.filled {
		s["minLength"] = 1
	}
	return s
}

// readText reads a text, or reports why it is none.
func (r *reader) readText(path string, n *node, rules textRules) (string, bool) {
	switch {
	case n.kind == numberNode || n.kind == flagNode:
		r.wrongKind(n, path, "text", fmt.Sprintf("put it in quotes: %q", short(n.text, 60)))
		return "", false
	case n.kind != textNode:
		r.wrongKind(n, path, "text", "write one text")
		return "", false
	case rules.filled && n.text == "":
		r.wrong(n, path, "is empty", "write a text, or take it out")
	case rules.most > 0 && utf8.RuneCountInString(n.text) > rules.most:
		r.wrong(n, path, fmt.Sprintf("longer than %d characters", rules.most), "make it shorter")
	case len(rules.words) > 0 && !slices.Contains(rules.words, n.text):
		hint := "write one of " + strings.Join(rules.words, ", ")
		if near := nearest.Word(n.text, rules.words); near != "" {
			hint = fmt.Sprintf("did you mean %s? %s", near, hint)
		}
		r.wrong(n, path, fmt.Sprintf("%q is none of those that can stand here", short(n.text, 40)), hint)
	default:
		if rules.check != nil {
			if err := rules.check(n.text); err != nil {
				r.invalid(n, path, err)
				return "", false
			}
		}
		return n.text, true
	}
	return "", false
}

// text is a text at a key; empty is not said.
func text[T ~string](to *T, rules textRules) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if s, ok := r.readText(path, n, rules); ok {
				*to = T(s)
			}
		},
		write: func() *node {
			if *to == "" {
				return nil
			}
			return textOf(string(*to))
		},
		schema: rules.schema,
	}
}
