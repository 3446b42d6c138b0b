package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// movedTooFar is the change of an anchor within a run above which its figures are
// marked as uncertain.
const movedTooFar = 0.10

// percentile is the nearest-rank percentile; 0 when there are no values.
func percentile(values []time.Duration, percent float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// ratio is a/b; 0 when there is nothing to compare with.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// median is the value in the middle; 0 when there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// moved is how far an anchor moved between its first and its last measurement, as a
// fraction of the first.
func moved(first, last float64) float64 {
	if first == 0 {
		return 0
	}
	return (last - first) / first
}

// ends returns the first and the last quarter of what was measured in turn with other
// things: the anchor at the start and at the end.
func ends(values []time.Duration) (first, last []time.Duration) {
	quarter := (len(values) + 3) / 4
	return values[:quarter], values[len(values)-quarter:]
}

// figure is a number with its unit.
type figure struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

const (
	perSecond    = "/s"
	milliseconds = "ms"
	microseconds = "µs"
	megabytes    = "MB"
	kilobytes    = "KB"
	pieces       = ""
)

func inMillis(d time.Duration) figure {
	return figure{float64(d) / float64(time.Millisecond), milliseconds}
}
func inMegabytes(n int64) figure { return figure{float64(n) / 1e6, megabytes} }

// String shows three digits that count, or whole numbers with separators.
func (f figure) String() string {
	if f == (figure{}) {
		return "–"
	}
	text := strconv.FormatFloat(f.Value, 'f', decimals(f.Value), 64)
	if math.Abs(f.Value) >= 1000 {
		text = thousands(int64(math.Round(f.Value)))
	}
	if f.Unit == perSecond || f.Unit == pieces {
		return text + f.Unit
	}
	return text + " " + f.Unit
}

func decimals(v float64) int {
	switch v = math.Abs(v); {
	case v == math.Trunc(v) || v >= 100:
		return 0
	case v >= 10:
		return 1
	}
	return 2
}

func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// plural counts things.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(int64(n)) + " " + noun + "s"
}
