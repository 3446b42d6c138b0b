package definition

import (
	"github.com/lineshaft/lineshaft"
)

// textSet is a list of texts of which an empty one says something.
func textSet(to *[]string, rules textRules) value {
	v := texts(to, lineshaft.MaxChoices, rules)
	read := v.read
	v.read = func(r *reader, path string, n *node) {
		*to = []string{}
		read(r, path, n)
	}
	v.write = func() *node {
		if *to != nil && len(*to) == 0 {
			return &node{kind: listNode}
		}
		return writeTexts(*to)
	}
	return v
}

// choice is a list of values, or an object with in and not_in.
func choice(to **lineshaft.Choice) value {
	rules := textRules{filled: true, most: 256}
	keys := func(c *lineshaft.Choice) []key {
		return []key{
			{name: "in", doc: "Any of these.", value: textSet(&c.In, rules)},
			{name: "not_in", doc: "None of these.", value: textSet(&c.NotIn, rules)},
		}
	}
	long := option(to, keys)
	short := func(c *lineshaft.Choice) value { return texts(&c.In, lineshaft.MaxChoices, rules) }
	return value{
		read: func(r *reader, path string, n *node) {
			before := len(r.problems)
			if n.kind == objectNode {
				long.read(r, path, n)
			} else {
				c := &lineshaft.Choice{}
				short(c).read(r, path, n)
				*to = c
			}
			if len(r.problems) > before {
				*to = nil
				return
			}
			if err := (*to).Validate(""); err != nil {
				r.invalid(n, path, err)
				*to = nil
			}
		},
		write: func() *node {
			if *to != nil && (*to).NotIn == nil && (*to).In != nil {
				return short(*to).write()
			}
			return long.write()
		},
		schema: func() schema {
			return schema{"oneOf": []any{listSchema(rules.schema(), lineshaft.MaxChoices), long.schema()}}
		},
	}
}
