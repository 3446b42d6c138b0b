package runs

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// checkBudget refuses a run of a factory whose daily budget is spent. Budgets
// also hold for people: unlike the pause, they are about money. Running work continues,
// so the last runs of a day can exceed the budget.
func (s *Runs) checkBudget(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
	if f == nil || f.DailyBudget == (lineshaft.Budget{}) {
		return nil
	}
	spent, err := tx.Spending(ctx, f.UID, s.Store.Now())
	if err != nil {
		return err
	}
	if used := f.DailyBudget.Spent(spent); used != "" {
		return &lineshaft.Error{
			Code: lineshaft.CodeBudgetExceeded,
			Message: "the daily budget of the factory is used up: " + used +
				"; wait until 00:00 UTC, or raise it with lineshaft factory update",
		}
	}
	return nil
}

// consumed is what the runs of a batch used up in it.
func (b *batch) consumed() map[string]lineshaft.Usage {
	consumed := map[string]lineshaft.Usage{}
	for runID, h := range b.heads {
		was := b.used[runID]
		more := lineshaft.Usage{InputTokens: h.Usage.InputTokens - was.InputTokens, OutputTokens: h.Usage.OutputTokens - was.OutputTokens, CostMicros: h.Usage.CostMicros - was.CostMicros}
		if more != (lineshaft.Usage{}) {
			consumed[runID] = more
		}
	}
	return consumed
}

// spent is what the runs of a batch consumed in it, by factory.
func (b *batch) spent() map[string]lineshaft.Usage {
	spent := map[string]lineshaft.Usage{}
	for runID, more := range b.consumed() {
		if uid := b.heads[runID].FactoryUID; uid != "" {
			spent[uid] = spent[uid].Add(more)
		}
	}
	return spent
}

// endSpentTrees ends the live runs of the trees that have overrun their budget. A run that
// cannot be ended now is found again by its next report, and its queued runs when they are
// claimed.
func (s *Runs) endSpentTrees(ctx context.Context, trees []store.Tree) {
	for _, t := range trees {
		if !t.Budget.Overrun(t.Spent) {
			continue
		}
		retryable := false
		status := lineshaft.StatusMessage{Message: treeSpent(t) + "; start the work again with a larger budget", ErrorCode: lineshaft.CodeBudgetExceeded, Retryable: &retryable}
		end := func(ctx context.Context, run *life) error { return run.stop(ctx, lineshaft.Failed, status) }
		_, err := s.endOne(ctx, t.RunID, end)
		if err == nil {
			_, err = s.eachLive(ctx, lineshaft.RunFilter{AncestorRunID: t.RunID}, end)
		}
		if err != nil {
			s.Log.WarnContext(ctx, "a tree of runs with a spent budget could not be ended; this is tried again at its next report", "run_id", t.RunID, "err", err)
		}
	}
}
