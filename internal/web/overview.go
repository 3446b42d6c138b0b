package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
)

func (s *server) overviewRoutes() []route {
	return []route{
		{"GET /{$}", lineshaft.PermissionRunsRead, s.overviewPage},
	}
}

type overviewData struct {
	*overview.Overview

	Ranges []rangeLink
	// Words are the range as people say it, such as "last 24 hours".
	Words   string
	BaseURL string
	// MayStart and MayBuild say which first steps to show.
	MayStart, MayBuild bool
	Tiles              []tile
	Notices            []notice
	Throughput         chart
	Start, Work        chart
	States, Failures   []barRow
	Certificates       []Certificate
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

// overviewPage shows how everything stands; its refresh asks for the part that changes.
func (s *server) overviewPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	over := overview.OverviewRange(cmp.Or(r.URL.Query().Get("range"), string(overview.LastDay)))
	view, err := s.Control.Overview(r.Context(), c, over)
	if err != nil {
		return err
	}
	data := newOverviewData(view)
	data.BaseURL = s.BaseURL
	if s.Certificates != nil {
		data.Certificates = s.Certificates()
		if c.Role.May(lineshaft.PermissionKeys) { // those who see what to do about it
			data.Notices = append(certificateNotices(data.Certificates), data.Notices...)
		}
	}
	data.MayStart, data.MayBuild = c.Role.May(lineshaft.PermissionRunsStart), c.Role.May(lineshaft.PermissionFactoriesManage)
	if r.Header.Get("Hx-Request") == "true" {
		return s.fragment(w, r, "overview", "overview", data)
	}
	return s.render(w, r, c, "overview", page{Title: "Overview", Section: "overview", Data: data})
}

func newOverviewData(view *overview.Overview) overviewData {
	data := overviewData{Overview: view, Words: rangeWords(view.Range)}
	for _, over := range overview.OverviewRanges() {
		data.Ranges = append(data.Ranges, rangeLink{Name: map[overview.OverviewRange]string{
			overview.LastHour: "1 hour", overview.LastDay: "24 hours", overview.LastWeek: "7 days",
		}[over], Href: "/?range=" + string(over), Here: over == view.Range})
	}
	data.Tiles = tiles(view)
	data.Notices = notices(view)
	data.Throughput = throughput(view)
	data.Start = latencyChart("start", "Time to start", view, func(p overview.Period) overview.Latency { return p.Start })
	data.Work = latencyChart("work", "Time at work", view, func(p overview.Period) overview.Latency { return p.Work })
	data.States = stateRows(view)
	data.Failures = reasonRows(view)
	return data
}

func slots(view *overview.Overview, said func(overview.Period) string) []slot {
	list := make([]slot, len(view.Bars))
	for i, bar := range view.Bars {
		list[i] = slotOf(bar.From, bar.Until, view.Range == overview.LastWeek)
		list[i].Said = list[i].Name + ": " + said(bar)
	}
	return list
}

func throughput(view *overview.Overview) chart {
	all := []series{{Name: "Succeeded", Class: "succeeded"}, {Name: "Failed", Class: "failed"}, {Name: "Error", Class: "error"}, {Name: "Cancelled", Class: "cancelled"}}
	for _, bar := range view.Bars {
		for i, n := range []int64{bar.Succeeded, bar.Failed, bar.Errored, bar.Cancelled} {
			all[i].Values = append(all[i].Values, float64(n))
			all[i].Texts = append(all[i].Texts, count(n))
		}
	}
	c := stackedChart("throughput", "Ended runs", slots(view, func(p overview.Period) string {
		return fmt.Sprintf("%s succeeded, %s failed, %s ended in an error, %s cancelled", count(p.Succeeded), count(p.Failed), count(p.Errored), count(p.Cancelled))
	}), all)
	total := view.Total
	c.Desc = fmt.Sprintf("In the %s, %s runs ended: %s succeeded, %s failed, %s ended in an error, %s were cancelled.",
		rangeWords(view.Range), count(total.Ended()), count(total.Succeeded), count(total.Failed), count(total.Errored), count(total.Cancelled))
	if total.Ended() == 0 {
		c.Empty = "No run ended in the " + rangeWords(view.Range) + "."
	}
	return c
}

func latencyChart(id, title string, view *overview.Overview, of func(overview.Period) overview.Latency) chart {
	all := []series{{Name: "Median", Class: "p50"}, {Name: "95 % within", Class: "p95"}}
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
	c := stepChart(id, title, slots(view, func(p overview.Period) string {
		l := of(p)
		if l.Count == 0 {
			return "no run"
		}
		return fmt.Sprintf("median %s, 95 %% within %s", about(l.P50), about(l.P95))
	}), all)
	total := of(view.Total)
	c.Desc = fmt.Sprintf("In the %s the median was %s, and 95 %% were within %s.", rangeWords(view.Range), about(total.P50), about(total.P95))
	if total.Count == 0 {
		c.Empty = "No run started and ended in the " + rangeWords(view.Range) + "."
	}
	return c
}

func stateRows(view *overview.Overview) []barRow {
	var rows []barRow
	var values []float64
	for _, a := range view.Active {
		rows = append(rows, barRow{Name: stateName(a.State), Href: "/runs?state=" + string(a.State), Class: "s-" + string(a.State), Count: activeCount(a.Count)})
		values = append(values, float64(a.Count))
	}
	return barRows(rows, values)
}

// mostReasons is how many reasons have a line of their own.
const mostReasons = 6

func reasonRows(view *overview.Overview) []barRow {
	var rows []barRow
	var values []float64
	var rest int64
	for i, reason := range view.Reasons {
		if i >= mostReasons {
			rest += reason.Count
			continue
		}
		rows = append(rows, barRow{Name: reasonName(reason.Code), Class: "failed", Count: count(reason.Count)})
		values = append(values, float64(reason.Count))
	}
	if rest > 0 {
		rows = append(rows, barRow{Name: "Other reasons", Class: "failed", Count: count(rest)})
		values = append(values, float64(rest))
	}
	return barRows(rows, values)
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
