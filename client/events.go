package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// EventQuery selects a page of a run's log.
type EventQuery struct {
	// After leaves out events up to that sequence.
	After int64
	// Limit is 1 to 5,000; the default is 500.
	Limit int
}

// Events reads one page of a run's log; it does not wait for more. See Stream.
func (s *RunsService) Events(ctx context.Context, runID string, q EventQuery) (*EventPage, error) {
	path, err := runPath(runID, "/events")
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	setLimit(query, q.Limit)
	if q.After > 0 {
		query.Set("after", strconv.FormatInt(q.After, 10))
	}
	var out EventPage
	return result(&out, s.c.do(ctx, call{method: http.MethodGet, path: path, query: query, out: &out, replay: true}))
}

// AllEvents goes through the log as it is now, page by page. It ends after the
// first error.
func (s *RunsService) AllEvents(ctx context.Context, runID string, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			page, err := s.Events(ctx, runID, q)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, event := range page.Events {
				if event.Sequence <= q.After { // or it would be asked for again for ever
					yield(Event{}, &answerError{fmt.Errorf("the server answered event %d after event %d: report this as a bug of the server", event.Sequence, q.After)})
					return
				}
				if !yield(event, nil) {
					return
				}
				q.After = event.Sequence
			}
			if !page.PageInfo.HasNextPage || len(page.Events) == 0 {
				return
			}
		}
	}
}
