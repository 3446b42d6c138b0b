package client

import (
	"context"
	"net/http"
	"net/url"
)

const apiKeysPath = "/apikeys"

// APIKeysService manages API keys. It is part of a Client.
type APIKeysService struct{ c *Client }

// Create makes a key. It is not repeated when its answer is lost: a key that
// nobody has would stay behind.
func (s *APIKeysService) Create(ctx context.Context, req APIKeyRequest) (*APIKey, error) {
	var out APIKey
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: apiKeysPath, body: req, out: &out, keyed: true}))
}

// List reads all keys; the keys themselves are not in it.
func (s *APIKeysService) List(ctx context.Context) ([]APIKey, error) {
	return readAll(url.Values{}, func(query url.Values) ([]APIKey, PageInfo, error) {
		// Servers spell the name of the list in one of two ways.
		var page struct {
			APIKeys  []APIKey `json:"api_keys"`
			Keys     []APIKey `json:"apikeys"`
			PageInfo PageInfo `json:"page_info"`
		}
		err := s.c.do(ctx, call{method: http.MethodGet, path: apiKeysPath, query: query, out: &page, replay: true})
		return append(page.APIKeys, page.Keys...), page.PageInfo, err
	})
}

// Revoke makes a key useless at once and for good.
func (s *APIKeysService) Revoke(ctx context.Context, id string) error {
	part, err := segment("key", id)
	if err != nil {
		return err
	}
	return s.c.remove(ctx, apiKeysPath+"/"+part)
}
