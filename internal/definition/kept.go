package definition

import (
	"maps"
	"slices"
	"strings"
)

// keptValues are what the folder of a factory says without any effect on this server, by
// part and path. No noun has them, so they are carried from one folder to the next.
type keptValues map[string]map[string]*node

// keep remembers a value of the document.
func (r *reader) keep(path string, n *node) {
	id := part{kind: r.kind, name: r.name}.id()
	if r.kept[id] == nil {
		r.kept[id] = map[string]*node{}
	}
	r.kept[id][path] = n
}

// withKept adds to a document what is kept of its part.
func (p part) withKept(kept keptValues) part {
	for _, path := range slices.Sorted(maps.Keys(kept[p.id()])) {
		p.keys.put(path, kept[p.id()][path])
	}
	return p
}

// put sets a value below keys that may be missing. An element of a list is named by its
// owner and name; one that is gone takes its value with it.
func (n *node) put(path string, v *node) {
	head, rest, deeper := cutPath(path)
	if !deeper {
		n.fields = append(n.fields, field{key: head, value: v})
		return
	}
	list, element, listed := strings.Cut(head, "[")
	if listed {
		n = n.get(list).repository(strings.TrimSuffix(element, "]"))
	} else if n.get(head) == nil {
		n.fields = append(n.fields, field{key: head, value: &node{kind: objectNode}})
	}
	if !listed {
		n = n.get(head)
	}
	if n != nil {
		n.put(rest, v)
	}
}

// cutPath splits a path behind its first key. Dots in brackets belong to a name.
func cutPath(path string) (head, rest string, deeper bool) {
	if open := strings.Index(path, "["); open >= 0 && open < strings.Index(path+".", ".") {
		end := strings.Index(path, "].")
		return path[:end+1], path[end+2:], true
	}
	return strings.Cut(path, ".")
}

// repository finds the element of a list that names a repository.
func (n *node) repository(name string) *node {
	if n == nil {
		return nil
	}
	for _, item := range n.items {
		owner, own := item.get("owner"), item.get("name")
		if owner != nil && own != nil && owner.text+"/"+own.text == name {
			return item
		}
	}
	return nil
}
