package definition

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
)

// caretLine says what is wrong with the line above it, and in which column.
var caretLine = regexp.MustCompile(`^#(<| *\^) (.*)$`)

// marked are the problems that carets in the files of a folder mark.
func marked(files Files) []lineshaft.FileProblem {
	var out []lineshaft.FileProblem
	for name, text := range files {
		line := 0
		for i, s := range strings.Split(text, "\n") {
			mark := caretLine.FindStringSubmatch(s)
			if mark == nil {
				line = i + 1
				continue
			}
			out = append(out, lineshaft.FileProblem{File: name, Line: line, Column: columnOf(mark[1]), Message: mark[2]})
		}
	}
	return out
}

func columnOf(mark string) int {
	if mark == "<" {
		return 1
	}
	return utf8.RuneCountInString(mark) + 1
}

// agree says which problems are reported and not expected, and the other way round.
func agree(t *testing.T, got, want []lineshaft.FileProblem) {
	t.Helper()
	left := append([]lineshaft.FileProblem{}, want...)
next:
	for _, p := range got {
		for i, w := range left {
			if p.File == w.File && p.Line == w.Line && p.Column == w.Column && strings.Contains(p.Message, w.Message) {
				left = append(left[:i], left[i+1:]...)
				continue next
			}
		}
		t.Errorf("not expected: %+v", p)
	}
	for _, w := range left {
		t.Errorf("not told: %+v", w)
	}
}

func TestF3ThirtyMistakes(t *testing.T) {
	t.Parallel()
	files, err := ReadFS(os.DirFS("testdata/mistakes"))
	if err != nil {
		t.Fatal(err)
	}
	const strange = "automation/nightly/automation.md"
	want := append(marked(files),
		lineshaft.FileProblem{File: "automations/silent/automation.md", Line: 8, Column: 1, Message: "prompt: an automation needs one"},
		lineshaft.FileProblem{File: strange, Message: "is not used: no file of that name is known here"},
	)
	// A file in a strange place is not looked into.
	kept := want[:0]
	for _, w := range want {
		if w.File != strange || w.Line == 0 {
			kept = append(kept, w)
		}
	}
	def, problems := Parse(files)
	agree(t, slices.Concat(problems, def.Notices), kept)
	if len(problems) != 30 || len(def.Notices) != 2 {
		t.Errorf("%d problems, %d notices", len(problems), len(def.Notices))
	}
	for i, p := range problems {
		if p.Hint == "" || !strings.HasPrefix(p.Code, "FF_") {
			t.Errorf("%+v does not say what to do, or has no code", p)
		}
		if i > 0 && (p.File < problems[i-1].File || p.File == problems[i-1].File && p.Line < problems[i-1].Line) {
			t.Errorf("%+v is out of order", p)
		}
	}
}
