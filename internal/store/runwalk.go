package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// walk is one walk along an index, written as SQL.
type walk struct {
	d    *dialect
	q    RunScan
	rank int
	only []string // restrict to these ids (search)
	args []any
	// drive is the filter whose index is followed; empty when it is the list's own.
	drive  condition
	checks []string
}

// maxBranches is how many values of a column are walked side by side. Each branch may
// read a whole page, so more of them, as a key for very many factories has, are checked
// on the rows of another walk instead.
const maxBranches = 20

// newWalk picks the driving filter and turns the rest into checks.
func newWalk(d *dialect, q RunScan, rank int, only []string) *walk {
	w := &walk{d: d, q: q, rank: rank, only: only}
	byTime := q.Sort == lineshaft.SortUpdated || q.Sort == lineshaft.SortCreated
	driven := !byTime || len(only) > 0
	for _, c := range conditions(q.Filter) {
		if c.drive && !driven && len(c.values) <= maxBranches {
			driven, w.drive = true, c
			continue
		}
		w.checks = append(w.checks, w.check(c))
	}
	if q.Sort == lineshaft.SortAgent && rank == 1 {
		w.checks = append(w.checks, "r.skill_spec IS NULL")
	}
	if q.Sort != lineshaft.SortCreated {
		w.checkRange(createdRange(q.Filter))
	}
	if q.Sort != lineshaft.SortUpdated {
		w.checkRange(updatedRange(q.Filter))
	}
	return w
}

func (w *walk) arg(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

func (w *walk) check(c condition) string {
	switch {
	case c.tag != "":
		return "EXISTS (SELECT 1 FROM run_tags t WHERE t.tag = " + w.arg(c.tag) + " AND t.run_id = r.id)"
	case c.sql != "":
		return "r." + c.sql
	}
	return "r." + c.column + " IN " + list(&w.args, c.values)
}

func (w *walk) checkRange(r timeRange) {
	if r.from != nil {
		w.checks = append(w.checks, "r."+r.column+" >= "+w.arg(r.from))
	}
	if r.until != nil {
		w.checks = append(w.checks, "r."+r.column+" < "+w.arg(r.until))
	}
}

// query writes the walk: an inner part that follows the index for at most cut
// rows, and an outer one that says which of them pass the checks.
func (w *walk) query(cut int) (string, []any) {
	limit := " LIMIT " + strconv.Itoa(cut)
	var parts []string
	switch {
	case len(w.only) > 0:
		// The limit keeps the planner from following the list and filtering by id.
		from := "(SELECT * FROM runs WHERE id IN " + list(&w.args, w.only) + " LIMIT " + strconv.Itoa(len(w.only)) + ") AS o"
		parts = append(parts, w.branch("*", from, "", "")+limit)
	case w.drive.tag != "":
		ids := w.branch("run_id", "run_tags", "tag", w.drive.tag) + limit
		parts = append(parts, "SELECT r.* FROM ("+ids+") AS g JOIN runs r ON r.id = g.run_id")
	case w.drive.column != "":
		for _, value := range w.drive.values {
			parts = append(parts, w.branch("*", "runs", w.drive.column, value)+limit)
		}
	default:
		parts = append(parts, w.branch("*", "runs", "", "")+limit)
	}
	inner := parts[0]
	if len(parts) > 1 {
		for i, part := range parts {
			parts[i] = "SELECT * FROM (" + part + ") AS b" + strconv.Itoa(i)
		}
		inner = "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS u" + w.order(w.keyColumns()) + limit
	}
	hit := "TRUE"
	if len(w.checks) > 0 {
		hit = strings.Join(w.checks, " AND ")
	}
	return "SELECT r.id, " + w.keyMicro() + ", " + w.keyText() + ", CASE WHEN " + hit + " THEN 1 ELSE 0 END FROM (" + inner + ") AS r" + w.order(w.keyColumns()), w.args
}

// branch follows one index: that of a driving column's value, or the list's own.
func (w *walk) branch(what, table, column, value string) string {
	keys := w.keyColumns()
	if table == "run_tags" {
		keys[len(keys)-1] = "run_id"
	}
	var where []string
	if column != "" {
		where = append(where, fmt.Sprintf(w.d.follow, column, w.arg(value)))
	}
	where = append(where, w.bounds(keys)...)
	if also := w.indexCondition(column); also != "" {
		where = append(where, also)
	}
	if column != "" { // part of the order, so that no other index gives it
		keys = append([]string{column}, keys...)
	}
	text := "SELECT " + what + " FROM " + table
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return text + w.order(keys)
}

// indexCondition is what a partial index asks for that the column's value does not
// tell by itself.
func (w *walk) indexCondition(column string) string {
	switch {
	case column == "worker_host":
		return "worker_host <> 'hosted'"
	case w.q.Sort == lineshaft.SortAgent && w.rank == 0:
		return "skill_spec IS NOT NULL"
	}
	return w.drive.sql
}

// keyMicro is the update time only in lists by it: else an index without it would
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
func (w *walk) bounds(keys []string) []string {
	var within timeRange
	switch w.q.Sort {
	case lineshaft.SortUpdated:
		within = updatedRange(w.q.Filter)
	case lineshaft.SortCreated:
		within = createdRange(w.q.Filter)
	case lineshaft.SortTitle, lineshaft.SortAgent:
	}
	var out []string
	cursor := w.cursor()
	if cursor != nil && w.q.Ascending && !before(cursor[0], within.from) {
		out, within.from = append(out, w.compare(keys, " > ", cursor)), nil
	}
	if cursor != nil && !w.q.Ascending && (within.until == nil || before(cursor[0], within.until)) {
		out, within.until = append(out, w.compare(keys, " < ", cursor)), nil
	}
	if within.from != nil {
		out = append(out, keys[0]+" >= "+w.arg(within.from))
	}
	if within.until != nil {
		out = append(out, keys[0]+" < "+w.arg(within.until))
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
