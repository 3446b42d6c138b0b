package page

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// S-4: codes of terminals are left out, and nothing else.
func TestS4TextOfTerminals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                                "plain",
		"\x1b[31mred\x1b[0m":                   "red",
		"\x1b[38;5;12mx\x1b[K":                 "x",
		"\x1b]8;;javascript:x\alink\x1b]8;;\a": "link",
		"\x1b]0;title\x1b\\shell":              "shell",
		"\x1b]0;no end\nnext":                  "0;no end\nnext",
		"\x1b]0;a\x1b[31mb\a":                  "0;ab\a",
		"\x1b(Bx":                              "x",
		"\x1b=x":                               "x",
		"end\x1b":                              "end",
		"end\x1b[":                             "end",
		"\x1b[31\nkept":                        "\nkept",
		"a\r\nb\rc":                            "a\nb\nc",
		"a\x00b":                               "a\uFFFDb",
		"bad\xff":                              "bad\uFFFD",
		"\x1bé":                                "é",
		"\u202eabc":                            "\u202eabc",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got := OneLine(" a\n\tb  c ", 10); got != "a b c" {
		t.Errorf("%q", got)
	}
	if got := OneLine(strings.Repeat("é", 50), 10); got != "ééééééééé…" {
		t.Errorf("%q", got)
	}
}

// S-4: a cut text is valid and its rest is counted.
func FuzzShow(f *testing.F) {
	f.Add("abc", 3)
	f.Add("\x1b[31mé\x1b]8;;x\a", 9000)
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = strings.Repeat(text, max(0, min(times, 4*MaxShown/max(1, len(text)))))
		got := ShowText(text)
		if !utf8.ValidString(got.Text) || len(got.Text) > MaxShown || int64(len(Plain(text))) != int64(len(got.Text))+got.Left {
			t.Errorf("%d bytes become %d and %d", len(text), len(got.Text), got.Left)
		}
		if strings.ContainsAny(got.Text, "\x00\x1b\r") {
			t.Errorf("%q", got.Text)
		}
	})
}

func TestI2CellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		"Fix the build":          "Fix the build",
		"a-b = c":                "a-b = c",
		"=1+1":                   "'=1+1",
		" @x":                    " '@x",
		"\n=2\tb":                "'=2 b",
		"＝1+1":                   "'＝1+1",
		"Fix;=cmd|' /C calc'!A0": "Fix;'=cmd|' /C calc'!A0",
		"Fix; +1;-2":             "Fix; '+1;'-2",
		"two\r\nlines":           "two lines",
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
