package store_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

func TestHistogramTellsQuantilesWithinFivePercent(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 1000} {
		h := store.Histogram{}
		var all []time.Duration
		for range n {
			d := time.Duration(math.Exp(dice.Float64()*20) * float64(time.Millisecond)) // 1 ms to 15 years
			all = append(all, d)
			h.Add(d)
		}
		slices.Sort(all)
		for _, part := range []float64{.5, .95, 1} {
			want := all[int(math.Ceil(part*float64(n)))-1]
			if off := math.Abs(float64(h.Quantile(part))/float64(want) - 1); off > .05 {
				t.Errorf("%v of %d: %s, want %s", part, n, h.Quantile(part), want)
			}
		}
		if h.Count() != int64(n) {
			t.Errorf("counts %d of %d", h.Count(), n)
		}
	}
}

func TestHistogramOfNothingAndOfExtremes(t *testing.T) {
	t.Parallel()
	if got := (store.Histogram{}).Quantile(.5); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
	for _, d := range []time.Duration{0, time.Nanosecond, time.Millisecond, time.Duration(math.MaxInt64)} {
		h := store.Histogram{}
		h.Add(d)
		if got := h.Quantile(.5); got <= 0 {
			t.Errorf("of %s: %s", d, got)
		}
	}
}

func TestTallyCountsEachOutcome(t *testing.T) {
	t.Parallel()
	made := time.Unix(1_800_000_000, 0)
	tally := store.NewTally()
	for _, e := range []store.RunEnd{
		{State: lineshaft.Succeeded, CreatedAt: made, StartedAt: made.Add(time.Second), RunTime: time.Minute},
		{State: lineshaft.Failed, ErrorCode: "agent_process_failed", CreatedAt: made, StartedAt: made.Add(time.Second), RunTime: time.Minute},
		{State: lineshaft.Errored, ErrorCode: "infrastructure_timeout"},
		{State: lineshaft.Cancelled},
		{State: lineshaft.Queued}, // reopened: no end
		{State: lineshaft.Succeeded, CreatedAt: made, StartedAt: made.Add(-time.Hour), RunTime: -1}, // clocks that differ
	} {
		tally.End(e)
	}
	sum := store.NewTally()
	sum.Merge(tally)
	sum.Merge(tally)
	if sum.Succeeded != 4 || sum.Failed != 2 || sum.Errored != 2 || sum.Cancelled != 2 || sum.Total() != 10 {
		t.Errorf("%+v", sum)
	}
	if sum.Waits.Count() != 6 || sum.Times.Count() != 6 {
		t.Errorf("runs that never started have no times: %v %v", sum.Waits, sum.Times)
	}
	if len(sum.Reasons) != 2 || sum.Reasons["agent_process_failed"] != 2 || sum.Reasons["infrastructure_timeout"] != 2 {
		t.Errorf("%v", sum.Reasons)
	}
}
