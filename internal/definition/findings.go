package definition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// findings are what reading a folder collects: its problems, and where things are.
type findings struct {
	problems []lineshaft.FileProblem
	untold   int
	places   map[string]place
	// notices are what is no mistake but should be known; noticed are their subjects.
	notices []lineshaft.FileProblem
	noticed map[string]bool
	// kept are what has no effect here and stays in the folder.
	kept keptValues
	// work and yamlBytes are what reading all files took.
	work      int
	yamlBytes int
	// stopped is why the rest of the folder was not read.
	stopped *lineshaft.FileProblem
}

// maxProblems is how many are told; whoever has more will not read them at once.
const maxProblems = 1000

// add takes down a problem, or only counts it.
func (f *findings) add(p lineshaft.FileProblem) finding {
	if p.Code = codeOf(p); len(f.problems) >= maxProblems {
		f.untold++
		return finding{&p}
	}
	f.problems = append(f.problems, p)
	return finding{&f.problems[len(f.problems)-1]}
}

// told are the problems in the order of reading, each once.
func (f *findings) told() []lineshaft.FileProblem {
	sortByPlace(f.problems)
	told := slices.Compact(f.problems)
	if f.stopped != nil {
		told = slices.Insert(told, 0, *f.stopped)
	}
	if f.untold > 0 {
		told = append(told, lineshaft.FileProblem{File: ".", Message: fmt.Sprintf("there are %d more problems", f.untold), Hint: "fix these first"})
	}
	return told
}

// sortByPlace puts problems in the order of files and lines.
func sortByPlace(list []lineshaft.FileProblem) {
	slices.SortStableFunc(list, func(a, b lineshaft.FileProblem) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
}
