package filter

import (
	"math/bits"
	"sync"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// Set matches one body against many filters at once. Making one costs as much as
// hundreds of matches: keep it until a filter changes.
//
// Equal filters are evaluated once, and a filter with an in-set only when the body
// holds one of its values at that path: of several sets, the one with the rarest
// values counts. What is left is evaluated from flat lists, in which paths and
// conditions that filters share are looked up once per body.
type Set struct {
	filters  int       // how many there are
	always   []int32   // the filters that are empty
	programs []program // the others, each distinct one once
	open     []int32   // programs without an in-set to find them by
	index    *branch   // finds the other programs
	items    []item    // of all programs
	conds    []cond
	slots    []slot    // the paths; the first is the body itself
	scratch  sync.Pool // of *scratch
}

// program is a distinct filter and the indexes of those that say the same.
type program struct {
	root       *pattern
	start, end int32 // in items
	filters    []int32
}

// item is a field of a program; the fields of a pattern follow its own item.
type item struct {
	slot, above int32 // above is the slot's, to save the way to it
	cond        int32
	skip        int32 // how many items are inside; none for a leaf
}

// cond is what has to hold at a slot: a leaf or a pattern. The masks are those of
// a leaf's sets; zero where there is no set, as an empty in is not kept. What it
// says of presence is repeated here to save the way to the leaf.
type cond struct {
	in, notIn        uint64
	present, missing bool // which of the two may pass
	leaf             *leaf
	sub              *pattern
}

// slot is a path that filters follow.
type slot struct {
	above    int32
	key      string
	children map[string]int32
}

// branch is a path of the index: what is under it, and the programs to try when a
// value is seen here.
type branch struct {
	children map[string]*branch
	programs map[string][]int32 // by the value's key
	longest  int                // key in programs
}

// manyChildren is from where on it is cheaper to look up each member of an object
// than to look for each child.
const manyChildren = 6

// Match returns the indexes of the filters that match, ascending. It reuses dst.
func (s *Set) Match(doc *Doc, dst []int) []int {
	dst = dst[:0]
	sc, ok := s.scratch.Get().(*scratch)
	if !ok {
		return dst // New makes nothing else
	}
	defer s.scratch.Put(sc)
	sc.begin()
	sc.add(s.always)
	if doc != nil {
		w := walk{set: s, doc: doc, scratch: sc}
		w.try(s.open)
		w.value(s.index, 0)
	}
	for i, word := range sc.found {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, i*64+bits.TrailingZeros64(word))
		}
		sc.found[i] = 0
	}
	return dst
}

// walk follows the index through one document.
type walk struct {
	set *Set
	doc *Doc
	*scratch
}

// value tries the programs that a value, or one directly inside an array, leads
// to. It may find too many, never too few.
func (w *walk) value(b *branch, c int32) {
	n := &w.doc.Nodes[c]
	switch n.Kind {
	case jsontext.Object:
		w.object(b, c)
	case jsontext.Array:
		for e := c + 1; e < n.Next; e = w.doc.Nodes[e].Next {
			switch w.doc.Nodes[e].Kind {
			case jsontext.Object:
				w.object(b, e)
			case jsontext.Array:
			default:
				w.scalar(b, e)
			}
		}
	default:
		w.scalar(b, c)
	}
}

func (w *walk) object(b *branch, c int32) {
	if len(b.children) < manyChildren {
		for name, child := range b.children {
			if m := w.doc.Member(c, name); m != none {
				w.value(child, m)
			}
		}
		return
	}
	for m, end := c+1, w.doc.Nodes[c].Next; m < end; m = w.doc.Nodes[m].Next {
		if child := b.children[string(w.name(m))]; child != nil {
			w.value(child, m)
		}
	}
}

// name is the key of a member, until the next call.
func (w *walk) name(m int32) []byte {
	n := &w.doc.Nodes[m]
	name := w.doc.Body[n.KeyStart:n.KeyEnd]
	if n.KeyEscaped {
		w.key = jsontext.AppendUnescaped(w.key[:0], name)
		return w.key
	}
	return name
}

func (w *walk) scalar(b *branch, c int32) {
	if len(b.programs) == 0 {
		return
	}
	n := &w.doc.Nodes[c]
	if n.Kind == jsontext.String && !n.Escaped && int(n.End-n.Start) > b.longest+1 {
		return // longer than any that is looked for; the key has one byte for two quotes
	}
	w.key = appendKey(w.key[:0], w.doc, c)
	w.try(b.programs[string(w.key)])
}

// appendKey appends a scalar's kind and what it says: equal values, equal keys.
func appendKey(dst []byte, d *Doc, c int32) []byte {
	n := &d.Nodes[c]
	dst = append(dst, byte(n.Kind))
	switch {
	case n.Kind == jsontext.Number:
		dst, _ = appendNumber(dst, d.Raw(c))
	case n.Kind != jsontext.String:
	case n.Escaped:
		dst = jsontext.AppendUnescaped(dst, d.Body[n.Start+1:n.End-1])
	default:
		dst = append(dst, d.Body[n.Start+1:n.End-1]...)
	}
	return dst
}

// key is appendKey for a value of a filter.
func (v scalar) key() string { return string([]byte{byte(v.kind)}) + v.text }
