package lineshaft

import (
	"maps"
	"regexp"
	"slices"
)

// placeholder is where a value of a tool server takes that of a secret.
var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,127})\s*\}\}`)

// values are those that may hold placeholders.
func (s MCPServer) values() []string {
	var all []string
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			all = append(all, m[key])
		}
	}
	return all
}

// SecretNames are the secrets that the values of a tool server name.
func (s MCPServer) SecretNames() []string {
	var names []string
	for _, value := range s.values() {
		for _, found := range placeholder.FindAllStringSubmatch(value, -1) {
			if !slices.Contains(names, found[1]) {
				names = append(names, found[1])
			}
		}
	}
	return names
}

// Fill gives the tool server with the values of its secrets. What a value of a
// secret itself looks like does not matter. The name of a secret that is not there is
// returned.
func (s MCPServer) Fill(secrets SecretValues) (filled MCPServer, missing string) {
	fill := func(values map[string]string) map[string]string {
		out := maps.Clone(values)
		for key, value := range out {
			out[key] = placeholder.ReplaceAllStringFunc(value, func(found string) string {
				name := placeholder.FindStringSubmatch(found)[1]
				secret, ok := secrets[name]
				if !ok {
					missing = name
				}
				return secret
			})
		}
		return out
	}
	s.Env, s.Headers = fill(s.Env), fill(s.Headers)
	return s, missing
}

// ToolSecrets are the secrets that the tool servers of a configuration name.
func (c AgentConfig) ToolSecrets() []string {
	var names []string
	for _, server := range slices.Sorted(maps.Keys(c.MCPServers)) {
		names = union(names, c.MCPServers[server].SecretNames())
	}
	return names
}

// NamedSecrets are all secrets that a configuration names: for the agent's environment
// and for its tool servers.
func (c AgentConfig) NamedSecrets() []string { return union(c.Secrets, c.ToolSecrets()) }
