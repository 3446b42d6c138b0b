package terminaltest_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

// TestScreen: the screen shows what a terminal would, or the tests that trust it are
// worth nothing.
func TestScreen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, written, want string
	}{
		{"lines", "one\ntwo\n", "one\ntwo\n"},
		{"a line that is too long", "abcdefghij12", "abcdefghij\n12\n"},
		{"one that just fits", "abcdefghij\nx", "abcdefghij\nx\n"},
		{"writing over", "abc\rX", "Xbc\n"},
		{"what scrolls away", "1\n2\n3\n4\n5", "1\n2\n3\n4\n5\n"},
		{"up and erase", "1\n2\n3\r\x1b[2A\x1b[JX", "X\n"},
		{"a place", "\x1b[2;3Hx\x1b[1;1Hy", "y\n  x\n"},
		{"a place outside", "\x1b[99;99Hx", "\n\n\n         x\n"},
		{"erase a row", "abc\x1b[2K", "\n"},
		{"wide at the edge", "123456789日", "123456789\n日\n"},
		{"marks", "e\u0301x", "e\u0301x\n"},
		{"tabs", "a\tb", "a       b\n"},
		{"alternate", "main\x1b[?1049halt\n1\n2\n3\n4\x1b[?1049l!", "main!\n"},
		{"within the alternate", "main\x1b[?1049h\x1b[Halt", "alt\n"},
	} {
		whole, pieces := terminaltest.New(10, 4), terminaltest.New(10, 4)
		_, _ = whole.Write([]byte(tc.written))
		for i := range len(tc.written) {
			_, _ = pieces.Write([]byte(tc.written[i : i+1]))
		}
		if whole.Text() != tc.want || pieces.Text() != whole.Text() || len(whole.Mistakes()) > 0 {
			t.Errorf("%s: %q, in pieces %q, want %q; mistakes %q", tc.name, whole.Text(), pieces.Text(), tc.want, whole.Mistakes())
		}
	}
}

func TestScreenStyles(t *testing.T) {
	t.Parallel()
	s := terminaltest.New(20, 2).ShowStyles()
	_, _ = s.Write([]byte("a\x1b[1mb\x1b[31mc\x1b[0md"))
	if got := s.Text(); got != "a<1>b</><31>c</>d\n" {
		t.Errorf("%q", got)
	}
}

// TestScreenTellsMistakes: what could act on a terminal is not overlooked.
func TestScreenTellsMistakes(t *testing.T) {
	t.Parallel()
	for _, written := range []string{"\x07", "\x1b]0;t\x07", "\x1b[5n", "\x1b[?2004h", "\x1bc", "\x00", "\u009b31m", "\x7f"} {
		s := terminaltest.New(10, 2)
		_, _ = s.Write([]byte(written))
		if len(s.Mistakes()) == 0 {
			t.Errorf("%q is no mistake", written)
		}
	}
}

func TestScreenIsResized(t *testing.T) {
	t.Parallel()
	s := terminaltest.New(10, 4)
	_, _ = s.Write([]byte("1\n2\n3\nabcdefgh"))
	s.Resize(5, 2)
	if got := s.Text(); !strings.HasPrefix(got, "1\n2\n3\n") || !strings.HasSuffix(got, "abcde\n") {
		t.Errorf("%q", got)
	}
	_, _ = s.Write([]byte("\r\x1b[?25lxy"))
	if x, y := s.Cursor(); x != 2 || y != 1 || !s.CursorHidden() || s.Alternate() {
		t.Errorf("the cursor is at %d, %d", x, y)
	}
}
