package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// NewArtifact describes a file that an agent reports.
type NewArtifact struct {
	FileName string
	// Type is FILE, SCREENSHOT or PLAN; empty is FILE.
	Type        string
	MimeType    string
	Title       string
	Description string
}

// ReportArtifact stores a file of at most 100 MB as an artifact of the run whose token
// the client has. The content is sent as it is read, once, without the client's timeout.
func (s *RunsService) ReportArtifact(ctx context.Context, runID string, artifact NewArtifact, content io.Reader) (*RunReported, error) {
	to := at(runPath+"/artifacts", runID)
	with := query("type", artifact.Type, "mime_type", artifact.MimeType, "title", artifact.Title, "description", artifact.Description)
	with.Set("filename", artifact.FileName)
	target, err := s.c.endpoint(to, with)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, content)
	if err != nil {
		return nil, fmt.Errorf("POST %s: %w", to.path, err)
	}
	for name, values := range s.c.header() {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+s.c.key())
	req.Header.Set("Content-Type", "application/octet-stream")
	s.c.addKey(req.Header, call{method: http.MethodPost})
	resp, err := s.c.http.Do(req)
	if err != nil {
		return nil, &transportError{op: "POST " + to.path, err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, s.c.readError(http.MethodPost, to.path, resp)
	}
	var out RunReported
	if err := json.NewDecoder(io.LimitReader(resp.Body, s.c.maxAnswer)).Decode(&out); err != nil {
		return nil, fmt.Errorf("POST %s: read the answer: %w", to.path, err)
	}
	return &out, nil
}
