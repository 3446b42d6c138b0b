package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

const (
	// refreshAfter lets changes that come together be one look at the list, and
	// refreshEvery finds what no change told.
	refreshAfter = 300 * time.Millisecond
	refreshEvery = 5 * time.Second
	// longestOffline is the pause between two attempts to reach the server.
	longestOffline = 8 * time.Second
)

// watcher is `runs watch`: what it knows and what it shows. One goroutine, in loop, owns
// all of it; the others bring news as functions that it calls.
type watcher struct {
	sh     *shell
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

	ctx   context.Context //nolint:containedctx // it is that of one command, for what keys start
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
func (sh *shell) watchScreen(ctx context.Context, c *client.Client, query client.RunQuery) error {
	input := sh.typing()
	if input == nil {
		return usage("`lineshaft runs watch` needs keys, and standard input is not a terminal of its own", "Run it in the foreground, or use `lineshaft runs list`.")
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{
		sh: sh, c: c, screen: terminal.NewScreen(sh.out, sh.colours()), input: input, motion: sh.motion(), query: query, ctx: ctx,
		news: make(chan func()), crash: make(chan string, 1), due: sh.now(),
	}
	defer w.work.Wait()
	defer cancel()
	defer w.motion.stop()
	defer w.input.Restore()
	defer w.screen.Close() // also when it panics: nobody could read why
	w.measure()
	w.screen.Open()
	w.start(func() {
		_ = input.Read(ctx.Done(), func(k terminal.Key) { w.post(func() { w.key(k) }) }) //nolint:contextcheck // keys act under w.ctx; a terminal that is gone hangs up, too
	})
	w.start(w.follow)
	return w.loop()
}

// start does something beside. What panics there ends the command after the terminal
// was given back: nobody could read why otherwise.
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
			return failure(nil, "a mistake of lineshaft itself: "+reason, "Please report it with these lines.")
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
	w.columns, w.rows = max(w.sh.deps.Width(w.sh.out), 20), max(w.sh.rows(), 4)
	if w.detail != nil {
		w.detail.session.columns = w.columns
	}
}

// follow hears of changes until the command ends; the list is read again for each.
func (w *watcher) follow() {
	query := w.query
	query.States = nil // a run that leaves the states that are shown must go
	pause := time.Second / 2
	for {
		for change, err := range w.c.Runs.StreamStates(w.ctx, query) {
			if err != nil {
				reason := w.sh.explain(err).message
				w.post(func() { w.offline, w.due = reason, w.sh.now() })
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
	w.due = earlier(w.due, w.sh.now().Add(refreshAfter))
	var data client.StateData
	if e.Decode(&data) != nil {
		return // the list will tell
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
	if w.reading || w.sh.now().Before(w.due) {
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
	w.reading, w.due = false, w.sh.now().Add(refreshEvery)
	if apiErr, ok := errors.AsType[*client.Error](err); ok && apiErr.Status < http.StatusInternalServerError && apiErr.Status != http.StatusTooManyRequests {
		w.failed, w.quit = err, true // trying again does not mend it
		return
	}
	if err != nil {
		w.offline, w.due = w.sh.explain(err).message, w.sh.now().Add(time.Second)
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
func (w *watcher) again() { w.due = w.sh.now() }

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
