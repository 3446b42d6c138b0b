package filter_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft/internal/filter"
)

func TestB4SetFindsExactlyTheFiltersThatMatch(t *testing.T) {
	t.Parallel()
	doc := parse(t, string(githubBody(t)))
	for name, text := range benchFilters() {
		var filters []*filter.Filter
		var want []int
		for i := range 300 {
			filters = append(filters, compile(t, text(i)))
			if filters[i].Match(doc) {
				want = append(want, i)
			}
		}
		got := filter.NewSet(filters).Match(doc, []int{7, 7, 7})
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestFilterSetReusesTheSlice(t *testing.T) {
	t.Parallel()
	set := filter.NewSet([]*filter.Filter{compile(t, `{"a":[1]}`), compile(t, ``), compile(t, `{"a":{"not_in":[1]}}`)})
	dst := make([]int, 5, 10)
	got := set.Match(parse(t, `{"a":1}`), dst)
	if !slices.Equal(got, []int{0, 1}) || &got[0] != &dst[0] {
		t.Errorf("got %v", got)
	}
	if got := filter.NewSet(nil).Match(parse(t, `{}`), nil); len(got) != 0 {
		t.Errorf("no filters: %v", got)
	}
	if got := new(filter.Set).Match(parse(t, `{}`), nil); len(got) != 0 {
		t.Errorf("the zero set: %v", got)
	}
}

// Objects with many keys in the filters are looked up the other way round.
func TestFilterSetWithManyPaths(t *testing.T) {
	t.Parallel()
	var filters []*filter.Filter
	for i := range 50 {
		filters = append(filters,
			compile(t, fmt.Sprintf(`{"o":{"k%d":[%d]}}`, i, i)),
			compile(t, fmt.Sprintf(`{"o":{"k%d":{"exists":false}}}`, i)),
			compile(t, fmt.Sprintf(`{"k%d":{"not_in":[%d]},"o":{"k%d":{"exists":true}}}`, i, i, i)))
	}
	set := filter.NewSet(filters)
	for _, body := range []string{
		`{"o":{"k3":3,"\u006b4":4.0,"k5":6,"k6":6,"k6":7,"k7":[1,7]},"k3":3,"k4":5}`,
		`{"o":[{"k3":3},{"k4":[4]}],"k1":1}`, `[{"o":{"k9":9}},{"o":{}}]`, `{"o":null}`, `{}`, `7`,
	} {
		doc := parse(t, body)
		var want []int
		for i, f := range filters {
			if f.Match(doc) {
				want = append(want, i)
			}
		}
		if got := set.Match(doc, nil); !slices.Equal(got, want) {
			t.Errorf("body %s: %v, want %v", body, got, want)
		}
	}
}

func TestFilterSetServesManyAtOnce(t *testing.T) {
	t.Parallel()
	var filters []*filter.Filter
	for i := range 200 {
		filters = append(filters, compile(t, fmt.Sprintf(`{"a":[%d],"b":{"not_in":[%d]}}`, i%20, i)))
	}
	set := filter.NewSet(filters)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			var got []int
			for i := range 200 {
				body := fmt.Sprintf(`{"a":%d,"b":%d}`, (worker+i)%20, i)
				doc, err := filter.Parse([]byte(body))
				if err != nil {
					t.Errorf("parse %s: %v", body, err)
					return
				}
				got = set.Match(doc, got)
				for j, f := range filters {
					if f.Match(doc) != slices.Contains(got, j) {
						t.Errorf("body %s: filter %d", body, j)
						return
					}
				}
			}
		})
	}
	group.Wait()
}

// What was found out about a condition at one path says nothing about another.
func TestFilterSetKeepsPathsApart(t *testing.T) {
	t.Parallel()
	var filters []*filter.Filter
	for _, key := range []string{"a", "b", "c"} {
		filters = append(filters, compile(t, fmt.Sprintf(`{"%s":{"x":{"not_in":[1]}}}`, key)))
	}
	set := filter.NewSet(filters)
	if got := set.Match(parse(t, `{"a":[{"x":1}],"b":[{"x":2}],"c":{"x":[1]}}`), nil); !slices.Equal(got, []int{1}) {
		t.Errorf("got %v", got)
	}
	if got := set.Match(parse(t, `{"a":[{"x":2}],"b":[{"x":1}],"c":{"x":[]}}`), nil); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("got %v", got)
	}
}
