package control_test

import (
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/overview"
)

// The period before is as long as the one that is shown, and ends counted already are in it
// as those that are not.
func TestI2OverviewComparesWithThePeriodBefore(t *testing.T) {
	t.Parallel()
	for _, over := range overview.OverviewRanges() { // ends are counted in their order, so each range has a server
		t.Run(string(over), func(t *testing.T) {
			t.Parallel()
			eachWorks(t, factories.NewWebhook{}, func(w *works) { w.comparesBefore(over) })
		})
	}
}

func (w *works) comparesBefore(over overview.OverviewRange) {
	w.at(halfPast())
	was := w.overview(w.admin, over)
	lasted, length := was.At.Sub(was.Total.From), was.Before.Until.Sub(was.Before.From)
	if length < lasted || length > lasted+time.Hour || was.Before.Until.After(was.Total.From) {
		w.Errorf("%s are compared with %s", lasted, length)
	}
	w.past(w.factory, lineshaft.Succeeded, was.Before.From, "")
	w.past("", lineshaft.Failed, was.Before.Until.Add(-time.Microsecond), lineshaft.CodeRunTimeout)
	w.past("", lineshaft.Succeeded, was.Before.From.Add(-time.Microsecond), "")
	w.past("", lineshaft.Errored, was.Total.From, lineshaft.CodeRunTimeout)
	if was.Before.Until.Before(was.Total.From) { // neither here nor there
		w.past("", lineshaft.Cancelled, was.Before.Until, "")
	}
	for _, when := range []string{"before they are counted", "after"} {
		now := w.overview(w.admin, over)
		if counts(now.Before) != [4]int64{1, 1, 0, 0} || counts(now.Total) != [4]int64{0, 0, 1, 0} {
			w.Errorf("%s: %v, and %v before", when, counts(now.Total), counts(now.Before))
		}
		w.folded()
	}
}

// The overview of one factory is what a key of that factory sees.
func TestI2OverviewOfOneFactory(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		now := halfPast()
		w.at(now)
		w.past(w.factory, lineshaft.Succeeded, now.Add(-time.Minute), "")
		failed := w.past(w.factory, lineshaft.Failed, now.Add(-2*time.Minute), lineshaft.CodeRunTimeout)
		w.past("", lineshaft.Failed, now.Add(-time.Minute), lineshaft.CodeAgentProcessFailed)
		w.start(lineshaft.NewRun{})
		for range 2 {
			one := must[*overview.Overview](w.bench)(w.s.Overview(w.Context(), w.admin, overview.LastDay, w.factory))
			alone := len(one.Reasons) == 1 && one.Active[0].Count == 0 && one.FactoryUID == w.factory && !one.Unused
			if counts(one.Total) != [4]int64{1, 1, 0, 0} || !alone {
				w.Errorf("%v %v %v", counts(one.Total), one.Reasons, one.Active)
			}
			for _, a := range one.Attention {
				if a.Kind == overview.AttentionFailed && a.ID != failed {
					w.Errorf("a failure from elsewhere: %+v", a)
				}
			}
			w.folded()
		}
		for _, c := range []lineshaft.Caller{w.admin, w.caller(lineshaft.RoleViewer, w.factory)} {
			_, err := w.s.Overview(w.Context(), c, overview.LastDay, "another")
			wantCode(w, err, lineshaft.CodeNotFound)
		}
	})
}
