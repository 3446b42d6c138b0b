package client

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
	// CachedInputTokens are those of InputTokens that came from a cache.
	CachedInputTokens int64 `json:"cached_input_tokens,omitempty"`
	// CostMicros is in millionths of a US dollar; CostUnknown says that there is no price.
	CostMicros  int64 `json:"cost_micros,omitempty"`
	CostUnknown bool  `json:"cost_unknown,omitempty"`
	// Estimated says that the endpoint did not tell, or that the answer was cut off.
	Estimated bool `json:"estimated,omitempty"`
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

// PlanData is the data of EventPlan: the whole list, each time it changes.
type PlanData struct {
	Steps []PlanStep `json:"steps"`
}

// PermissionData is the data of EventPermission.
type PermissionData struct {
	// ToolCallID is the tool call that waits; empty for another question.
	ToolCallID string `json:"tool_call_id,omitempty"`
	Title      string `json:"title"`
	// Options are the answers that can be given with a follow-up, which may also be any
	// other text.
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
