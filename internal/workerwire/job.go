package workerwire

import (
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
)

// Job is a claimed run with everything a worker needs for it, secrets included.
type Job struct {
	lineshaft.ExecutionRef
	RunID   string                `json:"run_id"`
	Number  int                   `json:"number"`
	Title   string                `json:"title"`
	Config  lineshaft.AgentConfig `json:"config"`
	Secrets map[string]string     `json:"secrets,omitempty"`
	// ToolSecrets are for the tool servers of the configuration alone.
	ToolSecrets map[string]string `json:"tool_secrets,omitempty"`
	// ModelKey is what the gateway calls the model with, if the configuration says so.
	ModelKey  string            `json:"model_key,omitempty"`
	Fault     string            `json:"fault,omitempty"`
	FaultCode string            `json:"fault_code,omitempty"`
	Prepare   Preparation       `json:"prepare,omitzero"`
	Skills    []lineshaft.Skill `json:"skills,omitempty"`
	Turn      lineshaft.Turn    `json:"turn"`
	RunToken  string            `json:"run_token"`
	LastEvent int64             `json:"last_event,omitempty"`
	// LeaseMillis is how long the lease lasts. When it began is not said: the worker
	// asks with a heartbeat before it starts anything under it.
	LeaseMillis int64            `json:"lease_ms"`
	Source      lineshaft.Source `json:"source"`
	Snapshot    string           `json:"snapshot,omitempty"`
	Resumed     bool             `json:"resumed,omitempty"`
	// Continues is where the workspace comes from. A worker that does not know it restores
	// the snapshot.
	Continues *lineshaft.Continued `json:"continues,omitempty"`
	// Used is what earlier executions consumed.
	Used Usage `json:"used,omitzero"`
	// TraceParent is the W3C traceparent of the claim. Whoever does not know it traces
	// on its own.
	TraceParent string `json:"trace_parent,omitempty"`
}

// Usage sums tokens, and millionths of a US dollar.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	CostMicros   int64 `json:"cost_micros"`
}

// Preparation is what to make ready before the agent starts.
type Preparation struct {
	// Revision is new whenever the environment is changed. Whoever does not know it keeps
	// no prepared environments.
	Revision        string                 `json:"revision,omitempty"`
	Repositories    []lineshaft.Repository `json:"repositories,omitempty"`
	SetupCommands   []string               `json:"setup_commands,omitempty"`
	RefreshCommands []string               `json:"refresh_commands,omitempty"`
	Image           string                 `json:"image,omitempty"`
	GitCredentials  string                 `json:"git_credentials,omitempty"`
	Skills          []lineshaft.Skill      `json:"skills,omitempty"`
	Runner          lineshaft.RunnerConfig `json:"runner,omitzero"`
}

// JobOf spells a job out, secrets included.
func JobOf(j lineshaft.Job) Job {
	return Job{
		ExecutionRef: j.ExecutionRef, RunID: j.RunID, Number: j.Number, Title: j.Title, Config: j.Config,
		Secrets: map[string]string(j.Secrets), ToolSecrets: map[string]string(j.ToolSecrets), ModelKey: string(j.ModelKey),
		Fault: j.Fault, FaultCode: string(j.FaultCode),
		Prepare: Preparation{
			Revision: j.Prepare.Revision, Image: j.Prepare.Image,
			Repositories: j.Prepare.Repositories, SetupCommands: j.Prepare.SetupCommands, RefreshCommands: j.Prepare.RefreshCommands,
			GitCredentials: string(j.Prepare.GitCredentials), Skills: j.Prepare.Skills, Runner: j.Prepare.Runner,
		},
		Skills: j.Skills, Turn: j.Turn, RunToken: j.RunToken, LastEvent: j.LastEvent, LeaseMillis: j.Lease.Milliseconds(),
		Source: j.Source, Snapshot: j.Snapshot, Resumed: j.Resumed, Continues: j.Continues, Used: Usage(j.Used), TraceParent: j.TraceParent,
	}
}

// Job is what the worker works on. Granted is left to anyone who knows the clock.
func (j Job) Job() lineshaft.Job {
	return lineshaft.Job{
		ExecutionRef: j.ExecutionRef, RunID: j.RunID, Number: j.Number, Title: j.Title, Config: j.Config,
		Secrets: lineshaft.SecretValues(j.Secrets), ToolSecrets: lineshaft.SecretValues(j.ToolSecrets), ModelKey: lineshaft.SecretText(j.ModelKey),
		Fault: j.Fault, FaultCode: lineshaft.Code(j.FaultCode),
		Prepare: lineshaft.Preparation{
			Revision: j.Prepare.Revision, Image: j.Prepare.Image,
			Repositories: j.Prepare.Repositories, SetupCommands: j.Prepare.SetupCommands, RefreshCommands: j.Prepare.RefreshCommands,
			GitCredentials: lineshaft.SecretText(j.Prepare.GitCredentials), Skills: j.Prepare.Skills, Runner: j.Prepare.Runner,
		},
		Skills: j.Skills, Turn: j.Turn, RunToken: j.RunToken, LastEvent: j.LastEvent, Lease: time.Duration(j.LeaseMillis) * time.Millisecond,
		Source: j.Source, Snapshot: j.Snapshot, Resumed: j.Resumed, Continues: j.Continues, Used: lineshaft.Usage(j.Used), TraceParent: j.TraceParent,
	}
}

// Report is a numbered batch of events.
type Report struct {
	lineshaft.ExecutionRef
	First     int64   `json:"first"`
	Events    []Event `json:"events,omitempty"`
	Started   bool    `json:"started,omitempty"`
	Blocked   bool    `json:"blocked,omitempty"`
	Unblocked bool    `json:"unblocked,omitempty"`
}

// Event is an entry of a run's log before it has its number there.
type Event struct {
	Type lineshaft.EventType `json:"type"`
	Time time.Time           `json:"time"`
	// Data is left out when it is no JSON; the control plane then says so in its place.
	Data json.RawMessage `json:"data,omitempty"`
}

// ReportOf makes a Report.
func ReportOf(r lineshaft.Report) Report {
	out := Report{ExecutionRef: r.ExecutionRef, First: r.First, Started: r.Started, Blocked: r.Blocked, Unblocked: r.Unblocked}
	for _, d := range r.Events {
		if !json.Valid(d.Data) || !utf8.Valid(d.Data) {
			d.Data = nil
		}
		out.Events = append(out.Events, Event(d))
	}
	return out
}

// Report is what the control plane takes.
func (r Report) Report() lineshaft.Report {
	out := lineshaft.Report{ExecutionRef: r.ExecutionRef, First: r.First, Started: r.Started, Blocked: r.Blocked, Unblocked: r.Unblocked}
	for _, e := range r.Events {
		out.Events = append(out.Events, lineshaft.Draft(e))
	}
	return out
}

// Error is a refusal as one of several answers.
type Error struct {
	Code    lineshaft.Code `json:"code"`
	Message string         `json:"message"`
	Field   string         `json:"field,omitempty"`
}

// ErrorOf makes an Error of any error; nil stays nil. What is not meant for callers
// becomes an internal error without its text.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	public, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return &Error{Code: lineshaft.CodeInternal, Message: "the server could not take it; its log says why"}
	}
	return &Error{Code: public.Code, Message: public.Message, Field: public.Field}
}

// Err is the error again; nil stays nil.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	return &lineshaft.Error{Code: e.Code, Message: e.Message, Field: e.Field}
}
