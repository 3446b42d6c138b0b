package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lineshaft/lineshaft"
)

// Tree is a run with all that is below it.
type Tree struct {
	RunID string
	// Budget is the run's own, which the runs below it share.
	Budget lineshaft.Budget
	// Spent is what the run and those below it consumed.
	Spent lineshaft.Spending
}

// GrowTree counts a new run among the descendants of its ancestors, of which the first
// is its parent with that budget. It returns how many the root has now. All who do this
// change the rows in one order.
func (tx *Tx) GrowTree(ctx context.Context, ancestors []string, budget lineshaft.Budget, root string) (descendants int, err error) {
	parent := ancestors[0]
	for _, runID := range slices.Sorted(slices.Values(ancestors)) {
		var limit lineshaft.Budget
		if runID == parent { // the others have had children before
			limit = budget
		}
		var n int
		err := tx.one(ctx, `INSERT INTO run_trees (run_id, descendants, tokens, cost_micros, max_tokens, max_cost_micros) VALUES ($1, 1, 0, 0, $2, $3)
			ON CONFLICT (run_id) DO UPDATE SET descendants = run_trees.descendants + 1 RETURNING descendants`,
			[]any{runID, limit.MaxTokens, limit.MaxCostMicros}, &n)
		if err != nil {
			return 0, fmt.Errorf("count descendants: %w", err)
		}
		if runID == root {
			descendants = n
		}
	}
	return descendants, nil
}

// SpendTrees adds what runs consumed to the trees that they are in, and returns the
// budgets that these runs are held to.
func (tx *Tx) SpendTrees(ctx context.Context, spent map[string]lineshaft.Usage) ([]Tree, error) {
	if len(spent) == 0 {
		return nil, nil
	}
	ancestors, err := tx.ancestorsOf(ctx, slices.Sorted(maps.Keys(spent)))
	if err != nil {
		return nil, err
	}
	added := map[string]lineshaft.Usage{}
	roots := maps.Clone(added)
	for runID, used := range spent {
		roots[runID] = used
		for _, ancestor := range ancestors[runID] {
			roots[ancestor], added[ancestor] = used, added[ancestor].Add(used)
		}
	}
	for _, runID := range slices.Sorted(maps.Keys(added)) {
		used := added[runID]
		if _, err := tx.exec(ctx, "UPDATE run_trees SET tokens = tokens + $2, cost_micros = cost_micros + $3 WHERE run_id = $1", runID, used.Total(), used.CostMicros); err != nil {
			return nil, fmt.Errorf("add to tree: %w", err)
		}
	}
	return tx.limitedTrees(ctx, slices.Sorted(maps.Keys(roots)))
}

// TreesOf reads the budgets that limit a run: its own with what is below it, and those
// of the runs above it.
func (tx *Tx) TreesOf(ctx context.Context, runID string) ([]Tree, error) {
	ancestors, err := tx.ancestorsOf(ctx, []string{runID})
	if err != nil {
		return nil, err
	}
	return tx.limitedTrees(ctx, append(ancestors[runID], runID))
}

func (tx *Tx) limitedTrees(ctx context.Context, runIDs []string) ([]Tree, error) {
	var args []any
	query := `SELECT t.run_id, t.max_tokens, t.max_cost_micros, t.tokens + r.input_tokens + r.output_tokens, t.cost_micros + r.cost_micros
		FROM run_trees t JOIN runs r ON r.id = t.run_id WHERE (t.max_tokens > 0 OR t.max_cost_micros > 0) AND t.run_id IN ` + list(&args, runIDs)
	return collect(ctx, tx.reader, "read trees", query, args, func(scan rowScan) (*Tree, error) {
		t := &Tree{}
		return t, scan(&t.RunID, &t.Budget.MaxTokens, &t.Budget.MaxCostMicros, &t.Spent.Tokens, &t.Spent.CostMicros)
	})
}

// ancestorsOf reads which runs are above others.
func (r reader) ancestorsOf(ctx context.Context, runIDs []string) (map[string][]string, error) {
	var args []any
	above := map[string][]string{}
	err := r.each(ctx, "SELECT run_id, tag FROM run_tags WHERE run_id IN "+list(&args, runIDs)+" AND tag >= 'a:' AND tag < 'a;'", args, func(scan rowScan) error {
		var runID, tag string
		err := scan(&runID, &tag)
		above[runID] = append(above[runID], tag[min(len(tag), 2):])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ancestors: %w", err)
	}
	return above, nil
}

// RunStart is how a run came to be.
type RunStart struct {
	Source     lineshaft.Source
	CreatorUID string
	// Outside says that a message from outside was sent into it, and Gone that nothing is
	// known about it any more.
	Outside, Gone bool
}

// outsideTag marks runs that got a message from outside.
const outsideTag = "o:"

// MarkOutside notes that a message from outside was sent into a run. No list goes by it,
// so the run need not say that it has tags.
func (tx *Tx) MarkOutside(ctx context.Context, h *RunHead) error {
	_, err := tx.exec(ctx, "INSERT INTO run_tags (tag, run_id, updated_at) VALUES ($1, $2, $3) ON CONFLICT (tag, run_id) DO NOTHING", outsideTag, h.ID, micros(h.UpdatedAt))
	return err
}

// RunStarts reads how a run, those above it, and its root were started. The root is looked
// up when it is not given.
func (r reader) RunStarts(ctx context.Context, runID, rootRunID string) ([]RunStart, error) {
	if rootRunID == "" {
		if _, err := r.look(ctx, "read root", "SELECT root_run_id FROM runs WHERE id = $1", []any{runID}, &rootRunID); err != nil {
			return nil, err
		}
		if rootRunID == "" { // it was deleted
			rootRunID = runID
		}
	}
	above, err := r.ancestorsOf(ctx, []string{runID})
	if err != nil {
		return nil, err
	}
	ids := slices.Compact(slices.Sorted(slices.Values(append(above[runID], runID, rootRunID))))
	args := []any{outsideTag}
	starts := make([]RunStart, 0, len(ids))
	err = r.each(ctx, `SELECT r.source, r.creator_uid, (SELECT COUNT(*) FROM run_tags t WHERE t.tag = $1 AND t.run_id = r.id) FROM runs r WHERE r.id IN `+list(&args, ids), args,
		func(scan rowScan) error {
			var start RunStart
			var marks int
			err := scan(&start.Source, &start.CreatorUID, &marks)
			start.Outside = marks > 0
			starts = append(starts, start)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read starts of runs: %w", err)
	}
	for len(starts) < len(ids) {
		starts = append(starts, RunStart{Gone: true})
	}
	return starts, nil
}

// Lineage is what a child run takes over from its parent.
type Lineage struct {
	RootRunID  string
	Depth      int
	FactoryUID string
	// Body is the parent's.
	Body RunBody
	// Ancestors are the parent and the runs above it, the parent first.
	Ancestors []string
}

// GetLineage reads the parent of a new run. Nothing of it ever changes.
func (tx *Tx) GetLineage(ctx context.Context, parentID string) (*Lineage, error) {
	var l Lineage
	found, err := tx.look(ctx, "read parent",
		"SELECT root_run_id, depth, factory_uid FROM runs WHERE id = $1", []any{parentID}, &l.RootRunID, &l.Depth, toText(&l.FactoryUID))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, lineshaft.Invalid("parent_run_id", "no run %q here", parentID)
	}
	body, err := tx.GetRunBody(ctx, parentID)
	if err != nil {
		return nil, err
	}
	l.Body = *body
	above, err := tx.ancestorsOf(ctx, []string{parentID})
	if err != nil {
		return nil, err
	}
	l.Ancestors = append([]string{parentID}, above[parentID]...)
	return &l, nil
}

// CountLiveChildren counts the children of a run that have not ended.
func (r reader) CountLiveChildren(ctx context.Context, parentID string) (live int, err error) {
	err = r.one(ctx, "SELECT COUNT(*) FROM runs WHERE parent_run_id = $1 AND state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED')", []any{parentID}, &live)
	if err != nil {
		return 0, fmt.Errorf("count children: %w", err)
	}
	return live, nil
}
