package api

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
)

// RepositorySource is a folder of a Git repository that a factory follows.
type RepositorySource struct {
	URL    string `json:"url" minLength:"1" maxLength:"2048" doc:"An https or ssh address without credentials."`
	Branch string `json:"branch,omitempty" maxLength:"250" doc:"The branch that is followed; the repository's default one when absent."`
	Path   string `json:"path,omitempty" maxLength:"512" doc:"The folder of the definition; the root when absent."`
}

// FactoryRepository is how far a factory has followed its repository.
type FactoryRepository struct {
	URL           string                  `json:"url"`
	Branch        string                  `json:"branch,omitempty" doc:"Absent for the repository's default branch."`
	Path          string                  `json:"path,omitempty" doc:"Absent for the root."`
	SeenCommit    string                  `json:"seen_commit,omitempty" doc:"The newest commit that was looked at."`
	AppliedCommit string                  `json:"applied_commit,omitempty" doc:"The commit that is in force; absent before the first."`
	CheckedAt     string                  `json:"checked_at,omitempty" format:"date-time" doc:"When the repository was last looked at."`
	AppliedAt     string                  `json:"applied_at,omitempty" format:"date-time" doc:"When the commit in force was applied."`
	Problems      []lineshaft.FileProblem `json:"problems" doc:"Why the commit that was seen is not in force, by place in the repository."`
	Fault         string                  `json:"fault,omitempty" doc:"Why the repository could not be read when it was last tried."`
}

// RepositoryUpdate is absent to keep, null to edit the factory here again, or what to
// follow.
type RepositoryUpdate struct {
	Set    bool
	Source *RepositorySource
}

// UnmarshalJSON tells null from absent.
func (u *RepositoryUpdate) UnmarshalJSON(data []byte) error {
	*u = RepositoryUpdate{Set: true}
	if string(bytes.TrimSpace(data)) == "null" {
		return nil
	}
	u.Source = &RepositorySource{}
	return jsonbody.Unmarshal(data, u.Source)
}

// MarshalJSON writes what is read.
func (u RepositoryUpdate) MarshalJSON() ([]byte, error) { return json.Marshal(u.Source) }

// IsZero says that nothing is asked for.
func (u RepositoryUpdate) IsZero() bool { return !u.Set }

// Schema implements huma.SchemaProvider.
func (RepositoryUpdate) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "What the factory is to follow, from now on and instead of anything before; null makes it a managed one with the definition that is in force.",
		AnyOf:       []*huma.Schema{r.Schema(reflect.TypeFor[RepositorySource](), true, "RepositorySource"), {Type: "null"}},
	}
}

func (r *RepositorySource) domain() *lineshaft.GitSource {
	if r == nil {
		return nil
	}
	return &lineshaft.GitSource{URL: r.URL, Branch: r.Branch, Path: r.Path}
}

func wireRepository(s *lineshaft.GitStatus) *FactoryRepository {
	if s == nil {
		return nil
	}
	problems := s.Problems
	if problems == nil {
		problems = []lineshaft.FileProblem{}
	}
	return &FactoryRepository{
		URL: s.Source.URL, Branch: s.Source.Branch, Path: s.Source.Path, SeenCommit: s.Seen, AppliedCommit: s.Applied,
		CheckedAt: stampOrEmpty(s.CheckedAt), AppliedAt: stampOrEmpty(s.AppliedAt), Problems: problems, Fault: s.Fault,
	}
}

func (s *server) syncRepository(ctx context.Context, in *FactoryPath) (*factoryOutput, error) {
	found, err := s.Control.SyncRepository(ctx, infoFrom(ctx).caller, in.FactoryUID)
	if err != nil {
		return nil, err
	}
	return &factoryOutput{wireFactory(found)}, nil
}

// stampOrEmpty is empty for the zero time.
func stampOrEmpty(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}
