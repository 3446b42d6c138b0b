package client

import (
	"encoding/json"
	"slices"
	"time"
)

// RunState is where a run stands. A newer server may send values that are not
// listed here.
type RunState string

// The states of a run.
const (
	StateQueued     RunState = "QUEUED"
	StatePending    RunState = "PENDING"
	StateClaimed    RunState = "CLAIMED"
	StateInProgress RunState = "INPROGRESS"
	StateBlocked    RunState = "BLOCKED"
	StateSucceeded  RunState = "SUCCEEDED"
	StateFailed     RunState = "FAILED"
	StateError      RunState = "ERROR"
	StateCancelled  RunState = "CANCELLED"
)

// RunStates lists the states in the order of a run's life.
func RunStates() []RunState {
	return []RunState{
		StateQueued, StatePending, StateClaimed, StateInProgress, StateBlocked,
		StateSucceeded, StateFailed, StateError, StateCancelled,
	}
}

// Terminal says that the run has ended; only a follow-up reopens it.
func (s RunState) Terminal() bool {
	return slices.Contains([]RunState{StateSucceeded, StateFailed, StateError, StateCancelled}, s)
}

// Run is one piece of agent work.
type Run struct {
	RunID  string `json:"run_id"`
	Title  string `json:"title"`
	Prompt string `json:"prompt"`
	// PromptTruncated says that a list shows the first 4096 bytes of longer prompts, or not
	// all of the configuration; Get has all of it.
	PromptTruncated bool `json:"prompt_truncated,omitempty"`
	// SubmittedPrompt is the prompt with the follow-ups that came before the start.
	SubmittedPrompt string         `json:"submitted_prompt,omitempty"`
	State           RunState       `json:"state"`
	StatusMessage   *StatusMessage `json:"status_message,omitempty"`
	CreatedAt       time.Time      `json:"created_at"`
	UpdatedAt       time.Time      `json:"updated_at"`
	// StartedAt is nil until the agent began, FinishedAt until the run ended.
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	// RunTime is an ISO 8601 duration.
	RunTime     string       `json:"run_time,omitempty"`
	Source      string       `json:"source,omitempty"`
	Creator     *Principal   `json:"creator,omitempty"`
	Executor    *Principal   `json:"executor,omitempty"`
	AgentConfig *AgentConfig `json:"agent_config,omitempty"`
	// AgentConfigOrigins tells where each field of AgentConfig came from; see Explain.
	AgentConfigOrigins map[string]string `json:"agent_config_origins,omitempty"`
	AgentSkill         *AgentSkill       `json:"agent_skill,omitempty"`
	SessionID          string            `json:"session_id,omitempty"`
	SessionLink        string            `json:"session_link,omitempty"`
	ConversationID     string            `json:"conversation_id,omitempty"`
	ParentRunID        string            `json:"parent_run_id,omitempty"`
	RootRunID          string            `json:"root_run_id,omitempty"`
	// ContinuesRunID is the run whose workspace and messages this one goes on with.
	ContinuesRunID string `json:"continues_run_id,omitempty"`
	// RerunOf is the first run with the same request, and Attempt which of them this is.
	RerunOf string `json:"rerun_of,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Reruns are the later runs with this request, when a single run is read.
	Reruns               []RunRerun        `json:"reruns,omitempty"`
	FactoryUID           string            `json:"factory_uid,omitempty"`
	Metadata             map[string]string `json:"metadata,omitempty"`
	Schedule             *RunSchedule      `json:"schedule,omitempty"`
	Artifacts            []Artifact        `json:"artifacts,omitempty"`
	RequestUsage         *Usage            `json:"request_usage,omitempty"`
	ExecutionLocation    string            `json:"execution_location,omitempty"`
	IsSandboxRunning     bool              `json:"is_sandbox_running"`
	IsRunTypeCancellable bool              `json:"is_run_type_cancellable"`
	Scope                *Scope            `json:"scope,omitempty"`

	raw json.RawMessage
}

// UnmarshalJSON decodes a run and keeps the text for RawJSON.
func (r *Run) UnmarshalJSON(data []byte) error {
	type plain Run
	if err := json.Unmarshal(data, (*plain)(r)); err != nil {
		return err
	}
	r.raw = slices.Clone(data)
	return nil
}

// RawJSON is the run as the server sent it, with fields that this package does
// not know; nil for a run that was not received.
func (r *Run) RawJSON() json.RawMessage { return r.raw }

// StatusMessage tells a person how a run stands.
type StatusMessage struct {
	Message   string `json:"message"`
	ErrorCode string `json:"error_code,omitempty"`
	// Retryable is set for ended runs only: starting the work again may succeed.
	Retryable *bool `json:"retryable,omitempty"`
}

// Principal is a person or a program that acts.
type Principal struct {
	// Type is user or service_account.
	Type        string `json:"type,omitempty"`
	UID         string `json:"uid,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	Email       string `json:"email,omitempty"`
}

// AgentSkill is the skill that a run was started from.
type AgentSkill struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	FullPath    string `json:"full_path,omitempty"`
	// Commit is the one of the repository that the skill was read from.
	Commit string `json:"commit,omitempty"`
}

// RunRerun is a later run with the same request.
type RunRerun struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
	State   string `json:"state"`
}

// RunSchedule is the schedule that started a run, as it was then.
type RunSchedule struct {
	ScheduleID   string `json:"schedule_id"`
	ScheduleName string `json:"schedule_name"`
	CronSchedule string `json:"cron_schedule"`
	// Slot is the time that the run is for, by the wall clock of the time zone.
	Slot string `json:"slot,omitempty"`
}

// Artifact is something that a run produced. Data depends on the type.
type Artifact struct {
	// ArtifactType is FILE, PULL_REQUEST, PLAN, SCREENSHOT or EXTERNAL_REFERENCE.
	ArtifactType string       `json:"artifact_type"`
	CreatedAt    time.Time    `json:"created_at"`
	Data         ArtifactData `json:"data"`
}

// ArtifactData holds the fields of every type of artifact.
type ArtifactData struct {
	ArtifactUID string `json:"artifact_uid,omitempty"`
	FileName    string `json:"filename,omitempty"`
	FilePath    string `json:"filepath,omitempty"`
	MimeType    string `json:"mime_type,omitempty"`
	SizeBytes   int64  `json:"size_bytes,omitempty"`
	URL         string `json:"url,omitempty"`
	Branch      string `json:"branch,omitempty"`
	// Status of a pull request is open, draft, merged, closed or unknown.
	Status        string `json:"status,omitempty"`
	ReferenceType string `json:"reference_type,omitempty"`
	DocumentUID   string `json:"document_uid,omitempty"`
	Title         string `json:"title,omitempty"`
	Description   string `json:"description,omitempty"`
}

// Usage is what a run consumed.
type Usage struct {
	TotalTokens      int64   `json:"total_tokens,omitempty"`
	InferenceCostUSD float64 `json:"inference_cost_usd,omitempty"`
	// ModelTokenUsage is model by model, when a single run is read.
	ModelTokenUsage []ModelUsage `json:"model_token_usage,omitempty"`
}

// ModelUsage is what one model of a run consumed.
type ModelUsage struct {
	ModelID     string `json:"model_id"`
	TotalTokens int64  `json:"total_tokens"`
	UsageType   string `json:"usage_type,omitempty"`
	// TokensByCategory has input, input_cache_read and output.
	TokensByCategory map[string]int64 `json:"tokens_by_category,omitempty"`
	InferenceCostUSD float64          `json:"inference_cost_usd"`
	// CostUnknownTokens are not in the cost: their price was not known.
	CostUnknownTokens int64 `json:"cost_unknown_tokens,omitempty"`
}

// Scope says who owns a run.
type Scope struct {
	// Type is User or Team.
	Type string `json:"type"`
	UID  string `json:"uid,omitempty"`
}

// PageInfo tells whether a list goes on.
type PageInfo struct {
	HasNextPage bool   `json:"has_next_page"`
	NextCursor  string `json:"next_cursor,omitempty"`
}
