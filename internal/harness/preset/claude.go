package preset

import "encoding/json"

// claude sets up Claude Code and its ACP adapter.
func claude(b *builder) error {
	b.set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	b.set("DISABLE_AUTOUPDATER", "1")
	b.set("IS_SANDBOX", "1") // it refuses to work without questions as root otherwise
	b.set("ENABLE_TOOL_SEARCH", "false")
	b.set("MCP_CONNECTION_NONBLOCKING", "0") // or its first turn begins without the tool servers that are slow to start
	b.set("MCP_CONNECT_TIMEOUT_MS", "30000")
	// Nobody sees what it would suggest after each turn, at the price of a whole request.
	b.set("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false")
	if b.protocol != "" {
		b.set("ANTHROPIC_BASE_URL", b.access.URL)
		b.set("ANTHROPIC_API_KEY", b.access.Key)
	}
	if b.Model != "" {
		b.set("ANTHROPIC_MODEL", b.Model)
		// The model for small things: the endpoint may have no other one.
		b.set("ANTHROPIC_DEFAULT_HAIKU_MODEL", b.Model)
		b.set("ANTHROPIC_SMALL_FAST_MODEL", b.Model)
	}
	if effort := b.effort(); effort != "" {
		b.set("CLAUDE_CODE_EFFORT_LEVEL", effort)
	}
	return b.claudeServers()
}

// claudeServers describes the tool servers in a file, for --mcp-config.
func (b *builder) claudeServers() error {
	if len(b.servers) == 0 {
		return nil
	}
	servers := map[string]any{}
	for _, s := range b.servers {
		if s.url != "" {
			servers[s.name] = map[string]any{"type": "http", "url": s.url, "headers": named(s.headers, braces)}
			continue
		}
		servers[s.name] = map[string]any{"type": "stdio", "command": s.command[0], "args": s.command[1:], "env": named(s.env, braces)}
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return err
	}
	b.ToolsFile, err = b.env.WriteFile("claude-mcp.json", string(raw))
	return err
}
