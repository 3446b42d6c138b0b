package filter_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// seeds are filters with bodies that come close to them.
func seeds() [][2]string {
	return [][2]string{
		{``, `1`},
		{`{}`, `[]`},
		{`{"a":["x",1,true,null]}`, `{"a":["y",1.0,false]}`},
		{`{"a":{"in":[1],"not_in":[2],"exists":true}}`, `{"a":[1,2]}`},
		{`{"a":{"b":{"c":["x"]},"d":[1]}}`, `{"a":[{"b":[{"c":"x"}],"d":1},2]}`},
		{`{"a":{"b":{"exists":false}}}`, `{"a":{},"a":null}`},
		{`{"\u0061":["\ud83d\ude00","\ud800","\n"]}`, `{"a":"😀"}`},
		{`{"n":[9007199254740993,1e999999999,-0,0.10]}`, `[{"n":9007199254740993.0},{"n":0e1},{"n":1E-1}]`},
		{`{"a":[1e999999999999999]}`, `{"a":1e99999999999999999999999}`},
		{`{"a":[],"b":{"not_in":[]}}`, `{"b":[[1],{"c":2}]}`},
		{`{"in":[1]}`, `{"in":1}`},
		{`{"a":{"in":[1],"b":[2]}}`, `"a"`},
		{`{"a":{"in":[1],"":[2]}}`, `{"a":1}`},
		{`{"a":[1],"a":[2]}`, `null`},
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range seeds() {
		f.Add([]byte(seed[0]))
	}
	for _, text := range []string{nested(10, `[1]`), nested(11, `[1]`), leaves(64), leaves(65), `{"a":[` + values(32) + `]}`, `{"a":[` + values(33) + `]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		compiled, err := filter.Compile(raw)
		if len(raw) > 0 && utf8.Valid(raw) {
			if naive := naiveCheck(string(raw)); (err == nil) != (naive == nil) {
				t.Fatalf("Compile(%q) = %v, naive = %v", raw, err, naive)
			}
		}
		if err == nil {
			if compiled == nil {
				t.Fatalf("Compile(%q) is nothing at all", raw)
			}
			return
		}
		public, ok := errors.AsType[*lineshaft.Error](err)
		if !ok || compiled != nil || public.Code != lineshaft.CodeInvalidRequest || public.Message == "" || !strings.HasPrefix(public.Field, "payload") {
			t.Fatalf("Compile(%q) = %v, %v", raw, compiled, err)
		}
	})
}

func FuzzMatch(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		checkMatch(t, text, body)
	})
}

// FuzzSet splits its first argument into filters, one per line.
func FuzzSet(f *testing.F) {
	var all []string
	for _, seed := range seeds() {
		all = append(all, seed[0])
	}
	for _, seed := range seeds() {
		f.Add(strings.Join(all, "\n"), seed[1], `{"a":1}`)
	}
	f.Fuzz(func(t *testing.T, texts, body, next string) {
		var filters []*filter.Filter
		for text := range strings.SplitSeq(texts, "\n") {
			compiled, err := filter.Compile([]byte(text))
			if err != nil {
				compiled = nil
			}
			filters = append(filters, compiled)
		}
		set := filter.NewSet(filters)
		for _, body := range []string{body, next, body} {
			doc, err := filter.Parse([]byte(body))
			if err != nil {
				continue
			}
			var want []int
			for i, compiled := range filters {
				if compiled.Match(doc) {
					want = append(want, i)
				}
			}
			if got := set.Match(doc, nil); !slices.Equal(got, want) {
				t.Fatalf("filters %q, body %q: the set says %v, the filters %v", texts, body, got, want)
			}
		}
	})
}
