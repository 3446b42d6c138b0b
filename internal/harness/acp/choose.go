package acp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/lineshaft/lineshaft/internal/harness/preset"
)

// option is a setting of a session as the agent offers it.
type option struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"`
	Values   json.RawMessage `json:"options"`
}

// modeOffer is a mode of an agent that has no options.
type modeOffer struct {
	ID string `json:"id"`
}

// values are what can be chosen; groups of them are taken apart.
func (o option) values() []string {
	type choice struct {
		Value   string            `json:"value"`
		Choices []json.RawMessage `json:"options"`
	}
	var all []json.RawMessage
	_ = json.Unmarshal(o.Values, &all)
	var out []string
	for len(all) > 0 {
		var c choice
		if json.Unmarshal(all[0], &c) == nil && c.Value != "" {
			out = append(out, c.Value)
		}
		all = append(all[1:], c.Choices...)
	}
	return out
}

// choose sets what the run asks for and the agent offers: the model, how hard it
// thinks, and the mode of the preset for the policy. An agent that offers nothing
// of the kind has it from its environment, or keeps its own.
func (s *session) choose(ctx context.Context, a *agent, answer sessionAnswer) {
	wanted := s.launch.form.modes[s.launch.policy]
	var options []option
	var raw []json.RawMessage
	_ = json.Unmarshal(answer.Options, &raw)
	for _, r := range raw {
		var o option
		lenient(r, &o)
		options = append(options, o)
	}
	for category, wishes := range map[string][]string{
		"mode": wanted, "model": {s.launch.model}, "thought_level": {s.launch.reasoning},
	} {
		for _, o := range options {
			if value := pick(o, category, wishes); value != "" {
				s.configure(ctx, a, answer.ID, o.ID, value)
			}
		}
	}
	s.noticeReasoning(options)
	var modes struct {
		Current string      `json:"currentModeId"`
		All     []modeOffer `json:"availableModes"`
	}
	_ = json.Unmarshal(answer.Modes, &modes)
	if slices.ContainsFunc(options, func(o option) bool { return o.Category == "mode" }) {
		return
	}
	for _, mode := range wanted {
		if mode == modes.Current {
			return
		}
		if slices.ContainsFunc(modes.All, func(m modeOffer) bool { return m.ID == mode }) {
			_, err := call[json.RawMessage](ctx, s, a, s.options.StartTime, sdk.AgentMethodSessionSetMode,
				sdk.SetSessionModeRequest{SessionId: sdk.SessionId(answer.ID), ModeId: sdk.SessionModeId(mode)})
			s.complain("mode", mode, err)
			return
		}
	}
}

// noticeReasoning says that a reasoning level has no effect: the agent neither offers it
// nor learns of it from its environment.
func (s *session) noticeReasoning(options []option) {
	level := s.launch.reasoning
	agent, _ := preset.Find(s.launch.form.name)
	offered := slices.ContainsFunc(options, func(o option) bool { return o.Category == "thought_level" && slices.Contains(o.values(), level) })
	if level != "" && !offered && !agent.Reasons {
		s.notice("info", "Reasoning level "+level+" is not used: the agent does not offer it.")
	}
}

// pick is the value of an option that the first usable wish means; empty
// when it is set already. Agents write models with their provider before them.
func pick(o option, category string, wishes []string) string {
	if o.Category != category {
		return ""
	}
	for _, wish := range wishes {
		for _, value := range o.values() {
			if wish == "" || value != wish && (category != "model" || !strings.HasSuffix(value, "/"+wish)) {
				continue
			}
			var current string
			if json.Unmarshal(o.Current, &current) == nil && current == value {
				return ""
			}
			return value
		}
	}
	return ""
}

func (s *session) configure(ctx context.Context, a *agent, id, option, value string) {
	_, err := call[json.RawMessage](ctx, s, a, s.options.StartTime, sdk.AgentMethodSessionSetConfigOption, sdk.SetSessionConfigOptionRequest{
		ValueId: &sdk.SetSessionConfigOptionValueId{SessionId: sdk.SessionId(id), ConfigId: sdk.SessionConfigId(option), Value: sdk.SessionConfigValueId(value)},
	})
	s.complain(option, value, err)
}

// complain reports a setting that the agent did not accept; it works without.
func (s *session) complain(what, value string, err error) {
	if err != nil {
		s.notice("warning", "The agent did not take "+value+" as its "+what+": "+describe(err))
	}
}
