package definition

import (
	"cmp"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/lineshaft/lineshaft"
)

// converter turns the parser's nodes into ours.
type converter struct {
	anchors map[string]*node
	size    int
}

func (c *converter) value(from ast.Node, depth int) (*node, *mistake) {
	if from == nil {
		return &node{size: 1}, nil
	}
	if depth > maxDepth {
		return nil, mistakeAt(from.GetToken(), fmt.Sprintf("values are nested more than %d deep", maxDepth), "nothing here needs that; write it flatter")
	}
	switch v := from.(type) {
	case *ast.MappingNode:
		return c.mapping(v.GetToken(), v.Values, v.IsFlowStyle, depth)
	case *ast.MappingValueNode:
		return c.mapping(v.GetToken(), []*ast.MappingValueNode{v}, false, depth)
	case *ast.SequenceNode:
		return c.sequence(v, depth)
	case *ast.AnchorNode:
		n, m := c.value(v.Value, depth+1)
		if m == nil && v.Name != nil {
			c.anchors[v.Name.GetToken().Value] = n
		}
		return n, m
	case *ast.AliasNode:
		return c.alias(v)
	case *ast.TagNode:
		return nil, mistakeAt(v.GetToken(), "tags such as "+lineshaft.Clip(v.GetToken().Value, 40)+" are not used here", "take the tag out; put text that looks like a number in quotes").as(CodeTag)
	case *ast.LiteralNode:
		return c.scalar(v.GetToken(), textNode, v.Value.Value)
	default:
		return c.plain(from)
	}
}

// alias repeats what an anchor names. Nodes are shared, so what counts is their size.
func (c *converter) alias(v *ast.AliasNode) (*node, *mistake) {
	name := ""
	if v.Value != nil {
		name = v.Value.GetToken().Value
	}
	target, ok := c.anchors[name]
	if !ok {
		return nil, mistakeAt(v.GetToken(), fmt.Sprintf("*%s repeats what no &%s names before", lineshaft.Clip(name, 40), lineshaft.Clip(name, 40)), "write the value itself, or put text that begins with * in quotes").as(CodeAlias)
	}
	if c.size += target.size; c.size > maxNodes {
		return nil, mistakeAt(v.GetToken(), fmt.Sprintf("with all that is repeated the file has more than %d values", maxNodes), "write out what is needed instead of repeating")
	}
	copied := *target
	at := v.GetToken().Position
	copied.line, copied.column = at.Line, at.Column
	return &copied, nil
}

func (c *converter) made(n *node, t *token.Token) (*node, *mistake) {
	n.size = cmp.Or(n.size, 1)
	if t != nil && t.Position != nil {
		n.line, n.column = t.Position.Line, max(1, t.Position.Column)
	}
	if c.size++; c.size > maxNodes {
		return nil, mistakeAt(t, fmt.Sprintf("the file has more than %d values", maxNodes), "split it")
	}
	return n, nil
}

func (c *converter) mapping(t *token.Token, values []*ast.MappingValueNode, flow bool, depth int) (*node, *mistake) {
	n := &node{kind: objectNode, size: 1}
	for _, v := range values {
		key, m := c.key(v.Key)
		if m != nil {
			return nil, m
		}
		f := field{key: key, line: v.Key.GetToken().Position.Line, column: v.Key.GetToken().Position.Column}
		if f.value, m = c.value(v.Value, depth+1); m != nil {
			return nil, m
		}
		if f.value.kind == nullNode && f.value.text == "" {
			f.value.line, f.value.column = f.line, f.column
		}
		n.size += f.value.size
		n.fields = append(n.fields, f)
	}
	if !flow && len(values) > 0 {
		t = values[0].Key.GetToken()
	}
	return c.made(n, t)
}

func (c *converter) sequence(v *ast.SequenceNode, depth int) (*node, *mistake) {
	n := &node{kind: listNode, size: 1}
	for i, item := range v.Values {
		element, m := c.value(item, depth+1)
		if m != nil {
			return nil, m
		}
		if element.kind == nullNode && element.text == "" && i < len(v.Entries) && v.Entries[i].Start != nil {
			element.line, element.column = v.Entries[i].Start.Position.Line, v.Entries[i].Start.Position.Column
		}
		n.size += element.size
		n.items = append(n.items, element)
	}
	return c.made(n, v.GetToken())
}

func (c *converter) key(k ast.MapKeyNode) (string, *mistake) {
	t := k.GetToken()
	switch v := k.(type) {
	case *ast.StringNode:
		n, m := c.scalar(t, textNode, v.Value)
		if m != nil {
			return "", m
		}
		return n.text, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return t.Value, nil
	case *ast.MergeKeyNode:
		return "", mistakeAt(t, "<< is not used here", "write out the keys that it would bring in")
	default:
		return "", mistakeAt(t, "this is not a simple key", "write it as key: value")
	}
}

// plain reads a scalar. The type of an unquoted one follows the core schema of YAML
// 1.2, whatever the parser thinks: yes and on are text, 010 is ten.
func (c *converter) plain(from ast.Node) (*node, *mistake) {
	t := from.GetToken()
	if t == nil {
		return nil, mistakeAt(nil, "there is something in this file that cannot be used", "write it in the plain style of the examples")
	}
	switch t.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
		return c.scalar(t, textNode, t.Value)
	case token.ImplicitNullType:
		return c.made(&node{}, t)
	default:
	}
	switch from.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
	default:
		return nil, mistakeAt(t, "this cannot be used here", "write a plain value")
	}
	kind, text := resolvePlain(t.Value)
	return c.scalar(t, kind, text)
}

func (c *converter) scalar(t *token.Token, kind nodeKind, text string) (*node, *mistake) {
	if kind == textNode && !storable(text) {
		return nil, mistakeAt(t, "the text has NUL characters or is not UTF-8", "take them out")
	}
	if kind == nullNode {
		text = "~" // written out, unlike a missing value
	}
	return c.made(&node{kind: kind, text: text}, t)
}
