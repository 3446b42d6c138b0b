package client

import (
	"context"
	"net/http"
	"net/url"
)

// WebhooksService manages the webhooks of factories. It is part of a Client.
type WebhooksService struct{ c *Client }

// Create makes a webhook. It is not repeated when its answer is lost: the secret
// would be lost with it.
func (s *WebhooksService) Create(ctx context.Context, factoryUID string, req WebhookRequest) (*Webhook, error) {
	path, err := factoryPath(factoryUID, "/webhooks")
	if err != nil {
		return nil, err
	}
	var out Webhook
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out}))
}

// Get reads one webhook.
func (s *WebhooksService) Get(ctx context.Context, factoryUID, uid string) (*Webhook, error) {
	path, err := webhookPath(factoryUID, uid, "")
	if err != nil {
		return nil, err
	}
	return get[Webhook](ctx, s.c, path, nil)
}

// List reads all webhooks of a factory, by name.
func (s *WebhooksService) List(ctx context.Context, factoryUID string) ([]Webhook, error) {
	path, err := factoryPath(factoryUID, "/webhooks")
	if err != nil {
		return nil, err
	}
	list := []Webhook{}
	for w, err := range pages("", func(cursor string) ([]Webhook, PageInfo, error) {
		var query url.Values
		if cursor != "" {
			query = url.Values{"cursor": {cursor}}
		}
		var page struct {
			Webhooks []Webhook `json:"webhooks"`
			PageInfo PageInfo  `json:"page_info"`
		}
		err := s.c.do(ctx, call{method: http.MethodGet, path: path, query: query, out: &page, replay: true})
		return page.Webhooks, page.PageInfo, err
	}) {
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

// Update changes what the request names. Sending it twice does the same.
func (s *WebhooksService) Update(ctx context.Context, factoryUID, uid string, req WebhookUpdate) (*Webhook, error) {
	path, err := webhookPath(factoryUID, uid, "")
	if err != nil {
		return nil, err
	}
	var out Webhook
	return result(&out, s.c.do(ctx, call{method: http.MethodPatch, path: path, body: req, out: &out, replay: true}))
}

// Rotate replaces the secret, or gives a webhook the one that it waits for.
func (s *WebhooksService) Rotate(ctx context.Context, factoryUID, uid string, req WebhookRotation) (*Webhook, error) {
	path, err := webhookPath(factoryUID, uid, "/rotate")
	if err != nil {
		return nil, err
	}
	var out Webhook
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out}))
}

// Delete ends a webhook at once; the log of its deliveries stays for a while.
func (s *WebhooksService) Delete(ctx context.Context, factoryUID, uid string) error {
	path, err := webhookPath(factoryUID, uid, "")
	if err != nil {
		return err
	}
	return s.c.remove(ctx, path)
}

func webhookPath(factoryUID, uid, rest string) (string, error) {
	part, err := segment("webhook", uid)
	if err != nil {
		return "", err
	}
	return factoryPath(factoryUID, "/webhooks/"+part+rest)
}
