package store

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
)

// classesPerOctave is how fine histograms are: each class is 9 % wide, so what they
// report is at most 5 % off.
const classesPerOctave = 8

// lastClass holds everything from 34 years.
const lastClass = 40 * classesPerOctave

// Histogram counts durations in classes whose width grows with the duration.
type Histogram map[int]int64

// Add counts a duration.
func (h Histogram) Add(d time.Duration) {
	class := 0
	if millis := float64(d) / float64(time.Millisecond); millis > 1 {
		class = min(int(classesPerOctave*math.Log2(millis)), lastClass)
	}
	h[class]++
}

// Count is how many durations were counted.
func (h Histogram) Count() int64 {
	var sum int64
	for _, n := range h {
		sum += n
	}
	return sum
}

// Quantile is the duration that the given part of all does not exceed, to within a
// class; 0 when there are none.
func (h Histogram) Quantile(part float64) time.Duration {
	rank := int64(math.Ceil(part * float64(h.Count())))
	for _, class := range slices.Sorted(maps.Keys(h)) {
		if rank -= h[class]; rank <= 0 && h[class] > 0 {
			return time.Duration(math.Exp2((float64(class)+.5)/classesPerOctave) * float64(time.Millisecond))
		}
	}
	return 0
}

// Tally counts ends of runs.
type Tally struct {
	Succeeded, Failed, Errored, Cancelled int64
	// Waits is the time from creation to the start, Times the time at work; runs that
	// never started are in neither.
	Waits, Times Histogram
	// Reasons counts the failed and errored by error code.
	Reasons map[string]int64
}

// NewTally is a tally of nothing.
func NewTally() *Tally {
	return &Tally{Waits: Histogram{}, Times: Histogram{}, Reasons: map[string]int64{}}
}

// Total is how many ends were counted.
func (t *Tally) Total() int64 { return t.Succeeded + t.Failed + t.Errored + t.Cancelled }

// End counts the end of a run.
func (t *Tally) End(e RunEnd) {
	switch e.State {
	case lineshaft.Succeeded:
		t.Succeeded++
	case lineshaft.Failed:
		t.Failed++
		t.Reasons[e.ErrorCode]++
	case lineshaft.Errored:
		t.Errored++
		t.Reasons[e.ErrorCode]++
	case lineshaft.Cancelled:
		t.Cancelled++
	default:
		return
	}
	if e.StartedAt.IsZero() {
		return
	}
	t.Waits.Add(max(e.StartedAt.Sub(e.CreatedAt), 0))
	t.Times.Add(max(e.RunTime, 0))
}

// Merge adds another tally.
func (t *Tally) Merge(other *Tally) {
	t.Succeeded += other.Succeeded
	t.Failed += other.Failed
	t.Errored += other.Errored
	t.Cancelled += other.Cancelled
	for class, n := range other.Waits {
		t.Waits[class] += n
	}
	for class, n := range other.Times {
		t.Times[class] += n
	}
	for code, n := range other.Reasons {
		t.Reasons[code] += n
	}
}
