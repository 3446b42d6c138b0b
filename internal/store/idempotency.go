package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kept is an answer stored under an idempotency key.
type Kept struct {
	BodyHash string
	Answer   string
}

// ReserveKey takes an idempotency key inside the transaction of the call it
// guards, or returns what an earlier call left under it. Because the reservation
// and the call commit together, nobody sees a key without its answer: a second
// call at the same time waits here (on PostgreSQL for the first one's
// transaction, on SQLite for the one writer), on any node.
func (tx *Tx) ReserveKey(ctx context.Context, key, bodyHash string, now time.Time, keep time.Duration) (*Kept, error) {
	if _, err := tx.exec(ctx, "DELETE FROM idempotency_keys WHERE id = $1 AND created_at < $2", key, micros(now.Add(-keep))); err != nil {
		return nil, fmt.Errorf("drop old idempotency key: %w", err)
	}
	n, err := tx.exec(ctx, `INSERT INTO idempotency_keys (id, body_hash, answer, created_at) VALUES ($1, $2, '', $3)
		ON CONFLICT (id) DO NOTHING`, key, bodyHash, micros(now))
	if err != nil {
		return nil, fmt.Errorf("reserve idempotency key: %w", err)
	}
	if n == 1 {
		return nil, nil
	}
	var kept Kept
	err = tx.one(ctx, "SELECT body_hash, answer FROM idempotency_keys WHERE id = $1", []any{key}, &kept.BodyHash, &kept.Answer)
	if errors.Is(err, errNoRows) {
		return nil, fmt.Errorf("idempotency key vanished: %w", err)
	}
	return &kept, err
}

// KeepAnswer stores the answer under a reserved key.
func (tx *Tx) KeepAnswer(ctx context.Context, key, answer string) error {
	_, err := tx.exec(ctx, "UPDATE idempotency_keys SET answer = $2 WHERE id = $1", key, answer)
	return err
}

// DeleteOldKeys removes answers made before a time, some in each call; it returns
// how many.
func (tx *Tx) DeleteOldKeys(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.exec(ctx, `DELETE FROM idempotency_keys WHERE id IN
		(SELECT id FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2)`, micros(before), limit)
}

// FindAnswer reads the answer under a key that was kept since a time; nil if there is none.
func (r reader) FindAnswer(ctx context.Context, key string, since time.Time) (*Kept, error) {
	var kept Kept
	found, err := r.look(ctx, "read kept answer",
		"SELECT body_hash, answer FROM idempotency_keys WHERE id = $1 AND created_at >= $2", []any{key, micros(since)}, &kept.BodyHash, &kept.Answer)
	if !found {
		return nil, err
	}
	return &kept, nil
}
