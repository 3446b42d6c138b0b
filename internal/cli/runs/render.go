package runs

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// renderer shows a run's log to a person: what the agent says, does and writes goes
// to standard output (its standard error to ours); messages to it and remarks of
// the platform go to standard error.
type renderer struct {
	sh Commands
	// open is the stream whose last line has no end yet.
	open io.Writer
	// runID is for hints.
	runID string
	// lastWord keeps the state that ends a run back until something follows it: what
	// comes at the very end is shown by verdict.
	lastWord bool
	held     *client.StateData
	// written is the output of running tools, by call.
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
		return show(e, func(d client.MessageData) { r.line(r.sh.Out, shell.StyleDim, "~ "+d.Text) })
	case client.EventToolCall:
		return show(e, func(d client.ToolCallData) { r.line(r.sh.Out, shell.StyleBusy, "$ "+toolLine(d)) })
	case client.EventToolResult:
		return show(e, r.toolResult)
	case client.EventNotice:
		return show(e, func(d client.NoticeData) { r.line(r.sh.Err, noticeStyle(d.Level), "-- "+d.Text) })
	case client.EventState:
		return show(e, r.stateOrHold)
	case client.EventArtifact:
		return show(e, func(d client.ArtifactEventData) {
			r.line(r.sh.Err, shell.StyleDim, "-- artifact "+strings.TrimSpace(d.FileName+" "+d.URL))
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
	to, width := r.sh.Out, r.sh.OutWidth
	if d.Stream == "stderr" {
		to, width = r.sh.Err, r.sh.ErrWidth
	}
	text := d.Text
	if width > 0 {
		text = shell.Harmless(text, r.sh.Paint(width, shell.StyleBold, "") != "")
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
		r.line(r.sh.Err, shell.StyleBold, "> "+strings.ReplaceAll(strings.TrimRight(d.Text, "\n"), "\n", "\n> "))
	case "system":
		r.line(r.sh.Err, shell.StyleDim, "-- "+d.Text)
	default:
		r.line(r.sh.Out, shell.StylePlain, d.Text)
	}
}

// permission shows a question with the answers that can be given, or how it was
// answered: by the policy when nobody was asked.
func (r *renderer) permission(d client.PermissionData) {
	title := d.Title
	title = cmp.Or(title, "may I continue?")
	question := d.ToolCallID + "\n" + title
	if d.Decision != "" {
		answered := "the policy answered"
		if r.asked[question] || r.partial {
			answered = "answered"
		}
		delete(r.asked, question)
		r.line(r.sh.Err, shell.StyleDim, fmt.Sprintf("-- the agent asked: %s (%s: %s)", shell.OneLine(title), answered, shell.OneLine(d.Decision)))
		return
	}
	if r.asked == nil {
		r.asked = map[string]bool{}
	}
	r.asked[question] = true
	r.line(r.sh.Err, shell.StyleWait, "? "+title)
	for i, option := range d.Options {
		r.line(r.sh.Err, shell.StyleWait, fmt.Sprintf("  %d. %s", i+1, shell.OneLine(option.Name)))
	}
	r.line(r.sh.Err, shell.StyleWait, fmt.Sprintf("-- answer with: lineshaft runs followup %s yes", r.runID))
}

// plan shows the steps with how far they are.
func (r *renderer) plan(d client.PlanData) {
	for _, step := range d.Steps {
		mark := map[string]string{"completed": "[x]", "in_progress": "[~]"}[step.State]
		mark = cmp.Or(mark, "[ ]")
		r.line(r.sh.Out, shell.StyleDim, mark+" "+shell.OneLine(step.Text))
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
	r.line(r.sh.Err, stateStyle(d.To), text)
	if d.To == client.StateBlocked {
		r.line(r.sh.Err, shell.StyleWait, fmt.Sprintf("-- it waits for an answer: lineshaft runs followup %s \"ANSWER\"", r.runID))
	}
}

// line prints text of its own line, or lines.
func (r *renderer) line(to io.Writer, s shell.Style, text string) {
	r.endLine()
	width := r.sh.OutWidth
	if to == r.sh.Err {
		width = r.sh.ErrWidth
	}
	fmt.Fprintln(to, r.sh.Paint(width, s, strings.TrimRight(shell.Clean(text), "\n")))
}

// endLine ends what the agent has left open.
func (r *renderer) endLine() {
	if r.open != nil {
		fmt.Fprintln(r.open)
		r.open = nil
	}
}

func noticeStyle(level string) shell.Style {
	switch level {
	case "error":
		return shell.StyleBad
	case "warning":
		return shell.StyleWait
	}
	return shell.StyleDim
}

func stateStyle(state client.RunState) shell.Style {
	switch state {
	case client.StateSucceeded:
		return shell.StyleGood
	case client.StateFailed, client.StateError:
		return shell.StyleBad
	case client.StateBlocked, client.StateCancelled:
		return shell.StyleWait
	case client.StatePending, client.StateClaimed, client.StateInProgress:
		return shell.StyleBusy
	case client.StateQueued:
		return shell.StyleDim
	}
	return shell.StylePlain
}

// What people see of a result: the beginning and the end. `runs logs -o json` has all.
const (
	maxResultBytes = 16 << 10
	maxFailedBytes = 2 << 10
)

// wrote notes what a tool put out while it ran, so that its result does not say it again.
func (r *renderer) wrote(d client.OutputData) {
	if d.ToolCallID == "" {
		return
	}
	if r.written == nil {
		r.written = map[string]string{}
	}
	if have := r.written[d.ToolCallID]; len(have) <= maxResultBytes { // beyond that nothing is repeated anyway
		r.written[d.ToolCallID] = have + d.Text
	}
}

// toolResult shows how a tool ended if it failed, and its output if none
// came before: most agents send the output of their commands with the result alone.
func (r *renderer) toolResult(d client.ToolResultData) {
	before, told := r.written[d.ID]
	delete(r.written, d.ID)
	text, _ := d.Output["text"].(string)
	reason, _ := d.Output["error"].(string)
	failed := d.State != "completed"
	if text == "" && failed && !told && d.Category != "command" {
		text = reason
	}
	rest, goesOn := strings.CutPrefix(text, before)
	most := maxResultBytes
	if d.Category != "command" {
		most = maxFailedBytes
	}
	if goesOn && strings.TrimSpace(rest) != "" && (d.Category == "command" || failed) {
		if rest = shorten(rest, most); !strings.HasSuffix(rest, "\n") {
			rest += "\n"
		}
		r.output(client.OutputData{Stream: "stdout", Text: rest})
	}
	if failed {
		r.line(r.sh.Out, shell.StyleBad, fmt.Sprintf("! %s %s", d.Name, d.State))
	}
}

// shorten keeps the beginning and the end of a long text.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	left := len(text) - most
	return strings.ToValidUTF8(text[:most/2], "") + fmt.Sprintf("\n… %d bytes left out …\n", left) + strings.ToValidUTF8(text[len(text)-most/2:], "")
}

// toolLine is a call in a line, or lines, as people would write it.
func toolLine(d client.ToolCallData) string {
	for _, key := range []string{"command", "path", "query", "url"} {
		if text := inputText(d.Input[key]); text != "" {
			if d.Category == "command" {
				return text
			}
			return d.Name + " " + text
		}
	}
	return d.Name
}

// inputText is a text, or a command that an agent gives as a list of words. Of a shell
// call only the script is shown.
func inputText(value any) string {
	list, ok := value.([]any)
	if !ok {
		text, _ := value.(string)
		return text
	}
	var words []string
	for _, item := range list {
		word, ok := item.(string)
		if !ok {
			return ""
		}
		words = append(words, word)
	}
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`|&;<>()*?#~") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
