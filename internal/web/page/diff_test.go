package page

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What a diff keeps and removes is the old text, what it keeps and adds the new one.
func TestI2DiffsAreTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", ""})
		a, b := rapid.SliceOfN(line, 0, 30).Draw(t, "a"), rapid.SliceOfN(line, 0, 30).Draw(t, "b")
		var before, after []string
		for _, l := range compare(a, b) {
			if l.Sign != "+" {
				before = append(before, l.Text)
			}
			if l.Sign != "-" {
				after = append(after, l.Text)
			}
		}
		if strings.Join(before, "\n") != strings.Join(a, "\n") || strings.Join(after, "\n") != strings.Join(b, "\n") {
			t.Fatalf("%q and %q become %q and %q", a, b, before, after)
		}
	})
}
