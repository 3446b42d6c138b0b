package control

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// checkBudget refuses a run of a factory whose daily budget is spent. Budgets
// hold for people too: unlike the pause, they are about money. What is at work goes
// on, so that the last runs of a day can go beyond it.
func (s *Service) checkBudget(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
	if f == nil || f.DailyBudget == (lineshaft.Budget{}) {
		return nil
	}
	spent, err := tx.Spending(ctx, f.UID, s.store.Now())
	if err != nil {
		return err
	}
	if told := f.DailyBudget.Spent(spent); told != "" {
		return errBudgetSpent(told)
	}
	return nil
}

func errBudgetSpent(told string) error {
	return &lineshaft.Error{
		Code:    lineshaft.CodeBudgetExceeded,
		Message: "the daily budget of the factory is used up: " + told + "; it begins anew at 00:00 UTC, or raise it with lineshaft factory update",
	}
}

// brakeBudget says why an automation starts no run today, if its factory's budget is
// spent. Each factory is looked up once for all runs of a transaction.
func (b *runStarts) brakeBudget(ctx context.Context, a *hookAutomation) (reason string, err error) {
	if a.budget == (lineshaft.Budget{}) {
		return "", nil
	}
	reason, known := b.budgets[a.FactoryUID]
	if known {
		return reason, nil
	}
	err = b.s.checkBudget(ctx, b.tx, &lineshaft.Factory{UID: a.FactoryUID, DailyBudget: a.budget})
	if err != nil && lineshaft.CodeOf(err) != lineshaft.CodeBudgetExceeded {
		return "", err
	}
	if err != nil {
		reason = publicMessage(err)
	}
	if b.budgets == nil {
		b.budgets = map[string]string{}
	}
	b.budgets[a.FactoryUID] = reason
	return reason, nil
}

// spent is what the runs of a batch consumed in it, by factory.
func (b *batch) spent() map[string]lineshaft.Usage {
	spent := map[string]lineshaft.Usage{}
	for runID, h := range b.heads {
		was := b.used[runID]
		more := lineshaft.Usage{InputTokens: h.Usage.InputTokens - was.InputTokens, OutputTokens: h.Usage.OutputTokens - was.OutputTokens, CostMicros: h.Usage.CostMicros - was.CostMicros}
		if h.FactoryUID != "" && more != (lineshaft.Usage{}) {
			spent[h.FactoryUID] = spent[h.FactoryUID].Add(more)
		}
	}
	return spent
}
