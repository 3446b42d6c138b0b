package definition

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
	return value{
		read: func(r *reader, path string, n *node) {
			v := new(T)
			before := len(r.problems)
			if r.object(path, n, keys(v)); len(r.problems) == before {
				*to = v
			}
		},
		write: func() *node {
			if *to == nil {
				return nil
			}
			return writeObject(keys(*to))
		},
		schema: func() schema { return objectSchema(keys(new(T))) },
	}
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
