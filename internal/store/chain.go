package store

import (
	"context"
	"fmt"
)

// EndedRun is what chains ask about a run that has ended.
type EndedRun struct {
	ID         string
	Title      string
	FactoryUID string
	AgentUID   string
	CreatorUID string
	RootRunID  string
	Depth      int
	// TraceParent is what the runs that its end starts continue.
	TraceParent string
}

// ListEndedRuns reads runs by their ids; those that were deleted are left out.
func (r reader) ListEndedRuns(ctx context.Context, ids []string) (map[string]EndedRun, error) {
	found := map[string]EndedRun{}
	if len(ids) == 0 {
		return found, nil
	}
	var args []any
	err := r.each(ctx, "SELECT id, title, COALESCE(factory_uid, ''), COALESCE(agent_uid, ''), creator_uid, root_run_id, depth, trace_parent FROM runs WHERE id IN "+list(&args, ids), args, func(scan rowScan) error {
		var run EndedRun
		err := scan(&run.ID, &run.Title, &run.FactoryUID, &run.AgentUID, &run.CreatorUID, &run.RootRunID, &run.Depth, &run.TraceParent)
		found[run.ID] = run
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ended runs: %w", err)
	}
	return found, nil
}

// LockSetting reads a setting and keeps others from changing it until the transaction
// ends; one that was never stored is empty.
func (tx *Tx) LockSetting(ctx context.Context, name string) (stored string, err error) {
	_, err = tx.look(ctx, "lock setting", "SELECT value FROM settings WHERE name = $1"+tx.d.forUpdate, []any{name}, &stored)
	return stored, err
}
