package overview

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// MaxActiveCount is how far runs in one state are counted: from there on it is more.
	MaxActiveCount = 1000
	// maxUnsettled is how many ends that are not in the tallies yet a look counts itself.
	maxUnsettled = 2000
)

// OverviewRange is how far back an overview looks.
type OverviewRange string

// The ranges.
const (
	LastHour OverviewRange = "1h"
	LastDay  OverviewRange = "24h"
	LastWeek OverviewRange = "7d"
)

// OverviewRanges lists the ranges, the shortest first.
func OverviewRanges() []OverviewRange { return []OverviewRange{LastHour, LastDay, LastWeek} }

// measure says of a range what it reads, and how long and how many its bars are.
func (r OverviewRange) measure() (span, bar time.Duration, bars int, ok bool) {
	switch r {
	case LastHour:
		return runs.ShortSpan, runs.ShortSpan, 12, true
	case LastDay:
		return runs.LongSpan, runs.LongSpan, 24, true
	case LastWeek:
		return runs.LongSpan, 6 * time.Hour, 28, true
	}
	return 0, 0, 0, false
}

// Latency is what is known of durations; both are within 5 %.
type Latency struct {
	Count    int64
	P50, P95 time.Duration
}

// Period describes the runs that ended in a stretch of time.
type Period struct {
	From, Until                           time.Time
	Succeeded, Failed, Errored, Cancelled int64
	// Start is the time from creation to the start, Work the time at work.
	Start, Work Latency
}

// Ended is how many runs ended.
func (p Period) Ended() int64 { return p.Succeeded + p.Failed + p.Errored + p.Cancelled }

// Judged is how many ended by success or failure: a cancelled run counts as neither.
func (p Period) Judged() int64 { return p.Succeeded + p.Failed + p.Errored }

// StateCount is how many runs are in a state; MaxActiveCount may be more.
type StateCount struct {
	State lineshaft.RunState
	Count int
}

// Reason is how often runs failed with a code.
type Reason struct {
	Code  lineshaft.Code
	Count int64
}

// Overview is the state of the runs that a caller may see.
type Overview struct {
	At    time.Time
	Range OverviewRange
	// FactoryUID is the factory that it is about; empty for all.
	FactoryUID string
	// Unused says that there is no run at all yet.
	Unused bool
	// Late says that the newest ends are not all counted yet.
	Late      bool
	Attention []Attention
	// Active has every state that is not final.
	Active []StateCount
	// OldestQueued is since when the run waits that waits longest; zero for none.
	OldestQueued time.Time
	Total        Period
	Bars         []Period
	// Before is the period of the same length before Total, to compare with.
	Before Period
	// Reasons are why runs failed, the most frequent first.
	Reasons []Reason
	// Spent is what runs in factories consumed on each of the last days, today first; nil for
	// those who may not see factories.
	Spent []DaySpending
	// SpentToday are the factories that consumed most of that today, with names and budgets.
	SpentToday []FactorySpending
}

// DaySpending is what was consumed on one day of UTC.
type DaySpending struct {
	Day time.Time
	lineshaft.Spending
	// Factories are those that consumed something, the dearest first.
	Factories []FactorySpending
}

// FactorySpending is what one factory consumed on that day.
type FactorySpending struct {
	UID, Name string
	lineshaft.Spending
	Budget lineshaft.Budget
}

// spentDays is how many days are shown, spentFactories how many factories of a day.
const (
	spentDays      = 8
	spentFactories = 8
)

// findSpending adds up what factories consumed.
func (s *Overviews) findSpending(ctx context.Context, c lineshaft.Caller, view *Overview) error {
	if !c.Role.May(lineshaft.PermissionFactoriesRead) {
		return nil
	}
	today := view.At.UTC().Truncate(24 * time.Hour)
	rows, err := s.Store.ListSpending(ctx, c.FactoryUIDs, today.AddDate(0, 0, 1-spentDays))
	if err != nil {
		return err
	}
	view.Spent = spendingByDay(rows, today, spentDays)
	dearest := view.Spent[0].Factories
	view.SpentToday = slices.Clone(dearest[:min(len(dearest), spentFactories)])
	for i := range view.SpentToday {
		f, err := s.factories.GetFactory(ctx, c, view.SpentToday[i].UID)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound { // deleted since
			continue
		}
		if err != nil {
			return err
		}
		view.SpentToday[i].Name, view.SpentToday[i].Budget = f.Name, f.DailyBudget
	}
	return nil
}

// spendingByDay lays out the ledger by day, back from the last one.
func spendingByDay(rows map[[2]string]lineshaft.Spending, last time.Time, count int) []DaySpending {
	days := make([]DaySpending, count)
	places := map[string]*DaySpending{}
	for i := range days {
		days[i].Day = last.AddDate(0, 0, -i)
		places[days[i].Day.Format(time.DateOnly)] = &days[i]
	}
	for key, consumed := range rows {
		if day := places[key[0]]; day != nil { // else by a clock ahead of this one
			day.Spending = addSpending(day.Spending, consumed)
			day.Factories = append(day.Factories, FactorySpending{UID: key[1], Spending: consumed})
		}
	}
	for _, day := range days {
		slices.SortFunc(day.Factories, func(a, b FactorySpending) int {
			return cmp.Or(cmp.Compare(b.CostMicros, a.CostMicros), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.UID, b.UID))
		})
	}
	return days
}

// Overview reads the state of the runs, or of those of one factory. Its cost does not depend on
// how many there are.
func (s *Overviews) Overview(ctx context.Context, c lineshaft.Caller, over OverviewRange, factoryUID string) (*Overview, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if c.Role == lineshaft.RoleRun {
		return nil, lineshaft.Denied("the overview is for people; your role is %s", c.Role)
	}
	if _, _, _, ok := over.measure(); !ok {
		return nil, lineshaft.Invalid("range", "choose 1h, 24h or 7d")
	}
	if factoryUID != "" {
		if _, err := s.factories.GetFactory(ctx, c, factoryUID); err != nil {
			return nil, err
		}
		c.FactoryUIDs = []string{factoryUID} // as a key that sees nothing else
	}
	view := &Overview{At: s.Store.Now(), Range: over, FactoryUID: factoryUID}
	if err := s.countEnded(ctx, c, view); err != nil {
		return nil, err
	}
	var err error
	if view.Active, err = s.CountActive(ctx, c, MaxActiveCount); err != nil {
		return nil, err
	}
	if err := s.findAttention(ctx, c, view); err != nil {
		return nil, err
	}
	if err := s.findSpending(ctx, c, view); err != nil {
		return nil, err
	}
	if factoryUID != "" || view.Total.Ended() > 0 || slices.ContainsFunc(view.Active, func(a StateCount) bool { return a.Count > 0 }) {
		return view, nil
	}
	page, err := s.runs.ListRuns(ctx, c, lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 1})
	view.Unused = len(page.Runs) == 0 && page.Next == ""
	return view, err
}

// countEnded fills the bars, and the period before them, from the tallies and from the ends that
// are not in them yet.
func (s *Overviews) countEnded(ctx context.Context, c lineshaft.Caller, view *Overview) error {
	span, bar, bars, _ := view.Range.measure()
	length := time.Duration(bars) * bar
	first := view.At.Truncate(bar).Add(bar - length)
	earlier := first.Add(-length)
	// The period before is as long as this one has lasted, to the end of a tally.
	until := view.At.Add(-length).Truncate(span).Add(span)
	factories := []string{store.RateAll}
	if len(c.FactoryUIDs) > 0 {
		factories = c.FactoryUIDs
	}
	rates, mark, err := s.Store.ListRates(ctx, span, factories, earlier)
	if err != nil {
		return err
	}
	sums, before := make([]*store.Tally, bars), store.NewTally()
	for i := range sums {
		sums[i] = store.NewTally()
	}
	// place is the tally that a time belongs to; nil for none. Runs dated by a clock ahead of
	// this one go with the newest.
	place := func(at time.Time) *store.Tally {
		switch {
		case !at.Before(first):
			return sums[min(int(at.Sub(first)/bar), bars-1)]
		case at.Before(until):
			return before
		}
		return nil
	}
	for _, rate := range rates {
		if tally := place(rate.Bucket); tally != nil {
			tally.Merge(rate.Tally)
		}
	}
	recent, err := s.untallied(ctx, mark, earlier, first)
	if err != nil {
		return err
	}
	newest, err := s.untallied(ctx, mark, first, view.At.AddDate(1, 0, 0))
	if err != nil {
		return err
	}
	view.Late = len(newest) > maxUnsettled || len(recent) > maxUnsettled
	for _, e := range append(recent[:min(len(recent), maxUnsettled)], newest[:min(len(newest), maxUnsettled)]...) {
		if tally := place(e.FinishedAt); tally != nil && c.MaySeeFactory(e.FactoryUID) {
			tally.End(e)
		}
	}
	all := store.NewTally()
	for i, sum := range sums {
		from := first.Add(time.Duration(i) * bar)
		view.Bars = append(view.Bars, period(sum, from, from.Add(bar)))
		all.Merge(sum)
	}
	view.Total, view.Before = period(all, first, view.At), period(before, earlier, until)
	for code, n := range all.Reasons {
		view.Reasons = append(view.Reasons, Reason{Code: lineshaft.Code(code), Count: n})
	}
	slices.SortFunc(view.Reasons, func(a, b Reason) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code)) })
	return nil
}

// untallied are the ends in a stretch of time that are not in the tallies yet.
func (s *Overviews) untallied(ctx context.Context, mark store.RateMark, from, until time.Time) ([]store.RunEnd, error) {
	if !mark.FinishedAt.Before(until) {
		return nil, nil
	}
	if mark.FinishedAt.Before(from) {
		mark = store.RateMark{FinishedAt: from.Add(-time.Microsecond), RunID: "~"}
	}
	return s.Store.EndedAfter(ctx, mark, until, maxUnsettled+1)
}

func period(t *store.Tally, from, until time.Time) Period {
	latency := func(h store.Histogram) Latency {
		return Latency{Count: h.Count(), P50: h.Quantile(.5), P95: h.Quantile(.95)}
	}
	return Period{
		From: from, Until: until, Succeeded: t.Succeeded, Failed: t.Failed, Errored: t.Errored, Cancelled: t.Cancelled,
		Start: latency(t.Waits), Work: latency(t.Times),
	}
}

// CountActive counts the runs that the caller sees in every state that is not final, each up to a limit.
func (s *Overviews) CountActive(ctx context.Context, c lineshaft.Caller, limit int) (list []StateCount, err error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if c.Role == lineshaft.RoleRun {
		return nil, lineshaft.Denied("the overview is for people; your role is %s", c.Role)
	}
	active := slices.DeleteFunc(lineshaft.RunStates(), lineshaft.RunState.Terminal)
	counts, err := s.Store.CountActive(ctx, c.FactoryUIDs, active, limit)
	for _, state := range active {
		list = append(list, StateCount{State: state, Count: counts[state]})
	}
	return list, err
}

func (s *Overviews) hosts(ctx context.Context) ([]string, error) {
	workers, err := s.Store.ListWorkers(ctx, s.WorkerCutoff())
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, w := range workers {
		found[w.WorkerHost] = true
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// findSilent lists the automations that listen to webhooks that are gone.
func (s *Overviews) findSilent(_ context.Context, c lineshaft.Caller, _ *Overview) ([]Attention, error) {
	var found []Attention
	for _, a := range s.trigger.SilentAutomations() {
		if c.MaySeeFactory(a.FactoryUID) && len(found) <= attentionEach {
			found = append(found, Attention{
				Kind: AttentionSilent, ID: a.UID, Name: a.Name, FactoryUID: a.FactoryUID, FactoryName: a.FactoryName,
				Reason: strings.Join(a.Gone, ", "), Count: len(a.Gone),
			})
		}
	}
	return few(found), nil
}

// ServerState is what a server runs with.
type ServerState struct {
	// Engine is the kind of database, sqlite or postgres.
	Engine string
	// Schema is the version of the database's schema.
	Schema int
	// RunRetention is 0 when ended runs are kept for ever.
	RunRetention      time.Duration
	DeliveryRetention time.Duration
	DeliveryKeep      int
	OIDCSessionLife   time.Duration
	Parts             []base.Part
}

// ServerState shows an admin what this server runs with and the state of its parts.
func (s *Overviews) ServerState(ctx context.Context, c lineshaft.Caller) (ServerState, error) {
	if err := c.Need(lineshaft.PermissionKeys); err != nil {
		return ServerState{}, err
	}
	if !c.Role.May(lineshaft.PermissionKeys) {
		return ServerState{}, lineshaft.Denied("your role, %s, may not see the settings; ask an admin", c.Role)
	}
	if len(c.FactoryUIDs) > 0 {
		return ServerState{}, lineshaft.Denied("the settings cover all factories; your key is limited to some")
	}
	schema, err := store.SchemaVersion()
	if err != nil {
		return ServerState{}, err
	}
	return ServerState{
		Engine: s.Store.Engine(), Schema: schema, RunRetention: s.Cfg.RunRetention, DeliveryRetention: s.Cfg.DeliveryRetention,
		DeliveryKeep: s.Cfg.DeliveryKeep, OIDCSessionLife: s.Cfg.OIDCSessionLife, Parts: s.Ready(ctx),
	}, nil
}
