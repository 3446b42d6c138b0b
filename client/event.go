package client

import (
	"encoding/json"
	"fmt"
	"slices"
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
