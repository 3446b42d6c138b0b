package mask

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// JSON masks the strings and numbers of a JSON text, however they are escaped.
// The order of keys, the white space and the text of all that holds no secret
// stay as they are; a number that holds one becomes a string. What is not valid
// JSON is masked as plain text.
func (m *Masker) JSON(raw []byte) []byte {
	if m == nil {
		return raw
	}
	if !json.Valid(raw) {
		return m.Bytes(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		end := i + 1
		switch c := raw[i]; {
		case c == '"':
			end = stringEnd(raw, i)
			out = m.appendString(out, raw[i:end])
		case c == '-' || c >= '0' && c <= '9':
			for end < len(raw) && isNumber(raw[end]) {
				end++
			}
			out = m.appendNumber(out, raw[i:end])
		default:
			out = append(out, c)
		}
		i = end
	}
	return out
}

// stringEnd is behind the closing quote of the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

func (m *Masker) appendString(out, quoted []byte) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return append(out, quoted...)
	}
	if masked := m.String(s); masked != s {
		return appendQuoted(out, masked)
	}
	if utf8.Valid(quoted) {
		return append(out, quoted...)
	}
	// Decoding has replaced bytes that are no UTF-8: look at the text itself.
	inner := quoted[1 : len(quoted)-1]
	masked := m.Bytes(inner)
	if bytes.Equal(masked, inner) {
		return append(out, quoted...)
	}
	if masked = append(append([]byte{'"'}, masked...), '"'); !json.Valid(masked) {
		return appendQuoted(out, maskOf(""))
	}
	return append(out, masked...)
}

func (m *Masker) appendNumber(out, number []byte) []byte {
	if masked := m.Bytes(number); !bytes.Equal(masked, number) {
		return appendQuoted(out, string(masked))
	}
	return append(out, number...)
}

func appendQuoted(out []byte, s string) []byte {
	return append(append(append(out, '"'), escape(s, false)...), '"')
}
