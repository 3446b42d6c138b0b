package factories

import (
	"testing"

	"github.com/lineshaft/lineshaft"
)

// What is no amount is refused; nothing becomes "no limit" unless it says so.
func TestI2BudgetsAreAmounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 0, "0": 0, "25": 25_000_000, "$2.50": 2_500_000, "0.000001": 1, "0.0000005": 1, "1000000000": 1_000_000_000_000_000,
	} {
		if got, err := readBudget(text, ""); err != nil || got.MaxCostMicros != want {
			t.Errorf("%q: %d, %v", text, got.MaxCostMicros, err)
		}
	}
	for _, text := range []string{"cheap", "NaN", "nan", "Inf", "+Inf", "-Inf", "infinity", "$NaN", "1e400", "-1", "-0.000001", "1000000000.01", "1e10", "0.0000004", "1e-300"} {
		if got, err := readBudget(text, ""); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || got != (lineshaft.Budget{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1.5", "-1", "NaN", "99999999999999999999"} {
		if _, err := readBudget("", text); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
			t.Errorf("%q tokens: %v", text, err)
		}
	}
}
