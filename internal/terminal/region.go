package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Region is the end of what a command writes to a terminal: lines that are for good
// scroll away above it, and a few lines below them are drawn again and again. The cursor
// rests behind its last line.
type Region struct {
	w      io.Writer
	styles bool
	drawn  []Line
}

// NewRegion draws to w.
func NewRegion(w io.Writer, styles bool) *Region { return &Region{w: w, styles: styles} }

// Update writes lines for good and draws the region again, in one piece so that nothing
// flickers. The columns are those of now: a terminal that became narrower has broken
// what was drawn into more rows.
func (r *Region) Update(columns int, done, live []Line) error {
	var cut []Line
	for _, line := range live {
		cut = append(cut, line.Clip(columns-1)) // a full line would leave the cursor in doubt
	}
	if len(done) == 0 && slices.EqualFunc(cut, r.drawn, slices.Equal) {
		return nil
	}
	var b strings.Builder
	b.WriteString(r.erase(columns))
	for _, line := range done {
		b.WriteString(line.String(r.styles) + "\n")
	}
	for i, line := range cut {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(line.String(r.styles))
	}
	r.drawn = cut
	_, err := io.WriteString(r.w, b.String())
	return err
}

// erase goes back to where the region begins and clears from there.
func (r *Region) erase(columns int) string {
	if len(r.drawn) == 0 {
		return ""
	}
	rows := 0
	for _, line := range r.drawn {
		rows += max(1, (line.Width()+columns-1)/max(columns, 1))
	}
	if rows == 1 {
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows-1)
}

// maxEdit bounds what a person, or something that is pasted, can type.
const maxEdit = 8 << 10

// Edit is a line that a person types.
type Edit struct{ text string }

// Key takes a key and says whether it changed the line.
func (e *Edit) Key(k Key) bool {
	was := e.text
	switch {
	case k.Name == "" && len(e.text)+utf8.RuneLen(k.Rune) <= maxEdit:
		e.text += string(k.Rune)
	case k.Name == KeyBackspace:
		_, size := utf8.DecodeLastRuneInString(e.text)
		e.text = e.text[:len(e.text)-size]
	case k.Name == KeyClear:
		e.text = ""
	case k.Name == KeyWord:
		kept := strings.TrimRight(e.text, " ")
		e.text = kept[:strings.LastIndexByte(kept, ' ')+1]
	}
	return e.text != was
}

// Text is what was typed.
func (e *Edit) Text() string { return e.text }

// Show is the end of the line as far as it fits.
func (e *Edit) Show(columns int) string {
	from := len(e.text)
	for used := 0; from > 0; {
		r, size := utf8.DecodeLastRuneInString(e.text[:from])
		if used += RuneWidth(r); used > columns {
			break
		}
		from -= size
	}
	return e.text[from:]
}

// Signal is something that happens to a program on a terminal.
type Signal int

// The signals. After SignalSuspend the program gives the terminal back and calls Suspend;
// after SignalEnd it gives it back and ends.
const (
	SignalResize Signal = iota
	SignalSuspend
	SignalEnd
)
