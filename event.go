package lineshaft

import (
	"encoding/json"
	"time"
)

// EventType names what an event reports. Later versions may have more types.
type EventType string

// The event types of a run's log. Agent output of every harness is brought into
// these, so that one reader understands all agents.
const (
	// EventState is a move of the run: StateData.
	EventState EventType = "state"
	// EventMessage is something said: MessageData.
	EventMessage EventType = "message"
	// EventThought is reasoning that the agent shows: MessageData without a role.
	EventThought EventType = "thought"
	// EventToolCall starts a tool: ToolCallData.
	EventToolCall EventType = "tool_call"
	// EventToolResult ends a tool: ToolResultData.
	EventToolResult EventType = "tool_result"
	// EventOutput is text a process wrote: OutputData.
	EventOutput EventType = "output"
	// EventPlan is the agent's list of steps: PlanData.
	EventPlan EventType = "plan"
	// EventUsage is what a model call consumed: UsageData.
	EventUsage EventType = "usage"
	// EventPermission is a question the agent waits on, or was answered by the policy: PermissionData.
	EventPermission EventType = "permission_request"
	// EventArtifact announces a stored artifact.
	EventArtifact EventType = "artifact"
	// EventNotice is a remark of the platform, such as where the workspace came from: NoticeData.
	EventNotice EventType = "notice"
)

// Event is one entry of a run's log. Sequences start at 1 and have no holes.
type Event struct {
	ID          string
	RunID       string
	Sequence    int64
	ExecutionID string
	Type        EventType
	Time        time.Time
	Data        json.RawMessage
}

// StateData is the data of EventState.
type StateData struct {
	From      RunState `json:"from,omitempty"`
	To        RunState `json:"to"`
	Message   string   `json:"message,omitempty"`
	ErrorCode Code     `json:"error_code,omitempty"`
	Worker    string   `json:"worker,omitempty"`
}

// MessageData is the data of EventMessage and EventThought.
type MessageData struct {
	// Role is user, assistant or system.
	Role       string `json:"role,omitempty"`
	Text       string `json:"text"`
	FollowupID string `json:"followup_id,omitempty"`
}

// Tool states, as the published conversation shows them.
const (
	ToolRunning   = "running"
	ToolCompleted = "completed"
	ToolFailed    = "failed"
	ToolDenied    = "denied"
)

// ToolState reads the state of a result as any agent may write it.
func ToolState(name string) string {
	switch name {
	case ToolRunning, ToolFailed, ToolDenied:
		return name
	case "error", "errored", "cancelled", "canceled", "timeout":
		return ToolFailed
	case "rejected":
		return ToolDenied
	}
	return ToolCompleted
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
	// CachedInputTokens are those of InputTokens that came from a cache.
	CachedInputTokens int64 `json:"cached_input_tokens,omitempty"`
	// CostMicros is in millionths of a US dollar.
	CostMicros int64 `json:"cost_micros,omitempty"`
	// CostUnknown says that the model has no price, so that CostMicros says nothing.
	CostUnknown bool `json:"cost_unknown,omitempty"`
	// Estimated says that the endpoint did not tell, or that the answer was cut off.
	Estimated bool `json:"estimated,omitempty"`
}

// PlanData is the data of EventPlan: the whole list, each time it changes.
type PlanData struct {
	Steps []PlanStep `json:"steps"`
}

// PlanStep is one step of a plan.
type PlanStep struct {
	Text string `json:"text"`
	// State is pending, in_progress or completed.
	State string `json:"state"`
	// Priority is high, medium, low or empty.
	Priority string `json:"priority,omitempty"`
}

// PermissionData is the data of EventPermission.
type PermissionData struct {
	// ToolCallID is the tool call that waits; empty for a question about something else.
	ToolCallID string `json:"tool_call_id,omitempty"`
	Title      string `json:"title"`
	// Options are the answers that can be given; any text of a follow-up that names
	// none of them is passed on as it is, where the agent can take it.
	Options []PermissionOption `json:"options,omitempty"`
	// Decision is how the policy answered; empty while people are asked.
	Decision string `json:"decision,omitempty"`
}

// PermissionOption is one possible answer.
type PermissionOption struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Kind is allow_once, allow_always, reject_once or reject_always.
	Kind string `json:"kind"`
}

// NoticeData is the data of EventNotice.
type NoticeData struct {
	// Level is info, warning or error.
	Level string `json:"level"`
	Text  string `json:"text"`
	// Environment is set when the notice is about how the run's environment was made ready.
	Environment *EnvironmentStep `json:"environment,omitempty"`
}

// EnvironmentStep is how the environment of a run was made ready, or what was kept of it.
type EnvironmentStep struct {
	// Step is warm, newer or cold, once for each time that an environment is made ready; kept or unkept when
	// later runs can start on it or cannot; and files, checkout, clone, command or refresh for a part of the work.
	Step string `json:"step"`
	// Name is the repository or the command of a part.
	Name string `json:"name,omitempty"`
	// Reason says why a start was cold, or why nothing is kept.
	Reason string `json:"reason,omitempty"`
	// Worker is the host that has the prepared environment, Layer names it there.
	Worker string `json:"worker"`
	Layer  string `json:"layer,omitempty"`
	// Files and Bytes are its size, on the disk.
	Files int   `json:"files,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// SavedSeconds is how much longer a cold start took.
	SavedSeconds float64 `json:"saved_seconds,omitempty"`
	// TookSeconds is how long the step took, up to the time of the notice.
	TookSeconds float64 `json:"took_seconds,omitempty"`
}

// ArtifactData is the data of EventArtifact.
type ArtifactData struct {
	UID      string `json:"artifact_uid"`
	Type     string `json:"artifact_type"`
	FileName string `json:"filename,omitempty"`
	URL      string `json:"url,omitempty"`
}

// Draft is an event before the run's log has numbered it.
type Draft struct {
	Type EventType
	Time time.Time
	Data json.RawMessage
}

// NewDraft encodes data. The data types of this package always encode, so an
// encoding error becomes a notice instead of a lost event.
func NewDraft(kind EventType, at time.Time, data any) Draft {
	raw, err := json.Marshal(data)
	if err != nil {
		raw, _ = json.Marshal(NoticeData{Level: "error", Text: "event of type " + string(kind) + " could not be encoded"})
		kind = EventNotice
	}
	return Draft{Type: kind, Time: at, Data: raw}
}
