package page

import (
	"html/template"
	"strings"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// deepestFold is how many levels below the outermost can be folded: each fold is a stop of the Tab key.
const deepestFold = 2

// Paint colours JSON that LayOut wrote, and lets the larger parts of it be folded. Without its
// marks the text is what it was, whatever it is.
func Paint(text string) template.HTML {
	var out strings.Builder
	depth, open := 0, 0
	for line := range strings.Lines(text) {
		inner := strings.Trim(line, " \n,")
		if inner != "" && strings.ContainsRune("]}", rune(inner[0])) {
			depth = max(depth-1, 0)
			if foldable(depth) && open > 0 {
				out.WriteString("</details>")
				open--
			}
		}
		opens := inner != "" && strings.ContainsRune("[{", rune(inner[len(inner)-1]))
		folds := opens && foldable(depth)
		if folds {
			out.WriteString("<details open><summary>")
			open++
		}
		paintLine(&out, line)
		if folds {
			out.WriteString("</summary>")
		}
		if opens {
			depth++
		}
	}
	out.WriteString(strings.Repeat("</details>", open))
	return template.HTML(out.String()) // paintLine escapes all that is not a mark
}

func foldable(depth int) bool { return depth >= 1 && depth <= deepestFold }

// paintLine marks the keys, texts and other values of a line.
func paintLine(out *strings.Builder, line string) {
	for line != "" {
		n, class := 0, ""
		switch {
		case line[0] == '"':
			n, class = jsontext.StringEnd(line), "string"
			if strings.HasPrefix(line[n:], ":") {
				class = "key"
			}
		case plainValue(line[0]):
			class = "literal"
			for n < len(line) && plainValue(line[n]) {
				n++
			}
		default:
			for n < len(line) && line[n] != '"' && !plainValue(line[n]) {
				n++
			}
		}
		if class == "" {
			out.WriteString(template.HTMLEscapeString(line[:n]))
		} else {
			out.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(line[:n]) + "</span>")
		}
		line = line[n:]
	}
}

// plainValue says whether a letter is part of a number, of true, false or null.
func plainValue(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}
