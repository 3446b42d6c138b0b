package lineshaft

import (
	"slices"
	"strings"
	"time"
)

// ExecutionRef names an execution together with its fencing token: a report is
// taken only from the execution that holds the run now.
type ExecutionRef struct {
	ExecutionID string `json:"execution_id"`
	Token       string `json:"token"`
}

// Job is what a worker gets when it claims a run. It crosses the seam between
// control plane and worker, in process or over HTTP.
type Job struct {
	ExecutionRef
	RunID string
	// Number counts the executions of the run, from 1.
	Number int
	Title  string
	// Config is resolved.
	Config AgentConfig
	// Secrets are the values of Config.Secrets, by name, for the agent's environment.
	Secrets SecretValues
	// ToolSecrets are the values that Config.MCPServers names, by name. They are for
	// these servers, and not for the agent's environment.
	ToolSecrets SecretValues
	// ModelKey is what the model is called with when the configuration names a secret for
	// that (HarnessAuth). It is for the gateway, and never for the agent.
	ModelKey SecretText
	// Fault is set when the run cannot be executed, such as when a secret is gone: the
	// worker ends it FAILED with this message instead of starting the agent, and with
	// FaultCode, or environment_setup_failed when that is empty.
	Fault     string
	FaultCode Code
	// Prepare is what to make ready in the workspace before the agent starts.
	Prepare Preparation
	// Skills are those that the run was asked to use; they come between the base prompt
	// and the prompt.
	Skills []Skill
	// Turn is the first thing to do.
	Turn Turn
	// RunToken lets the agent call the API as its own run; it dies with the execution.
	RunToken string
	// LastEvent is the number of the last event that was reported for this execution
	// before this worker got it; zero when it was the first to have it.
	LastEvent int64
	// Lease is how long the claim holds without a heartbeat.
	Lease time.Duration
	// Granted is when the lease began, on this process's clock. Zero when another
	// process gave the job: the worker then counts from its arrival.
	Granted time.Time
	Source  Source
	// Used is what the run's earlier executions consumed; it counts against the budget.
	Used Usage
	// Snapshot is the blob of the workspace that an earlier execution left; empty if none.
	Snapshot string
	// Resumed says that an earlier execution of this run has ended: the workspace
	// should be found or restored rather than made again.
	Resumed bool
	// Continues is the run whose workspace and conversation this one takes over; nil when
	// it has its own.
	Continues *Continued
	// TraceParent is the W3C traceparent that the execution continues; empty is none.
	TraceParent string
}

// Continued is the end of a run that another run continues.
type Continued struct {
	RunID string `json:"run_id"`
	// Executions is how many it had: only the workspace that the last one left is right.
	Executions int `json:"executions"`
	// OtherAgent says that another kind of agent worked there, whose sessions are not for
	// this one.
	OtherAgent bool `json:"other_agent,omitempty"`
}

// TranscriptBlob is what a worker downloads to get, as text, what was said and done in
// the conversation before its execution.
const TranscriptBlob = "transcript"

// Withhold takes all secrets out of a job that cannot be executed.
func (j *Job) Withhold() {
	j.Secrets, j.ToolSecrets, j.ModelKey, j.Prepare = nil, nil, "", Preparation{}
}

// Turn is one thing for the agent to do: the run's prompt or a follow-up.
type Turn struct {
	// FollowupID is empty for the run's own prompt.
	FollowupID  string       `json:"followup_id,omitempty"`
	Message     string       `json:"message"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// PromptTurn is the name of the turn that is the run's own prompt.
const PromptTurn = "prompt"

// Name tells the turns of an execution apart.
func (t Turn) Name() string {
	if t.FollowupID == "" {
		return PromptTurn
	}
	return t.FollowupID
}

// TurnResult is how a turn ended.
type TurnResult struct {
	// Turn is the Name of the turn that ended. With it a result whose answer was
	// lost can be sent again: the same next turn comes back. Without it a second
	// sending ends that next turn.
	Turn string `json:"turn,omitempty"`
	// State is Succeeded, Failed, Errored or Cancelled: what the run becomes when
	// nothing is left to do. Queued hands the run back unfinished. Blocked does not end
	// the turn: the agent has asked something, and the follow-up that answers is
	// returned once it arrives.
	State RunState `json:"state"`
	// Ask names a question among those of the execution. With Blocked it waits for an
	// answer, and says whose answer comes again if it was lost; otherwise its answer
	// was not used, and waits for its turn again.
	Ask     string `json:"ask,omitempty"`
	Message string `json:"message,omitempty"`
	Code    Code   `json:"code,omitempty"`
	// Dead says that the session cannot take another turn here: unread follow-ups
	// then wait for a new execution.
	Dead bool `json:"dead,omitempty"`
	// Used is what models consumed and no report could count, because the run was taken
	// from the execution. It comes with Cancelled only.
	Used []LateUsage `json:"used,omitempty"`
}

// LateUsage is what a model consumed, reported after the run was taken away.
type LateUsage struct {
	UsageData
	// Number is that of the event meant to report it; zero if there is none. An event
	// that was stored, and whose acknowledgement got lost, is not counted again.
	Number int64 `json:"number,omitempty"`
}

// Report is a numbered batch of an execution's events, optionally with its first move
// into a working state. Numbers start at 1 for each execution. A number that was used
// before is skipped, so a batch can be sent again.
type Report struct {
	ExecutionRef
	// First is the number of Events[0].
	First  int64
	Events []Draft
	// Started moves the run to INPROGRESS: the agent process runs.
	Started bool
	// Blocked and Unblocked say that the agent waits for an answer, and that it continues.
	Blocked   bool
	Unblocked bool
}

// DirectiveKind is what a worker is asked to do about an execution it holds.
type DirectiveKind string

// The directives.
const (
	// DirectiveStop ends the execution: it was cancelled or its lease is lost.
	DirectiveStop DirectiveKind = "stop"
	// DirectiveInterrupt ends the current turn only.
	DirectiveInterrupt DirectiveKind = "interrupt"
	// DirectiveFollowup says that a follow-up waits.
	DirectiveFollowup DirectiveKind = "followup"
)

// Directive is an instruction from the control plane to a worker.
type Directive struct {
	ExecutionID string        `json:"execution_id"`
	Kind        DirectiveKind `json:"kind"`
	Reason      string        `json:"reason,omitempty"`
	// FollowupID is the oldest message that waits (DirectiveFollowup). The same one
	// may be named several times.
	FollowupID string `json:"followup_id,omitempty"`
}

// ClaimRequest asks for work.
type ClaimRequest struct {
	// WorkerHost is the id that runs are addressed to; HostedWorker for the server's own.
	WorkerHost string
	// WorkerID names this process among several with the same WorkerHost.
	WorkerID string
	// Limit is the number of free slots.
	Limit int
	// Capacity is the number of all its slots.
	Capacity int
	// Version is the worker's software version.
	Version string
	// Labels are what the worker says about its machine, each KEY=VALUE.
	Labels []string
	// FactoryUIDs are those that the worker's key is bound to: it gets their runs and no
	// others. Empty is a worker for all runs.
	FactoryUIDs []string
}

// BlobKind says what an uploaded blob is for.
type BlobKind string

// The kinds of blobs a worker uploads.
const (
	BlobArtifact BlobKind = "artifact"
	BlobSnapshot BlobKind = "snapshot"
)

// Upload describes a blob that a worker sends.
type Upload struct {
	Kind     BlobKind `json:"kind"`
	FileName string   `json:"file_name,omitempty"`
	FilePath string   `json:"file_path,omitempty"`
	MimeType string   `json:"mime_type,omitempty"`
}

// FollowupOutcome is how a follow-up reaches the agent.
type FollowupOutcome string

// The published outcomes.
const (
	OutcomeQueuedPrompt FollowupOutcome = "queued_prompt"
	OutcomeLiveSession  FollowupOutcome = "live_session"
	OutcomeHandoff      FollowupOutcome = "handoff_execution"
	OutcomePending      FollowupOutcome = "queue_pending"
)

// NewFollowup is a message for an existing run.
type NewFollowup struct {
	RunID       string
	Message     string
	Attachments []NewAttachment
}

// Validate checks what can be checked without the store.
func (n NewFollowup) Validate() error {
	if strings.TrimSpace(n.Message) == "" && len(n.Attachments) == 0 {
		return Invalid("message", "a follow-up needs a message or an attachment")
	}
	if len(n.Message) > MaxPromptBytes {
		return Invalid("message", "the message has %d bytes; at most %d are allowed", len(n.Message), MaxPromptBytes)
	}
	if err := checkText("message", n.Message); err != nil {
		return err
	}
	return ValidateAttachments(n.Attachments)
}

// maxWorkerID bounds the id of a self-hosted worker.
const maxWorkerID = 128

// CheckWorkerID says whether a self-hosted worker may have that id. The names of the
// server's own worker are never free.
func CheckWorkerID(field, id string) error {
	switch {
	case id == "" || len(id) > maxWorkerID || !alphanumeric(id[0]):
		return Invalid(field, "the id of a worker begins with a letter or digit and has at most %d characters", maxWorkerID)
	case id == HostedWorker || id == "warp":
		return Invalid(field, "%q is the server's own worker; give a self-hosted one another id", id)
	}
	for _, c := range []byte(id) {
		if !alphanumeric(c) && !strings.ContainsRune("._-", rune(c)) {
			return Invalid(field, "the id of a worker has letters, digits, '.', '_' and '-' only")
		}
	}
	return nil
}

// Bounds of the labels of a worker.
const (
	maxLabels     = 32
	maxLabelBytes = 63
)

// CheckLabels says whether a worker may have these labels, each KEY=VALUE.
func CheckLabels(field string, labels []string) error {
	if len(labels) > maxLabels {
		return Invalid(field, "a worker has at most %d labels", maxLabels)
	}
	seen := map[string]bool{}
	for _, label := range labels {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" || len(key) > maxLabelBytes || len(value) > maxLabelBytes || !labelText(key) || !labelText(value) {
			return Invalid(field, "a label is KEY=VALUE, of letters, digits, '.', '_', '-' and '/', at most %d on each side", maxLabelBytes)
		}
		if seen[key] {
			return Invalid(field, "the label %q appears twice", key)
		}
		seen[key] = true
	}
	return nil
}

func labelText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r > '~' || !alphanumeric(byte(r)) && !strings.ContainsRune("._-/", r)
	})
}

// MayWorkFor says whether the caller's key may take runs that are addressed to a
// worker id: an admin for any, a worker key for those it names. A key that is limited to
// factories gets the runs of these only.
func (c Caller) MayWorkFor(workerHost string) bool {
	return c.Role == RoleAdmin || c.Role == RoleWorker && slices.Contains(c.WorkerIDs, workerHost)
}
