// Package terminaltest has a screen for tests: it takes what a program writes to a
// terminal and says what a person sees.
package terminaltest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/terminal"
)

// cell is one place of the screen.
type cell struct {
	text  string // a character and the marks over it; empty is blank or the right half of a wide one
	style string
	half  bool
}

// Screen is a terminal of a size. It knows what package terminal writes, and takes
// everything else that acts on a terminal as a mistake.
type Screen struct {
	columns, rows int
	grid          [][]cell
	x, y, marks   int
	style         string
	// scrolled is what left at the top.
	scrolled []string
	// other is the screen that the alternate one covers.
	other      *Screen
	hidden     bool
	pending    []byte
	mistakes   []string
	wrapNext   bool
	showStyles bool
}

// New makes an empty screen.
func New(columns, rows int) *Screen {
	s := &Screen{columns: columns, rows: rows}
	s.grid = s.blank(rows)
	return s
}

// ShowStyles makes Text tell styles in angle brackets.
func (s *Screen) ShowStyles() *Screen { s.showStyles = true; return s }

func (s *Screen) blank(rows int) [][]cell {
	grid := make([][]cell, rows)
	for i := range grid {
		grid[i] = make([]cell, s.columns)
	}
	return grid
}

// Resize changes the size as terminals do that do not join broken lines again.
func (s *Screen) Resize(columns, rows int) {
	for s.y >= rows {
		s.scroll()
		s.y--
	}
	s.columns, s.rows = columns, rows
	grid := s.blank(rows)
	for i := range min(rows, len(s.grid)) {
		copy(grid[i], s.grid[i])
	}
	s.grid, s.x = grid, min(s.x, columns-1)
}

// Write takes what a program wrote. A line feed also returns, as terminals are set up.
func (s *Screen) Write(p []byte) (int, error) {
	data := append(s.pending, p...)
	s.pending = nil
	for len(data) > 0 {
		n := s.one(data)
		if n == 0 {
			s.pending = append([]byte(nil), data...)
			break
		}
		data = data[n:]
	}
	return len(p), nil
}

// one takes a character or a sequence and returns its size; 0 when its end is missing.
func (s *Screen) one(data []byte) int {
	switch data[0] {
	case 0x1b:
		return s.escape(data)
	case '\n', '\r':
		if s.x, s.wrapNext = 0, false; data[0] == '\n' {
			s.down()
		}
		return 1
	case '\t':
		s.x = min(s.x+8-s.x%8, s.columns-1)
		return 1
	}
	if !utf8.FullRune(data) {
		return 0
	}
	r, size := utf8.DecodeRune(data)
	if r < 0x20 || r >= 0x7f && r < 0xa0 {
		s.mistakes = append(s.mistakes, fmt.Sprintf("control character %q", r))
		return size
	}
	s.put(r)
	return size
}

func (s *Screen) put(r rune) {
	width := terminal.RuneWidth(r)
	if width == 0 {
		if s.x > 0 || s.wrapNext {
			at := s.x - 1
			if s.wrapNext {
				at = s.x
			}
			s.grid[s.y][at].text += string(r)
		}
		return
	}
	if s.wrapNext || s.x+width > s.columns {
		s.x, s.wrapNext = 0, false
		s.down()
	}
	s.grid[s.y][s.x] = cell{text: string(r), style: s.style}
	if width == 2 && s.x+1 < s.columns {
		s.grid[s.y][s.x+1] = cell{half: true, style: s.style}
	}
	if s.x+width >= s.columns {
		s.x, s.wrapNext = s.columns-1, true
		return
	}
	s.x += width
}

func (s *Screen) down() {
	if s.y == s.rows-1 {
		s.scroll()
		return
	}
	s.y++
}

func (s *Screen) scroll() {
	if s.other == nil { // what leaves the alternate screen is gone
		s.scrolled = append(s.scrolled, s.row(s.grid[0]))
	}
	s.grid = append(s.grid[1:], make([]cell, s.columns))
}

// escape takes a control sequence.
func (s *Screen) escape(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	if data[1] != '[' {
		s.mistakes = append(s.mistakes, fmt.Sprintf("sequence %q", data[:2]))
		return 2
	}
	end := 2
	for end < len(data) && (data[end] < 0x40 || data[end] > 0x7e) {
		end++
	}
	if end == len(data) {
		return 0
	}
	s.control(string(data[2:end]), data[end])
	return end + 1
}

func (s *Screen) control(parameters string, final byte) {
	var first, second int
	_, _ = fmt.Sscanf(parameters, "%d;%d", &first, &second) // what is left out is 0
	switch {
	case final == 'm':
		if s.style = parameters; parameters == "0" {
			s.style = ""
		}
		return
	case final == 'n' && parameters == "?1": // no program writes it; see whole
		s.marks++
		return
	case final == 'A':
		s.y = max(0, s.y-max(1, first))
	case final == 'H':
		s.y, s.x = min(max(first, 1), s.rows)-1, min(max(second, 1), s.columns)-1
	case final == 'J' && parameters == "":
		s.clear(s.y, s.x)
	case final == 'J' && parameters == "2":
		s.grid = s.blank(s.rows)
	case final == 'K' && parameters == "2":
		s.grid[s.y] = make([]cell, s.columns)
	case parameters == "?25":
		s.hidden = final == 'l'
	case parameters == "?1049":
		s.alternate(final == 'h')
	default:
		s.mistakes = append(s.mistakes, fmt.Sprintf("sequence ESC [ %s %c", parameters, final))
	}
	s.wrapNext = false
}

func (s *Screen) clear(y, x int) {
	for i := x; i < s.columns; i++ {
		s.grid[y][i] = cell{}
	}
	for i := y + 1; i < s.rows; i++ {
		s.grid[i] = make([]cell, s.columns)
	}
}

// alternate covers the screen with another, or uncovers it.
func (s *Screen) alternate(on bool) {
	switch {
	case on && s.other == nil:
		was := *s
		s.other, s.grid, s.x, s.y = &was, s.blank(s.rows), 0, 0
	case !on && s.other != nil:
		was := s.other
		s.grid, s.x, s.y, s.other = was.grid, was.x, was.y, nil
	}
}

// Alternate says that the alternate screen is shown.
func (s *Screen) Alternate() bool { return s.other != nil }

// CursorHidden says that the cursor is not shown.
func (s *Screen) CursorHidden() bool { return s.hidden }

// Cursor is where the next character goes, from 0.
func (s *Screen) Cursor() (column, row int) { return s.x, s.y }

// Mistakes are what was written that no program should write.
func (s *Screen) Mistakes() []string { return s.mistakes }

// Text is what a person sees, with what scrolled away before. Blank rows at the end are
// left out.
func (s *Screen) Text() string {
	lines := append([]string(nil), s.scrolled...)
	if s.other != nil {
		lines = nil
	}
	for _, row := range s.grid {
		lines = append(lines, s.row(row))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// row is one row as text.
func (s *Screen) row(row []cell) string {
	last := len(row)
	for last > 0 && row[last-1].text == "" && !row[last-1].half {
		last--
	}
	var b strings.Builder
	style := ""
	for _, c := range row[:last] {
		if s.showStyles && c.style != style {
			if style != "" {
				b.WriteString("</>")
			}
			if c.style != "" {
				b.WriteString("<" + c.style + ">")
			}
			style = c.style
		}
		switch {
		case c.half:
		case c.text == "":
			b.WriteByte(' ')
		default:
			b.WriteString(c.text)
		}
	}
	if style != "" {
		b.WriteString("</>")
	}
	return strings.TrimRight(b.String(), " ")
}
