package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// WebhooksService manages the webhooks of factories. It is part of a Client.
type WebhooksService struct{ c *Client }

// Webhook is an address that outside systems send deliveries to.
type Webhook struct {
	UID        string `json:"uid"`
	FactoryUID string `json:"factory_uid"`
	Name       string `json:"name"`
	// AuthMode is token, url_token or signature.
	AuthMode        string `json:"auth_mode"`
	SignatureScheme string `json:"signature_scheme,omitempty"`
	// SecretName is the managed secret that keeps the credential.
	SecretName       string `json:"secret_name"`
	DeliveryIDHeader string `json:"delivery_id_header,omitempty"`
	// Enabled is false for a webhook that answers 404.
	Enabled bool `json:"enabled"`
	// NeedsSecret says that the provider's secret is still to come; Rotate takes it.
	NeedsSecret bool `json:"needs_secret"`
	// RateLimit is in deliveries per minute; 0 means none.
	RateLimit    int          `json:"rate_limit"`
	MaxBodyBytes int          `json:"max_body_bytes"`
	ReplayGuard  bool         `json:"replay_guard"`
	HMAC         *WebhookHMAC `json:"hmac,omitempty"`
	// OldSecretUntil is when the secret of before the last rotation ends; nil when
	// only the newest counts.
	OldSecretUntil *time.Time `json:"old_secret_until,omitempty"`
	// IngressURL is where deliveries are sent. For url_token it ends in the
	// placeholder {token}, unless Secret is set.
	IngressURL string    `json:"ingress_url"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	// Secret is what the server generated. Only Create and Rotate return it, once.
	Secret string `json:"secret,omitempty"`
}

// WebhookHMAC holds the settings of the signature scheme hmac.
type WebhookHMAC struct {
	// Header carries the signature, Prefix stands before it.
	Header string `json:"header"`
	Prefix string `json:"prefix,omitempty"`
	// Digest is sha256 when empty, Encoding is hex, Template is {body}.
	Digest          string `json:"digest,omitempty"`
	Encoding        string `json:"encoding,omitempty"`
	Template        string `json:"template,omitempty"`
	TimestampHeader string `json:"timestamp_header,omitempty"`
	IDHeader        string `json:"id_header,omitempty"`
}

// WebhookRequest asks for a webhook; only the name is needed.
type WebhookRequest struct {
	Name string `json:"name"`
	// AuthMode is token when empty.
	AuthMode        string `json:"auth_mode,omitempty"`
	SignatureScheme string `json:"signature_scheme,omitempty"`
	// Secret is the secret to use; empty has one generated, takes the one of
	// SecretName, or waits for the provider's.
	Secret           string       `json:"secret,omitempty"`
	SecretName       string       `json:"secret_name,omitempty"`
	DeliveryIDHeader string       `json:"delivery_id_header,omitempty"`
	Enabled          *bool        `json:"enabled,omitempty"`
	RateLimit        *int         `json:"rate_limit,omitempty"`
	MaxBodyBytes     *int         `json:"max_body_bytes,omitempty"`
	ReplayGuard      bool         `json:"replay_guard,omitempty"`
	HMAC             *WebhookHMAC `json:"hmac,omitempty"`
}

// WebhookUpdate changes a webhook: nil keeps, an empty header clears. Name, mode and
// scheme stay for its life.
type WebhookUpdate struct {
	SecretName       *string      `json:"secret_name,omitempty"`
	DeliveryIDHeader *string      `json:"delivery_id_header,omitempty"`
	Enabled          *bool        `json:"enabled,omitempty"`
	RateLimit        *int         `json:"rate_limit,omitempty"`
	MaxBodyBytes     *int         `json:"max_body_bytes,omitempty"`
	ReplayGuard      *bool        `json:"replay_guard,omitempty"`
	HMAC             *WebhookHMAC `json:"hmac,omitempty"`
}

// WebhookRotation asks for a new secret.
type WebhookRotation struct {
	// Secret is the new one; empty has one generated.
	Secret string `json:"secret,omitempty"`
	// OverlapSeconds is how long the old one stays valid.
	OverlapSeconds int `json:"overlap_seconds,omitempty"`
}

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
