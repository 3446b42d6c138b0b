package terminal_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/lineshaft/lineshaft/internal/terminal"
	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

func lines(texts ...string) []terminal.Line {
	var all []terminal.Line
	for _, text := range texts {
		all = append(all, terminal.Text(terminal.Plain, text))
	}
	return all
}

// sees fails unless the screen shows exactly a text.
func sees(t *testing.T, screen *terminaltest.Screen, want string) {
	t.Helper()
	if got := screen.Text(); got != want || len(screen.Mistakes()) > 0 {
		t.Errorf("the screen shows %q, want %q; mistakes %q", got, want, screen.Mistakes())
	}
}

func TestI1RegionStaysAtTheEnd(t *testing.T) {
	t.Parallel()
	screen := terminaltest.New(10, 5)
	region := terminal.NewRegion(screen, true)
	update := func(done, live []terminal.Line, want string) {
		t.Helper()
		if err := region.Update(10, done, live); err != nil {
			t.Fatal(err)
		}
		sees(t, screen, want)
	}
	update(nil, lines("wait"), "wait\n")
	update(lines("one"), lines("tool", "wait"), "one\ntool\nwait\n")
	update(lines("two", "three"), lines("wait"), "one\ntwo\nthree\nwait\n")
	update(lines("four", "five"), lines("x", "much too wide"), "one\ntwo\nthree\nfour\nfive\nx\nmuch too…\n")
	update(lines("six"), nil, "one\ntwo\nthree\nfour\nfive\nsix\n")
	update(nil, lines("again"), "one\ntwo\nthree\nfour\nfive\nsix\nagain\n")
}

// TestI1RegionOfANarrowerTerminal: what was drawn takes more rows now, and all of it goes.
func TestI1RegionOfANarrowerTerminal(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	region := terminal.NewRegion(&written, false)
	if err := errors.Join(region.Update(40, nil, lines("a line of thirty-one characters", "x")), region.Update(10, nil, lines("y"))); err != nil {
		t.Fatal(err)
	}
	if want := "a line of thirty-one characters\nx\r\x1b[4A\x1b[Jy"; written.String() != want {
		t.Errorf("%q, want %q", written.String(), want)
	}
	written.Reset()
	if err := region.Update(10, nil, lines("y")); err != nil || written.Len() > 0 {
		t.Errorf("what is the same was written again: %q, %v", written.String(), err)
	}
	if err := terminal.NewRegion(broken{}, false).Update(10, nil, lines("y")); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestI1ScreenIsGivenBack(t *testing.T) {
	t.Parallel()
	seen := terminaltest.New(20, 4)
	_, _ = seen.Write([]byte("before\n$ "))
	screen := terminal.NewScreen(seen, true)
	draw := func(cursor int, texts ...string) {
		t.Helper()
		if err := screen.Draw(20, 4, lines(texts...), cursor); err != nil {
			t.Fatal(err)
		}
	}
	draw(-1, "not open yet")
	sees(t, seen, "before\n$\n")
	screen.Open()
	screen.Open()
	draw(-1, "one", "two", "three", "four", "five does not fit")
	sees(t, seen, "one\ntwo\nthree\nfour\n")
	if !seen.Alternate() || !seen.CursorHidden() {
		t.Error("it is not the alternate screen, or shows the cursor")
	}
	draw(1, "one", "type here: ab")
	if x, y := seen.Cursor(); x != 13 || y != 1 || seen.CursorHidden() {
		t.Errorf("the cursor is at %d, %d", x, y)
	}
	sees(t, seen, "one\ntype here: ab\n")
	screen.Reset()
	sees(t, seen, "\n")
	draw(-1, "one", "a line that is wider than the screen")
	sees(t, seen, "one\na line that is wide…\n")
	screen.Close()
	screen.Close()
	screen.Reset()
	sees(t, seen, "before\n$\n")
	if seen.Alternate() || seen.CursorHidden() {
		t.Error("it was not given back")
	}
}

// TestI1ScreenWritesWhatChanged: an idle screen costs nothing.
func TestI1ScreenWritesWhatChanged(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	screen := terminal.NewScreen(&written, false)
	screen.Open()
	for range 2 {
		written.Reset()
		if err := screen.Draw(20, 3, lines("a", "b"), -1); err != nil {
			t.Fatal(err)
		}
	}
	if written.Len() > 0 {
		t.Errorf("%q", written.String())
	}
	if err := screen.Draw(20, 3, lines("a", "c"), -1); err != nil || written.String() != "\x1b[2;1H\x1b[2Kc\x1b[?25l" {
		t.Errorf("%q, %v", written.String(), err)
	}
	bad := terminal.NewScreen(broken{}, false)
	bad.Open()
	if err := bad.Draw(20, 3, lines("a"), -1); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}
