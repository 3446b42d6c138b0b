package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// EnvironmentSortBy is an order of environments.
type EnvironmentSortBy string

// Schema implements huma.SchemaProvider.
func (EnvironmentSortBy) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Enum: []any{string(secrets.EnvironmentsByName), string(secrets.EnvironmentsByUpdate)},
		Description: "Sort order; default last_updated, newest first.",
	}
}

// CloudEnvironment is an environment with what is known of its use.
type CloudEnvironment struct {
	UID                  string                 `json:"uid" doc:"22 letters and digits, for environment_id of a run."`
	Config               CloudEnvironmentConfig `json:"config"`
	LastUpdated          string                 `json:"last_updated" format:"date-time"`
	SetupFailed          bool                   `json:"setup_failed" doc:"The newest run in it could not be set up."`
	LastTaskRunTimestamp *string                `json:"last_task_run_timestamp" format:"date-time" doc:"When its newest run was created; null when there is none."`
	LastTaskCreated      *EnvironmentTask       `json:"last_task_created,omitempty"`
	Scope                Scope                  `json:"scope"`
	Creator              RunCreatorInfo         `json:"creator"`
	LastEditor           RunCreatorInfo         `json:"last_editor"`
	Prepared             *EnvironmentStarts     `json:"prepared,omitempty" doc:"How its newest runs found it; not in lists."`
}

// EnvironmentStarts is how the newest 50 runs in an environment found it prepared, as their logs say.
type EnvironmentStarts struct {
	Warm         int             `json:"warm" doc:"Starts on what was prepared before."`
	Newer        int             `json:"newer" doc:"Starts on what was prepared for an older commit."`
	Cold         int             `json:"cold" doc:"Starts from nothing."`
	SavedSeconds float64         `json:"saved_seconds" doc:"How much longer cold starts would have taken."`
	Layers       []PreparedLayer `json:"layers" doc:"The last 10 that were used; a worker may have removed some."`
	ColdStarts   []ColdStart     `json:"cold_starts" doc:"The newest 10."`
}

// PreparedLayer is a prepared environment on a worker.
type PreparedLayer struct {
	WorkerHost   string  `json:"worker_host"`
	Name         string  `json:"name" doc:"Names it on its worker."`
	Files        int     `json:"files"`
	Bytes        int64   `json:"bytes" doc:"What it takes on the disk."`
	Hits         int     `json:"hits" doc:"How many of the runs started on it."`
	SavedSeconds float64 `json:"saved_seconds"`
	LastUsedAt   string  `json:"last_used_at" format:"date-time"`
}

// ColdStart is a start of a run from nothing.
type ColdStart struct {
	RunID      string `json:"run_id"`
	WorkerHost string `json:"worker_host"`
	Reason     string `json:"reason"`
	Time       string `json:"time" format:"date-time"`
}

// CloudEnvironmentConfig is what people write of an environment.
type CloudEnvironmentConfig struct {
	Name                           string       `json:"name" minLength:"1" maxLength:"200"`
	Description                    *string      `json:"description,omitempty" nullable:"true" maxLength:"240"`
	DockerImage                    string       `json:"docker_image,omitempty" maxLength:"512" doc:"For workers that isolate agents in containers; others do not use it."`
	GithubRepos                    []GithubRepo `json:"github_repos,omitempty" maxItems:"50" doc:"Cloned into the workspace, each into a folder of its name."`
	SetupCommands                  []string     `json:"setup_commands,omitempty" maxItems:"100" doc:"Run in order by sh in the workspace, each in its own shell. The first that fails ends the run. At most 4096 characters each."`
	RefreshCommands                []string     `json:"refresh_commands,omitempty" maxItems:"100" doc:"Run instead of setup_commands if the workspace was prepared for an older commit; if empty, setup_commands run. At most 4096 characters each."`
	Secrets                        []SecretRef  `json:"secrets,omitempty" maxItems:"20" doc:"Managed secrets that every run in this environment gets as variables."`
	GitCredentials                 string       `json:"git_credentials,omitempty" maxLength:"128" doc:"The name of a managed secret to clone with: a token, user:token, or a private key. Agents do not get it."`
	Providers                      Unsupported  `json:"providers,omitzero"`
	FailureSessionRetentionMinutes Unsupported  `json:"failure_session_retention_minutes,omitzero"`
}

// GithubRepo names a repository at the forge.
type GithubRepo struct {
	Owner string `json:"owner" minLength:"1" maxLength:"512"`
	Repo  string `json:"repo" minLength:"1" maxLength:"100"`
}

// EnvironmentTask is the newest run of an environment.
type EnvironmentTask struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	State     RunState `json:"state"`
	CreatedAt string   `json:"created_at" format:"date-time"`
	UpdatedAt string   `json:"updated_at" format:"date-time"`
	StartedAt *string  `json:"started_at" format:"date-time"`
}

// EnvironmentRequest makes or replaces an environment.
type EnvironmentRequest struct {
	Config CloudEnvironmentConfig `json:"config"`
}

// ListEnvironmentsResponse has all environments.
type ListEnvironmentsResponse struct {
	Environments []CloudEnvironment `json:"environments"`
}

// EnvironmentPath is the part of a path that names an environment.
type EnvironmentPath struct {
	EnvironmentUID string `path:"environmentUid" maxLength:"256" doc:"The uid of an environment."`
}

type (
	updateEnvironmentInput struct {
		EnvironmentPath
		Body EnvironmentRequest
	}
	listEnvironmentsInput struct {
		SortBy EnvironmentSortBy `query:"sort_by"`
	}
)

func (s *server) createEnvironment(ctx context.Context, in *given[EnvironmentRequest]) (*answer[CloudEnvironment], error) {
	config, err := in.Body.Config.domain()
	if err != nil {
		return nil, err
	}
	return shown(wireEnvironment)(s.Control.CreateEnvironment(ctx, callerOf(ctx), config))
}

func (s *server) updateEnvironment(ctx context.Context, in *updateEnvironmentInput) (*answer[CloudEnvironment], error) {
	config, err := in.Body.Config.domain()
	if err != nil {
		return nil, err
	}
	return shown(wireEnvironment)(s.Control.UpdateEnvironment(ctx, callerOf(ctx), in.EnvironmentUID, config))
}

func (s *server) getEnvironment(ctx context.Context, in *EnvironmentPath) (*answer[CloudEnvironment], error) {
	found, err := s.Control.GetEnvironment(ctx, callerOf(ctx), in.EnvironmentUID)
	if err != nil {
		return nil, err
	}
	starts, err := s.Control.EnvironmentStarts(ctx, callerOf(ctx), found.UID)
	if err != nil {
		return nil, err
	}
	out := wireEnvironment(found)
	out.Prepared = wireStarts(starts)
	return reply(out, nil)
}

func wireStarts(s *lineshaft.EnvironmentStarts) *EnvironmentStarts {
	return &EnvironmentStarts{
		Warm: s.Warm, Newer: s.Newer, Cold: s.Cold, SavedSeconds: s.Saved.Seconds(),
		Layers: each(s.Layers, func(l *lineshaft.PreparedLayer) PreparedLayer {
			return PreparedLayer{
				WorkerHost: l.Worker, Name: l.Name, Files: l.Files, Bytes: l.Bytes, Hits: l.Hits,
				SavedSeconds: l.Saved.Seconds(), LastUsedAt: stamp(l.UsedAt),
			}
		}),
		ColdStarts: each(s.ColdStarts, func(c *lineshaft.ColdStart) ColdStart {
			return ColdStart{RunID: c.RunID, WorkerHost: c.Worker, Reason: c.Reason, Time: stamp(c.At)}
		}),
	}
}

func (s *server) listEnvironments(ctx context.Context, in *listEnvironmentsInput) (*answer[ListEnvironmentsResponse], error) {
	list, err := s.Control.ListEnvironments(ctx, callerOf(ctx), secrets.EnvironmentSort(in.SortBy))
	return reply(ListEnvironmentsResponse{each(list, wireEnvironment)}, err)
}

func (s *server) deleteEnvironment(ctx context.Context, in *EnvironmentPath) (*struct{}, error) {
	return nil, s.Control.DeleteEnvironment(ctx, callerOf(ctx), in.EnvironmentUID)
}

// domain refuses what this server does not offer.
func (c *CloudEnvironmentConfig) domain() (lineshaft.EnvironmentConfig, error) {
	for field, value := range map[string]Unsupported{"providers": c.Providers, "failure_session_retention_minutes": c.FailureSessionRetentionMinutes} {
		if value.Set {
			return lineshaft.EnvironmentConfig{}, notOffered("config." + field)
		}
	}
	out := lineshaft.EnvironmentConfig{
		Name: c.Name, Description: textOf(c.Description), DockerImage: c.DockerImage, SetupCommands: c.SetupCommands, GitCredentials: c.GitCredentials,
		Secrets: secretNames(c.Secrets), RefreshCommands: c.RefreshCommands,
	}
	for _, r := range c.GithubRepos {
		out.Repositories = append(out.Repositories, lineshaft.Repository{Owner: r.Owner, Name: r.Repo})
	}
	return out, nil
}

func wireEnvironment(e *lineshaft.EnvironmentDetail) CloudEnvironment {
	out := CloudEnvironment{
		UID: e.UID, Config: wireEnvironmentConfig(e.Config), LastUpdated: stamp(e.UpdatedAt), SetupFailed: e.SetupFailed(),
		Scope: Scope{Type: "Team"}, Creator: wirePrincipal(e.CreatedBy), LastEditor: wirePrincipal(e.EditedBy),
	}
	if run := e.LastRun; run != nil {
		created := stamp(run.CreatedAt)
		out.LastTaskRunTimestamp = &created
		out.LastTaskCreated = &EnvironmentTask{
			ID: run.ID, Title: run.Title, State: RunState(run.State), CreatedAt: created, UpdatedAt: stamp(run.UpdatedAt), StartedAt: stampOrNull(run.StartedAt),
		}
	}
	return out
}

func wireEnvironmentConfig(c lineshaft.EnvironmentConfig) CloudEnvironmentConfig {
	out := CloudEnvironmentConfig{
		Name: c.Name, Description: textOrNull(c.Description), DockerImage: c.DockerImage, SetupCommands: c.SetupCommands, GitCredentials: c.GitCredentials,
		Secrets: secretRefs(c.Secrets), RefreshCommands: c.RefreshCommands,
	}
	for _, r := range c.Repositories {
		out.GithubRepos = append(out.GithubRepos, GithubRepo{r.Owner, r.Name})
	}
	return out
}
