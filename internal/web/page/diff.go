package page

import "strings"

const (
	// diffContext is how many lines around a change are shown.
	diffContext = 3
	// maxDiffCells bounds the comparison; larger texts are shown as replaced.
	maxDiffCells = 1 << 20
)

// DiffLine is a line of a change: added, removed or kept.
type DiffLine struct {
	// Sign is "+", "-", " " or, for lines that are left out, "…".
	Sign string
	Text string
}

// Class picks the style.
func (l DiffLine) Class() string {
	switch l.Sign {
	case "+":
		return "add"
	case "-":
		return "del"
	case "…":
		return "cut"
	}
	return "same"
}

// CompareTexts shows the lines that differ, with some around them.
func CompareTexts(before, after string) []DiffLine {
	a, b := SplitLines(Plain(before)), SplitLines(Plain(after))
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines := make([]DiffLine, 0, len(a)+len(b))
	for _, text := range a[:head] {
		lines = append(lines, DiffLine{" ", text})
	}
	lines = append(lines, compare(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, text := range a[len(a)-tail:] {
		lines = append(lines, DiffLine{" ", text})
	}
	return folded(lines)
}

// SplitLines are the lines of a text, without their ends.
func SplitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// compare finds the longest common lines of two texts, where that is affordable.
func compare(a, b []string) []DiffLine {
	var out []DiffLine
	if len(a)*len(b) > maxDiffCells || len(a) == 0 || len(b) == 0 {
		for _, text := range a {
			out = append(out, DiffLine{"-", text})
		}
		for _, text := range b {
			out = append(out, DiffLine{"+", text})
		}
		return out
	}
	// common[i][j] is how many lines a[i:] and b[j:] have in common.
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, DiffLine{" ", a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[(i+1)*width+j] >= common[i*width+j+1]:
			out = append(out, DiffLine{"-", a[i]})
			i++
		default:
			out = append(out, DiffLine{"+", b[j]})
			j++
		}
	}
	return out
}

// folded leaves out lines that are far from any change.
func folded(lines []DiffLine) []DiffLine {
	near := make([]bool, len(lines))
	for i, line := range lines {
		if line.Sign == " " {
			continue
		}
		for k := max(0, i-diffContext); k < min(len(lines), i+diffContext+1); k++ {
			near[k] = true
		}
	}
	var out []DiffLine
	for i := 0; i < len(lines); {
		far := i
		for far < len(lines) && !near[far] {
			far++
		}
		if far-i > 2 { // fewer are no longer than the mark
			out = append(out, DiffLine{Sign: "…"})
			i = far
			continue
		}
		out = append(out, lines[i:far]...)
		if i = far; i < len(lines) {
			out = append(out, lines[i])
			i++
		}
	}
	return out
}
