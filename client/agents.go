package client

import (
	"context"
	"net/http"
	"net/url"
)

const agentsPath = "/agent/identities"

// AgentsService manages agents: named configurations that runs go to. It is part of
// a Client.
type AgentsService struct{ c *Client }

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
