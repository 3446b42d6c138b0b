package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

const factoriesPath = "/factory"

// FactoriesService manages factories. It is part of a Client.
type FactoriesService struct{ c *Client }

// Factory groups agents, automations and webhooks.
type Factory struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
	// Alias is a short name; it is unique, whatever its case, or empty.
	Alias       string `json:"alias"`
	Description string `json:"description"`
	// Mode is managed or repository.
	Mode string `json:"mode"`
	// Repository tells how far it has followed its repository; nil when it is managed.
	Repository *FactoryRepository `json:"repository,omitempty"`
	// ForemanAgent is the agent that work goes to when no other is named.
	ForemanAgent string `json:"foreman_agent"`
	// Revision grows with every change to the factory or a part of it.
	Revision int64 `json:"revision"`
	// Paused stops its automations from starting runs.
	Paused bool `json:"paused"`
	// DailyBudget keeps it from starting more runs in a day of UTC; nil when there is none.
	DailyBudget *Budget `json:"daily_budget,omitempty"`
	// SpentToday is what its runs consumed since 00:00 UTC; nil in lists.
	SpentToday *Spending `json:"spent_today,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

// Spending is what was consumed in a stretch of time.
type Spending struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

// FactoryRequest asks for a factory; only the name is needed.
type FactoryRequest struct {
	Name        string `json:"name"`
	Alias       string `json:"alias,omitempty"`
	Description string `json:"description,omitempty"`
	// Repository is what it follows; nil makes a managed one.
	Repository *RepositorySource `json:"repository,omitempty"`
}

// FactoryUpdate changes a factory: nil keeps, an empty alias or description clears.
type FactoryUpdate struct {
	Name        *string `json:"name,omitempty"`
	Alias       *string `json:"alias,omitempty"`
	Description *string `json:"description,omitempty"`
	Paused      *bool   `json:"paused,omitempty"`
	// DailyBudget is the whole new one; an empty one takes it away.
	DailyBudget *Budget `json:"daily_budget,omitempty"`
	// Repository is what it is to follow. Unlink takes that away.
	Repository *RepositorySource `json:"repository,omitempty"`
}

// FactoryQuery selects a page of factories.
type FactoryQuery struct {
	// Search is a part of the name or alias, in any case.
	Search string
	// Limit is the size of a page: 1 to 100; the default is 50.
	Limit  int
	Cursor string
}

// FactoryPage is one page of factories.
type FactoryPage struct {
	Factories []Factory `json:"factories"`
	PageInfo  PageInfo  `json:"page_info"`
}

// Create makes a factory with its foreman. It is not repeated when its
// answer is lost: the server could make two.
func (s *FactoriesService) Create(ctx context.Context, req FactoryRequest) (*Factory, error) {
	var out Factory
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: factoriesPath, body: req, out: &out}))
}

// Get reads one factory.
func (s *FactoriesService) Get(ctx context.Context, uid string) (*Factory, error) {
	path, err := factoryPath(uid, "")
	if err != nil {
		return nil, err
	}
	return get[Factory](ctx, s.c, path, nil)
}

// List reads one page of factories.
func (s *FactoriesService) List(ctx context.Context, q FactoryQuery) (*FactoryPage, error) {
	query := pageQuery(q.Limit, q.Cursor)
	if q.Search != "" {
		query.Set("search", q.Search)
	}
	return get[FactoryPage](ctx, s.c, factoriesPath, query)
}

// All goes through all factories that match, page by page.
func (s *FactoriesService) All(ctx context.Context, q FactoryQuery) iter.Seq2[Factory, error] {
	return pages(q.Cursor, func(cursor string) ([]Factory, PageInfo, error) {
		q.Cursor = cursor
		page, err := s.List(ctx, q)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return page.Factories, page.PageInfo, nil
	})
}

// Update changes what the request names. Sending it twice does the same.
func (s *FactoriesService) Update(ctx context.Context, uid string, req FactoryUpdate) (*Factory, error) {
	path, err := factoryPath(uid, "")
	if err != nil {
		return nil, err
	}
	var out Factory
	return result(&out, s.c.do(ctx, call{method: http.MethodPatch, path: path, body: req, out: &out, replay: true}))
}

// Delete removes a factory with its agents, automations and webhooks. Its runs stay.
func (s *FactoriesService) Delete(ctx context.Context, uid string) error {
	path, err := factoryPath(uid, "")
	if err != nil {
		return err
	}
	return s.c.remove(ctx, path)
}

func factoryPath(uid, rest string) (string, error) {
	part, err := segment("factory", uid)
	if err != nil {
		return "", err
	}
	return factoriesPath + "/" + part + rest, nil
}

func pageQuery(limit int, cursor string) url.Values {
	query := url.Values{}
	setLimit(query, limit)
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return query
}
