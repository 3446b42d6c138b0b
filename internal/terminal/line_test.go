package terminal_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/lineshaft/lineshaft/internal/terminal"
	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

func TestWidths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "abc": 3, "größe": 5, "日本": 4, "e\u0301": 1, "✓": 1, "🚀": 2, "ｆｕｌｌ": 8, "한국": 4, "a\u200db": 2, "☑▸☐": 3, "\ufe0f": 0,
	} {
		if got := terminal.Width(text); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
	for _, tc := range []struct {
		text    string
		columns int
		clip    string
		pad     string
	}{
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "ab…", "ab…"},
		{"日本語", 5, "日本…", "日本…"},
		{"日本語", 4, "日…", "日… "},
		{"ab", 4, "ab", "ab  "},
		{"ab", 1, "…", "…"},
		{"ab", 0, "ab", ""},
	} {
		if clip, pad := terminal.Clip(tc.text, tc.columns), terminal.Pad(tc.text, tc.columns); clip != tc.clip || pad != tc.pad {
			t.Errorf("%q to %d: %q and %q, want %q and %q", tc.text, tc.columns, clip, pad, tc.clip, tc.pad)
		}
	}
}

func TestStyles(t *testing.T) {
	t.Parallel()
	line := terminal.Text(terminal.Bold, "a").Add(terminal.Bold, "b").Add(terminal.Plain, " c").Add(terminal.Red, "").Add(terminal.Dim, "d\te\nf")
	if got := line.String(true); got != "\x1b[1mab\x1b[0m c\x1b[2md    e f\x1b[0m" {
		t.Errorf("%q", got)
	}
	if got := line.String(false); got != "ab cd    e f" {
		t.Errorf("%q", got)
	}
	if got := line.Styled(terminal.Marked).Clip(4).String(true); got != "\x1b[1;7mab\x1b[0m\x1b[7m …\x1b[0m" {
		t.Errorf("%q", got)
	}
	if line.Clip(0) != nil || terminal.Bold.And(terminal.Bold) != terminal.Bold || terminal.Plain.And(terminal.Dim) != terminal.Dim || terminal.Dim.And(terminal.Plain) != terminal.Dim {
		t.Error("styles that are one")
	}
	// A line that shares its beginning with another keeps its own end.
	first := terminal.Text(terminal.Plain, "x")
	one, two := first.Add(terminal.Plain, "1"), first.Add(terminal.Plain, "2")
	if one.String(false)+two.String(false) != "x1x2" {
		t.Errorf("%q %q", one.String(false), two.String(false))
	}
}

// show joins lines.
func show(lines []terminal.Line, styles bool) string {
	var all []string
	for _, line := range lines {
		all = append(all, line.String(styles))
	}
	return strings.Join(all, "\n")
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text    string
		columns int
		indent  string
		want    string
	}{
		{"one two three", 7, "", "one two\nthree"},
		{"one two three", 7, "  ", "one two\n  three"},
		{"  one  two", 20, "", "  one  two"},
		{"abcdefghij", 4, "", "abcd\nefgh\nij"},
		{"ab abcdefghij", 4, "> ", "ab\n> ab\n> cd\n> ef\n> gh\n> ij"},
		{"日本語日本語", 5, "", "日本\n語日\n本語"},
		{"", 5, "  ", ""},
		{"x", 0, "        ", "x"},
		{"one   two", 5, "", "one\ntwo"},
	} {
		if got := show(terminal.Wrap(terminal.Text(terminal.Plain, tc.text), tc.columns, tc.indent), false); got != tc.want {
			t.Errorf("%q in %d: %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
	styled := terminal.Text(terminal.Plain, "The ").Add(terminal.Bold, "bug").Add(terminal.Plain, "s are here")
	if got := show(terminal.Wrap(styled, 9, ""), true); got != "The \x1b[1mbug\x1b[0ms\nare here" {
		t.Errorf("%q", got)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"paragraph", "one\ntwo\n\n\n\nthree", "one two\n\nthree"},
		{"heading", "## What ##\ntext", "<b>What</b>\ntext"},
		{"bold and code", "a **b** `c` __d__ *e* snake_case_x", "a <b>b</b> <c>c</c> <b>d</b> *e* snake_case_x"},
		{"lists", "- one\n* two\n  - deep\n10. ten", "• one\n• two\n  • deep\n10. ten"},
		{"list that wraps", "- " + strings.Repeat("word ", 9), "• word word word word word word word word\n  word"},
		{"fence", "```go\n**not** bold\n```\nafter", "<c>  **not** bold</c>\nafter"},
		{"fence without end", "~~~\nx", "<c>  x</c>"},
		{"quote", "> one\n> two\nthree", "<d>│ one two three</d>"},
		{"rule", "a\n\n---\n\nb", "a\n\n<d>────────────────────────</d>\n\nb"},
		{"table", "| a | b |\n|---|---|", "| a | b |\n|---|---|"},
		{"indented", "x\n\n    code **x**", "x\n\n    code **x**"},
		{"links", "[a](https://a.example) [https://b.example](https://b.example) [c](javascript:x)", "a (https://a.example) https://b.example\n[c](javascript:x)"},
		{"hostile", "# \x1b[2J\x1b]52;c;eA==\x07x\x9b", "<b>x�</b>"},
	} {
		styled := strings.NewReplacer("<b>", "\x1b[1m", "<c>", "\x1b[36m", "<d>", "\x1b[2m", "</b>", "\x1b[0m", "</c>", "\x1b[0m", "</d>", "\x1b[0m").Replace(tc.want)
		if got := show(terminal.Markdown(tc.text, 41, true), true); got != styled {
			t.Errorf("%s: %q, want %q", tc.name, got, styled)
		}
	}
	if got := show(terminal.Markdown("a **b** `c`", 40, false), false); got != "a b `c`" {
		t.Errorf("without styles: %q", got)
	}
}

// FuzzLines: whatever the text, no line is wider than it may be and nothing acts on the
// terminal.
func FuzzLines(f *testing.F) {
	f.Add("# a **b** `c`\n- \x1b[2J\x1b]0;t\x07 日本\n```\n\tx", uint8(20))
	f.Add("> \u202e\u0301\u0301 [x](http://y)\r\n1. 🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀", uint8(3))
	f.Add("   "+strings.Repeat("0", 50), uint8(2))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		columns := max(int(size), 2)
		lines := terminal.Markdown(text, columns, true)
		lines = append(lines, terminal.Wrap(terminal.Text(terminal.Dim, text), columns, "  ")...)
		for _, line := range lines {
			plain := line.String(false)
			if line.Width() > columns || strings.ContainsFunc(plain, unicode.IsControl) {
				t.Fatalf("%q in %d columns: %q", text, columns, plain)
			}
			screen := terminaltest.New(columns+1, 3)
			_, _ = screen.Write([]byte(line.String(true)))
			if _, row := screen.Cursor(); row != 0 || len(screen.Mistakes()) > 0 {
				t.Fatalf("%q moved to row %d: %q", plain, row, screen.Mistakes())
			}
		}
	})
}
