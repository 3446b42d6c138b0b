package client

import (
	"context"
	"io"
)

// ArtifactsService reads what runs have produced.
type ArtifactsService struct{ c *Client }

// Get reads what an artifact is.
func (s *ArtifactsService) Get(ctx context.Context, uid string) (*ArtifactDetail, error) {
	part, err := segment("artifact", uid)
	if err != nil {
		return nil, err
	}
	return get[ArtifactDetail](ctx, s.c, "/agent/artifacts/"+part, nil)
}

// Download opens the file of an artifact. Close it. Reading is not bounded by the
// client's timeout, but by ctx.
func (s *ArtifactsService) Download(ctx context.Context, uid string) (io.ReadCloser, error) {
	part, err := segment("artifact", uid)
	if err != nil {
		return nil, err
	}
	return s.c.open(ctx, "/agent/artifacts/"+part+"/download")
}
