package client

import (
	"context"
	"net/http"
)

// Run gives work to the foreman of a factory. When it returns, the run is stored and
// will be executed.
func (s *FactoriesService) Run(ctx context.Context, uid string, req FactoryRunRequest) (*FactoryRun, error) {
	path, err := factoryPath(uid, "/runs")
	if err != nil {
		return nil, err
	}
	var out FactoryRun
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out, keyed: true, replay: true}))
}
