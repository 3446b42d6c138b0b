package page

import "strings"

// deepestIndent is how many levels are indented; deeper ones are below each other.
const deepestIndent = 32

// LayOut writes JSON with a line for each member, and stops after most bytes: deeply
// nested JSON would grow a thousandfold. It says whether something was left out.
func LayOut(body []byte, most int) (text string, cut bool) {
	var out strings.Builder
	depth, quoted := 0, false
	newline := func() {
		out.WriteByte('\n')
		out.WriteString(strings.Repeat("  ", min(depth, deepestIndent)))
	}
	for i := 0; i < len(body); i++ {
		if out.Len() >= most {
			return strings.ToValidUTF8(out.String()[:most], ""), true
		}
		c := body[i]
		if quoted {
			out.WriteByte(c)
			switch {
			case c == '\\' && i+1 < len(body):
				i++
				out.WriteByte(body[i])
			case c == '"':
				quoted = false
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
		case '"':
			quoted = true
			out.WriteByte(c)
		case '{', '[':
			out.WriteByte(c)
			if next := skipBlank(body, i+1); next < len(body) && (body[next] == '}' || body[next] == ']') {
				out.WriteByte(body[next])
				i = next
				continue
			}
			depth++
			newline()
		case '}', ']':
			depth = max(depth-1, 0)
			newline()
			out.WriteByte(c)
		case ',':
			out.WriteByte(c)
			newline()
		case ':':
			out.WriteString(": ")
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), false
}

func skipBlank(body []byte, from int) int {
	for from < len(body) && strings.IndexByte(" \t\r\n", body[from]) >= 0 {
		from++
	}
	return from
}
