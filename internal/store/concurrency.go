package store

import (
	"context"
	"fmt"
)

// TakeSlot gives a concurrency key to a run, or returns the run that has it. The slot's
// row stays locked until the transaction ends: a run that ends cannot miss one that is
// just queuing behind it.
func (tx *Tx) TakeSlot(ctx context.Context, key, runID string) (holder string, err error) {
	err = tx.one(ctx, `INSERT INTO concurrency_slots (key, run_id) VALUES ($1, $2)
		ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING run_id`, []any{key, runID}, &holder)
	if err != nil {
		return "", fmt.Errorf("take concurrency slot: %w", err)
	}
	return holder, nil
}

// TrySlot gives a concurrency key to a run if nobody has it. Unlike TakeSlot it
// leaves another run's slot unlocked.
func (tx *Tx) TrySlot(ctx context.Context, key, runID string) (taken bool, err error) {
	n, err := tx.exec(ctx, "INSERT INTO concurrency_slots (key, run_id) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING", key, runID)
	if err != nil {
		return false, fmt.Errorf("try concurrency slot: %w", err)
	}
	return n == 1, nil
}

// FreeSlot takes the key from a run that has ended and passes it to the run that
// has waited longest. It returns that run's id, or "".
func (tx *Tx) FreeSlot(ctx context.Context, key, runID string) (next string, err error) {
	n, err := tx.exec(ctx, "DELETE FROM concurrency_slots WHERE key = $1 AND run_id = $2", key, runID)
	if err != nil {
		return "", fmt.Errorf("free concurrency slot: %w", err)
	}
	if n == 0 {
		return "", nil
	}
	next, err = tx.firstWaiting(ctx, key, runID)
	if err != nil || next == "" {
		return "", err
	}
	if _, err := tx.exec(ctx, "INSERT INTO concurrency_slots (key, run_id) VALUES ($1, $2)", key, next); err != nil {
		return "", fmt.Errorf("pass concurrency slot: %w", err)
	}
	return next, nil
}

// firstWaiting finds the run that has waited longest for a key, other than one; "" if
// none does.
func (tx *Tx) firstWaiting(ctx context.Context, key, other string) (runID string, err error) {
	_, err = tx.look(ctx, "find waiting run", `SELECT id FROM runs WHERE concurrency_key = $1 AND state = 'QUEUED' AND id <> $2
		ORDER BY queued_at, id LIMIT 1`, []any{key, other}, &runID)
	return runID, err
}

// SlotHolder reads who has a key without locking it; "" if nobody.
func (tx *Tx) SlotHolder(ctx context.Context, key string) (runID string, err error) {
	_, err = tx.look(ctx, "read concurrency slot", "SELECT run_id FROM concurrency_slots WHERE key = $1", []any{key}, &runID)
	return runID, err
}

// ListWaiting finds the queued runs of a concurrency key, in their order.
func (tx *Tx) ListWaiting(ctx context.Context, key string) ([]string, error) {
	return tx.texts(ctx, "SELECT id FROM runs WHERE concurrency_key = $1 AND state = 'QUEUED' ORDER BY queued_at, id", key)
}
