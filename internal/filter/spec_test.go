package filter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// rule is a sentence of the specification with a filter, the bodies that match it
// and the bodies that do not.
type rule struct {
	name, filter string
	match, fail  []string
}

func compile(tb testing.TB, text string) *filter.Filter {
	tb.Helper()
	f, err := filter.Compile([]byte(text))
	if err != nil {
		tb.Fatalf("Compile(%s): %v", text, err)
	}
	return f
}

func parse(tb testing.TB, body string) *filter.Doc {
	tb.Helper()
	doc, err := filter.Parse([]byte(body))
	if err != nil {
		tb.Fatalf("Parse(%.80q): %v", body, err)
	}
	return doc
}

// passed is the verdict of Explain.
func passed(checks []filter.Check) bool {
	return !slices.ContainsFunc(checks, func(c filter.Check) bool { return !c.Passed })
}

func checkRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			f := compile(t, r.filter)
			set := filter.NewSet([]*filter.Filter{f})
			for _, body := range append(slices.Clone(r.match), r.fail...) {
				want := slices.Contains(r.match, body)
				doc := parse(t, body)
				if got := f.Match(doc); got != want {
					t.Errorf("filter %s, body %s: Match = %v", r.filter, body, got)
				}
				if got := len(set.Match(doc, nil)) == 1; got != want {
					t.Errorf("filter %s, body %s: Set.Match = %v", r.filter, body, got)
				}
				if got := passed(f.Explain(doc)); got != want {
					t.Errorf("filter %s, body %s: Explain passes %v", r.filter, body, got)
				}
				if got := naiveMatch(r.filter, body); got != want {
					t.Errorf("filter %s, body %s: the naive evaluator says %v", r.filter, body, got)
				}
			}
		})
	}
}

func TestFilterShape(t *testing.T) {
	t.Parallel()
	everything := []string{`{}`, `{"a":1}`, `[]`, `[{"a":1}]`, `"x"`, `1`, `null`, `true`, ` [ ] `}
	checkRules(t, []rule{
		{name: "no filter matches all", filter: ``, match: everything},
		{name: "a null filter matches all", filter: `null`, match: everything},
		{name: "an empty filter matches all", filter: ` { } `, match: everything},
		{
			name: "keys AND", filter: `{"action":["opened"],"draft":[false]}`,
			match: []string{`{"action":"opened","draft":false}`, `{"draft":false,"action":"opened","more":1}`},
			fail:  []string{`{"action":"opened","draft":true}`, `{"action":"opened"}`, `{"draft":false}`, `{}`},
		},
		{
			name: "an omitted key matches everything", filter: `{"a":[1]}`,
			match: []string{`{"a":1}`, `{"a":1,"b":null}`, `{"b":{"a":2},"a":1}`},
		},
		{
			name: "an array is any of these scalars", filter: `{"a":["x",1,true,null]}`,
			match: []string{`{"a":"x"}`, `{"a":1}`, `{"a":true}`, `{"a":null}`},
			fail:  []string{`{"a":"y"}`, `{"a":2}`, `{"a":false}`, `{}`, `{"a":"1"}`, `{"a":"true"}`, `{"a":"null"}`, `{"a":""}`},
		},
		{
			name: "an operator object", filter: `{"a":{"in":[1,2],"not_in":[3],"exists":true}}`,
			match: []string{`{"a":1}`, `{"a":[2,4]}`},
			fail:  []string{`{"a":[1,3]}`, `{"a":3}`, `{"a":4}`, `{}`},
		},
		{
			name: "any other object nests", filter: `{"a":{"b":{"c":["x"]}}}`,
			match: []string{`{"a":{"b":{"c":"x"}}}`},
			fail:  []string{`{"a":{"b":{"c":"y"}}}`, `{"a":{"c":"x"}}`, `{"a.b.c":"x"}`, `{"a":{"b":null}}`, `{"a":null}`, `{"a":"x"}`},
		},
		{
			name: "an empty array matches nothing", filter: `{"a":[]}`,
			fail: []string{`{}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`, `{"a":""}`, `[]`, `[{"a":[]}]`},
		},
		{
			name: "an empty in matches nothing", filter: `{"a":{"in":[],"exists":false}}`,
			fail: []string{`{}`, `{"a":null}`, `{"a":[]}`},
		},
		{
			name: "an empty not_in excludes nothing", filter: `{"a":{"not_in":[]}}`,
			match: []string{`{}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`},
			fail:  []string{`[]`, `1`},
		},
	})
}

func TestFilterScalars(t *testing.T) {
	t.Parallel()
	checkRules(t, []rule{
		{
			name: "strings exact and case-sensitive", filter: `{"a":["Opened"]}`,
			match: []string{`{"a":"Opened"}`},
			fail:  []string{`{"a":"opened"}`, `{"a":"OPENED"}`, `{"a":"Opened "}`, `{"a":"Open"}`, `{"a":"Opened\u0000"}`},
		},
		{
			name: "strings after unescaping", filter: `{"a":["Aé/😀\n\"\\"]}`,
			match: []string{`{"a":"Aé/😀\n\"\\"}`, `{"a":"\u0041\u00E9\/\ud83d\uDE00\u000a\u0022\u005c"}`},
			fail:  []string{`{"a":"Ae\u0301/😀\n\"\\"}`, `{"a":"\\u0041é/😀\n\"\\"}`},
		},
		{
			name: "every escape", filter: `{"a":["\b\f\n\r\t\/\"\\"]}`,
			match: []string{`{"a":"\u0008\u000c\u000A\u000d\u0009\u002f\u0022\u005C"}`, `{"a":"\b\f\n\r\t/\"\\"}`}, fail: []string{`{"a":"bfnrt/\"\\"}`},
		},
		{
			name: "long strings that differ in the middle", filter: `{"a":{"not_in":["` + strings.Repeat("x", 200) + `"]}}`,
			match: []string{`{"a":"` + strings.Repeat("x", 100) + "y" + strings.Repeat("x", 99) + `"}`}, fail: []string{`{"a":"` + strings.Repeat("x", 200) + `"}`},
		},
		{
			name: "half a surrogate pair is U+FFFD", filter: `{"a":["x\ud800y"]}`,
			match: []string{`{"a":"x\udfffy"}`, `{"a":"x\ufffdy"}`, `{"a":"x�y"}`},
			fail:  []string{`{"a":"x\ud800\udc00y"}`, `{"a":"x\ud800\ud800y"}`, `{"a":"xy"}`},
		},
		{
			name: "a high half before an escape that is no low half", filter: `{"a":["\ufffdA"]}`,
			match: []string{`{"a":"\ud800\u0041"}`, `{"a":"\ud800A"}`}, fail: []string{`{"a":"\ud800\n"}`},
		},
		{
			name: "keys after unescaping", filter: `{"\u0061b":["x"]}`,
			match: []string{`{"ab":"x"}`, `{"a\u0062":"x"}`}, fail: []string{`{"\\u0061b":"x"}`, `{"Ab":"x"}`},
		},
		{name: "an empty key is a key", filter: `{"":["x"]}`, match: []string{`{"":"x"}`}, fail: []string{`{"a":"x"}`}},
		{
			name: "a key with dots is one key", filter: `{"metadata":{"order.id":["7"]}}`,
			match: []string{`{"metadata":{"order.id":"7"}}`}, fail: []string{`{"metadata":{"order":{"id":"7"}}}`},
		},
		{
			name: "numbers by value", filter: `{"a":[1]}`,
			match: []string{`{"a":1}`, `{"a":1.0}`, `{"a":1e0}`, `{"a":10e-1}`, `{"a":0.1E+1}`, `{"a":1.000e00}`, `{"a":0.0001e4}`},
			fail:  []string{`{"a":-1}`, `{"a":1.0000000000000000000001}`, `{"a":"1"}`, `{"a":true}`, `{"a":10}`, `{"a":0.1}`, `{"a":1e1}`},
		},
		{
			name: "zero has no sign", filter: `{"a":[0]}`,
			match: []string{`{"a":0}`, `{"a":-0}`, `{"a":0.000}`, `{"a":-0e99999999999999999999}`}, fail: []string{`{"a":1e-400}`, `{"a":null}`, `{"a":false}`, `{"a":""}`},
		},
		{
			name: "exact beyond 2^53", filter: `{"id":[9007199254740993]}`,
			match: []string{`{"id":9007199254740993}`, `{"id":9007199254740993.0}`, `{"id":9.007199254740993e15}`},
			fail:  []string{`{"id":9007199254740992}`, `{"id":9007199254740994}`, `{"id":9007199254740993.5}`, `{"id":"9007199254740993"}`},
		},
		{
			name: "exact beyond a double", filter: `{"a":[1e400,-2.50e-500]}`,
			match: []string{`{"a":10e399}`, `{"a":-25e-501}`},
			fail:  []string{`{"a":1e401}`, `{"a":-1e400}`, `{"a":2.5e-500}`, `{"a":0}`, `{"a":1e999999999}`, `{"a":1e99999999999999999999}`},
		},
		{
			name: "huge exponents cost nothing", filter: `{"a":[1e999999999]}`,
			match: []string{`{"a":0.001e1000000002}`, `{"a":1000e999999996}`}, fail: []string{`{"a":1e999999998}`, `{"a":1e9999999999999999999999}`},
		},
		{name: "true is not 1", filter: `{"a":[true]}`, match: []string{`{"a":true}`}, fail: []string{`{"a":1}`, `{"a":"true"}`, `{"a":false}`}},
		{
			name: "null in a set matches a present null only", filter: `{"a":[null]}`,
			match: []string{`{"a":null}`, `{"a":[null]}`, `{"a":[1,null]}`},
			fail:  []string{`{}`, `{"a":"null"}`, `{"a":""}`, `{"a":0}`, `{"a":false}`, `{"a":[]}`, `{"a":{}}`},
		},
		{name: "the empty string", filter: `{"a":[""]}`, match: []string{`{"a":""}`}, fail: []string{`{"a":null}`, `{}`, `{"a":" "}`}},
		{
			name: "objects equal no scalar", filter: `{"a":{"not_in":["x",null]}}`,
			match: []string{`{"a":{}}`, `{"a":{"x":"x"}}`}, fail: []string{`{"a":"x"}`, `{"a":null}`},
		},
	})
}

func TestFilterArrays(t *testing.T) {
	t.Parallel()
	checkRules(t, []rule{
		{
			name: "in on any overlap", filter: `{"a":["x","y"]}`,
			match: []string{`{"a":["x"]}`, `{"a":["z","y"]}`, `{"a":[1,null,"x"]}`},
			fail:  []string{`{"a":[]}`, `{"a":["z"]}`, `{"a":[["x"]]}`, `{"a":[{"x":"y"}]}`},
		},
		{
			name: "not_in needs none", filter: `{"a":{"not_in":["x","y"]}}`,
			match: []string{`{"a":[]}`, `{"a":["z"]}`, `{"a":[["x"]]}`, `{"a":[{"x":"x"}]}`, `{}`},
			fail:  []string{`{"a":["x"]}`, `{"a":["z","y"]}`},
		},
		{
			name: "one element matches whole", filter: `{"labels":{"name":["bug"],"color":["red"]}}`,
			match: []string{
				`{"labels":[{"name":"bug","color":"red"}]}`,
				`{"labels":[{"name":"x"},{"name":"bug","color":"red"},{}]}`, `{"labels":{"name":"bug","color":"red"}}`,
			},
			fail: []string{
				`{"labels":[{"name":"bug","color":"blue"},{"name":"doc","color":"red"}]}`,
				`{"labels":[]}`, `{"labels":["bug","red"]}`, `{"labels":[[{"name":"bug","color":"red"}]]}`, `{"labels":null}`, `{}`,
			},
		},
		{
			name: "not_in inside an array is about the same element", filter: `{"labels":{"name":{"not_in":["bug"]}}}`,
			match: []string{`{"labels":[{"name":"bug"},{"name":"doc"}]}`, `{"labels":[{}]}`},
			fail:  []string{`{"labels":[{"name":"bug"}]}`, `{"labels":[]}`, `{"labels":[1]}`, `{}`},
		},
		{
			name: "arrays inside of arrays of objects", filter: `{"commits":{"modified":["go.mod"],"author":{"name":["a"]}}}`,
			match: []string{`{"commits":[{"modified":[]},{"modified":["x","go.mod"],"author":[{"name":"b"},{"name":"a"}]}]}`},
			fail:  []string{`{"commits":[{"modified":["go.mod"],"author":{"name":"b"}},{"modified":["x"],"author":{"name":"a"}}]}`},
		},
		{
			name: "a mixed array: scalars for sets", filter: `{"a":["x"]}`,
			match: []string{`{"a":[{"b":"y"},"x",["z"]]}`}, fail: []string{`{"a":[{"b":"x"},["x"]]}`},
		},
		{
			name: "a mixed array: objects for patterns", filter: `{"a":{"b":["y"]}}`,
			match: []string{`{"a":[1,[2],{"b":"y"}]}`}, fail: []string{`{"a":[1,"y",["b","y"]]}`},
		},
		{
			name: "pairs are out of reach", filter: `{"tags":["level","error"]}`,
			fail: []string{`{"tags":[["level","error"]]}`}, match: []string{`{"tags":["error"]}`},
		},
		{
			name: "a top-level array of objects is matched as its elements", filter: `{"type":["created"],"n":[1]}`,
			match: []string{`[{"type":"created","n":1}]`, `[{"n":1},0,{"type":"created","n":1}]`},
			fail:  []string{`[{"type":"created"},{"n":1}]`, `[]`, `["created",1]`, `[[{"type":"created","n":1}]]`},
		},
		{
			name: "other bodies match only an empty filter", filter: `{"a":{"exists":false}}`,
			match: []string{`{}`, `[{}]`, `{"b":1}`}, fail: []string{`[]`, `[1]`, `"a"`, `0`, `null`, `true`, `{"a":null}`},
		},
	})
}

func TestFilterMissing(t *testing.T) {
	t.Parallel()
	checkRules(t, []rule{
		{name: "a missing key fails in", filter: `{"a":{"in":["x"]}}`, fail: []string{`{}`, `{"b":"x"}`, `{"A":"x"}`}, match: []string{`{"a":"x"}`}},
		{name: "a missing key passes not_in", filter: `{"a":{"not_in":["x",null]}}`, match: []string{`{}`, `{"a":1}`}, fail: []string{`{"a":"x"}`, `{"a":null}`}},
		{
			name: "a missing key fails exists: true", filter: `{"a":{"exists":true}}`,
			match: []string{`{"a":null}`, `{"a":1}`, `{"a":[]}`, `{"a":{}}`, `{"a":false}`, `{"a":""}`}, fail: []string{`{}`, `{"b":1}`},
		},
		{
			name: "a missing key passes exists: false", filter: `{"a":{"exists":false}}`,
			match: []string{`{}`, `{"b":1}`}, fail: []string{`{"a":null}`, `{"a":[]}`, `{"a":{}}`, `{"a":1}`},
		},
		{name: "exists false and not_in", filter: `{"a":{"exists":false,"not_in":[1]}}`, match: []string{`{}`}, fail: []string{`{"a":2}`}},
		{
			name: "a nested pattern needs its key", filter: `{"a":{"b":{"exists":false}}}`,
			match: []string{`{"a":{}}`, `{"a":{"c":1}}`, `{"a":[{}]}`},
			fail:  []string{`{}`, `{"a":null}`, `{"a":1}`, `{"a":[]}`, `{"a":[1]}`, `{"a":{"b":null}}`},
		},
		{
			name: "a parent that is null", filter: `{"pull_request":{"head":{"repo":{"fork":{"not_in":[true]}}}}}`,
			match: []string{`{"pull_request":{"head":{"repo":{"fork":false}}}}`, `{"pull_request":{"head":{"repo":{}}}}`},
			fail:  []string{`{"pull_request":{"head":{"repo":null}}}`, `{"pull_request":{"head":{}}}`},
		},
		{
			name: "the last of duplicate keys wins", filter: `{"a":["x"]}`,
			match: []string{`{"a":"y","a":"x"}`, `{"a":{"a":"z"},"\u0061":"x"}`}, fail: []string{`{"a":"x","a":"y"}`, `{"a":"x","b":1,"a":null}`},
		},
		{
			name: "duplicate parents are not merged", filter: `{"a":{"b":["x"],"c":["y"]}}`,
			match: []string{`{"a":1,"a":{"b":"x","c":"y"}}`}, fail: []string{`{"a":{"b":"x"},"a":{"c":"y"}}`, `{"a":{"b":"x","c":"y"},"a":1}`},
		},
		{
			name: "fields named like an operator are out of reach but do no harm", filter: `{"a":["x"]}`,
			match: []string{`{"a":"x","in":1,"exists":false}`}, fail: []string{`{"in":{"a":"x"}}`},
		},
	})
}

func TestFilterThatCannotBeEvaluatedNeverMatches(t *testing.T) {
	t.Parallel()
	var broken *filter.Filter
	doc := parse(t, `{}`)
	if broken.Match(doc) || broken.Empty() || passed(broken.Explain(doc)) {
		t.Error("a nil filter matched")
	}
	empty := compile(t, ``)
	some := compile(t, `{"a":{"exists":false}}`)
	if !empty.Match(nil) || !empty.Empty() || some.Match(nil) || some.Empty() || passed(some.Explain(nil)) || !passed(empty.Explain(nil)) {
		t.Error("a nil document matches the empty filter alone")
	}
	set := filter.NewSet([]*filter.Filter{broken, empty, some, broken})
	if got := set.Match(doc, nil); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the set matched %v", got)
	}
	if got := set.Match(nil, nil); !slices.Equal(got, []int{1}) {
		t.Errorf("the set matched %v without a document", got)
	}
}

func TestFilterSurvivesLargeBodies(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 1<<20)
	f := compile(t, `{"n":[`+long+`],"d":{"exists":true}}`)
	deep := strings.Repeat(`{"d":`, 500) + `1` + strings.Repeat(`}`, 500)
	for body, want := range map[string]bool{
		`{"n":` + long + `.0,"d":` + deep + `}`:    true,
		`{"n":` + long + `e1,"d":` + deep + `}`:    false,
		`{"n":"` + long + `","d":` + deep + `}`:    false,
		`{"n":1e` + long + `,"d":` + deep + `}`:    false,
		`{"n":1e-` + long + `,"d":[` + deep + `]}`: false,
	} {
		if got := f.Match(parse(t, body)); got != want {
			t.Errorf("body %.20q…: %v", body, got)
		}
	}
}
