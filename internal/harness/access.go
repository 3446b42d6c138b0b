package harness

// Access is an agent's way to the models of one protocol. It leads to the
// worker's gateway, which holds the real key, counts tokens and keeps budgets.
type Access struct {
	// URL is what the paths of the protocol are put behind, without a slash at the
	// end. For Anthropic and Gemini they begin with the version, /v1 or /v1beta; for
	// OpenAI the URL ends with /v1 itself, as each vendor's own clients expect.
	URL string
	// Key is good for this execution only.
	Key string
	// Model is the one to ask for: that of the run, else the endpoint's default.
	Model string
}

// ToolServer is an MCP server as the agent shall reach it: a program in the
// sandbox, or an address.
type ToolServer struct {
	Name    string
	Command string
	Args    []string
	// Env is added to that of the agent's processes, as KEY=value.
	Env     []string
	URL     string
	Headers map[string]string
}
