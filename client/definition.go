package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// DefinitionsService handles factories as folders of files. It is part of a Client.
type DefinitionsService struct{ c *Client }

// FileProblem is a mistake in a file of a definition. Line and column count from 1;
// 0 means the file as a whole.
type FileProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	// Hint says what to do.
	Hint string `json:"hint,omitempty"`
	// Code is the published one of such mistakes, such as FF_UNKNOWN_FIELD; empty for
	// those that only a server finds.
	Code string `json:"code,omitempty"`
}

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

// DefinitionValidation tells what is wrong with a folder.
type DefinitionValidation struct {
	Valid    bool          `json:"valid"`
	Problems []FileProblem `json:"problems"`
	// Unused are files that are accepted and not used.
	Unused []string `json:"unused"`
	// Notices are what is no mistake but should be known, such as keys without effect.
	Notices []FileProblem `json:"notices"`
}

// DefinitionChange is one difference between a factory and a folder.
type DefinitionChange struct {
	// Action is add, change or remove.
	Action string `json:"action"`
	// Kind is factory, agent, automation, webhook, runner or skill.
	Kind string `json:"kind"`
	Name string `json:"name"`
	File string `json:"file"`
	// Fields are what differs of a part that is changed.
	Fields []DefinitionFieldChange `json:"fields,omitempty"`
	Note   string                  `json:"note,omitempty"`
}

// DefinitionFieldChange is a value before and after, as it is written in a file;
// empty is absent.
type DefinitionFieldChange struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// DefinitionBacktest tells what a changed automation would have made of the stored
// deliveries.
type DefinitionBacktest struct {
	Automation string `json:"automation"`
	Action     string `json:"action"`
	// Deliveries is how many were looked at.
	Deliveries int `json:"deliveries"`
	// Starts is how many of them would newly start a run, Stops how many would not any more.
	Starts int `json:"starts"`
	Stops  int `json:"stops"`
	// Truncated says that there are more deliveries than were looked at.
	Truncated bool `json:"truncated"`
}

// DefinitionPlan tells what an apply would do.
type DefinitionPlan struct {
	// Revision is that of the definition in force; give it to Apply as IfRevision. It is 0
	// for a factory that is not there yet.
	Revision  int64                `json:"revision"`
	Changes   []DefinitionChange   `json:"changes"`
	Backtests []DefinitionBacktest `json:"backtests"`
	Unused    []string             `json:"unused"`
	// Notices are what is no mistake but should be known, such as keys without effect.
	Notices []FileProblem `json:"notices"`
}

// DefinitionRequest is a folder to apply.
type DefinitionRequest struct {
	// Files are texts by path.
	Files   map[string]string `json:"files"`
	Comment string            `json:"comment,omitempty"`
	// IfRevision, unless 0, refuses if the definition is of another revision by now.
	IfRevision int64 `json:"if_revision,omitempty"`
}

// DefinitionApplied tells what an apply did.
type DefinitionApplied struct {
	Revision int64 `json:"revision"`
	// Changed is false when everything was like that already.
	Changed bool               `json:"changed"`
	Changes []DefinitionChange `json:"changes"`
	Unused  []string           `json:"unused"`
	Notices []FileProblem      `json:"notices"`
}

// Definition is a factory as a folder.
type Definition struct {
	Revision int64             `json:"revision"`
	Files    map[string]string `json:"files"`
}

// DefinitionRevision is one state of a factory's definition.
type DefinitionRevision struct {
	Number int64 `json:"number"`
	// Source is edit, apply, rollback or repository.
	Source  string    `json:"source"`
	Actor   Principal `json:"actor"`
	Comment string    `json:"comment,omitempty"`
	// Commit is that of the repository that the factory follows.
	Commit    string    `json:"commit,omitempty"`
	FileCount int       `json:"file_count"`
	CreatedAt time.Time `json:"created_at"`
	// Files is only set by Revision.
	Files map[string]string `json:"files,omitempty"`
}

// RevisionQuery selects a page of revisions.
type RevisionQuery struct {
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// RevisionPage is one page of revisions, newest first.
type RevisionPage struct {
	Revisions []DefinitionRevision `json:"revisions"`
	PageInfo  PageInfo             `json:"page_info"`
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
