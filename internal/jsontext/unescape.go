package jsontext

import (
	"bytes"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUnescaped appends what the inside of a checked JSON string says. Half of
// a surrogate pair becomes U+FFFD, as encoding/json reads it.
func AppendUnescaped(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		if s[i+1] != 'u' {
			dst = append(dst, unescaped(s[i+1]))
			s = s[i+2:]
			continue
		}
		var r rune
		r, s = unescapeUnicode(s[i:])
		dst = utf8.AppendRune(dst, r)
	}
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default: // a quote, a slash or a backslash stands for itself
		return c
	}
}

// unescapeUnicode reads \uXXXX at the start of s, or two that make one character.
func unescapeUnicode(s []byte) (r rune, rest []byte) {
	r, ok := hex4(s[2:])
	if !ok {
		return utf8.RuneError, s[2:] // not in a checked string
	}
	s = s[6:]
	if !utf16.IsSurrogate(r) {
		return r, s
	}
	if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if low, ok := hex4(s[2:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, s[6:]
			}
		}
	}
	return utf8.RuneError, s
}

// hex4 reads four hexadecimal digits at the start of s.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// StringEnd is where the string that a JSON text begins with is over: behind its closing quote, or
// at the end of a text that has none.
func StringEnd[T string | []byte](text T) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// PlainLetters writes the letters and digits that a valid JSON text has as escapes as themselves, so
// that they can be looked for without decoding it.
func PlainLetters(text []byte) []byte {
	var out []byte
	done, next := 0, 0
	for {
		at := bytes.IndexByte(text[next:], '\\')
		if at < 0 || next+at+1 >= len(text) {
			break
		}
		at += next
		if next = at + 2; text[at+1] != 'u' || at+6 > len(text) {
			continue
		}
		next = at + 6
		if r, ok := hex4(text[at+2 : next]); ok && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			out = utf8.AppendRune(append(out, text[done:at]...), r)
			done = next
		}
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}
