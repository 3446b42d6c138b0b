package shell

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestS2Clean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\n":                          "plain\ttext\n",
		"größer ✓ 日本":                            "größer ✓ 日本",
		"\x1b[31mred\x1b[0m":                     "red",
		"\x1b]0;title\x07after":                  "after",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x07": "link",
		"\x1b]0;never ends":                      "0;never ends",
		"\x1b[2J\x1b[H\x1bcgone":                 "gone",
		"\x1b":                                   "",
		"\x1b[":                                  "",
		"a\r\nb\rc":                              "a\nb\nc",
		"bell\a null\x00 del\x7f":                "bell� null� del�",
		"c1 \u009b31m":                           "c1 �31m",
		"abc\u202edef":                           "abc�def",
	} {
		if got := Clean(text); got != want {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestS2HarmlessKeepsColours(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\x1b[31mred\x1b[0m\n":           "\x1b[31mred\x1b[0m\n",
		"\x1b[1;38:5:9mbold":             "\x1b[1;38:5:9mbold\x1b[0m",
		"\x1b[31mred\n":                  "\x1b[31mred\x1b[0m\n",
		"\x1b[31mred\x1b[mplain\n":       "\x1b[31mred\x1b[mplain\n",
		"\x1b[2J\x1b]0;t\x07\x1b[10;1Hx": "x",
		"10%\r20%\r\n":                   "10%\n20%\n",
		"":                               "",
	} {
		if got := Harmless(text, true); got != want {
			t.Errorf("harmless(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Harmless("\x1b[31mred", false); got != "red" {
		t.Errorf("without colours: %q", got)
	}
}

func FuzzHarmless(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;x\x07 \x1b[2J \r\n")
	f.Add("\x1b]\x1b[\x1b\x1b\\")
	colours := regexp.MustCompile(`\x1b\[[0-9;:]*m`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{Clean(text), colours.ReplaceAllString(Harmless(text, true), "")} {
			if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) {
				t.Fatalf("%q became %q", text, got)
			}
		}
	})
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text    string
		columns int
		want    string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"größe", 4, "grö…"}, {"abc", 1, "…"}, {"abc", 0, "abc"}, {"", 2, ""}} {
		if got := Clip(tc.text, tc.columns); got != tc.want {
			t.Errorf("clip(%q, %d) = %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"0s", "now"},
		{"900ms", "now"},
		{"1s", "1s ago"},
		{"59s", "59s ago"},
		{"90s", "1m ago"},
		{"1h", "1h ago"},
		{"47h", "47h ago"},
		{"48h", "2d ago"},
		{"-1m", "in 1m"},
		{"-72h", "in 3d"},
	} {
		d, err := time.ParseDuration(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Age(d); got != tc.want {
			t.Errorf("age(%v) = %q, want %q", d, got, tc.want)
		}
	}
}

func TestOnlyTerminalsHaveAWidth(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if TerminalWidth(&bytes.Buffer{}) != 0 || TerminalWidth(null) != 0 {
		t.Error("a buffer or the null device counts as a terminal")
	}
}
