package main

import (
	"strings"
	"unicode/utf8"
)

// table aligns text in columns, as Markdown, so that it reads well in a terminal
// and can be pasted into the documentation.
type table struct {
	head []string
	rows [][]string
}

// add appends a row; missing cells are empty, further ones are dropped.
func (t *table) add(cells ...string) {
	line := make([]string, len(t.head))
	copy(line, cells)
	for i, cell := range line {
		line[i] = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", "\\|")
	}
	t.rows = append(t.rows, line)
}

// String draws the table.
func (t *table) String() string {
	widths := make([]int, len(t.head))
	for _, line := range append([][]string{t.head}, t.rows...) {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var out strings.Builder
	draw := func(cells []string, fill string) {
		for i, cell := range cells {
			out.WriteString("| " + cell + strings.Repeat(fill, widths[i]-utf8.RuneCountInString(cell)) + " ")
		}
		out.WriteString("|\n")
	}
	draw(t.head, " ")
	draw(make([]string, len(t.head)), "-")
	for _, line := range t.rows {
		draw(line, " ")
	}
	return out.String()
}
