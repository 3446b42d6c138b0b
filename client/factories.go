package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

const factoriesPath = "/factory"

// FactoriesService manages factories. It is part of a Client.
type FactoriesService struct{ c *Client }

// FactoryQuery selects a page of factories.
type FactoryQuery struct {
	// Search is a part of the name or alias, in any case.
	Search string
	// Limit is the size of a page: 1 to 100; the default is 50.
	Limit  int
	Cursor string
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
