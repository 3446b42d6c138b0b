package jsontext

import (
	"iter"
	"strings"
)

// Value is a place in a document, for those who read on from there.
// The zero Value is nothing, and so is all that is looked for inside of it: a body of
// an unexpected shape needs no checks on the way.
type Value struct {
	doc *Doc
	at  int32
}

// Root is the whole body.
func (d *Doc) Root() Value {
	if d == nil || len(d.Nodes) == 0 {
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
	c := v.doc.Member(v.at, name)
	if c == None {
		return Value{}
	}
	return Value{doc: v.doc, at: c}
}

// Text is what a string says; false for anything else.
func (v Value) Text() (string, bool) {
	if v.doc == nil || v.doc.Nodes[v.at].Kind != String {
		return "", false
	}
	return string(v.doc.Text(v.at, nil)), true
}

// Number is a number as it is written; false for anything else.
func (v Value) Number() (string, bool) {
	if v.doc == nil || v.doc.Nodes[v.at].Kind != Number {
		return "", false
	}
	return string(v.doc.Raw(v.at)), true
}

// Exists says whether there is anything, null included.
func (v Value) Exists() bool { return v.doc != nil }

// True says whether it is the boolean true.
func (v Value) True() bool { return v.doc != nil && v.doc.Nodes[v.at].Kind == True }

// Elements goes over the elements of an array; anything else has none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.doc == nil || v.doc.Nodes[v.at].Kind != Array {
			return
		}
		for c := range v.doc.Members(v.at) {
			if !yield(Value{doc: v.doc, at: c}) {
				return
			}
		}
	}
}
