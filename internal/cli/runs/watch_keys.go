package runs

import (
	"context"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// key does what a key means where the person is.
func (w *watcher) key(k terminal.Key) {
	w.note = nil
	switch {
	case k.Name == terminal.KeyRedraw:
		w.screen.Reset()
	case w.asking != nil:
		w.answer(k)
	case w.help:
		w.help = false
	case w.moved(k):
	case k.Name == terminal.KeyEnter && w.detail == nil:
		w.open()
	case k.Name == terminal.KeyEscape || k.Name == terminal.KeyLeft && w.detail != nil:
		w.back()
	case k.Name == "":
		w.command(k.Rune)
	}
}

// moved goes up and down, in the list or in a log.
func (w *watcher) moved(k terminal.Key) bool {
	page := max(w.listRows()-1, 1)
	var by int
	switch {
	case k.Name == terminal.KeyUp || k.Rune == 'k':
		by = -1
	case k.Name == terminal.KeyDown || k.Rune == 'j':
		by = 1
	case k.Name == terminal.KeyPageUp:
		by = -page
	case k.Name == terminal.KeyPageDown || k.Rune == ' ':
		by = page
	case k.Name == terminal.KeyHome || k.Rune == 'g':
		by = -1 << 20
	case k.Name == terminal.KeyEnd || k.Rune == 'G':
		by = 1 << 20
	default:
		return false
	}
	if w.detail != nil {
		w.detail.scroll(by)
	} else {
		w.move(by)
	}
	return true
}

func (w *watcher) command(r rune) {
	switch r {
	case 'q':
		if w.detail == nil {
			w.quit = true
			return
		}
		w.back()
	case '?', 'h':
		w.help = true
	case 'c':
		w.cancel()
	case 'f':
		w.followup()
	case 'o':
		w.browse()
	case 'r':
		w.again()
	case '/':
		if w.detail == nil {
			w.find()
		}
	case 's':
		if w.detail == nil {
			w.narrow = (w.narrow + 1) % len(stateFilters())
			w.at, w.top, w.chosen = 0, 0, ""
			w.again()
		}
	}
}

// back leaves a run, or takes filters away that keys have set.
func (w *watcher) back() {
	if w.detail != nil {
		w.detail.leave()
		w.detail = nil
		return
	}
	if w.narrow != 0 || w.query.Query != "" {
		w.narrow, w.query.Query = 0, ""
		w.again()
	}
}

// answer takes a key for the last line.
func (w *watcher) answer(k terminal.Key) {
	ask := w.asking
	switch {
	case k.Name == terminal.KeyEscape:
		w.asking = nil
	case ask.text == nil:
		w.asking = nil
		if k.Rune == 'y' || k.Rune == 'Y' {
			ask.done("yes")
		}
	case k.Name == terminal.KeyEnter:
		w.asking = nil
		ask.done(strings.TrimSpace(ask.text.Text()))
	default:
		ask.text.Key(k)
	}
}

func (w *watcher) find() {
	w.asking = &asking{prompt: "Find: ", text: &terminal.Edit{}, done: func(words string) {
		w.query.Query = words
		w.at, w.top, w.chosen = 0, 0, ""
		w.again()
	}}
}

func (w *watcher) cancel() {
	run := w.current()
	switch {
	case run == nil:
	case run.State.Terminal():
		w.tell(terminal.Yellow, "it has ended already; f continues it")
	default:
		id := run.RunID
		w.asking = &asking{prompt: "Cancel " + quoteTitle(run) + "? y or n ", done: func(string) {
			w.act("cancelling…", func(ctx context.Context) (string, error) {
				return "cancelled", w.c.Runs.Cancel(ctx, id)
			})
		}}
	}
}

func (w *watcher) followup() {
	run := w.current()
	if run == nil {
		return
	}
	id, blocked := run.RunID, run.State == client.StateBlocked
	prompt := "Message: "
	if blocked {
		prompt = "Answer: "
	}
	w.asking = &asking{prompt: prompt, text: &terminal.Edit{}, done: func(message string) {
		if message == "" {
			return
		}
		w.act("sending…", func(ctx context.Context) (string, error) {
			sent, err := w.c.Runs.Followup(ctx, id, client.FollowupRequest{Message: message})
			if err != nil {
				return "", err
			}
			return outcomeText(sent.Outcome, blocked), nil
		})
	}}
}

func (w *watcher) browse() {
	run := w.current()
	if run == nil {
		return
	}
	link, err := pageOf(run)
	if err != nil {
		w.tell(terminal.Red, w.sh.Explain(err).Message)
		return
	}
	w.act("opening the browser…", func(ctx context.Context) (string, error) {
		if err := w.sh.Deps.OpenURL(ctx, link.String()); err != nil {
			return "", shell.Failure(err, "the browser could not be opened; go to "+link.String(), "")
		}
		return "opened " + link.String(), nil
	})
}

// act does something to a run and shows the result.
func (w *watcher) act(doing string, do func(context.Context) (string, error)) {
	w.tell(terminal.Dim, doing)
	w.start(func() {
		text, err := do(w.ctx)
		w.post(func() {
			if err != nil {
				w.tell(terminal.Red, w.sh.Explain(err).Message)
				return
			}
			w.tell(terminal.Green, text)
			w.again()
		})
	})
}

// tell puts a remark on the last line, until the next key.
func (w *watcher) tell(style terminal.Style, text string) {
	w.note = terminal.Text(style, shell.OneLine(text))
}

func quoteTitle(run *client.Run) string {
	title := shell.OneLine(run.Title)
	if title == "" {
		title = shell.OneLine(run.RunID)
	}
	return "“" + terminal.Clip(title, 30) + "”"
}

// mostLog is how many lines of a log can be scrolled back to.
const mostLog = 2000

// detail is one run with its log.
type detail struct {
	run     *client.Run
	session *session
	log     []terminal.Line
	// up is how many lines the person has scrolled up; 0 stays at the end.
	up int
	// trouble is why the log cannot be read now.
	trouble string
	leave   context.CancelFunc
}

// open shows the chosen run and follows its log.
func (w *watcher) open() {
	run := w.current()
	if run == nil {
		return
	}
	ctx, leave := context.WithCancel(w.ctx)
	shown := *run
	d := &detail{run: &shown, session: newSession(run.RunID, w.columns, w.sh.Colours()), leave: leave}
	w.detail = d
	w.start(func() { w.followRun(ctx, d) })
}

// followRun brings the log of a run until the person leaves it. A run that has ended may
// be continued, so it is read again.
func (w *watcher) followRun(ctx context.Context, d *detail) {
	var last int64
	for {
		trouble := ""
		for event, err := range w.c.Runs.Stream(ctx, d.session.runID, last) {
			if err != nil {
				trouble = w.sh.Explain(err).Message
				break
			}
			last = event.Sequence
			w.post(func() { d.event(&event) })
		}
		if run, err := w.c.Runs.Get(ctx, d.session.runID); err == nil {
			w.post(func() { d.run = run })
		}
		w.post(func() { d.trouble = trouble })
		timer := time.NewTimer(2 * time.Second)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (d *detail) event(e *client.Event) {
	d.trouble = ""
	if err := d.session.event(e); err != nil {
		d.trouble = err.Error()
	}
	d.add(d.session.take())
	if d.session.state.To != "" {
		d.run.State = d.session.state.To
	}
}

func (d *detail) add(lines []terminal.Line) {
	d.log = append(d.log, lines...)
	if d.up > 0 {
		d.up += len(lines) // what is being read stays where it is
	}
	if over := len(d.log) - mostLog; over > 0 {
		d.log = append([]terminal.Line(nil), d.log[over:]...)
	}
}

// seen takes what a list says of the run.
func (d *detail) seen(runs []client.Run) {
	for i := range runs {
		if runs[i].RunID == d.run.RunID {
			run := runs[i]
			d.run = &run
		}
	}
}

func (d *detail) scroll(by int) { d.up = max(0, min(d.up-by, len(d.log))) }

// lines are the run's facts and the end of its log, or where the person has scrolled to.
func (d *detail) lines(columns, rows int, now time.Time) []terminal.Line {
	lines := d.facts(columns, rows, now)
	room := max(rows-len(lines), 1)
	log := d.log
	switch {
	case d.up > 0:
	case d.run.State.Terminal():
		log = append(log[:len(log):len(log)], d.session.planLines(room)...)
	default:
		log = append(log[:len(log):len(log)], d.session.live(now, room)...)
	}
	if d.trouble != "" {
		log = append(log[:len(log):len(log)], terminal.Text(terminal.Red, "! "+shell.OneLine(d.trouble)+"; trying again"))
	}
	// Only as much is wrapped as can be seen.
	var shown []terminal.Line
	end := max(len(log)-d.up, min(len(log), room))
	for i := end - 1; i >= 0 && len(shown) < room; i-- {
		shown = append(terminal.Wrap(log[i], columns, "  "), shown...)
	}
	return append(lines, shown[max(0, len(shown)-room):]...)
}

// facts are what is known of the run; a low terminal shows fewer.
func (d *detail) facts(columns, rows int, now time.Time) []terminal.Line {
	run := d.run
	state := terminal.Text(terminal.Style(stateStyle(run.State)), stateSign(run.State)+shell.OneLine(string(run.State)))
	if text := reasonOf(run); text != "" {
		state = state.Add(terminal.Plain, " "+shell.OneLine(text))
	}
	lines := []terminal.Line{terminal.Text(terminal.Bold, shell.OneLine(run.Title)), state, terminal.Text(terminal.Dim, shell.OneLine(run.RunID))}
	if rows >= 16 {
		facts := []string{"created " + shortAge(now.Sub(run.CreatedAt)) + " ago"}
		if run.StartedAt != nil {
			if run.FinishedAt != nil {
				facts = append(facts, "took "+elapsed(run.FinishedAt.Sub(*run.StartedAt)))
			} else {
				facts = append(facts, "runs for "+elapsed(now.Sub(*run.StartedAt)))
			}
		}
		if cfg := run.AgentConfig; cfg != nil {
			facts = append(facts, shell.OneLine(cfg.Name), shell.OneLine(cfg.ModelID), shell.OneLine(cfg.WorkerHost))
		}
		facts = append(facts, usageText(run.RequestUsage), shell.OneLine(run.SessionLink))
		lines = append(lines, terminal.Text(terminal.Dim, strings.Join(remove(facts, ""), " · ")))
	}
	return append(lines, terminal.Text(terminal.Dim, strings.Repeat("─", columns)))
}
