package filter_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// Few keys and values in several spellings make agreement and near misses frequent.
var (
	keyTexts = rapid.SampledFrom([]string{`"a"`, `"a"`, `"b"`, `"\u0061"`, `"a.b"`, `""`, `"é"`, `"\u00e9"`, `"c"`, `"d"`, `"e"`, `"f"`, `"g"`})
	scalars  = rapid.SampledFrom([]string{
		`"x"`, `"\u0078"`, `"X"`, `""`, `"\ud800"`, `"\ufffd"`, `"�"`, `"\ud83d\ude00"`, `"😀"`, `"1"`, `"null"`, `"long enough to take more than eight bytes"`,
		`1`, `1.0`, `1e0`, `10e-1`, `0`, `-0`, `0.0e5`, `-1`, `9007199254740992`, `9007199254740993`, `9007199254740993.0`, `90071992547409930e-1`,
		`1e999999999`, `0.1e1000000000`, `1e-400`, `true`, `false`, `null`, `null`,
	})
	space = rapid.SampledFrom([]string{"", "", "", " ", "\n\t"})
)

// bodyText draws a JSON value.
func bodyText(t *rapid.T, depth int) string {
	shape := rapid.IntRange(0, 9).Draw(t, "shape")
	switch {
	case depth == 0 || shape < 3:
		return scalars.Draw(t, "scalar")
	case shape < 5:
		return list(t, "[", "]", 4, func() string { return bodyText(t, depth-1) })
	}
	return list(t, "{", "}", 8, func() string { return keyTexts.Draw(t, "key") + ":" + bodyText(t, depth-1) })
}

// filterText draws an object of a filter. Some are refused: for a key that is
// there twice, or a value that is in two sets.
func filterText(t *rapid.T, depth int) string {
	return list(t, "{", "}", 3, func() string { return keyTexts.Draw(t, "key") + ":" + fieldText(t, depth) })
}

func fieldText(t *rapid.T, depth int) string {
	set := func() string {
		return list(t, "[", "]", 4, func() string { return scalars.Draw(t, "scalar") })
	}
	switch shape := rapid.IntRange(0, 9).Draw(t, "shape"); {
	case shape < 3:
		return set()
	case shape < 4:
		return `{"in":` + set() + `}`
	case shape < 5:
		return `{"not_in":` + set() + `}`
	case shape < 6:
		return fmt.Sprintf(`{"exists":%v}`, rapid.Bool().Draw(t, "exists"))
	case shape < 7 || depth == 0:
		return fmt.Sprintf(`{"not_in":%s,"in":%s,"exists":%v}`, set(), set(), rapid.Bool().Draw(t, "exists"))
	}
	return filterText(t, depth-1)
}

// bodyLike draws a body that is likely to match a decoded filter, or nearly so.
func bodyLike(t *rapid.T, pattern map[string]any) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(pattern)) {
		if rapid.IntRange(0, 9).Draw(t, "other") == 0 {
			parts = append(parts, keyTexts.Draw(t, "key")+":"+bodyText(t, 2))
		}
		value, present := valueLike(t, pattern[key])
		if present {
			name, _ := json.Marshal(key) // a string
			parts = append(parts, string(name)+":"+value)
		}
	}
	object := "{" + strings.Join(parts, ",") + "}"
	if rapid.IntRange(0, 4).Draw(t, "in array") == 0 {
		return "[" + bodyText(t, 1) + "," + object + "]"
	}
	return object
}

func valueLike(t *rapid.T, want any) (text string, present bool) {
	switch want := want.(type) {
	case []any:
		if len(want) == 0 {
			break
		}
		value, _ := json.Marshal(rapid.SampledFrom(want).Draw(t, "value")) // a decoded scalar
		if rapid.IntRange(0, 3).Draw(t, "in array") == 0 {
			return "[" + bodyText(t, 1) + "," + string(value) + "]", true
		}
		return string(value), true
	case map[string]any:
		if !naiveOperators(want) {
			return bodyLike(t, want), true
		}
		if want["exists"] == false {
			return "", false
		}
		if in, ok := want["in"]; ok {
			return valueLike(t, in)
		}
	}
	return bodyText(t, 1), true
}

// drawBody draws any body, or one that fits the filter.
func drawBody(t *rapid.T, filterText string) string {
	pattern, _ := naiveDecode(filterText).(map[string]any)
	if rapid.IntRange(0, 2).Draw(t, "any body") == 0 {
		return bodyText(t, 4)
	}
	return bodyLike(t, pattern)
}

func list(t *rapid.T, open, closing string, most int, element func() string) string {
	parts := make([]string, rapid.IntRange(0, most).Draw(t, "length"))
	for i := range parts {
		parts[i] = element()
	}
	gap := space.Draw(t, "space")
	return open + gap + strings.Join(parts, gap+","+gap) + closing
}

// checkMatch holds all evaluations of one filter on one body against each other.
func checkMatch(t rapid.TB, filterText, body string) {
	t.Helper()
	f, err := filter.Compile([]byte(filterText))
	if err != nil {
		return
	}
	doc, err := filter.Parse([]byte(body))
	if err != nil {
		return
	}
	want := naiveMatch(filterText, body)
	if got := f.Match(doc); got != want {
		t.Fatalf("filter %s, body %s: Match = %v, naive = %v", filterText, body, got, want)
	}
	checks := f.Explain(doc)
	if passed(checks) != want {
		t.Fatalf("filter %s, body %s: Match = %v, but Explain says\n%s", filterText, body, want, strings.Join(lines(checks), "\n"))
	}
	for _, c := range checks {
		if !json.Valid(c.Expected) || c.Seen != nil && !json.Valid(c.Seen) || len(c.Seen) > 1000 || !strings.HasPrefix(c.Path, "payload") {
			t.Fatalf("filter %s, body %s: check %+v", filterText, body, c)
		}
	}
	if got := filter.NewSet([]*filter.Filter{f}).Match(doc, nil); (len(got) == 1) != want {
		t.Fatalf("filter %s, body %s: Match = %v, the set says %v", filterText, body, want, got)
	}
}

func TestFilterMatchAgreesWithTheNaiveEvaluator(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := filterText(t, 3)
		checkMatch(t, text, drawBody(t, text))
	})
}

func TestFilterCompileAgreesWithTheNaiveCheck(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := filterText(t, 12)
		if rapid.Bool().Draw(t, "broken") {
			text = strings.Replace(text, scalars.Draw(t, "from"), rapid.SampledFrom([]string{`{}`, `[]`, `"in":[1]`, `1e9999999999999999`, ``}).Draw(t, "to"), 1)
		}
		_, err := filter.Compile([]byte(text))
		if naive := naiveCheck(text); (err == nil) != (naive == nil) {
			t.Fatalf("Compile(%s) = %v, naive = %v", text, err, naive)
		}
	})
}

func TestFilterSetAgreesWithEachFilter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var filters []*filter.Filter
		var kept []string
		for range rapid.IntRange(0, 40).Draw(t, "filters") {
			text := filterText(t, 2)
			f, err := filter.Compile([]byte(text))
			if err != nil {
				f = nil
			}
			filters, kept = append(filters, f), append(kept, text)
		}
		set := filter.NewSet(filters)
		var got []int
		for range 3 { // one set, several bodies: nothing may stay from the last
			body := bodyText(t, 4)
			if len(kept) > 0 {
				body = drawBody(t, rapid.SampledFrom(kept).Draw(t, "like"))
			}
			doc, err := filter.Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			var want []int
			for i, f := range filters {
				if f.Match(doc) {
					want = append(want, i)
				}
			}
			if got = set.Match(doc, got); !slices.Equal(got, want) {
				t.Fatalf("body %s: the set says %v, the filters %v\n%s", body, got, want, strings.Join(kept, "\n"))
			}
		}
	})
}
