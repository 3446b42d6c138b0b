package definition

import (
	"math"
	"strconv"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

// writeSet writes a list that may be empty; nil is not said.
func writeSet(list []string) *node {
	if list != nil && len(list) == 0 {
		return &node{kind: listNode}
	}
	return writeTexts(list)
}

// choice is a set of a filter: a list of values, or an object with in and not_in. What
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

// withoutNulls is an object without those of some keys that have no value: in filters that
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
