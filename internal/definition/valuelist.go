package definition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/lineshaft/lineshaft"
)

// texts is a list of texts.
func texts(to *[]string, most int, rules textRules) value {
	return value{
		read: func(r *reader, path string, n *node) {
			r.items(path, n, most, func(_ int, at string, item *node) {
				s, ok := r.readText(at, item, rules)
				switch {
				case ok && rules.once && slices.Contains(*to, s):
					r.wrong(item, at, lineshaft.Clip(s, 60)+" is named twice", "name it once")
				case ok:
					*to = append(*to, s)
					r.note(valuePath(path, s), item.line, item.column)
				}
			})
		},
		write: func() *node { return writeTexts(*to) },
		schema: func() schema {
			s := listSchema(rules.schema(), most)
			if rules.once {
				s["uniqueItems"] = true
			}
			return s
		},
	}
}

func writeTexts(list []string) *node {
	if len(list) == 0 {
		return nil
	}
	n := &node{kind: listNode}
	for _, s := range list {
		n.items = append(n.items, textOf(s))
	}
	return n
}

// items reads the elements of a list.
func (r *reader) items(path string, n *node, most int, read func(i int, path string, item *node)) {
	if n.kind != listNode {
		r.wrongKind(n, path, "a list", "write each element on its own line behind a dash, or all in [ ]")
		return
	}
	if most > 0 && len(n.items) > most {
		r.wrong(n, path, fmt.Sprintf("%d are too many", len(n.items)), fmt.Sprintf("at most %d are allowed", most))
	}
	for i, item := range n.items {
		at := path + "[" + strconv.Itoa(i) + "]"
		r.note(at, item.line, item.column)
		if item.kind == nullNode {
			r.wrong(item, at, "is empty", "write a value, or take it out").as(CodeTypeMismatch)
			continue
		}
		read(i, at, item)
	}
}

// textMap is a map from names to texts.
func textMap(to *map[string]string, rules textRules) value {
	return value{
		read: func(r *reader, path string, n *node) {
			r.entries(path, n, func(path, name string, v *node) {
				if s, ok := r.readText(path, v, rules); ok {
					if *to == nil {
						*to = map[string]string{}
					}
					(*to)[name] = s
				}
			})
		},
		write: func() *node {
			if len(*to) == 0 {
				return nil
			}
			n := &node{kind: objectNode}
			for _, name := range slices.Sorted(maps.Keys(*to)) {
				n.fields = append(n.fields, field{key: name, value: textOf((*to)[name])})
			}
			return n
		},
		schema: func() schema { return schema{"type": "object", "additionalProperties": rules.schema()} },
	}
}

// entries reads an object whose keys are names.
func (r *reader) entries(path string, n *node, read func(path, name string, v *node)) {
	if n.kind != objectNode {
		r.wrongKind(n, path, "names with values", "write each on its own line, as in name: value")
		return
	}
	seen := map[string]bool{}
	for _, f := range n.fields {
		at := joinPath(path, f.key)
		switch {
		case seen[f.key]:
			r.report(f.line, f.column, at+": the name is written twice", "keep one of the two").as(CodeDuplicateKey)
		case f.value.kind == nullNode:
			r.report(f.line, f.column, at+": has no value", "write one, or take it out").as(CodeTypeMismatch)
		default:
			r.note(at, f.value.line, f.value.column)
			read(at, f.key, f.value)
		}
		seen[f.key] = true
	}
}

// block is an object at a key; one that says nothing is not written.
func block[T any](to *T, keys func(*T) []key) value {
	return value{
		read: func(r *reader, path string, n *node) { r.object(path, n, keys(to)) },
		write: func() *node {
			if n := writeObject(keys(to)); len(n.fields) > 0 {
				return n
			}
			return nil
		},
		schema: func() schema { return objectSchema(keys(to)) },
	}
}

// option is an object that may be left open; an empty one is something else.
func option[T any](to **T, keys func(*T) []key) value {
	return optional(to, func(v *T) value {
		said := block(v, keys)
		said.write = func() *node { return writeObject(keys(v)) }
		return said
	})
}

// blocks is a list of objects. check looks at each that could be read.
func blocks[T any](to *[]T, most int, keys func(*T) []key, check func(r *reader, path string, n *node, v *T)) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if len(n.items) > 0 {
				*to = make([]T, len(n.items)) // indexes stay those of the file
			}
			r.items(path, n, most, func(i int, path string, item *node) {
				v := &(*to)[i]
				r.object(path, item, keys(v))
				if check != nil && item.kind == objectNode {
					check(r, path, item, v)
				}
			})
		},
		write: func() *node {
			if len(*to) == 0 {
				return nil
			}
			n := &node{kind: listNode}
			for i := range *to {
				n.items = append(n.items, writeObject(keys(&(*to)[i])))
			}
			return n
		},
		schema: func() schema { return listSchema(objectSchema(keys(new(T))), most) },
	}
}
