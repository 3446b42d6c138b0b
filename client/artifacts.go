package client

import (
	"context"
	"io"
	"time"
)

// ArtifactsService reads what runs have produced.
type ArtifactsService struct{ c *Client }

// ArtifactDetail is an artifact with a place to get it from.
type ArtifactDetail struct {
	ArtifactUID string `json:"artifact_uid"`
	// ArtifactType is FILE, PULL_REQUEST, PLAN, SCREENSHOT or EXTERNAL_REFERENCE.
	ArtifactType string             `json:"artifact_type"`
	CreatedAt    time.Time          `json:"created_at"`
	Data         ArtifactDetailData `json:"data"`
}

// ArtifactDetailData holds the fields of every type of artifact.
type ArtifactDetailData struct {
	ContentType string `json:"content_type"`
	// DownloadURL needs no key, and no longer works after ExpiresAt.
	DownloadURL string     `json:"download_url,omitempty"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
	FileName    string     `json:"filename,omitempty"`
	FilePath    string     `json:"filepath,omitempty"`
	SizeBytes   int64      `json:"size_bytes,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	URL         string     `json:"url,omitempty"`
	// Content is that of a plan, in Markdown.
	Content     string `json:"content,omitempty"`
	DocumentUID string `json:"document_uid,omitempty"`
	NotebookUID string `json:"notebook_uid,omitempty"`
}

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
