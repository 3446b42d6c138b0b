package runs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// foldRows and foldBytes bound the output of a call that stays open when it is
// done; a longer one is folded.
const (
	foldRows  = 12
	foldBytes = 1500
	maxFields = 30
	// maxFieldBytes is how much of all fields together is shown.
	maxFieldBytes = 4 * page.MaxShown
)

// toolStopped is the state of a call whose execution ended before it did.
const toolStopped = "stopped"

// tool is a call with its result.
type tool struct {
	ID string
	// Continued says that its beginning is not here.
	Continued bool
	Name      string
	// Summary is what it was called with, in a line.
	Summary string
	Command string
	Fields  []toolField
	Diffs   []diff
	Rows    []toolRow
	// State is running until the result says otherwise, or the end of the execution does.
	State string
	// Open shows its details at once.
	Open bool
	// RanCommand says that it ran a program.
	RanCommand bool
	// Began is when it was called, if that is here; Ended when its result came.
	Began, Ended time.Time
}

// Took is how long the call worked; nothing while it does, and where its beginning is elsewhere.
func (t *tool) Took() time.Duration {
	if t.Began.IsZero() || t.Ended.IsZero() {
		return 0
	}
	return max(t.Ended.Sub(t.Began), time.Millisecond)
}

// Running says that the call works while the page is read.
func (t *tool) Running() bool { return t.State == lineshaft.ToolRunning && !t.Began.IsZero() }

// toolField is a named value of an input or a result.
type toolField struct {
	Name string
	Text page.Shown
}

// toolRow is what a call wrote, or its result.
type toolRow struct {
	RunID    string
	Sequence int64
	// Stream is stdout or stderr; empty for a result.
	Stream string
	// Line says that it begins and ends with a line, so that it can be an element of its own:
	// browsers then need not lay out the rest again when more comes.
	Line   bool
	Text   page.Shown
	Error  string
	Fields []toolField
	Diffs  []diff
}

// maxLoaded is how much the rest of an output may have to be put into the page on request.
const maxLoaded = 256 << 10

// Loads says that the rest can be put in where the text was cut.
func (r toolRow) Loads() bool { return r.Text.Left > 0 && r.Text.Left <= maxLoaded }

func newTool(d lineshaft.ToolCallData) *tool {
	t := &tool{ID: d.ID, Name: page.OneLine(d.Name, 80), State: lineshaft.ToolRunning, Diffs: diffsOf(d.Input)}
	t.RanCommand = d.Category == "command" || textOf(d.Input, "command", "cmd") != ""
	named, text := summary(d.Input)
	t.Summary = page.OneLine(text, 160)
	hidden := []string{"command", "cmd", "program"}
	if command := lineshaft.CutBytes(page.Plain(textOf(d.Input, "command", "cmd")), page.MaxShown); command != t.Summary {
		t.Command = command
	}
	if page.Plain(text) == t.Summary {
		hidden = append(hidden, named) // the summary has all of it
	}
	if len(t.Diffs) > 0 {
		hidden = append(hidden, "path", "file_path", "filePath", "old", "new", "old_string", "new_string", "oldString", "newString", "content", "edits", "patch", "diff")
	}
	t.Fields = fields(d.Input, hidden...)
	return t
}

// summary is what distinguishes calls, and the name of the field that has it.
func summary(input map[string]any) (name, text string) {
	for _, name := range []string{"command", "cmd", "path", "file_path", "filePath", "pattern", "query", "url", "title", "description", "prompt"} {
		if text, ok := input[name].(string); ok && strings.TrimSpace(text) != "" {
			return name, text
		}
	}
	if len(input) == 0 {
		return "", ""
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return "", ""
	}
	return "", string(raw)
}

// fields are the values of an object by name, except for some. All of them together are
// bounded: deeply nested values grow when they are laid out.
func fields(data map[string]any, hidden ...string) []toolField {
	var list []toolField
	left := maxFieldBytes
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if slices.Contains(hidden, name) || len(list) == maxFields {
			continue
		}
		text := fieldText(data[name], min(left, page.MaxShown))
		left -= len(text.Text)
		list = append(list, toolField{page.OneLine(name, 60), text})
	}
	return list
}

// fieldText is a value as text, of at most so many bytes.
func fieldText(value any, most int) page.Shown {
	if text, ok := value.(string); ok {
		return page.ShowMost(text, most)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return page.Shown{} // of no value that was JSON
	}
	text, cut := page.LayOut(raw, most)
	if !cut {
		return page.Shown{Text: page.Plain(text)}
	}
	told := 0
	for line := range strings.SplitSeq(text, "\n") {
		told += len(strings.TrimLeft(line, " "))
	}
	return page.Shown{Text: page.Plain(text), Left: int64(max(1, len(raw)-told))}
}

// end takes in the result of a call.
func (t *tool) end(runID string, sequence int64, d lineshaft.ToolResultData) {
	t.State = lineshaft.ToolState(d.State)
	if t.Continued && d.Name != "" {
		t.Name = page.OneLine(d.Name, 80)
	}
	row := toolRow{RunID: runID, Sequence: sequence, Text: page.ShowText(textOf(d.Output, "text", "output")), Diffs: resultDiffs(d.Output)}
	row.Error = lineshaft.CutBytes(page.Plain(textOf(d.Output, "error")), 4000)
	if code, ok := d.Output["exit_code"].(float64); ok && code != 0 && row.Error == "" {
		row.Error = fmt.Sprintf("exit code %.0f", code)
	}
	row.Fields = fields(d.Output, "text", "output", "error", "exit_code", "diffs")
	t.Rows = append(t.Rows, row)
}

// resultDiffs are the edits that a result names as such: other texts of a result, such
// as the content of a file that was read, are not edits.
func resultDiffs(output map[string]any) []diff {
	return diffsOf(map[string]any{"diffs": output["diffs"]})
}

// settle decides whether the call is shown open: while it works, when it went wrong,
// when it changed a file, and when there is little to show.
func (t *tool) settle() {
	size, changed := 0, len(t.Diffs) > 0
	for _, row := range t.Rows {
		size += len(row.Text.Text)
		changed = changed || len(row.Diffs) > 0
	}
	t.Open = t.State != lineshaft.ToolCompleted || changed || size > 0 && len(t.Rows) <= foldRows && size <= foldBytes
}

// StateKind picks the colour of the state.
func (t *tool) StateKind() string {
	switch t.State {
	case lineshaft.ToolCompleted:
		return "good"
	case lineshaft.ToolFailed:
		return "bad"
	case lineshaft.ToolDenied:
		return "warn"
	case toolStopped:
		return "idle"
	}
	return "busy"
}
