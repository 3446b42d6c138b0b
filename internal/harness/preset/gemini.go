package preset

import "encoding/json"

// geminiSettings is where Gemini CLI looks, below its home. The file of the whole
// machine would come first, but it must belong to root, which an agent is not.
const geminiSettings = ".gemini/settings.json"

// gemini sets up Gemini CLI. What its settings say about other things stays.
func gemini(b *builder) error {
	b.set("GEMINI_CLI_TRUST_WORKSPACE", "true")
	b.set("NO_BROWSER", "true")
	settings := map[string]any{}
	if old, err := b.readHome(geminiSettings); err == nil && json.Unmarshal(old, &settings) != nil {
		settings = map[string]any{}
	}
	settings["general"] = map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false}
	settings["privacy"] = map[string]any{"usageStatisticsEnabled": false}
	settings["telemetry"] = map[string]any{"enabled": false}
	// With a terminal of its own for commands it keeps their output to itself over ACP.
	within(within(settings, "tools"), "shell")["enableInteractiveShell"] = false
	if b.protocol != "" {
		b.set("GOOGLE_GEMINI_BASE_URL", b.access.URL)
		b.set("GEMINI_API_KEY", b.access.Key)
		settings["security"] = map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}}
	}
	if b.Model != "" {
		b.set("GEMINI_MODEL", b.Model)
	}
	servers := map[string]any{}
	for _, s := range b.servers {
		if s.url != "" {
			servers[s.name] = map[string]any{"httpUrl": s.url, "headers": named(s.headers, braces), "trust": true}
			continue
		}
		servers[s.name] = map[string]any{"command": s.command[0], "args": s.command[1:], "env": named(s.env, braces), "trust": true}
	}
	settings["mcpServers"] = servers
	raw, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return b.writeHome(geminiSettings, raw)
}

// within is the object of a name in another one, made if there is none.
func within(object map[string]any, name string) map[string]any {
	inner, ok := object[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		object[name] = inner
	}
	return inner
}
