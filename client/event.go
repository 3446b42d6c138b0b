package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// EventType names what an event tells. A newer server may send further types.
type EventType string

// The event types of a run's log, with the type of their data.
const (
	EventState      EventType = "state"              // StateData
	EventMessage    EventType = "message"            // MessageData
	EventThought    EventType = "thought"            // MessageData
	EventToolCall   EventType = "tool_call"          // ToolCallData
	EventToolResult EventType = "tool_result"        // ToolResultData
	EventOutput     EventType = "output"             // OutputData
	EventPlan       EventType = "plan"               // the agent's list of steps
	EventUsage      EventType = "usage"              // UsageData
	EventPermission EventType = "permission_request" // a question that the agent waits on
	EventArtifact   EventType = "artifact"           // ArtifactEventData
	EventNotice     EventType = "notice"             // NoticeData
)

// Event is one entry of a run's log. Sequences start at 1 and have no holes.
type Event struct {
	ID          string          `json:"id"`
	Sequence    int64           `json:"sequence"`
	ExecutionID string          `json:"execution_id,omitempty"`
	Type        EventType       `json:"type"`
	Time        time.Time       `json:"time"`
	Data        json.RawMessage `json:"data"`

	raw json.RawMessage
}

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

// StateData is the data of EventState.
type StateData struct {
	From      RunState `json:"from,omitempty"`
	To        RunState `json:"to"`
	Message   string   `json:"message,omitempty"`
	ErrorCode string   `json:"error_code,omitempty"`
	Worker    string   `json:"worker,omitempty"`
}

// MessageData is the data of EventMessage and EventThought.
type MessageData struct {
	// Role is user, assistant or system.
	Role       string `json:"role,omitempty"`
	Text       string `json:"text"`
	FollowupID string `json:"followup_id,omitempty"`
}

// ToolCallData is the data of EventToolCall.
type ToolCallData struct {
	ID string `json:"id"`
	// Category is command, files, search, integration, documents, computer, review or skill.
	Category string         `json:"category"`
	Name     string         `json:"name"`
	Input    map[string]any `json:"input"`
}

// ToolResultData is the data of EventToolResult.
type ToolResultData struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Name     string `json:"name"`
	// State is completed, failed or denied.
	State  string         `json:"state"`
	Output map[string]any `json:"output"`
}

// OutputData is the data of EventOutput.
type OutputData struct {
	// Stream is stdout or stderr.
	Stream string `json:"stream"`
	Text   string `json:"text"`
	// ToolCallID says which tool call wrote it; empty for the agent itself.
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// UsageData is the data of EventUsage.
type UsageData struct {
	ModelID      string `json:"model_id,omitempty"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
}

// NoticeData is the data of EventNotice.
type NoticeData struct {
	// Level is info, warning or error.
	Level string `json:"level"`
	Text  string `json:"text"`
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

// EventPage is a stretch of a run's log.
type EventPage struct {
	Events   []Event  `json:"events"`
	PageInfo PageInfo `json:"page_info"`
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
