package filter

import (
	"iter"
	"strings"
)

// kind is what a JSON value is.
type kind uint8

// The zero kind is no value.
const (
	kindObject kind = iota + 1
	kindArray
	kindString
	kindNumber
	kindTrue
	kindFalse
	kindNull
)

func (k kind) closing() byte {
	if k == kindObject {
		return '}'
	}
	return ']'
}

func (k kind) scalar() bool { return k >= kindString }

// String names a kind in the middle of a sentence.
func (k kind) String() string {
	switch k {
	case kindObject:
		return "an object"
	case kindArray:
		return "an array"
	case kindString:
		return "a string"
	case kindNumber:
		return "a number"
	case kindNull:
		return "null"
	default:
		return "a boolean"
	}
}

// none is the index of a node that is not there.
const none int32 = -1

// node is a value in the text. The nodes of a document are in the order of the
// text, so that what is inside of an array or object follows it.
type node struct {
	start, end       int32 // the value's text, quotes included
	keyStart, keyEnd int32 // the member's name without quotes
	next             int32 // the node after this one and all inside of it
	kind             kind
	escaped          bool // a string with a backslash
	keyEscaped       bool
}

// Doc is a parsed body. It holds offsets into the body, not copies, and strings
// are unescaped only when somebody asks for one that needs it.
type Doc struct {
	body  []byte
	nodes []node
}

// Lookup finds the scalar at a dotted path of object keys: strings unquoted,
// numbers as they are written, else true, false or null. It is false when nothing
// is there, or no scalar. Arrays are not entered. A key that itself holds dots is
// found where no shorter key leads to a scalar.
func (d *Doc) Lookup(path string) (string, bool) {
	if d == nil {
		return "", false
	}
	return d.lookup(0, path)
}

func (d *Doc) lookup(object int32, path string) (string, bool) {
	if d.nodes[object].kind != kindObject {
		return "", false
	}
	for end := 0; end < len(path); end++ {
		dot := strings.IndexByte(path[end:], '.')
		if dot < 0 {
			break
		}
		end += dot
		if c := d.member(object, path[:end]); c != none {
			if text, ok := d.lookup(c, path[end+1:]); ok {
				return text, true
			}
		}
	}
	c := d.member(object, path)
	if c == none || !d.nodes[c].kind.scalar() {
		return "", false
	}
	if d.nodes[c].kind == kindString {
		return string(d.text(c, nil)), true
	}
	return string(d.raw(c)), true
}

// members goes over the members of an object or the elements of an array.
func (d *Doc) members(container int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for c, end := container+1, d.nodes[container].next; c < end; c = d.nodes[c].next {
			if !yield(c) {
				return
			}
		}
	}
}

// member finds a member of an object, the last of its name. What is no object
// has none.
func (d *Doc) member(object int32, name string) int32 {
	found := none
	if d.nodes[object].kind != kindObject {
		return found
	}
	for c, end := object+1, d.nodes[object].next; c < end; c = d.nodes[c].next {
		if d.named(&d.nodes[c], name) {
			found = c
		}
	}
	return found
}

func (d *Doc) named(n *node, name string) bool {
	if !n.keyEscaped {
		return int(n.keyEnd-n.keyStart) == len(name) && string(d.body[n.keyStart:n.keyEnd]) == name
	}
	var buf [64]byte
	return string(appendUnescaped(buf[:0], d.body[n.keyStart:n.keyEnd])) == name
}

// name is the key of a member.
func (d *Doc) name(c int32) string {
	n := &d.nodes[c]
	if !n.keyEscaped {
		return string(d.body[n.keyStart:n.keyEnd])
	}
	return string(appendUnescaped(nil, d.body[n.keyStart:n.keyEnd]))
}

// raw is the text of a value as it stands in the body.
func (d *Doc) raw(c int32) []byte { return d.body[d.nodes[c].start:d.nodes[c].end] }

// text is what a string says: a part of the body, or unescaped into buf.
func (d *Doc) text(c int32, buf []byte) []byte {
	n := &d.nodes[c]
	inner := d.body[n.start+1 : n.end-1]
	if !n.escaped {
		return inner
	}
	return appendUnescaped(buf[:0], inner)
}
