package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// Conversation reads what was said in a run.
func (s *RunsService) Conversation(ctx context.Context, runID string) (*Conversation, error) {
	path, err := runPath(runID, "/conversation")
	if err != nil {
		return nil, err
	}
	return get[Conversation](ctx, s.c, path, nil)
}

// Transcript opens a run's log as a file: one JSON object per event and line. Close it.
func (s *RunsService) Transcript(ctx context.Context, runID string) (io.ReadCloser, error) {
	path, err := runPath(runID, "/transcript")
	if err != nil {
		return nil, err
	}
	return s.c.open(ctx, path)
}

// Timeline reads the stations of a run.
func (s *RunsService) Timeline(ctx context.Context, runID string) (*Timeline, error) {
	path, err := runPath(runID, "/timeline")
	if err != nil {
		return nil, err
	}
	return get[Timeline](ctx, s.c, path, nil)
}

// Attachments lists the files that went with a run's messages.
func (s *RunsService) Attachments(ctx context.Context, runID string) ([]RunAttachment, error) {
	path, err := runPath(runID, "/handoff/attachments")
	if err != nil {
		return nil, err
	}
	out, err := get[struct {
		Attachments []RunAttachment `json:"attachments"`
	}](ctx, s.c, path, nil)
	if err != nil {
		return nil, err
	}
	return out.Attachments, nil
}

// ByReference finds the newest run that reported this address, such as that of a
// pull request.
func (s *RunsService) ByReference(ctx context.Context, address string) (*RunReference, error) {
	return get[RunReference](ctx, s.c, "/agent/run-by-external-reference", url.Values{"url": {address}})
}

// CancelAll cancels every live run that the query selects, and returns their ids. The
// query needs a condition; its order, limit and cursor are not looked at.
func (s *RunsService) CancelAll(ctx context.Context, q RunQuery) ([]string, error) {
	filter := q.filter()
	if len(filter) == 0 {
		return nil, &usageError{"cancelling all runs needs a condition, such as a name or a state"}
	}
	var out struct {
		Cancelled []string `json:"cancelled"`
	}
	err := s.c.do(ctx, call{method: http.MethodPost, path: runsPath + "/cancel", body: map[string]any{"filter": filter}, out: &out})
	if err != nil {
		return nil, err
	}
	return out.Cancelled, nil
}

// filter is the query as an object.
func (q RunQuery) filter() map[string]any {
	metadata := q.Metadata
	q.Metadata, q.Limit, q.Cursor, q.SortBy, q.SortOrder = nil, 0, "", "", ""
	out := map[string]any{}
	for name, values := range q.values() {
		switch name {
		case "state", "source", "task_status", "factory_uid":
			out[name] = values
		case "factory_only":
			out[name] = true
		default:
			out[name] = values[0]
		}
	}
	if len(metadata) > 0 {
		out["metadata"] = metadata
	}
	return out
}
