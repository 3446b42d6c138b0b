package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

const runsPath = "/agent/runs"

// RunsService starts, reads and steers runs. It is part of a Client.
type RunsService struct{ c *Client }

// Create starts a run. When it returns, the run is stored and will be executed.
func (s *RunsService) Create(ctx context.Context, req RunRequest) (*RunStarted, error) {
	var out RunStarted
	err := s.c.do(ctx, call{method: http.MethodPost, path: runsPath, body: req, out: &out, keyed: true, replay: true})
	return result(&out, err)
}

// Get reads one run in full.
func (s *RunsService) Get(ctx context.Context, runID string) (*Run, error) {
	path, err := runPath(runID, "")
	if err != nil {
		return nil, err
	}
	var out Run
	return result(&out, s.c.do(ctx, call{method: http.MethodGet, path: path, out: &out, replay: true}))
}

// Explain reads one run in full, with where each field of its configuration came from.
func (s *RunsService) Explain(ctx context.Context, runID string) (*Run, error) {
	path, err := runPath(runID, "")
	if err != nil {
		return nil, err
	}
	return get[Run](ctx, s.c, path, url.Values{"explain": {"1"}})
}

// List reads one page of runs.
func (s *RunsService) List(ctx context.Context, q RunQuery) (*RunPage, error) {
	var out RunPage
	return result(&out, s.c.do(ctx, call{method: http.MethodGet, path: runsPath, query: q.values(), out: &out, replay: true}))
}

// All goes through all runs that match, page by page. It ends after the first
// error. Limit is the size of a page, not of the whole.
func (s *RunsService) All(ctx context.Context, q RunQuery) iter.Seq2[Run, error] {
	return pages(q.Cursor, func(cursor string) ([]Run, PageInfo, error) {
		q.Cursor = cursor
		page, err := s.List(ctx, q)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return page.Runs, page.PageInfo, nil
	})
}

// Cancel stops a run. Its state is CANCELLED when Cancel returns. A run that has
// ended already is an error (IsInvalid).
func (s *RunsService) Cancel(ctx context.Context, runID string) error {
	return s.post(ctx, runID, "/cancel", call{keyed: true, replay: true})
}

// CancelCascade stops a run and all runs that it started.
func (s *RunsService) CancelCascade(ctx context.Context, runID string) error {
	return s.post(ctx, runID, "/cancel", call{query: map[string][]string{"cascade": {"1"}}, keyed: true, replay: true})
}

// Followup sends a further message: it continues a run that works, waits or has ended.
func (s *RunsService) Followup(ctx context.Context, runID string, req FollowupRequest) (*FollowupResult, error) {
	var out FollowupResult
	return result(&out, s.post(ctx, runID, "/followups", call{body: req, out: &out, keyed: true, replay: true}))
}

// Interrupt stops what the agent does now; the run goes on.
func (s *RunsService) Interrupt(ctx context.Context, runID string) error {
	return s.post(ctx, runID, "/interrupt", call{})
}

// Rerun starts a new run with the request of an old one. It is not repeated when
// its answer is lost: the server could start the run twice.
func (s *RunsService) Rerun(ctx context.Context, runID string) (*RunStarted, error) {
	var out RunStarted
	return result(&out, s.post(ctx, runID, "/rerun", call{out: &out, keyed: true}))
}

// Delete removes an ended run and its log for good.
func (s *RunsService) Delete(ctx context.Context, runID string) error {
	path, err := runPath(runID, "")
	if err != nil {
		return err
	}
	return s.c.remove(ctx, path)
}

func (s *RunsService) post(ctx context.Context, runID, verb string, req call) error {
	path, err := runPath(runID, verb)
	if err != nil {
		return err
	}
	req.method, req.path = http.MethodPost, path
	return s.c.do(ctx, req)
}

func runPath(runID, verb string) (string, error) {
	id, err := segment("run", runID)
	if err != nil {
		return "", err
	}
	return runsPath + "/" + id + verb, nil
}

// remove deletes what is at path. When a retry finds nothing, an earlier attempt
// whose answer was lost has done it.
func (c *Client) remove(ctx context.Context, path string) error {
	err := c.do(ctx, call{method: http.MethodDelete, path: path, replay: true})
	if apiErr, ok := asError(err); ok && apiErr.Status == http.StatusNotFound && apiErr.acted {
		return nil
	}
	return err
}

// result keeps half-filled values from callers that forget to look at err.
func result[T any](out *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}
