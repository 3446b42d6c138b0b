package runs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

func (sh Commands) watchCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Watch runs live in full screen, and steer them with single keys",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(sh); err != nil {
				return err
			}
			return sh.watch(cmd.Context(), f)
		},
	}
	f.filters(cmd)
	cmd.Flags().IntVar(&f.query.Limit, "limit", 100, "`NUMBER` of runs, 1 to 500")
	return cmd
}

func (sh Commands) watch(ctx context.Context, f listFlags) error {
	if sh.ForPeople() && !sh.OnTerminal() {
		return shell.Usage("`lineshaft runs watch` needs a terminal",
			"Use `lineshaft runs list`, or `lineshaft runs watch --output ndjson` for a line of JSON for each change.")
	}
	if sh.ForPeople() {
		// It shows itself that the connection is gone, so nothing must hide it.
		sh.Deps.ClientOptions = append(sh.Deps.ClientOptions, client.WithStreamRetries(0), client.WithMaxRetries(0))
	}
	c, err := sh.Connect(ctx)
	if err != nil {
		return err
	}
	if f.query.FactoryUIDs, err = sh.FactoryUIDs(ctx, c, f.factories); err != nil {
		return err
	}
	if sh.ForPeople() {
		return sh.watchScreen(ctx, c, f.query)
	}
	show := sh.eventPrinter("", false)
	for change, err := range c.Runs.StreamStates(ctx, f.query) {
		if err == nil {
			err = show(&change.Event)
		}
		if ctx.Err() != nil {
			return nil // being stopped is how it ends
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	// refreshAfter gathers changes that come together into one look at the list, and
	// refreshEvery finds what no change reported.
	refreshAfter = 300 * time.Millisecond
	refreshEvery = 5 * time.Second
	// longestOffline is the pause between two attempts to reach the server.
	longestOffline = 8 * time.Second
)

// watcher is `runs watch`: what it knows and what it shows. One goroutine, in loop, owns
// all of it; the others bring news as functions that it calls.
type watcher struct {
	sh     Commands
	c      *client.Client
	screen *terminal.Screen
	input  *terminal.Input
	motion motion

	columns, rows int
	query         client.RunQuery
	// narrow is which of stateFilters narrows the list.
	narrow int

	runs []client.Run
	more bool
	// chosen is the run that the keys are about, and top the first that is shown.
	chosen string
	at     int
	top    int
	// loaded says that the list was read once; offline says why it cannot be read now.
	loaded  bool
	offline string
	// due is when to read the list again, and reading says that it is being read.
	due     time.Time
	reading bool

	detail *detail
	help   bool
	// asking is what the last line asks; nil when it does not.
	asking *asking
	note   terminal.Line
	quit   bool
	// failed is why it ends, if nobody wanted it to.
	failed error

	ctx   context.Context // it is that of one command, for what keys start
	work  sync.WaitGroup
	news  chan func()
	crash chan string
}

// asking is a question on the last line: one key, or a text.
type asking struct {
	prompt string
	text   *terminal.Edit
	// done gets the text, or yes for a question.
	done func(text string)
}

// stateFilters are what the key s goes through. The first is what the command was given.
func stateFilters() []struct {
	name   string
	states []client.RunState
} {
	return []struct {
		name   string
		states []client.RunState
	}{
		{"", nil},
		{"active", []client.RunState{client.StateQueued, client.StatePending, client.StateClaimed, client.StateInProgress, client.StateBlocked}},
		{"blocked", []client.RunState{client.StateBlocked}},
		{"failed", []client.RunState{client.StateFailed, client.StateError}},
		{"succeeded", []client.RunState{client.StateSucceeded}},
		{"cancelled", []client.RunState{client.StateCancelled}},
	}
}

// watchScreen takes the terminal until the person has seen enough.
func (sh Commands) watchScreen(ctx context.Context, c *client.Client, query client.RunQuery) error {
	input := sh.typing()
	if input == nil {
		return shell.Usage("`lineshaft runs watch` reads keys, and standard input is not a terminal",
			"Run it in the foreground, or use `lineshaft runs list`.")
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{
		sh: sh, c: c, screen: terminal.NewScreen(sh.Out, sh.Colours()), input: input, motion: sh.motion(), query: query, ctx: ctx,
		news: make(chan func()), crash: make(chan string, 1), due: sh.Now(),
	}
	defer w.work.Wait()
	defer cancel()
	defer w.motion.stop()
	defer w.input.Restore()
	defer w.screen.Close() // also when it panics: nobody could read why
	w.measure()
	w.screen.Open()
	w.start(func() {
		_ = input.Read(ctx.Done(), func(k terminal.Key) { w.post(func() { w.key(k) }) }) //nolint:contextcheck // keys act under w.ctx; a terminal that is gone also hangs up
	})
	w.start(w.follow)
	return w.loop()
}

// start does something in the background. A panic there ends the command after the terminal
// is restored: otherwise nobody could read why.
func (w *watcher) start(do func()) {
	w.work.Go(func() {
		defer func() {
			if reason := recover(); reason != nil {
				w.crash <- fmt.Sprintf("%v\n%s", reason, debug.Stack())
			}
		}()
		do()
	})
}

// post hands news to the loop, if it still listens.
func (w *watcher) post(tell func()) {
	select {
	case w.news <- tell:
	case <-w.ctx.Done():
	}
}

func (w *watcher) loop() error {
	for !w.quit {
		if err := w.draw(); err != nil {
			return err
		}
		select {
		case <-w.ctx.Done():
			return nil
		case tell := <-w.news:
			tell()
		case reason := <-w.crash:
			return shell.Failure(nil, "a bug in lineshaft: "+reason, "Please report it with these lines.")
		case <-w.motion.ticks:
			w.refresh()
		case signal := <-w.motion.signals:
			w.signal(signal)
		}
	}
	return w.failed
}

func (w *watcher) signal(signal terminal.Signal) {
	switch signal {
	case terminal.SignalEnd:
		w.quit = true
		return
	case terminal.SignalSuspend:
		w.screen.Close()
		w.input.Restore()
		w.motion.suspend()
		if err := w.input.Take(); err != nil {
			w.quit = true
			return
		}
		w.screen.Open()
	case terminal.SignalResize:
		w.screen.Reset()
	}
	w.measure()
}

// measure asks how large the terminal is.
func (w *watcher) measure() {
	w.columns, w.rows = max(w.sh.Deps.Width(w.sh.Out), 20), max(w.sh.rows(), 4)
	if w.detail != nil {
		w.detail.session.columns = w.columns
	}
}

// follow learns of changes until the command ends; the list is read again for each.
func (w *watcher) follow() {
	query := w.query
	query.States = nil // a run that leaves the states that are shown must go
	pause := time.Second / 2
	for {
		for change, err := range w.c.Runs.StreamStates(w.ctx, query) {
			if err != nil {
				reason := w.sh.Explain(err).Message
				w.post(func() { w.offline, w.due = reason, w.sh.Now() })
				break
			}
			pause = time.Second / 2
			query.Cursor = change.Cursor
			w.post(func() { w.changed(change.Event) })
		}
		timer := time.NewTimer(pause)
		select {
		case <-w.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, longestOffline)
	}
}

// changed shows a new state at once; the rest comes with the list.
func (w *watcher) changed(e client.Event) {
	w.due = earlier(w.due, w.sh.Now().Add(refreshAfter))
	var data client.StateData
	if e.Decode(&data) != nil {
		return // the list will show it
	}
	for i := range w.runs {
		if w.runs[i].RunID == e.RunID {
			w.runs[i].State, w.runs[i].UpdatedAt, w.runs[i].StatusMessage = data.To, e.Time, &client.StatusMessage{Message: data.Message}
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// refresh reads the list when that is due.
func (w *watcher) refresh() {
	if w.reading || w.sh.Now().Before(w.due) {
		return
	}
	w.reading = true
	query := w.query
	if states := stateFilters()[w.narrow].states; states != nil {
		query.States = states
	}
	w.start(func() {
		page, err := w.c.Runs.List(w.ctx, query)
		w.post(func() { w.listed(page, err) })
	})
}

func (w *watcher) listed(page *client.RunPage, err error) {
	w.reading, w.due = false, w.sh.Now().Add(refreshEvery)
	if apiErr, ok := errors.AsType[*client.Error](err); ok && apiErr.Status < http.StatusInternalServerError && apiErr.Status != http.StatusTooManyRequests {
		w.failed, w.quit = err, true // trying again does not fix it
		return
	}
	if err != nil {
		w.offline, w.due = w.sh.Explain(err).Message, w.sh.Now().Add(time.Second)
		return
	}
	w.offline, w.loaded, w.more = "", true, page.PageInfo.HasNextPage
	w.runs = page.Runs
	if i := slices.IndexFunc(w.runs, func(r client.Run) bool { return r.RunID == w.chosen }); i >= 0 {
		w.at = i
	}
	w.move(0)
	if w.detail != nil {
		w.detail.seen(w.runs)
	}
}

// again reads the list as soon as possible: what it shows has changed.
func (w *watcher) again() { w.due = w.sh.Now() }

// move chooses another run.
func (w *watcher) move(by int) {
	w.at = max(0, min(w.at+by, len(w.runs)-1))
	w.chosen = ""
	if len(w.runs) > 0 {
		w.chosen = w.runs[w.at].RunID
	}
}

// current is the run that the keys are about; nil when there is none.
func (w *watcher) current() *client.Run {
	if w.detail != nil {
		return w.detail.run
	}
	if w.at < len(w.runs) {
		return &w.runs[w.at]
	}
	return nil
}

// draw shows everything again; the screen writes what changed.
func (w *watcher) draw() error {
	var lines []terminal.Line
	switch {
	case w.help:
		lines = w.helpLines()
	case w.detail != nil:
		lines = w.detail.lines(w.columns, w.rows-1, w.sh.Now())
	default:
		lines = w.listLines()
	}
	for len(lines) < w.rows-1 {
		lines = append(lines, nil)
	}
	lines = append(lines[:w.rows-1:w.rows-1], w.lastLine())
	cursor := -1
	if w.asking != nil {
		cursor = w.rows - 1
	}
	return w.screen.Draw(w.columns, w.rows, lines, cursor)
}

// listRows is how many runs fit.
func (w *watcher) listRows() int { return max(w.rows-3, 1) }

func (w *watcher) listLines() []terminal.Line {
	lines := []terminal.Line{w.titleLine(), w.row(terminal.Bold, " ", "STATE", terminal.Bold, "UPDATED", "NAME", "RUN ID", "TITLE")}
	if !w.loaded {
		return append(lines, nil, terminal.Text(terminal.Dim, "  reading…"))
	}
	if len(w.runs) == 0 {
		return append(lines, nil, terminal.Text(terminal.Dim, w.emptyText()))
	}
	room := w.listRows()
	w.top = max(min(w.top, w.at, len(w.runs)-room), w.at-room+1, 0)
	for i := w.top; i < min(len(w.runs), w.top+room); i++ {
		run := &w.runs[i]
		name := ""
		if run.AgentConfig != nil {
			name = shell.OneLine(run.AgentConfig.Name)
		}
		sign := " "
		if i == w.at {
			sign = "▸"
		}
		title := shell.OneLine(run.Title)
		if run.State == client.StateBlocked && reasonOf(run) != "" {
			title += " — " + shell.OneLine(reasonOf(run))
		}
		line := w.row(terminal.Plain, sign, shell.OneLine(string(run.State)), terminal.Style(stateStyle(run.State)), shortAge(w.sh.Now().Sub(run.UpdatedAt)), name, shell.OneLine(run.RunID), title)
		if i == w.at {
			line = line.Styled(terminal.Marked)
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *watcher) emptyText() string {
	if w.narrow != 0 || w.query.Query != "" {
		return "  no such runs; Esc clears the filter"
	}
	return `  no runs yet; start one: lineshaft run "what the agent should do"`
}

// row is one line of the list with the columns that fit.
func (w *watcher) row(style terminal.Style, sign, state string, stateIn terminal.Style, updated, name, id, title string) terminal.Line {
	line := terminal.Text(style, sign+" ").Add(stateIn, terminal.Pad(state, 10))
	line = line.Add(style, " "+terminal.Pad(updated, 8))
	if w.columns >= 70 {
		line = line.Add(style, terminal.Pad(name, 17)+" ")
	}
	if w.columns >= 120 {
		line = line.Add(style, terminal.Pad(id, 37)+" ")
	}
	return line.Add(style, terminal.Pad(title, max(w.columns-line.Width(), 1)))
}

// shortAge is how long ago something was, without words.
func shortAge(d time.Duration) string { return strings.TrimSuffix(shell.Age(max(d, 0)), " ago") }

// titleLine says what is shown and whether it is live.
func (w *watcher) titleLine() terminal.Line {
	parts := []string{"Runs"}
	if w.loaded {
		shown := fmt.Sprint(len(w.runs))
		if w.more {
			shown += "+"
		}
		parts[0] += " " + shown
	}
	if name := stateFilters()[w.narrow].name; name != "" {
		parts = append(parts, name)
	} else if len(w.query.States) > 0 {
		var names []string
		for _, state := range w.query.States {
			names = append(names, strings.ToLower(string(state)))
		}
		parts = append(parts, strings.Join(names, ", "))
	}
	if w.query.Query != "" {
		parts = append(parts, "“"+shell.OneLine(w.query.Query)+"”")
	}
	live := terminal.Text(terminal.Green, "● live")
	if w.offline != "" {
		live = terminal.Text(terminal.Red, spin(w.sh.Now())+" reconnecting: "+w.offline)
	}
	line := terminal.Text(terminal.Bold, strings.Join(parts, " · ")).Clip(w.columns * 2 / 3)
	live = live.Clip(w.columns - line.Width() - 2)
	return append(line.Add(terminal.Plain, strings.Repeat(" ", max(w.columns-line.Width()-live.Width(), 1))), live...)
}

// lastLine asks, reports, or lists the keys that fit.
func (w *watcher) lastLine() terminal.Line {
	switch {
	case w.asking != nil && w.asking.text == nil:
		return terminal.Text(terminal.Yellow.And(terminal.Bold), w.asking.prompt)
	case w.asking != nil:
		return terminal.Text(terminal.Yellow.And(terminal.Bold), w.asking.prompt).
			Add(terminal.Plain, w.asking.text.Show(max(w.columns-terminal.Width(w.asking.prompt)-1, 4)))
	case w.note != nil:
		return w.note
	case w.help:
		return terminal.Text(terminal.Dim, "any key goes back")
	}
	keys := []string{"? help", "q quit", "enter open", "c cancel", "f follow up", "/ find", "s state", "o browser"}
	if w.detail != nil {
		keys = []string{"? help", "q back", "↑↓ scroll", "f follow up", "c cancel", "o browser"}
	}
	line := terminal.Text(terminal.Dim, keys[0])
	for _, key := range keys[1:] {
		if line.Width()+3+terminal.Width(key) <= w.columns {
			line = line.Add(terminal.Dim, " · "+key)
		}
	}
	return line
}

func (w *watcher) helpLines() []terminal.Line {
	lines := []terminal.Line{terminal.Text(terminal.Bold, "Keys"), nil}
	for _, key := range [][2]string{
		{"j k ↑ ↓", "move; space, g and G: far"},
		{"enter", "open a run with its log"},
		{"q esc", "back; q in the list quits"},
		{"f", "send a message, or answer"},
		{"c", "cancel a run (asks first)"},
		{"o", "open it in the browser"},
		{"/", "find words"},
		{"s", "only some states, in turn"},
		{"r  ctrl-l", "reload, redraw"},
	} {
		lines = append(lines, terminal.Text(terminal.Cyan, "  "+terminal.Pad(key[0], 10)).Add(terminal.Plain, key[1]))
	}
	return lines
}
