package api

import (
	"cmp"
	"context"
	"io"
	"mime"
	"path"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// RunPath names a run.
type RunPath struct {
	RunID string `path:"runId" doc:"The id of a run."`
}

type ofRun[T any] struct {
	RunPath
	Body T
}

func (s *server) createRun(ctx context.Context, in *given[RunAgentRequest]) (*kept[RunAgentResponse], error) {
	info := infoFrom(ctx)
	run, err := in.Body.domain(info.source)
	if err != nil {
		return nil, in.Body.blameSkill(err)
	}
	started, err := s.Control.StartRun(ctx, info.caller, run, info.idempotency)
	return startedOutput(started, in.Body.blameSkill(err))
}

func startedOutput(started runs.Started, err error) (*kept[RunAgentResponse], error) {
	return keep(started.Replayed, RunAgentResponse{
		RunID: started.RunID, TaskID: started.RunID, State: RunState(started.State), AtCapacity: started.AtCapacity,
	}, err)
}

func replayed(yes bool) string {
	if yes {
		return "true"
	}
	return ""
}

func (s *server) rerunRun(ctx context.Context, in *RunPath) (*kept[RunAgentResponse], error) {
	return startedOutput(s.Control.Rerun(ctx, callerOf(ctx), in.RunID, infoFrom(ctx).source, nil))
}

// ListRunsResponse is a page of runs.
type ListRunsResponse struct {
	Runs     []RunItem `json:"runs"`
	PageInfo PageInfo  `json:"page_info"`
}

func (r ListRunsResponse) writeJSON(out *jsonWriter) {
	out.frame("{")
	out.list("runs")
	for i := range r.Runs {
		out.item(&r.Runs[i])
	}
	out.close("]")
	out.field("page_info", r.PageInfo)
	out.close("}")
}

type listRunsInput struct {
	RunFilter
	Limit     int       `query:"limit" default:"20" minimum:"1" maximum:"500"`
	Cursor    string    `query:"cursor" maxLength:"4096" doc:"From page_info.next_cursor, with the same filters and order."`
	SortBy    RunSortBy `query:"sort_by" default:"updated_at"`
	SortOrder string    `query:"sort_order" default:"desc" enum:"asc,desc"`
}

func (s *server) listRuns(ctx context.Context, in *listRunsInput) (*answer[ListRunsResponse], error) {
	filter, err := in.RunFilter.domain()
	if err != nil {
		return nil, err
	}
	if err := s.takeTurn(ctx, weightList); err != nil {
		return nil, err
	}
	page, err := s.Control.ListRuns(ctx, callerOf(ctx), lineshaft.RunQuery{
		Filter: filter, Sort: lineshaft.RunSort(in.SortBy), Ascending: in.SortOrder == "asc", Limit: in.Limit, Cursor: in.Cursor,
	})
	return reply(ListRunsResponse{each(page.Runs, s.wireRun), pageInfo(page.Next)}, err)
}

type getRunInput struct {
	RunPath
	Explain bool `query:"explain" doc:"Adds agent_config_origins."`
}

func (s *server) getRun(ctx context.Context, in *getRunInput) (*answer[RunItem], error) {
	if err := s.takeTurn(ctx, weightRun); err != nil {
		return nil, err
	}
	caller := callerOf(ctx)
	run, err := s.Control.GetRun(ctx, caller, in.RunID)
	if err != nil {
		return nil, err
	}
	out := s.wireRun(run)
	if in.Explain {
		out.AgentConfigOrigins, err = s.Control.ExplainRun(ctx, caller, in.RunID)
	}
	return reply(out, err)
}

func (s *server) deleteRun(ctx context.Context, in *RunPath) (*struct{}, error) {
	return nil, s.Control.DeleteRun(ctx, callerOf(ctx), in.RunID)
}

func (s *server) interruptRun(ctx context.Context, in *RunPath) (*struct{}, error) {
	return nil, s.Control.Interrupt(ctx, callerOf(ctx), in.RunID)
}

type (
	cancelRunInput struct {
		RunPath
		Cascade bool `query:"cascade" doc:"Also cancels the descendants."`
	}
	cancelRunOutput struct {
		Replayed string `header:"Idempotent-Replayed" doc:"true when this is the kept answer to an earlier request with the same Idempotency-Key."`
		Body     string `doc:"The id of the cancelled run."`
	}
)

func (s *server) cancelRun(ctx context.Context, in *cancelRunInput) (*cancelRunOutput, error) {
	info := infoFrom(ctx)
	done, err := s.Control.Cancel(ctx, info.caller, in.RunID, in.Cascade, info.idempotency)
	return &cancelRunOutput{Replayed: replayed(done.Replayed), Body: done.RunID}, err
}

// CancelRunsResponse lists what was cancelled.
type CancelRunsResponse struct {
	Cancelled   []string `json:"cancelled" doc:"The ids of the runs that were cancelled."`
	WouldCancel []string `json:"would_cancel,omitempty" doc:"With dry_run: the ids of the runs that would be cancelled."`
}

type cancelRunsInput struct {
	Body    CancelRunsRequest
	RawBody []byte
}

func (s *server) cancelRuns(ctx context.Context, in *cancelRunsInput) (*answer[CancelRunsResponse], error) {
	if err := refuseNull(in.RawBody); err != nil {
		return nil, err
	}
	filter, err := in.Body.Filter.domain()
	if err != nil {
		return nil, err
	}
	if filter.IsZero() {
		return nil, lineshaft.Invalid("filter", "give at least one condition; an empty filter would cancel every run")
	}
	if in.Body.DryRun {
		found, err := s.Control.WouldCancel(ctx, callerOf(ctx), filter)
		return reply(CancelRunsResponse{Cancelled: []string{}, WouldCancel: found}, err)
	}
	cancelled, err := s.Control.CancelMatching(ctx, callerOf(ctx), filter)
	return reply(CancelRunsResponse{Cancelled: orEmpty(cancelled)}, err)
}

func (s *server) createFollowup(ctx context.Context, in *ofRun[RunFollowupRequest]) (*kept[RunFollowupResponse], error) {
	info := infoFrom(ctx)
	followup, err := in.Body.domain(in.RunID)
	if err != nil {
		return nil, err
	}
	result, err := s.Control.Followup(ctx, info.caller, followup, info.idempotency)
	return keep(result.Replayed, wireFollowup(result), err)
}

func wireFollowup(result runs.FollowupResult) RunFollowupResponse {
	return RunFollowupResponse{FollowupID: textOrNull(result.FollowupID), Outcome: string(result.Outcome)}
}

// RunReference names a run.
type RunReference struct {
	RunID string `json:"run_id"`
}

type referenceInput struct {
	URL string `query:"url" required:"true" maxLength:"2048" doc:"The address of an external reference that a run reported."`
}

func (s *server) getRunByReference(ctx context.Context, in *referenceInput) (*answer[RunReference], error) {
	id, err := s.Control.RunByReference(ctx, callerOf(ctx), in.URL)
	return reply(RunReference{RunID: id}, err)
}

// RunReportRequest is what an agent reports about its own run.
type RunReportRequest struct {
	Type  string          `json:"type" enum:"message,notice,plan,pull_request,reference"`
	Text  string          `json:"text,omitempty" maxLength:"65536" doc:"Of message and notice."`
	Level string          `json:"level,omitempty" enum:"info,warning,error" doc:"Of notice; info by default."`
	Steps []RunReportStep `json:"steps,omitempty" maxItems:"200" doc:"Of a plan: all of them, each time."`
	URL   string          `json:"url,omitempty" maxLength:"2048" doc:"Of pull_request and reference."`
}

// RunReportStep is one step of a plan.
type RunReportStep struct {
	Text     string `json:"text" minLength:"1"`
	State    string `json:"state,omitempty" enum:"pending,in_progress,completed" doc:"pending by default."`
	Priority string `json:"priority,omitempty" enum:"high,medium,low"`
}

// RunReportResponse is the result of a report.
type RunReportResponse struct {
	RunID       string `json:"run_id"`
	ArtifactUID string `json:"artifact_uid,omitempty" doc:"The artifact that the report created."`
}

func (s *server) reportRun(ctx context.Context, in *ofRun[RunReportRequest]) (*answer[RunReportResponse], error) {
	r := lineshaft.RunReport{Kind: lineshaft.ReportKind(in.Body.Type), Text: in.Body.Text, Level: in.Body.Level, URL: in.Body.URL}
	for _, step := range in.Body.Steps {
		r.Steps = append(r.Steps, lineshaft.PlanStep{Text: step.Text, State: cmp.Or(step.State, "pending"), Priority: step.Priority})
	}
	uid, err := s.Control.ReportRun(ctx, callerOf(ctx), in.RunID, r)
	return reply(RunReportResponse{RunID: in.RunID, ArtifactUID: uid}, err)
}

// uploadInput describes a file; its content is read from the request itself.
type uploadInput struct {
	RunPath
	FileName    string `query:"filename" required:"true" maxLength:"255" doc:"The name of the file, without folders."`
	Type        string `query:"type" enum:"FILE,SCREENSHOT,PLAN" doc:"FILE by default."`
	MimeType    string `query:"mime_type" maxLength:"200" doc:"Its type; if absent, it follows from the file name."`
	Title       string `query:"title" maxLength:"200"`
	Description string `query:"description" maxLength:"2000"`

	content io.Reader
}

// Resolve implements huma.Resolver.
func (u *uploadInput) Resolve(ctx huma.Context) []error {
	u.content = ctx.BodyReader()
	return nil
}

func (s *server) reportArtifact(ctx context.Context, in *uploadInput) (*answer[RunReportResponse], error) {
	kind := cmp.Or(in.MimeType, mime.TypeByExtension(path.Ext(in.FileName)), "application/octet-stream")
	caller := callerOf(ctx)
	var a *lineshaft.Artifact
	err := s.oneOfFew(caller, "artifacts", func() (err error) { // each of them fills the disk until it is accepted or refused
		a, err = s.Control.ReportArtifact(ctx, caller, in.RunID, lineshaft.NewArtifact{
			Type: lineshaft.ArtifactType(in.Type), FileName: in.FileName, MimeType: kind, Title: in.Title, Description: in.Description,
		}, in.content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return reply(RunReportResponse{RunID: in.RunID, ArtifactUID: a.UID}, nil)
}
