package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is where encoding/json stops, too; bodies from outside are held to
// less before they come here.
const maxDepth = 10_000

// parser builds the nodes of one document in one pass and without recursion: an
// open array or object keeps its parent in next until it is closed.
type parser struct {
	data  []byte
	pos   int
	depth int
	open  int32 // innermost open array or object, or none
	nodes []node
}

// Parse reads one JSON value. The document refers to body, which must not change
// while it is in use. The error quotes nothing of the body.
func Parse(body []byte) (*Doc, error) {
	if int64(len(body)) >= math.MaxInt32 {
		return nil, errors.New("parse body: larger than 2 GiB")
	}
	if !utf8.Valid(body) {
		return nil, errors.New("parse body: not UTF-8")
	}
	// Real payloads have a value every 40 to 60 bytes.
	p := parser{data: body, open: none, nodes: make([]node, 0, len(body)/36+4)}
	if !p.document() {
		return nil, fmt.Errorf("parse body: not JSON at byte %d", p.pos)
	}
	return &Doc{body: body, nodes: p.nodes}, nil
}

func (p *parser) document() bool {
	var next node // holds the member's name, if any
	for {
		opened, ok := p.value(next)
		if !ok {
			return false
		}
		if !opened {
			if done, ok := p.afterValue(); done || !ok {
				return ok
			}
		}
		next = node{}
		if p.nodes[p.open].kind == kindObject && !p.key(&next) {
			return false
		}
	}
}

// value reads a value, or the start of one that holds others: opened then says
// that its first member or element comes next.
func (p *parser) value(n node) (opened, ok bool) {
	p.space()
	if p.pos == len(p.data) {
		return false, false
	}
	n.start = int32(p.pos)
	switch c := p.data[p.pos]; {
	case c == '"':
		n.kind = kindString
		n.escaped, ok = p.str()
	case c == '{':
		return p.container(n, kindObject)
	case c == '[':
		return p.container(n, kindArray)
	case c == '-' || c >= '0' && c <= '9':
		n.kind, ok = kindNumber, p.number()
	case c == 't':
		n.kind, ok = kindTrue, p.word("true")
	case c == 'f':
		n.kind, ok = kindFalse, p.word("false")
	case c == 'n':
		n.kind, ok = kindNull, p.word("null")
	}
	if !ok {
		return false, false
	}
	n.end = int32(p.pos)
	n.next = int32(len(p.nodes)) + 1
	p.nodes = append(p.nodes, n)
	return false, true
}

// container enters an array or object; an empty one is left at once.
func (p *parser) container(n node, kind kind) (opened, ok bool) {
	if p.depth == maxDepth {
		return false, false
	}
	p.depth++
	p.pos++
	n.kind, n.next = kind, p.open
	p.open = int32(len(p.nodes))
	p.nodes = append(p.nodes, n)
	p.space()
	if p.pos < len(p.data) && p.data[p.pos] == kind.closing() {
		p.leave()
		return false, true
	}
	return true, true
}

func (p *parser) leave() {
	p.pos++
	p.depth--
	n := &p.nodes[p.open]
	p.open = n.next
	n.next, n.end = int32(len(p.nodes)), int32(p.pos)
}

// afterValue goes on to where the next value begins, closing what ends here, or
// to the end of the text.
func (p *parser) afterValue() (done, ok bool) {
	for {
		p.space()
		if p.open == none {
			return true, p.pos == len(p.data)
		}
		if p.pos == len(p.data) {
			return false, false
		}
		switch p.data[p.pos] {
		case ',':
			p.pos++
			return false, true
		case p.nodes[p.open].kind.closing():
			p.leave()
		default:
			return false, false
		}
	}
}

// key reads a member's name and the colon after it.
func (p *parser) key(n *node) (ok bool) {
	p.space()
	if p.pos == len(p.data) || p.data[p.pos] != '"' {
		return false
	}
	n.keyStart = int32(p.pos) + 1
	if n.keyEscaped, ok = p.str(); !ok {
		return false
	}
	n.keyEnd = int32(p.pos) - 1
	p.space()
	if p.pos == len(p.data) || p.data[p.pos] != ':' {
		return false
	}
	p.pos++
	return true
}

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) word(word string) bool {
	if len(p.data)-p.pos < len(word) || string(p.data[p.pos:p.pos+len(word)]) != word {
		return false
	}
	p.pos += len(word)
	return true
}

// str reads a string, eight bytes at a time between those that mean something.
func (p *parser) str() (escaped, ok bool) {
	p.pos++
	for p.pos < len(p.data) {
		if len(p.data)-p.pos >= 8 {
			special := specialBytes(binary.LittleEndian.Uint64(p.data[p.pos:]))
			if special == 0 {
				p.pos += 8
				continue
			}
			p.pos += bits.TrailingZeros64(special) / 8
		}
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return escaped, true
		case c == '\\':
			escaped = true
			if !p.escape() {
				return escaped, false
			}
		case c < ' ':
			return escaped, false
		default:
			p.pos++
		}
	}
	return escaped, false
}

// specialBytes marks the quotes, backslashes and control characters among eight
// bytes. Marks above the lowest one may be wrong, the lowest never is.
func specialBytes(word uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote := word ^ ones*'"'
	slash := word ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (word-ones*' ')&^word) & highs
}

func (p *parser) escape() bool {
	if p.pos+1 == len(p.data) {
		return false
	}
	switch p.data[p.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.pos += 2
		return true
	case 'u':
		if _, ok := hex4(p.data[p.pos+2:]); ok {
			p.pos += 6
			return true
		}
	}
	return false
}

func (p *parser) number() bool {
	if p.data[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.data) && p.data[p.pos] == '0' {
		p.pos++
	} else if !p.digits() {
		return false
	}
	if p.pos < len(p.data) && p.data[p.pos] == '.' {
		p.pos++
		if !p.digits() {
			return false
		}
	}
	if p.pos < len(p.data) && p.data[p.pos]|0x20 == 'e' {
		p.pos++
		if p.pos < len(p.data) && (p.data[p.pos] == '+' || p.data[p.pos] == '-') {
			p.pos++
		}
		return p.digits()
	}
	return true
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}
