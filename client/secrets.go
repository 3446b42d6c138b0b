package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const secretsPath = "/secrets"

// SecretsService manages the team's secrets. It is part of a Client.
type SecretsService struct{ c *Client }

// SecretRequest stores a secret.
type SecretRequest struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	// Access is granted (default) or runs.
	Access string `json:"access,omitempty"`
}

// SecretChange changes a secret; nil leaves it as it is.
type SecretChange struct {
	Value       *string `json:"value,omitempty"`
	Description *string `json:"description,omitempty"`
	Access      *string `json:"access,omitempty"`
}

// Secret describes a secret; its value cannot be read.
type Secret struct {
	Name string `json:"name"`
	// Kind is managed, or webhook for a webhook's credential.
	Kind        string    `json:"kind"`
	Access      string    `json:"access"`
	Description string    `json:"description,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// Create stores a secret; a taken name is an error with status 409.
func (s *SecretsService) Create(ctx context.Context, req SecretRequest) (*Secret, error) {
	var out Secret
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: secretsPath, body: req, out: &out, keyed: true}))
}

// Get reads a secret without its value.
func (s *SecretsService) Get(ctx context.Context, name string) (*Secret, error) {
	return s.one(ctx, http.MethodGet, name, nil)
}

// Update changes a secret.
func (s *SecretsService) Update(ctx context.Context, name string, change SecretChange) (*Secret, error) {
	return s.one(ctx, http.MethodPut, name, change)
}

func (s *SecretsService) one(ctx context.Context, method, name string, body any) (*Secret, error) {
	part, err := segment("secret", name)
	if err != nil {
		return nil, err
	}
	var out Secret
	return result(&out, s.c.do(ctx, call{method: method, path: secretsPath + "/" + part, body: body, out: &out, replay: true}))
}

// List reads all secrets by name, without their values.
func (s *SecretsService) List(ctx context.Context) ([]Secret, error) {
	return readAll(url.Values{}, func(query url.Values) ([]Secret, PageInfo, error) {
		var page struct {
			Secrets  []Secret `json:"secrets"`
			PageInfo PageInfo `json:"page_info"`
		}
		err := s.c.do(ctx, call{method: http.MethodGet, path: secretsPath, query: query, out: &page, replay: true})
		return page.Secrets, page.PageInfo, err
	})
}

// Delete removes a secret; one that is in use is an error with status 409.
func (s *SecretsService) Delete(ctx context.Context, name string) error {
	part, err := segment("secret", name)
	if err != nil {
		return err
	}
	return s.c.remove(ctx, secretsPath+"/"+part)
}
