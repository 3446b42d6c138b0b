package definition

import (
	"maps"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// hidden stands for a value that is not shown.
const hidden = lineshaft.HiddenValue

func serverKeys(s *lineshaft.MCPServer) []key {
	shown := textRules{check: func(text string) error {
		if text == hidden {
			return lineshaft.Invalid("", "%s only stands for a value that is not shown; write the value again, or {{SECRET_NAME}}", hidden)
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
