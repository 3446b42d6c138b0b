package terminal

import (
	"strings"
	"unicode"
)

// Style is how text looks: the numbers of an SGR sequence; empty is plain.
type Style string

// The styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Italic Style = "3"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
	// Marked is the line that a person has chosen.
	Marked Style = "7"
)

// And adds a style to another.
func (s Style) And(other Style) Style {
	switch {
	case s == Plain:
		return other
	case other == Plain || s == other:
		return s
	}
	return s + ";" + other
}

// Span is text of one style.
type Span struct {
	Text  string
	Style Style
}

// Line is one line of text.
type Line []Span

// Text makes a line of one style. What does not belong into a line is replaced.
func Text(style Style, text string) Line { return Line{{flat(text), style}} }

// Add puts more text behind.
func (l Line) Add(style Style, text string) Line {
	return append(l[:len(l):len(l)], Span{flat(text), style})
}

// flat is clean text for within a line. Tabs have a width of their own on every
// terminal, so they become spaces.
func flat(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || isBidiControl(r) || r == unicode.ReplacementChar }) {
		return text
	}
	return strings.NewReplacer("\n", " ", "\t", "    ").Replace(Clean(text))
}

// Width is how many columns the line takes.
func (l Line) Width() int {
	columns := 0
	for _, span := range l {
		columns += Width(span.Text)
	}
	return columns
}

// Clip shortens the line to a number of columns, with a sign that it did.
func (l Line) Clip(columns int) Line {
	if l.Width() <= columns {
		return l
	}
	if columns < 1 {
		return nil
	}
	var out Line
	left := columns - 1
	for _, span := range l {
		if w := Width(span.Text); w <= left {
			out = append(out, span)
			left -= w
			continue
		}
		return append(out, Span{cut(span.Text, left) + "…", span.Style})
	}
	return out
}

// Styled gives every part of the line a further style.
func (l Line) Styled(style Style) Line {
	out := make(Line, len(l))
	for i, span := range l {
		out[i] = Span{span.Text, span.Style.And(style)}
	}
	return out
}

// String is the line for a terminal, with or without styles. Nothing in it but the
// styles can act on the terminal.
func (l Line) String(styles bool) string {
	var b strings.Builder
	now := Plain
	for _, span := range l {
		text := flat(span.Text)
		if styles && text != "" && span.Style != now {
			if now != Plain {
				b.WriteString("\x1b[0m")
			}
			if span.Style != Plain {
				b.WriteString("\x1b[" + string(span.Style) + "m")
			}
			now = span.Style
		}
		b.WriteString(text)
	}
	if now != Plain {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}
