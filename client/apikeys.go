package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const apiKeysPath = "/apikeys"

// APIKeysService manages API keys. It is part of a Client.
type APIKeysService struct{ c *Client }

// APIKeyRequest asks for a key.
type APIKeyRequest struct {
	Name string `json:"name"`
	// Role is viewer, member, manager, admin or worker.
	Role      string     `json:"role"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// WorkerIDs are the ids that a worker key may claim runs for.
	WorkerIDs []string `json:"worker_ids,omitempty"`
	// FactoryUIDs limits what the key sees and touches; empty means everything.
	FactoryUIDs []string `json:"factory_uids,omitempty"`
	// Owner is who the key acts as; nil is a service account with the key's name.
	Owner *Principal `json:"owner,omitempty"`
}

// APIKey describes a key.
type APIKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role"`
	// Key is the key itself. Only Create returns it; the server does not keep it.
	Key         string     `json:"key,omitempty"`
	Hint        string     `json:"hint,omitempty"`
	Owner       *Principal `json:"owner,omitempty"`
	WorkerIDs   []string   `json:"worker_ids,omitempty"`
	FactoryUIDs []string   `json:"factory_uids,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
	RevokedAt   *time.Time `json:"revoked_at,omitempty"`
	LastUsedAt  *time.Time `json:"last_used_at,omitempty"`
}

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
