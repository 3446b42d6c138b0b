package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Two transactions that wait for each other's locks cost a second and one of them its
// work, so all take their locks in one order:
//
//  1. the idempotency key of a call;
//  2. a setting that says how far something is (LockSetting);
//  3. factories, shared or alone, by uid (ShareFactories, LockFactory);
//  4. timers, of which those that another holds are passed over (TakeTimers);
//  5. rate windows of webhooks, by name (HitRates);
//  6. identities of deliveries, by digest (ClaimIdentities);
//  7. names: concurrency keys, brakes of automations and conversations, all in one statement (LockAhead,
//     LockRunAndKey, LockKeyOf). A slot, a brake's window, and which runs wait for a key
//     change only under the name;
//  8. runs by id and, within a run, its executions, as far as possible in one statement
//     (LockRuns, LockExecutions). What belongs to one run alone changes only under its
//     lock. Leases change without it, in the order of runs (ExtendLeases);
//  9. trees of runs, by the run at their top (GrowTree, SpendTrees,
//     CountTreeArtifacts);
//  10. what factories spent, by uid (AddSpending).
//
// Claims and sweeps pass over what is locked. SQLite has one writer and no locks.

// WaitAtMost bounds how long each of the next statements waits for a lock; see LockedOut.
func (tx *Tx) WaitAtMost(ctx context.Context, d time.Duration) error {
	if tx.d.waits == "" {
		return nil
	}
	return tx.send(ctx, "bound waits for locks", fmt.Sprintf(tx.d.waits, d.Milliseconds()))
}

// KeyUse is a concurrency key that a transaction is about to use.
type KeyUse struct {
	Key string
	// EndsWaiting says that the runs which wait for it may also end.
	EndsWaiting bool
}

// LockAhead takes, in one order, what a transaction that starts runs will need one after
// the other: concurrency keys with the runs that have them, other names, and other runs.
func (tx *Tx) LockAhead(ctx context.Context, keys []KeyUse, names, runs []string) error {
	if tx.d.lockNames == "" {
		return nil
	}
	var all, ending []string
	for _, use := range keys {
		all = append(all, use.Key)
		if use.EndsWaiting {
			ending = append(ending, use.Key)
		}
	}
	if err := tx.lockNames(ctx, slices.Concat(all, names)); err != nil {
		return err
	}
	holders, err := tx.textsIn(ctx, "SELECT run_id FROM concurrency_slots WHERE key IN ", all)
	if err != nil {
		return err
	}
	waiting, err := tx.textsIn(ctx, "SELECT id FROM runs WHERE state = 'QUEUED' AND concurrency_key IN ", ending)
	if err != nil {
		return err
	}
	runs = slices.Concat(runs, holders, waiting)
	if len(runs) == 0 {
		return nil
	}
	_, err = tx.LockRuns(ctx, runs)
	return err
}

func (tx *Tx) lockNames(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var v values
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		v.typed([]string{"TEXT"}, name)
	}
	return tx.do(ctx, "lock names", fmt.Sprintf(tx.d.lockNames, v.text.String()), v.args...)
}

// textsIn is texts for a query that ends with IN.
func (tx *Tx) textsIn(ctx context.Context, query string, items []string) ([]string, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var args []any
	return tx.texts(ctx, query+list(&args, items), args...)
}

// LockRunAndKey is LockRun for a transaction that may end the run or bring it back. It
// first takes the run's concurrency key, with other names that are needed; then it locks
// the run and the one that gets the key next.
func (tx *Tx) LockRunAndKey(ctx context.Context, runID string, names ...string) (*RunHead, error) {
	if err := tx.lockKey(ctx, "$1", runID, names...); err != nil {
		return nil, err
	}
	return tx.LockRun(ctx, runID)
}

// LockKeyOf does for the run of an execution what LockRunAndKey does before the run
// itself is locked.
func (tx *Tx) LockKeyOf(ctx context.Context, executionID string) error {
	return tx.lockKey(ctx, "(SELECT run_id FROM executions WHERE id = $1)", executionID)
}

// lockKey locks the concurrency key of a run. A run never changes its key, so it can be
// read before anything is locked.
func (tx *Tx) lockKey(ctx context.Context, run, arg string, names ...string) error {
	if tx.d.lockNames == "" {
		return nil
	}
	var runID, key string
	found, err := tx.look(ctx, "read concurrency key",
		"SELECT id, concurrency_key FROM runs WHERE concurrency_key IS NOT NULL AND id = "+run, []any{arg}, &runID, &key)
	if err != nil {
		return err
	}
	if !found {
		return tx.lockNames(ctx, names)
	}
	if err := tx.lockNames(ctx, append([]string{key}, names...)); err != nil {
		return err
	}
	next, err := tx.firstWaiting(ctx, key, runID)
	if err != nil || next == "" {
		return err
	}
	_, err = tx.LockRuns(ctx, []string{runID, next})
	return err
}
