package filter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// values is a list of n different numbers.
func values(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprint(i)
	}
	return strings.Join(parts, ",")
}

// leaves is an object with n leaves, every second of them nested.
func leaves(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"k%d":[1]`, i)
		if i%2 == 0 {
			parts[i] = fmt.Sprintf(`"k%d":{"x":{"in":[1],"not_in":[2],"exists":true}}`, i)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// nested is a filter of n field names one inside the other.
func nested(n int, leaf string) string {
	return strings.Repeat(`{"a":`, n) + leaf + strings.Repeat(`}`, n)
}

func TestFilterRefusedAtSave(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, filter, field, fix string }{
		{"the same value in in and not_in", `{"a":{"in":["x","y"],"not_in":["z","y"]}}`, "payload.a.not_in", "keep it in one"},
		{"the same value in another spelling", `{"a":{"not_in":[1.0],"in":[10e-1]}}`, "payload.a.not_in", "keep it in one"},
		{"the same string in another spelling", `{"a":{"not_in":["\u0041"],"in":["A"]}}`, "payload.a.not_in", "keep it in one"},
		{"null in both", `{"a":{"in":[null],"not_in":[null]}}`, "payload.a.not_in", "keep it in one"},
		{"exists false with a non-empty in", `{"a":{"b":{"exists":false,"in":[1]}}}`, "payload.a.b", "drop one"},
		{"mixing an operator and the empty key", `{"a":{"":[2],"in":[1]}}`, "payload.a", "only in, not_in, exists here, or only field names"},
		{"mixing operator and other keys", `{"a":{"in":[1],"b":[2]}}`, "payload.a", "only in, not_in, exists here, or only field names"},
		{"mixing with a nested object", `{"a":{"b":{"c":[1]},"exists":true}}`, "payload.a", "only field names"},
		{"an empty object", `{"a":{"b":{}}}`, "payload.a.b", `{"exists": true}`},
		{"a bare string", `{"a":"x"}`, "payload.a", `write ["x"]`},
		{"a bare number", `{"a":{"b":1}}`, "payload.a.b", `write [1]`},
		{"a bare boolean", `{"a":true}`, "payload.a", `write [true]`},
		{"a bare null", `{"a":null}`, "payload.a", `write [null]`},
		{"a long bare string", `{"a":"` + strings.Repeat("x", 100) + `"}`, "payload.a", `write […]`},
		{"an object in a set", `{"a":["x",{"b":1}]}`, "payload.a[1]", "only strings, numbers"},
		{"an array in a set", `{"a":{"in":[["x"]]}}`, "payload.a.in[0]", "only strings, numbers"},
		{"a non-array in", `{"issue":{"labels":{"in":"bug"}}}`, "payload.issue.labels.in", "write an array"},
		{"an object as in", `{"a":{"in":{"b":[1]}}}`, "payload.a.in", "write an array"},
		{"a non-array not_in", `{"a":{"not_in":null}}`, "payload.a.not_in", "write an array"},
		{"a non-boolean exists", `{"a":{"exists":"true"}}`, "payload.a.exists", "write true or false"},
		{"a null exists", `{"a":{"exists":null}}`, "payload.a.exists", "write true or false"},
		{"depth", nested(11, `[1]`), "payload" + strings.Repeat(".a", 11), "10 deep"},
		{"depth of operators", nested(11, `{"exists":true}`), "payload" + strings.Repeat(".a", 11), "10 deep"},
		{"leaves", leaves(65), "payload.k64.x", "64"},
		{"values in a set", `{"a":[` + values(33) + `]}`, "payload.a", "32"},
		{"values in in", `{"a":{"in":[` + values(33) + `]}}`, "payload.a.in", "32"},
		{"equal values count", `{"a":{"not_in":[` + strings.Repeat("1,", 32) + `1]}}`, "payload.a.not_in", "32"},
		{"a key twice", `{"a":[1],"b":[1],"a":[2]}`, "payload.a", "merge"},
		{"a key twice in two spellings", `{"a":{"b":[1],"\u0062":[1]}}`, "payload.a.b", "merge"},
		{"an operator twice", `{"a":{"in":[1],"in":[2]}}`, "payload.a.in", "keep one"},
		{"exists twice", `{"a":{"exists":true,"exists":true}}`, "payload.a.exists", "keep one"},
		{"an operator at the top", `{"in":["x"]}`, "payload.in", "goes under a field"},
		{"an operator beside fields at the top", `{"a":[1],"exists":true}`, "payload.exists", "goes under a field"},
		{"an array", `["x"]`, "payload", "is an object"},
		{"a string", `"x"`, "payload", "is an object"},
		{"a number", `1`, "payload", "is an object"},
		{"a boolean", `false`, "payload", "is an object"},
		{"no JSON", `{"a":[1],}`, "payload", "not JSON"},
		{"only space", ` `, "payload", "not JSON"},
		{"two values", `{} {}`, "payload", "not JSON"},
		{"no UTF-8", "{\"a\":[\"\xff\"]}", "payload", "UTF-8"},
		{"an absurd exponent", `{"a":[1e1000000000000001]}`, "payload.a[0]", "exponent"},
		{"a more absurd one", `{"a":[-1e-99999999999999999999999999]}`, "payload.a[0]", "exponent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, err := filter.Compile([]byte(tc.filter))
			public, ok := errors.AsType[*lineshaft.Error](err)
			if f != nil || !ok || public.Code != lineshaft.CodeInvalidRequest {
				t.Fatalf("Compile(%.80s) = %v, %v", tc.filter, f, err)
			}
			if public.Field != tc.field || !strings.Contains(public.Message, tc.fix) {
				t.Errorf("Compile(%.80s): %v; want %q in field %s", tc.filter, err, tc.fix, tc.field)
			}
			if naiveCheck(tc.filter) == nil && tc.name != "no UTF-8" {
				t.Errorf("the naive check takes %.80s", tc.filter)
			}
		})
	}
}

func TestFilterAtItsLimitsIsTaken(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"depth 10":                     nested(10, `[1]`),
		"depth 10 of operators":        nested(10, `{"in":[1],"not_in":[2],"exists":true}`),
		"64 leaves":                    leaves(64),
		"32 values in each set":        `{"a":{"in":[` + values(32) + `],"not_in":["` + strings.ReplaceAll(values(32), ",", `","`) + `"]}}`,
		"an empty in, exists false":    `{"a":{"in":[],"exists":false}}`,
		"an empty set":                 `{"a":[]}`,
		"not_in and exists false":      `{"a":{"not_in":[1],"exists":false}}`,
		"equal values in one set":      `{"a":[1,1.0,1]}`,
		"1 and its string in the two":  `{"a":{"in":[1],"not_in":["1",true]}}`,
		"an operator's name elsewhere": `{"a":{"In":[1],"notin":[2],"not-in":[3]}}`,
		"a large exponent":             `{"a":[1e1000000000000000,-1e-1000000000000000]}`,
		"zero with any exponent":       `{"a":[0e99999999999999999999]}`,
	} {
		if f, err := filter.Compile([]byte(text)); err != nil || f.Empty() {
			t.Errorf("%s: %v", name, err)
		}
		if err := naiveCheck(text); err != nil {
			t.Errorf("%s: the naive check says %v", name, err)
		}
	}
	for _, text := range []string{``, `null`, ` null `, `{}`, ` { } `} {
		if f, err := filter.Compile([]byte(text)); err != nil || !f.Empty() {
			t.Errorf("Compile(%q) = %v, want the empty filter", text, err)
		}
	}
	if f, err := filter.Compile(nil); err != nil || !f.Empty() {
		t.Errorf("Compile(nil) = %v", err)
	}
}

func TestFilterOwnsItsText(t *testing.T) {
	t.Parallel()
	text := []byte(`{"key":["value"]}`)
	f := compile(t, string(text))
	own, err := filter.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] = 'x'
	}
	doc := parse(t, `{"key":"value"}`)
	if !own.Match(doc) || string(own.Explain(doc)[0].Expected) != string(f.Explain(doc)[0].Expected) {
		t.Error("the filter changed with the caller's bytes")
	}
	checks := own.Explain(doc)
	checks[0].Expected[1] = '!'
	if !json.Valid(own.Explain(doc)[0].Expected) {
		t.Error("a check shares its bytes with the filter")
	}
}
