package filter

import (
	"iter"
	"strings"
)

// Value is a place in a document, for those who read more of it than filters do.
// The zero Value is nothing, and so is all that is looked for inside of it: a body of
// an unexpected shape needs no checks on the way.
type Value struct {
	doc *Doc
	at  int32
}

// Root is the whole body.
func (d *Doc) Root() Value {
	if d == nil || len(d.nodes) == 0 {
		return Value{}
	}
	return Value{doc: d}
}

// At follows a path of object keys that are joined with dots; no key may hold one.
// Arrays are not entered.
func (v Value) At(path string) Value {
	for v.doc != nil && path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		v = v.member(name)
	}
	return v
}

func (v Value) member(name string) Value {
	c := v.doc.member(v.at, name)
	if c == none {
		return Value{}
	}
	return Value{doc: v.doc, at: c}
}

// Text is what a string says; false for anything else.
func (v Value) Text() (string, bool) {
	if v.doc == nil || v.doc.nodes[v.at].kind != kindString {
		return "", false
	}
	return string(v.doc.text(v.at, nil)), true
}

// Number is a number as it is written; false for anything else.
func (v Value) Number() (string, bool) {
	if v.doc == nil || v.doc.nodes[v.at].kind != kindNumber {
		return "", false
	}
	return string(v.doc.raw(v.at)), true
}

// Exists says whether there is anything, null included.
func (v Value) Exists() bool { return v.doc != nil }

// True says whether it is the boolean true.
func (v Value) True() bool { return v.doc != nil && v.doc.nodes[v.at].kind == kindTrue }

// Elements goes over the elements of an array; anything else has none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.doc == nil || v.doc.nodes[v.at].kind != kindArray {
			return
		}
		for c := range v.doc.members(v.at) {
			if !yield(Value{doc: v.doc, at: c}) {
				return
			}
		}
	}
}
