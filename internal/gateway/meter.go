package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sse"
)

const (
	// runesPerToken is for estimates: few texts have more, so that the estimate is
	// rarely too high.
	runesPerToken = 4
	// maxEstimate bounds what is estimated for a request: a large one is mostly
	// pictures, which are fewer tokens than their bytes say.
	maxEstimate = 200_000
)

// meter counts one request. Its count is in the session's sum at once, so
// that requests at the same time see each other.
type meter struct {
	session *Session
	call    *call
	price   model.Price
	priced  bool

	sent    bool
	cut     bool // it did not come to its end
	status  int
	usage   scanner
	counted model.Tokens
	cost    int64

	reserved             bool
	heldTokens, heldCost int64 // what is left of the reservation
}

func (s *Session) newMeter(c *call) *meter {
	m := &meter{session: s, call: c, usage: scanner{kind: c.kind}}
	m.price, m.priced = c.choice.Endpoint.Prices[c.choice.Model]
	return m
}

// admit refuses a request that the budget has nothing left for.
func (m *meter) admit(ctx context.Context) *fault {
	budget := m.session.config.Budget
	if !m.call.metered() || budget == nil {
		return nil
	}
	if budget.MaxCostMicros > 0 && !m.priced {
		return &fault{http.StatusForbidden, codeNoPrice, fmt.Sprintf(
			"the run has a budget in US dollars, but the model %q has no price; give it one in the file of --models-file, or set max_tokens instead of max_cost_usd", m.call.choice.Model)}
	}
	return m.reserve(ctx)
}

// spend adds to the sum of the run and checks it against the budget. A request that
// begins must find something left.
func (s *Session) spend(tokens model.Tokens, cost int64, begins bool) *fault {
	s.mu.Lock()
	s.spent.InputTokens += tokens.Input
	s.spent.OutputTokens += tokens.Output
	s.spent.CostMicros += cost
	known := s.over != ""
	if !known {
		s.over = breach(s.config.Budget, s.spent, begins)
	}
	over := s.over
	s.mu.Unlock()
	if over == "" {
		return nil
	}
	if !known && s.config.Exceeded != nil {
		s.config.Exceeded(over)
	}
	return &fault{http.StatusForbidden, string(lineshaft.CodeBudgetExceeded), over}
}

// breach says how a budget is used up, or nothing.
func breach(budget *lineshaft.Budget, spent lineshaft.Usage, begins bool) string {
	if budget == nil {
		return ""
	}
	beyond := func(used, most int64) bool { return most > 0 && (used > most || begins && used == most) }
	switch {
	case beyond(spent.Total(), budget.MaxTokens):
		return fmt.Sprintf("the budget of the run is used up: %d tokens of %d", spent.Total(), budget.MaxTokens)
	case beyond(spent.CostMicros, budget.MaxCostMicros):
		return fmt.Sprintf("the budget of the run is used up: %s of %s US dollars", dollars(spent.CostMicros), dollars(budget.MaxCostMicros))
	}
	return ""
}

func dollars(micros int64) string { return strconv.FormatFloat(float64(micros)/1e6, 'f', -1, 64) }

func (m *meter) line(line []byte) *fault {
	data, ok := sse.Data(line)
	m.usage.bytes += int64(len(line))
	if !ok || !m.call.metered() {
		return nil
	}
	m.usage.event(bytes.TrimSpace(data))
	return m.settle(m.sofar())
}

// whole counts an answer that came at once.
func (m *meter) whole(body []byte) *fault {
	m.usage.bytes += int64(len(body))
	m.usage.whole(body)
	return m.settle(m.sofar())
}

// sofar is what the endpoint has reported, and at least what has come.
func (m *meter) sofar() model.Tokens {
	tokens := m.usage.tokens
	tokens.Output = max(tokens.Output, m.usage.estimate())
	if m.usage.final {
		tokens.Output = m.usage.tokens.Output
	}
	return tokens
}

// settle brings the session's sum to what is counted now.
func (m *meter) settle(tokens model.Tokens) *fault {
	tokens = tokens.Bounded()
	cost := m.price.Cost(tokens)
	delta := model.Tokens{Input: tokens.Input - m.counted.Input, Output: tokens.Output - m.counted.Output}
	more := cost - m.cost
	m.counted, m.cost = tokens, cost
	bad := m.session.spend(delta, more, false)
	if m.reserved && (delta.Total() > 0 || more > 0) {
		m.session.mu.Lock()
		defer m.session.mu.Unlock()
		m.use(max(0, delta.Total()), max(0, more))
	}
	return bad
}

// finish counts a request that has ended, however it did, and reports it.
func (m *meter) finish() {
	defer m.release() // when it has been counted
	answered := m.status >= 200 && m.status < 300
	if !m.call.metered() || !m.sent || !answered && !m.cut {
		return // an endpoint that refuses charges nothing
	}
	tokens, estimated := m.sofar(), !m.usage.final
	if !m.usage.reported {
		tokens.Input = m.call.expected.Input
		tokens.Output = max(tokens.Output, m.usage.atLeast())
	}
	if m.cut && !m.call.stream && tokens.Output == 0 { // the endpoint has likely said something to nobody
		tokens.Output = m.call.expected.Output
	}
	_ = m.settle(tokens) // the answer is out already; the session knows
	if m.session.config.Usage == nil {
		return
	}
	m.session.config.Usage(lineshaft.UsageData{
		ModelID: strings.ToValidUTF8(m.call.choice.Model, "?"), InputTokens: m.counted.Input, OutputTokens: m.counted.Output,
		CachedInputTokens: m.counted.Cached, CostMicros: m.cost, CostUnknown: !m.priced, Estimated: estimated,
	})
}
