package jsontext

import "strings"

// Cursor walks over a text without keeping anything of it.
type Cursor struct{ scanner }

// NewCursor stands before the first value of a text.
func NewCursor(text []byte) Cursor { return Cursor{scanner{data: text, allowNUL: true}} }

// Peek is the first character of what comes next, or 0 at the end of the text.
func (c *Cursor) Peek() byte {
	if c.space(); c.pos == len(c.data) {
		return 0
	}
	return c.data[c.pos]
}

// Next goes to the first member or element of the array or object that opens here, or
// from behind one to the next. It is false, and behind the bracket, when there is none.
func (c *Cursor) Next() bool {
	switch c.Peek() {
	case ',':
		c.pos++
		return true
	case '{', '[':
		c.pos++
		if next := c.Peek(); next != '}' && next != ']' {
			return next != 0
		}
	}
	c.pos = min(c.pos+1, len(c.data))
	return false
}

// Name goes from the name of a member to its value. It is the name as it is written,
// between the quotes and in place; false where there is none.
func (c *Cursor) Name() (name []byte, ok bool) {
	var n Node
	if !c.key(&n) {
		return nil, false
	}
	return c.data[n.KeyStart:n.KeyEnd], true
}

// Skip goes behind a value and gives its text; false where there is none that is whole.
func (c *Cursor) Skip() (text []byte, ok bool) {
	c.space()
	start := c.pos
	if !c.value() {
		return nil, false
	}
	return c.data[start:c.pos], true
}

// Member finds a member of an object by its path ("event.id") and returns its text; of
// members with one name the last counts, as in a Doc. It allocates nothing and reads
// each level to its end or to what is not JSON: whether all of it is, is for others to
// ask.
func Member(text []byte, path string) ([]byte, bool) {
	for name := range strings.SplitSeq(path, ".") {
		value, found := child(text, name)
		if !found {
			return nil, false
		}
		text = value
	}
	return text, true
}

func child(text []byte, name string) (last []byte, found bool) {
	c := NewCursor(text)
	if c.Peek() != '{' {
		return nil, false
	}
	for c.Next() {
		written, named := c.Name()
		value, whole := c.Skip()
		if !named || !whole {
			break
		}
		if same(written, name) {
			last, found = value, true
		}
	}
	return last, found
}

// same says whether a name that may be escaped is another.
func same(written []byte, name string) bool {
	var buf [64]byte
	return string(AppendUnescaped(buf[:0], written)) == name
}

// MemberText is what a member says that is a string, or nothing.
func MemberText(text []byte, path string) string {
	raw, found := Member(text, path)
	if !found || raw[0] != '"' {
		return ""
	}
	return string(AppendUnescaped(nil, raw[1:len(raw)-1]))
}
