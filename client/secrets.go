package client

import (
	"context"
	"net/http"
	"net/url"
)

const secretsPath = "/secrets"

// SecretsService manages the team's secrets. It is part of a Client.
type SecretsService struct{ c *Client }

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
