package client

import (
	"context"
	"net/http"
	"net/url"
)

const environmentsPath = "/agent/environments"

// EnvironmentsService manages what is made ready before agents start. It is part of
// a Client.
type EnvironmentsService struct{ c *Client }

// List reads all environments; by is name or last_updated, which is newest first and
// the default.
func (s *EnvironmentsService) List(ctx context.Context, by string) ([]Environment, error) {
	query := url.Values{}
	if by != "" {
		query.Set("sort_by", by)
	}
	var out struct {
		Environments []Environment `json:"environments"`
	}
	err := s.c.do(ctx, call{method: http.MethodGet, path: environmentsPath, query: query, out: &out, replay: true})
	return out.Environments, err
}

// Create stores an environment.
func (s *EnvironmentsService) Create(ctx context.Context, config EnvironmentConfig) (*Environment, error) {
	var out Environment
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: environmentsPath, body: environmentBody{config}, out: &out, keyed: true}))
}

// Get reads an environment.
func (s *EnvironmentsService) Get(ctx context.Context, uid string) (*Environment, error) {
	return s.one(ctx, http.MethodGet, uid, nil)
}

// Update replaces the configuration of an environment as a whole.
func (s *EnvironmentsService) Update(ctx context.Context, uid string, config EnvironmentConfig) (*Environment, error) {
	return s.one(ctx, http.MethodPut, uid, environmentBody{config})
}

// Delete removes an environment; one that is in use is an error with status 409.
func (s *EnvironmentsService) Delete(ctx context.Context, uid string) error {
	part, err := segment("environment", uid)
	if err != nil {
		return err
	}
	return s.c.remove(ctx, environmentsPath+"/"+part)
}

type environmentBody struct {
	Config EnvironmentConfig `json:"config"`
}

func (s *EnvironmentsService) one(ctx context.Context, method, uid string, body any) (*Environment, error) {
	part, err := segment("environment", uid)
	if err != nil {
		return nil, err
	}
	var out Environment
	return result(&out, s.c.do(ctx, call{method: method, path: environmentsPath + "/" + part, body: body, out: &out, replay: true}))
}
