package acp

import (
	"encoding/json"
	"math"

	"github.com/lineshaft/lineshaft"
)

// promptAnswer is the answer to a prompt.
type promptAnswer struct {
	StopReason string          `json:"stopReason"`
	Usage      json.RawMessage `json:"usage"`
	Meta       json.RawMessage `json:"_meta"`
}

// tokens are what an agent counts for a turn.
type tokens struct {
	Input       int64 `json:"inputTokens"`
	Output      int64 `json:"outputTokens"`
	CachedRead  int64 `json:"cachedReadTokens"`
	CachedWrite int64 `json:"cachedWriteTokens"`
	Thought     int64 `json:"thoughtTokens"`
	Total       int64 `json:"totalTokens"`
}

// sums are all that went in and out. Some agents count the cached tokens and the
// thoughts among the others, some beside them: the total shows which.
func (k tokens) sums() (in, out int64) {
	in, out = k.Input+k.CachedRead+k.CachedWrite, k.Output+k.Thought
	if k.Total > 0 && in+out > k.Total {
		in, out = k.Input, k.Output
	}
	return max(in, 0), max(out, 0)
}

// usage says what a turn consumed.
func (t *turn) usage(answer promptAnswer) {
	var counted tokens
	lenient(answer.Usage, &counted)
	data := lineshaft.UsageData{ModelID: t.mask(t.session.launch.model)}
	data.InputTokens, data.OutputTokens = counted.sums()
	var meta struct {
		Quota struct {
			Count struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
			Models []struct {
				Model string `json:"model"`
			} `json:"model_usage"`
		} `json:"quota"`
	}
	lenient(answer.Meta, &meta)
	if data.InputTokens == 0 && data.OutputTokens == 0 {
		data.InputTokens, data.OutputTokens = max(meta.Quota.Count.Input, 0), max(meta.Quota.Count.Output, 0)
	}
	if len(meta.Quota.Models) == 1 {
		data.ModelID = t.mask(clip(meta.Quota.Models[0].Model, 256))
	}
	data.CostMicros = t.session.bill()
	if data.InputTokens > 0 || data.OutputTokens > 0 || data.CostMicros > 0 {
		t.event(lineshaft.EventUsage, data)
	}
}

// spent notes what the session has cost so far, as the agent reckons.
func (t *turn) spent(raw json.RawMessage) {
	var cost struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	}
	lenient(raw, &cost)
	if cost.Currency == "USD" && cost.Amount >= 0 && cost.Amount < 1e6 {
		t.known.cost = cost.Amount
	}
}

// bill is the cost that was added since the last time, in millionths of a dollar. An
// agent that begins to count again in a new process is not charged for what it forgot.
func (s *session) bill() int64 {
	if s.known.cost < 0 || s.known.cost == s.cost {
		return 0
	}
	micros := int64(math.Round((s.known.cost - s.cost) * 1e6))
	s.cost = s.known.cost
	if err := s.keep(); err != nil {
		s.notice("warning", "What the session of the agent has cost could not be kept; a later execution may count it again.")
	}
	return max(micros, 0)
}
