package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// draw shows everything anew; the screen writes what changed.
func (w *watcher) draw() error {
	var lines []terminal.Line
	switch {
	case w.help:
		lines = w.helpLines()
	case w.detail != nil:
		lines = w.detail.lines(w.columns, w.rows-1, w.sh.now())
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
			name = oneLine(run.AgentConfig.Name)
		}
		sign := " "
		if i == w.at {
			sign = "▸"
		}
		title := oneLine(run.Title)
		if run.State == client.StateBlocked && reasonOf(run) != "" {
			title += " — " + oneLine(reasonOf(run))
		}
		line := w.row(terminal.Plain, sign, oneLine(string(run.State)), terminal.Style(stateStyle(run.State)), shortAge(w.sh.now().Sub(run.UpdatedAt)), name, oneLine(run.RunID), title)
		if i == w.at {
			line = line.Styled(terminal.Marked)
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *watcher) emptyText() string {
	if w.narrow != 0 || w.query.Query != "" {
		return "  no such runs; Esc takes the filter away"
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
func shortAge(d time.Duration) string { return strings.TrimSuffix(age(max(d, 0)), " ago") }

// titleLine tells what is shown and whether it is live.
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
		parts = append(parts, "“"+oneLine(w.query.Query)+"”")
	}
	live := terminal.Text(terminal.Green, "● live")
	if w.offline != "" {
		live = terminal.Text(terminal.Red, spin(w.sh.now())+" reconnecting: "+w.offline)
	}
	line := terminal.Text(terminal.Bold, strings.Join(parts, " · ")).Clip(w.columns * 2 / 3)
	live = live.Clip(w.columns - line.Width() - 2)
	return append(line.Add(terminal.Plain, strings.Repeat(" ", max(w.columns-line.Width()-live.Width(), 1))), live...)
}

// lastLine asks, tells, or lists the keys that fit.
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
		{"q esc", "back; q on the list ends"},
		{"f", "send a message, or answer"},
		{"c", "cancel a run (asks first)"},
		{"o", "show it in the browser"},
		{"/", "find words"},
		{"s", "only some states, in turn"},
		{"r  ctrl-l", "read anew, draw anew"},
	} {
		lines = append(lines, terminal.Text(terminal.Cyan, "  "+terminal.Pad(key[0], 10)).Add(terminal.Plain, key[1]))
	}
	return lines
}
