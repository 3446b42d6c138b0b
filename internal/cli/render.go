package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/lineshaft/lineshaft/client"
)

// renderer shows a run's log to a person: what the agent says, does and writes goes
// to standard output (its standard error to ours); what it was told and remarks of
// the platform go to standard error.
type renderer struct {
	sh *shell
	// open is the stream whose last line has no end yet.
	open io.Writer
	// runID is for hints.
	runID string
	// lastWord keeps the state that ends a run back until something follows it: what
	// comes at the very end is told by verdict.
	lastWord bool
	held     *client.StateData
	// written is what came of running tools, by call.
	written map[string]string
	// asked are the questions that people were seen to be asked, by call and title.
	asked map[string]bool
	// begun says that an event was seen, and partial that the log was not seen from its first.
	begun, partial bool
}

// event prints one entry. Types that are not known are not for people.
func (r *renderer) event(e *client.Event) error {
	if r.held != nil {
		r.state(*r.held)
		r.held = nil
	}
	if !r.begun {
		r.begun, r.partial = true, e.Sequence > 1
	}
	switch e.Type {
	case client.EventOutput:
		return show(e, r.output)
	case client.EventMessage:
		return show(e, r.message)
	case client.EventThought:
		return show(e, func(d client.MessageData) { r.line(r.sh.out, styleDim, "~ "+d.Text) })
	case client.EventToolCall:
		return show(e, func(d client.ToolCallData) { r.line(r.sh.out, styleBusy, "$ "+toolLine(d)) })
	case client.EventToolResult:
		return show(e, r.toolResult)
	case client.EventNotice:
		return show(e, func(d client.NoticeData) { r.line(r.sh.err, noticeStyle(d.Level), "-- "+d.Text) })
	case client.EventState:
		return show(e, r.stateOrHold)
	case client.EventArtifact:
		return show(e, func(d client.ArtifactEventData) {
			r.line(r.sh.err, styleDim, "-- artifact "+strings.TrimSpace(d.FileName+" "+d.URL))
		})
	case client.EventPermission:
		return show(e, r.permission)
	case client.EventPlan:
		_ = show(e, r.plan) // one that cannot be read is not for people
	case client.EventUsage:
	}
	return nil
}

// show decodes the data of an event and prints it.
func show[T any](e *client.Event, tell func(T)) error {
	var data T
	if err := e.Decode(&data); err != nil {
		return err
	}
	tell(data)
	return nil
}

func (r *renderer) output(d client.OutputData) {
	r.wrote(d)
	to, width := r.sh.out, r.sh.outWidth
	if d.Stream == "stderr" {
		to, width = r.sh.err, r.sh.errWidth
	}
	text := d.Text
	if width > 0 {
		text = harmless(text, r.sh.paint(width, styleBold, "") != "")
	}
	if text == "" {
		return
	}
	if r.open != nil && r.open != to {
		r.endLine()
	}
	_, _ = io.WriteString(to, text)
	r.open = nil
	if !strings.HasSuffix(text, "\n") {
		r.open = to
	}
}

func (r *renderer) message(d client.MessageData) {
	switch d.Role {
	case "user":
		r.line(r.sh.err, styleBold, "> "+strings.ReplaceAll(strings.TrimRight(d.Text, "\n"), "\n", "\n> "))
	case "system":
		r.line(r.sh.err, styleDim, "-- "+d.Text)
	default:
		r.line(r.sh.out, stylePlain, d.Text)
	}
}

// permission shows a question with the answers that can be given, or how it was
// answered: by the policy when nobody had been asked.
func (r *renderer) permission(d client.PermissionData) {
	title := d.Title
	if title == "" {
		title = "may I go on?"
	}
	question := d.ToolCallID + "\n" + title
	if d.Decision != "" {
		answered := "the policy answered"
		if r.asked[question] || r.partial {
			answered = "answered"
		}
		delete(r.asked, question)
		r.line(r.sh.err, styleDim, fmt.Sprintf("-- the agent asked: %s (%s: %s)", oneLine(title), answered, oneLine(d.Decision)))
		return
	}
	if r.asked == nil {
		r.asked = map[string]bool{}
	}
	r.asked[question] = true
	r.line(r.sh.err, styleWait, "? "+title)
	for i, option := range d.Options {
		r.line(r.sh.err, styleWait, fmt.Sprintf("  %d. %s", i+1, oneLine(option.Name)))
	}
	r.line(r.sh.err, styleWait, fmt.Sprintf("-- answer with: lineshaft runs followup %s yes", r.runID))
}

// plan shows the steps with how far they are.
func (r *renderer) plan(d client.PlanData) {
	for _, step := range d.Steps {
		mark := map[string]string{"completed": "[x]", "in_progress": "[~]"}[step.State]
		if mark == "" {
			mark = "[ ]"
		}
		r.line(r.sh.out, styleDim, mark+" "+oneLine(step.Text))
	}
}

func (r *renderer) stateOrHold(d client.StateData) {
	if r.lastWord && d.To.Terminal() {
		r.endLine()
		r.held = &d
		return
	}
	r.state(d)
}

func (r *renderer) state(d client.StateData) {
	text := "-- " + string(d.To)
	if d.Message != "" {
		text += ": " + d.Message
	}
	r.line(r.sh.err, stateStyle(d.To), text)
	if d.To == client.StateBlocked {
		r.line(r.sh.err, styleWait, fmt.Sprintf("-- it waits for an answer: lineshaft runs followup %s \"ANSWER\"", r.runID))
	}
}

// line prints text of its own line, or lines.
func (r *renderer) line(to io.Writer, s style, text string) {
	r.endLine()
	width := r.sh.outWidth
	if to == r.sh.err {
		width = r.sh.errWidth
	}
	fmt.Fprintln(to, r.sh.paint(width, s, strings.TrimRight(clean(text), "\n")))
}

// endLine ends what the agent has left open.
func (r *renderer) endLine() {
	if r.open != nil {
		fmt.Fprintln(r.open)
		r.open = nil
	}
}

func noticeStyle(level string) style {
	switch level {
	case "error":
		return styleBad
	case "warning":
		return styleWait
	}
	return styleDim
}

func stateStyle(state client.RunState) style {
	switch state {
	case client.StateSucceeded:
		return styleGood
	case client.StateFailed, client.StateError:
		return styleBad
	case client.StateBlocked, client.StateCancelled:
		return styleWait
	case client.StatePending, client.StateClaimed, client.StateInProgress:
		return styleBusy
	case client.StateQueued:
		return styleDim
	}
	return stylePlain
}
