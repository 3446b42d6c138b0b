package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// ScanBudget is how many rows one page of a list may look at when filters are
// combined. A page that used it up is short and has a cursor to go on from.
const ScanBudget = 5000

// RunKey is a place in a sorted list.
type RunKey struct {
	// Rank is 1 for the part of the list by agent that has no agent, else 0.
	Rank  int
	Text  string // title or skill, when sorted by one
	Micro int64  // update time, when sorted by it
	ID    string
}

// RunScan is a request for the next part of a list.
type RunScan struct {
	Filter    lineshaft.RunFilter
	Sort      lineshaft.RunSort
	Ascending bool
	Limit     int
	// After is where the part before ended; nil for the first.
	After *RunKey
}

// ScanRuns reads the next runs of a filtered, sorted list. More says that the
// list goes on at last, even if fewer than Limit runs were found.
//
// It works in two steps. One filter, the most telling that is set, drives a walk
// along its index in the order of the list; the other filters are checked on each
// row of the walk, whose length is bounded. Then the runs found are read whole.
func (s *Store) ScanRuns(ctx context.Context, q RunScan) (runs []lineshaft.Run, last *RunKey, more bool, err error) {
	if q.Filter.Local || q.Filter.States != nil && len(q.Filter.States) == 0 {
		return nil, nil, false, nil
	}
	words := SearchWords(q.Filter.Query)
	found := &scanResult{limit: q.Limit}
	if len(words) > 0 {
		err = s.scanByWords(ctx, q, words, found)
	} else if strings.TrimSpace(q.Filter.Query) == "" {
		err = s.scanRanks(ctx, q, nil, found)
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("list runs: %w", err)
	}
	byID, err := s.runsByID(ctx, found.ids)
	if err != nil {
		return nil, nil, false, err
	}
	for _, id := range found.ids {
		if run := byID[id]; run != nil { // one may have been deleted meanwhile
			runs = append(runs, *run)
		}
	}
	return runs, found.last, found.more, nil
}

// scanResult gathers what a walk found.
type scanResult struct {
	limit int
	ids   []string
	last  *RunKey
	more  bool
	// looked counts the rows the walk has read.
	looked int
}

// scanRanks walks the list, which for the order by agent has two parts.
func (s *Store) scanRanks(ctx context.Context, q RunScan, only []string, found *scanResult) error {
	ranks := []int{0}
	if q.Sort == lineshaft.SortAgent {
		ranks = []int{0, 1}
	}
	for _, rank := range ranks {
		if q.After != nil && q.After.Rank > rank {
			continue
		}
		if err := s.walk(ctx, newWalk(s.d, q, rank, only), found); err != nil {
			return err
		}
		if found.more {
			return nil
		}
		q.After = nil // the next part starts at its beginning
	}
	return nil
}

func (s *Store) walk(ctx context.Context, w *walk, found *scanResult) error {
	query, args := w.query(found.limit)
	stop := false
	err := s.each(ctx, query, args, func(scan func(...any) error) error {
		var key RunKey
		var hit bool
		if err := scan(&key.ID, &key.Micro, &key.Text, &hit); err != nil {
			return fmt.Errorf("scan row: %w", err)
		}
		if stop {
			return nil
		}
		found.looked++
		if hit && len(found.ids) == found.limit {
			found.more, stop = true, true
			return nil
		}
		key.Rank = w.rank
		found.last = &key
		if hit {
			found.ids = append(found.ids, key.ID)
		}
		return nil
	})
	if err == nil && !stop && found.looked >= w.budget(found.limit) {
		found.more = true
	}
	return err
}

// walk is one walk along an index.
type walk struct {
	d      *dialect
	q      RunScan
	rank   int
	only   []string // restrict to these ids (search)
	args   []any
	checks []string
	// tag, when set, is walked in run_tags instead of runs.
	tag string
	// branches are the driving conditions, one for each value of a repeatable filter.
	branches []string
}

func newWalk(d *dialect, q RunScan, rank int, only []string) *walk {
	w := &walk{d: d, q: q, rank: rank, only: only}
	w.plan()
	return w
}

// budget is the most rows the walk may read: just a page when nothing is left to check.
func (w *walk) budget(limit int) int {
	if len(w.checks) == 0 {
		return limit + 1
	}
	return ScanBudget
}

// condition is one filter as SQL, and whether an index in list order exists for it.
type condition struct {
	sql   []string // alternatives; any may hold
	tag   string
	drive bool
}

// plan picks the driving filter and turns the rest into checks.
func (w *walk) plan() {
	byTime := w.q.Sort == lineshaft.SortUpdated || w.q.Sort == lineshaft.SortCreated
	driven := false
	for _, c := range w.conditions() {
		if c.drive && byTime && !driven {
			driven = true
			w.branches, w.tag = c.sql, c.tag
			continue
		}
		if c.tag != "" {
			w.checks = append(w.checks, "EXISTS (SELECT 1 FROM run_tags t WHERE t.tag = "+w.arg(c.tag)+" AND t.run_id = r.id)")
			continue
		}
		w.checks = append(w.checks, "("+strings.Join(c.sql, " OR ")+")")
	}
	if w.q.Sort == lineshaft.SortAgent {
		w.branches = []string{"r.skill_spec IS NOT NULL"}
		if w.rank == 1 {
			w.branches = []string{"r.skill_spec IS NULL"}
		}
	}
}

func (w *walk) arg(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

// conditions lists the filters that are set, the most telling first.
func (w *walk) conditions() []condition {
	f := w.q.Filter
	var out []condition
	add := func(column, value string) {
		if value != "" {
			out = append(out, condition{sql: []string{"r." + column + " = " + w.arg(value)}, drive: true})
		}
	}
	if len(w.only) > 0 {
		out = append(out, condition{sql: []string{"r.id IN " + list(&w.args, w.only)}, drive: true})
	}
	keys := make([]string, 0, len(f.Metadata))
	for key := range f.Metadata {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		out = append(out, condition{tag: metadataTag(key, f.Metadata[key]), drive: true})
	}
	if f.AncestorRunID != "" {
		out = append(out, condition{tag: ancestorTag(f.AncestorRunID), drive: true})
	}
	add("parent_run_id", f.ParentRunID)
	add("schedule_id", f.ScheduleID)
	add("skill_spec", f.SkillSpec)
	add("name", f.Name)
	add("environment_id", f.EnvironmentID)
	out = append(out, w.anyOf("factory_uid", f.FactoryUIDs)...)
	if f.FactoryOnly {
		out = append(out, condition{sql: []string{"r.factory_uid IS NOT NULL"}, drive: true})
	}
	if f.ArtifactType != "" {
		out = append(out, condition{tag: artifactTag(string(f.ArtifactType)), drive: true})
	}
	switch f.WorkerHost {
	case "":
	case lineshaft.HostedWorker:
		out = append(out, condition{sql: []string{"r.worker_host = 'hosted'"}})
	default:
		out = append(out, condition{sql: []string{"r.worker_host <> 'hosted' AND r.worker_host = " + w.arg(f.WorkerHost)}, drive: true})
	}
	add("model_id", f.ModelID)
	out = append(out, w.anyOf("state", f.States)...)
	add("creator_uid", f.Creator)
	add("creator_uid", f.Executor) // until agents have identities of their own, a run's creator executes it
	out = append(out, w.anyOf("source", f.Sources)...)
	if f.NoEnvironment {
		out = append(out, condition{sql: []string{"r.environment_id IS NULL"}})
	}
	return append(out, w.timeChecks()...)
}

func (w *walk) anyOf(column string, items any) []condition {
	var alternatives []string
	switch items := items.(type) {
	case []string:
		for _, item := range items {
			alternatives = append(alternatives, "r."+column+" = "+w.arg(item))
		}
	case []lineshaft.RunState:
		for _, item := range items {
			alternatives = append(alternatives, "r."+column+" = "+w.arg(string(item)))
		}
	case []lineshaft.Source:
		for _, item := range items {
			alternatives = append(alternatives, "r."+column+" = "+w.arg(string(item)))
		}
	}
	if len(alternatives) == 0 {
		return nil
	}
	return []condition{{sql: alternatives, drive: true}}
}

// timeChecks are the time ranges that do not bound the walk itself.
func (w *walk) timeChecks() []condition {
	f := w.q.Filter
	var out []condition
	if w.q.Sort != lineshaft.SortCreated {
		if !f.CreatedAfter.IsZero() {
			out = append(out, condition{sql: []string{"r.id >= " + w.arg(id.Floor(f.CreatedAfter))}})
		}
		if !f.CreatedBefore.IsZero() {
			out = append(out, condition{sql: []string{"r.id < " + w.arg(id.Floor(f.CreatedBefore))}})
		}
	}
	if w.q.Sort != lineshaft.SortUpdated {
		if !f.UpdatedAfter.IsZero() {
			out = append(out, condition{sql: []string{"r.updated_at >= " + w.arg(micros(f.UpdatedAfter))}})
		}
		if !f.UpdatedBefore.IsZero() {
			out = append(out, condition{sql: []string{"r.updated_at < " + w.arg(micros(f.UpdatedBefore))}})
		}
	}
	return out
}

// query writes the walk: an inner part that follows the index and is cut off at
// the budget, and an outer one that says which of its rows pass the checks.
func (w *walk) query(limit int) (string, []any) {
	order, bounds := w.order(), w.bounds()
	cut := " LIMIT " + strconv.Itoa(w.budget(limit))
	from := "runs r"
	if w.tag != "" {
		from = "run_tags g JOIN runs r ON r.id = g.run_id"
		bounds = append([]string{"g.tag = " + w.arg(w.tag)}, bounds...)
	}
	branches := w.branches
	if len(branches) == 0 {
		branches = []string{""}
	}
	var parts []string
	for _, branch := range branches {
		where := bounds
		if branch != "" {
			where = append([]string{branch}, bounds...)
		}
		text := "SELECT r.* FROM " + from
		if len(where) > 0 {
			text += " WHERE " + strings.Join(where, " AND ")
		}
		parts = append(parts, text+" ORDER BY "+order+cut)
	}
	inner := parts[0]
	if len(parts) > 1 {
		for i, part := range parts {
			parts[i] = "SELECT * FROM (" + part + ") AS b" + strconv.Itoa(i)
		}
		plain := strings.NewReplacer("r.", "", "g.run_id", "id", "g.", "").Replace(order)
		inner = "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS u ORDER BY " + plain + cut
	}
	hit := "TRUE"
	if len(w.checks) > 0 {
		hit = strings.Join(w.checks, " AND ")
	}
	outer := strings.NewReplacer("g.run_id", "r.id", "g.", "r.").Replace(order)
	return "SELECT r.id, r.updated_at, " + w.keyText() + ", CASE WHEN " + hit + " THEN 1 ELSE 0 END FROM (" + inner + ") AS r ORDER BY " + outer, w.args
}

func (w *walk) keyText() string {
	switch {
	case w.q.Sort == lineshaft.SortTitle:
		return "r.title"
	case w.q.Sort == lineshaft.SortAgent && w.rank == 0:
		return "r.skill_spec"
	}
	return "''"
}

// keyColumns are the columns of the list's order.
func (w *walk) keyColumns() []string {
	updated, id := "r.updated_at", "r.id"
	if w.tag != "" {
		updated, id = "g.updated_at", "g.run_id"
	}
	switch {
	case w.q.Sort == lineshaft.SortUpdated:
		return []string{updated, id}
	case w.q.Sort == lineshaft.SortTitle:
		return []string{"r.title", id}
	case w.q.Sort == lineshaft.SortAgent && w.rank == 0:
		return []string{"r.skill_spec", id}
	}
	return []string{id}
}

func (w *walk) order() string {
	direction := " DESC"
	if w.q.Ascending {
		direction = " ASC"
	}
	return strings.Join(w.keyColumns(), direction+", ") + direction
}

// bounds limit the walk: to what follows the cursor, and to time ranges in the
// order of the list.
func (w *walk) bounds() []string {
	columns := w.keyColumns()
	idColumn := columns[len(columns)-1]
	var out []string
	if w.q.After != nil {
		out = append(out, w.afterCursor(columns))
	}
	f := w.q.Filter
	switch w.q.Sort {
	case lineshaft.SortUpdated:
		if !f.UpdatedAfter.IsZero() {
			out = append(out, columns[0]+" >= "+w.arg(micros(f.UpdatedAfter)))
		}
		if !f.UpdatedBefore.IsZero() {
			out = append(out, columns[0]+" < "+w.arg(micros(f.UpdatedBefore)))
		}
	case lineshaft.SortCreated:
		if !f.CreatedAfter.IsZero() {
			out = append(out, idColumn+" >= "+w.arg(id.Floor(f.CreatedAfter)))
		}
		if !f.CreatedBefore.IsZero() {
			out = append(out, idColumn+" < "+w.arg(id.Floor(f.CreatedBefore)))
		}
	case lineshaft.SortTitle, lineshaft.SortAgent:
	}
	return out
}

func (w *walk) afterCursor(columns []string) string {
	sign := " < "
	if w.q.Ascending {
		sign = " > "
	}
	if len(columns) == 1 {
		return columns[0] + sign + w.arg(w.q.After.ID)
	}
	var first any = w.q.After.Micro
	if w.q.Sort != lineshaft.SortUpdated {
		first = w.q.After.Text
	}
	return "(" + columns[0] + ", " + columns[1] + ")" + sign + "(" + w.arg(first) + ", " + w.arg(w.q.After.ID) + ")"
}
