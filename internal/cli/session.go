package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

const (
	// widestText is where text for reading is wrapped on a wide terminal.
	widestText = 100
	// longestPrompt is how many lines of a prompt are shown.
	longestPrompt = 12
)

// session shows a run's log to a person at a terminal. It makes lines of events: those
// that are for good, and those that live until something changes. It draws nothing.
type session struct {
	runID   string
	columns int
	styles  bool
	// quiet leaves out everything but questions: somebody waits and does not watch.
	quiet bool
	// done are lines for good that were not taken yet.
	done []terminal.Line
	// block is what the last line belongs to; another block begins after a blank line.
	block string

	state client.StateData
	// since is when the state began.
	since time.Time
	// held is a state that ends the run: the end tells it, unless something follows.
	held  bool
	calls []*toolCall
	plan  []client.PlanStep
	// question is what people are asked; nil when they are not.
	question *client.PermissionData
	// answered says that an answer was sent and nothing came since.
	answered bool
	// open is a line of output without an end.
	open           string
	tokens, micros int64
	// ahead is how many runs wait before this one; negative is not known.
	ahead int
	host  string
	// absent says that the worker it waits for is not connected.
	absent bool
	// hint ends the line that tells how it stands.
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
func (s *session) text() int { return max(min(s.columns, widestText), 20) }

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
	for i, part := range strings.Split(strings.Trim(clean(text), "\n"), "\n") {
		if i > 0 {
			sign = indent
		}
		lines = append(lines, terminal.Wrap(terminal.Text(style, sign+part), s.text(), indent)...)
	}
	return lines
}

// header tells which run it is.
func (s *session) header(run *client.Run) {
	if run.AgentConfig != nil {
		s.host = oneLine(run.AgentConfig.WorkerHost)
	}
	title := oneLine(run.Title)
	if title == "" {
		title = "Run " + oneLine(run.RunID)
	}
	s.say("header", s.wrapped("", terminal.Bold, title)...)
	s.say("header", terminal.Text(terminal.Dim, "run "+oneLine(run.RunID)))
	if run.SessionLink != "" {
		s.say("header", terminal.Text(terminal.Dim, oneLine(run.SessionLink)))
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
			s.say("remark", terminal.Text(terminal.Dim, "+ artifact "+strings.TrimSpace(oneLine(d.FileName)+" "+oneLine(d.URL))))
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
	lines := strings.Split(clean(s.open+d.Text), "\n")
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
		return // the question is there already
	}
	text := "· " + oneLine(string(d.To))
	if d.To == client.StateClaimed && d.Worker != "" {
		text += " by worker " + oneLine(d.Worker)
	}
	if d.Message != "" {
		text += ": " + oneLine(d.Message)
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
	if title == "" {
		title = "may I go on?"
	}
	if d.Decision != "" {
		sign, style := "✓ ", terminal.Dim
		if d.Decision != "allow" {
			sign = "✗ "
		}
		s.question = nil
		s.say("remark", terminal.Wrap(terminal.Text(style, sign+"asked: "+oneLine(title)+" → "+oneLine(d.Decision)), s.text(), "  ")...)
		return
	}
	s.question, s.answered = &d, false
	s.say("question", s.wrapped("? ", terminal.Yellow.And(terminal.Bold), title)...)
	for i, option := range d.Options {
		s.say("question", s.wrapped(fmt.Sprintf("  %d. ", i+1), terminal.Yellow, oneLine(option.Name))...)
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
