package preset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const keyVariable = "LINESHAFT_MODEL_KEY"

// codex sets up Codex and its ACP adapter. Both take settings as -c key=value,
// where the value is TOML; JSON texts and lists are also TOML.
func codex(b *builder) error {
	if b.protocol != "" {
		b.set(keyVariable, b.access.Key)
		b.config("model_provider", "lineshaft")
		b.config("model_providers.lineshaft.name", "lineshaft")
		b.config("model_providers.lineshaft.base_url", b.access.URL)
		b.config("model_providers.lineshaft.env_key", keyVariable)
		b.config("model_providers.lineshaft.wire_api", "responses")
	}
	if b.Model != "" {
		b.config("model", b.Model)
	}
	if effort := b.effort(); effort != "" {
		b.config("model_reasoning_effort", effort)
	}
	b.config("check_for_update_on_startup", false)
	b.config("analytics.enabled", false)
	// It loads plugins from the network at each start; without a network its end waits five
	// seconds for them.
	b.config("features.plugins", false)
	for _, s := range b.servers {
		b.codexServer(s)
	}
	return nil
}

func (b *builder) config(key string, value any) {
	b.Args = append(b.Args, "-c", key+"="+toml(value))
}

func (b *builder) codexServer(s server) {
	key := "mcp_servers." + s.name + "."
	if s.url != "" {
		b.config(key+"url", s.url)
		if len(s.headers) > 0 {
			b.config(key+"env_http_headers", named(s.headers, func(variable string) string { return variable }))
		}
		return
	}
	command := s.command
	if len(s.env) > 0 {
		// Codex hands variables on under their own names only, so a shell renames them.
		var script strings.Builder
		var variables []string
		for _, v := range s.env {
			fmt.Fprintf(&script, `export %s="$%s"; unset %s; `, v.name, v.variable, v.variable)
			variables = append(variables, v.variable)
		}
		command = append([]string{"/bin/sh", "-c", script.String() + `exec "$@"`, "sh"}, s.command...)
		b.config(key+"env_vars", variables)
	}
	b.config(key+"command", command[0])
	b.config(key+"args", command[1:])
}

// toml writes a value: tables inline, everything else as JSON, which is the same there.
func toml(value any) string {
	if table, ok := value.(map[string]string); ok {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(table)) {
			pairs = append(pairs, toml(key)+"="+toml(table[key]))
		}
		return "{" + strings.Join(pairs, ",") + "}"
	}
	if texts, ok := value.([]string); ok && len(texts) == 0 {
		return "[]"
	}
	raw, _ := json.Marshal(value) // texts, lists of them and booleans always encode
	return string(raw)
}
