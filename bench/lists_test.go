package main

import (
	"reflect"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// TestR4EveryFilterIsMeasured fails when a filter is added and not measured.
func TestR4EveryFilterIsMeasured(t *testing.T) {
	t.Parallel()
	set := map[string]bool{"Local": true} // selects everything or nothing, without looking
	for _, q := range singleFilters(10_000) {
		v := reflect.ValueOf(q.filter)
		count := 0
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				set[v.Type().Field(i).Name] = true
				count++
			}
		}
		if count > 1 {
			t.Errorf("%q has %d filters", q.name, count)
		}
	}
	kind := reflect.TypeFor[lineshaft.RunFilter]()
	for i := range kind.NumField() {
		if name := kind.Field(i).Name; !set[name] {
			t.Errorf("the filter %s is not measured", name)
		}
	}
}

func TestB7Combinations(t *testing.T) {
	t.Parallel()
	combinations := usualCombinations(10_000)
	equal(t, "combinations", len(combinations), 20)
	names := map[string]bool{}
	for _, q := range append(singleFilters(10_000), combinations...) {
		if names[q.name] {
			t.Errorf("%q is there twice", q.name)
		}
		names[q.name] = true
	}
	for _, q := range combinations {
		v := reflect.ValueOf(q.filter)
		count := len(q.filter.Metadata)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() && v.Type().Field(i).Name != "Metadata" {
				count++
			}
		}
		if count < 2 {
			t.Errorf("%q has %d filters", q.name, count)
		}
	}
}

func TestB7Cases(t *testing.T) {
	t.Parallel()
	cases := listCases(51)
	equal(t, "cases", len(cases), 51*2*2)
	seen := map[listCase]bool{}
	for _, c := range cases {
		seen[c] = true
	}
	equal(t, "different cases", len(seen), len(cases))
}

// TestB7PagesAreFull makes sure that lists of the small database have something to
// give: an empty page is not a measurement.
func TestB7PagesAreFull(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	side, err := s.openSide(t.Context(), sqlite, 1500)
	must(t, err)
	t.Cleanup(func() { _ = side.store.Close() })
	one := map[string]bool{"q in one run": true, "q run id": true}
	for _, c := range listCases(len(side.queries)) {
		_, rows, err := side.page(t.Context(), c)
		must(t, err)
		switch name := side.queries[c.number].name; {
		case one[name] && !c.deep:
			equal(t, name, rows, 1)
		case one[name]: // the run may lie before the page
		case rows == 0:
			t.Errorf("%s by %s (deep: %v): the page is empty", name, c.sort, c.deep)
		}
	}
}

func TestB7Measure(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	m := &listMeter{session: s, calls: 3}
	for _, side := range []struct {
		runs int
		into **listSide
	}{{300, &m.small}, {600, &m.big}} {
		opened, err := s.openSide(t.Context(), sqlite, side.runs)
		must(t, err)
		t.Cleanup(func() { _ = opened.store.Close() })
		*side.into = opened
	}
	found, err := m.judged(t.Context(), listCase{number: 0, sort: lineshaft.SortCreated, deep: true}, time.Second)
	must(t, err)
	equal(t, "rows of the small one", found.SmallRows, listPage)
	equal(t, "rows of the big one", found.BigRows, listPage)
	if found.SmallP99 <= 0 || found.BigP99 <= 0 || found.Ratio <= 0 || found.BigP50 > found.BigP99 {
		t.Errorf("found %+v", found)
	}
}

func TestB7Rows(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	s.listRows(sqlite, 2, []listFound{
		{Name: "a", Ratio: 1.1, BigP99: 11, SmallP99: 10, number: 0},
		{Name: "b", Ratio: 1.4, BigP99: 14, SmallP99: 10, number: 1},
		{Name: "a", Ratio: 1.6, BigP99: 16, SmallP99: 10, number: 0, Deep: true},
		{Name: "c", Ratio: 0.9, BigP99: 9, SmallP99: 10, number: 2},
		{Name: "c", Ratio: 2.0, BigP99: 20, SmallP99: 10, number: 2, Deep: true},
	})
	for i, want := range []struct {
		measured float64
		verdict  verdict
	}{{14, met}, {16, missed}, {9, met}, {20, missed}} {
		equal(t, "measured", s.report.Rows[i].Measured, figure{want.measured, milliseconds})
		equal(t, "anchor", s.report.Rows[i].Anchor, figure{10, milliseconds})
		equal(t, s.report.Rows[i].What, s.report.Rows[i].Verdict, want.verdict)
	}
}
