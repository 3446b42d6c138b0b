package runs

import (
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// maxDiffLines is how many lines of a change a page shows.
	maxDiffLines = 300
	maxDiffWidth = 2 << 10
)

// diff is the change of one file.
type diff struct {
	Path           string
	Added, Removed int
	Lines          []page.DiffLine
	// Left is how many lines are not shown.
	Left int
}

// newDiff is the change from one text to another, as far as a page shows it.
func newDiff(path, before, after string) diff {
	return finishDiff(path, page.CompareTexts(before, after))
}

// finishDiff counts the changes and bounds what is shown.
func finishDiff(path string, lines []page.DiffLine) diff {
	d := diff{Path: page.OneLine(path, 400)}
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
	var lines []page.DiffLine
	for _, text := range page.SplitLines(page.Plain(patch)) {
		switch {
		case strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---") || strings.HasPrefix(text, "***") || strings.HasPrefix(text, "@@"):
			lines = append(lines, page.DiffLine{Sign: "…", Text: text})
		case strings.HasPrefix(text, "+"), strings.HasPrefix(text, "-"):
			lines = append(lines, page.DiffLine{Sign: text[:1], Text: text[1:]})
		default:
			lines = append(lines, page.DiffLine{Sign: " ", Text: strings.TrimPrefix(text, " ")})
		}
	}
	return finishDiff(path, lines)
}

// diffsOf finds the edits in what a tool was called with, or in its result. Each
// kind of agent has its own names for the same thing.
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
