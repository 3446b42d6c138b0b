package runs

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// longestPrompt is how many lines of a prompt are shown.
const longestPrompt = 12

// session shows a run's log to a person at a terminal. It makes lines of events: those
// that are for good, and those that live until something changes. It draws nothing.
type session struct {
	runID   string
	columns int
	styles  bool
	// quiet leaves out everything but questions: the user waits and does not watch.
	quiet bool
	// done are lines for good that were not taken yet.
	done []terminal.Line
	// block is what the last line belongs to; another block begins after a blank line.
	block string

	state client.StateData
	// since is when the state began.
	since time.Time
	// held is a state that ends the run: the end shows it, unless something follows.
	held  bool
	calls []*toolCall
	plan  []client.PlanStep
	// question is what people are asked; nil when they are not.
	question *client.PermissionData
	// answered says that an answer was sent and nothing has come since.
	answered bool
	// open is a line of output without an end.
	open           string
	tokens, micros int64
	// ahead is how many runs wait before this one; negative is not known.
	ahead int
	host  string
	// absent says that the worker it waits for is not connected.
	absent bool
	// hint ends the line that shows the state.
	hint string
}

func newSession(runID string, columns int, styles bool) *session {
	return &session{runID: runID, columns: columns, styles: styles, ahead: -1}
}

// take returns the lines that came for good since the last call.
func (s *session) take() []terminal.Line {
	lines := s.done
	s.done = nil
	return lines
}

// text is how wide text for reading is.
func (s *session) text() int { return max(min(s.columns, shell.WidestText), 20) }

// say adds lines of a block.
func (s *session) say(block string, lines ...terminal.Line) {
	if s.quiet && block != "question" && block != "error" {
		return
	}
	if block != s.block && s.block != "" {
		s.done = append(s.done, nil)
	}
	s.block = block
	s.done = append(s.done, lines...)
}

// wrapped is text of one style with a sign before it.
func (s *session) wrapped(sign string, style terminal.Style, text string) []terminal.Line {
	var lines []terminal.Line
	indent := strings.Repeat(" ", terminal.Width(sign))
	for i, part := range strings.Split(strings.Trim(shell.Clean(text), "\n"), "\n") {
		if i > 0 {
			sign = indent
		}
		lines = append(lines, terminal.Wrap(terminal.Text(style, sign+part), s.text(), indent)...)
	}
	return lines
}

// header says which run it is.
func (s *session) header(run *client.Run) {
	if run.AgentConfig != nil {
		s.host = shell.OneLine(run.AgentConfig.WorkerHost)
	}
	title := shell.OneLine(run.Title)
	if title == "" {
		title = "Run " + shell.OneLine(run.RunID)
	}
	s.say("header", s.wrapped("", terminal.Bold, title)...)
	s.say("header", terminal.Text(terminal.Dim, "run "+shell.OneLine(run.RunID)))
	if run.SessionLink != "" {
		s.say("header", terminal.Text(terminal.Dim, shell.OneLine(run.SessionLink)))
	}
}

// event takes one entry of the log. Types that are not known are not for people.
func (s *session) event(e *client.Event) error {
	if s.held {
		s.held = false
		s.tellState(s.state)
	}
	if e.Type != client.EventOutput {
		s.endOutput()
	}
	switch e.Type {
	case client.EventOutput:
		return show(e, s.output)
	case client.EventMessage:
		return show(e, s.message)
	case client.EventThought:
		return show(e, func(d client.MessageData) { s.say("thought", s.wrapped("~ ", terminal.Dim, d.Text)...) })
	case client.EventToolCall:
		return show(e, func(d client.ToolCallData) { s.toolCall(d, e.Time) })
	case client.EventToolResult:
		return show(e, func(d client.ToolResultData) { s.toolResult(d, e.Time) })
	case client.EventNotice:
		return show(e, s.notice)
	case client.EventState:
		return show(e, func(d client.StateData) { s.changed(d, e.Time) })
	case client.EventArtifact:
		return show(e, func(d client.ArtifactEventData) {
			s.say("remark", terminal.Text(terminal.Dim, "+ artifact "+strings.TrimSpace(shell.OneLine(d.FileName)+" "+shell.OneLine(d.URL))))
		})
	case client.EventPermission:
		return show(e, s.permission)
	case client.EventPlan:
		_ = show(e, func(d client.PlanData) { s.plan = d.Steps }) // one that cannot be read is not for people
	case client.EventUsage:
		_ = show(e, func(d client.UsageData) { // the same
			s.tokens += d.InputTokens + d.OutputTokens
			s.micros += d.CostMicros
		})
	}
	return nil
}

func (s *session) message(d client.MessageData) {
	switch d.Role {
	case "user":
		lines := s.wrapped("> ", terminal.Bold, d.Text)
		if more := len(lines) - longestPrompt; more > 1 {
			lines = append(lines[:longestPrompt:longestPrompt], terminal.Text(terminal.Dim, fmt.Sprintf("  … %d more lines", more)))
		}
		s.say("prompt", lines...)
	case "system":
		s.say("remark", s.wrapped("· ", terminal.Dim, d.Text)...)
	default:
		if s.block == "message" {
			s.block = "message before" // each is a block of its own
		}
		s.say("message", terminal.Markdown(d.Text, s.text(), s.styles)...)
	}
}

func (s *session) notice(d client.NoticeData) {
	style := terminal.Style(noticeStyle(d.Level))
	sign := "· "
	if style != terminal.Dim {
		sign = "! "
	}
	s.say("remark", s.wrapped(sign, style, d.Text)...)
}

// output shows what the agent itself writes; that of tools belongs to their call.
func (s *session) output(d client.OutputData) {
	if call := s.call(d.ToolCallID); call != nil {
		call.output.add(d.Text)
		return
	}
	lines := strings.Split(shell.Clean(s.open+d.Text), "\n")
	s.open = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		s.say("output", terminal.Text(terminal.Plain, line))
	}
	if len(s.open) > maxResultBytes { // a line that never ends
		s.endOutput()
	}
}

func (s *session) endOutput() {
	if s.open != "" {
		s.say("output", terminal.Text(terminal.Plain, s.open))
		s.open = ""
	}
}

// changed takes a new state. What began before it is over with a state that ends.
func (s *session) changed(d client.StateData, at time.Time) {
	s.state, s.since, s.answered = d, at, false
	if d.To != client.StateBlocked {
		s.question = nil
	}
	if d.To.Terminal() {
		s.held = true
		return
	}
	s.tellState(d)
}

func (s *session) tellState(d client.StateData) {
	if d.To == client.StatePending {
		return // it lasts for the blink of an eye
	}
	if d.To == client.StateBlocked && s.question != nil {
		return // the question is shown already
	}
	text := "· " + shell.OneLine(string(d.To))
	if d.To == client.StateClaimed && d.Worker != "" {
		text += " by worker " + shell.OneLine(d.Worker)
	}
	if d.Message != "" {
		text += ": " + shell.OneLine(d.Message)
	}
	style, block := terminal.Dim, "remark"
	switch {
	case d.To == client.StateBlocked:
		style, block = terminal.Yellow, "question"
	case d.To.Terminal():
		style = terminal.Style(stateStyle(d.To))
	}
	s.say(block, terminal.Wrap(terminal.Text(style, text), s.text(), "  ")...)
	if d.To == client.StateBlocked {
		s.howToAnswer()
	}
}

// permission shows a question with its answers, or how it was answered.
func (s *session) permission(d client.PermissionData) {
	title := strings.TrimSpace(d.Title)
	title = cmp.Or(title, "may I continue?")
	if d.Decision != "" {
		sign, style := "✓ ", terminal.Dim
		if d.Decision != "allow" {
			sign = "✗ "
		}
		s.question = nil
		s.say("remark", terminal.Wrap(terminal.Text(style, sign+"asked: "+shell.OneLine(title)+" → "+shell.OneLine(d.Decision)), s.text(), "  ")...)
		return
	}
	s.question, s.answered = &d, false
	s.say("question", s.wrapped("? ", terminal.Yellow.And(terminal.Bold), title)...)
	for i, option := range d.Options {
		s.say("question", s.wrapped(fmt.Sprintf("  %d. ", i+1), terminal.Yellow, shell.OneLine(option.Name))...)
	}
	s.howToAnswer()
}

func (s *session) howToAnswer() {
	answer := "ANSWER"
	if s.question != nil && len(s.question.Options) > 0 {
		answer = "1"
	}
	s.say("question", terminal.Text(terminal.Dim, "  answer: lineshaft runs followup "+s.runID+" "+answer))
}

// asked says that the run waits for people.
func (s *session) asked() bool {
	return !s.answered && (s.question != nil || s.state.To == client.StateBlocked)
}

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
	line = strings.TrimRight(strings.ReplaceAll(shell.Clean(keep(line)), "\t", "    "), " \n")
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
	if open := shell.OneLine(f.open); open != "" {
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
	// A script is known by its first line.
	lines := strings.Split(strings.TrimSpace(toolLine(d)), "\n")
	call := &toolCall{id: d.ID, title: shell.OneLine(lines[0]), since: at}
	if more := len(lines) - 1; more > 0 {
		call.note = fmt.Sprintf("+%s", shell.Count(more, "line"))
	}
	s.calls = append(s.calls, call)
}

// toolResult writes a call with how it ended, how long it took and what it put out.
func (s *session) toolResult(d client.ToolResultData, at time.Time) {
	call := s.call(d.ID)
	if call == nil {
		call = &toolCall{id: d.ID, title: shell.OneLine(d.Name)}
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
		ended = shell.OneLine(d.State)
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

// toolText takes what came with the result: most agents say what their commands wrote
// only then. What a tool other than a command found is not for people, but its mistake is.
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
// took. What it does is cut to make room for them.
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
