package api

import (
	"context"
	"fmt"

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
	IfRevision int64  `json:"if_revision,omitempty" minimum:"0" doc:"Refuses with 409 if the definition is of another revision by now."`
}

// ValidateDefinitionResponse tells what is wrong with a folder.
type ValidateDefinitionResponse struct {
	Valid    bool                    `json:"valid"`
	Problems []lineshaft.FileProblem `json:"problems"`
	Unused   []string                `json:"unused" doc:"Files that are accepted and not used."`
	Notices  []lineshaft.FileProblem `json:"notices" doc:"What is no mistake but should be known, such as keys without effect on this server."`
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

// DefinitionBacktest tells what a changed automation would have made of the stored
// deliveries.
type DefinitionBacktest struct {
	Automation string `json:"automation"`
	Action     string `json:"action" enum:"add,change,remove"`
	Deliveries int    `json:"deliveries" doc:"How many stored deliveries were looked at."`
	Starts     int    `json:"starts" doc:"How many of them start no run now and would start one."`
	Stops      int    `json:"stops" doc:"How many of them start a run now and would not."`
	Truncated  bool   `json:"truncated" doc:"There are more deliveries; the newest were looked at."`
}

// PlanDefinitionResponse tells what an apply would do.
type PlanDefinitionResponse struct {
	Revision  int64                   `json:"revision" doc:"Of the definition in force; give it to apply as if_revision. 0 for a factory that is not there yet."`
	Changes   []DefinitionChange      `json:"changes"`
	Backtests []DefinitionBacktest    `json:"backtests"`
	Problems  []lineshaft.FileProblem `json:"problems" doc:"Always empty: a folder with mistakes is answered with 400."`
	Unused    []string                `json:"unused"`
	Notices   []lineshaft.FileProblem `json:"notices" doc:"What is no mistake but should be known, such as keys without effect on this server."`
}

// ApplyDefinitionResponse tells what an apply did.
type ApplyDefinitionResponse struct {
	Revision int64                   `json:"revision" doc:"Of the definition in force."`
	Changed  bool                    `json:"changed" doc:"False when everything was like that already."`
	Changes  []DefinitionChange      `json:"changes"`
	Unused   []string                `json:"unused"`
	Notices  []lineshaft.FileProblem `json:"notices" doc:"What is no mistake but should be known."`
}

// FactoryDefinition is a factory as a folder.
type FactoryDefinition struct {
	Revision int64             `json:"revision"`
	Files    map[string]string `json:"files"`
}

type (
	definitionInput struct {
		FactoryPath
		Body DefinitionRequest
	}
	planInput struct {
		FactoryPath
		Drift bool `query:"drift" doc:"Tells only what differs, and leaves the stored deliveries alone."`
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
	folderInput    struct{ Body DefinitionRequest }
	validateOutput struct{ Body ValidateDefinitionResponse }
	planOutput     struct{ Body PlanDefinitionResponse }
	applyOutput    struct{ Body ApplyDefinitionResponse }
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

func (s *server) validateDefinition(ctx context.Context, in *definitionInput) (*validateOutput, error) {
	files, err := folderOf(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	found, err := s.Control.ValidateDefinition(ctx, infoFrom(ctx).caller, in.FactoryUID, files)
	if err != nil {
		return nil, err
	}
	return wireValidation(found), nil
}

func wireValidation(v factories.Validation) *validateOutput {
	return &validateOutput{wireProblems(v)}
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

func (s *server) planDefinition(ctx context.Context, in *planInput) (*planOutput, error) {
	files, err := folderOf(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	plan := s.Control.PlanDefinition
	if in.Drift {
		plan = s.Control.DriftDefinition
	}
	return wirePlan(plan(ctx, infoFrom(ctx).caller, in.FactoryUID, files))
}

// planFiles is planDefinition for a factory that is not there yet.
func (s *server) planFiles(ctx context.Context, in *folderInput) (*planOutput, error) {
	files, err := folderOf(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return wirePlan(s.Control.PlanNewFactory(ctx, infoFrom(ctx).caller, files))
}

func wirePlan(made factories.Plan, err error) (*planOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &planOutput{PlanDefinitionResponse{
		Revision: made.Revision, Changes: wireChanges(made.Changes), Backtests: []DefinitionBacktest{}, Problems: []lineshaft.FileProblem{}, Unused: orEmpty(made.Unused), Notices: orEmpty(made.Notices),
	}}
	for _, b := range made.Backtests {
		out.Body.Backtests = append(out.Body.Backtests, DefinitionBacktest{
			Automation: b.Automation, Action: string(b.Action), Deliveries: b.Deliveries, Starts: b.Starts, Stops: b.Stops, Truncated: b.Truncated,
		})
	}
	return out, nil
}

func (s *server) applyDefinition(ctx context.Context, in *applyInput) (*applyOutput, error) {
	files, err := folderOf(ctx, in.Body.DefinitionRequest)
	if err != nil {
		return nil, err
	}
	wanted := factories.Application{Files: files, Comment: in.Body.Comment, IfRevision: in.Body.IfRevision}
	if wanted.Comment == "" {
		wanted.Comment = in.Comment
	}
	if wanted.IfRevision == 0 {
		wanted.IfRevision = in.IfRevision
	}
	return wireApplied(s.Control.ApplyDefinition(ctx, infoFrom(ctx).caller, in.FactoryUID, wanted))
}

func wireApplied(done factories.Applied, err error) (*applyOutput, error) {
	if err != nil {
		return nil, err
	}
	return &applyOutput{ApplyDefinitionResponse{
		Revision: done.Revision, Changed: done.Changed, Changes: wireChanges(done.Changes), Unused: orEmpty(done.Unused), Notices: orEmpty(done.Notices),
	}}, nil
}

func wireChanges(changes []definition.Change) []DefinitionChange {
	out := []DefinitionChange{}
	for _, c := range changes {
		one := DefinitionChange{Action: string(c.Action), Kind: string(c.Kind), Name: c.Name, File: c.File, Note: c.Note}
		for _, f := range c.Fields {
			one.Fields = append(one.Fields, DefinitionFieldChange(f))
		}
		out = append(out, one)
	}
	return out
}

// getDefinition answers the folder as JSON, or as a tar.gz to whoever asks.
func (s *server) getDefinition(ctx context.Context, in *exportInput) (*streamOutput, error) {
	if err := s.takeTurn(ctx, weightDefinition); err != nil {
		return nil, err
	}
	found, err := s.Control.ExportDefinition(ctx, infoFrom(ctx).caller, in.FactoryUID)
	if err != nil {
		return nil, err
	}
	if !accepts(in.Accept, gzipType) {
		return s.jsonStream(ctx, func(out *jsonWriter) { out.item(FactoryDefinition{Revision: found.Revision, Files: found.Files}) }), nil
	}
	return s.folderArchive(ctx, fmt.Sprintf("factory-%d.tar.gz", found.Revision), found.Files), nil
}
