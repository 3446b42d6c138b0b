package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// DefinitionsService handles factories as folders of files. It is part of a Client.
type DefinitionsService struct{ c *Client }

// String tells the problem in one line, as compilers do.
func (p FileProblem) String() string {
	text := p.File
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d:%d", text, p.Line, p.Column)
	}
	text += ": " + p.Message
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// RevisionQuery selects a page of revisions.
type RevisionQuery struct {
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// Validate finds every mistake of a folder, also in what it names on the server.
func (s *DefinitionsService) Validate(ctx context.Context, factoryUID string, files map[string]string) (*DefinitionValidation, error) {
	path, err := factoryPath(factoryUID, "/definition/validate")
	if err != nil {
		return nil, err
	}
	var out DefinitionValidation
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: DefinitionRequest{Files: files}, out: &out, replay: true}))
}

// ValidateFiles finds every mistake in the files of a folder, without a factory.
func (s *DefinitionsService) ValidateFiles(ctx context.Context, files map[string]string) (*DefinitionValidation, error) {
	var out DefinitionValidation
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: "/factory-files/validate", body: DefinitionRequest{Files: files}, out: &out, replay: true}))
}

// Plan tells what applying a folder would do, and what its changed automations would
// make of the stored deliveries. A folder with mistakes is an *Error with Problems.
func (s *DefinitionsService) Plan(ctx context.Context, factoryUID string, files map[string]string) (*DefinitionPlan, error) {
	return s.plan(ctx, factoryUID, files, nil)
}

// PlanFiles is Plan for a factory that is not there yet.
func (s *DefinitionsService) PlanFiles(ctx context.Context, files map[string]string) (*DefinitionPlan, error) {
	var out DefinitionPlan
	plan := call{method: http.MethodPost, path: "/factory-files/plan", body: DefinitionRequest{Files: files}, out: &out, replay: true}
	return result(&out, s.c.do(ctx, plan))
}

// Drift tells how a factory differs from a folder.
func (s *DefinitionsService) Drift(ctx context.Context, factoryUID string, files map[string]string) (*DefinitionPlan, error) {
	return s.plan(ctx, factoryUID, files, url.Values{"drift": {"true"}})
}

func (s *DefinitionsService) plan(ctx context.Context, factoryUID string, files map[string]string, query url.Values) (*DefinitionPlan, error) {
	path, err := factoryPath(factoryUID, "/definition/plan")
	if err != nil {
		return nil, err
	}
	var out DefinitionPlan
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, query: query, body: DefinitionRequest{Files: files}, out: &out, replay: true}))
}

// Apply makes a factory what a folder says, all or nothing. It is not repeated when
// its answer is lost: somebody else may have changed the factory since.
func (s *DefinitionsService) Apply(ctx context.Context, factoryUID string, req DefinitionRequest) (*DefinitionApplied, error) {
	path, err := factoryPath(factoryUID, "/definition/apply")
	if err != nil {
		return nil, err
	}
	var out DefinitionApplied
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out}))
}

// Export reads a factory as a folder.
func (s *DefinitionsService) Export(ctx context.Context, factoryUID string) (*Definition, error) {
	path, err := factoryPath(factoryUID, "/definition")
	if err != nil {
		return nil, err
	}
	return get[Definition](ctx, s.c, path, nil)
}

// Revisions reads one page of revisions.
func (s *DefinitionsService) Revisions(ctx context.Context, factoryUID string, q RevisionQuery) (*RevisionPage, error) {
	path, err := factoryPath(factoryUID, "/definition/revisions")
	if err != nil {
		return nil, err
	}
	return get[RevisionPage](ctx, s.c, path, pageQuery(q.Limit, q.Cursor))
}

// AllRevisions goes through all revisions, page by page.
func (s *DefinitionsService) AllRevisions(ctx context.Context, factoryUID string, q RevisionQuery) iter.Seq2[DefinitionRevision, error] {
	return pages(q.Cursor, func(cursor string) ([]DefinitionRevision, PageInfo, error) {
		q.Cursor = cursor
		page, err := s.Revisions(ctx, factoryUID, q)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return page.Revisions, page.PageInfo, nil
	})
}

// Revision reads one revision with its files.
func (s *DefinitionsService) Revision(ctx context.Context, factoryUID string, number int64) (*DefinitionRevision, error) {
	path, err := factoryPath(factoryUID, "/definition/revisions/"+strconv.FormatInt(number, 10))
	if err != nil {
		return nil, err
	}
	return get[DefinitionRevision](ctx, s.c, path, nil)
}

// Rollback applies the files of an earlier revision, as a new one.
func (s *DefinitionsService) Rollback(ctx context.Context, factoryUID string, number int64) (*DefinitionApplied, error) {
	path, err := factoryPath(factoryUID, "/definition/revisions/"+strconv.FormatInt(number, 10)+"/rollback")
	if err != nil {
		return nil, err
	}
	var out DefinitionApplied
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, out: &out}))
}
