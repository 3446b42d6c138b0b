package lineshaft

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a run request.
const (
	MaxPromptBytes     = 1 << 20
	MaxTitleRunes      = 200
	MaxMetadataKeys    = 20
	MaxMetadataValue   = 256
	MaxAttachments     = 5
	MaxAttachmentBytes = 10 << 20
	// MaxSubmittedBytes bounds a prompt with the follow-ups that came before the start.
	MaxSubmittedBytes = 2 << 20
	// MaxListedPrompt is how many bytes of a prompt a list of runs has.
	MaxListedPrompt = 4 << 10
)

// Defaults of how many runs may be below one.
const (
	MaxRunDepth     = 8
	MaxLiveChildren = 20
	MaxDescendants  = 100
)

// Source says where a run came from.
type Source string

// The sources that this server gives to runs. SourceKnown has the wider published list.
const (
	SourceAPI           Source = "API"
	SourceCLI           Source = "CLI"
	SourceWebApp        Source = "WEB_APP"
	SourceSchedule      Source = "SCHEDULED_AGENT"
	SourceWebhook       Source = "CUSTOM_WEBHOOK"
	SourceOrchestration Source = "ORCHESTRATION"
	SourceMCP           Source = "MCP"
	SourceLocal         Source = "LOCAL"
	SourceGitHub        Source = "GITHUB_WEBHOOK"
	SourceGitLab        Source = "GITLAB_WEBHOOK"
	SourceLinear        Source = "LINEAR"
	SourceSlack         Source = "SLACK"
	SourceJira          Source = "JIRA"
)

// Delivered says that a delivery to a webhook started the run.
func (s Source) Delivered() bool {
	return slices.Contains([]Source{SourceWebhook, SourceGitHub, SourceGitLab, SourceLinear, SourceSlack, SourceJira}, s)
}

// Sources lists every published source: filters accept them all.
func Sources() []Source {
	return []Source{
		SourceAPI, SourceCLI, SourceWebApp, SourceSchedule, SourceWebhook, SourceOrchestration, SourceMCP, SourceLocal, SourceGitHub, SourceGitLab,
		SourceLinear, SourceSlack, "GITHUB_ACTION", "CLOUD_MODE", SourceJira, "SELF_IMPROVEMENT",
		"AUTOFIX", "RUN_SCORER", "TEAMS", "AZURE_DEVOPS_WEBHOOK", "BENCHMARK_TRIAL", "CREATE_BENCHMARK_TASK",
	}
}

// StatusMessage describes the status of a run for a person.
type StatusMessage struct {
	Message   string
	ErrorCode Code
	// Retryable is set for ended runs only: submitting the work again may succeed.
	Retryable *bool
}

// Run is one piece of agent work, through all of its executions.
type Run struct {
	ID     string
	Title  string
	Prompt string
	// Submitted is the prompt with the follow-ups that came before the start.
	Submitted      string
	State          RunState
	Status         StatusMessage
	Source         Source
	Creator        Principal
	Executor       Principal
	Config         AgentConfig
	ConversationID string
	SessionID      string
	ParentRunID    string
	RootRunID      string
	Depth          int
	FactoryUID     string
	ScheduleID     string
	// AgentUID is the agent that the run was given to; empty is none.
	AgentUID string
	// Continues is the run whose conversation and workspace this one continues.
	Continues string
	// RerunOf is the first run with the same request; empty when this is the first.
	RerunOf string
	// Attempt counts the runs with the same request, from 1.
	Attempt int
	// Reruns are those of the first run; they are read with a single run only.
	Reruns []Rerun
	// FiredBy is set when a schedule started the run.
	FiredBy *FiredBy
	// Skills are those of Config.Skills as they were found.
	Skills    []Skill
	Metadata  map[string]string
	Artifacts []Artifact
	CreatedAt time.Time
	UpdatedAt time.Time
	// StartedAt is when an agent first began work; zero until then.
	StartedAt time.Time
	// FinishedAt is the last time a terminal state was reached; zero while active.
	FinishedAt time.Time
	// RunTime sums the executions that have ended.
	RunTime time.Duration
	Usage   Usage
	// UsageByModel is filled when a single run is read.
	UsageByModel []ModelUsage
	// ExecutionID is the newest execution; empty before the first claim.
	ExecutionID string
	// Executions counts them.
	Executions int
	// SandboxRunning says that a worker still holds a live agent process for this run.
	SandboxRunning bool
	// Interrupted says that someone interrupted its current turn.
	Interrupted  bool
	LastSequence int64
	// TraceParent is the W3C traceparent of the run's start; empty when nobody traces.
	TraceParent string
	// Truncated says that this run is one of a list, with the beginning of longer texts.
	Truncated bool
}

// Rerun is a later run with the same request.
type Rerun struct {
	RunID   string
	Attempt int
	State   RunState
}

// Usage sums what the models of a run consumed.
type Usage struct {
	InputTokens  int64
	OutputTokens int64
	// CostMicros is the cost in millionths of a US dollar.
	CostMicros int64
}

// Total is the number of tokens both ways.
func (u Usage) Total() int64 { return u.InputTokens + u.OutputTokens }

// Add is the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CostMicros + v.CostMicros}
}

// ModelUsage is what one model of a run consumed.
type ModelUsage struct {
	ModelID string
	Usage
	// CachedInputTokens are those of InputTokens that came from a cache.
	CachedInputTokens int64
	// UnpricedTokens are those whose price was not known: CostMicros leaves them out.
	UnpricedTokens int64
}

// NewRun is a request to start a run.
type NewRun struct {
	Prompt string
	Title  string
	Config AgentConfig
	Source Source
	// AgentUID is the agent to give the run to; empty is none.
	AgentUID string
	// FiredBy is the schedule that asks for the run, if one does.
	FiredBy *FiredBy
	// Skills are those of Config.Skills that were found already.
	Skills         []Skill
	ConversationID string
	// Continues is the run of the conversation to continue; empty is its last.
	Continues string
	// Again is set when an earlier run is run again.
	Again       *Again
	ParentRunID string
	Metadata    map[string]string
	Attachments []NewAttachment
	Interactive bool
	// TraceParent is what the start of the run is a part of; empty is nothing.
	TraceParent string
}

// Again is what a rerun keeps of the run that it repeats, besides its request.
type Again struct {
	// RerunOf is the first run with this request.
	RerunOf    string
	FactoryUID string
	// AutomationUID is the automation whose layer shapes the run; empty is none. Outside
	// says that it works on what strangers wrote.
	AutomationUID string
	Outside       bool
	// Pinned says that the configuration is the one that the run had, to which no
	// definition adds anything.
	Pinned bool
}

// Validate checks what can be checked without the store and names every bad field's path.
func (n NewRun) Validate() error {
	if strings.TrimSpace(n.Prompt) == "" && len(n.Config.Skills) == 0 {
		return Invalid("prompt", "a run needs a prompt or a skill, even if it continues a conversation; say what to do")
	}
	if len(n.Prompt) > MaxPromptBytes {
		return Invalid("prompt", "the prompt has %d bytes; at most %d are allowed", len(n.Prompt), MaxPromptBytes)
	}
	if utf8.RuneCountInString(n.Title) > MaxTitleRunes {
		return Invalid("title", "the title is longer than %d characters", MaxTitleRunes)
	}
	if n.Title != "" && strings.TrimSpace(n.Title) == "" {
		return Invalid("title", "has only white space; write one, or leave it out to have one made from the prompt")
	}
	for field, text := range map[string]string{"prompt": n.Prompt, "title": n.Title, "conversation_id": n.ConversationID} {
		if err := checkText(field, text); err != nil {
			return err
		}
	}
	if err := validateMetadata(n.Metadata); err != nil {
		return err
	}
	if err := ValidateAttachments(n.Attachments); err != nil {
		return err
	}
	return n.Config.Validate()
}

func validateMetadata(metadata map[string]string) error {
	if len(metadata) > MaxMetadataKeys {
		return Invalid("metadata", "%d keys; at most %d are allowed", len(metadata), MaxMetadataKeys)
	}
	for key, value := range metadata {
		if !validMetadataKey(key) {
			return Invalid("metadata", "key %q must be 1 to 64 of the characters A-Z a-z 0-9 . _ -", Clip(key, 80))
		}
		if len(value) > MaxMetadataValue {
			return Invalid("metadata."+key, "the value has %d bytes; at most %d are allowed", len(value), MaxMetadataValue)
		}
		if err := checkText("metadata."+key, value); err != nil {
			return err
		}
	}
	return nil
}

func validMetadataKey(key string) bool {
	if key == "" || len(key) > 64 {
		return false
	}
	for _, c := range []byte(key) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// TitleFrom makes a title of the prompt's first line that says something.
func TitleFrom(prompt string) string {
	for line := range strings.Lines(prompt) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#`~"))
		if line != "" && line != "sh" && line != "bash" {
			return Clip(line, 100)
		}
	}
	return "Untitled run"
}
