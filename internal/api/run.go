package api

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// RunPath names a run.
type RunPath struct {
	RunID string `path:"runId" doc:"The id of a run."`
}

type (
	createRunInput  struct{ Body RunAgentRequest }
	createRunOutput struct {
		Replayed string `header:"Idempotent-Replayed" doc:"true when this is the kept answer to an earlier request with the same Idempotency-Key."`
		Body     RunAgentResponse
	}
)

func (s *server) createRun(ctx context.Context, in *createRunInput) (*createRunOutput, error) {
	info := infoFrom(ctx)
	run, err := in.Body.domain(info.source)
	if err != nil {
		return nil, in.Body.blameSkill(err)
	}
	started, err := s.Control.StartRun(ctx, info.caller, run, info.idempotency)
	if err != nil {
		return nil, in.Body.blameSkill(err)
	}
	return startedOutput(started), nil
}

func startedOutput(started runs.Started) *createRunOutput {
	return &createRunOutput{
		Replayed: replayed(started.Replayed),
		Body: RunAgentResponse{
			RunID: started.RunID, TaskID: started.RunID, State: RunState(started.State), AtCapacity: started.AtCapacity,
		},
	}
}

func replayed(yes bool) string {
	if yes {
		return "true"
	}
	return ""
}

func (s *server) rerunRun(ctx context.Context, in *RunPath) (*createRunOutput, error) {
	started, err := s.Control.Rerun(ctx, infoFrom(ctx).caller, in.RunID, infoFrom(ctx).source, nil)
	if err != nil {
		return nil, err
	}
	return startedOutput(started), nil
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

type (
	listRunsInput struct {
		RunFilter
		Limit     int       `query:"limit" default:"20" minimum:"1" maximum:"500"`
		Cursor    string    `query:"cursor" maxLength:"4096" doc:"From page_info.next_cursor, with the same filters and order."`
		SortBy    RunSortBy `query:"sort_by" default:"updated_at"`
		SortOrder string    `query:"sort_order" default:"desc" enum:"asc,desc"`
	}
	listRunsOutput struct{ Body ListRunsResponse }
)

func (s *server) listRuns(ctx context.Context, in *listRunsInput) (*listRunsOutput, error) {
	filter, err := in.RunFilter.domain()
	if err != nil {
		return nil, err
	}
	if err := s.takeTurn(ctx, weightList); err != nil {
		return nil, err
	}
	page, err := s.Control.ListRuns(ctx, infoFrom(ctx).caller, lineshaft.RunQuery{
		Filter: filter, Sort: lineshaft.RunSort(in.SortBy), Ascending: in.SortOrder == "asc", Limit: in.Limit, Cursor: in.Cursor,
	})
	if err != nil {
		return nil, err
	}
	out := &listRunsOutput{Body: ListRunsResponse{Runs: []RunItem{}, PageInfo: pageInfo(page.Next)}}
	for i := range page.Runs {
		out.Body.Runs = append(out.Body.Runs, s.wireRun(&page.Runs[i]))
	}
	return out, nil
}

type (
	getRunInput struct {
		RunPath
		Explain bool `query:"explain" doc:"Adds agent_config_origins."`
	}
	getRunOutput struct{ Body RunItem }
)

func (s *server) getRun(ctx context.Context, in *getRunInput) (*getRunOutput, error) {
	if err := s.takeTurn(ctx, weightRun); err != nil {
		return nil, err
	}
	caller := infoFrom(ctx).caller
	run, err := s.Control.GetRun(ctx, caller, in.RunID)
	if err != nil {
		return nil, err
	}
	out := &getRunOutput{Body: s.wireRun(run)}
	if in.Explain {
		if out.Body.AgentConfigOrigins, err = s.Control.ExplainRun(ctx, caller, in.RunID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *server) deleteRun(ctx context.Context, in *RunPath) (*struct{}, error) {
	return nil, s.Control.DeleteRun(ctx, infoFrom(ctx).caller, in.RunID)
}

func (s *server) interruptRun(ctx context.Context, in *RunPath) (*struct{}, error) {
	return nil, s.Control.Interrupt(ctx, infoFrom(ctx).caller, in.RunID)
}

type (
	cancelRunInput struct {
		RunPath
		Cascade bool `query:"cascade" doc:"Cancels the descendants too."`
	}
	cancelRunOutput struct {
		Replayed string `header:"Idempotent-Replayed" doc:"true when this is the kept answer to an earlier request with the same Idempotency-Key."`
		Body     string `doc:"The id of the cancelled run."`
	}
)

func (s *server) cancelRun(ctx context.Context, in *cancelRunInput) (*cancelRunOutput, error) {
	info := infoFrom(ctx)
	done, err := s.Control.Cancel(ctx, info.caller, in.RunID, in.Cascade, info.idempotency)
	if err != nil {
		return nil, err
	}
	return &cancelRunOutput{Replayed: replayed(done.Replayed), Body: done.RunID}, nil
}

// CancelRunsResponse lists what was cancelled.
type CancelRunsResponse struct {
	Cancelled   []string `json:"cancelled" doc:"The ids of the runs that were cancelled."`
	WouldCancel []string `json:"would_cancel,omitempty" doc:"With dry_run: the ids of the runs that would be cancelled."`
}

type (
	cancelRunsInput struct {
		Body    CancelRunsRequest
		RawBody []byte
	}
	cancelRunsOutput struct{ Body CancelRunsResponse }
)

func (s *server) cancelRuns(ctx context.Context, in *cancelRunsInput) (*cancelRunsOutput, error) {
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
		found, err := s.Control.WouldCancel(ctx, infoFrom(ctx).caller, filter)
		return &cancelRunsOutput{Body: CancelRunsResponse{Cancelled: []string{}, WouldCancel: found}}, err
	}
	cancelled, err := s.Control.CancelMatching(ctx, infoFrom(ctx).caller, filter)
	if err != nil {
		return nil, err
	}
	return &cancelRunsOutput{Body: CancelRunsResponse{Cancelled: append([]string{}, cancelled...)}}, nil
}

type (
	followupInput struct {
		RunPath
		Body RunFollowupRequest
	}
	followupOutput struct {
		Replayed string `header:"Idempotent-Replayed" doc:"true when this is the kept answer to an earlier request with the same Idempotency-Key."`
		Body     RunFollowupResponse
	}
)

func (s *server) createFollowup(ctx context.Context, in *followupInput) (*followupOutput, error) {
	info := infoFrom(ctx)
	followup, err := in.Body.domain(in.RunID)
	if err != nil {
		return nil, err
	}
	result, err := s.Control.Followup(ctx, info.caller, followup, info.idempotency)
	if err != nil {
		return nil, err
	}
	return &followupOutput{Replayed: replayed(result.Replayed), Body: wireFollowup(result)}, nil
}

func wireFollowup(result runs.FollowupResult) RunFollowupResponse {
	out := RunFollowupResponse{Outcome: string(result.Outcome)}
	if result.FollowupID != "" {
		out.FollowupID = &result.FollowupID
	}
	return out
}

// RunReference names a run.
type RunReference struct {
	RunID string `json:"run_id"`
}

type (
	referenceInput struct {
		URL string `query:"url" required:"true" maxLength:"2048" doc:"The address of an external reference that a run reported."`
	}
	referenceOutput struct{ Body RunReference }
)

func (s *server) getRunByReference(ctx context.Context, in *referenceInput) (*referenceOutput, error) {
	id, err := s.Control.RunByReference(ctx, infoFrom(ctx).caller, in.URL)
	if err != nil {
		return nil, err
	}
	return &referenceOutput{Body: RunReference{RunID: id}}, nil
}
