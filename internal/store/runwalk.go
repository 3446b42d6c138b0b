package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// walk is one walk along indexes in the order of a list, written as SQL.
type walk struct {
	d    *dialect
	q    RunScan
	rank int
	only []string // restrict to these ids (search)
	args []any
	// conditions are the filters that are set, but states, and drive is the one whose index
	// is followed; it is empty when that is the list's own.
	conditions []condition
	drive      condition
	// states are those that the filter selects.
	states []string
	// checks are what a settled row must also pass; rows of the backlog have passed.
	checks []string
	// columns are those that order and checks need: an index often has them all.
	columns []string
	// each is a column of the statement around the walk that has the value of drive; empty
	// when the filter has it.
	each string
	// upgrading says that some runs are still listed by the indexes of the previous version.
	upgrading bool
}

// maxBranches is how many values of a column are walked side by side. Each branch may
// read a whole page, so with more values, as a key for very many factories has, they
// are checked on the rows of another walk instead.
const maxBranches = 20

// newWalk picks the driving filter and turns the rest into checks.
func (s *Store) newWalk(q RunScan, rank int, only []string) *walk {
	w := &walk{
		d: s.d, q: q, rank: rank, only: only, conditions: conditions(q.Filter), states: distinct(q.Filter.States),
		upgrading: s.upgrading.Load(),
	}
	w.need(w.keyColumns()...)
	driven := !w.byTime() || len(only) > 0
	for _, c := range w.conditions {
		if c.drive && !driven && len(c.values) <= maxBranches {
			driven, w.drive = true, c
			continue
		}
		switch {
		case len(only) > 0: // of these runs all is asked at once
			continue
		case q.Sort == lineshaft.SortAgent:
			w.checks = append(w.checks, w.checkNow(c))
		default:
			w.checks = append(w.checks, w.check(c))
		}
		w.need(c.column)
	}
	if len(only) > 0 {
		return w
	}
	if len(w.states) > 0 && (!w.byStates() || w.upgrading) {
		w.checks = append(w.checks, w.stateCheck())
		w.need("state")
	}
	if q.Sort == lineshaft.SortAgent && rank == 1 {
		w.checks = append(w.checks, "r.skill_spec IS NULL")
		w.need("skill_spec")
	}
	if more := w.timeChecks(); len(more) > 0 {
		w.checks = append(w.checks, more...)
		w.need("updated_at")
	}
	return w
}

func (w *walk) need(columns ...string) {
	for _, column := range columns {
		if column != "" && !slices.Contains(w.columns, column) {
			w.columns = append(w.columns, column)
		}
	}
}

func (w *walk) byTime() bool {
	return w.q.Sort == lineshaft.SortUpdated || w.q.Sort == lineshaft.SortCreated
}

// byStates says that the index which is followed has the states apart.
func (w *walk) byStates() bool {
	return w.byTime() && w.drive.tag == "" && (w.drive.drive || len(w.states) > 0)
}

// direct says that the table of runs has the index itself, which no change of a run moves:
// there is nothing to settle.
func (w *walk) direct() bool {
	return w.q.Sort == lineshaft.SortAgent || w.q.Sort == lineshaft.SortCreated && !w.drive.drive && len(w.states) == 0
}

func (w *walk) arg(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

// check is a filter on a row that is settled.
func (w *walk) check(c condition) string {
	switch {
	case c.tag != "":
		return "EXISTS (SELECT 1 FROM run_tags t WHERE t.tag = " + w.arg(c.tag) + " AND t.run_id = r.id)"
	case c.sql != "":
		return "r." + c.sql
	case c.code != "":
		return "(SELECT e.error_code FROM runs e WHERE e.id = r.id) = " + w.arg(c.code)
	}
	return "r." + c.column + " IN " + list(&w.args, c.values)
}

// checkNow is a filter on a row of runs, whose tags may not be settled.
func (w *walk) checkNow(c condition) string {
	switch {
	case c.key != "":
		value := fmt.Sprintf(w.d.metadata, w.arg(c.key))
		return "EXISTS (SELECT 1 FROM run_bodies b WHERE b.run_id = r.id AND " + value + " = " + w.arg(c.value) + ")"
	case c.artifact != "":
		return "EXISTS (SELECT 1 FROM artifacts a WHERE a.run_id = r.id AND a.type = " + w.arg(c.artifact) + ")"
	}
	return w.check(c)
}

func (w *walk) stateCheck() string { return "r.state IN " + list(&w.args, w.states) }

// timeChecks are the time filters that are not on the order of the list.
func (w *walk) timeChecks() []string {
	var checks []string
	add := func(r timeRange) {
		if r.from != nil {
			checks = append(checks, "r."+r.column+" >= "+w.arg(r.from))
		}
		if r.until != nil {
			checks = append(checks, "r."+r.column+" < "+w.arg(r.until))
		}
	}
	if w.q.Sort != lineshaft.SortCreated {
		add(createdRange(w.q.Filter))
	}
	if w.q.Sort != lineshaft.SortUpdated {
		add(updatedRange(w.q.Filter))
	}
	return checks
}

// query writes the walk: an inner part that follows indexes for at most cut rows each, and
// an outer one that merges them and says which rows pass the checks.
func (w *walk) query(cut int) (string, []any) {
	var parts []string
	switch {
	case len(w.only) > 0:
		// The limit keeps the planner from following the list and filtering by id.
		parts = append(parts, w.now("(SELECT * FROM runs WHERE id IN "+list(&w.args, w.only)+" LIMIT "+strconv.Itoa(len(w.only))+") AS r"))
	case w.direct():
		parts = append(parts, w.branch("runs", "", "", "", cut))
	default:
		parts = append(w.settled(cut), w.now(w.d.backlog))
		if w.upgrading && w.drive.tag == "" {
			parts = append(parts, w.unsettled(cut)...)
		}
	}
	hit := "TRUE"
	if len(w.checks) > 0 {
		hit = "r.passed = 1 OR " + strings.Join(w.checks, " AND ")
	}
	return "SELECT r.id, " + w.keyMicro() + ", " + w.keyText() + ", CASE WHEN " + hit + " THEN 1 ELSE 0 END FROM (" + merge(parts) + ") AS r" +
		w.order(w.keyColumns()) + " LIMIT " + strconv.Itoa(cut), w.args
}

// merge puts together what several parts find, each in its own order and within its own limit.
func merge(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	for i, part := range parts {
		parts[i] = "SELECT * FROM (" + part + ") AS p" + strconv.Itoa(i)
	}
	return union(parts)
}

// settled follows the indexes of run_list: one for each value and state, or that of a tag.
func (w *walk) settled(cut int) []string {
	if w.drive.tag != "" {
		ids := w.branch("run_tags", "tag", w.drive.tag, "", cut)
		columns := strings.Join(w.columns, ", r.")
		return []string{"SELECT r." + columns + ", 0 AS passed FROM (" + ids + ") AS g JOIN runs r ON r.id = g.run_id"}
	}
	states := []string{""}
	if w.byStates() {
		if states = w.states; len(states) == 0 {
			states = distinct(lineshaft.RunStates())
		}
	}
	var parts []string
	for _, value := range w.driveValues() {
		for _, state := range states {
			parts = append(parts, w.branch("run_list", w.driveColumn(), value, state, cut))
		}
	}
	return parts
}

// unsettled follows the indexes of the previous version, for runs that run_list does not have.
func (w *walk) unsettled(cut int) []string {
	column, values := w.driveColumn(), w.driveValues()
	if w.byTime() && !w.drive.drive && len(w.states) > 0 {
		column, values = "state", w.states
	}
	var parts []string
	for _, value := range values {
		parts = append(parts, w.branch("runs", column, value, "", cut))
	}
	return parts
}

// driveColumn is the column whose values are followed; none when an index has no others.
func (w *walk) driveColumn() string {
	if w.drive.sql != "" {
		return ""
	}
	return w.drive.column
}

func (w *walk) driveValues() []string {
	if w.driveColumn() == "" {
		return []string{""}
	}
	return w.drive.values
}

// now selects of runs, as they are, those that all filters select.
func (w *walk) now(from string) string {
	where := slices.Concat(w.bounds(w.keyColumns(), "r."), w.timeChecks())
	for _, c := range w.conditions {
		where = append(where, w.checkNow(c))
	}
	if len(w.states) > 0 {
		where = append(where, w.stateCheck())
	}
	if w.q.Sort == lineshaft.SortAgent {
		where = append(where, "r.skill_spec IS "+[]string{"NOT NULL", "NULL"}[w.rank])
	}
	text := "SELECT r." + strings.Join(w.columns, ", r.") + ", 1 AS passed FROM " + from
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return text
}

// branch follows one index for at most cut rows: that of a value, a state or both, or the
// list's own.
func (w *walk) branch(table, column, value, state string, cut int) string {
	keys, what, id := w.keyColumns(), strings.Join(w.columns, ", ")+", 0 AS passed", "id"
	if table == "run_tags" {
		what, id = "run_id", "run_id"
		keys[len(keys)-1] = id
	}
	where := w.bounds(keys, "")
	if state != "" && column != "" {
		where = append(where, "state = "+w.arg(state))
		keys = append([]string{"state"}, keys...)
	} else if state != "" {
		column, value = "state", state
	}
	if column != "" { // part of the order, so that no other index gives it
		followed := w.each
		if followed == "" {
			followed = w.arg(value)
		}
		where = append(where, fmt.Sprintf(w.d.follow, column, followed))
		keys = append([]string{column}, keys...)
	}
	if also := w.indexCondition(column); also != "" {
		where = append(where, also)
	}
	if !w.direct() {
		where = append(where, unchanged(table+"."+id))
	}
	if table == "runs" && !w.direct() { // those of the previous version
		where = append(where, "id < (SELECT value FROM settings WHERE name = '"+belowSetting+"')",
			"COALESCE((SELECT 1 FROM run_list l WHERE l.id = runs.id), 0) <> 1")
	}
	text := "SELECT " + what + " FROM " + table
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return text + w.order(keys) + " LIMIT " + strconv.Itoa(cut)
}

// unchanged says that a run is not in the backlog. It is written such that PostgreSQL looks
// it up for each row of an index, and expects nearly every row to pass: otherwise it would
// rather read all of them and sort.
func unchanged(id string) string {
	return "COALESCE((SELECT 1 FROM run_backlog c WHERE c.run_id = " + id + " LIMIT 1), 0) <> 1"
}

// indexCondition is what a partial index asks for that the column's value does not
// imply.
func (w *walk) indexCondition(column string) string {
	switch {
	case column == "worker_host":
		return "worker_host <> 'hosted'"
	case w.q.Sort == lineshaft.SortAgent && w.rank == 0:
		return "skill_spec IS NOT NULL"
	}
	return w.drive.sql
}

// keyMicro is the update time only in lists by it: otherwise an index without it would
// not be enough to answer from, and another one would look better.
func (w *walk) keyMicro() string {
	if w.q.Sort == lineshaft.SortUpdated {
		return "r.updated_at"
	}
	return "0"
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
	switch {
	case w.q.Sort == lineshaft.SortUpdated:
		return []string{"updated_at", "id"}
	case w.q.Sort == lineshaft.SortTitle:
		return []string{"title", "id"}
	case w.q.Sort == lineshaft.SortAgent && w.rank == 0:
		return []string{"skill_spec", "id"}
	}
	return []string{"id"}
}

func (w *walk) order(columns []string) string {
	direction := " DESC"
	if w.q.Ascending {
		direction = " ASC"
	}
	return " ORDER BY " + strings.Join(columns, direction+", ") + direction
}

// bounds limit the walk to what follows the cursor and to a time range in the order
// of the list: one comparison for each end, so that both end the index scan.
func (w *walk) bounds(keys []string, prefix string) []string {
	var within timeRange
	switch w.q.Sort {
	case lineshaft.SortUpdated:
		within = updatedRange(w.q.Filter)
	case lineshaft.SortCreated:
		within = createdRange(w.q.Filter)
	case lineshaft.SortTitle, lineshaft.SortAgent:
	}
	columns := make([]string, len(keys))
	for i, key := range keys {
		columns[i] = prefix + key
	}
	var out []string
	cursor := w.cursor()
	if cursor != nil && w.q.Ascending && !before(cursor[0], within.from) {
		out, within.from = append(out, w.compare(columns, " > ", cursor)), nil
	}
	if cursor != nil && !w.q.Ascending && (within.until == nil || before(cursor[0], within.until)) {
		out, within.until = append(out, w.compare(columns, " < ", cursor)), nil
	}
	if within.from != nil {
		out = append(out, columns[0]+" >= "+w.arg(within.from))
	}
	if within.until != nil {
		out = append(out, columns[0]+" < "+w.arg(within.until))
	}
	return out
}

func (w *walk) cursor() []any {
	after := w.q.After
	switch {
	case after == nil:
		return nil
	case w.q.Sort == lineshaft.SortUpdated:
		return []any{after.Micro, after.ID}
	case len(w.keyColumns()) == 2:
		return []any{after.Text, after.ID}
	}
	return []any{after.ID}
}

// before compares two places in one order; nothing is before an open end.
func before(a, b any) bool {
	switch b := b.(type) {
	case int64:
		a, ok := a.(int64)
		return ok && a < b
	case string:
		a, ok := a.(string)
		return ok && a < b
	}
	return false
}

func (w *walk) compare(columns []string, sign string, values []any) string {
	if len(columns) == 1 {
		return columns[0] + sign + w.arg(values[0])
	}
	return "(" + strings.Join(columns, ", ") + ")" + sign + list(&w.args, values)
}
