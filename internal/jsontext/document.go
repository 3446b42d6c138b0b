package jsontext

import (
	"iter"
	"strings"
)

// Kind is what a JSON value is.
type Kind uint8

// The kinds. The zero Kind is no value.
const (
	Object Kind = iota + 1
	Array
	String
	Number
	True
	False
	Null
)

func (k Kind) closing() byte {
	if k == Object {
		return '}'
	}
	return ']'
}

// Scalar says whether it is neither an array nor an object.
func (k Kind) Scalar() bool { return k >= String }

// String names a kind in the middle of a sentence.
func (k Kind) String() string {
	switch k {
	case Object:
		return "an object"
	case Array:
		return "an array"
	case String:
		return "a string"
	case Number:
		return "a number"
	case Null:
		return "null"
	default:
		return "a boolean"
	}
}

// None is the index of a node that is not there.
const None int32 = -1

// Node is a value in the text. The nodes of a document are in the order of the
// text, so that what is inside of an array or object follows it.
type Node struct {
	Start, End       int32 // the value's text, quotes included
	KeyStart, KeyEnd int32 // the member's name without quotes
	Next             int32 // the node after this one and all inside of it
	Kind             Kind
	Escaped          bool // a string with a backslash
	KeyEscaped       bool
}

// Doc is a parsed body. It holds offsets into the body, not copies, and strings
// are unescaped only when somebody asks for one that needs it.
type Doc struct {
	Body  []byte
	Nodes []Node
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
	if d.Nodes[object].Kind != Object {
		return "", false
	}
	for end := 0; end < len(path); end++ {
		dot := strings.IndexByte(path[end:], '.')
		if dot < 0 {
			break
		}
		end += dot
		if c := d.Member(object, path[:end]); c != None {
			if text, ok := d.lookup(c, path[end+1:]); ok {
				return text, true
			}
		}
	}
	c := d.Member(object, path)
	if c == None || !d.Nodes[c].Kind.Scalar() {
		return "", false
	}
	if d.Nodes[c].Kind == String {
		return string(d.Text(c, nil)), true
	}
	return string(d.Raw(c)), true
}

// Members goes over the members of an object or the elements of an array.
func (d *Doc) Members(container int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for c, end := container+1, d.Nodes[container].Next; c < end; c = d.Nodes[c].Next {
			if !yield(c) {
				return
			}
		}
	}
}

// Member finds a member of an object, the last of its name. What is no object
// has none.
func (d *Doc) Member(object int32, name string) int32 {
	found := None
	if d.Nodes[object].Kind != Object {
		return found
	}
	for c, end := object+1, d.Nodes[object].Next; c < end; c = d.Nodes[c].Next {
		if d.named(&d.Nodes[c], name) {
			found = c
		}
	}
	return found
}

func (d *Doc) named(n *Node, name string) bool {
	if !n.KeyEscaped {
		return int(n.KeyEnd-n.KeyStart) == len(name) && string(d.Body[n.KeyStart:n.KeyEnd]) == name
	}
	return same(d.Body[n.KeyStart:n.KeyEnd], name)
}

// Name is the key of a member.
func (d *Doc) Name(c int32) string {
	n := &d.Nodes[c]
	if !n.KeyEscaped {
		return string(d.Body[n.KeyStart:n.KeyEnd])
	}
	return string(AppendUnescaped(nil, d.Body[n.KeyStart:n.KeyEnd]))
}

// Raw is the text of a value as it stands in the body.
func (d *Doc) Raw(c int32) []byte { return d.Body[d.Nodes[c].Start:d.Nodes[c].End] }

// Text is what a string says: a part of the body, or unescaped into buf.
func (d *Doc) Text(c int32, buf []byte) []byte {
	n := &d.Nodes[c]
	inner := d.Body[n.Start+1 : n.End-1]
	if !n.Escaped {
		return inner
	}
	return AppendUnescaped(buf[:0], inner)
}
