package client

import (
	"context"
	"net/http"
	"time"
)

// RepositorySource is a folder of a Git repository that a factory follows.
type RepositorySource struct {
	// URL is an https or ssh address without credentials.
	URL string `json:"url"`
	// Branch is the one that is followed; empty is the repository's default.
	Branch string `json:"branch,omitempty"`
	// Path is the folder of the definition; empty is the root.
	Path string `json:"path,omitempty"`
}

// FactoryRepository tells how far a factory has followed its repository.
type FactoryRepository struct {
	URL    string `json:"url"`
	Branch string `json:"branch"`
	Path   string `json:"path"`
	// SeenCommit is the newest that was looked at, AppliedCommit the one in force.
	SeenCommit    string     `json:"seen_commit"`
	AppliedCommit string     `json:"applied_commit"`
	CheckedAt     *time.Time `json:"checked_at"`
	AppliedAt     *time.Time `json:"applied_at"`
	// Problems are why SeenCommit is not in force.
	Problems []FileProblem `json:"problems"`
	// Fault is why the repository could not be read when it was last tried.
	Fault string `json:"fault"`
}

// Sync looks at the repository of a factory now, puts in force what is there and tells
// what became of it. Doing it twice does the same.
func (s *FactoriesService) Sync(ctx context.Context, uid string) (*Factory, error) {
	path, err := factoryPath(uid, "/repository/sync")
	if err != nil {
		return nil, err
	}
	var out Factory
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, out: &out, replay: true}))
}

// Link makes a factory follow a repository, instead of any other.
func (s *FactoriesService) Link(ctx context.Context, uid string, source RepositorySource) (*Factory, error) {
	return s.Update(ctx, uid, FactoryUpdate{Repository: &source})
}

// Unlink makes a factory a managed one, with the definition that is in force.
func (s *FactoriesService) Unlink(ctx context.Context, uid string) (*Factory, error) {
	path, err := factoryPath(uid, "")
	if err != nil {
		return nil, err
	}
	var out Factory
	body := map[string]any{"repository": nil}
	return result(&out, s.c.do(ctx, call{method: http.MethodPatch, path: path, body: body, out: &out, replay: true}))
}
