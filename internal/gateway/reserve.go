package gateway

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/model"
)

const (
	// usualOutput is what a request may bring that sets no limit: as much as most models
	// say at once.
	usualOutput = 32_768
	// maxChoices bounds the answers that a request can ask for at once.
	maxChoices = 128
)

// expected is what a request may use: its text, and as much as it lets the model say.
// Only the fields of its own protocol count, in their own writing: an endpoint takes no
// notice of others.
func expected(c *call, fields map[string]json.RawMessage) model.Tokens {
	var most, answers count
	switch c.kind {
	case kindChat:
		most, answers = largest(usualOutput, fields, "max_tokens", "max_completion_tokens"), largest(maxChoices, fields, "n")
	case kindResponses:
		most = largest(usualOutput, fields, "max_output_tokens")
	case kindMessages:
		most = largest(usualOutput, fields, "max_tokens")
	case kindGenerate:
		for _, name := range generationNames() {
			var config map[string]json.RawMessage
			_ = json.Unmarshal(fields[name], &config) // the endpoint says what is wrong with it
			most = max(most, largest(usualOutput, config, "maxOutputTokens", "max_output_tokens"))
			answers = max(answers, largest(maxChoices, config, "candidateCount", "candidate_count"))
		}
	case kindLook: // it makes nothing
		return model.Tokens{}
	}
	if most == 0 {
		most = usualOutput
	}
	most = min(most, maxEstimate) * max(1, min(answers, maxChoices))
	return model.Tokens{Input: min(int64(utf8.RuneCount(c.body)/runesPerToken), maxEstimate), Output: int64(most)}.Bounded()
}

// generationNames are what Gemini calls the settings of an answer.
func generationNames() []string { return []string{"generationConfig", "generation_config"} }

// largest is the largest of the numbers under the names, and 0 when there is none. What
// is there and cannot be read, an endpoint may read in its own way: it is otherwise.
func largest(otherwise count, fields map[string]json.RawMessage, names ...string) count {
	var most count
	for _, name := range names {
		raw, there := fields[name]
		if !there || string(raw) == "null" {
			continue
		}
		var one count
		if _ = one.UnmarshalJSON(raw); one == 0 { // it never fails
			one = otherwise
		}
		most = max(most, one)
	}
	return most
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
