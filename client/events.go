package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
)

// UnmarshalJSON decodes an event and keeps the text for RawJSON.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	e.raw = slices.Clone(data)
	return nil
}

// RawJSON is the event as the server sent it; nil for one that was not received.
func (e *Event) RawJSON() json.RawMessage { return e.raw }

// Decode reads the data of the event into v, such as an *OutputData for EventOutput.
func (e *Event) Decode(v any) error {
	if err := json.Unmarshal(e.Data, v); err != nil {
		return fmt.Errorf("decode the data of event %d (%s): %w", e.Sequence, e.Type, err)
	}
	return nil
}

// ArtifactEventData is the data of EventArtifact.
type ArtifactEventData struct {
	ArtifactUID  string `json:"artifact_uid"`
	ArtifactType string `json:"artifact_type"`
	FileName     string `json:"filename,omitempty"`
	URL          string `json:"url,omitempty"`
}

// EventQuery selects a page of a run's log.
type EventQuery struct {
	// After leaves out events up to that sequence.
	After int64
	// Limit is 1 to 5,000; the default is 500.
	Limit int
}

// Events reads one page of a run's log; it does not wait for more. See Stream.
func (s *RunsService) Events(ctx context.Context, runID string, q EventQuery) (*EventPage, error) {
	with := query()
	setLimit(with, q.Limit)
	if q.After > 0 {
		with.Set("after", strconv.FormatInt(q.After, 10))
	}
	return get[EventPage](ctx, s.c, at(runPath+"/events", runID), with)
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
