package filter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsontext"
)

const (
	maxFields = 10 // field names one inside the other
	maxLeaves = 64
	maxValues = 32

	rootPath  = "payload"
	opIn      = "in"
	opNotIn   = "not_in"
	opExists  = "exists"
	operators = "in, not_in, exists"
)

// compiler turns the nodes of a filter into patterns.
type compiler struct {
	doc    *Doc
	leaves int
}

// Compile checks and compiles a filter. No bytes, null and {} make the filter that
// matches all. The error is a *lineshaft.Error for the first part that is wrong.
func Compile(raw []byte) (*Filter, error) {
	if len(raw) == 0 {
		return &Filter{}, nil
	}
	doc, err := Parse(bytes.Clone(raw)) // the filter outlives the caller's buffer
	if err != nil {
		return nil, lineshaft.Invalid(rootPath, "the filter is not JSON in UTF-8; write an object such as {\"action\": [\"opened\"]}")
	}
	c := compiler{doc: doc}
	switch root := &doc.Nodes[0]; {
	case root.Kind == jsontext.Null || root.Kind == jsontext.Object && root.Next == 1:
		return &Filter{}, nil
	case root.Kind != jsontext.Object:
		return nil, lineshaft.Invalid(rootPath, "a filter is an object that mirrors the body, such as {\"action\": [\"opened\"]}; this is %s", root.Kind)
	}
	for m := range c.doc.Members(0) {
		if name := doc.Name(m); isOperator(name) {
			return nil, lineshaft.Invalid(join(rootPath, name), "%s is an operator and goes under a field, as in {\"action\": {\"in\": [\"opened\"]}}; "+
				"body fields named %s cannot be filtered on", name, operators)
		}
	}
	p, err := c.pattern(0, rootPath, 1)
	if err != nil {
		return nil, err
	}
	return &Filter{root: p}, nil
}

// pattern compiles an object of field names, which stand at the given depth.
func (c *compiler) pattern(object int32, path string, depth int) (*pattern, error) {
	p := &pattern{raw: c.doc.Raw(object)}
	for m := range c.doc.Members(object) {
		f := field{key: c.doc.Name(m)}
		f.path = join(path, f.key)
		if depth > maxFields {
			return nil, lineshaft.Invalid(f.path, "fields are nested more than %d deep; filter on a field further up", maxFields)
		}
		if slices.ContainsFunc(p.fields, func(other field) bool { return other.key == f.key }) {
			return nil, lineshaft.Invalid(f.path, "the key is written twice; merge the two")
		}
		var err error
		if f.leaf, f.sub, err = c.value(m, f.path, depth); err != nil {
			return nil, err
		}
		p.fields = append(p.fields, f)
	}
	return p, nil
}

// value compiles what stands under a field name: a leaf or a pattern.
func (c *compiler) value(v int32, path string, depth int) (*leaf, *pattern, error) {
	switch n := &c.doc.Nodes[v]; {
	case n.Kind.Scalar():
		return nil, nil, lineshaft.Invalid(path, "is %s without an array around it; write [%s]", n.Kind, c.excerpt(v))
	case n.Kind == jsontext.Array:
		if err := c.countLeaf(path); err != nil {
			return nil, nil, err
		}
		in, err := c.set(v, path)
		return &leaf{in: in}, nil, err
	case n.Next == v+1:
		return nil, nil, lineshaft.Invalid(path, "an empty object says nothing; use {\"exists\": true} if the field must be there, or leave the key out")
	}
	operator, other, mixed := c.split(v)
	switch {
	case operator == "":
		p, err := c.pattern(v, path, depth+1)
		return nil, p, err
	case mixed:
		return nil, nil, lineshaft.Invalid(path, "%q is an operator and %q is not; use only %s here, or only field names", operator, other, operators)
	}
	if err := c.countLeaf(path); err != nil {
		return nil, nil, err
	}
	l, err := c.operators(v, path)
	return l, nil, err
}

// split finds an operator and another key, which may be empty, among those of an
// object, and says whether it has both.
func (c *compiler) split(object int32) (operator, other string, mixed bool) {
	others := false
	for m := range c.doc.Members(object) {
		if name := c.doc.Name(m); isOperator(name) {
			operator = name
		} else {
			other, others = name, true
		}
	}
	return operator, other, others && operator != ""
}

// operators compiles an operator object.
func (c *compiler) operators(object int32, path string) (*leaf, error) {
	l := &leaf{}
	for m := range c.doc.Members(object) {
		name := c.doc.Name(m)
		at, kind := join(path, name), c.doc.Nodes[m].Kind
		var err error
		switch {
		case name == opIn && l.in != nil, name == opNotIn && l.notIn != nil, name == opExists && l.exists != nil:
			return nil, lineshaft.Invalid(at, "the key is written twice; keep one")
		case name == opExists:
			if kind != jsontext.True && kind != jsontext.False {
				return nil, lineshaft.Invalid(at, "is %s; write true or false", kind)
			}
			exists := kind == jsontext.True
			l.exists = &exists
		case kind != jsontext.Array:
			return nil, lineshaft.Invalid(at, "is %s; write an array of the values, such as [\"opened\"]", kind)
		case name == opIn:
			l.in, err = c.set(m, at)
		default:
			l.notIn, err = c.set(m, at)
		}
		if err != nil {
			return nil, err
		}
	}
	return l, l.contradiction(path)
}

// contradiction refuses operators that can never pass together.
func (l *leaf) contradiction(path string) error {
	if l.in == nil {
		return nil
	}
	if l.exists != nil && !*l.exists && len(l.in.values) > 0 {
		return lineshaft.Invalid(path, "exists: false and a non-empty in can never both pass; drop one")
	}
	if l.notIn == nil {
		return nil
	}
	for i, v := range l.notIn.values {
		if slices.Contains(l.in.values, v) {
			return lineshaft.Invalid(join(path, opNotIn), "value %d is also one of in; keep it in one of the two", i+1)
		}
	}
	return nil
}

// set compiles an array of scalars.
func (c *compiler) set(array int32, path string) (*set, error) {
	s := &set{raw: c.doc.Raw(array)}
	for e := range c.doc.Members(array) {
		at := fmt.Sprintf("%s[%d]", path, len(s.values))
		if len(s.values) == maxValues {
			return nil, lineshaft.Invalid(path, "more than %d values; split the automation, or filter on another field", maxValues)
		}
		v := scalar{kind: c.doc.Nodes[e].Kind}
		switch v.kind {
		case jsontext.Object, jsontext.Array:
			return nil, lineshaft.Invalid(at, "is %s; a set holds only strings, numbers, true, false and null", v.kind)
		case jsontext.String:
			s.strings = true
			v.text = string(c.doc.Text(e, nil))
		case jsontext.Number:
			s.numbers = true
			form, exponent := appendNumber(nil, c.doc.Raw(e))
			if exponent > exponentLimit || exponent < -exponentLimit {
				return nil, lineshaft.Invalid(at, "has an exponent beyond 10^15; use a number that a sender would write")
			}
			v.text = string(form)
		default: // a kind of one value
		}
		s.values = append(s.values, v)
	}
	return s, nil
}

func (c *compiler) countLeaf(path string) error {
	if c.leaves++; c.leaves > maxLeaves {
		return lineshaft.Invalid(path, "the filter has more than %d fields with conditions; split the automation", maxLeaves)
	}
	return nil
}

// excerpt is the text of a scalar, if it is short enough for a message.
func (c *compiler) excerpt(v int32) string {
	if raw := c.doc.Raw(v); len(raw) <= 40 {
		return string(raw)
	}
	return "…"
}

func isOperator(name string) bool { return name == opIn || name == opNotIn || name == opExists }

func join(path, key string) string { return strings.Join([]string{path, key}, ".") }
