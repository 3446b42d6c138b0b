package definition

import (
	"strings"

	"github.com/lineshaft/lineshaft"
)

// harnessTypes are the adapters, one of which has two published words.
func harnessTypes() textRules {
	return textRules{words: lineshaft.HarnessTypes(), alike: map[string]string{"claude-code": "claude"}}
}

func harnessKeys(h *lineshaft.HarnessConfig) []key {
	model := textRules{filled: true, most: 256}
	return []key{
		{name: "type", doc: "The adapter.", null: sameAsAbsent, value: text(&h.Type, harnessTypes())},
		{name: "model", doc: "The model, for agents other than the built-in one.", null: sameAsAbsent, value: text(&h.ModelID, model)},
		{name: "modelId", doc: "Another word for model.", value: otherWord(text(&h.ModelID, model))},
		{
			name: "reasoningLevel", doc: "How much the model thinks, in its own words; without a value the agent's own counts.",
			null:  func() { h.ReasoningLevel = lineshaft.ReasoningDefault },
			value: text(&h.ReasoningLevel, textRules{most: 256, alike: map[string]string{"": lineshaft.ReasoningDefault}}),
		},
		{name: "auth", doc: "Whose key the model is called with; without a value that of the worker.", null: func() { h.Auth = &lineshaft.HarnessAuth{} }, value: harnessAuth(&h.Auth)},
		{name: "command", doc: "The program of the command and acp harnesses, with its arguments.", value: texts(&h.Command, 0, textRules{})},
		{name: "mode", doc: "How claude, codex, gemini and opencode are talked to: over the Agent Client Protocol, or with their own command.", value: text(&h.Mode, textRules{words: []string{lineshaft.ModeACP, lineshaft.ModeCommand}})},
		{name: "permissions", doc: "Who decides when the agent asks whether it may do something; with ask a follow-up answers.", value: text(&h.Permissions, textRules{words: lineshaft.Policies()})},
	}
}

// otherWord is a key that is read and never written.
func otherWord(v value) value {
	v.write = func() *node { return nil }
	return v
}

func harnessAuth(to **lineshaft.HarnessAuth) value {
	v := option(to, func(a *lineshaft.HarnessAuth) []key {
		return []key{
			{name: "source", doc: strings.Join(lineshaft.AuthSources(), " or "), required: true, value: text(&a.Source, textRules{words: lineshaft.AuthSources()})},
			{name: "secretName", doc: "The managed secret that holds the key; with source managedSecret.", value: text(&a.SecretName, secretRules())},
		}
	})
	write := v.write
	v.write = func() *node {
		if *to != nil && **to == (lineshaft.HarnessAuth{}) {
			return &node{} // it undoes what a wider layer says
		}
		return write()
	}
	return v
}

// harness is a word, or a block of keys.
func harness(to **lineshaft.HarnessConfig) value {
	long := option(to, harnessKeys)
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind == textNode {
				if word, ok := r.readText(path, n, harnessTypes()); ok {
					*to = &lineshaft.HarnessConfig{Type: word}
				}
				return
			}
			r.readHarness(path, n, long)
			if *to == nil {
				return
			}
			r.blame(lineshaft.AgentConfig{Harness: *to}.Validate(), strings.TrimSuffix(strings.TrimSuffix(path, "harness"), "."))
			if (*to).IsZero() {
				*to = nil
			}
		},
		write: func() *node {
			if *to == nil || (*to).IsZero() {
				return nil
			}
			n := long.write()
			if len(n.fields) == 1 && n.fields[0].key == "type" {
				return n.fields[0].value
			}
			return n
		},
		schema: func() schema {
			block := long.schema()
			block["minProperties"] = 1
			return schema{"oneOf": []any{harnessTypes().schema(), block}}
		},
	}
}

func (r *reader) readHarness(path string, n *node, long value) {
	if n.kind == objectNode && len(n.fields) == 0 {
		r.wrong(n, path, "says nothing", "write at least one of its keys, such as type, or take it out")
		return
	}
	if other := n.get("modelId"); other != nil && n.get("model") != nil {
		r.wrong(other, joinPath(path, "modelId"), "is another word for model, which is there too", "keep one of the two")
	}
	long.read(r, path, n)
}
