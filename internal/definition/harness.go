package definition

import (
	"github.com/lineshaft/lineshaft"
)

// harness is a word, or a block of keys.
func harness(to **lineshaft.HarnessConfig) value {
	types := textRules{words: lineshaft.HarnessTypes()}
	keys := func(h *lineshaft.HarnessConfig) []key {
		return []key{
			{name: "type", doc: "The adapter.", value: text(&h.Type, types)},
			{name: "modelId", doc: "The model, for agents other than the built-in one.", value: text(&h.ModelID, textRules{})},
			{name: "reasoningLevel", doc: "How much the model thinks, in its own words.", value: text(&h.ReasoningLevel, textRules{})},
			{name: "command", doc: "The program of the command and acp harnesses, with its arguments.", value: texts(&h.Command, 0, textRules{})},
			{name: "mode", doc: "How claude, codex, gemini and opencode are talked to: over the Agent Client Protocol, or with their own command.", value: text(&h.Mode, textRules{words: []string{lineshaft.ModeACP, lineshaft.ModeCommand}})},
			{name: "permissions", doc: "Who decides when the agent asks whether it may do something; with ask a follow-up answers.", value: text(&h.Permissions, textRules{words: lineshaft.Policies()})},
		}
	}
	long := option(to, keys)
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind != textNode {
				long.read(r, path, n)
			} else if word, ok := r.readText(path, n, types); ok {
				*to = &lineshaft.HarnessConfig{Type: word}
			}
		},
		write: func() *node {
			n := long.write()
			if n != nil && len(n.fields) == 1 && n.fields[0].key == "type" {
				return n.fields[0].value
			}
			return n
		},
		schema: func() schema { return schema{"oneOf": []any{types.schema(), long.schema()}} },
	}
}
