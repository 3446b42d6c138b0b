package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

const (
	// foldedHead and foldedTail are how many lines are shown of what a tool put out.
	foldedHead = 4
	foldedTail = 4
	// runningTail is how many of its last lines are shown while it runs.
	runningTail = 3
	// longestKept bounds a line that is kept, in bytes.
	longestKept = 1 << 10
	// mostCalls is how many calls that never end are remembered.
	mostCalls = 64
)

// toolCall is a tool that runs.
type toolCall struct {
	id, title string
	// note is behind the title and never cut: how many lines it has more.
	note   string
	since  time.Time
	output fold
}

// fold keeps the first and the last lines of a text of any length.
type fold struct {
	head, tail []string
	count      int
	open       string
}

// add takes more text. What a carriage return writes over is gone, as on a terminal.
func (f *fold) add(text string) {
	text = strings.ReplaceAll(f.open+text, "\r\n", "\n")
	parts := strings.Split(text, "\n")
	f.open = keep(parts[len(parts)-1])
	for _, line := range parts[:len(parts)-1] {
		f.line(line)
	}
}

func (f *fold) line(line string) {
	line = strings.TrimRight(line, "\r")
	if _, after, over := cutLast(line, "\r"); over {
		line = after
	}
	line = strings.TrimRight(strings.ReplaceAll(clean(keep(line)), "\t", "    "), " \n")
	f.count++
	if len(f.head) < foldedHead {
		f.head = append(f.head, line)
		return
	}
	if f.tail = append(f.tail, line); len(f.tail) > foldedTail+1 {
		f.tail = f.tail[1:]
	}
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// keep bounds a line; the end of one that is too long is what a progress bar shows.
func keep(line string) string {
	if len(line) <= longestKept {
		return line
	}
	return strings.ToValidUTF8(line[len(line)-longestKept:], "")
}

// end takes a last line without an end.
func (f *fold) end() {
	if f.open != "" {
		f.line(f.open)
		f.open = ""
	}
}

// lines are what is shown: all of a short text, else its ends.
func (f *fold) lines() []string {
	f.end()
	hidden := f.count - len(f.head) - len(f.tail)
	tail := f.tail
	if hidden > 0 && len(tail) > foldedTail {
		hidden, tail = hidden+1, tail[1:]
	}
	if hidden <= 0 {
		return append(append([]string(nil), f.head...), tail...)
	}
	return append(append(append([]string(nil), f.head...), fmt.Sprintf("… %d more lines", hidden)), tail...)
}

// last are the last lines so far.
func (f *fold) last(n int) []string {
	all := append(append([]string(nil), f.head...), f.tail...)
	if open := oneLine(f.open); open != "" {
		all = append(all, open)
	}
	return all[max(0, len(all)-n):]
}

func (s *session) call(id string) *toolCall {
	for _, call := range s.calls {
		if call.id == id && id != "" {
			return call
		}
	}
	return nil
}

func (s *session) toolCall(d client.ToolCallData, at time.Time) {
	if len(s.calls) >= mostCalls {
		s.calls = s.calls[1:]
	}
	// A script is told by its first line.
	lines := strings.Split(strings.TrimSpace(toolLine(d)), "\n")
	call := &toolCall{id: d.ID, title: oneLine(lines[0]), since: at}
	if more := len(lines) - 1; more > 0 {
		call.note = fmt.Sprintf("+%s", count(more, "line"))
	}
	s.calls = append(s.calls, call)
}

// toolResult writes a call with how it ended, how long it took and what it put out.
func (s *session) toolResult(d client.ToolResultData, at time.Time) {
	call := s.call(d.ID)
	if call == nil {
		call = &toolCall{id: d.ID, title: oneLine(d.Name)}
	}
	s.calls = remove(s.calls, call)
	failed := d.State != "completed"
	s.toolText(d, call, failed)
	sign, style := "✓", terminal.Green
	if failed {
		sign, style = "✗", terminal.Red
	}
	ended := ""
	if code, ok := d.Output["exit_code"].(float64); ok && failed {
		ended = fmt.Sprintf("exit %d", int(code))
	} else if failed && d.State != "failed" {
		ended = oneLine(d.State)
	}
	took := ""
	if !call.since.IsZero() && !at.Before(call.since) {
		took = elapsed(at.Sub(call.since))
	}
	s.say("tool", s.toolHead(terminal.Text(style, sign), call, ended, took))
	for _, line := range call.output.lines() {
		s.say("tool", terminal.Text(terminal.Dim, "  "+line).Clip(s.columns))
	}
}

// toolText takes what came with the result: most agents tell what their commands wrote
// only then. What a tool that is no command found is not for people, but its mistake is.
func (s *session) toolText(d client.ToolResultData, call *toolCall, failed bool) {
	text, _ := d.Output["text"].(string)
	reason, _ := d.Output["error"].(string)
	call.output.end()
	if d.Category != "command" && !failed {
		call.output = fold{}
		return
	}
	var other fold
	other.add(text)
	if other.end(); other.count > call.output.count {
		call.output = other
	}
	if failed && call.output.count == 0 && d.Category != "command" {
		call.output.add(reason)
	}
}

// toolHead is the line of a call: its sign, what it does, and remarks such as how long it
// took, for which what it does is cut.
func (s *session) toolHead(sign terminal.Line, call *toolCall, remarks ...string) terminal.Line {
	remarks = remove(append([]string{call.note}, remarks...), "")
	behind := strings.Join(remarks, " · ")
	if behind != "" {
		behind = "  " + behind
	}
	room := max(s.columns-3-terminal.Width(behind), 8)
	return append(sign, terminal.Span{Text: " " + terminal.Clip(call.title, room)}).Add(terminal.Dim, behind)
}

func remove[T comparable](list []T, item T) []T {
	var out []T
	for _, other := range list {
		if other != item {
			out = append(out, other)
		}
	}
	return out
}

// elapsed is a time span as people read it.
func elapsed(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
