package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
)

// AmbientAgentConfig shapes a run: what a caller asks for, and in answers what was
// resolved.
type AmbientAgentConfig struct {
	Name                string              `json:"name,omitempty" maxLength:"200" doc:"A label for grouping; the list filters by it."`
	ModelID             string              `json:"model_id,omitempty" doc:"The language model, for the built-in agent."`
	BasePrompt          string              `json:"base_prompt,omitempty" maxLength:"1048576" doc:"Text put before the prompt."`
	EnvironmentID       string              `json:"environment_id,omitempty" doc:"The environment to work in."`
	WorkerHost          string              `json:"worker_host,omitempty" doc:"The id of a self-hosted worker; hosted, warp or nothing mean the server's own workers."`
	SkillSpec           string              `json:"skill_spec,omitempty" doc:"A skill, owner/repo:name or owner/repo:path. In answers, the first of skills."`
	Skills              []string            `json:"skills,omitempty" maxItems:"20" doc:"Skills in order; with skill_spec it comes first."`
	MCPServers          *MCPServers         `json:"mcp_servers,omitempty"`
	Harness             *Harness            `json:"harness,omitempty"`
	IdleTimeoutMinutes  *int                `json:"idle_timeout_minutes,omitempty" minimum:"0" maximum:"60" doc:"How long the workspace is kept after the run ended; 10 by default."`
	RunnerID            string              `json:"runner_id,omitempty" doc:"The kind of machine to work on: the name or uid of a runner of the run's factory."`
	Secrets             []SecretRef         `json:"secrets,omitzero" maxItems:"20" doc:"Managed secrets that the run gets as variables. A caller may name those with access runs; others come from the factory, agent, automation or environment."`
	ComputerUseEnabled  *bool               `json:"computer_use_enabled,omitempty"`
	TimeoutMinutes      *int                `json:"timeout_minutes,omitempty" minimum:"1" maximum:"10080" doc:"The longest the agent may work; 60 by default."`
	StallMinutes        *int                `json:"stall_minutes,omitempty" minimum:"1" maximum:"10080" doc:"The longest it may show no progress; 10 by default."`
	QueueTimeoutMinutes *int                `json:"queue_timeout_minutes,omitempty" minimum:"1" maximum:"43200" doc:"The longest it may wait for a worker; 1440 by default."`
	Budget              *Budget             `json:"budget,omitempty"`
	Retry               *Retry              `json:"retry,omitempty"`
	Concurrency         *Concurrency        `json:"concurrency,omitempty"`
	CredentialStrategy  *CredentialStrategy `json:"credential_strategy,omitempty" nullable:"true"`
	ComputerUseModelID  Unsupported         `json:"computer_use_model_id,omitzero"`
	SessionSharing      Unsupported         `json:"session_sharing,omitzero"`
	MemoryStores        Unsupported         `json:"memory_stores,omitzero"`
	InferenceProviders  Unsupported         `json:"inference_providers,omitzero"`
	HarnessAuthSecrets  Unsupported         `json:"harness_auth_secrets,omitzero"`
	Experimental        Unsupported         `json:"experimental,omitzero"`
}

// CredentialStrategy says whose source-control credentials a run uses.
type CredentialStrategy string

// Schema implements huma.SchemaProvider.
func (CredentialStrategy) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Nullable: true, Enum: []any{"CREATOR", "EXECUTOR", nil},
		Description: "Whose credentials are used; this server offers EXECUTOR only, CREATOR is 422.",
	}
}

// SecretRef names a managed secret.
type SecretRef struct {
	Name string `json:"name"`
}

// secretNames are the names of secrets. An empty list has a meaning: a child run gets none,
// and nothing is inherited.
func secretNames(refs []SecretRef) []string {
	if refs == nil {
		return nil
	}
	return each(refs, func(r *SecretRef) string { return r.Name })
}

// secretRefs is secretNames the other way.
func secretRefs(names []string) []SecretRef {
	if names == nil {
		return nil
	}
	return each(names, func(name *string) SecretRef { return SecretRef{*name} })
}

// Harness picks the adapter that drives the agent.
type Harness struct {
	Type           HarnessType  `json:"type,omitempty"`
	ModelID        string       `json:"model_id,omitempty" doc:"The model, for agents other than the built-in one."`
	ReasoningLevel string       `json:"reasoning_level,omitempty"`
	Command        []string     `json:"command,omitempty" doc:"The program of the command and acp harnesses, with its arguments."`
	Mode           string       `json:"mode,omitempty" enum:"acp,command" doc:"How to talk to claude, codex, gemini and opencode. By default, over the Agent Client Protocol if its program is installed, else with the agent's own command."`
	Permissions    string       `json:"permissions,omitempty" enum:"allow,deny,ask" doc:"The answer when the agent asks for permission: ask makes the run BLOCKED until a follow-up answers. The server's permission-policy by default."`
	AuthSecretName Unsupported  `json:"auth_secret_name,omitzero"`
	Auth           *HarnessAuth `json:"auth,omitempty"`
}

// HarnessAuth says whose key the model of an agent is called with.
type HarnessAuth struct {
	Source     string `json:"source,omitempty" enum:"managedSecret,workerEnvironment" doc:"managedSecret takes the key from a managed secret, workerEnvironment from the environment of a self-hosted worker. Without it, the worker's key is used, whatever the wider layers say."`
	SecretName string `json:"secret_name,omitempty" maxLength:"128" doc:"The managed secret; with managedSecret."`
}

// Budget stops a run that consumes more.
type Budget struct {
	MaxTokens  *int64   `json:"max_tokens,omitempty" minimum:"0" doc:"Tokens both ways; 0 means no limit."`
	MaxCostUSD *float64 `json:"max_cost_usd,omitempty" minimum:"0" maximum:"1000000000" doc:"US dollars; 0 means no limit."`
}

// Retry says how often a run may begin again when its worker is lost.
type Retry struct {
	MaxAttempts *int `json:"max_attempts,omitempty" minimum:"1" maximum:"20" doc:"1 by default."`
}

// Concurrency allows at most one live run per key.
type Concurrency struct {
	Key    string `json:"key" minLength:"1" maxLength:"256"`
	Policy string `json:"policy,omitempty" enum:"queue,skip,cancel_previous,followup" doc:"What happens to a run whose key is taken; queue by default."`
}

// MCPServerConfig is one tool server: exactly one of command, url and warp_id.
type MCPServerConfig struct {
	Name    string            `json:"name,omitempty" doc:"Only in the list form, where it is required."`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty" doc:"With command."`
	Env     map[string]string `json:"env,omitempty" doc:"With command. Values may contain {{SECRET_NAME}}; literal values are shown as ***."`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty" doc:"With url. Values may contain {{SECRET_NAME}}; literal values are shown as ***."`
	WarpID  string            `json:"warp_id,omitempty" doc:"The id of a managed server."`
}

// MCPServers is a map from name to server; a list of servers with names is also
// accepted. It keeps the caller's text until decode can say which entry is wrong.
type MCPServers struct {
	servers map[string]MCPServerConfig
	text    json.RawMessage
}

// UnmarshalJSON keeps the text.
func (m *MCPServers) UnmarshalJSON(data []byte) error {
	m.text = bytes.Clone(data)
	return nil
}

// MarshalJSON writes the map.
func (m *MCPServers) MarshalJSON() ([]byte, error) {
	if m.servers == nil && m.text != nil {
		return m.text, nil
	}
	return json.Marshal(m.servers)
}

// Schema implements huma.SchemaProvider. The choice between map and list is for
// readers: huma could only say that neither fits.
func (*MCPServers) Schema(r huma.Registry) *huma.Schema {
	server, name := r.Schema(reflect.TypeFor[MCPServerConfig](), true, ""), map[string]any{"type": "string", "minLength": 1, "maxLength": 128}
	return &huma.Schema{
		Description: "Tool servers by name, or a list of them in which each has a name.",
		Extensions: map[string]any{"oneOf": []any{
			map[string]any{"type": "object", "propertyNames": name, "additionalProperties": server},
			map[string]any{"type": "array", "items": map[string]any{"allOf": []any{server, map[string]any{
				"required": []string{"name"}, "properties": map[string]any{"name": name},
			}}}},
		}},
	}
}

// decode reads either form and blames the entry by its path.
func (m *MCPServers) decode(field string) (map[string]lineshaft.MCPServer, error) {
	if m == nil || string(m.text) == "null" {
		return nil, nil
	}
	entries := map[string]json.RawMessage{}
	if err := json.Unmarshal(m.text, &entries); err == nil {
		servers := make(map[string]lineshaft.MCPServer, len(entries))
		for name, entry := range entries {
			if servers[name], _, err = decodeMCPServer(field+"."+name, entry); err != nil {
				return nil, err
			}
		}
		return servers, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(m.text, &list); err != nil {
		return nil, lineshaft.Invalid(field, "expected an object from name to server, or an array of servers with names")
	}
	servers := make(map[string]lineshaft.MCPServer, len(list))
	for i, entry := range list {
		path := fmt.Sprintf("%s[%d]", field, i)
		server, name, err := decodeMCPServer(path, entry)
		if err != nil {
			return nil, err
		}
		if _, twice := servers[name]; name == "" || twice {
			return nil, lineshaft.Invalid(path+".name", "each server in a list needs its own name")
		}
		servers[name] = server
	}
	return servers, nil
}

func decodeMCPServer(path string, text json.RawMessage) (server lineshaft.MCPServer, name string, err error) {
	var c MCPServerConfig
	if first := bytes.TrimSpace(text); len(first) == 0 || first[0] != '{' {
		return server, "", lineshaft.Invalid(path, "expected an object with command, url or warp_id")
	}
	if err := jsonbody.Unmarshal(text, &c); err != nil {
		return server, "", lineshaft.Invalid("", "%s", typeError(path, err))
	}
	var nullable struct {
		Args []*string `json:"args"`
	}
	if err := jsonbody.Unmarshal(text, &nullable); err == nil && slices.Contains(nullable.Args, nil) {
		return server, "", lineshaft.Invalid(path+".args", "expected string, not null")
	}
	return lineshaft.MCPServer{
		Command: c.Command, Args: c.Args, Env: c.Env, URL: c.URL, Headers: c.Headers, WarpID: c.WarpID,
	}, c.Name, nil
}

// domain turns the wire form into the domain's, refusing what is not offered.
func (c *AmbientAgentConfig) domain() (lineshaft.AgentConfig, error) {
	if c == nil {
		return lineshaft.AgentConfig{}, nil
	}
	if err := c.unsupported(); err != nil {
		return lineshaft.AgentConfig{}, err
	}
	out := lineshaft.AgentConfig{
		Name: c.Name, ModelID: c.ModelID, BasePrompt: c.BasePrompt, EnvironmentID: c.EnvironmentID, RunnerID: c.RunnerID, WorkerHost: workerHost(c.WorkerHost),
		IdleTimeoutMinutes: c.IdleTimeoutMinutes, ComputerUseEnabled: c.ComputerUseEnabled,
		TimeoutMinutes: c.TimeoutMinutes, StallMinutes: c.StallMinutes, QueueTimeoutMinutes: c.QueueTimeoutMinutes,
	}
	var err error
	if out.MCPServers, err = c.MCPServers.decode("config.mcp_servers"); err != nil {
		return out, err
	}
	out.Secrets = secretNames(c.Secrets)
	out.Harness = c.Harness.domain()
	if c.Retry != nil {
		out.MaxAttempts = c.Retry.MaxAttempts
	}
	if c.Concurrency != nil {
		out.Concurrency = &lineshaft.Concurrency{Key: c.Concurrency.Key, Policy: lineshaft.ConcurrencyPolicy(c.Concurrency.Policy)}
	}
	out.Budget = c.Budget.domain()
	out.Skills, err = c.skills()
	return out, err
}

// skills are those of either field.
func (c *AmbientAgentConfig) skills() ([]string, error) {
	switch {
	case c.SkillSpec == "":
		return c.Skills, nil
	case len(c.Skills) == 0 || len(c.Skills) > 0 && c.Skills[0] == c.SkillSpec: // as answers have it
		return append([]string{c.SkillSpec}, c.Skills[min(1, len(c.Skills)):]...), nil
	}
	return nil, lineshaft.Invalid("config.skill_spec", "give either skill_spec or skills")
}

func (h *Harness) domain() *lineshaft.HarnessConfig {
	if h == nil {
		return nil
	}
	return &lineshaft.HarnessConfig{
		Type: string(h.Type), ModelID: h.ModelID, ReasoningLevel: h.ReasoningLevel, Command: h.Command, Mode: h.Mode, Permissions: h.Permissions,
		Auth: (*lineshaft.HarnessAuth)(h.Auth),
	}
}

func (b *Budget) domain() *lineshaft.Budget {
	if b == nil {
		return nil
	}
	var out lineshaft.Budget
	if b.MaxTokens != nil {
		out.MaxTokens = *b.MaxTokens
	}
	if b.MaxCostUSD != nil {
		out.MaxCostMicros = int64(math.Round(*b.MaxCostUSD * 1e6))
	}
	return &out
}

// workerHost maps the published words for the server's own workers to ours. An
// absent one stays empty: then a wider layer of the configuration may decide.
func workerHost(name string) string {
	if name == "warp" {
		return lineshaft.HostedWorker
	}
	return name
}

// unsupported finds the first set field that this server does not offer (H-3).
func (c *AmbientAgentConfig) unsupported() error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"credential_strategy", c.CredentialStrategy != nil && *c.CredentialStrategy != "EXECUTOR"},
		{"computer_use_model_id", c.ComputerUseModelID.Set},
		{"session_sharing", c.SessionSharing.Set},
		{"memory_stores", c.MemoryStores.Set},
		{"inference_providers", c.InferenceProviders.Set},
		{"harness_auth_secrets", c.HarnessAuthSecrets.Set},
		{"experimental", c.Experimental.Set},
		{"harness.auth_secret_name", c.Harness != nil && c.Harness.AuthSecretName.Set},
	} {
		if f.set {
			return notOffered("config." + f.name)
		}
	}
	return nil
}

func notOffered(field string) error {
	return lineshaft.NotSupported(field, "this server does not offer it; leave it out")
}

// wireConfig shows a resolved configuration, without the literal values that may
// be secret.
func wireConfig(c lineshaft.AgentConfig) *AmbientAgentConfig {
	c = c.Shown()
	out := &AmbientAgentConfig{
		Name: c.Name, ModelID: c.ModelID, BasePrompt: c.BasePrompt, EnvironmentID: c.EnvironmentID,
		WorkerHost: c.WorkerHost, Skills: c.Skills, IdleTimeoutMinutes: c.IdleTimeoutMinutes, RunnerID: c.RunnerID,
		ComputerUseEnabled: c.ComputerUseEnabled, TimeoutMinutes: c.TimeoutMinutes, StallMinutes: c.StallMinutes,
		QueueTimeoutMinutes: c.QueueTimeoutMinutes,
	}
	if len(c.Skills) > 0 {
		out.SkillSpec = c.Skills[0]
	}
	if c.MCPServers != nil {
		out.MCPServers = &MCPServers{servers: map[string]MCPServerConfig{}}
		for name, server := range c.MCPServers {
			out.MCPServers.servers[name] = MCPServerConfig{
				Command: server.Command, Args: server.Args, Env: server.Env, URL: server.URL, Headers: server.Headers, WarpID: server.WarpID,
			}
		}
	}
	if h := c.Harness; h != nil {
		out.Harness = &Harness{
			Type: HarnessType(h.Type), ModelID: h.ModelID, ReasoningLevel: h.ReasoningLevel, Command: h.Command, Mode: h.Mode, Permissions: h.Permissions,
			Auth: (*HarnessAuth)(h.Auth),
		}
	}
	out.Secrets = secretRefs(c.Secrets)
	out.Budget = wireBudget(c.Budget)
	if c.MaxAttempts != nil {
		out.Retry = &Retry{c.MaxAttempts}
	}
	if c.Concurrency != nil {
		out.Concurrency = &Concurrency{c.Concurrency.Key, string(c.Concurrency.Policy)}
	}
	return out
}

func wireBudget(b *lineshaft.Budget) *Budget {
	if b == nil {
		return nil
	}
	var out Budget
	if b.MaxTokens > 0 {
		out.MaxTokens = &b.MaxTokens
	}
	if b.MaxCostMicros > 0 {
		usd := float64(b.MaxCostMicros) / 1e6
		out.MaxCostUSD = &usd
	}
	return &out
}
