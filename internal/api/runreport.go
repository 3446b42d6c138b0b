package api

import (
	"cmp"
	"context"
	"io"
	"mime"
	"path"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
)

// RunReportRequest is what an agent tells about its own run.
type RunReportRequest struct {
	Type  string          `json:"type" enum:"message,notice,plan,pull_request,reference"`
	Text  string          `json:"text,omitempty" maxLength:"65536" doc:"Of message and notice."`
	Level string          `json:"level,omitempty" enum:"info,warning,error" doc:"Of notice; info by default."`
	Steps []RunReportStep `json:"steps,omitempty" maxItems:"200" doc:"Of plan: all of them, each time."`
	URL   string          `json:"url,omitempty" maxLength:"2048" doc:"Of pull_request and reference."`
}

// RunReportStep is one step of a plan.
type RunReportStep struct {
	Text     string `json:"text" minLength:"1"`
	State    string `json:"state,omitempty" enum:"pending,in_progress,completed" doc:"pending by default."`
	Priority string `json:"priority,omitempty" enum:"high,medium,low"`
}

// RunReportResponse says what became of a report.
type RunReportResponse struct {
	RunID       string `json:"run_id"`
	ArtifactUID string `json:"artifact_uid,omitempty" doc:"The artifact that the report made."`
}

type (
	reportInput struct {
		RunPath
		Body RunReportRequest
	}
	reportOutput struct{ Body RunReportResponse }
)

func (s *server) reportRun(ctx context.Context, in *reportInput) (*reportOutput, error) {
	r := lineshaft.RunReport{Kind: lineshaft.ReportKind(in.Body.Type), Text: in.Body.Text, Level: in.Body.Level, URL: in.Body.URL}
	for _, step := range in.Body.Steps {
		r.Steps = append(r.Steps, lineshaft.PlanStep{Text: step.Text, State: cmp.Or(step.State, "pending"), Priority: step.Priority})
	}
	uid, err := s.Control.ReportRun(ctx, infoFrom(ctx).caller, in.RunID, r)
	if err != nil {
		return nil, err
	}
	return &reportOutput{Body: RunReportResponse{RunID: in.RunID, ArtifactUID: uid}}, nil
}

// uploadInput describes a file; its content is read from the request itself.
type uploadInput struct {
	RunPath
	FileName    string `query:"filename" required:"true" maxLength:"255" doc:"The name of the file, without folders."`
	Type        string `query:"type" enum:"FILE,SCREENSHOT,PLAN" doc:"FILE by default."`
	MimeType    string `query:"mime_type" maxLength:"200" doc:"What it is; by the name's ending when absent."`
	Title       string `query:"title" maxLength:"200"`
	Description string `query:"description" maxLength:"2000"`

	content io.Reader
}

// Resolve implements huma.Resolver.
func (u *uploadInput) Resolve(ctx huma.Context) []error {
	u.content = ctx.BodyReader()
	return nil
}

func (s *server) reportArtifact(ctx context.Context, in *uploadInput) (*reportOutput, error) {
	kind := cmp.Or(in.MimeType, mime.TypeByExtension(path.Ext(in.FileName)), "application/octet-stream")
	caller := infoFrom(ctx).caller
	var a *lineshaft.Artifact
	err := s.oneOfFew(caller, "artifacts", func() (err error) { // each of them fills the disk until it is taken or refused
		a, err = s.Control.ReportArtifact(ctx, caller, in.RunID, lineshaft.NewArtifact{
			Type: lineshaft.ArtifactType(in.Type), FileName: in.FileName, MimeType: kind, Title: in.Title, Description: in.Description,
		}, in.content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &reportOutput{Body: RunReportResponse{RunID: in.RunID, ArtifactUID: a.UID}}, nil
}
