package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const agentsPath = "/agent/identities"

// AgentsService manages agents: named configurations that runs go to. It is part of
// a Client.
type AgentsService struct{ c *Client }

// Agent is a named configuration, of a factory or of the whole team.
type Agent struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
	// Available says that runs can go to it.
	Available bool `json:"available"`
	// AgentType is CUSTOM, FOREMAN, TRIAGE, SPEC, IMPLEMENT, REVIEW or VERIFY.
	AgentType string `json:"agent_type"`
	// FactoryUID is empty for agents of the whole team.
	FactoryUID  string `json:"factory_uid,omitempty"`
	Description string `json:"description,omitempty"`
	// Prompt is put before the prompt of each of its runs.
	Prompt string `json:"prompt,omitempty"`
	// PromptTruncated says that a list shows the first 4096 bytes of longer prompts, or not
	// all of the configuration; Get has all of it.
	PromptTruncated  bool                 `json:"prompt_truncated,omitempty"`
	EnvironmentID    string               `json:"environment_id,omitempty"`
	BaseModel        string               `json:"base_model,omitempty"`
	Harness          *Harness             `json:"harness,omitempty"`
	MCPServers       map[string]MCPServer `json:"mcp_servers,omitempty"`
	WorkerHost       string               `json:"worker_host,omitempty"`
	DefaultRunnerUID string               `json:"default_runner_uid,omitempty"`
	Secrets          []SecretRef          `json:"secrets"`
	Skills           []string             `json:"skills"`
	CreatedAt        time.Time            `json:"created_at"`
	UpdatedAt        time.Time            `json:"updated_at"`
}

// AgentRequest asks for an agent; only the name is needed.
type AgentRequest struct {
	Name             string               `json:"name"`
	AgentType        string               `json:"agent_type,omitempty"`
	FactoryUID       string               `json:"factory_uid,omitempty"`
	Description      string               `json:"description,omitempty"`
	Prompt           string               `json:"prompt,omitempty"`
	EnvironmentID    string               `json:"environment_id,omitempty"`
	BaseModel        string               `json:"base_model,omitempty"`
	Harness          *Harness             `json:"harness,omitempty"`
	MCPServers       map[string]MCPServer `json:"mcp_servers,omitempty"`
	WorkerHost       string               `json:"worker_host,omitempty"`
	DefaultRunnerUID string               `json:"default_runner_uid,omitempty"`
	Secrets          []SecretRef          `json:"secrets,omitempty"`
	Skills           []string             `json:"skills,omitempty"`
}

// AgentUpdate changes an agent: nil keeps, an empty value clears.
type AgentUpdate struct {
	Name             *string               `json:"name,omitempty"`
	AgentType        *string               `json:"agent_type,omitempty"`
	Description      *string               `json:"description,omitempty"`
	Prompt           *string               `json:"prompt,omitempty"`
	EnvironmentID    *string               `json:"environment_id,omitempty"`
	BaseModel        *string               `json:"base_model,omitempty"`
	Harness          *Harness              `json:"harness,omitempty"`
	MCPServers       *map[string]MCPServer `json:"mcp_servers,omitempty"`
	WorkerHost       *string               `json:"worker_host,omitempty"`
	DefaultRunnerUID *string               `json:"default_runner_uid,omitempty"`
	Secrets          *[]SecretRef          `json:"secrets,omitempty"`
	Skills           *[]string             `json:"skills,omitempty"`
}

// Create makes an agent. It is not repeated when its answer is lost: the server
// would say that the name is taken.
func (s *AgentsService) Create(ctx context.Context, req AgentRequest) (*Agent, error) {
	var out Agent
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: agentsPath, body: req, out: &out}))
}

// Get reads one agent.
func (s *AgentsService) Get(ctx context.Context, uid string) (*Agent, error) {
	path, err := agentPath(uid)
	if err != nil {
		return nil, err
	}
	return get[Agent](ctx, s.c, path, nil)
}

// List reads all agents that the key reaches, by factory and name; with a factory's
// uid only its own.
func (s *AgentsService) List(ctx context.Context, factoryUID string) ([]Agent, error) {
	query := url.Values{}
	if factoryUID != "" {
		query.Set("factory_uid", factoryUID)
	}
	return readAll(query, func(query url.Values) ([]Agent, PageInfo, error) {
		var page struct {
			Agents   []Agent  `json:"agents"`
			PageInfo PageInfo `json:"page_info"`
		}
		err := s.c.do(ctx, call{method: http.MethodGet, path: agentsPath, query: query, out: &page, replay: true})
		return page.Agents, page.PageInfo, err
	})
}

// Update changes what the request names. Sending it twice does the same.
func (s *AgentsService) Update(ctx context.Context, uid string, req AgentUpdate) (*Agent, error) {
	path, err := agentPath(uid)
	if err != nil {
		return nil, err
	}
	var out Agent
	return result(&out, s.c.do(ctx, call{method: http.MethodPut, path: path, body: req, out: &out, replay: true}))
}

// Delete removes an agent that no automation or schedule names. Its runs stay.
func (s *AgentsService) Delete(ctx context.Context, uid string) error {
	path, err := agentPath(uid)
	if err != nil {
		return err
	}
	return s.c.remove(ctx, path)
}

func agentPath(uid string) (string, error) {
	part, err := segment("agent", uid)
	if err != nil {
		return "", err
	}
	return agentsPath + "/" + part, nil
}
