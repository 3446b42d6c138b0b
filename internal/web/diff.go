package web

import (
	"strings"

	"github.com/lineshaft/lineshaft"
)

const (
	// diffContext is how many lines around a change are shown.
	diffContext = 3
	// maxDiffLines is how many lines of a change a page shows.
	maxDiffLines = 300
	// maxDiffCells bounds the comparison; larger texts are shown as replaced.
	maxDiffCells = 1 << 20
	maxDiffWidth = 2 << 10
)

// diffLine is a line of a change: added, removed or kept.
type diffLine struct {
	// Sign is "+", "-", " " or, for lines that are left out, "…".
	Sign string
	Text string
}

// Class picks the style.
func (l diffLine) Class() string {
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

// diff is the change of one file.
type diff struct {
	Path           string
	Added, Removed int
	Lines          []diffLine
	// Left is how many lines are not shown.
	Left int
}

// newDiff is the change from one text to another, as far as a page shows it.
func newDiff(path, before, after string) diff {
	return finishDiff(path, compareTexts(before, after))
}

// compareTexts tells the lines that differ, with some around them.
func compareTexts(before, after string) []diffLine {
	a, b := splitLines(plain(before)), splitLines(plain(after))
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines := make([]diffLine, 0, len(a)+len(b))
	for _, text := range a[:head] {
		lines = append(lines, diffLine{" ", text})
	}
	lines = append(lines, compare(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, text := range a[len(a)-tail:] {
		lines = append(lines, diffLine{" ", text})
	}
	return folded(lines)
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// compare finds the longest common lines of two texts, where that is affordable.
func compare(a, b []string) []diffLine {
	var out []diffLine
	if len(a)*len(b) > maxDiffCells || len(a) == 0 || len(b) == 0 {
		for _, text := range a {
			out = append(out, diffLine{"-", text})
		}
		for _, text := range b {
			out = append(out, diffLine{"+", text})
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
			out = append(out, diffLine{" ", a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[(i+1)*width+j] >= common[i*width+j+1]:
			out = append(out, diffLine{"-", a[i]})
			i++
		default:
			out = append(out, diffLine{"+", b[j]})
			j++
		}
	}
	return out
}

// folded leaves out lines that are far from any change.
func folded(lines []diffLine) []diffLine {
	near := make([]bool, len(lines))
	for i, line := range lines {
		if line.Sign == " " {
			continue
		}
		for k := max(0, i-diffContext); k < min(len(lines), i+diffContext+1); k++ {
			near[k] = true
		}
	}
	var out []diffLine
	for i := 0; i < len(lines); {
		far := i
		for far < len(lines) && !near[far] {
			far++
		}
		if far-i > 2 { // fewer are no longer than the mark
			out = append(out, diffLine{Sign: "…"})
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

// finishDiff counts the changes and bounds what is shown.
func finishDiff(path string, lines []diffLine) diff {
	d := diff{Path: oneLine(path, 400)}
	for _, line := range lines {
		switch line.Sign {
		case "+":
			d.Added++
		case "-":
			d.Removed++
		}
	}
	if len(lines) > maxDiffLines {
		lines, d.Left = lines[:maxDiffLines], len(lines)-maxDiffLines
	}
	for i := range lines {
		if head := lineshaft.CutBytes(lines[i].Text, maxDiffWidth); head != lines[i].Text {
			lines[i].Text = head + "…"
		}
	}
	d.Lines = lines
	return d
}

// patchDiff reads a change that an agent wrote as a patch.
func patchDiff(path, patch string) diff {
	var lines []diffLine
	for _, text := range splitLines(plain(patch)) {
		switch {
		case strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---") || strings.HasPrefix(text, "***") || strings.HasPrefix(text, "@@"):
			lines = append(lines, diffLine{"…", text})
		case strings.HasPrefix(text, "+"), strings.HasPrefix(text, "-"):
			lines = append(lines, diffLine{text[:1], text[1:]})
		default:
			lines = append(lines, diffLine{" ", strings.TrimPrefix(text, " ")})
		}
	}
	return finishDiff(path, lines)
}

// diffsOf finds the edits in what a tool was called with, or in what came of it. Each
// kind of agent has its own names for the same.
func diffsOf(data map[string]any) []diff {
	path := textOf(data, "path", "file_path", "filePath", "filename")
	var found []diff
	for _, name := range []string{"diffs", "edits"} {
		list, _ := data[name].([]any)
		for _, entry := range list[:min(len(list), 20)] {
			if one, ok := entry.(map[string]any); ok {
				found = append(found, oneDiff(path, one)...)
			}
		}
	}
	return append(found, oneDiff(path, data)...)
}

func oneDiff(path string, data map[string]any) []diff {
	if own := textOf(data, "path", "file_path", "filePath"); own != "" {
		path = own
	}
	before, hasBefore := firstText(data, "old_text", "old_string", "oldString", "old")
	after, hasAfter := firstText(data, "new_text", "new_string", "newString", "new")
	switch patch := textOf(data, "patch", "unified_diff", "diff"); {
	case hasBefore && hasAfter || hasAfter && path != "":
		return []diff{newDiff(path, before, after)}
	case patch != "":
		return []diff{patchDiff(path, patch)}
	}
	if content, ok := firstText(data, "content"); ok && path != "" {
		return []diff{newDiff(path, "", content)}
	}
	return nil
}

// firstText is the first of several names that has a text.
func firstText(data map[string]any, names ...string) (string, bool) {
	for _, name := range names {
		if text, ok := data[name].(string); ok {
			return text, true
		}
	}
	return "", false
}

func textOf(data map[string]any, names ...string) string {
	text, _ := firstText(data, names...)
	return text
}
