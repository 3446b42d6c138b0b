package lineshaft

import "fmt"

// Budget stops what consumes more; zero means no limit.
type Budget struct {
	MaxTokens     int64 `json:"max_tokens,omitempty"`
	MaxCostMicros int64 `json:"max_cost_micros,omitempty"`
}

// Spending is what was consumed in a stretch of time.
type Spending struct {
	Tokens     int64
	CostMicros int64
}

// Spent says which limit is reached, for people; empty while there is room.
func (b Budget) Spent(s Spending) string {
	switch {
	case b.MaxCostMicros > 0 && s.CostMicros >= b.MaxCostMicros:
		return fmt.Sprintf("$%.2f of $%.2f are spent", float64(s.CostMicros)/1e6, float64(b.MaxCostMicros)/1e6)
	case b.MaxTokens > 0 && s.Tokens >= b.MaxTokens:
		return fmt.Sprintf("%d of %d tokens are used", s.Tokens, b.MaxTokens)
	}
	return ""
}

// Overrun says whether more was consumed than the budget allows. A run that used its
// budget to the last token may still end well.
func (b Budget) Overrun(s Spending) bool {
	return b.MaxTokens > 0 && s.Tokens > b.MaxTokens || b.MaxCostMicros > 0 && s.CostMicros > b.MaxCostMicros
}
