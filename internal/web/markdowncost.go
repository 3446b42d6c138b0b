package web

import (
	"errors"
	"strings"
)

// What of Markdown may come together in one text. Its renderer takes far longer than
// the text is long for some, and writes far more; no person writes as much.
const (
	maxHTML     = 10 * maxShown
	maxCells    = 5000 // of tables: every row has all columns of its header
	maxNesting  = 50   // quotes and lists within each other
	maxBrackets = 1000 // each begins what may be a link
	maxMarks    = 5000 // of emphasis in a paragraph: each is held against all before it
	// maxLinkWork is the links of a paragraph times its length: the end of each is looked
	// for in all of the rest.
	maxLinkWork = 8 << 20
)

// costly says that a text has more of these than is worth rendering.
func costly(text string) bool {
	if strings.Count(text, "[") > maxBrackets {
		return true
	}
	cells, columns := 0, 0
	length, links, marks := 0, 0, 0 // of the paragraph
	for line := range strings.SplitSeq(text, "\n") {
		depth, rest := nesting(line)
		if depth > maxNesting {
			return true
		}
		switch {
		case strings.TrimSpace(rest) == "":
			columns, length, links, marks = 0, 0, 0, 0 // the end of every table and paragraph
		case strings.Contains(rest, "|") && strings.Trim(rest, "|:- \t\f") == "":
			columns = max(columns, strings.Count(rest, "|")+1) // the line below a header, counted in its place
		}
		cells, length, links = cells+columns, length+len(line), links+strings.Count(line, "](")
		for _, mark := range []string{"*", "_", "~"} {
			marks += strings.Count(line, mark)
		}
		if cells > maxCells || links*length > maxLinkWork || marks > maxMarks {
			return true
		}
	}
	return false
}

// nesting counts the quotes and list items that a line begins, and gives what is left.
func nesting(line string) (depth int, rest string) {
	for {
		line = strings.TrimLeft(line, " \t")
		mark := marker(line)
		if mark == 0 {
			return depth, line
		}
		depth, line = depth+1, line[mark:]
	}
}

// marker is the length of the mark of a quote or of a list item; zero without one.
func marker(line string) int {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits == len(line) {
		return 0
	}
	end := digits + 1
	switch c := line[digits]; {
	case c == '>' && digits == 0:
		return end
	case digits == 0 && (c == '-' || c == '+' || c == '*'), digits > 0 && (c == '.' || c == ')'):
		if end == len(line) || line[end] == ' ' || line[end] == '\t' {
			return end
		}
	}
	return 0
}

// bounded takes so many bytes and no more.
type bounded struct {
	strings.Builder

	most int
}

var errTooLong = errors.New("more than a page shows")

// Write refuses what does not fit.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}
