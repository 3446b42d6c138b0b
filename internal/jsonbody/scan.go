package jsonbody

import (
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 512

// scanner walks over one JSON text (RFC 8259). It keeps one bit per open array or
// object instead of recursing, so that depth costs neither stack nor heap.
type scanner struct {
	data     []byte
	pos      int
	depth    int
	objects  [MaxDepth / 64]uint64
	allowNUL bool
}

// syntaxError is what is wrong and where; it never quotes the body.
type syntaxError struct {
	what string
	at   int
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("the body is not acceptable JSON: %s at byte %d", e.what, e.at)
}

func (s *scanner) fail(what string) error { return &syntaxError{what, s.pos} }

// document checks that data is exactly one value between white space.
func (s *scanner) document() error {
	for {
		opened, err := s.value()
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		done, err := s.afterValue()
		if done || err != nil {
			return err
		}
	}
}

// value checks one value. It returns true after the start of an array or object
// that is not empty: the next value is then its first.
func (s *scanner) value() (opened bool, err error) {
	s.space()
	if s.pos == len(s.data) {
		return false, s.fail("it ends where a value should be,")
	}
	switch c := s.data[s.pos]; {
	case c == '{':
		return s.open(true)
	case c == '[':
		return s.open(false)
	case c == '"':
		return false, s.str()
	case c == '-' || c >= '0' && c <= '9':
		return false, s.number()
	case c == 't':
		return false, s.word("true")
	case c == 'f':
		return false, s.word("false")
	case c == 'n':
		return false, s.word("null")
	}
	return false, s.fail("a value should be here,")
}

// open enters an array or object; an empty one is left at once.
func (s *scanner) open(object bool) (opened bool, err error) {
	if s.depth == MaxDepth {
		return false, s.fail(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	s.pos++
	s.space()
	closing := byte(']')
	if object {
		closing = '}'
	}
	if s.pos < len(s.data) && s.data[s.pos] == closing {
		s.pos++
		return false, nil
	}
	bit := uint64(1) << (s.depth % 64)
	if object {
		s.objects[s.depth/64] |= bit
	} else {
		s.objects[s.depth/64] &^= bit
	}
	s.depth++
	if object {
		return true, s.key()
	}
	return true, nil
}

// afterValue goes on from the end of a value to the start of the next one, closing
// what ends here. It returns true at the end of the text.
func (s *scanner) afterValue() (done bool, err error) {
	for {
		s.space()
		if s.depth == 0 {
			if s.pos != len(s.data) {
				return false, s.fail("something follows the value")
			}
			return true, nil
		}
		if s.pos == len(s.data) {
			return false, s.fail("it ends inside an array or object,")
		}
		object := s.objects[(s.depth-1)/64]&(1<<((s.depth-1)%64)) != 0
		switch c := s.data[s.pos]; {
		case c == ',':
			s.pos++
			if object {
				s.space()
				return false, s.key()
			}
			return false, nil
		case c == '}' && object, c == ']' && !object:
			s.pos++
			s.depth--
		default:
			return false, s.fail("a comma or the closing bracket should be here,")
		}
	}
}

// key checks the name of a member and the colon after it.
func (s *scanner) key() error {
	if s.pos == len(s.data) || s.data[s.pos] != '"' {
		return s.fail("a member name in double quotes should be here,")
	}
	if err := s.str(); err != nil {
		return err
	}
	s.space()
	if s.pos == len(s.data) || s.data[s.pos] != ':' {
		return s.fail("a colon should be here,")
	}
	s.pos++
	return nil
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

func (s *scanner) word(word string) error {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return s.fail("a value should be here,")
	}
	s.pos += len(word)
	return nil
}

// str checks a string, its escapes and its UTF-8.
func (s *scanner) str() error {
	s.pos++
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.fail("a control character that is not escaped")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, size := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && size == 1 {
				return s.fail("invalid UTF-8")
			}
			s.pos += size
		}
	}
	return s.fail("it ends inside a string,")
}

func (s *scanner) escape() error {
	if s.pos+1 == len(s.data) {
		return s.fail("it ends inside a string,")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
		return s.unicodeEscape()
	}
	return s.fail("an unknown escape")
}

func (s *scanner) unicodeEscape() error {
	if len(s.data)-s.pos < 6 {
		return s.fail("it ends inside an escape,")
	}
	zero := true
	for _, c := range s.data[s.pos+2 : s.pos+6] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return s.fail("an unknown escape")
		}
		zero = zero && c == '0'
	}
	if zero && !s.allowNUL {
		return s.fail("the character U+0000, which cannot be stored,")
	}
	s.pos += 6
	return nil
}

func (s *scanner) number() error {
	if s.data[s.pos] == '-' {
		s.pos++
	}
	switch {
	case s.pos < len(s.data) && s.data[s.pos] == '0':
		s.pos++
	default:
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.pos < len(s.data) && s.data[s.pos] == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.pos < len(s.data) && (s.data[s.pos] == 'e' || s.data[s.pos] == 'E') {
		s.pos++
		if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() error {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == start {
		return s.fail("a digit should be here,")
	}
	return nil
}
