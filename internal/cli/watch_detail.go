package cli

import (
	"context"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

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
	d := &detail{run: &shown, session: newSession(run.RunID, w.columns, w.sh.colours()), leave: leave}
	w.detail = d
	w.start(func() { w.followRun(ctx, d) })
}

// followRun brings the log of a run until the person leaves it. A run that has ended may
// be continued, so it is looked at again.
func (w *watcher) followRun(ctx context.Context, d *detail) {
	var last int64
	for {
		trouble := ""
		for event, err := range w.c.Runs.Stream(ctx, d.session.runID, last) {
			if err != nil {
				trouble = w.sh.explain(err).message
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
		log = append(log[:len(log):len(log)], terminal.Text(terminal.Red, "! "+oneLine(d.trouble)+"; trying again"))
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
	state := terminal.Text(terminal.Style(stateStyle(run.State)), stateSign(run.State)+oneLine(string(run.State)))
	if text := reasonOf(run); text != "" {
		state = state.Add(terminal.Plain, " "+oneLine(text))
	}
	lines := []terminal.Line{terminal.Text(terminal.Bold, oneLine(run.Title)), state, terminal.Text(terminal.Dim, oneLine(run.RunID))}
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
			facts = append(facts, oneLine(cfg.Name), oneLine(cfg.ModelID), oneLine(cfg.WorkerHost))
		}
		facts = append(facts, usageText(run.RequestUsage), oneLine(run.SessionLink))
		lines = append(lines, terminal.Text(terminal.Dim, strings.Join(remove(facts, ""), " · ")))
	}
	return append(lines, terminal.Text(terminal.Dim, strings.Repeat("─", columns)))
}
