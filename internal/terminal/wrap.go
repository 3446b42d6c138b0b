package terminal

import "strings"

// Wrap breaks a line at spaces so that no part is wider than a number of columns; a word
// that is wider itself is cut. Parts after the first begin with indent.
func Wrap(l Line, columns int, indent string) []Line {
	w := wrapper{columns: max(columns, 2), indent: indent}
	if Width(indent) > w.columns/2 {
		w.indent = ""
	}
	for _, span := range l {
		for text := span.Text; text != ""; {
			if n := len(text) - len(strings.TrimLeft(text, " ")); n > 0 {
				w.endWord()
				w.space = append(w.space, Span{text[:n], span.Style})
				text = text[n:]
				continue
			}
			n := strings.IndexByte(text, ' ')
			if n < 0 {
				n = len(text)
			}
			w.word = append(w.word, Span{text[:n], span.Style})
			text = text[n:]
		}
	}
	w.endWord()
	return append(w.lines, w.line)
}

// wrapper collects a word over spans: its parts may be of several styles.
type wrapper struct {
	columns int
	indent  string
	lines   []Line
	line    Line
	used    int
	// begun says that a word stands in the line.
	begun       bool
	space, word Line
}

// endWord puts the word into the line, or into the next when it does not fit.
func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	if w.begun && w.used+w.space.Width()+w.word.Width() > w.columns {
		w.breakLine()
	}
	// What the first line is indented by stays, if it leaves room for a word.
	if (len(w.lines) == 0 || w.begun) && w.used+w.space.Width() < w.columns {
		w.put(w.space)
	}
	w.space = nil
	for _, span := range w.word {
		w.putHard(span)
	}
	w.word, w.begun = nil, true
}

func (w *wrapper) put(spans Line) {
	w.line = append(w.line, spans...)
	w.used += spans.Width()
}

// putHard cuts what is wider than a whole line.
func (w *wrapper) putHard(span Span) {
	from := 0
	for i, r := range span.Text {
		if w.used+RuneWidth(r) > w.columns {
			w.line = append(w.line, Span{span.Text[from:i], span.Style})
			w.breakLine()
			from = i
		}
		w.used += RuneWidth(r)
	}
	w.line = append(w.line, Span{span.Text[from:], span.Style})
}

func (w *wrapper) breakLine() {
	w.lines = append(w.lines, w.line)
	w.line, w.used, w.begun, w.space = nil, 0, false, nil
	if w.indent != "" {
		w.put(Line{{w.indent, Plain}})
	}
}
