package filter_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// lines shows checks one per line.
func lines(checks []filter.Check) []string {
	var out []string
	for _, c := range checks {
		seen := "missing"
		if c.Seen != nil {
			seen = string(c.Seen)
		}
		verdict := "FAIL"
		if c.Passed {
			verdict = "pass"
		}
		out = append(out, fmt.Sprintf("%s %s %s %s: %s", verdict, c.Path, c.Operator, c.Expected, seen))
	}
	return out
}

func TestW16ExplainShowsEveryLeafWithTheValueSeen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, filter, body string
		want               []string
	}{
		{"an empty filter has no checks", `{}`, `{"a":1}`, nil},
		{
			"in the order of the text", `{"b":["x"],"a":{"exists":true,"not_in":[2],"in":[1,3]}}`, `{"a":1.0,"b":"y"}`,
			[]string{`FAIL payload.b in ["x"]: "y"`, `pass payload.a in [1,3]: 1.0`, `pass payload.a not_in [2]: 1.0`, `pass payload.a exists true: 1.0`},
		},
		{
			"a missing field", `{"a":{"in":[1]},"b":{"not_in":[1]},"c":{"exists":true},"d":{"exists":false}}`, `{}`,
			[]string{`FAIL payload.a in [1]: missing`, `pass payload.b not_in [1]: missing`, `FAIL payload.c exists true: missing`, `pass payload.d exists false: missing`},
		},
		{"null is seen", `{"a":{"exists":false}}`, `{"a":null}`, []string{`FAIL payload.a exists false: null`}},
		{
			"a parent that is null", `{"a":{"b":{"not_in":[1]},"c":{"d":[1]}},"e":[1]}`, `{"a":null,"e":1}`,
			[]string{
				`FAIL payload.a object {"b":{"not_in":[1]},"c":{"d":[1]}}: null`, `pass payload.a.b not_in [1]: missing`,
				`FAIL payload.a.c object {"d":[1]}: missing`, `FAIL payload.a.c.d in [1]: missing`, `pass payload.e in [1]: 1`,
			},
		},
		{
			"the element that matches whole", `{"l":{"n":["x"],"c":["y"]}}`, `{"l":[{"n":"x","c":"z"},{"n":"x","c":"y"},{"n":"x","c":"y","i":3}]}`,
			[]string{`pass payload.l.n in ["x"]: "x"`, `pass payload.l.c in ["y"]: "y"`},
		},
		{
			"or else the one that comes closest", `{"l":{"n":["x"],"c":["y"],"d":{"e":[1]}}}`,
			`{"l":[1,{"n":"x"},{"n":"x","c":"z","d":[{"e":2},{"e":1}]},{"c":"y","d":{"e":1}}]}`,
			[]string{`pass payload.l.n in ["x"]: "x"`, `FAIL payload.l.c in ["y"]: "z"`, `pass payload.l.d.e in [1]: 1`},
		},
		{
			"an array without objects", `{"l":{"n":["x"]}}`, `{"l":["x",["x"]]}`,
			[]string{`FAIL payload.l object {"n":["x"]}: ["x",["x"]]`, `FAIL payload.l.n in ["x"]: missing`},
		},
		{
			"a body that is no object", `{"a":{"exists":false}}`, `"text"`,
			[]string{`FAIL payload object {"a":{"exists":false}}: "text"`, `pass payload.a exists false: missing`},
		},
		{"a body that is an array of objects", `{"a":[2]}`, `[{"a":1},{"a":2}]`, []string{`pass payload.a in [2]: 2`}},
		{"objects and arrays are shown", `{"a":["x"],"b":{"exists":true}}`, `{"a":["y", "z"],"b":{"c":1}}`, []string{`FAIL payload.a in ["x"]: ["y", "z"]`, `pass payload.b exists true: {"c":1}`}},
		{"the last of duplicate keys", `{"a":["x"]}`, `{"a":"x","a":"y"}`, []string{`FAIL payload.a in ["x"]: "y"`}},
		{"keys with dots", `{"m":{"order.id":["7"]}}`, `{"m":{"order.id":"7"}}`, []string{`pass payload.m.order.id in ["7"]: "7"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := lines(compile(t, tc.filter).Explain(parse(t, tc.body)))
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tc.want, "\n\t"))
			}
		})
	}
}

func TestW16LongValuesAreCutAndStayJSON(t *testing.T) {
	t.Parallel()
	f := compile(t, `{"a":["x"]}`)
	for name, value := range map[string]string{
		"a string":        `"` + strings.Repeat("x", 2000) + `"`,
		"quotes":          `"` + strings.Repeat(`\"`, 2000) + `"`,
		"control":         `"` + strings.Repeat(`\u0001`, 2000) + `"`,
		"escapes":         `"` + strings.Repeat(`\ud83d\ude00`, 250) + `"`,
		"wide":            `"` + strings.Repeat(`😀`, 600) + `"`,
		"an array":        `[` + strings.Repeat(`"x", `, 1000) + `1]`,
		"an object":       `{"b":"` + strings.Repeat(`\\`, 1000) + `"}`,
		"a number":        strings.Repeat(`9`, 1001),
		"one byte more":   `"` + strings.Repeat("x", 999) + `"`,
		"nested":          strings.Repeat(`[ `, 500) + strings.Repeat(`]`, 500),
		"spread by space": `[` + strings.Repeat("\n\t", 800) + `1]`,
	} {
		seen := f.Explain(parse(t, `{"a":`+value+`}`))[0].Seen
		var text string
		if err := json.Unmarshal(seen, &text); err != nil || len(seen) > 1000 || len(seen) < 980 || !utf8.Valid(seen) {
			t.Errorf("%s: %d bytes, %v: %.60s", name, len(seen), err, seen)
		}
		if !strings.HasSuffix(text, fmt.Sprintf("… (%d bytes in all)", len(value))) {
			t.Errorf("%s: no mark at the end of %q", name, text[len(text)-40:])
		}
	}
	escaped := `"` + strings.Repeat(`\ud83d\ude00`, 200) + `"`
	if seen := f.Explain(parse(t, `{"a":`+escaped+`}`))[0].Seen; string(seen) != `"`+strings.Repeat(`😀`, 200)+`"` {
		t.Errorf("a value that is long only for its escapes became %s", seen)
	}
	whole := `"` + strings.Repeat("x", 998) + `"`
	if seen := f.Explain(parse(t, `{"a":`+whole+`}`))[0].Seen; string(seen) != whole {
		t.Errorf("a value of 1,000 bytes was cut to %d", len(seen))
	}
}

func TestW16SeenDoesNotShareTheBody(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a":"secret"}`)
	doc, err := filter.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	seen := compile(t, `{"a":["x"]}`).Explain(doc)[0].Seen
	clear(body)
	if string(seen) != `"secret"` {
		t.Errorf("seen became %q", seen)
	}
}
