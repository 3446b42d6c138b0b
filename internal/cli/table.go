package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// cell is one field of a table.
type cell struct {
	text  string
	style style
}

func plain(text string) cell { return cell{text: text} }

// table prints rows under their heads. The last column is cut at the edge of a
// terminal; elsewhere nothing is.
func (sh *shell) table(heads []string, rows [][]cell) {
	widths := make([]int, len(heads))
	for i, head := range heads {
		widths[i] = utf8.RuneCountInString(head)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	var head []cell
	for _, h := range heads {
		head = append(head, cell{h, styleBold})
	}
	for _, row := range append([][]cell{head}, rows...) {
		sh.row(row, widths)
	}
}

func (sh *shell) row(row []cell, widths []int) {
	var line strings.Builder
	used, last := 0, len(row)-1
	for i, c := range row {
		text := c.text
		if i == last {
			if sh.outWidth > 0 {
				text = clip(text, max(sh.outWidth-used, 10))
			}
			line.WriteString(sh.paint(sh.outWidth, c.style, text))
			break
		}
		line.WriteString(sh.paint(sh.outWidth, c.style, text))
		line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2))
		used += widths[i] + 2
	}
	fmt.Fprintln(sh.out, strings.TrimRight(line.String(), " "))
}

// pairs prints names and values below each other; empty values are left out.
func (sh *shell) pairs(list [][2]string) {
	width := 0
	for _, p := range list {
		if p[1] != "" {
			width = max(width, utf8.RuneCountInString(p[0]))
		}
	}
	for _, p := range list {
		if p[1] != "" {
			name := fmt.Sprintf("%-*s", width, p[0])
			fmt.Fprintf(sh.out, "%s  %s\n", sh.paint(sh.outWidth, styleDim, name), p[1])
		}
	}
}

// when shows a time: its age on a terminal, in full elsewhere.
func (sh *shell) when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	if sh.outWidth == 0 {
		return at.UTC().Format(time.RFC3339)
	}
	return age(sh.now().Sub(at))
}

func age(d time.Duration) string {
	ahead := d < 0
	d = d.Abs()
	text := "now"
	switch {
	case d >= 48*time.Hour:
		text = fmt.Sprintf("%dd", int(d.Hours()/24))
	case d >= time.Hour:
		text = fmt.Sprintf("%dh", int(d.Hours()))
	case d >= time.Minute:
		text = fmt.Sprintf("%dm", int(d.Minutes()))
	case d >= time.Second:
		text = fmt.Sprintf("%ds", int(d.Seconds()))
	}
	switch {
	case text == "now":
		return text
	case ahead:
		return "in " + text
	}
	return text + " ago"
}

// count is a number of things: 1 run, 2 runs.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
