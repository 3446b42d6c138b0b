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
