package runs

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// rows are those of the terminal.
func (sh Commands) rows() int {
	if sh.Deps.Live.Height != nil {
		return sh.Deps.Live.Height(sh.Out)
	}
	if file, ok := sh.Out.(*os.File); ok {
		if _, rows := terminal.Size(file); rows > 0 {
			return rows
		}
	}
	return 24
}

// motion is what moves on a terminal without a key: time, and what is done to the program.
type motion struct {
	ticks   <-chan time.Time
	signals <-chan terminal.Signal
	suspend func()
	stop    func()
}

func (sh Commands) motion() motion {
	hooks := sh.Deps.Live
	m := motion{ticks: hooks.Ticks, signals: hooks.Signals, suspend: hooks.Suspend, stop: func() {}}
	if m.ticks == nil {
		ticker := time.NewTicker(spinnerStep)
		m.ticks, m.stop = ticker.C, ticker.Stop
	}
	if m.signals == nil {
		signals, stop := terminal.Signals()
		ticking := m.stop
		m.signals, m.stop = signals, func() { ticking(); stop() }
	}
	if m.suspend == nil {
		m.suspend = terminal.Suspend
	}
	return m
}

// typing takes the keys of the terminal; nil when there is none, or when it is not ours.
func (sh Commands) typing() *terminal.Input {
	file, ok := sh.In.(*os.File)
	if !ok || shell.TerminalWidth(file) == 0 {
		return nil
	}
	input, err := terminal.OpenInput(file)
	if err != nil {
		return nil // it is shown all the same, and asks for nothing
	}
	return input
}

// liveView is a run that is followed on a terminal.
type liveView struct {
	sh      Commands
	c       *client.Client
	session *session
	region  *terminal.Region
	input   *terminal.Input
	motion  motion
	run     *client.Run

	edit    terminal.Edit
	sending bool
	// looked is when it was last asked how many runs wait before this one.
	looked time.Time

	work    sync.WaitGroup
	events  chan client.Event
	ended   chan error
	keys    chan terminal.Key
	ahead   chan queueNews
	answers chan error
}

// queueNews is what a queued run waits for.
type queueNews struct {
	ahead  int
	absent bool
}

// followLive shows a run on a terminal to its end and returns how it ended. With quiet,
// only its state is shown, and what it asks.
func (sh Commands) followLive(ctx context.Context, c *client.Client, runID string, after int64, quiet bool) (*client.Run, error) {
	v := &liveView{
		sh: sh, c: c, session: newSession(runID, sh.OutWidth, sh.Colours()), region: terminal.NewRegion(sh.Out, sh.Colours()), motion: sh.motion(), input: sh.typing(),
		events: make(chan client.Event, 256), ended: make(chan error, 1), keys: make(chan terminal.Key), ahead: make(chan queueNews, 1), answers: make(chan error, 1),
	}
	v.session.quiet, v.session.hint = quiet, "Ctrl-C leaves; the run continues"
	run, err := v.follow(ctx, after)
	if err != nil {
		v.session.settle("still running") // what was on the screen is what one wants to look at
	}
	v.leave()
	if err != nil {
		return nil, err
	}
	v.session.finish(run)
	return run, v.region.Update(v.session.columns, v.session.take(), nil)
}

// follow starts what brings news and waits for all of it.
func (v *liveView) follow(ctx context.Context, after int64) (*client.Run, error) {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer v.work.Wait()
	defer cancel()
	defer v.motion.stop()
	if err := v.draw(); err != nil {
		return nil, err
	}
	var err error
	if v.run, err = v.c.Runs.Get(ctx, v.session.runID); err != nil {
		v.run = &client.Run{RunID: v.session.runID} // the stream says whether that is in vain
	}
	v.session.header(v.run)
	v.work.Go(func() { v.stream(ctx, after) })
	if v.input != nil {
		v.work.Go(func() {
			_ = v.input.Read(ctx.Done(), func(k terminal.Key) { // a terminal that is gone asks nothing
				post(ctx, v.keys, k)
			})
		})
	}
	if err := v.loop(ctx); err != nil {
		return nil, err
	}
	return v.c.Runs.Get(outer, v.session.runID)
}

// leave gives the terminal back and takes away what lived.
func (v *liveView) leave() {
	_ = v.region.Update(v.session.columns, v.session.take(), nil) // the terminal may be gone
	if v.input != nil {
		v.input.Restore()
	}
}

func (v *liveView) stream(ctx context.Context, after int64) {
	for event, err := range v.c.Runs.Stream(ctx, v.session.runID, after) {
		if err != nil {
			v.ended <- err
			return
		}
		if !post(ctx, v.events, event) {
			v.ended <- ctx.Err()
			return
		}
	}
	close(v.events)
}

// post hands on news, unless nobody waits for it any more.
func post[T any](ctx context.Context, to chan<- T, news T) bool {
	select {
	case to <- news:
		return true
	case <-ctx.Done():
		return false
	}
}

// loop shows news until the log has ended.
func (v *liveView) loop(ctx context.Context) error {
	for {
		if len(v.events) == 0 || len(v.session.done) > 200 { // a flood is drawn in pieces
			if err := v.draw(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-v.ended:
			return err
		case event, more := <-v.events:
			if !more {
				return nil
			}
			if err := v.session.event(&event); err != nil {
				return err
			}
		case key := <-v.keys:
			v.key(ctx, key)
		case news := <-v.ahead:
			v.session.ahead, v.session.absent = news.ahead, news.absent
		case err := <-v.answers:
			v.answered(err)
		case <-v.motion.ticks:
			v.lookAhead(ctx)
		case signal := <-v.motion.signals:
			if signal == terminal.SignalEnd {
				return context.Canceled
			}
			v.signal(signal)
		}
	}
}

// draw shows the session, and the line that is typed where something is asked.
func (v *liveView) draw() error {
	s := v.session
	lines := s.live(v.sh.Now(), v.sh.rows())
	if v.asks() {
		prompt := "Your answer › "
		if v.sending {
			prompt = "Sending › "
		}
		lines = append(lines, terminal.Text(terminal.Yellow.And(terminal.Bold), prompt).
			Add(terminal.Plain, v.edit.Show(max(s.columns-len(prompt)-2, 4))))
	}
	return v.region.Update(s.columns, s.take(), lines)
}

func (v *liveView) asks() bool { return v.input != nil && v.session.asked() }

// signal takes a change of size, or lets the program stop and come back.
func (v *liveView) signal(signal terminal.Signal) {
	if signal == terminal.SignalSuspend {
		v.leave()
		v.motion.suspend()
		if v.input != nil {
			_ = v.input.Take() // without it there is nothing to type
		}
	}
	if columns := v.sh.Deps.Width(v.sh.Out); columns > 0 {
		v.session.columns = columns
	}
}

// lookAhead asks now and then how many runs wait before one that is queued, and whether
// its worker is connected.
func (v *liveView) lookAhead(ctx context.Context) {
	const every = 3 * time.Second
	now := v.sh.Now()
	if v.session.state.To != client.StateQueued || v.run.CreatedAt.IsZero() || now.Sub(v.looked) < every {
		return
	}
	v.looked = now
	query := client.RunQuery{States: []client.RunState{client.StateQueued}, CreatedBefore: v.run.CreatedAt, WorkerHost: v.session.host, Limit: 100}
	v.work.Go(func() {
		page, err := v.c.Runs.List(ctx, query)
		if err != nil {
			return // the next look shows it, or none
		}
		absent := query.WorkerHost != "" && !v.sh.connected(ctx, v.c, query.WorkerHost)
		post(ctx, v.ahead, queueNews{len(page.Runs), absent})
	})
}

// key types the answer to what the agent asks.
func (v *liveView) key(ctx context.Context, key terminal.Key) {
	if !v.asks() || v.sending {
		return
	}
	v.edit.Key(key)
	message := strings.TrimSpace(v.edit.Text())
	if key.Name != terminal.KeyEnter || message == "" {
		return
	}
	v.sending = true
	v.work.Go(func() {
		_, err := v.c.Runs.Followup(ctx, v.session.runID, client.FollowupRequest{Message: message})
		post(ctx, v.answers, err)
	})
}

// answered takes the result of an answer; one that did not arrive can be sent again.
func (v *liveView) answered(err error) {
	v.sending = false
	if err == nil {
		v.edit, v.session.answered = terminal.Edit{}, true
		return
	}
	told := v.sh.Explain(err)
	v.session.say("error", v.session.wrapped("✗ ", terminal.Red, "the answer was not sent: "+told.Message)...)
	if told.Hint != "" {
		v.session.say("error", v.session.wrapped("  ", terminal.Dim, told.Hint)...)
	}
}

// spinner are the pictures of something that is under way.
var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

const spinnerStep = 100 * time.Millisecond

func spin(now time.Time) string {
	return spinner[int(now.UnixMilli()/spinnerStep.Milliseconds())%len(spinner)]
}

// live are the lines that change: tools that run, the plan, and the state. They are
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
		lines = append(lines, terminal.Wrap(terminal.Text(terminal.Yellow, "it waits for "+absentWorker(s.host)), s.text(), "  ")...)
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
			lines = append(lines, terminal.Text(terminal.Dim, "  "+shell.OneLine(line)))
		}
	}
	return lines
}

// planLines is the plan as a checklist. A long one shows what is done and what is far
// ahead as a number.
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
		lines = append(lines, terminal.Text(terminal.Dim, fmt.Sprintf("  %d of %s done", done, shell.Count(len(s.plan), "step"))))
	}
	return lines
}

func planLine(step client.PlanStep) terminal.Line {
	switch step.State {
	case "completed":
		return terminal.Text(terminal.Green, "☑ ").Add(terminal.Dim, shell.OneLine(step.Text))
	case "in_progress":
		return terminal.Text(terminal.Cyan, "▸ "+shell.OneLine(step.Text))
	}
	return terminal.Text(terminal.Plain, "☐ "+shell.OneLine(step.Text))
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
	short, _, _ := strings.Cut(s.hint, ";") // how to leave is shown even where there is little room
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
	return strings.ToLower(shell.OneLine(string(state)))
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
		return fmt.Sprintf("waits for worker %s, %s before it", s.host, shell.Count(s.ahead, "run"))
	case named:
		return "waits for worker " + s.host
	case s.ahead > 0:
		return shell.Count(s.ahead, "run") + " before it"
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

// settle writes the live lines for good: the log ends here. The remark is about calls
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

// finish says how the run ended, what it used and what one may do next.
func (s *session) finish(run *client.Run) {
	s.held = false
	s.settle(notEnded)
	line := terminal.Text(terminal.Style(stateStyle(run.State)), stateSign(run.State)+shell.OneLine(string(run.State)))
	if text := reasonOf(run); text != "" {
		line = line.Add(terminal.Plain, ": "+shell.OneLine(text))
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
		facts = append(facts, shell.Count(len(run.Artifacts), "artifact"))
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
