package store

import (
	"context"

	"github.com/lineshaft/lineshaft"
)

// AddUsage adds to what the models of a run have consumed. The run's row lock is
// held; the sums of all models are in the head.
func (tx *Tx) AddUsage(ctx context.Context, runID string, used []lineshaft.ModelUsage) error {
	rows := inserts{
		into: "run_usage (run_id, model_id, input_tokens, cached_input_tokens, output_tokens, cost_micros, unpriced_tokens)",
		suffix: ` ON CONFLICT (run_id, model_id) DO UPDATE SET input_tokens = run_usage.input_tokens + excluded.input_tokens,
			cached_input_tokens = run_usage.cached_input_tokens + excluded.cached_input_tokens, output_tokens = run_usage.output_tokens + excluded.output_tokens,
			cost_micros = run_usage.cost_micros + excluded.cost_micros, unpriced_tokens = run_usage.unpriced_tokens + excluded.unpriced_tokens`,
	}
	for _, u := range used {
		rows.row(runID, u.ModelID, u.InputTokens, u.CachedInputTokens, u.OutputTokens, u.CostMicros, u.UnpricedTokens)
	}
	return tx.sendRows(ctx, &rows)
}

// ListUsage reads what the models of a run have consumed, those with most tokens first.
func (r reader) ListUsage(ctx context.Context, runID string) ([]lineshaft.ModelUsage, error) {
	return collect(ctx, r, "read usage of run",
		`SELECT model_id, input_tokens, cached_input_tokens, output_tokens, cost_micros, unpriced_tokens FROM run_usage
		WHERE run_id = $1 ORDER BY input_tokens + output_tokens DESC, model_id`, []any{runID}, func(scan rowScan) (*lineshaft.ModelUsage, error) {
			u := &lineshaft.ModelUsage{}
			return u, scan(&u.ModelID, &u.InputTokens, &u.CachedInputTokens, &u.OutputTokens, &u.CostMicros, &u.UnpricedTokens)
		})
}
