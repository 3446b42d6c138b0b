package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// Every look of the overview is bounded: it counts, or reads, a limited number of rows
// of each factory that the reader may see; no factories means all runs.

// union asks the same question of each of some keys, and puts the answers together.
// PostgreSQL and SQLite follow an index for each part; for one statement with IN they
// might not.
func union(parts []string) string { return strings.Join(parts, " UNION ALL ") }

// CountActive counts runs in states that are not final, each up to a limit.
func (s *Store) CountActive(ctx context.Context, factories []string, states []lineshaft.RunState, limit int) (map[lineshaft.RunState]int, error) {
	counts := map[lineshaft.RunState]int{}
	if len(factories) == 0 {
		if err := s.countAll(ctx, states, limit, counts); err != nil {
			return nil, fmt.Errorf("count active runs: %w", err)
		}
		return counts, nil
	}
	for part := range slices.Chunk(factories, maxBranches) {
		if err := s.countIn(ctx, part, states, limit, counts); err != nil {
			return nil, fmt.Errorf("count active runs: %w", err)
		}
	}
	return counts, nil
}

// CountRuns counts the runs of each factory that a filter selects, up to a limit.
func (s *Store) CountRuns(ctx context.Context, factories []string, f lineshaft.RunFilter, limit int) (map[string]int, error) {
	found, err := s.findEach(ctx, RunScan{Sort: lineshaft.SortUpdated, Limit: limit}, factories, func(factory string) lineshaft.RunFilter {
		f.FactoryUIDs = []string{factory}
		return f
	})
	if err != nil {
		return nil, fmt.Errorf("count runs of factories: %w", err)
	}
	counts := map[string]int{}
	for _, factory := range factories {
		counts[factory] = min(limit, len(found[factory]))
	}
	return counts, nil
}

// countAll counts the runs of all factories: those that are settled in the list, the others as they are.
func (s *Store) countAll(ctx context.Context, states []lineshaft.RunState, limit int, counts map[lineshaft.RunState]int) error {
	if s.upgrading.Load() { // not all that are settled are in the list
		for _, state := range states {
			only := lineshaft.RunFilter{States: []lineshaft.RunState{state}}
			ids, err := s.findRuns(ctx, RunScan{Filter: only, Sort: lineshaft.SortUpdated, Limit: limit})
			if err != nil {
				return err
			}
			counts[state] = len(ids)
		}
		return nil
	}
	var v values
	for _, state := range states {
		v.typed([]string{"TEXT"}, string(state))
	}
	return s.addCounts(ctx, fmt.Sprintf(`WITH v (state) AS (VALUES %s) SELECT v.state, (SELECT COUNT(*) FROM (SELECT 1 FROM run_list
			WHERE %s AND %s ORDER BY state DESC, updated_at DESC LIMIT %d) AS s) AS n FROM v
		UNION ALL SELECT r.state, COUNT(*) AS n FROM %s WHERE r.state IN (SELECT state FROM v) GROUP BY r.state`,
		v.text.String(), fmt.Sprintf(s.d.follow, "run_list.state", "v.state"), unchanged("run_list.id"), limit, s.d.backlog), v.args, limit, counts)
}

// countIn adds to the counts the runs of some factories.
func (r reader) countIn(
	ctx context.Context, factories []string, states []lineshaft.RunState, limit int, counts map[lineshaft.RunState]int,
) error {
	var parts []string
	var args []any
	arg := func(v any) string { args = append(args, v); return "$" + strconv.Itoa(len(args)) }
	for _, state := range states {
		for _, factory := range factories {
			parts = append(parts, fmt.Sprintf("SELECT CAST(%s AS TEXT) AS state, COUNT(*) AS n FROM (SELECT 1 FROM runs WHERE factory_uid = %s AND state = %s AND finished_at = 0 LIMIT %d) AS s",
				arg(string(state)), arg(factory), arg(string(state)), limit))
		}
	}
	return r.addCounts(ctx, union(parts), args, limit, counts)
}

// addCounts adds the numbers of a query to those of their states.
func (r reader) addCounts(ctx context.Context, query string, args []any, limit int, counts map[lineshaft.RunState]int) error {
	return r.each(ctx, query, args, func(scan rowScan) error {
		var state lineshaft.RunState
		var n int
		err := scan(&state, &n)
		counts[state] = min(counts[state]+n, limit)
		return err
	})
}

// RunBrief is what the overview and marks of runs show of a run.
type RunBrief struct {
	ID         string
	Title      string
	State      lineshaft.RunState
	Message    string
	WorkerHost string
	Hold       int
	CreatedAt  time.Time
	QueuedAt   time.Time
	UpdatedAt  time.Time
}

const briefColumns = "id, title, state, status_message, worker_host, hold, queued_at, updated_at"

// briefs asks for runs by each of some conditions, at most limit of each.
func (r reader) briefs(ctx context.Context, conditions []string, args []any, order string, limit int) ([]RunBrief, error) {
	parts := make([]string, len(conditions))
	for i, condition := range conditions {
		parts[i] = fmt.Sprintf("SELECT * FROM (SELECT %s FROM runs WHERE %s ORDER BY %s LIMIT %d) AS p%d", briefColumns, condition, order, limit, i)
	}
	var found []RunBrief
	err := r.each(ctx, union(parts), args, func(scan rowScan) error {
		var b RunBrief
		var queued, updated int64
		err := scan(&b.ID, &b.Title, &b.State, &b.Message, &b.WorkerHost, &b.Hold, &queued, &updated)
		b.QueuedAt, b.UpdatedAt = fromMicros(queued), fromMicros(updated)
		b.CreatedAt, _ = id.Time(b.ID)
		found = append(found, b)
		return err
	})
	return found, err
}

// perFactory writes a condition for each factory, whose number comes after the others' arguments.
func perFactory(factories []string, args []any, condition string) ([]string, []any) {
	conditions := make([]string, len(factories))
	for i, factory := range factories {
		args = append(args, factory)
		conditions[i] = fmt.Sprintf("factory_uid = $%d AND %s", len(args), condition)
	}
	return conditions, args
}

// OldestQueued reads the runs that have waited longest.
func (r reader) OldestQueued(ctx context.Context, factories []string, limit int) ([]RunBrief, error) {
	conditions, args := []string{"state = 'QUEUED'"}, []any(nil)
	order := "state, queued_at, id"
	if len(factories) > 0 {
		conditions, args = perFactory(factories, nil, "state = 'QUEUED' AND finished_at = 0")
		order = "factory_uid, state, queued_at"
	}
	found, err := r.briefs(ctx, conditions, args, order, limit)
	if err != nil {
		return nil, fmt.Errorf("list oldest queued runs: %w", err)
	}
	slices.SortFunc(found, func(a, b RunBrief) int { return a.QueuedAt.Compare(b.QueuedAt) })
	return found[:min(limit, len(found))], nil
}

// ListBlocked reads runs that wait for an answer, those that wait longest first.
func (s *Store) ListBlocked(ctx context.Context, factories []string, limit int) ([]RunBrief, error) {
	found, err := s.listBriefs(ctx, RunScan{
		Filter: lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Blocked}, FactoryUIDs: factories},
		Sort:   lineshaft.SortUpdated, Ascending: true, Limit: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("list blocked runs: %w", err)
	}
	return found, nil
}

// NewestFailed reads runs that failed since a time, the newest first.
func (s *Store) NewestFailed(ctx context.Context, factories []string, since time.Time, limit int) ([]RunBrief, error) {
	found, err := s.listBriefs(ctx, RunScan{
		Filter: lineshaft.RunFilter{
			States: []lineshaft.RunState{lineshaft.Failed, lineshaft.Errored}, FactoryUIDs: factories, UpdatedAfter: since,
		},
		Sort: lineshaft.SortUpdated, Limit: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("list failed runs: %w", err)
	}
	return found, nil
}

// listBriefs reads the first runs of a list, in its order.
func (s *Store) listBriefs(ctx context.Context, q RunScan) ([]RunBrief, error) {
	ids, err := s.findRuns(ctx, q)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var args []any
	found, err := s.briefs(ctx, []string{"id IN " + list(&args, ids)}, args, "id", len(ids))
	slices.SortFunc(found, func(a, b RunBrief) int { return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID)) })
	return found, err
}

// Broken is a part of a factory, or a schedule, that does not work.
type Broken struct {
	ID          string
	Name        string
	FactoryUID  string
	FactoryName string
	Reason      string
	// At is when it was found or last happened, where that is known.
	At time.Time
	// Count is how often it happened, where that matters.
	Count int
}

// within narrows a statement to factories; none is all.
func within(column string, factories []string, args *[]any) string {
	if len(factories) == 0 {
		return ""
	}
	return " AND " + column + " IN " + list(args, factories)
}

// UnfinishedWebhooks reads webhooks whose secret is still to be entered.
func (r reader) UnfinishedWebhooks(ctx context.Context, factories []string, limit int) ([]Broken, error) {
	var args []any
	query := `SELECT w.uid, w.name, w.factory_uid, f.name, '', 0 FROM webhooks w JOIN factories f ON f.uid = w.factory_uid
		WHERE w.needs_secret = 1 AND w.deleted_at = 0` + within("w.factory_uid", factories, &args) + " ORDER BY w.factory_uid, w.name LIMIT " + strconv.Itoa(limit)
	return r.broken(ctx, "list unfinished webhooks", query, args)
}

// BrokenSchedules reads enabled schedules whose last time started no run.
func (r reader) BrokenSchedules(ctx context.Context, factories []string, limit int) ([]Broken, error) {
	var args []any
	query := `SELECT id, name, factory_uid, '', last_error, 0 FROM schedules WHERE enabled = 1 AND last_error <> ''` +
		within("factory_uid", factories, &args) + " ORDER BY name, id LIMIT " + strconv.Itoa(limit)
	return r.broken(ctx, "list broken schedules", query, args)
}

// BrokenRepositories reads factories whose repository cannot be read or applied.
func (r reader) BrokenRepositories(ctx context.Context, factories []string, limit int) ([]Broken, error) {
	var args []any
	query := "SELECT " + repositoryColumns + ` FROM factory_repositories WHERE (fault <> '' OR (problems <> '[]' AND problems <> 'null'))` +
		within("factory_uid", factories, &args) + " ORDER BY factory_uid LIMIT " + strconv.Itoa(limit)
	var found []Broken
	err := r.repositories(ctx, query, args, func(s lineshaft.GitStatus) {
		b := Broken{ID: s.FactoryUID, FactoryUID: s.FactoryUID, Reason: s.Fault, At: s.CheckedAt}
		if b.Reason == "" && len(s.Problems) > 0 {
			first := s.Problems[0]
			b.Reason, b.Count = fmt.Sprintf("%s:%d: %s", first.File, first.Line, first.Message), len(s.Problems)
		}
		found = append(found, b)
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	names, err := r.factoryNames(ctx, found)
	for i := range found {
		found[i].Name, found[i].FactoryName = names[found[i].ID], names[found[i].ID]
	}
	return found, err
}

func (r reader) factoryNames(ctx context.Context, of []Broken) (map[string]string, error) {
	var uids []string
	for _, b := range of {
		uids = append(uids, b.FactoryUID)
	}
	var args []any
	query := "SELECT uid, name FROM factories WHERE uid IN " + list(&args, uids)
	return pairs[string, string](ctx, r, "read names of factories", query, args)
}

func (r reader) broken(ctx context.Context, what, query string, args []any) ([]Broken, error) {
	return collect(ctx, r, what, query, args, func(scan rowScan) (*Broken, error) {
		b := &Broken{}
		var at int64
		err := scan(&b.ID, &b.Name, &b.FactoryUID, &b.FactoryName, &b.Reason, &at)
		b.At = fromMicros(at)
		return b, err
	})
}

// RefusedDeliveries says which webhooks refused deliveries since a time and why the
// last time, those with the newest first. It looks at no more than the newest of all.
func (r reader) RefusedDeliveries(ctx context.Context, since time.Time, newest int) ([]Broken, error) {
	var found []Broken
	places := map[string]int{}
	err := r.each(ctx, `SELECT d.id, d.status, w.uid, w.name, w.factory_uid, f.name FROM
		(SELECT id, status, `+webhookOfDelivery+` AS webhook_uid FROM deliveries
		WHERE status <> 'accepted' AND status <> 'duplicate' AND id >= $1 ORDER BY id DESC LIMIT $2) AS d
		JOIN webhooks w ON w.uid = d.webhook_uid AND w.deleted_at = 0 JOIN factories f ON f.uid = w.factory_uid ORDER BY d.id DESC`,
		[]any{id.Floor(since), newest}, func(scan rowScan) error {
			var b Broken
			var delivery string
			if err := scan(&delivery, &b.Reason, &b.ID, &b.Name, &b.FactoryUID, &b.FactoryName); err != nil {
				return err
			}
			at, ok := places[b.ID]
			if !ok {
				b.At, _ = id.Time(delivery)
				at, places[b.ID] = len(found), len(found)
				found = append(found, b)
			}
			found[at].Count++
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("list refused deliveries: %w", err)
	}
	return found, nil
}
