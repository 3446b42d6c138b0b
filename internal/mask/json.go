package mask

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/jsontext"
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
			end = i + jsontext.StringEnd(raw[i:])
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

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

func (m *Masker) appendString(out, quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		var s string
		if json.Unmarshal(quoted, &s) == nil {
			if masked := m.String(s); masked != s {
				return appendQuoted(out, masked)
			}
		}
		// Decoding replaces what is no UTF-8: then the text itself has to be looked at.
		if utf8.Valid(inner) {
			return append(out, quoted...)
		}
	}
	if found := find(m, inner); len(found) > 0 {
		return appendQuoted(out, string(m.replace(nil, inner, found)))
	}
	return append(out, quoted...)
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
