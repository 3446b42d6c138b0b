package overview

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/web/chart"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// costData is what runs cost, with the addresses of those who caused it.
type costData struct {
	*overview.Costs

	Ranges    []rangeLink
	Words     string
	Factories []page.Option
	Chosen    string
	Days      int
	Chart     chart.Chart
	Tables    []costTable
	Dearest   []dearRun
	Export    string
}

// costTable is what was consumed by each of one kind.
type costTable struct {
	ID, Title, Noun string
	// Exact says that it counts everything in the period.
	Exact bool
	Rows  []costLine
}

type costLine struct {
	Name, Href, Factory string
	UID                 string
	Runs                int
	Tokens              int64
	Micros              int64
}

type dearRun struct {
	ID, Title, Factory, Agent string
	State                     lineshaft.RunState
	Tokens, Micros            int64
}

func (s pages) costsData(r *page.Request) (costData, error) {
	given := r.URL.Query()
	data := costData{Chosen: given.Get("factory"), Days: 7}
	if text := given.Get("days"); text != "" {
		days, err := strconv.Atoi(text)
		if err != nil {
			return data, lineshaft.Invalid("days", "choose 1, 7 or 30")
		}
		data.Days = days
	}
	costs, err := s.Control.Costs(r.Context(), r.Caller, data.Days, data.Chosen)
	if err != nil {
		return data, err
	}
	names, err := s.FactoryNames(r.Context(), r.Caller)
	if err != nil {
		return data, err
	}
	data.Costs, data.Factories, data.Words = costs, page.Options(names), costWords(data.Days)
	for _, days := range overview.CostDays() {
		link := rangeLink{Name: page.Capital(costWords(days)), Href: data.at("/costs", days), Here: days == data.Days}
		data.Ranges = append(data.Ranges, link)
	}
	data.Export = data.at("/costs/export", data.Days)
	if err := s.nameSpenders(r, costs.Days, names); err != nil {
		return data, err
	}
	data.Chart = spentChart(costs.Days, data.Chosen, names)
	data.addTables(names)
	for _, run := range costs.Runs {
		one := dearRun{ID: run.ID, Title: run.Title, Factory: names[run.FactoryUID], Agent: run.AgentName, State: run.State}
		one.Tokens, one.Micros = run.Total(), run.CostMicros
		data.Dearest = append(data.Dearest, one)
	}
	return data, nil
}

func costWords(days int) string {
	if days == 1 {
		return "today"
	}
	return fmt.Sprintf("last %d days", days)
}

func (d *costData) at(path string, days int) string {
	values := url.Values{"days": {strconv.Itoa(days)}}
	if d.Chosen != "" {
		values.Set("factory", d.Chosen)
	}
	return page.WithQuery(path, values)
}

func (d *costData) addTables(factories map[string]string) {
	line := func(row overview.CostRow, href string) costLine {
		return costLine{row.Name, href, factories[row.FactoryUID], row.UID, row.Runs, row.Tokens, row.CostMicros}
	}
	for _, kind := range []struct {
		id, title, noun string
		rows            []overview.CostRow
		href            func(overview.CostRow) string
	}{
		{"factory", "By factory", "Factory", d.Costs.Factories, func(row overview.CostRow) string { return page.FactoryAddress(row.UID) }},
		{"automation", "By automation", "Automation", d.Automations, func(row overview.CostRow) string {
			return page.AutomationAddress(row.FactoryUID, row.UID)
		}},
		{"agent", "By agent", "Agent", d.Agents, func(row overview.CostRow) string { return page.Under("agents", row.UID) }},
		{"model", "By model", "Model", d.Models, func(row overview.CostRow) string {
			return page.WithQuery("/runs", url.Values{"model": {row.UID}})
		}},
	} {
		table := costTable{ID: kind.id, Title: kind.title, Noun: kind.noun, Exact: kind.id == "factory"}
		for _, row := range kind.rows {
			one := line(row, kind.href(row))
			if row.Name == "" { // deleted since
				one.Name, one.Href = "deleted: "+row.UID, ""
			}
			table.Rows = append(table.Rows, one)
		}
		d.Tables = append(d.Tables, table)
	}
}

func (s pages) costsPage(r *page.Request) (page.Page, error) {
	data, err := s.costsData(r)
	return page.Of("costs", data), err
}

// exportCosts hands out the tables of the page for a spreadsheet.
func (s pages) exportCosts(r *page.Request) error {
	data, err := s.costsData(r)
	if err != nil {
		return err
	}
	page.AsAttachment(r.W, "text/csv; charset=utf-8", "costs-"+data.Since.Format(time.DateOnly)+".csv")
	out := csv.NewWriter(r.W)
	_ = out.Write([]string{"kind", "id", "name", "factory", "runs", "tokens", "cost_usd", "complete"})
	put := func(kind, id, name, factory string, runs int, tokens, micros int64, complete bool) {
		numbers := fmt.Sprintf("%d %d %.6f %v", runs, tokens, float64(micros)/1e6, complete)
		_ = out.Write(append([]string{kind, page.Cell(id), page.Cell(name), page.Cell(factory)}, strings.Fields(numbers)...))
	}
	for _, day := range data.Costs.Days {
		put("day", day.Day.Format(time.DateOnly), day.Day.Format(time.DateOnly), "", 0, day.Tokens, day.CostMicros, true)
	}
	for _, table := range data.Tables {
		for _, row := range table.Rows {
			put(table.ID, row.UID, row.Name, row.Factory, row.Runs, row.Tokens, row.Micros, table.Exact || !data.Partial)
		}
	}
	for _, run := range data.Dearest {
		put("run", run.ID, run.Title, run.Factory, 1, run.Tokens, run.Micros, !data.Partial)
	}
	out.Flush() // a reader that went away is nobody's error
	return nil
}
