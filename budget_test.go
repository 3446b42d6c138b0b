package lineshaft_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestX10BudgetIsSpentWhenALimitIsReached(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		budget lineshaft.Budget
		spent  lineshaft.Spending
		want   string
	}{
		"none":         {lineshaft.Budget{}, lineshaft.Spending{Tokens: 1 << 40, CostMicros: 1 << 40}, ""},
		"room":         {lineshaft.Budget{MaxTokens: 100, MaxCostMicros: 100}, lineshaft.Spending{Tokens: 99, CostMicros: 99}, ""},
		"cost reached": {lineshaft.Budget{MaxCostMicros: 2_500_000}, lineshaft.Spending{CostMicros: 2_500_000}, "$2.50 of $2.50 are spent"},
		"beyond":       {lineshaft.Budget{MaxTokens: 10, MaxCostMicros: 1_000_000}, lineshaft.Spending{Tokens: 12, CostMicros: 5}, "12 of 10 tokens are used"},
	} {
		if got := tc.budget.Spent(tc.spent); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
