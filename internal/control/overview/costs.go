package overview

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// MaxCostRuns is how many runs are read for who consumed what: no index knows the order
	// of their costs.
	MaxCostRuns = 1000
	// dearestRuns is how many runs are shown one by one, costRows how many of each other kind.
	dearestRuns = 25
	costRows    = 50
)

// CostDays lists how many days people may look back.
func CostDays() []int { return []int{1, 7, 30} }

// CostRow is what one factory, automation, agent or model cost.
type CostRow struct {
	UID, Name string
	// FactoryUID is where it is, if in a factory.
	FactoryUID string
	// Runs is how many runs it is the sum of; 0 where they are not counted.
	Runs int
	lineshaft.Spending
}

// Costs is what runs consumed in a period, and whose they are.
type Costs struct {
	// Since is the first moment of the first day, in UTC.
	Since time.Time
	// Days are what was consumed on each day, the newest first, and Factories by whom: from
	// the ledger, which has all runs in factories.
	Days      []DaySpending
	Factories []CostRow
	Total     lineshaft.Spending
	// Automations, Agents, Models and Runs are from the newest runs that began in the period:
	// Looked of them, and Partial says that there are more. Of those, Seen was consumed.
	Automations, Agents, Models []CostRow
	Runs                        []store.SpentRun
	Looked                      int
	Partial                     bool
	Seen                        lineshaft.Spending
}

// Costs says what the runs that a caller may see consumed in the last days, by whom, and which
// of them cost most. Its own cost is bounded: a look into the ledger of days, and MaxCostRuns runs.
func (s *Overviews) Costs(ctx context.Context, c lineshaft.Caller, days int, factoryUID string) (*Costs, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	if c.Role == lineshaft.RoleRun {
		return nil, lineshaft.Denied("costs are for people; your role is %s", c.Role)
	}
	if !slices.Contains(CostDays(), days) {
		return nil, lineshaft.Invalid("days", "choose 1, 7 or 30")
	}
	if factoryUID != "" {
		if _, err := s.factories.GetFactory(ctx, c, factoryUID); err != nil {
			return nil, err
		}
	}
	within, _ := base.ListedFactories(c, factoryUID)
	costs := &Costs{Since: s.Store.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)}
	if err := s.addDays(ctx, within, days, costs); err != nil {
		return nil, err
	}
	if err := s.nameFactories(ctx, c, costs.Factories); err != nil {
		return nil, err
	}
	return costs, s.addRuns(ctx, within, costs)
}

// addDays adds up the ledger.
func (s *Overviews) addDays(ctx context.Context, factories []string, days int, costs *Costs) error {
	rows, err := s.Store.ListSpending(ctx, factories, costs.Since)
	if err != nil {
		return err
	}
	costs.Days = spendingByDay(rows, costs.Since.AddDate(0, 0, days-1), days)
	sums := map[string]lineshaft.Spending{}
	for _, day := range costs.Days {
		costs.Total = addSpending(costs.Total, day.Spending)
		for _, f := range day.Factories {
			sums[f.UID] = addSpending(sums[f.UID], f.Spending)
		}
	}
	for uid, spent := range sums {
		costs.Factories = append(costs.Factories, CostRow{UID: uid, Spending: spent})
	}
	costs.Factories = dearest(costs.Factories)
	return nil
}

func addSpending(a, b lineshaft.Spending) lineshaft.Spending {
	return lineshaft.Spending{Tokens: a.Tokens + b.Tokens, CostMicros: a.CostMicros + b.CostMicros}
}

// dearest are the rows that cost most, in that order.
func dearest(rows []CostRow) []CostRow {
	slices.SortFunc(rows, func(a, b CostRow) int {
		return cmp.Or(cmp.Compare(b.CostMicros, a.CostMicros), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.UID, b.UID))
	})
	return rows[:min(len(rows), costRows)]
}

// nameFactories leaves those without a name that are deleted.
func (s *Overviews) nameFactories(ctx context.Context, c lineshaft.Caller, rows []CostRow) error {
	for i := range rows {
		f, err := s.factories.GetFactory(ctx, c, rows[i].UID)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		rows[i].Name = f.Name
	}
	return nil
}

// addRuns looks at the newest runs of the period.
func (s *Overviews) addRuns(ctx context.Context, factories []string, costs *Costs) error {
	runs, models, err := s.Store.SpentRuns(ctx, store.RunScan{
		Filter: lineshaft.RunFilter{FactoryUIDs: factories, CreatedAfter: costs.Since}, Sort: lineshaft.SortCreated, Limit: MaxCostRuns,
	})
	if err != nil {
		return err
	}
	automations, agents := map[string]*CostRow{}, map[string]*CostRow{}
	add := func(rows map[string]*CostRow, uid, name string, run store.SpentRun) {
		row := rows[uid]
		if row == nil {
			row = &CostRow{UID: uid, Name: name, FactoryUID: run.FactoryUID}
			rows[uid] = row
		}
		row.Runs++
		row.Spending = addSpending(row.Spending, spentOf(run.Usage))
	}
	for _, run := range runs {
		costs.Seen = addSpending(costs.Seen, spentOf(run.Usage))
		if uid, ok := strings.CutPrefix(run.CreatorUID, base.AutomationPrincipalPrefix); ok {
			add(automations, uid, run.CreatorName, run)
		}
		if run.AgentUID != "" {
			add(agents, run.AgentUID, run.AgentName, run)
		}
	}
	costs.Looked, costs.Partial = len(runs), len(runs) == MaxCostRuns
	costs.Automations, costs.Agents = spenders(automations), spenders(agents)
	for _, m := range models {
		costs.Models = append(costs.Models, CostRow{UID: m.ID, Name: m.ID, Runs: m.Runs, Spending: spentOf(m.Usage)})
	}
	costs.Models = dearest(costs.Models)
	slices.SortStableFunc(runs, func(a, b store.SpentRun) int {
		return cmp.Or(cmp.Compare(b.CostMicros, a.CostMicros), cmp.Compare(b.Total(), a.Total()))
	})
	runs = slices.DeleteFunc(runs, func(run store.SpentRun) bool { return run.CostMicros == 0 && run.Total() == 0 })
	costs.Runs = runs[:min(len(runs), dearestRuns)]
	return nil
}

func spentOf(u lineshaft.Usage) lineshaft.Spending {
	return lineshaft.Spending{Tokens: u.Total(), CostMicros: u.CostMicros}
}

// spenders are the rows that cost something, the dearest first.
func spenders(rows map[string]*CostRow) []CostRow {
	var list []CostRow
	for _, row := range rows {
		if row.Spending != (lineshaft.Spending{}) {
			list = append(list, *row)
		}
	}
	return dearest(list)
}
