package client

// AgentConfig shapes a run. Every field is optional; what is not said here comes
// from wider settings on the server.
type AgentConfig struct {
	Name          string `json:"name,omitempty"`
	ModelID       string `json:"model_id,omitempty"`
	BasePrompt    string `json:"base_prompt,omitempty"`
	EnvironmentID string `json:"environment_id,omitempty"`
	// WorkerHost is the id of a self-hosted worker; empty or "hosted" means the
	// server's own.
	WorkerHost         string               `json:"worker_host,omitempty"`
	SkillSpec          string               `json:"skill_spec,omitempty"`
	Skills             []string             `json:"skills,omitempty"`
	MCPServers         map[string]MCPServer `json:"mcp_servers,omitzero"`
	Harness            *Harness             `json:"harness,omitempty"`
	IdleTimeoutMinutes *int                 `json:"idle_timeout_minutes,omitempty"`
	RunnerID           string               `json:"runner_id,omitempty"`
	Secrets            []SecretRef          `json:"secrets,omitzero"`
	ComputerUseEnabled *bool                `json:"computer_use_enabled,omitempty"`
	// TimeoutMinutes bounds a run, StallMinutes its silence, QueueTimeoutMinutes its wait.
	TimeoutMinutes      *int         `json:"timeout_minutes,omitempty"`
	StallMinutes        *int         `json:"stall_minutes,omitempty"`
	QueueTimeoutMinutes *int         `json:"queue_timeout_minutes,omitempty"`
	Budget              *Budget      `json:"budget,omitempty"`
	Retry               *Retry       `json:"retry,omitempty"`
	Concurrency         *Concurrency `json:"concurrency,omitempty"`
}

// MCPServer is a tool server: exactly one of Command, URL and WarpID is set. Values
// of Env and Headers may hold {{SECRET_NAME}}.
type MCPServer struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	WarpID  string            `json:"warp_id,omitempty"`
}

// Harness picks what drives the agent.
type Harness struct {
	Type           string `json:"type,omitempty"`
	ModelID        string `json:"model_id,omitempty"`
	ReasoningLevel string `json:"reasoning_level,omitempty"`
	// Command is the program of the command harness, with its arguments.
	Command []string `json:"command,omitempty"`
	// Mode is acp or command, for the agents that can be talked to both ways.
	Mode string `json:"mode,omitempty"`
	// Permissions is allow, deny or ask: who decides when the agent asks whether it may
	// do something.
	Permissions string `json:"permissions,omitempty"`
	// Auth says whose key the model is called with; without it that is the worker's.
	Auth *HarnessAuth `json:"auth,omitempty"`
}

// HarnessAuth is managedSecret with the name of a secret, or workerEnvironment.
type HarnessAuth struct {
	Source     string `json:"source,omitempty"`
	SecretName string `json:"secret_name,omitempty"`
}

// SecretRef names a managed secret.
type SecretRef struct {
	Name string `json:"name"`
}

// Budget stops a run that consumes more; zero means no limit.
type Budget struct {
	MaxTokens  int64   `json:"max_tokens,omitempty"`
	MaxCostUSD float64 `json:"max_cost_usd,omitempty"`
}

// Retry says how often a run whose worker was lost is tried in all.
type Retry struct {
	MaxAttempts int `json:"max_attempts,omitempty"`
}

// Concurrency allows at most one live run per key.
type Concurrency struct {
	Key string `json:"key"`
	// Policy is queue (default), skip, cancel_previous or followup.
	Policy string `json:"policy,omitempty"`
}
