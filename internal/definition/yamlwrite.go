package definition

import (
	"fmt"
	"strings"
	"unicode"
)

// yamlWriter writes nodes as YAML in block style.
type yamlWriter struct {
	strings.Builder
	// plain allows text without quotes and in blocks of lines.
	plain bool
}

// writeYAML writes an object so that it reads back the same.
func writeYAML(n *node) string {
	if len(n.fields) == 0 {
		return ""
	}
	for _, plain := range []bool{true, false} {
		w := yamlWriter{plain: plain}
		w.object(n, 0)
		if back, _, m := parseYAML(w.String(), maxWork); m == nil && back != nil && back.json() == n.json() {
			return w.String()
		}
	}
	return n.json() + "\n" // JSON is also YAML
}

func (w *yamlWriter) object(n *node, indent int) {
	for i, f := range n.fields {
		if i > 0 {
			w.WriteString(strings.Repeat(" ", indent))
		}
		w.WriteString(w.scalarText(f.key, true) + ":")
		w.value(f.value, indent)
	}
}

// value writes what follows a colon, with its line end.
func (w *yamlWriter) value(n *node, indent int) {
	switch {
	case n.kind == objectNode && len(n.fields) > 0:
		w.WriteString("\n" + strings.Repeat(" ", indent+2))
		w.object(n, indent+2)
	case n.kind == listNode && len(n.items) > 0:
		w.WriteString("\n")
		w.list(n, indent+2)
	default:
		w.WriteString(" ")
		w.scalar(n, indent)
	}
}

func (w *yamlWriter) list(n *node, indent int) {
	for _, item := range n.items {
		w.WriteString(strings.Repeat(" ", indent) + "- ")
		switch {
		case item.kind == objectNode && len(item.fields) > 0:
			w.object(item, indent+2)
		case item.kind == listNode:
			w.WriteString(item.json() + "\n")
		default:
			w.scalar(item, indent)
		}
	}
}

// scalar writes a scalar, or an empty list or object, with its line end.
func (w *yamlWriter) scalar(n *node, indent int) {
	if n.kind != textNode {
		w.WriteString(n.json() + "\n")
		return
	}
	if !w.plain || !blockText(n.text) {
		w.WriteString(w.scalarText(n.text, false) + "\n")
		return
	}
	body, ended := strings.CutSuffix(n.text, "\n")
	if ended {
		w.WriteString("|\n")
	} else {
		w.WriteString("|-\n")
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			w.WriteString(strings.Repeat(" ", indent+2) + line)
		}
		w.WriteString("\n")
	}
}

// blockText says whether a text of several lines can be written as lines.
func blockText(s string) bool {
	if !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") {
		return false
	}
	for i, line := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
		if strings.TrimRight(line, " \t") != line || i == 0 && strings.TrimLeft(line, " \t#") != line {
			return false
		}
		if i == 0 && line == "" || strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) {
			return false
		}
	}
	return !strings.HasSuffix(s, "\n\n")
}

// scalarText writes a text on one line.
func (w *yamlWriter) scalarText(s string, key bool) string {
	if w.plain && plainText(s, key) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(c) && (w.plain || c < unicode.MaxASCII):
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plainText says whether a text needs no quotes, for this program and for others
// that still read yes as true.
func plainText(s string, key bool) bool {
	if kind, _ := resolvePlain(s); kind != textNode || strings.TrimSpace(s) != s {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", ".inf", ".nan":
		return false
	}
	first := rune(s[0])
	if !unicode.IsLetter([]rune(s)[0]) && first != '_' && first != '/' && !key {
		return false
	}
	if key {
		return !strings.ContainsFunc(s, func(c rune) bool { return !(c < unicode.MaxASCII && unicode.IsLetter(c)) && c != '_' && c != '-' })
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(" _-./@+,()'!?=%&$~^:;<>|*#—–…", c)
	})
}
