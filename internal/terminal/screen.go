package terminal

import (
	"fmt"
	"io"
	"strings"
)

// Screen is a whole terminal that a program draws, and gives back as it was.
type Screen struct {
	w      io.Writer
	styles bool
	rows   []string
	open   bool
}

// NewScreen draws to w once it is opened.
func NewScreen(w io.Writer, styles bool) *Screen { return &Screen{w: w, styles: styles} }

const (
	openScreen  = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
	closeScreen = "\x1b[0m\x1b[?25h\x1b[?1049l"
)

// Open takes the screen: what stands there comes back when it is closed.
func (s *Screen) Open() {
	if !s.open {
		s.open, s.rows = true, nil
		_, _ = io.WriteString(s.w, openScreen) // what cannot be written to, Draw will tell
	}
}

// Close gives the screen back. It may be called twice.
func (s *Screen) Close() {
	if s.open {
		s.open = false
		_, _ = io.WriteString(s.w, closeScreen) // the terminal may be gone by then
	}
}

// Reset makes the next drawing start from nothing, as after a change of size.
func (s *Screen) Reset() {
	s.rows = nil
	if s.open {
		_, _ = io.WriteString(s.w, "\x1b[H\x1b[2J")
	}
}

// Draw shows rows, the first at the top; only those that changed are written. The
// cursor is shown behind the row with that number, from 0, and nowhere when it is negative.
func (s *Screen) Draw(columns, height int, lines []Line, cursor int) error {
	if !s.open {
		return nil
	}
	var b strings.Builder
	rows := make([]string, height)
	for i := range rows {
		if i < len(lines) {
			rows[i] = lines[i].Clip(columns).String(s.styles)
		}
		if i < len(s.rows) && s.rows[i] == rows[i] {
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[2K%s", i+1, rows[i])
	}
	s.rows = rows
	if cursor >= 0 && cursor < min(height, len(lines)) {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", cursor+1, min(lines[cursor].Width()+1, columns))
	} else if b.Len() > 0 {
		b.WriteString("\x1b[?25l")
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(s.w, b.String())
	return err
}
