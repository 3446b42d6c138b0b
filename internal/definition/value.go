package definition

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
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

// readText reads a text, or reports why it is not one.
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
		r.wrong(n, path, fmt.Sprintf("%q is not allowed here", lineshaft.Clip(text, 40)), hint)
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

// writeSet writes a list that may be empty; nil is not said.
func writeSet(list []string) *node {
	if list != nil && len(list) == 0 {
		return &node{kind: listNode}
	}
	return writeTexts(list)
}

// choice is a set of a filter: a list of values, or an object with in and not_in. A set that
// imposes nothing is not kept.
func choice(f *lineshaft.TriggerFilter, spec catalog.KeySpec) value {
	rules := textRules{filled: true, most: 256}
	list := func(to *[]string) value {
		if spec.Whole {
			return wholes(to, lineshaft.MaxChoices)
		}
		return texts(to, lineshaft.MaxChoices, rules)
	}
	side := func(to *[]string) value {
		v := list(to)
		described := v.schema
		v.schema = func() schema { return nullable(described()) }
		return v
	}
	long := func(c *lineshaft.Choice) []key {
		return []key{
			{name: "in", doc: "Any of these.", value: side(&c.In)},
			{name: "not_in", doc: "None of these.", value: side(&c.NotIn)},
		}
	}
	return value{
		read: func(r *reader, path string, n *node) {
			c := &lineshaft.Choice{Whole: spec.Whole}
			before := len(r.problems)
			if n.kind == objectNode && !spec.List {
				r.object(path, withoutNulls(n, "in", "not_in"), long(c))
			} else {
				list(&c.In).read(r, path, n)
			}
			if len(r.problems) > before {
				return
			}
			if err := c.Validate(""); err != nil {
				r.invalid(n, path, err)
				return
			}
			f.Put(spec.Name, c)
		},
		write: func() *node {
			c := f.Set(spec.Name)
			if c == nil {
				return nil
			}
			if len(c.NotIn) == 0 {
				return list(&c.In).write()
			}
			return writeObject(long(c))
		},
		schema: func() schema {
			var none []string
			if spec.List {
				return nullable(list(&none).schema())
			}
			return schema{"oneOf": []any{nullable(list(&none).schema()), objectSchema(long(&lineshaft.Choice{}))}}
		},
	}
}

// wholes is a list of whole numbers, kept as they are written.
func wholes(to *[]string, most int) value {
	return value{
		read: func(r *reader, path string, n *node) {
			r.items(path, n, most, func(_ int, at string, item *node) {
				if v, ok := r.readWhole(at, item, 1, math.MaxInt32); ok {
					*to = append(*to, strconv.FormatInt(v, 10))
				}
			})
		},
		write: func() *node {
			n := &node{kind: listNode}
			for _, number := range *to {
				n.items = append(n.items, numberOf(number))
			}
			return n
		},
		schema: func() schema { return listSchema(wholeSchema(1, math.MaxInt32), most) },
	}
}

// nullable also takes a key without a value.
func nullable(s schema) schema {
	s["type"] = []any{s["type"], "null"}
	return s
}

// webhookIDs is a list of webhooks, or an object with in.
func webhookIDs(f *lineshaft.TriggerFilter) value {
	list := texts(&f.WebhookIDs, lineshaft.MaxTriggerHooks, textRules{filled: true})
	long := []key{{name: "in", doc: "Any of these.", value: list}}
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind == objectNode {
				r.object(path, withoutNulls(n, "in"), long)
				return
			}
			list.read(r, path, n)
		},
		write:  list.write,
		schema: func() schema { return schema{"oneOf": []any{list.schema(), objectSchema(long)}} },
	}
}

// withoutNulls is an object without those of some keys that are null: in filters that
// means the same as leaving them out.
func withoutNulls(n *node, names ...string) *node {
	out := *n
	out.fields = nil
	for _, f := range n.fields {
		if f.value.kind != nullNode || !contains(names, f.key) {
			out.fields = append(out.fields, f)
		}
	}
	return &out
}
