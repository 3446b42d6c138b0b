package lineshaft

import (
	"testing"
	"unicode/utf8"
)

func TestCutBytesKeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	const text = "aé€😀"
	for most, want := range []string{"", "a", "a", "aé", "aé", "aé", "aé€", "aé€", "aé€", "aé€", text, text} {
		if got := CutBytes(text, most); got != want || !utf8.ValidString(got) {
			t.Errorf("%d bytes are %q, want %q", most, got, want)
		}
	}
}

func TestClipKeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	const text = "aé€😀"
	for most, want := range map[int]string{1: "…", 2: "a…", 3: "aé…", 4: text, 5: text} {
		if got := Clip(text, most); got != want {
			t.Errorf("%d characters: got %q, want %q", most, got, want)
		}
	}
}
