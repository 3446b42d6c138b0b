package overview

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/web/chart"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

type overviewData struct {
	*overview.Overview

	Ranges []rangeLink
	// Factories are those to choose from, Refresh is where an open page asks for news.
	Factories []page.Option
	Refresh   string
	// Words are the range as people say it, such as "last 24 hours".
	Words   string
	BaseURL string
	// MayStart and MayBuild say which first steps to show.
	MayStart, MayBuild bool
	Tiles              []tile
	Notices            []notice
	Throughput         chart.Chart
	Start, Work        chart.Chart
	States, Failures   []chart.Row
	// Spending is what each day cost, SpentBy which factories cost something today.
	Spending *chart.Chart
	SpentBy  []chart.Row
	// NoModel says that only shell prompts work here.
	NoModel      bool
	Certificates []page.Certificate
}

type rangeLink struct {
	Name, Href string
	Here       bool
}

func rangeWords(over overview.OverviewRange) string {
	switch over {
	case overview.LastHour:
		return "last hour"
	case overview.LastWeek:
		return "last 7 days"
	case overview.LastDay:
	}
	return "last 24 hours"
}

// overviewPage shows the state of everything; its refresh asks for the part that changes.
func (s pages) overviewPage(r *page.Request) error {
	over := overview.OverviewRange(cmp.Or(r.URL.Query().Get("range"), string(overview.LastDay)))
	view, err := s.Control.Overview(r.Context(), r.Caller, over, r.URL.Query().Get("factory"))
	if err != nil {
		return err
	}
	var names map[string]string
	if r.Caller.Role.May(lineshaft.PermissionFactoriesRead) {
		if names, err = s.FactoryNames(r.Context(), r.Caller); err != nil {
			return err
		}
	}
	if err := s.nameSpenders(r, view.Spent, names); err != nil {
		return err
	}
	data := newOverviewData(view, names)
	data.Factories = page.Options(names)
	data.BaseURL = s.BaseURL
	if s.Certificates != nil {
		data.Certificates = s.Certificates()
		if r.Caller.Role.May(lineshaft.PermissionKeys) { // those who see what to do about it
			data.Notices = append(certificateNotices(data.Certificates), data.Notices...)
		}
	}
	data.NoModel = s.Absent != nil && slices.Contains(s.Absent(), "builtin")
	data.MayStart, data.MayBuild = r.Caller.Role.May(lineshaft.PermissionRunsStart), r.Caller.Role.May(lineshaft.PermissionFactoriesManage)
	if r.Asked() {
		return r.Fragment("overview", "overview", data)
	}
	return r.Render("overview", page.Of("overview", data))
}

func newOverviewData(view *overview.Overview, names map[string]string) overviewData {
	data := overviewData{Overview: view, Words: rangeWords(view.Range)}
	data.Refresh = within(view, "/", "range", string(view.Range))
	for _, over := range overview.OverviewRanges() {
		data.Ranges = append(data.Ranges, rangeLink{Name: map[overview.OverviewRange]string{
			overview.LastHour: "1 hour", overview.LastDay: "24 hours", overview.LastWeek: "7 days",
		}[over], Href: within(view, "/", "range", string(over)), Here: over == view.Range})
	}
	data.Tiles = tiles(view)
	data.Notices = notices(view)
	data.Throughput = throughput(view)
	data.Start = latencyChart("start", "Time to start", view, func(p overview.Period) overview.Latency { return p.Start })
	data.Work = latencyChart("work", "Duration", view, func(p overview.Period) overview.Latency { return p.Work })
	data.States = stateRows(view)
	data.Failures = reasonRows(view)
	if len(view.Spent) > 0 {
		data.Spending, data.SpentBy = new(spentChart(view.Spent, view.FactoryUID, names)), spentRows(view)
	}
	return data
}

func slots(view *overview.Overview, said func(overview.Period) string) []chart.Slot {
	list := make([]chart.Slot, len(view.Bars))
	for i, bar := range view.Bars {
		list[i] = chart.SlotOf(bar.From, bar.Until, view.Range == overview.LastWeek)
		list[i].Said = list[i].Name + ": " + said(bar)
		list[i].Href = endedHref(view, bar.From, bar.Until, endStates()...)
	}
	return list
}

// within is an address with a name and a value, and with the factory that the overview is about.
func within(view *overview.Overview, path string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	if view.FactoryUID != "" {
		values.Set("factory", view.FactoryUID)
	}
	return page.WithQuery(path, values)
}

// endedHref leads to the runs that ended in a stretch of time; a zero end is now.
func endedHref(view *overview.Overview, from, until time.Time, states ...lineshaft.RunState) string {
	pairs := []string{"since", from.UTC().Format(time.RFC3339), "sort", "updated"}
	if !until.IsZero() {
		pairs = append(pairs, "until", until.UTC().Format(time.RFC3339))
	}
	for _, state := range states {
		pairs = append(pairs, "state", string(state))
	}
	return within(view, "/runs", pairs...)
}

// endStates are those in which runs end.
func endStates() []lineshaft.RunState {
	return []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Errored, lineshaft.Cancelled}
}

func throughput(view *overview.Overview) chart.Chart {
	all := []chart.Series{{Name: "Succeeded", Class: "succeeded"}, {Name: "Failed", Class: "failed"}, {Name: "Error", Class: "error"}, {Name: "Cancelled", Class: "cancelled"}}
	for i, state := range endStates() {
		all[i].Href = endedHref(view, view.Total.From, time.Time{}, state)
	}
	for _, bar := range view.Bars {
		for i, n := range []int64{bar.Succeeded, bar.Failed, bar.Errored, bar.Cancelled} {
			all[i].Values = append(all[i].Values, float64(n))
			all[i].Texts = append(all[i].Texts, page.Count(n))
		}
	}
	c := chart.Stacked("throughput", "Ended runs", slots(view, func(p overview.Period) string {
		return fmt.Sprintf("%s succeeded, %s failed, %s ended in an error, %s cancelled", page.Count(p.Succeeded), page.Count(p.Failed), page.Count(p.Errored), page.Count(p.Cancelled))
	}), all)
	total := view.Total
	c.Desc = fmt.Sprintf("In the %s, %s ended: %s succeeded, %s failed, %s ended in an error, %s were cancelled.",
		rangeWords(view.Range), page.Plural(int(total.Ended()), "run", "runs"), page.Count(total.Succeeded), page.Count(total.Failed), page.Count(total.Errored), page.Count(total.Cancelled))
	if total.Ended() == 0 {
		c.Empty = "No run ended in the " + rangeWords(view.Range) + "."
	}
	return c
}

func latencyChart(id, title string, view *overview.Overview, of func(overview.Period) overview.Latency) chart.Chart {
	all := []chart.Series{{Name: "Median", Class: "p50"}, {Name: "p95", Class: "p95"}}
	for _, bar := range view.Bars {
		l := of(bar)
		for i, d := range []time.Duration{l.P50, l.P95} {
			value, text := d.Seconds(), about(d)
			if l.Count == 0 {
				value, text = math.NaN(), "–"
			}
			all[i].Values = append(all[i].Values, value)
			all[i].Texts = append(all[i].Texts, text)
		}
	}
	c := chart.Steps(id, title, slots(view, func(p overview.Period) string {
		l := of(p)
		if l.Count == 0 {
			return "no run"
		}
		return fmt.Sprintf("median %s, p95 %s", about(l.P50), about(l.P95))
	}), all)
	total := of(view.Total)
	c.Desc = fmt.Sprintf("In the %s the median was %s, and 95%% were within %s.", rangeWords(view.Range), about(total.P50), about(total.P95))
	if total.Count == 0 {
		c.Empty = "No run started and ended in the " + rangeWords(view.Range) + "."
	}
	return c
}

func stateRows(view *overview.Overview) []chart.Row {
	var rows []chart.Row
	var values []float64
	for _, a := range view.Active {
		row := chart.Row{Name: page.StateName(a.State), Class: "s-" + string(a.State), Count: activeCount(a.Count)}
		row.Href = within(view, "/runs", "state", string(a.State))
		rows = append(rows, row)
		values = append(values, float64(a.Count))
	}
	return chart.Rows(rows, values)
}

// mostReasons is how many reasons have a line of their own.
const mostReasons = 6

func reasonRows(view *overview.Overview) []chart.Row {
	var rows []chart.Row
	var values []float64
	var rest int64
	failed := endedHref(view, view.Total.From, time.Time{}, lineshaft.Failed, lineshaft.Errored)
	for i, reason := range view.Reasons {
		if i >= mostReasons {
			rest += reason.Count
			continue
		}
		row := chart.Row{Name: reasonName(reason.Code), Class: "failed", Count: page.Count(reason.Count), Href: failed}
		if reason.Code != "" {
			row.Href += "&error=" + url.QueryEscape(string(reason.Code))
		}
		rows = append(rows, row)
		values = append(values, float64(reason.Count))
	}
	if rest > 0 {
		rows = append(rows, chart.Row{Name: "Other reasons", Class: "failed", Count: page.Count(rest), Href: failed})
		values = append(values, float64(rest))
	}
	return chart.Rows(rows, values)
}

// reasonName is how people read the code of a failure.
func reasonName(code lineshaft.Code) string {
	words := map[string]string{
		"":                                       "The agent gave up",
		string(lineshaft.CodeAgentProcessFailed): "The agent's program failed",
		string(lineshaft.CodeRunTimeout):         "It took too long",
		string(lineshaft.CodeInfrastructureTimeout):  "The worker was lost or never came",
		string(lineshaft.CodeEnvironmentSetupFailed): "The environment could not be set up",
		string(lineshaft.CodeBudgetExceeded):         "The budget was used up",
		string(lineshaft.CodeUnavailable):            "A service was not available",
		string(lineshaft.CodeInternal):               "An internal error",
		string(lineshaft.CodeInvalidRequest):         "The configuration does not work",
		string(lineshaft.CodeNotFound):               "Something it needs does not exist",
	}
	return cmp.Or(words[string(code)], string(code))
}

// tile is a number that people look for first.
type tile struct {
	Name, Value, Note, Href string
	// Kind colours the note: warn, bad or nothing.
	Kind string
	// Before compares with the period before, BeforeHref leads to the runs of then.
	Before, BeforeHref string
}

// activeCount is a number of active runs, which is not counted to the end.
func activeCount(n int) string {
	if n >= overview.MaxActiveCount {
		return page.Count(overview.MaxActiveCount) + "+"
	}
	return page.Count(n)
}

func tiles(view *overview.Overview) []tile {
	active := map[lineshaft.RunState]int{}
	for _, a := range view.Active {
		active[a.State] = a.Count
	}
	running := min(active[lineshaft.Pending]+active[lineshaft.Claimed]+active[lineshaft.InProgress], overview.MaxActiveCount)
	total := view.Total
	queue := tile{Name: "Queued", Value: activeCount(active[lineshaft.Queued]), Note: "none waiting"}
	queue.Href = within(view, "/runs", "state", "QUEUED")
	if !view.OldestQueued.IsZero() {
		queue.Note = "oldest waiting " + page.Roughly(view.At.Sub(view.OldestQueued))
	}
	run := tile{Name: "Running", Value: activeCount(running), Note: "none needs an answer"}
	run.Href = within(view, "/runs", "state", "PENDING", "state", "CLAIMED", "state", "INPROGRESS")
	if n := active[lineshaft.Blocked]; n > 0 {
		run.Note, run.Kind = needAnswer(n), "warn"
	}
	success := tile{Name: "Success rate", Value: percent(total.Succeeded, total.Judged()), Note: "no ended runs"}
	success.Href = endedHref(view, total.From, time.Time{}, lineshaft.Failed, lineshaft.Errored)
	if failed := total.Failed + total.Errored; failed > 0 {
		success.Note, success.Kind = page.Count(failed)+" failed", "bad"
	} else if total.Judged() > 0 {
		success.Note = "none failed"
	}
	ended := tile{Name: "Ended", Value: page.Count(total.Ended()), Note: "in the " + rangeWords(view.Range)}
	ended.Href = endedHref(view, total.From, time.Time{}, endStates()...)
	if total.Cancelled > 0 {
		ended.Note = page.Count(total.Cancelled) + " cancelled"
	}
	start, work := latencyTile("Median to start", total.Start), latencyTile("Median duration", total.Work)
	start.Href, work.Href = ended.Href, ended.Href
	compare(view, &ended, &success, &start, &work)
	list := []tile{run, queue, ended, success, start, work}
	if len(view.Spent) > 1 {
		spent := tile{Name: "Spent today", Value: page.Dollars(view.Spent[0].CostMicros), Href: within(view, "/costs", "days", "1")}
		spent.Note = page.Dollars(view.Spent[1].CostMicros) + " yesterday, UTC"
		list = append(list, spent)
	}
	return list
}

// compare says of the tiles what they were in the period before, if runs ended in it.
func compare(view *overview.Overview, ended, success, start, work *tile) {
	before := view.Before
	if before.Ended() == 0 {
		return
	}
	ended.Before = page.Count(before.Ended())
	if before.Judged() > 0 {
		success.Before = percent(before.Succeeded, before.Judged())
	}
	if before.Start.Count > 0 {
		start.Before = about(before.Start.P50)
	}
	if before.Work.Count > 0 {
		work.Before = about(before.Work.P50)
	}
	for _, one := range []*tile{ended, success, start, work} {
		one.BeforeHref = endedHref(view, before.From, before.Until, endStates()...)
	}
}

// spentRows are the factories that cost something today, with their budgets.
func spentRows(view *overview.Overview) []chart.Row {
	var rows []chart.Row
	var values []float64
	for _, f := range view.SpentToday {
		row := chart.Row{Name: cmp.Or(f.Name, "Deleted factory"), Class: "spent", Count: page.Dollars(f.CostMicros)}
		if f.Name != "" {
			row.Href = page.WithQuery("/costs", url.Values{"days": {"1"}, "factory": {f.UID}})
		}
		if most := f.Budget.MaxCostMicros; most > 0 {
			row.Count += " of " + page.Dollars(most)
		}
		rows = append(rows, row)
		values = append(values, float64(f.CostMicros))
	}
	return chart.Rows(rows, values)
}

// spentSeries is how many factories have a colour of their own among what was spent.
const spentSeries = 4

// spentChart draws what each of the last days cost: by factory, unless it is about one.
func spentChart(spent []overview.DaySpending, factory string, names map[string]string) chart.Chart {
	all := spentBy(spent, factory, names)
	var days []chart.Slot
	var sum int64
	for at, day := range slices.Backward(spent) {
		name := day.Day.Format("Mon 2 Jan")
		bar := chart.Slot{Name: name, Tick: day.Day.Format("Mon 2"), Said: name + ": " + page.Dollars(day.CostMicros)}
		bar.Href = endedHref(&overview.Overview{FactoryUID: factory}, day.Day, day.Day.AddDate(0, 0, 1))
		days = append(days, bar)
		sum += day.CostMicros
		for i := range all {
			micros := all[i].of(spent[at])
			all[i].Values = append(all[i].Values, float64(micros)/1e6)
			all[i].Texts = append(all[i].Texts, page.Dollars(micros))
		}
	}
	series := make([]chart.Series, len(all))
	for i, one := range all {
		series[i] = one.Series
	}
	c := chart.Dollars("spending", "Spending by day", days, series)
	c.Desc = fmt.Sprintf("In the last %d days, runs in factories cost %s.", len(days), page.Dollars(sum))
	if sum == 0 {
		c.Empty = "Nothing was spent in the last days."
	}
	return c
}

// spender is a part of what a day cost.
type spender struct {
	chart.Series

	of func(overview.DaySpending) int64
}

// spentBy are the factories that cost most, and what all the others cost together.
func spentBy(spent []overview.DaySpending, factory string, names map[string]string) []spender {
	dearest := dearestOf(spent)
	if factory != "" || len(dearest) < 2 {
		return []spender{{chart.Series{Name: "US dollars", Class: "spent"}, func(day overview.DaySpending) int64 { return day.CostMicros }}}
	}
	others := len(dearest) > spentSeries
	dearest = dearest[:min(len(dearest), spentSeries)]
	of := func(belongs func(uid string) bool) func(overview.DaySpending) int64 {
		return func(day overview.DaySpending) (micros int64) {
			for _, f := range day.Factories {
				if belongs(f.UID) {
					micros += f.CostMicros
				}
			}
			return micros
		}
	}
	var all []spender
	for i, uid := range dearest {
		one := chart.Series{Name: cmp.Or(names[uid], "Deleted factory"), Class: fmt.Sprintf("spent n%d", i+1)}
		if names[uid] != "" {
			one.Href = page.FactoryAddress(uid)
		}
		all = append(all, spender{one, of(func(other string) bool { return other == uid })})
	}
	if others {
		rest := of(func(uid string) bool { return !slices.Contains(dearest, uid) })
		all = append(all, spender{chart.Series{Name: "Other factories", Class: "spent n5"}, rest})
	}
	return all
}

// dearestOf are the factories that something was spent in, those that cost most first.
func dearestOf(spent []overview.DaySpending) []string {
	sums := map[string]int64{}
	for _, day := range spent {
		for _, f := range day.Factories {
			sums[f.UID] += f.CostMicros
		}
	}
	return slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
}

// nameSpenders adds the names of factories that have a colour of their own and are beyond those that a form
// offers; those that were deleted have none.
func (s pages) nameSpenders(r *page.Request, spent []overview.DaySpending, names map[string]string) error {
	dearest := dearestOf(spent)
	for _, uid := range dearest[:min(len(dearest), spentSeries)] {
		if names[uid] != "" {
			continue
		}
		f, err := s.Control.GetFactory(r.Context(), r.Caller, uid)
		switch {
		case err == nil:
			names[uid] = f.Name
		case lineshaft.CodeOf(err) != lineshaft.CodeNotFound:
			return err
		}
	}
	return nil
}

// about is a duration with no more digits than histograms know.
func about(d time.Duration) string {
	d = max(d, 0)
	for _, unit := range []struct {
		below, size time.Duration
		name        string
	}{{time.Second, time.Millisecond, "ms"}, {100 * time.Second, time.Second, "s"}, {100 * time.Minute, time.Minute, "min"}, {48 * time.Hour, time.Hour, "h"}} {
		if d < unit.below {
			return digits(float64(d)/float64(unit.size)) + " " + unit.name
		}
	}
	return digits(d.Hours()/24) + " days"
}

func digits(v float64) string {
	if v < 10 {
		return chart.Trim(v)
	}
	return fmt.Sprintf("%.0f", v)
}

func needAnswer(n int) string {
	if n == 1 {
		return "1 needs an answer"
	}
	return activeCount(n) + " need an answer"
}

func latencyTile(name string, l overview.Latency) tile {
	if l.Count == 0 {
		return tile{Name: name, Value: "–", Note: "no run started"}
	}
	return tile{Name: name, Value: about(l.P50), Note: "p95 " + about(l.P95)}
}

// percent never rounds up to all when it was not all.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	tenths := math.Round(float64(part) / float64(whole) * 1000)
	if part < whole {
		tenths = min(tenths, 999) // all is said of all only
	}
	if tenths == 1000 || math.Mod(tenths, 10) == 0 {
		return fmt.Sprintf("%.0f%%", tenths/10)
	}
	return fmt.Sprintf("%.1f%%", tenths/10)
}
