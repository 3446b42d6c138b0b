package client

// RunRequest starts a run. Prompt is needed unless Skill or a skill in Config is set;
// ConversationID continues a conversation.
type RunRequest struct {
	Prompt string       `json:"prompt,omitempty"`
	Title  string       `json:"title,omitempty"`
	Skill  string       `json:"skill,omitempty"`
	Config *AgentConfig `json:"config,omitempty"`
	// AgentIdentityUID runs it as a named agent, with its configuration and factory.
	AgentIdentityUID string            `json:"agent_identity_uid,omitempty"`
	ConversationID   string            `json:"conversation_id,omitempty"`
	ParentRunID      string            `json:"parent_run_id,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	Attachments      []Attachment      `json:"attachments,omitempty"`
	Interactive      bool              `json:"interactive,omitempty"`
}

// Attachment is a file that lands in the agent's workspace. At most 5 files and
// 10 MB go with a request.
type Attachment struct {
	FileName string `json:"file_name"`
	MimeType string `json:"mime_type"`
	Data     []byte `json:"data"`
}

// RunStarted answers Create and Rerun.
type RunStarted struct {
	RunID string   `json:"run_id"`
	State RunState `json:"state"`
	// AtCapacity says that no worker was free; the run waits for one.
	AtCapacity bool `json:"at_capacity"`
}

// FollowupRequest is a further message to a run. One of the fields is needed.
type FollowupRequest struct {
	Message     string       `json:"message,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// FollowupResult tells how a follow-up reaches the agent.
type FollowupResult struct {
	// FollowupID is empty when the message became part of the first prompt.
	FollowupID string `json:"followup_id"`
	// Outcome is queued_prompt, live_session, handoff_execution or queue_pending.
	Outcome string `json:"outcome"`
}
