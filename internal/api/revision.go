package api

import (
	"context"

	"github.com/lineshaft/lineshaft"
)

// DefinitionRevision is one state of a factory's definition.
type DefinitionRevision struct {
	Number    int64          `json:"number"`
	Source    string         `json:"source" enum:"edit,apply,rollback,repository"`
	Actor     RunCreatorInfo `json:"actor"`
	Comment   string         `json:"comment,omitempty"`
	Commit    string         `json:"commit,omitempty" doc:"Of the repository that the factory follows."`
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
		Limit  int    `query:"limit" default:"20" minimum:"1" maximum:"500"`
		Cursor string `query:"cursor" maxLength:"4096" doc:"From page_info.next_cursor."`
	}
	revisionInput struct {
		FactoryPath
		Number int64 `path:"number" minimum:"1" doc:"The number of a revision."`
	}
	listRevisionsOutput struct{ Body ListRevisionsResponse }
	revisionOutput      struct{ Body DefinitionRevisionDetail }
)

func (s *server) rollbackDefinition(ctx context.Context, in *revisionInput) (*applyOutput, error) {
	return wireApplied(s.Control.RollbackDefinition(ctx, infoFrom(ctx).caller, in.FactoryUID, in.Number))
}

func (s *server) listRevisions(ctx context.Context, in *listRevisionsInput) (*listRevisionsOutput, error) {
	page, err := s.Control.ListRevisions(ctx, infoFrom(ctx).caller, in.FactoryUID, in.Limit, in.Cursor)
	if err != nil {
		return nil, err
	}
	out := &listRevisionsOutput{ListRevisionsResponse{Revisions: []DefinitionRevision{}, PageInfo: pageInfo(page.Next)}}
	for i := range page.Revisions {
		out.Body.Revisions = append(out.Body.Revisions, wireRevision(&page.Revisions[i]))
	}
	return out, nil
}

func (s *server) getRevision(ctx context.Context, in *revisionInput) (*revisionOutput, error) {
	found, err := s.Control.GetRevision(ctx, infoFrom(ctx).caller, in.FactoryUID, in.Number)
	if err != nil {
		return nil, err
	}
	return &revisionOutput{DefinitionRevisionDetail{DefinitionRevision: wireRevision(&found.Revision), Files: found.Texts}}, nil
}

func wireRevision(r *lineshaft.Revision) DefinitionRevision {
	return DefinitionRevision{
		Number: r.Number, Source: string(r.Source), Comment: r.Comment, Commit: r.Commit, FileCount: len(r.Files), CreatedAt: stamp(r.CreatedAt),
		Actor: RunCreatorInfo{Type: string(r.Actor.Type), UID: r.Actor.UID, DisplayName: r.Actor.DisplayName},
	}
}
