package api

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// DefinitionRequest is a folder. A tar.gz of it does as well, as the body.
type DefinitionRequest struct {
	Files map[string]string `json:"files,omitempty" doc:"Texts by path, such as factory.yaml and agents/foreman/agent.md."`
}

// ApplyDefinitionRequest puts a folder in force.
type ApplyDefinitionRequest struct {
	DefinitionRequest
	Comment    string `json:"comment,omitempty" maxLength:"500" doc:"What the change is for; the list of revisions shows it."`
	IfRevision int64  `json:"if_revision,omitempty" minimum:"0" doc:"Answers 409 if the definition is no longer at this revision."`
}

// ValidateDefinitionResponse says what is wrong with a folder.
type ValidateDefinitionResponse struct {
	Valid    bool                    `json:"valid"`
	Problems []lineshaft.FileProblem `json:"problems"`
	Unused   []string                `json:"unused" doc:"Files that are accepted and not used."`
	Notices  []lineshaft.FileProblem `json:"notices" doc:"What is not a mistake but worth knowing, such as keys without effect on this server."`
}

// DefinitionChange is one difference between a factory and a folder.
type DefinitionChange struct {
	Action string                  `json:"action" enum:"add,change,remove"`
	Kind   string                  `json:"kind" enum:"factory,agent,automation,webhook,runner,skill,scorer,benchmark"`
	Name   string                  `json:"name"`
	File   string                  `json:"file"`
	Fields []DefinitionFieldChange `json:"fields,omitempty" doc:"Of a part that is changed: what differs."`
	Note   string                  `json:"note,omitempty"`
}

// DefinitionFieldChange is a value before and after, as it is written in a file.
type DefinitionFieldChange struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// DefinitionBacktest says what a changed automation would have made of the stored
// deliveries.
type DefinitionBacktest struct {
	Automation string `json:"automation"`
	Action     string `json:"action" enum:"add,change,remove"`
	Deliveries int    `json:"deliveries" doc:"How many stored deliveries were checked."`
	Starts     int    `json:"starts" doc:"How many of them start no run now and would start one."`
	Stops      int    `json:"stops" doc:"How many of them start a run now and would not."`
	Truncated  bool   `json:"truncated" doc:"There are more deliveries; only the newest were checked."`
}

// PlanDefinitionResponse says what an apply would do.
type PlanDefinitionResponse struct {
	Revision  int64                   `json:"revision" doc:"The revision in force; give it to apply as if_revision. 0 for a factory that does not exist yet."`
	Changes   []DefinitionChange      `json:"changes"`
	Backtests []DefinitionBacktest    `json:"backtests"`
	Problems  []lineshaft.FileProblem `json:"problems" doc:"Always empty: a folder with mistakes is answered with 400."`
	Unused    []string                `json:"unused"`
	Notices   []lineshaft.FileProblem `json:"notices" doc:"What is not a mistake but worth knowing, such as keys without effect on this server."`
}

// ApplyDefinitionResponse says what an apply did.
type ApplyDefinitionResponse struct {
	Revision int64                   `json:"revision" doc:"The revision in force."`
	Changed  bool                    `json:"changed" doc:"False if nothing had to change."`
	Changes  []DefinitionChange      `json:"changes"`
	Unused   []string                `json:"unused"`
	Notices  []lineshaft.FileProblem `json:"notices" doc:"What is not a mistake but worth knowing."`
}

// FactoryDefinition is a factory as a folder.
type FactoryDefinition struct {
	Revision int64             `json:"revision"`
	Files    map[string]string `json:"files"`
}

type (
	planInput struct {
		FactoryPath
		Drift bool `query:"drift" doc:"Shows only what differs, and does not check the stored deliveries."`
		Body  DefinitionRequest
	}
	applyInput struct {
		FactoryPath
		Comment    string `query:"comment" maxLength:"500" doc:"For bodies that are an archive."`
		IfRevision int64  `query:"if_revision" minimum:"0" doc:"For bodies that are an archive."`
		Body       ApplyDefinitionRequest
	}
	exportInput struct {
		FactoryPath
		Accept string `header:"Accept" hidden:"true"`
	}
)

// folderOf is the folder of a request: the archive that the guard has unpacked, or
// the files of the JSON.
func folderOf(ctx context.Context, body DefinitionRequest) (definition.Files, error) {
	if files := infoFrom(ctx).files; files != nil {
		return files, nil
	}
	if body.Files == nil {
		return nil, lineshaft.Invalid("files", "send the folder as {\"files\": {\"path\": \"text\"}}, or as a tar.gz with Content-Type application/gzip")
	}
	return body.Files, nil
}

func (s *server) validateDefinition(ctx context.Context, in *ofFactory[DefinitionRequest]) (*answer[ValidateDefinitionResponse], error) {
	files, err := folderOf(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return shown(wireProblems)(s.Control.ValidateDefinition(ctx, callerOf(ctx), in.FactoryUID, files))
}

func wireProblems(v factories.Validation) ValidateDefinitionResponse {
	return ValidateDefinitionResponse{Valid: len(v.Problems) == 0, Problems: orEmpty(v.Problems), Unused: orEmpty(v.Unused), Notices: orEmpty(v.Notices)}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (s *server) planDefinition(ctx context.Context, in *planInput) (*answer[PlanDefinitionResponse], error) {
	files, err := folderOf(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	plan := s.Control.PlanDefinition
	if in.Drift {
		plan = s.Control.DriftDefinition
	}
	return shown(wirePlan)(plan(ctx, callerOf(ctx), in.FactoryUID, files))
}

// planFiles is planDefinition for a factory that does not exist yet.
func (s *server) planFiles(ctx context.Context, in *given[DefinitionRequest]) (*answer[PlanDefinitionResponse], error) {
	files, err := folderOf(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return shown(wirePlan)(s.Control.PlanNewFactory(ctx, callerOf(ctx), files))
}

func wirePlan(made factories.Plan) PlanDefinitionResponse {
	return PlanDefinitionResponse{
		Revision: made.Revision, Changes: each(made.Changes, wireChange), Backtests: each(made.Backtests, wireBacktest),
		Problems: []lineshaft.FileProblem{}, Unused: orEmpty(made.Unused), Notices: orEmpty(made.Notices),
	}
}

func wireBacktest(b *factories.Backtest) DefinitionBacktest {
	return DefinitionBacktest{
		Automation: b.Automation, Action: string(b.Action), Deliveries: b.Deliveries, Starts: b.Starts, Stops: b.Stops, Truncated: b.Truncated,
	}
}

func (s *server) applyDefinition(ctx context.Context, in *applyInput) (*answer[ApplyDefinitionResponse], error) {
	files, err := folderOf(ctx, in.Body.DefinitionRequest)
	if err != nil {
		return nil, err
	}
	wanted := factories.Application{Files: files, Comment: cmp.Or(in.Body.Comment, in.Comment), IfRevision: cmp.Or(in.Body.IfRevision, in.IfRevision)}
	return shown(wireApplied)(s.Control.ApplyDefinition(ctx, callerOf(ctx), in.FactoryUID, wanted))
}

func wireApplied(done factories.Applied) ApplyDefinitionResponse {
	return ApplyDefinitionResponse{
		Revision: done.Revision, Changed: done.Changed, Changes: each(done.Changes, wireChange), Unused: orEmpty(done.Unused), Notices: orEmpty(done.Notices),
	}
}

func wireChange(c *definition.Change) DefinitionChange {
	return DefinitionChange{
		Action: string(c.Action), Kind: string(c.Kind), Name: c.Name, File: c.File, Note: c.Note,
		Fields: each(c.Fields, func(f *definition.FieldChange) DefinitionFieldChange { return DefinitionFieldChange(*f) }),
	}
}

// getDefinition answers the folder as JSON, or as a tar.gz on request.
func (s *server) getDefinition(ctx context.Context, in *exportInput) (*streamOutput, error) {
	if err := s.takeTurn(ctx, weightDefinition); err != nil {
		return nil, err
	}
	found, err := s.Control.ExportDefinition(ctx, callerOf(ctx), in.FactoryUID)
	if err != nil {
		return nil, err
	}
	if !accepts(in.Accept, gzipType) {
		return s.jsonStream(ctx, func(out *jsonWriter) { out.item(FactoryDefinition{Revision: found.Revision, Files: found.Files}) }), nil
	}
	return s.folderArchive(ctx, fmt.Sprintf("factory-%d.tar.gz", found.Revision), found.Files), nil
}

// DefinitionRevision is one state of a factory's definition.
type DefinitionRevision struct {
	Number    int64          `json:"number"`
	Source    string         `json:"source" enum:"edit,apply,rollback,repository"`
	Actor     RunCreatorInfo `json:"actor"`
	Comment   string         `json:"comment,omitempty"`
	Commit    string         `json:"commit,omitempty" doc:"The commit in the repository that the factory follows."`
	FileCount int            `json:"file_count"`
	CreatedAt string         `json:"created_at" format:"date-time"`
}

// DefinitionRevisionDetail is a revision with its files.
type DefinitionRevisionDetail struct {
	DefinitionRevision
	Files map[string]string `json:"files"`
}

// ListRevisionsResponse is a page of revisions, newest first.
type ListRevisionsResponse struct {
	Revisions []DefinitionRevision `json:"revisions"`
	PageInfo  PageInfo             `json:"page_info"`
}

type (
	listRevisionsInput struct {
		FactoryPath
		PageQuery
	}
	revisionInput struct {
		FactoryPath
		Number int64 `path:"number" minimum:"1" doc:"The number of a revision."`
	}
)

func (s *server) rollbackDefinition(ctx context.Context, in *revisionInput) (*answer[ApplyDefinitionResponse], error) {
	return shown(wireApplied)(s.Control.RollbackDefinition(ctx, callerOf(ctx), in.FactoryUID, in.Number))
}

func (s *server) listRevisions(ctx context.Context, in *listRevisionsInput) (*answer[ListRevisionsResponse], error) {
	page, err := s.Control.ListRevisions(ctx, callerOf(ctx), in.FactoryUID, in.Limit, in.Cursor)
	return reply(ListRevisionsResponse{each(page.Revisions, wireRevision), pageInfo(page.Next)}, err)
}

func (s *server) getRevision(ctx context.Context, in *revisionInput) (*answer[DefinitionRevisionDetail], error) {
	found, err := s.Control.GetRevision(ctx, callerOf(ctx), in.FactoryUID, in.Number)
	if err != nil {
		return nil, err
	}
	return &answer[DefinitionRevisionDetail]{DefinitionRevisionDetail{DefinitionRevision: wireRevision(&found.Revision), Files: found.Texts}}, nil
}

func wireRevision(r *lineshaft.Revision) DefinitionRevision {
	return DefinitionRevision{
		Number: r.Number, Source: string(r.Source), Comment: r.Comment, Commit: r.Commit, FileCount: len(r.Files), CreatedAt: stamp(r.CreatedAt),
		Actor: RunCreatorInfo{Type: string(r.Actor.Type), UID: r.Actor.UID, DisplayName: r.Actor.DisplayName},
	}
}

const gzipType = "application/gzip"

func accepts(header, wanted string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if kind, _, err := mime.ParseMediaType(part); err == nil && kind == wanted {
			return true
		}
	}
	return false
}

// readArchive unpacks the body of an operation that takes a folder, if it is a
// tar.gz; otherwise it leaves it alone.
func readArchive(r *http.Request, limit int64) (bool, error) {
	body := bufio.NewReader(r.Body)
	magic, _ := body.Peek(2) // the reader of the body reports what cannot be read
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if string(magic) != "\x1f\x8b" && kind != gzipType && kind != "application/x-gzip" {
		r.Body = io.NopCloser(body)
		return false, nil
	}
	if r.ContentLength > limit {
		return true, archiveTooLarge(limit)
	}
	bounded := &io.LimitedReader{R: body, N: limit + 1}
	files, err := definition.ReadTar(bounded)
	switch {
	case bounded.N <= 0:
		return true, archiveTooLarge(limit)
	case err != nil:
		if _, ours := errors.AsType[*lineshaft.Error](err); ours {
			return true, err
		}
		return true, &lineshaft.Error{Code: lineshaft.CodeInvalidRequest, Message: "the body is not a tar.gz that can be read; make it with tar -cz -C folder .", Cause: err}
	}
	var unpacked int64
	for _, text := range files {
		unpacked += int64(len(text))
	}
	if unpacked > limit { // what packs well must not get more work done than it could as JSON
		return true, archiveTooLarge(limit)
	}
	infoFrom(r.Context()).files = files
	return true, nil
}

func archiveTooLarge(limit int64) error {
	return &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: "the folder is larger than " + sizeText(limit) + "; leave out what does not belong to the definition"}
}

func sizeText(n int64) string {
	if n == smallBody {
		return "1 MiB"
	}
	return "16 MiB"
}

// folderArchive answers with a tar.gz that is the same for the same files.
func (s *server) folderArchive(ctx context.Context, name string, files definition.Files) *streamOutput {
	return s.attachment(ctx, fileInfo{name: name, kind: gzipType, size: -1}, func(w *recorder) error {
		zip := gzip.NewWriter(w)
		out := tar.NewWriter(zip)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(files[path]))}
			if err := out.WriteHeader(header); err != nil {
				return err
			}
			if _, err := io.WriteString(out, files[path]); err != nil {
				return err
			}
		}
		return errors.Join(out.Close(), zip.Close())
	})
}
