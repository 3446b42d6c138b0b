package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// spinner are the pictures of something that goes on.
var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

const spinnerStep = 100 * time.Millisecond

func spin(now time.Time) string {
	return spinner[int(now.UnixMilli()/spinnerStep.Milliseconds())%len(spinner)]
}

// live are the lines that change: tools that run, the plan, and how it stands. They are
// fewer than the rows of the terminal, or they could not be drawn over.
func (s *session) live(now time.Time, rows int) []terminal.Line {
	room := max(rows-3, 1)
	var lines []terminal.Line
	if !s.quiet {
		if s.open != "" {
			lines = append(lines, terminal.Text(terminal.Plain, s.open))
		}
		lines = append(lines, s.running(now, room/2)...)
		lines = append(lines, s.planLines(room-len(lines))...)
	}
	if len(lines) > 0 || s.block != "" && !s.quiet {
		lines = append([]terminal.Line{nil}, lines...)
	}
	if s.absent && s.state.To == client.StateQueued {
		lines = append(lines, terminal.Wrap(terminal.Text(terminal.Yellow, "it waits for worker "+startWorker(s.host)), s.text(), "  ")...)
	}
	return append(lines, s.status(now))
}

// running shows the tools that run, the newest last.
func (s *session) running(now time.Time, room int) []terminal.Line {
	var lines []terminal.Line
	calls := s.calls
	if len(calls) > max(room, 1) {
		calls = calls[len(calls)-max(room, 1):]
	}
	for _, call := range calls {
		lines = append(lines, s.toolHead(terminal.Text(terminal.Cyan, spin(now)), call, elapsed(now.Sub(call.since))))
	}
	if len(calls) > 0 {
		for _, line := range calls[len(calls)-1].output.last(min(runningTail, room-len(lines))) {
			lines = append(lines, terminal.Text(terminal.Dim, "  "+oneLine(line)))
		}
	}
	return lines
}

// planLines is the plan as a checklist. Of a long one, what is done and what is far
// away is told as a number.
func (s *session) planLines(room int) []terminal.Line {
	if len(s.plan) == 0 || room < 2 {
		return nil
	}
	from, to := 0, len(s.plan)
	if to > room {
		for from < to && s.plan[from].State == "completed" {
			from++
		}
		from = max(0, min(from-1, len(s.plan)-(room-1)))
		to = min(len(s.plan), from+room-1)
	}
	var lines []terminal.Line
	done := 0
	for i, step := range s.plan {
		if step.State == "completed" {
			done++
		}
		if i >= from && i < to {
			lines = append(lines, planLine(step))
		}
	}
	if len(lines) < len(s.plan) {
		lines = append(lines, terminal.Text(terminal.Dim, fmt.Sprintf("  %d of %s done", done, count(len(s.plan), "step"))))
	}
	return lines
}

func planLine(step client.PlanStep) terminal.Line {
	switch step.State {
	case "completed":
		return terminal.Text(terminal.Green, "☑ ").Add(terminal.Dim, oneLine(step.Text))
	case "in_progress":
		return terminal.Text(terminal.Cyan, "▸ "+oneLine(step.Text))
	}
	return terminal.Text(terminal.Plain, "☐ "+oneLine(step.Text))
}

// status is the last line: what the run does, since when, and what it costs.
func (s *session) status(now time.Time) terminal.Line {
	parts := []string{stateWord(s.state.To)}
	if !s.since.IsZero() {
		parts[0] += " " + elapsed(now.Sub(s.since).Truncate(100*time.Millisecond))
	}
	if s.state.To == client.StateQueued {
		parts = append(parts, s.queue())
	}
	if used := usedText(s.tokens, s.micros); used != "" {
		parts = append(parts, used)
	}
	line := terminal.Text(terminal.Cyan, spin(now)).Add(terminal.Plain, " "+parts[0])
	short, _, _ := strings.Cut(s.hint, ",") // how to leave is told also where there is little room
	for _, part := range parts[1:] {
		if part != "" && line.Width()+terminal.Width(part)+3 < s.columns {
			line = line.Add(terminal.Dim, " · "+part)
		}
	}
	for _, hint := range []string{s.hint, short} {
		if hint != "" && line.Width()+terminal.Width(hint)+3 < s.columns {
			return line.Add(terminal.Dim, " · "+hint)
		}
	}
	return line
}

// stateWord says what a run does.
func stateWord(state client.RunState) string {
	switch state {
	case "":
		return "connecting"
	case client.StatePending:
		return "starting"
	case client.StateClaimed:
		return "preparing the workspace"
	case client.StateInProgress:
		return "working"
	case client.StateBlocked:
		return "waiting for your answer"
	case client.StateQueued, client.StateSucceeded, client.StateFailed, client.StateError, client.StateCancelled:
	}
	return strings.ToLower(oneLine(string(state)))
}

// stateSign is a picture of how a run ended.
func stateSign(state client.RunState) string {
	switch state {
	case client.StateSucceeded:
		return "✓ "
	case client.StateFailed, client.StateError:
		return "✗ "
	case client.StateQueued, client.StatePending, client.StateClaimed, client.StateInProgress, client.StateBlocked, client.StateCancelled:
	}
	return ""
}

// namedWorker says that a run is for one worker, and not for those of the server.
func namedWorker(host string) bool {
	return host != "" && host != lineshaft.HostedWorker && host != "warp"
}

// queue says what a run waits for.
func (s *session) queue() string {
	named := namedWorker(s.host)
	switch {
	case named && s.ahead > 0:
		return fmt.Sprintf("waits for worker %s, %s before it", s.host, count(s.ahead, "run"))
	case named:
		return "waits for worker " + s.host
	case s.ahead > 0:
		return count(s.ahead, "run") + " before it"
	case s.ahead == 0:
		return "next in line"
	}
	return ""
}

func usedText(tokens, micros int64) string {
	switch {
	case tokens == 0:
		return ""
	case micros == 0:
		return thousands(tokens) + " tokens"
	}
	return fmt.Sprintf("%s tokens · $%.4f", thousands(tokens), float64(micros)/1e6)
}

// thousands is a number with its digits in groups.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// settle writes what lived for good: the log ends here. The remark says how calls stand
// that have no end.
func (s *session) settle(remark string) {
	s.endOutput()
	for _, call := range s.calls {
		s.say("tool", s.toolHead(terminal.Text(terminal.Yellow, "…"), call, remark))
		for _, line := range call.output.lines() {
			s.say("tool", terminal.Text(terminal.Dim, "  "+line).Clip(s.columns))
		}
	}
	s.calls = nil
	for _, step := range s.plan {
		s.say("plan", planLine(step))
	}
	s.plan = nil
	if s.held {
		s.held = false
		s.tellState(s.state)
	}
}

// notEnded is about calls of a run that has no more news.
const notEnded = "not ended"

// finish tells how the run ended, what it used and what one may do next.
func (s *session) finish(run *client.Run) {
	s.held = false
	s.settle(notEnded)
	line := terminal.Text(terminal.Style(stateStyle(run.State)), stateSign(run.State)+oneLine(string(run.State)))
	if text := reasonOf(run); text != "" {
		line = line.Add(terminal.Plain, ": "+oneLine(text))
	}
	s.quiet = false
	s.say("end", terminal.Wrap(line, s.text(), "  ")...)
	var facts []string
	if run.StartedAt != nil && run.FinishedAt != nil {
		facts = append(facts, elapsed(run.FinishedAt.Sub(*run.StartedAt)))
	}
	if u := run.RequestUsage; u != nil {
		if used := usedText(u.TotalTokens, int64(u.InferenceCostUSD*1e6)); used != "" {
			facts = append(facts, used)
		}
	}
	if len(run.Artifacts) > 0 {
		facts = append(facts, count(len(run.Artifacts), "artifact"))
	}
	if len(facts) > 0 {
		s.say("end", terminal.Wrap(terminal.Text(terminal.Dim, "  "+strings.Join(facts, " · ")), s.text(), "  ")...)
	}
	next := "  continue:   lineshaft runs followup " + s.runID + ` "what to do next"`
	if run.State != client.StateSucceeded {
		next = "  try again:  lineshaft runs rerun " + s.runID + " --follow"
	}
	s.say("end", terminal.Text(terminal.Dim, next))
}
