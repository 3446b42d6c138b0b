package client

import (
	"context"
	"net/http"
)

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
