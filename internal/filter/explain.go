package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

const (
	opObject = "object"
	maxSeen  = 1000 // bytes of a value that are shown
)

// Check is one condition of a filter and how a body fared. A filter matches a
// body exactly when all of its checks passed.
type Check struct {
	// Path leads from "payload" to the field.
	Path string
	// Operator is in (a set alone, too), not_in, exists, or object: the field has
	// a pattern under it, but is no object and no array that holds one. An object
	// check appears only when it fails.
	Operator string
	// Expected is the set, the boolean or the pattern of the filter.
	Expected json.RawMessage
	// Seen is the value of the field, nil if it is missing. Where that is longer
	// than 1,000 bytes it is a string that holds the beginning and says so.
	Seen   json.RawMessage
	Passed bool
}

// explainer collects the checks of one filter on one document.
type explainer struct {
	doc    *Doc
	checks []Check
}

// Explain evaluates every leaf in the order of the filter's text. In an array of
// objects the leaves are those of the first element that matches whole, or else of
// the first that comes closest.
func (f *Filter) Explain(doc *Doc) []Check {
	if f == nil {
		return []Check{{Path: rootPath, Operator: opObject, Expected: json.RawMessage("null")}}
	}
	if f.root == nil {
		return nil
	}
	e := explainer{doc: doc}
	root := none
	if doc != nil {
		root = 0
	}
	e.pattern(f.root, rootPath, root)
	return e.checks
}

func (e *explainer) pattern(p *pattern, path string, c int32) {
	object := none
	if c != none {
		object = p.closest(e.doc, c)
	}
	if object == none {
		e.check(Check{Path: path, Operator: opObject, Expected: p.raw}, c)
	}
	for i := range p.fields {
		f := &p.fields[i]
		m := none
		if object != none {
			m = e.doc.Member(object, f.key)
		}
		if f.sub != nil {
			e.pattern(f.sub, f.path, m)
			continue
		}
		for _, part := range f.leaf.parts() {
			e.check(Check{Path: f.path, Operator: part.name, Expected: part.raw, Passed: part.leaf.match(e.doc, m)}, m)
		}
	}
}

func (e *explainer) check(check Check, c int32) {
	check.Expected = bytes.Clone(check.Expected)
	if c != none {
		check.Seen = e.seen(c)
	}
	e.checks = append(e.checks, check)
}

// part is one operator of a leaf as a leaf of its own.
type part struct {
	name string
	raw  []byte
	leaf leaf
}

func (l *leaf) parts() []part {
	var parts []part
	if l.in != nil {
		parts = append(parts, part{opIn, l.in.raw, leaf{in: l.in}})
	}
	if l.notIn != nil {
		parts = append(parts, part{opNotIn, l.notIn.raw, leaf{notIn: l.notIn}})
	}
	if l.exists != nil {
		parts = append(parts, part{opExists, fmt.Append(nil, *l.exists), leaf{exists: l.exists}})
	}
	return parts
}

// closest is the object that a pattern is explained on: the value itself, or an
// element of an array. An element that matches has the highest score there is.
func (p *pattern) closest(d *Doc, c int32) int32 {
	n := &d.Nodes[c]
	if n.Kind == jsontext.Object {
		return c
	}
	best, most := none, -1
	if n.Kind != jsontext.Array {
		return best
	}
	for e := range d.Members(c) {
		if d.Nodes[e].Kind != jsontext.Object {
			continue
		}
		if p.match(d, e) {
			return e
		}
		if score := p.score(d, e); score > most {
			best, most = e, score
		}
	}
	return best
}

// score counts the operators that an object passes.
func (p *pattern) score(d *Doc, object int32) int {
	score := 0
	for i := range p.fields {
		f := &p.fields[i]
		c := d.Member(object, f.key)
		switch {
		case f.leaf != nil:
			for _, part := range f.leaf.parts() {
				if part.leaf.match(d, c) {
					score++
				}
			}
		case c != none && d.Nodes[c].Kind == jsontext.Object:
			score += f.sub.score(d, c)
		case c != none && d.Nodes[c].Kind == jsontext.Array:
			most := 0
			for e := range d.Members(c) {
				if d.Nodes[e].Kind == jsontext.Object {
					most = max(most, f.sub.score(d, e))
				}
			}
			score += most
		}
	}
	return score
}

// seen is a value's text, cut to a string with a mark when it is long.
func (e *explainer) seen(c int32) json.RawMessage {
	text := e.doc.Raw(c)
	if len(text) <= maxSeen {
		return bytes.Clone(text)
	}
	mark := fmt.Sprintf("… (%d bytes in all)\"", len(text))
	if e.doc.Nodes[c].Kind == jsontext.String {
		text = e.doc.Text(c, nil)
	}
	out := []byte{'"'}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		start := len(out)
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', text[0])
		case r < ' ':
			out = fmt.Appendf(out, "\\u%04x", r)
		default:
			out = append(out, text[:size]...)
		}
		if len(out)+len(mark) > maxSeen {
			return append(out[:start], mark...)
		}
		text = text[size:]
	}
	return append(out, '"') // long only for its escapes
}
