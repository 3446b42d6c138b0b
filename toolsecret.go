package lineshaft

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
)

// placeholder is where a value of a tool server takes that of a secret.
var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,127})\s*\}\}`)

// onlyPlaceholder is a value that consists of one placeholder.
var onlyPlaceholder = regexp.MustCompile("^" + placeholder.String() + "$")

// HiddenValue is shown instead of a value that may be secret.
const HiddenValue = "***"

// ShownValue is a value of a tool server as readers may see it: only a value that
// consists of the name of a secret is shown.
func ShownValue(value string) string {
	if onlyPlaceholder.MatchString(value) {
		return value
	}
	return HiddenValue
}

// Shown is the tool server as readers may see it. It shares nothing that is
// changed with the server it was made of.
func (s MCPServer) Shown() MCPServer {
	hide := func(values map[string]string) map[string]string {
		out := maps.Clone(values)
		for key, value := range out {
			out[key] = ShownValue(value)
		}
		return out
	}
	s.Env, s.Headers = hide(s.Env), hide(s.Headers)
	switch u, err := url.Parse(s.URL); {
	case err != nil:
		s.URL = HiddenValue // a password may be anywhere in it
	case u.User != nil:
		u.User = url.User("redacted")
		s.URL = u.String()
	}
	return s
}

// Shown is the configuration as readers may see it. Every page and answer shows this
// one, never the configuration itself.
func (c AgentConfig) Shown() AgentConfig {
	c.MCPServers = maps.Clone(c.MCPServers)
	for name, server := range c.MCPServers {
		c.MCPServers[name] = server.Shown()
	}
	return c
}

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

// Fill gives the tool server with the values of its secrets. The form of a secret's
// value does not matter. It returns the name of a missing secret.
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

// GivenSecrets are the secrets that a run works with: in the agent's environment and in
// its tool servers.
func (c AgentConfig) GivenSecrets() []string { return union(c.Secrets, c.ToolSecrets()) }

// NamedSecrets are all secrets that a configuration names: those that a run works with,
// and the one that its model is called with.
func (c AgentConfig) NamedSecrets() []string {
	if name := c.AuthSecret(); name != "" {
		return union(c.GivenSecrets(), []string{name})
	}
	return c.GivenSecrets()
}
