package preset

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// server is a tool server whose secret values are in variables of the agent.
type server struct {
	name    string
	command []string
	env     []hidden
	url     string
	headers []hidden
}

// hidden is a value that only a variable of the agent holds.
type hidden struct{ name, variable string }

// variableName is what every shell and agent accepts as the name of a variable.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// hide puts the values of tool servers into variables. Their names are valid for
// every agent and differ from each other.
func (b *builder) hide(servers []harness.ToolServer) error {
	taken := map[string]bool{}
	for _, s := range servers {
		name := plainName(s.Name)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", plainName(s.Name), n)
		}
		taken[name] = true
		plain := server{name: name, url: s.URL}
		if s.Command != "" {
			plain.command = append([]string{s.Command}, s.Args...)
		}
		for _, kv := range s.Env {
			key, value, _ := strings.Cut(kv, "=")
			if !variableName.MatchString(key) {
				return lineshaft.Invalid("config.mcp_servers."+s.Name+".env", "%q is not the name of a variable: letters, digits and '_'", key)
			}
			plain.env = append(plain.env, b.hidden(key, value))
		}
		for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
			plain.headers = append(plain.headers, b.hidden(key, s.Headers[key]))
		}
		b.servers = append(b.servers, plain)
	}
	return nil
}

func (b *builder) hidden(name, value string) hidden {
	b.secrets++
	variable := fmt.Sprintf("LINESHAFT_MCP_%d", b.secrets)
	b.set(variable, value)
	return hidden{name, variable}
}

// plainName keeps what all agents allow in the name of a server.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// named makes a map of hidden values, each written as the agent refers to variables.
func named(values []hidden, reference func(variable string) string) map[string]string {
	out := map[string]string{}
	for _, v := range values {
		out[v.name] = reference(v.variable)
	}
	return out
}

// braces is how Claude Code and Gemini CLI refer to a variable.
func braces(variable string) string { return "${" + variable + "}" }
