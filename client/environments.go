package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const environmentsPath = "/agent/environments"

// EnvironmentsService manages what is made ready before agents start. It is part of
// a Client.
type EnvironmentsService struct{ c *Client }

// EnvironmentConfig is what is written of an environment.
type EnvironmentConfig struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	DockerImage string `json:"docker_image,omitempty"`
	// GithubRepos are cloned into folders of their names.
	GithubRepos []Repository `json:"github_repos,omitempty"`
	// SetupCommands are run in order, each in a shell of its own.
	SetupCommands []string `json:"setup_commands,omitempty"`
	// Secrets are granted to every run in the environment.
	Secrets []SecretRef `json:"secrets,omitempty"`
	// GitCredentials names the secret to clone with.
	GitCredentials string `json:"git_credentials,omitempty"`
}

// Repository names a repository at the server's forge.
type Repository struct {
	Owner string `json:"owner"`
	Repo  string `json:"repo"`
}

// Environment is an environment with what is known of its use.
type Environment struct {
	UID         string            `json:"uid"`
	Config      EnvironmentConfig `json:"config"`
	LastUpdated time.Time         `json:"last_updated"`
	// SetupFailed says that its newest run could not be set up.
	SetupFailed bool `json:"setup_failed"`
	// LastRunAt is when its newest run was created; zero when there is none.
	LastRunAt  *time.Time      `json:"last_task_run_timestamp"`
	LastRun    *EnvironmentRun `json:"last_task_created,omitempty"`
	Creator    Principal       `json:"creator"`
	LastEditor Principal       `json:"last_editor"`
	Scope      *Scope          `json:"scope,omitempty"`
}

// EnvironmentRun is the newest run of an environment.
type EnvironmentRun struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	State     string     `json:"state"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
	StartedAt *time.Time `json:"started_at"`
}

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
