package definition

import (
	"maps"
	"slices"
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
		r.wrong(other, joinPath(path, "modelId"), "is another word for model, which is also given", "keep one of the two")
	}
	long.read(r, path, n)
}

// hidden is shown in place of a value.
const hidden = lineshaft.HiddenValue

func serverKeys(s *lineshaft.MCPServer) []key {
	shown := textRules{check: func(text string) error {
		if text == hidden {
			return lineshaft.Invalid("", "%s stands for a value that is not shown; write the value again, or {{SECRET_NAME}}", hidden)
		}
		return nil
	}}
	return []key{
		{name: "command", doc: "A program that speaks over its standard streams.", value: text(&s.Command, textRules{})},
		{name: "args", doc: "Its arguments.", value: texts(&s.Args, 0, textRules{})},
		{name: "env", doc: "Its variables; {{SECRET_NAME}} is filled in.", value: textMap(&s.Env, shown)},
		{name: "url", doc: "The address of a server.", value: text(&s.URL, textRules{})},
		{name: "headers", doc: "Headers of requests to it; {{SECRET_NAME}} is filled in.", value: textMap(&s.Headers, shown)},
		{name: "warpId", doc: "The id of a managed server.", inert: "it manages no tool servers; write command or url", value: text(&s.WarpID, textRules{})},
	}
}

// ownServers are those of an agent or automation: an empty map says something, because
// it replaces the inherited one.
func ownServers(to *map[string]lineshaft.MCPServer) value {
	v := mcpServers(to)
	read, write := v.read, v.write
	v.read = func(r *reader, path string, n *node) {
		*to = map[string]lineshaft.MCPServer{}
		read(r, path, n)
	}
	v.write = func() *node {
		if *to != nil && len(*to) == 0 {
			return &node{kind: objectNode}
		}
		return write()
	}
	return v
}

// mcpServers is a map of tool servers by name.
func mcpServers(to *map[string]lineshaft.MCPServer) value {
	return value{
		read: func(r *reader, path string, n *node) {
			r.entries(path, n, func(path, name string, v *node) { r.readServer(path, name, v, to) })
		},
		write: func() *node {
			if len(*to) == 0 {
				return nil
			}
			n := &node{kind: objectNode}
			for _, name := range slices.Sorted(maps.Keys(*to)) {
				server := (*to)[name]
				n.fields = append(n.fields, field{key: name, value: writeObject(serverKeys(&server))})
			}
			return n
		},
		schema: func() schema {
			return schema{
				"type": "object", "propertyNames": schema{"minLength": 1, "maxLength": 128},
				"additionalProperties": objectSchema(serverKeys(&lineshaft.MCPServer{})),
			}
		},
	}
}

func (r *reader) readServer(path, name string, n *node, to *map[string]lineshaft.MCPServer) {
	var server lineshaft.MCPServer
	before := len(r.problems)
	if r.object(path, n, serverKeys(&server)); len(r.problems) > before {
		return
	}
	err := lineshaft.AgentConfig{MCPServers: map[string]lineshaft.MCPServer{name: server}}.Validate()
	if err != nil {
		at := n
		if strings.HasSuffix(fieldOf(err), ".url") && n.get("url") != nil {
			at = n.get("url")
		}
		message, hint := advice(err)
		if at == n {
			hint = "a server has command with args and env, or url with headers, or warpId"
		}
		r.wrong(at, path, message, hint)
		return
	}
	if *to == nil {
		*to = map[string]lineshaft.MCPServer{}
	}
	(*to)[name] = server
}
