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
}

// event prints one entry. Types that are not known are not for people.
func (r *renderer) event(e *client.Event) error {
	if r.held != nil {
		r.state(*r.held)
		r.held = nil
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
		r.line(r.sh.err, styleWait, "-- the agent asks for permission")
	case client.EventPlan, client.EventUsage:
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

func (r *renderer) toolResult(d client.ToolResultData) {
	if d.State != "completed" {
		r.line(r.sh.out, styleBad, fmt.Sprintf("! %s %s", d.Name, d.State))
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

func toolLine(d client.ToolCallData) string {
	for _, key := range []string{"command", "path", "query", "url"} {
		if text, ok := d.Input[key].(string); ok && text != "" {
			if d.Category == "command" {
				return text
			}
			return d.Name + " " + text
		}
	}
	return d.Name
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
