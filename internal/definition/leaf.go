package definition

import (
	"strings"

	"github.com/lineshaft/lineshaft"
)

// leaf is a value of a document with its path.
type leaf struct {
	path string
	// exact tells values apart; shown is for people.
	exact, shown string
}

func (p part) leaves() []leaf {
	var list []leaf
	if p.body != "" {
		list = append(list, leaf{"body", p.body, shortText(p.body)})
	}
	return appendLeaves(list, "", p.keys, false)
}

// appendLeaves walks a document. Lists of scalars are one value.
func appendLeaves(list []leaf, path string, n *node, guarded bool) []leaf {
	switch {
	case n.kind == objectNode && len(n.fields) > 0:
		for _, f := range n.fields {
			at := joinPath(path, f.key)
			guarded := guarded || strings.Contains(path, "mcpServers.") && (f.key == "env" || f.key == "headers")
			list = appendLeaves(list, at, f.value, guarded)
		}
		return list
	case n.kind == listNode && len(n.items) > 0 && n.items[0].kind >= listNode:
		for i, item := range n.items {
			list = appendLeaves(list, indexed(path, i), item, guarded)
		}
		return list
	}
	return append(list, leaf{path, n.json(), shown(path, n, guarded)})
}

// shown is a value for people: on one line, short, and without what may be secret.
func shown(path string, n *node, guarded bool) string {
	switch {
	case guarded && n.kind == textNode && lineshaft.ShownValue(n.text) == hidden:
		return hidden
	case n.kind == textNode && strings.Contains(path, "mcpServers.") && strings.HasSuffix(path, ".url"):
		return shortText(lineshaft.MCPServer{URL: n.text}.Shown().URL)
	case n.kind == textNode:
		return shortText(n.text)
	case n.kind == listNode:
		words := make([]string, len(n.items))
		for i, item := range n.items {
			words[i] = shown(path, item, guarded)
		}
		return lineshaft.Clip("["+strings.Join(words, ", ")+"]", 200)
	}
	return lineshaft.Clip(n.json(), 200)
}
