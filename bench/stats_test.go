package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Millisecond // from the largest down
	}
	for _, tc := range []struct {
		name    string
		values  []time.Duration
		percent float64
		want    time.Duration
	}{
		{"none", nil, 99, 0},
		{"one", millis(7), 1, 7 * time.Millisecond},
		{"lowest", hundred, 0, time.Millisecond},
		{"middle", hundred, 50, 50 * time.Millisecond},
		{"99th", hundred, 99, 99 * time.Millisecond},
		{"highest", hundred, 100, 100 * time.Millisecond},
		{"99th of few", millis(1, 2, 3, 4), 99, 4 * time.Millisecond},
		{"50th of four", millis(4, 3, 2, 1), 50, 2 * time.Millisecond},
		{"99th of 200", append(slices.Repeat(millis(1), 198), millis(8, 9)...), 99, time.Millisecond},
		{"99th of 200 with three outliers", append(slices.Repeat(millis(1), 197), millis(7, 8, 9)...), 99, 7 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			equal(t, "percentile", percentile(tc.values, tc.percent), tc.want)
		})
	}
}

func TestPercentileOfAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1e12), 1, 300).Draw(t, "values")
		sample := make([]time.Duration, len(values))
		for i, v := range values {
			sample[i] = time.Duration(v)
		}
		before := slices.Clone(sample)
		p := rapid.Float64Range(0, 100).Draw(t, "percent")
		got := percentile(sample, p)
		if !slices.Equal(sample, before) {
			t.Fatal("the sample was changed")
		}
		if !slices.Contains(sample, got) {
			t.Fatalf("%v is none of the values", got)
		}
		below := 0
		for _, v := range sample {
			if v <= got {
				below++
			}
		}
		if float64(below) < p/100*float64(len(sample)) {
			t.Fatalf("only %d of %d values are at most %v, the %v %% percentile", below, len(sample), got, p)
		}
		if higher := percentile(sample, min(p+10, 100)); higher < got {
			t.Fatalf("a higher percentile is less: %v < %v", higher, got)
		}
	})
}

func TestRatioAndMoved(t *testing.T) {
	t.Parallel()
	equal(t, "ratio", ratio(3, 2), 1.5)
	equal(t, "ratio to nothing", ratio(3, 0), 0)
	equal(t, "moved up", moved(100, 125), 0.25)
	equal(t, "moved down", moved(100, 75), -0.25)
	equal(t, "moved from nothing", moved(0, 75), 0)
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		values      []time.Duration
		first, last []time.Duration
	}{
		{"none", nil, nil, nil},
		{"one", millis(1), millis(1), millis(1)},
		{"eight", millis(1, 2, 3, 4, 5, 6, 7, 8), millis(1, 2), millis(7, 8)},
		{"nine", millis(1, 2, 3, 4, 5, 6, 7, 8, 9), millis(1, 2, 3), millis(7, 8, 9)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			first, last := ends(tc.values)
			if !slices.Equal(first, tc.first) || !slices.Equal(last, tc.last) {
				t.Errorf("got %v and %v, want %v and %v", first, last, tc.first, tc.last)
			}
		})
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		figure figure
		want   string
	}{
		{figure{}, "–"},
		{figure{0, milliseconds}, "0 ms"},
		{figure{1351.4, perSecond}, "1,351/s"},
		{figure{999.6, perSecond}, "1000/s"},
		{figure{1234567.8, perSecond}, "1,234,568/s"},
		{figure{12.345, milliseconds}, "12.3 ms"},
		{figure{1.2345, milliseconds}, "1.23 ms"},
		{figure{123.45, milliseconds}, "123 ms"},
		{figure{70, megabytes}, "70 MB"},
		{figure{-1234, kilobytes}, "-1,234 KB"},
		{inMillis(1500 * time.Microsecond), "1.50 ms"},
		{inMegabytes(26_501_282), "26.5 MB"},
	} {
		equal(t, "figure", tc.figure.String(), tc.want)
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1_000_001: "1,000,001", -5000: "-5,000", math.MaxInt64: "9,223,372,036,854,775,807"} {
		equal(t, "thousands", thousands(n), want)
	}
	equal(t, "one", plural(1, "slot"), "1 slot")
	equal(t, "many", plural(1000, "follower"), "1,000 followers")
}
