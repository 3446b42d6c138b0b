package runs

import (
	"cmp"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// maxEdits and maxEditLines bound the edits of a run that one page shows.
	maxEdits     = 300
	maxEditLines = 6000
)

// fileChange is what a run did to one file.
type fileChange struct {
	Path           string
	Added, Removed int
	Edits          []edit
}

// edit is one change of a file, and the event that reports it.
type edit struct {
	Sequence int64
	Diff     diff
}

type changesData struct {
	Run            *lineshaft.Run
	Files          []fileChange
	Added, Removed int
	// Cut says that there are more than are shown.
	Cut bool
}

// runChangesPage adds up all edits of a run by file.
func (s pages) runChangesPage(r *page.Request) (page.Page, error) {
	run, err := s.Control.GetRun(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return page.Page{}, err
	}
	data, err := s.changesOf(r, run)
	p := page.Below("runs", run.Title, data)
	p.Mark, p.Icon = stateMark(run.State), stateKind(run.State)
	return p, err
}

// changesOf reads the edits in the log of a run.
func (s pages) changesOf(r *page.Request, run *lineshaft.Run) (changesData, error) {
	var calls []calledEdit
	count, lines := 0, 0
	_, cut, err := s.scan(r, run.ID, 0, runs.EventMatch{Types: editTypes}, func(e lineshaft.Event) bool {
		var found []edit
		for _, d := range editsOf(e) {
			found = append(found, edit{e.Sequence, d})
			lines += len(d.Lines)
		}
		count += len(found)
		calls = addEdits(calls, e, found)
		return count < maxEdits && lines < maxEditLines
	})
	if err != nil {
		return changesData{}, err
	}
	data := changesData{Run: run, Cut: cut, Files: byFile(calls)}
	for _, f := range data.Files {
		data.Added += f.Added
		data.Removed += f.Removed
	}
	return data, nil
}

// calledEdit are the edits of one call.
type calledEdit struct {
	id    string
	edits []edit
}

// addEdits adds the edits that an event reports. If the result of a call also has the edits, they
// are what really changed, and not what the agent asked for; a failed call changed nothing.
func addEdits(calls []calledEdit, e lineshaft.Event, found []edit) []calledEdit {
	switch e.Type {
	case lineshaft.EventToolCall:
		if d, ok := decode[lineshaft.ToolCallData](e); ok && len(found) > 0 {
			return append(calls, calledEdit{d.ID, found})
		}
	case lineshaft.EventToolResult:
		d, ok := decode[lineshaft.ToolResultData](e)
		if !ok || len(found) == 0 && !wentWrong(e) {
			return calls
		}
		calls = slices.DeleteFunc(calls, func(c calledEdit) bool { return c.id == d.ID })
		if len(found) > 0 && !wentWrong(e) {
			calls = append(calls, calledEdit{d.ID, found})
		}
	default:
	}
	return calls
}

func byFile(calls []calledEdit) []fileChange {
	places := map[string]int{}
	var files []fileChange
	for _, c := range calls {
		for _, one := range c.edits {
			at, known := places[one.Diff.Path]
			if !known {
				at = len(files)
				places[one.Diff.Path] = at
				files = append(files, fileChange{Path: one.Diff.Path})
			}
			f := &files[at]
			f.Added += one.Diff.Added
			f.Removed += one.Diff.Removed
			f.Edits = append(f.Edits, one)
		}
	}
	slices.SortFunc(files, func(a, b fileChange) int { return cmp.Compare(a.Path, b.Path) })
	return files
}
