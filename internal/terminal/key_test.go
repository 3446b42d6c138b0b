package terminal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/terminal"
)

// names writes keys down.
func names(keys []terminal.Key) string {
	var all []string
	for _, k := range keys {
		if k.Name != "" {
			all = append(all, "<"+string(k.Name)+">")
			continue
		}
		all = append(all, string(k.Rune))
	}
	return strings.Join(all, "")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		data       string
		last       bool
		want, rest string
	}{
		{"aé日", false, "aé日", ""},
		{"\r\n\t\x7f\x08\x15\x17\x0c", false, "<enter><enter><tab><backspace><backspace><clear><word><redraw>", ""},
		{"\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~", false, "<up><down><page up><page down><home><end>", ""},
		{"\x1b[1;5Cx", false, "<other>x", ""},
		{"\x1b", false, "", "\x1b"},
		{"\x1b", true, "<escape>", ""},
		{"\x1b[", false, "", "\x1b["},
		{"\x1b[1", true, "<other>", ""},
		{"\x1bq", false, "<escape>q", ""},
		{"\x1b[" + strings.Repeat("1;", 40), false, "<other>", ""},
		{"\xe6\x97", false, "", "\xe6\x97"},
		{"\xe6\x97", true, "<other><other>", ""},
		{"\x00\x1f", false, "<other><other>", ""},
	} {
		keys, rest := terminal.DecodeKeys(tc.data, tc.last)
		if got := names(keys); got != tc.want || rest != tc.rest {
			t.Errorf("%q: %s and %q, want %s and %q", tc.data, got, rest, tc.want, tc.rest)
		}
	}
}

// FuzzKeys: pieces come to the same as the whole, and all is taken in the end.
func FuzzKeys(f *testing.F) {
	f.Add("a\x1b[A\xe6\x97\xa5\x1b", 3)
	f.Fuzz(func(t *testing.T, data string, cut int) {
		if cut < 0 || cut > len(data) {
			return
		}
		whole, left := terminal.DecodeKeys(data, true)
		if left != "" {
			t.Fatalf("%q leaves %q", data, left)
		}
		first, rest := terminal.DecodeKeys(data[:cut], false)
		second, _ := terminal.DecodeKeys(rest+data[cut:], true)
		if got := slices.Concat(first, second); len(data) < 30 && names(got) != names(whole) {
			t.Fatalf("%q cut at %d: %s, want %s", data, cut, names(got), names(whole))
		}
	})
}

func TestEdit(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"hello": "hello", "né\x7f!": "n!", "\x7f": "", "one two\x17": "one ", "one two  \x17": "one ", "x\x17": "", "one\x15two": "two", "a\x1b[Ab\t": "ab",
	} {
		var e terminal.Edit
		keys, _ := terminal.DecodeKeys(typed, true)
		for _, k := range keys {
			e.Key(k)
		}
		if e.Text() != want {
			t.Errorf("%q: %q, want %q", typed, e.Text(), want)
		}
	}
	var e terminal.Edit
	for range 4000 {
		e.Key(terminal.Key{Rune: '日'})
	}
	if len(e.Text()) > 8<<10 || e.Key(terminal.Key{Rune: 'x'}) && len(e.Text()) > 8<<10 {
		t.Errorf("%d bytes", len(e.Text()))
	}
	if got := e.Show(5); got != "日日x" {
		t.Error(got)
	}
	if e.Key(terminal.Key{Name: terminal.KeyUp}) || !e.Key(terminal.Key{Name: terminal.KeyClear}) {
		t.Error(fmt.Sprint("what changed: ", e.Text()))
	}
}
