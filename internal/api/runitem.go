package api

import (
	"cmp"

	"github.com/lineshaft/lineshaft"
)

// RunItem is a run as the API shows it.
type RunItem struct {
	RunID              string              `json:"run_id"`
	TaskID             string              `json:"task_id" deprecated:"true" doc:"The same as run_id."`
	Title              string              `json:"title"`
	Prompt             string              `json:"prompt" doc:"The agent's task."`
	PromptTruncated    bool                `json:"prompt_truncated,omitempty" doc:"In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too long to be shown in full. Get the run to read all of it."`
	SubmittedPrompt    string              `json:"submitted_prompt,omitempty" doc:"The prompt as sent, with the follow-ups that came before the start."`
	State              RunState            `json:"state"`
	CreatedAt          string              `json:"created_at" format:"date-time"`
	UpdatedAt          string              `json:"updated_at" format:"date-time" doc:"Changes with state, title and follow-ups, not with every event."`
	StartedAt          *string             `json:"started_at" required:"false" format:"date-time" doc:"When an agent first began work; null until then."`
	FinishedAt         *string             `json:"finished_at" format:"date-time" doc:"When a terminal state was last reached; null while the run is active."`
	RunTime            string              `json:"run_time,omitempty" doc:"ISO 8601 duration, summed over the executions that have ended." example:"PT2M30S"`
	RootRunID          string              `json:"root_run_id" doc:"The run at the top of the tree; run_id itself at the top."`
	ParentRunID        string              `json:"parent_run_id,omitempty"`
	StatusMessage      RunStatusMessage    `json:"status_message"`
	Source             RunSourceType       `json:"source"`
	Creator            RunCreatorInfo      `json:"creator"`
	Executor           *RunCreatorInfo     `json:"executor,omitempty"`
	AgentConfig        *AmbientAgentConfig `json:"agent_config,omitempty" doc:"The resolved configuration."`
	AgentConfigOrigins map[string]string   `json:"agent_config_origins,omitempty" doc:"With explain=1: for each field of agent_config, where its value came from."`
	AgentSkill         *AgentSkill         `json:"agent_skill,omitempty" doc:"The first skill of the run, once it is known."`
	SessionID          string              `json:"session_id,omitempty"`
	SessionLink        string              `json:"session_link,omitempty" format:"uri" doc:"The page on this server that shows the live session."`
	ConversationID     string              `json:"conversation_id,omitempty"`
	ContinuesRunID     string              `json:"continues_run_id,omitempty" doc:"The run whose workspace and messages this one continues."`
	RerunOf            string              `json:"rerun_of,omitempty" doc:"The first run with the same request, if this is a rerun."`
	Attempt            int                 `json:"attempt,omitempty" doc:"Which of the runs with the same request this is, from 1."`
	Reruns             []RunRerun          `json:"reruns,omitempty" doc:"Only when you get a single run: the later runs with its request, at most the first 100."`
	FactoryUID         string              `json:"factory_uid,omitempty"`
	Schedule           *RunSchedule        `json:"schedule,omitempty" doc:"The schedule that started the run."`
	Metadata           Metadata            `json:"metadata,omitempty"`
	Artifacts          []ArtifactItem      `json:"artifacts,omitempty"`
	RequestUsage       *RequestUsage       `json:"request_usage,omitempty"`
	ExecutionLocation  string              `json:"execution_location" enum:"LOCAL,REMOTE"`
	IsSandboxRunning   bool                `json:"is_sandbox_running" doc:"Whether a worker still holds a live agent process."`
	IsCancellable      bool                `json:"is_run_type_cancellable" doc:"Whether runs of this kind can be cancelled at all, whatever their state."`
	Scope              Scope               `json:"scope"`
}

// RunRerun is a later run with the same request.
type RunRerun struct {
	RunID   string   `json:"run_id"`
	Attempt int      `json:"attempt"`
	State   RunState `json:"state"`
}

// RunStatusMessage describes the status of a run for a person.
type RunStatusMessage struct {
	Message   string            `json:"message"`
	ErrorCode PlatformErrorCode `json:"error_code,omitempty"`
	Retryable *bool             `json:"retryable,omitempty" doc:"For ended runs: submitting the work again may succeed."`
}

// RunCreatorInfo is a person or a program.
type RunCreatorInfo struct {
	Type        string `json:"type,omitempty" enum:"user,service_account"`
	UID         string `json:"uid,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	Email       string `json:"email,omitempty"`
}

// RequestUsage sums what the models of a run consumed.
type RequestUsage struct {
	TotalTokens      int64   `json:"total_tokens"`
	InferenceCostUSD float64 `json:"inference_cost_usd" doc:"At the prices that the operator has set; models without a price are left out."`
	// ModelTokenUsage is filled when a single run is read.
	ModelTokenUsage []ModelTokenUsage `json:"model_token_usage,omitempty" doc:"For each model; only when you get a single run."`
}

// ModelTokenUsage is what one model of a run consumed.
type ModelTokenUsage struct {
	ModelID           string           `json:"model_id"`
	TotalTokens       int64            `json:"total_tokens"`
	UsageType         string           `json:"usage_type" enum:"custom_endpoint"`
	TokensByCategory  map[string]int64 `json:"tokens_by_category,omitempty" doc:"input, input_cache_read and output; the first leaves out the second."`
	InferenceCostUSD  float64          `json:"inference_cost_usd"`
	CostUnknownTokens int64            `json:"cost_unknown_tokens,omitempty" doc:"Tokens whose price was not known: they are not in the cost."`
}

// Scope says whose a thing is.
type Scope struct {
	Type string `json:"type" enum:"User,Team"`
	UID  string `json:"uid,omitempty"`
}

// PageInfo says how to continue a list.
type PageInfo struct {
	HasNextPage bool   `json:"has_next_page"`
	NextCursor  string `json:"next_cursor,omitempty" doc:"Opaque; give it as cursor with the same filters and order."`
}

func pageInfo(next string) PageInfo { return PageInfo{HasNextPage: next != "", NextCursor: next} }

// wireRun shows a run.
func (s *server) wireRun(run *lineshaft.Run) RunItem {
	item := RunItem{
		RunID: run.ID, TaskID: run.ID, Title: run.Title, Prompt: run.Prompt, PromptTruncated: run.Truncated, SubmittedPrompt: run.Submitted,
		State: RunState(run.State), CreatedAt: stamp(run.CreatedAt), UpdatedAt: stamp(run.UpdatedAt),
		StartedAt: stampOrNull(run.StartedAt), FinishedAt: stampOrNull(run.FinishedAt),
		RootRunID: run.RootRunID, ParentRunID: run.ParentRunID,
		StatusMessage: RunStatusMessage{run.Status.Message, PlatformErrorCode(run.Status.ErrorCode), run.Status.Retryable},
		Source:        RunSourceType(run.Source), Creator: wirePrincipal(run.Creator),
		AgentConfig: wireConfig(run.Config), SessionID: run.SessionID, SessionLink: s.BaseURL + "/runs/" + run.ID,
		ConversationID: run.ConversationID, ContinuesRunID: run.Continues, RerunOf: run.RerunOf, Attempt: run.Attempt, FactoryUID: run.FactoryUID, Schedule: wireFiredBy(run.FiredBy), Metadata: run.Metadata,
		AgentSkill: wireAgentSkill(run.Skills), Artifacts: each(run.Artifacts, wireArtifact), Reruns: each(run.Reruns, wireRerun),
		ExecutionLocation: "REMOTE", IsSandboxRunning: run.SandboxRunning, IsCancellable: true, Scope: Scope{Type: "Team"},
	}
	item.RootRunID = cmp.Or(item.RootRunID, run.ID)
	if !run.State.Terminal() {
		item.FinishedAt = nil
	}
	if run.RunTime > 0 {
		item.RunTime = duration(run.RunTime)
	}
	if run.Executor.UID != "" {
		executor := wirePrincipal(run.Executor)
		item.Executor = &executor
	}
	if run.Usage.Total() > 0 {
		item.RequestUsage = wireUsage(run)
	}
	return item
}

func wireRerun(r *lineshaft.Rerun) RunRerun { return RunRerun{r.RunID, r.Attempt, RunState(r.State)} }

func wireUsage(run *lineshaft.Run) *RequestUsage {
	out := &RequestUsage{TotalTokens: run.Usage.Total(), InferenceCostUSD: dollars(run.Usage.CostMicros)}
	for _, u := range run.UsageByModel {
		out.ModelTokenUsage = append(out.ModelTokenUsage, ModelTokenUsage{
			ModelID: u.ModelID, TotalTokens: u.Total(), UsageType: "custom_endpoint", InferenceCostUSD: dollars(u.CostMicros), CostUnknownTokens: u.UnpricedTokens,
			TokensByCategory: map[string]int64{"input": max(u.InputTokens-u.CachedInputTokens, 0), "input_cache_read": u.CachedInputTokens, "output": u.OutputTokens},
		})
	}
	return out
}

func dollars(micros int64) float64 { return float64(micros) / 1e6 }

func wirePrincipal(p lineshaft.Principal) RunCreatorInfo {
	return RunCreatorInfo{string(p.Type), p.UID, p.DisplayName, p.Email}
}
