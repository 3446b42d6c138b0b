package preset

import (
	"encoding/json"

	"github.com/lineshaft/lineshaft/internal/model"
)

const opencodeProvider = "lineshaft"

// opencode sets up opencode, whose whole configuration is one variable.
func opencode(b *builder) error {
	b.set("OPENCODE_DISABLE_AUTOUPDATE", "1")
	b.set("OPENCODE_DISABLE_MODELS_FETCH", "1")
	b.set("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
	config := map[string]any{
		"autoupdate": false, "share": "disabled", "permission": "allow",
		"agent": map[string]any{"title": map[string]any{"disable": true}}, // it would ask the model for a title that nobody sees
	}
	if b.protocol != "" && b.Model != "" {
		b.opencodeProvider(config)
	}
	if b.Model != "" {
		config["model"] = b.Model
		config["small_model"] = b.Model
	}
	servers := map[string]any{}
	for _, s := range b.servers {
		if s.url != "" {
			servers[s.name] = map[string]any{"type": "remote", "url": s.url, "headers": named(s.headers, inEnv), "oauth": false, "enabled": true}
			continue
		}
		servers[s.name] = map[string]any{"type": "local", "command": s.command, "environment": named(s.env, inEnv), "enabled": true}
	}
	if len(servers) > 0 {
		config["mcp"] = servers
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return err
	}
	b.set("OPENCODE_CONFIG_CONTENT", string(raw))
	return nil
}

// opencodeProvider describes the gateway as a provider of one model.
func (b *builder) opencodeProvider(config map[string]any) {
	library, url := "@ai-sdk/openai-compatible", b.access.URL
	switch b.protocol {
	case model.Anthropic:
		library, url = "@ai-sdk/anthropic", url+"/v1"
	case model.Gemini:
		library, url = "@ai-sdk/google", url+"/v1beta"
	case model.OpenAI:
	}
	b.set(keyVariable, b.access.Key)
	config["provider"] = map[string]any{opencodeProvider: map[string]any{
		"npm": library, "options": map[string]any{"baseURL": url, "apiKey": inEnv(keyVariable)},
		"models": map[string]any{b.Model: map[string]any{}},
	}}
	b.Model = opencodeProvider + "/" + b.Model
}

// inEnv is how opencode refers to a variable.
func inEnv(variable string) string { return "{env:" + variable + "}" }
