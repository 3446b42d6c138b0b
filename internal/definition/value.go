package definition

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
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
	// filled says that it must not be empty, once that a list has it only once, and trim
	// that blank space around it does not count.
	filled bool
	once   bool
	trim   bool
	// alike are other spellings of words.
	alike map[string]string
	// usual need not be said.
	usual string
	// form is what a block or list at its place is answered with, such as an example.
	form string
}

func (t textRules) schema() schema {
	s := schema{"type": "string"}
	if t.most > 0 {
		s["maxLength"] = t.most
	}
	if len(t.words) > 0 {
		s["enum"] = append(slices.Clone(t.words), slices.Sorted(maps.Keys(t.alike))...)
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
	text := n.text
	if rules.trim {
		text = strings.TrimSpace(text)
	}
	if word, ok := rules.alike[text]; ok {
		text = word
	}
	switch {
	case n.kind == numberNode || n.kind == flagNode:
		r.wrongKind(n, path, "text", fmt.Sprintf("put it in quotes: %q", lineshaft.Clip(n.text, 60)))
	case n.kind != textNode:
		r.wrongKind(n, path, "text", cmp.Or(rules.form, "write it as "+lastKey(path)+": text"))
	case rules.filled && text == "":
		r.wrong(n, path, "is empty", "write a text, or take it out").as(CodeMissingRequired)
	case rules.most > 0 && utf8.RuneCountInString(text) > rules.most:
		r.wrong(n, path, fmt.Sprintf("longer than %d characters", rules.most), "make it shorter")
	case len(rules.words) > 0 && !slices.Contains(rules.words, text):
		hint := "write one of " + strings.Join(rules.words, ", ")
		if near := nearest.Word(text, rules.words); near != "" {
			hint = fmt.Sprintf("did you mean %s? %s", near, hint)
		}
		r.wrong(n, path, fmt.Sprintf("%q is none of those that can stand here", lineshaft.Clip(text, 40)), hint)
	default:
		if rules.check != nil {
			if err := rules.check(text); err != nil {
				r.invalid(n, path, err)
				return "", false
			}
		}
		return text, true
	}
	return "", false
}

// lastKey is the key at the end of a path, for examples.
func lastKey(path string) string {
	key, _, _ := strings.Cut(path[strings.LastIndex(path, ".")+1:], "[")
	return key
}

// text is a text at a key; empty is not said, nor is the usual one.
func text[T ~string](to *T, rules textRules) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if s, ok := r.readText(path, n, rules); ok {
				*to = T(s)
			}
		},
		write: func() *node {
			if *to == "" || string(*to) == rules.usual {
				return nil
			}
			return textOf(string(*to))
		},
		schema: rules.schema,
		usual:  rules.usual,
	}
}

// unread is a text that is only checked.
func unread(rules textRules) value {
	return value{
		read:   func(r *reader, path string, n *node) { r.readText(path, n, rules) },
		write:  func() *node { return nil },
		schema: rules.schema,
	}
}
