package filter

import "github.com/lineshaft/lineshaft/internal/jsontext"

// Filter is a compiled payload filter. Compile makes one.
type Filter struct {
	root *pattern // nil matches all
}

// pattern is an object of a filter: all of its fields have to match.
type pattern struct {
	fields []field
	raw    []byte
}

// field is a key of a pattern with either a leaf or a pattern under it.
type field struct {
	key  string
	path string // from "payload" to the key
	leaf *leaf
	sub  *pattern
}

// leaf is what a field of the body has to be. Its parts AND.
type leaf struct {
	in, notIn *set
	exists    *bool
}

// set is a list of scalars.
type set struct {
	values  []scalar
	raw     []byte
	strings bool // holds a string
	numbers bool // holds a number
}

// scalar is a value of a set: what a string says, or a number's canonical form.
type scalar struct {
	kind jsontext.Kind
	text string
}

// Empty says whether the filter matches every body. A nil filter matches none.
func (f *Filter) Empty() bool { return f != nil && f.root == nil }

// Match says whether a parsed body satisfies the filter. A nil document satisfies
// only the empty filter.
func (f *Filter) Match(doc *Doc) bool {
	if f == nil || doc == nil {
		return f.Empty()
	}
	return f.root == nil || f.root.matchValue(doc, 0)
}

// matchValue matches an object, or one object of an array.
func (p *pattern) matchValue(d *Doc, c int32) bool {
	switch n := &d.Nodes[c]; n.Kind {
	case jsontext.Object:
		return p.match(d, c)
	case jsontext.Array:
		for e := c + 1; e < n.Next; e = d.Nodes[e].Next {
			if d.Nodes[e].Kind == jsontext.Object && p.match(d, e) {
				return true
			}
		}
	default:
	}
	return false
}

func (p *pattern) match(d *Doc, object int32) bool {
	for i := range p.fields {
		f := &p.fields[i]
		c := d.Member(object, f.key)
		if f.leaf != nil {
			if !f.leaf.match(d, c) {
				return false
			}
		} else if c == none || !f.sub.matchValue(d, c) {
			return false
		}
	}
	return true
}

// match holds the rules for a missing key, too.
func (l *leaf) match(d *Doc, c int32) bool {
	return (l.exists == nil || *l.exists == (c != none)) &&
		(l.in == nil || c != none && l.in.overlaps(d, c)) &&
		(l.notIn == nil || c == none || !l.notIn.overlaps(d, c))
}

// overlaps says whether a scalar, or one directly inside of an array, is in the set.
func (s *set) overlaps(d *Doc, c int32) bool {
	n := &d.Nodes[c]
	if n.Kind != jsontext.Array {
		return s.holds(d, c)
	}
	for e := c + 1; e < n.Next; e = d.Nodes[e].Next {
		if s.holds(d, e) {
			return true
		}
	}
	return false
}

func (s *set) holds(d *Doc, c int32) bool {
	var buf [64]byte
	var text []byte
	kind := d.Nodes[c].Kind
	switch kind {
	case jsontext.String:
		if !s.strings {
			return false
		}
		text = d.Text(c, buf[:0])
	case jsontext.Number:
		if !s.numbers {
			return false
		}
		text, _ = appendNumber(buf[:0], d.Raw(c))
	case jsontext.Object, jsontext.Array:
		return false
	default: // a kind of one value
	}
	for i := range s.values {
		if v := &s.values[i]; v.kind == kind && string(text) == v.text {
			return true
		}
	}
	return false
}
