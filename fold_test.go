package lineshaft_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/lineshaft/lineshaft"
)

func TestF2NamesFoldFully(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"ΣΑΣ", "σας", "σασ"},
		{"STRASSE", "straße", "Straẞe"},
		{"Kelvin", "Kelvin"},
		{"ſhop", "Shop"},
		{"İx", "i̇X"},
		{"ﬁnal", "FINAL"},
		{"web-shop", "Web-Shop"},
	} {
		for _, other := range same {
			if !lineshaft.SameFolded(same[0], other) {
				t.Errorf("%q and %q: %q and %q", same[0], other, lineshaft.FoldCase(same[0]), lineshaft.FoldCase(other))
			}
		}
	}
	for _, differ := range [][2]string{{"shop", "shops"}, {"ı", "i"}, {"e", "é"}} {
		if lineshaft.SameFolded(differ[0], differ[1]) {
			t.Errorf("%q is %q", differ[0], differ[1])
		}
	}
	// All that the standard library takes for equal are, and folding twice is folding once.
	for r := rune(0); r <= unicode.MaxRune; r++ {
		s, folded := string(r), lineshaft.FoldCase(string(r))
		if twice := lineshaft.FoldCase(folded); twice != folded {
			t.Errorf("%q becomes %q, then %q", s, folded, twice)
		}
		if other := string(unicode.SimpleFold(r)); strings.EqualFold(s, other) && lineshaft.FoldCase(other) != folded {
			t.Errorf("%q and %q differ", s, other)
		}
	}
}
