package api

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// AgentType is the part an agent plays in its factory.
type AgentType string

// Schema implements huma.SchemaProvider.
func (AgentType) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "AgentType", lineshaft.AgentTypes(), "The type of an agent. A factory has exactly one FOREMAN.")
}

// AgentSettings are what an agent says about its runs, in requests.
type AgentSettings struct {
	Description        *string             `json:"description,omitempty" maxLength:"2000"`
	Prompt             *string             `json:"prompt,omitempty" maxLength:"1048576" doc:"Put before the prompt of each of its runs."`
	EnvironmentID      *string             `json:"environment_id,omitempty" doc:"The environment of its runs."`
	DefaultRunnerUID   *string             `json:"default_runner_uid,omitempty" doc:"A runner of its factory."`
	Secrets            []SecretRef         `json:"secrets,omitempty" maxItems:"20" doc:"Managed secrets that its runs get as variables."`
	Skills             []string            `json:"skills,omitempty" maxItems:"20" doc:"Skills of its runs in order: owner/repo:name, owner/repo:path, or the name of one of its factory's."`
	BaseModel          *string             `json:"base_model,omitempty" doc:"The language model for the built-in agent; not together with another harness."`
	MCPServers         *MCPServers         `json:"mcp_servers,omitempty"`
	BaseHarness        *string             `json:"base_harness,omitempty" deprecated:"true" doc:"The type of harness; use harness."`
	Harness            *Harness            `json:"harness,omitempty"`
	WorkerHost         *string             `json:"worker_host,omitempty" doc:"The worker for its runs."`
	Memory             *AgentMemoryRequest `json:"memory,omitempty"`
	CredentialStrategy *CredentialStrategy `json:"credential_strategy,omitempty" nullable:"true"`
	InferenceProviders Unsupported         `json:"inference_providers,omitzero"`
	HarnessAuthSecrets Unsupported         `json:"harness_auth_secrets,omitzero"`
	OnBehalfOfEnabled  Unsupported         `json:"on_behalf_of_enabled,omitzero"`
	MemoryStores       Unsupported         `json:"memory_stores,omitzero"`
}

// AgentMemoryRequest asks for memory, which this server does not have.
type AgentMemoryRequest struct {
	AutoMemory     *AutoMemoryRequest `json:"auto_memory,omitempty"`
	AttachedStores Unsupported        `json:"attached_stores,omitzero"`
}

// AutoMemoryRequest asks for a memory that fills itself.
type AutoMemoryRequest struct {
	Enabled Unsupported `json:"enabled,omitzero"`
}

// CreateAgentRequest asks for an agent.
type CreateAgentRequest struct {
	Name       string    `json:"name" minLength:"1" maxLength:"200" doc:"Unique in the factory, or among the agents that belong to no factory."`
	AgentType  AgentType `json:"agent_type,omitempty"`
	FactoryUID string    `json:"factory_uid,omitempty" doc:"The factory it belongs to; without one it belongs to the whole team."`
	AgentSettings
}

// UpdateAgentRequest changes an agent: what is absent or null stays, an empty value
// removes the setting.
type UpdateAgentRequest struct {
	Name      *string    `json:"name,omitempty" minLength:"1" maxLength:"200" doc:"References to the old name in the factory follow."`
	AgentType *AgentType `json:"agent_type,omitempty" doc:"FOREMAN replaces the current foreman."`
	AgentSettings
}

// AgentResponse is an agent.
type AgentResponse struct {
	UID              string      `json:"uid"`
	Name             string      `json:"name"`
	Available        bool        `json:"available"`
	AgentType        AgentType   `json:"agent_type,omitempty"`
	FactoryUID       string      `json:"factory_uid,omitempty" doc:"Absent for agents of the whole team."`
	Description      string      `json:"description,omitempty"`
	Prompt           string      `json:"prompt,omitempty"`
	PromptTruncated  bool        `json:"prompt_truncated,omitempty" doc:"In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too long to be shown in full. Get the agent to read all of it."`
	EnvironmentID    string      `json:"environment_id,omitempty"`
	BaseModel        string      `json:"base_model,omitempty"`
	Harness          *Harness    `json:"harness,omitempty"`
	MCPServers       *MCPServers `json:"mcp_servers,omitempty"`
	WorkerHost       string      `json:"worker_host,omitempty"`
	DefaultRunnerUID string      `json:"default_runner_uid" doc:"Empty if there is none."`
	Secrets          []SecretRef `json:"secrets"`
	Skills           []string    `json:"skills"`
	Memory           AgentMemory `json:"memory"`
	CreatedAt        string      `json:"created_at" format:"date-time"`
	UpdatedAt        string      `json:"updated_at" format:"date-time"`
}

// AgentMemory says that an agent has none: this server keeps no memory.
type AgentMemory struct {
	AutoMemory     AutoMemory `json:"auto_memory"`
	AttachedStores []Object   `json:"attached_stores"`
}

// AutoMemory is always off.
type AutoMemory struct {
	Enabled bool `json:"enabled"`
}

// ListAgentIdentitiesResponse has the agents that the key reaches, by factory and name.
type ListAgentIdentitiesResponse struct {
	Agents   []AgentResponse `json:"agents"`
	PageInfo *PageInfo       `json:"page_info,omitempty" doc:"Absent if the list is complete."`
}

// AgentPath is the part of a path that names an agent.
type AgentPath struct {
	AgentUID string `path:"agentUid" doc:"The uid of an agent."`
}

type (
	updateAgentInput struct {
		AgentPath
		Body UpdateAgentRequest
	}
	listIdentitiesInput struct {
		FactoryUID string `query:"factory_uid" maxLength:"200" doc:"Only those of this factory."`
		ListQuery
	}
)

func (s *server) createIdentity(ctx context.Context, in *given[CreateAgentRequest]) (*answer[AgentResponse], error) {
	change, err := in.Body.change()
	if err != nil {
		return nil, err
	}
	n := lineshaft.Agent{FactoryUID: in.Body.FactoryUID, Name: in.Body.Name, Type: lineshaft.AgentType(in.Body.AgentType)}
	change.Apply(&n)
	return agentAnswer(s.Control.CreateAgent(ctx, callerOf(ctx), n))
}

func textOf(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// change turns the settings into the domain's, refusing what is not offered.
func (r *AgentSettings) change() (factories.AgentChange, error) {
	change := factories.AgentChange{
		Description: r.Description, Prompt: r.Prompt, ModelID: r.BaseModel, EnvironmentID: r.EnvironmentID, RunnerID: r.DefaultRunnerUID, Skills: r.Skills, Secrets: secretNames(r.Secrets),
	}
	if err := r.unsupported(); err != nil {
		return change, err
	}
	if r.WorkerHost != nil {
		change.WorkerHost = new(workerHost(*r.WorkerHost))
	}
	switch {
	case r.Harness != nil:
		change.Harness = r.Harness.domain()
	case r.BaseHarness != nil:
		change.Harness = &lineshaft.HarnessConfig{Type: *r.BaseHarness}
	}
	var err error
	if change.MCPServers, err = r.MCPServers.decode("mcp_servers"); err != nil {
		return change, err
	}
	return change, noHiddenValues("mcp_servers", change.MCPServers)
}

// unsupported finds the first set field that this server does not offer (H-3).
func (r *AgentSettings) unsupported() error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"inference_providers", r.InferenceProviders.Set},
		{"harness_auth_secrets", r.HarnessAuthSecrets.Set},
		{"on_behalf_of_enabled", r.OnBehalfOfEnabled.Set},
		{"memory_stores", r.MemoryStores.Set},
		{"memory.attached_stores", r.Memory != nil && r.Memory.AttachedStores.Set},
		{"memory.auto_memory.enabled", r.Memory != nil && r.Memory.AutoMemory != nil && r.Memory.AutoMemory.Enabled.Set},
		{"credential_strategy", r.CredentialStrategy != nil && *r.CredentialStrategy != "EXECUTOR"},
		{"harness.auth_secret_name", r.Harness != nil && r.Harness.AuthSecretName.Set},
	} {
		if f.set {
			return notOffered(f.name)
		}
	}
	return nil
}

func (s *server) listIdentities(ctx context.Context, in *listIdentitiesInput) (*answer[ListAgentIdentitiesResponse], error) {
	if err := s.takeTurn(ctx, weightList); err != nil {
		return nil, err
	}
	agents, info, err := fillWith(wireAgent)(s.Control.ListAgents(ctx, callerOf(ctx), in.FactoryUID, in.Limit, in.Cursor))
	return reply(ListAgentIdentitiesResponse{agents, whenMore(info)}, err)
}

func (s *server) getIdentity(ctx context.Context, in *AgentPath) (*answer[AgentResponse], error) {
	return agentAnswer(s.Control.GetAgent(ctx, callerOf(ctx), in.AgentUID))
}

func (s *server) updateIdentity(ctx context.Context, in *updateAgentInput) (*answer[AgentResponse], error) {
	change, err := in.Body.change()
	if err != nil {
		return nil, err
	}
	change.Name, change.Type = in.Body.Name, (*lineshaft.AgentType)(in.Body.AgentType)
	return agentAnswer(s.Control.UpdateAgent(ctx, callerOf(ctx), in.AgentUID, change))
}

func (s *server) deleteIdentity(ctx context.Context, in *AgentPath) (*struct{}, error) {
	return nil, s.Control.DeleteAgent(ctx, callerOf(ctx), in.AgentUID)
}

func agentAnswer(a *lineshaft.Agent, err error) (*answer[AgentResponse], error) {
	if err != nil {
		return nil, agentError(err)
	}
	return reply(wireAgent(a), nil)
}

// agentError names the fields as they are here: not below config.
func agentError(err error) error {
	return lineshaft.Rename(err, func(field string) string {
		switch field {
		case "config.model_id":
			return "base_model"
		case "config.runner_id":
			return "default_runner_uid"
		}
		return strings.TrimPrefix(field, "config.")
	})
}

func wireAgent(a *lineshaft.Agent) AgentResponse {
	config := wireConfig(a.Config)
	return AgentResponse{
		UID: a.UID, Name: a.Name, Available: true, AgentType: AgentType(a.Type), FactoryUID: a.FactoryUID, Description: a.Description, Prompt: a.Prompt, PromptTruncated: a.Truncated,
		EnvironmentID: a.Config.EnvironmentID, BaseModel: a.Config.ModelID, Harness: config.Harness, MCPServers: config.MCPServers,
		WorkerHost: a.Config.WorkerHost, DefaultRunnerUID: a.Config.RunnerID, Secrets: orEmpty(config.Secrets), Skills: orEmpty(a.Config.Skills),
		Memory: AgentMemory{AttachedStores: []Object{}}, CreatedAt: stamp(a.CreatedAt), UpdatedAt: stamp(a.UpdatedAt),
	}
}
