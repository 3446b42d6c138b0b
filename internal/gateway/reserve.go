package gateway

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/model"
)

// usualOutput is what a request is expected to bring when it does not say.
const usualOutput = 8192

// maxChoices bounds the answers that a request can ask for at once.
const maxChoices = 128

// expected is what a request may use: its text, and as much as it lets the model say.
func expected(c *call, fields map[string]json.RawMessage) model.Tokens {
	var most count
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		_ = most.UnmarshalJSON(fields[name]) // it never fails; the last that is a number holds
	}
	if c.protocol == model.Gemini {
		for _, name := range []string{"generationConfig", "generation_config"} {
			var config struct {
				Camel count `json:"maxOutputTokens"`
				Snake count `json:"max_output_tokens"`
			}
			_ = json.Unmarshal(fields[name], &config) // the endpoint says what is wrong with it
			most = max(most, config.Camel, config.Snake)
		}
	}
	if most == 0 {
		most = usualOutput
	}
	var answers count // that are asked for at once
	_ = answers.UnmarshalJSON(fields["n"])
	most = min(most, maxEstimate) * max(1, min(answers, maxChoices))
	return model.Tokens{Input: min(int64(utf8.RuneCount(c.body)/runesPerToken), maxEstimate), Output: int64(most)}.Bounded()
}

// reserve waits until the budget has room for what the request may use, next to
// those that are under way. A request that is alone needs no more than that
// something is left, so that a budget can be used up; it is overrun by one request
// at the most.
func (m *meter) reserve(ctx context.Context) *fault {
	s, budget := m.session, m.session.config.Budget
	tokens, cost := m.call.expected.Total(), m.price.Cost(m.call.expected)
	fits := func(used, most int64) bool { return most == 0 || used <= most }
	met := func() bool {
		alone := s.reserved == 0
		room := fits(s.spent.Total()+s.heldTokens+tokens, budget.MaxTokens) && fits(s.spent.CostMicros+s.heldCost+cost, budget.MaxCostMicros)
		if s.over != "" || breach(budget, s.spent, true) != "" {
			return true // spend says so
		}
		if !alone && !room || s.resumed != nil { // nothing begins in a pause
			return false
		}
		s.reserved++
		s.heldTokens += tokens
		s.heldCost += cost
		m.heldTokens, m.heldCost, m.reserved = tokens, cost, true
		return true
	}
	if bad := s.awaitFor(ctx, met); bad != nil {
		return bad
	}
	if m.reserved {
		return nil
	}
	return s.spend(model.Tokens{}, 0, true)
}

// use turns a part of what is reserved into what is spent; the lock is held.
func (m *meter) use(tokens, cost int64) {
	tokens, cost = min(tokens, m.heldTokens), min(cost, m.heldCost)
	m.heldTokens -= tokens
	m.heldCost -= cost
	m.session.heldTokens -= tokens
	m.session.heldCost -= cost
}

// release gives back what was reserved and not used.
func (m *meter) release() {
	if !m.reserved {
		return
	}
	m.session.change(func() {
		m.use(m.heldTokens, m.heldCost)
		m.session.reserved--
		m.reserved = false
	})
}
