package catalog

import (
	"slices"
	"strings"
	"testing"
)

// Backticks that nothing closes stand for themselves, however many there are: each length is
// looked for once. With the square of this text the test would take a minute.
func TestH14MentionsBesideManyBackticks(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("@first ")
	for length := range 6000 {
		text.WriteString(strings.Repeat("`", length+1) + " ")
	}
	text.WriteString("@last")
	if got, want := mentions(text.String(), githubMention), []string{"first", "last"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for text, want := range map[string][]string{
		"`@a` @b":             {"b"},
		"``@a` @b`` @c":       {"c"},
		"`@a @b":              {"a", "b"},
		"``` @a `` @b ``` @c": {"c"},
	} {
		if got := mentions("x "+text, githubMention); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
