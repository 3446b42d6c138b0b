package api

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
)

// Factory groups agents, automations and webhooks.
type Factory struct {
	UID          string             `json:"uid"`
	Name         string             `json:"name"`
	Alias        *string            `json:"alias" nullable:"true" doc:"A short name, unique whatever its case; null when there is none."`
	Description  *string            `json:"description" nullable:"true"`
	Mode         string             `json:"mode" enum:"managed,repository" doc:"managed is edited here, repository in a Git repository."`
	Repository   *FactoryRepository `json:"repository,omitempty" doc:"How far it has followed its repository; absent when it is managed."`
	ForemanAgent string             `json:"foreman_agent" doc:"The name of the agent that gets work that names no agent."`
	Revision     int64              `json:"revision" doc:"Grows with every change to the factory or a part of it."`
	Paused       bool               `json:"paused" doc:"While true its automations start no runs; deliveries are still accepted and logged."`
	DailyBudget  *Budget            `json:"daily_budget,omitempty" doc:"Once its runs have used this much since 00:00 UTC, it starts no more; absent if there is none."`
	SpentToday   *Spending          `json:"spent_today,omitempty" doc:"What its runs have used since 00:00 UTC; not in lists."`
	CreatedAt    string             `json:"created_at" format:"date-time"`
	UpdatedAt    string             `json:"updated_at" format:"date-time"`
}

// Spending is what was consumed in a stretch of time.
type Spending struct {
	Tokens  int64   `json:"tokens" doc:"Tokens both ways."`
	CostUSD float64 `json:"cost_usd" doc:"US dollars, as far as prices are known."`
}

// CreateFactoryRequest asks for a factory.
type CreateFactoryRequest struct {
	Name        string            `json:"name" minLength:"1" maxLength:"200"`
	Alias       string            `json:"alias,omitempty" maxLength:"60" doc:"Letters, digits, spaces, '.', '_' and '-'; unique whatever its case."`
	Description string            `json:"description,omitempty" maxLength:"2000"`
	Repository  *RepositorySource `json:"repository,omitempty" doc:"What the factory follows; without it the factory is edited here. Its definition is applied as soon as it has been read."`
}

// UpdateFactoryRequest changes a factory; what is absent stays.
type UpdateFactoryRequest struct {
	Name        *string          `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Alias       *string          `json:"alias,omitempty" maxLength:"60" doc:"Empty removes it."`
	Description *string          `json:"description,omitempty" maxLength:"2000" doc:"Empty removes it."`
	Paused      *bool            `json:"paused,omitempty" doc:"Stops or resumes the factory's automations."`
	DailyBudget BudgetUpdate     `json:"daily_budget,omitzero"`
	Repository  RepositoryUpdate `json:"repository,omitzero"`
}

// BudgetUpdate is absent to keep, null to remove the budget, or the whole new one.
type BudgetUpdate struct {
	Set    bool
	Budget *Budget
}

// UnmarshalJSON distinguishes null from absent.
func (u *BudgetUpdate) UnmarshalJSON(data []byte) error {
	*u = BudgetUpdate{Set: true}
	return typeError("daily_budget", jsonbody.Unmarshal(data, &u.Budget))
}

// MarshalJSON writes what is read.
func (u BudgetUpdate) MarshalJSON() ([]byte, error) { return json.Marshal(u.Budget) }

// IsZero says that nothing is asked for.
func (u BudgetUpdate) IsZero() bool { return !u.Set }

// Schema implements huma.SchemaProvider.
func (BudgetUpdate) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "The whole new budget; null or an empty object removes it.",
		AnyOf:       []*huma.Schema{r.Schema(reflect.TypeFor[Budget](), true, ""), {Type: "null"}},
	}
}

func (u BudgetUpdate) domain() *lineshaft.Budget {
	if u.Set && u.Budget == nil {
		return &lineshaft.Budget{}
	}
	return u.Budget.domain()
}

// ListFactoriesResponse is a page of factories in the order of their making.
type ListFactoriesResponse struct {
	Factories []Factory `json:"factories"`
	PageInfo  PageInfo  `json:"page_info"`
}

// FactoryPath is the part of a path that names a factory. It is exported because
// huma reads no parameters of an embedded type that is not.
type FactoryPath struct {
	FactoryUID string `path:"factoryUid" doc:"The uid of a factory."`
}

type ofFactory[T any] struct {
	FactoryPath
	Body T
}

type listFactoriesInput struct {
	Search string `query:"search" maxLength:"200" doc:"A part of the name or alias, in any case."`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"100"`
	Cursor string `query:"cursor" maxLength:"4096" doc:"From page_info.next_cursor, with the same search."`
}

func (s *server) createFactory(ctx context.Context, in *given[CreateFactoryRequest]) (*answer[Factory], error) {
	return shown(wireFactory)(s.Control.CreateFactory(ctx, callerOf(ctx), factories.NewFactory{
		Name: in.Body.Name, Alias: in.Body.Alias, Description: in.Body.Description, Repository: in.Body.Repository.domain(),
	}))
}

func (s *server) listFactories(ctx context.Context, in *listFactoriesInput) (*answer[ListFactoriesResponse], error) {
	page, err := s.Control.ListFactories(ctx, callerOf(ctx), factories.FactoryQuery{Search: in.Search, Limit: in.Limit, Cursor: in.Cursor})
	return reply(ListFactoriesResponse{each(page.Factories, wireFactory), pageInfo(page.Next)}, err)
}

func (s *server) getFactory(ctx context.Context, in *FactoryPath) (*answer[Factory], error) {
	return shown(wireFactory)(s.Control.GetFactory(ctx, callerOf(ctx), in.FactoryUID))
}

func (s *server) updateFactory(ctx context.Context, in *ofFactory[UpdateFactoryRequest]) (*answer[Factory], error) {
	return shown(wireFactory)(s.Control.UpdateFactory(ctx, callerOf(ctx), in.FactoryUID, factories.FactoryChange{
		Name: in.Body.Name, Alias: in.Body.Alias, Description: in.Body.Description, Paused: in.Body.Paused,
		DailyBudget: in.Body.DailyBudget.domain(),
		Repository:  in.Body.Repository.Source.domain(), Unlink: in.Body.Repository.Set && in.Body.Repository.Source == nil,
	}))
}

func (s *server) deleteFactory(ctx context.Context, in *FactoryPath) (*struct{}, error) {
	return nil, s.Control.DeleteFactory(ctx, callerOf(ctx), in.FactoryUID)
}

func wireFactory(f *lineshaft.Factory) Factory {
	wire := Factory{
		UID: f.UID, Name: f.Name, Alias: textOrNull(f.Alias), Description: textOrNull(f.Description), Mode: string(f.Mode), Repository: wireRepository(f.Repository),
		ForemanAgent: f.Foreman, Revision: f.Revision, Paused: f.Paused, CreatedAt: stamp(f.CreatedAt), UpdatedAt: stamp(f.UpdatedAt),
	}
	if f.DailyBudget != (lineshaft.Budget{}) {
		wire.DailyBudget = wireBudget(&f.DailyBudget)
	}
	if f.SpentToday != nil {
		wire.SpentToday = &Spending{Tokens: f.SpentToday.Tokens, CostUSD: float64(f.SpentToday.CostMicros) / 1e6}
	}
	return wire
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// FactoryRunRequest is work for the foreman of a factory.
type FactoryRunRequest struct {
	Prompt    string `json:"prompt" minLength:"1" maxLength:"1048576" doc:"What to do; the foreman gets it as it is."`
	Title     string `json:"title,omitempty" maxLength:"200" doc:"Made from the prompt when absent."`
	TicketRef string `json:"ticket_ref,omitempty" doc:"What the work is for, as source:id, such as linear:ENG-42. Made when absent."`
	TicketURL string `json:"ticket_url,omitempty" maxLength:"256"`
}

// FactoryRunResponse answers a request for work.
type FactoryRunResponse struct {
	FactoryUID   string   `json:"factory_uid"`
	ForemanAgent string   `json:"foreman_agent" doc:"The name of the agent that the work went to."`
	RunID        string   `json:"run_id"`
	State        RunState `json:"state"`
	TicketRef    string   `json:"ticket_ref"`
	RunURL       string   `json:"run_url,omitempty" format:"uri" doc:"The page on this server that shows the run."`
}

func (s *server) createFactoryRun(ctx context.Context, in *ofFactory[FactoryRunRequest]) (*kept[FactoryRunResponse], error) {
	info := infoFrom(ctx)
	done, err := s.Control.DispatchRun(ctx, info.caller, in.FactoryUID, factories.Dispatch{
		Prompt: in.Body.Prompt, Title: in.Body.Title, TicketRef: in.Body.TicketRef, TicketURL: in.Body.TicketURL, Source: info.source,
	}, info.idempotency)
	return keep(done.Replayed, FactoryRunResponse{
		FactoryUID: done.FactoryUID, ForemanAgent: done.Foreman, RunID: done.RunID, State: RunState(done.State), TicketRef: done.TicketRef,
		RunURL: s.BaseURL + "/runs/" + done.RunID,
	}, err)
}

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
	SeenCommit    string                  `json:"seen_commit,omitempty" doc:"The newest commit that was checked."`
	AppliedCommit string                  `json:"applied_commit,omitempty" doc:"The commit that is in force; absent before the first."`
	CheckedAt     string                  `json:"checked_at,omitempty" format:"date-time" doc:"When the repository was last checked."`
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

// UnmarshalJSON distinguishes null from absent.
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
		Description: "What the factory follows from now on; null makes it a managed one with the definition that is in force.",
		AnyOf:       []*huma.Schema{r.Schema(reflect.TypeFor[RepositorySource](), true, "RepositorySource"), {Type: "null"}},
	}
}

func (r *RepositorySource) domain() *lineshaft.GitSource { return (*lineshaft.GitSource)(r) }

func wireRepository(s *lineshaft.GitStatus) *FactoryRepository {
	if s == nil {
		return nil
	}
	return &FactoryRepository{
		URL: s.Source.URL, Branch: s.Source.Branch, Path: s.Source.Path, SeenCommit: s.Seen, AppliedCommit: s.Applied,
		CheckedAt: stampOrEmpty(s.CheckedAt), AppliedAt: stampOrEmpty(s.AppliedAt), Problems: orEmpty(s.Problems), Fault: s.Fault,
	}
}

func (s *server) syncRepository(ctx context.Context, in *FactoryPath) (*answer[Factory], error) {
	return shown(wireFactory)(s.Control.SyncRepository(ctx, callerOf(ctx), in.FactoryUID))
}

func stampOrEmpty(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}
