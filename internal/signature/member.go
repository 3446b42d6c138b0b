package signature

import (
	"bytes"
	"encoding/json"
	"strings"
)

// member finds a member of a JSON object by its path ("event.id") and returns its
// text. The first of several equal names counts. It reads no further than it
// must and allocates nothing, as it runs for every delivery of some schemes;
// whether the whole body is JSON is the caller's question.
func member(doc []byte, path string) ([]byte, bool) {
	for name := range strings.SplitSeq(path, ".") {
		value, found := child(doc, name)
		if !found {
			return nil, false
		}
		doc = value
	}
	return doc, true
}

// memberText returns a member that is a string, or nothing.
func memberText(doc []byte, path string) string {
	raw, found := member(doc, path)
	if !found || raw[0] != '"' {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

func child(doc []byte, name string) ([]byte, bool) {
	var last []byte // of members with one name the last counts, as in filters
	doc, open := symbol(doc, '{')
	for open {
		doc = skipSpace(doc)
		key := value(doc)
		if len(key) == 0 || key[0] != '"' {
			break
		}
		rest, colon := symbol(doc[len(key):], ':')
		rest = skipSpace(rest)
		found := value(rest)
		if !colon || len(found) == 0 {
			break
		}
		if named(key, name) {
			last = found
		}
		doc, open = symbol(rest[len(found):], ',')
	}
	return last, last != nil
}

// named reports whether a quoted key is name.
func named(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key[1:len(key)-1]) == name
	}
	var plain string
	return json.Unmarshal(key, &plain) == nil && plain == name
}

// value returns the text of the value that doc starts with, or nothing if it has
// no end. It does not check what is between the brackets.
func value(doc []byte) []byte {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			size := quoted(doc[i:])
			if size == 0 {
				return nil
			}
			i += size - 1
			if depth == 0 {
				return doc[:i+1]
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return doc[:i] // the end of what a bare word is in
			}
			if depth--; depth == 0 {
				return doc[:i+1]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return doc[:i]
			}
		}
	}
	return nil
}

// quoted is the length of the string that doc starts with; 0 if it has no end.
func quoted(doc []byte) int {
	for i := 1; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// symbol skips white space and one character.
func symbol(doc []byte, c byte) ([]byte, bool) {
	doc = skipSpace(doc)
	if len(doc) == 0 || doc[0] != c {
		return nil, false
	}
	return doc[1:], true
}

func skipSpace(doc []byte) []byte {
	return bytes.TrimLeft(doc, " \t\r\n")
}
