package cli

import (
	"context"
	"strings"

	"github.com/lineshaft/lineshaft/client"
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
		w.tell(terminal.Red, w.sh.explain(err).message)
		return
	}
	w.act("opening the browser…", func(ctx context.Context) (string, error) {
		if err := w.sh.deps.OpenURL(ctx, link.String()); err != nil {
			return "", failure(err, "the browser could not be started; open "+link.String(), "")
		}
		return "opened " + link.String(), nil
	})
}

// act does something to a run and tells what became of it.
func (w *watcher) act(doing string, do func(context.Context) (string, error)) {
	w.tell(terminal.Dim, doing)
	w.start(func() {
		text, err := do(w.ctx)
		w.post(func() {
			if err != nil {
				w.tell(terminal.Red, w.sh.explain(err).message)
				return
			}
			w.tell(terminal.Green, text)
			w.again()
		})
	})
}

// tell puts a remark on the last line, until the next key.
func (w *watcher) tell(style terminal.Style, text string) {
	w.note = terminal.Text(style, oneLine(text))
}

func quoteTitle(run *client.Run) string {
	title := oneLine(run.Title)
	if title == "" {
		title = oneLine(run.RunID)
	}
	return "“" + terminal.Clip(title, 30) + "”"
}
