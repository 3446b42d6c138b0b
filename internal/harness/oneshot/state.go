package oneshot

import (
	"encoding/json"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// state is what is remembered of the agent's own session, over executions too.
type state struct {
	ID string `json:"session_id"`
	// What the agent has counted in its session until now.
	Input  int64   `json:"input_tokens"`
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"cost_usd"`
}

func (s *session) file() string { return s.agent.Name + "-session.json" }

// earlier is the session to go on with; empty when there is none. The file is part
// of a snapshot by its name, and so is what the agent itself remembers in its home.
func (s *session) earlier() string {
	if s.state.ID != "" {
		return s.state.ID
	}
	var kept state
	text, err := s.env.ReadFile(s.file())
	if err == nil && json.Unmarshal([]byte(text), &kept) == nil && good(kept.ID) {
		s.state = kept
		return kept.ID
	}
	return ""
}

// good says that an id cannot be taken for an option: the agent may have written it.
func good(id string) bool { return id != "" && !strings.HasPrefix(id, "-") && len(id) <= 200 }

// keep remembers the agent's session.
func (s *session) keep(id string) {
	if !good(id) || id == s.state.ID {
		return
	}
	s.state.ID = id
	s.save()
}

// save writes the state. Without it a later execution begins a new session and says so.
func (s *session) save() {
	raw, _ := json.Marshal(s.state) // it always encodes
	_, _ = s.env.WriteFile(s.file(), string(raw))
}

// since is what a turn has used, of what the whole session has used by now.
func (s *session) since(input, output int64, cost float64) lineshaft.UsageData {
	before := s.state
	s.state.Input, s.state.Output, s.state.Cost = input, output, cost
	s.save()
	return lineshaft.UsageData{InputTokens: max(input-before.Input, 0), OutputTokens: max(output-before.Output, 0), CostMicros: micros(cost - before.Cost)}
}
