package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
)

// spendingKept is how long the days of factories are kept: longer than brakes need
// them, so that people can look back over a month.
const spendingKept = 40 * 24 * time.Hour

func spendingDay(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// AddSpending adds to what factories consumed today. It is the last thing that a
// transaction locks, and it locks factories in order: two transactions never wait for
// each other.
func (tx *Tx) AddSpending(ctx context.Context, spent map[string]lineshaft.Usage, at time.Time) error {
	for _, uid := range slices.Sorted(maps.Keys(spent)) {
		err := tx.send(ctx, "add spending of factory", `INSERT INTO factory_spending (factory_uid, day, tokens, cost_micros) VALUES ($1, $2, $3, $4)
			ON CONFLICT (factory_uid, day) DO UPDATE SET tokens = factory_spending.tokens + excluded.tokens, cost_micros = factory_spending.cost_micros + excluded.cost_micros`,
			uid, spendingDay(at), spent[uid].Total(), spent[uid].CostMicros)
		if err != nil {
			return err
		}
	}
	return nil
}

// Spending reads what a factory consumed on the day of a time.
func (r reader) Spending(ctx context.Context, factoryUID string, at time.Time) (lineshaft.Spending, error) {
	spent := lineshaft.Spending{}
	_, err := r.look(ctx, "read spending of factory", "SELECT tokens, cost_micros FROM factory_spending WHERE factory_uid = $1 AND day = $2",
		[]any{factoryUID, spendingDay(at)}, &spent.Tokens, &spent.CostMicros)
	return spent, err
}

// ListSpending reads what factories consumed since a day, by day and uid; no uids are all.
func (r reader) ListSpending(ctx context.Context, factoryUIDs []string, since time.Time) (map[[2]string]lineshaft.Spending, error) {
	days, args, where := map[[2]string]lineshaft.Spending{}, []any{spendingDay(since)}, ""
	if len(factoryUIDs) > 0 {
		where = " AND factory_uid IN " + list(&args, factoryUIDs)
	}
	return days, r.each(ctx, "SELECT day, factory_uid, tokens, cost_micros FROM factory_spending WHERE day >= $1"+where+" ORDER BY day DESC LIMIT 10000", args, func(scan rowScan) error {
		key, spent := [2]string{}, lineshaft.Spending{}
		defer func() { days[key] = spent }()
		return scan(&key[0], &key[1], &spent.Tokens, &spent.CostMicros)
	})
}

// DeleteOldSpending forgets days that nobody looks back to.
func (tx *Tx) DeleteOldSpending(ctx context.Context, now time.Time) error {
	return tx.do(ctx, "delete old spending", "DELETE FROM factory_spending WHERE day < $1", spendingDay(now.Add(-spendingKept)))
}
