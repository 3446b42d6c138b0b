package api

import (
	"context"
	"encoding/json"
	"reflect"

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
	ForemanAgent string             `json:"foreman_agent" doc:"The name of the agent that work goes to when no other is named."`
	Revision     int64              `json:"revision" doc:"Grows with every change to the factory or a part of it."`
	Paused       bool               `json:"paused" doc:"While true its automations start no runs; deliveries are still accepted and logged."`
	DailyBudget  *Budget            `json:"daily_budget,omitempty" doc:"Once its runs consumed as much since 00:00 UTC, it starts no more; absent when there is none."`
	SpentToday   *Spending          `json:"spent_today,omitempty" doc:"What its runs consumed since 00:00 UTC; lists leave it out."`
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
	Repository  *RepositorySource `json:"repository,omitempty" doc:"What the factory follows; without it the factory is edited here. Its definition is put in force as soon as it has been read."`
}

// UpdateFactoryRequest changes a factory; what is absent stays.
type UpdateFactoryRequest struct {
	Name        *string          `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Alias       *string          `json:"alias,omitempty" maxLength:"60" doc:"Empty takes it away."`
	Description *string          `json:"description,omitempty" maxLength:"2000" doc:"Empty takes it away."`
	Paused      *bool            `json:"paused,omitempty" doc:"Stops or resumes the factory's automations."`
	DailyBudget BudgetUpdate     `json:"daily_budget,omitzero"`
	Repository  RepositoryUpdate `json:"repository,omitzero"`
}

// BudgetUpdate is absent to keep, null to take the budget away, or the whole new one.
type BudgetUpdate struct {
	Set    bool
	Budget *Budget
}

// UnmarshalJSON knows null from absent.
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
		Description: "The whole new one; null or an empty object takes it away.",
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

type (
	createFactoryInput struct{ Body CreateFactoryRequest }
	updateFactoryInput struct {
		FactoryPath
		Body UpdateFactoryRequest
	}
	listFactoriesInput struct {
		Search string `query:"search" maxLength:"200" doc:"A part of the name or alias, in any case."`
		Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"100"`
		Cursor string `query:"cursor" maxLength:"4096" doc:"From page_info.next_cursor, with the same search."`
	}
	factoryOutput       struct{ Body Factory }
	listFactoriesOutput struct{ Body ListFactoriesResponse }
)

func (s *server) createFactory(ctx context.Context, in *createFactoryInput) (*factoryOutput, error) {
	made, err := s.Control.CreateFactory(ctx, infoFrom(ctx).caller, factories.NewFactory{
		Name: in.Body.Name, Alias: in.Body.Alias, Description: in.Body.Description, Repository: in.Body.Repository.domain(),
	})
	if err != nil {
		return nil, err
	}
	return &factoryOutput{wireFactory(made)}, nil
}

func (s *server) listFactories(ctx context.Context, in *listFactoriesInput) (*listFactoriesOutput, error) {
	page, err := s.Control.ListFactories(ctx, infoFrom(ctx).caller, factories.FactoryQuery{Search: in.Search, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	out := &listFactoriesOutput{ListFactoriesResponse{Factories: []Factory{}, PageInfo: pageInfo(page.Next)}}
	for i := range page.Factories {
		out.Body.Factories = append(out.Body.Factories, wireFactory(&page.Factories[i]))
	}
	return out, nil
}

func (s *server) getFactory(ctx context.Context, in *FactoryPath) (*factoryOutput, error) {
	found, err := s.Control.GetFactory(ctx, infoFrom(ctx).caller, in.FactoryUID)
	if err != nil {
		return nil, err
	}
	return &factoryOutput{wireFactory(found)}, nil
}

func (s *server) updateFactory(ctx context.Context, in *updateFactoryInput) (*factoryOutput, error) {
	changed, err := s.Control.UpdateFactory(ctx, infoFrom(ctx).caller, in.FactoryUID, factories.FactoryChange{
		Name: in.Body.Name, Alias: in.Body.Alias, Description: in.Body.Description, Paused: in.Body.Paused,
		DailyBudget: in.Body.DailyBudget.domain(),
		Repository:  in.Body.Repository.Source.domain(), Unlink: in.Body.Repository.Set && in.Body.Repository.Source == nil,
	})
	if err != nil {
		return nil, err
	}
	return &factoryOutput{wireFactory(changed)}, nil
}

func (s *server) deleteFactory(ctx context.Context, in *FactoryPath) (*struct{}, error) {
	return nil, s.Control.DeleteFactory(ctx, infoFrom(ctx).caller, in.FactoryUID)
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
