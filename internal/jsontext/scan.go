package jsontext

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 512

// scanner walks over one text and, if it is to keep them, collects the nodes. It has a
// bit for each open array or object instead of recursing, so that depth costs neither
// stack nor heap.
type scanner struct {
	data     []byte
	pos      int
	depth    int
	objects  [MaxDepth / 64]uint64
	allowNUL bool
	what     string // is wrong at pos

	keep  bool
	open  int32 // innermost open array or object; its next has the one around it until it is closed
	nodes []Node
}

// syntaxError is what is wrong and where.
type syntaxError struct {
	what string
	at   int
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.at) }

// Parse reads one JSON value. The document refers to body, which must not change
// while it is in use.
func Parse(body []byte) (*Doc, error) {
	// Real payloads have a value every 40 to 60 bytes.
	s := scanner{data: body, allowNUL: true, keep: true, open: None, nodes: make([]Node, 0, mostNodes(body))}
	if !s.document() {
		return nil, &syntaxError{s.what, s.pos}
	}
	return &Doc{Body: body, Nodes: s.nodes}, nil
}

// Check says what is wrong with a text that is not one JSON value in UTF-8. The
// character U+0000 in a string is wrong, too, unless it is allowed.
func Check(text []byte, allowNUL bool) error {
	s := scanner{data: text, allowNUL: allowNUL}
	if !s.document() {
		return &syntaxError{s.what, s.pos}
	}
	return nil
}

func (s *scanner) fail(what string) bool {
	s.what = what
	return false
}

// document checks that data is exactly one value between white space.
func (s *scanner) document() bool {
	if int64(len(s.data)) >= math.MaxInt32 {
		return s.fail("larger than 2 GiB")
	}
	if !s.value() {
		return false
	}
	if s.space(); s.pos != len(s.data) {
		return s.fail("something follows the value")
	}
	if utf8.Valid(s.data) {
		return true
	}
	for s.pos = 0; ; {
		r, size := utf8.DecodeRune(s.data[s.pos:])
		if r == utf8.RuneError && size <= 1 {
			return s.fail("invalid UTF-8")
		}
		s.pos += size
	}
}

// value checks one value and all that is inside of it.
func (s *scanner) value() bool {
	var next Node // holds the member's name, if any
	for {
		opened, ok := s.begin(next)
		if !ok {
			return false
		}
		if !opened {
			if done, ok := s.afterValue(); done || !ok {
				return ok
			}
		}
		next = Node{}
		if s.inObject() && !s.key(&next) {
			return false
		}
	}
}

// begin checks a value, or the start of one that holds others: opened then says
// that its first member or element comes next.
func (s *scanner) begin(n Node) (opened, ok bool) {
	s.space()
	if s.pos == len(s.data) {
		return false, s.fail("it ends where a value should be,")
	}
	n.Start = int32(s.pos)
	switch c := s.data[s.pos]; {
	case c == '"':
		n.Kind = String
		n.Escaped, ok = s.str()
	case c == '{':
		return s.enter(n, Object)
	case c == '[':
		return s.enter(n, Array)
	case c == '-' || c >= '0' && c <= '9':
		n.Kind, ok = Number, s.number()
	case c == 't':
		n.Kind, ok = True, s.word("true")
	case c == 'f':
		n.Kind, ok = False, s.word("false")
	case c == 'n':
		n.Kind, ok = Null, s.word("null")
	default:
		ok = s.fail("a value should be here,")
	}
	if ok && s.keep {
		n.End, n.Next = int32(s.pos), int32(len(s.nodes))+1
		s.nodes = append(s.nodes, n)
	}
	return false, ok
}

// enter begins an array or object; an empty one is left at once.
func (s *scanner) enter(n Node, kind Kind) (opened, ok bool) {
	if s.depth == MaxDepth {
		return false, s.fail(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	bit := uint64(1) << (s.depth % 64)
	s.objects[s.depth/64] &^= bit
	if kind == Object {
		s.objects[s.depth/64] |= bit
	}
	s.depth++
	s.pos++
	if s.keep {
		n.Kind, n.Next = kind, s.open
		s.open = int32(len(s.nodes))
		s.nodes = append(s.nodes, n)
	}
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == kind.closing() {
		s.leave()
		return false, true
	}
	return true, true
}

func (s *scanner) leave() {
	s.pos++
	s.depth--
	if s.keep {
		n := &s.nodes[s.open]
		s.open = n.Next
		n.Next, n.End = int32(len(s.nodes)), int32(s.pos)
	}
}

func (s *scanner) inObject() bool { return s.objects[(s.depth-1)/64]&(1<<((s.depth-1)%64)) != 0 }

// afterValue goes on to where the next value begins, closing what ends here. It is done
// when nothing is open any more.
func (s *scanner) afterValue() (done, ok bool) {
	for s.depth > 0 {
		s.space()
		if s.pos == len(s.data) {
			return false, s.fail("it ends inside an array or object,")
		}
		switch c, object := s.data[s.pos], s.inObject(); {
		case c == ',':
			s.pos++
			return false, true
		case c == '}' && object, c == ']' && !object:
			s.leave()
		default:
			return false, s.fail("a comma or the closing bracket should be here,")
		}
	}
	return true, true
}

// key checks a member's name and the colon after it.
func (s *scanner) key(n *Node) (ok bool) {
	s.space()
	if s.pos == len(s.data) || s.data[s.pos] != '"' {
		return s.fail("a member name in double quotes should be here,")
	}
	n.KeyStart = int32(s.pos) + 1
	if n.KeyEscaped, ok = s.str(); !ok {
		return false
	}
	n.KeyEnd = int32(s.pos) - 1
	s.space()
	if s.pos == len(s.data) || s.data[s.pos] != ':' {
		return s.fail("a colon should be here,")
	}
	s.pos++
	return true
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) word(word string) bool {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return s.fail("a value should be here,")
	}
	s.pos += len(word)
	return true
}

// str checks a string, eight bytes at a time between those that mean something.
func (s *scanner) str() (escaped, ok bool) {
	s.pos++
	for s.pos < len(s.data) {
		if len(s.data)-s.pos >= 8 {
			special := specialBytes(binary.LittleEndian.Uint64(s.data[s.pos:]))
			if special == 0 {
				s.pos += 8
				continue
			}
			s.pos += bits.TrailingZeros64(special) / 8
		}
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return escaped, true
		case c == '\\':
			escaped = true
			if !s.escape() {
				return escaped, false
			}
		case c < ' ':
			return escaped, s.fail("a control character that is not escaped")
		default:
			s.pos++
		}
	}
	return escaped, s.fail("it ends inside a string,")
}

// specialBytes marks the quotes, backslashes and control characters among eight
// bytes. Marks above the lowest one may be wrong, the lowest never is.
func specialBytes(word uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote := word ^ ones*'"'
	slash := word ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (word-ones*' ')&^word) & highs
}

func (s *scanner) escape() bool {
	if s.pos+1 == len(s.data) {
		return s.fail("it ends inside a string,")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return true
	case 'u':
		r, ok := hex4(s.data[s.pos+2:])
		switch {
		case len(s.data)-s.pos < 6:
			return s.fail("it ends inside an escape,")
		case !ok:
			return s.fail("an unknown escape")
		case r == 0 && !s.allowNUL:
			return s.fail("the character U+0000, which cannot be stored,")
		}
		s.pos += 6
		return true
	}
	return s.fail("an unknown escape")
}

func (s *scanner) number() bool {
	if s.data[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.data) && s.data[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return false
	}
	if s.pos < len(s.data) && s.data[s.pos] == '.' {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if s.pos < len(s.data) && s.data[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
			s.pos++
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start || s.fail("a digit should be here,")
}

// mostNodes is how many values a text can have, so that their room is taken once: each but
// the first follows a comma or opens what it is in.
func mostNodes(body []byte) int {
	n := 1 + bytes.Count(body, []byte(",")) + bytes.Count(body, []byte("[")) + bytes.Count(body, []byte("{"))
	return min(n, len(body)/2+1)
}
