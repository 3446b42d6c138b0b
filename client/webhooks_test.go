package client

import (
	"context"
	"net/http"
	"testing"
	"time"
)

func TestWebhookCalls(t *testing.T) {
	t.Parallel()
	const one = `{"uid":"w1","factory_uid":"f1","name":"ci","auth_mode":"token","secret_name":"CI","enabled":true,"needs_secret":false,"rate_limit":60,` +
		`"max_body_bytes":262144,"replay_guard":false,"ingress_url":"https://x/webhooks/w/w1","created_at":"2026-01-02T03:04:05.000000Z","updated_at":"2026-01-02T03:04:05.000000Z"}`
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	hook := Webhook{
		UID: "w1", FactoryUID: "f1", Name: "ci", AuthMode: "token", SecretName: "CI", Enabled: true, RateLimit: 60, MaxBodyBytes: 262144,
		IngressURL: "https://x/webhooks/w/w1", CreatedAt: at, UpdatedAt: at,
	}
	issued := hook
	issued.Secret = "s3cret"
	withSecret := one[:len(one)-1] + `,"secret":"s3cret"}`
	rotated := issued
	rotated.OldSecretUntil = new(at.Add(time.Hour))
	for _, tc := range []callCase{
		{
			"create", 201, withSecret,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Webhooks.Create(ctx, "f1", WebhookRequest{Name: "ci", RateLimit: new(0), HMAC: &WebhookHMAC{Header: "X-Sig"}})
			},
			seen{method: "POST", path: "/api/v1/factory/f1/webhooks", body: `{"name":"ci","rate_limit":0,"hmac":{"header":"X-Sig"}}`},
			&issued,
		},
		{
			"get", 200, one,
			func(ctx context.Context, c *Client) (any, error) { return c.Webhooks.Get(ctx, "f1", "w1") },
			seen{method: "GET", path: "/api/v1/factory/f1/webhooks/w1"},
			&hook,
		},
		{
			"list", 200, `{"webhooks":[` + one + `],"page_info":{"has_next_page":false}}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Webhooks.List(ctx, "f1") },
			seen{method: "GET", path: "/api/v1/factory/f1/webhooks"},
			[]Webhook{hook},
		},
		{
			"update", 200, one,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Webhooks.Update(ctx, "f1", "w1", WebhookUpdate{Enabled: new(false), DeliveryIDHeader: new("")})
			},
			seen{method: "PATCH", path: "/api/v1/factory/f1/webhooks/w1", body: `{"delivery_id_header":"","enabled":false}`},
			&hook,
		},
		{
			"rotate", 200, withSecret[:len(withSecret)-1] + `,"old_secret_until":"2026-01-02T04:04:05.000000Z"}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Webhooks.Rotate(ctx, "f1", "w1", WebhookRotation{OverlapSeconds: 60})
			},
			seen{method: "POST", path: "/api/v1/factory/f1/webhooks/w1/rotate", body: `{"overlap_seconds":60}`},
			&rotated,
		},
		{
			"delete", 204, ``,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Webhooks.Delete(ctx, "f1", "w1") },
			seen{method: "DELETE", path: "/api/v1/factory/f1/webhooks/w1"},
			nil,
		},
		{
			"ids are escaped", 200, one,
			func(ctx context.Context, c *Client) (any, error) { return c.Webhooks.Get(ctx, "a/b", "c d") },
			seen{method: "GET", path: "/api/v1/factory/a%2Fb/webhooks/c%20d"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
}

// What makes a secret is not sent again when its answer is lost.
func TestWebhookSecretsAreMadeOnce(t *testing.T) {
	t.Parallel()
	lost := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	for name, do := range map[string]func(context.Context, *Client) error{
		"create": func(ctx context.Context, c *Client) error {
			_, err := c.Webhooks.Create(ctx, "f", WebhookRequest{Name: "n"})
			return err
		},
		"rotate": func(ctx context.Context, c *Client) error {
			_, err := c.Webhooks.Rotate(ctx, "f", "w", WebhookRotation{})
			return err
		},
	} {
		c, s := scripted(t, lost)
		if err := do(t.Context(), c); err == nil || len(s.requests()) != 1 {
			t.Errorf("%s: %v after %d requests", name, err, len(s.requests()))
		}
	}
}

func TestWebhookCallsNeedIDs(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(500, ``))
	ctx := t.Context()
	for _, ids := range [][2]string{{"", "w"}, {"f", ""}, {"..", "w"}, {"f", "."}} {
		_, getErr := c.Webhooks.Get(ctx, ids[0], ids[1])
		_, updateErr := c.Webhooks.Update(ctx, ids[0], ids[1], WebhookUpdate{})
		_, rotateErr := c.Webhooks.Rotate(ctx, ids[0], ids[1], WebhookRotation{})
		for _, err := range []error{getErr, updateErr, rotateErr, c.Webhooks.Delete(ctx, ids[0], ids[1])} {
			if err == nil {
				t.Errorf("%v is taken", ids)
			}
		}
	}
	_, listErr := c.Webhooks.List(ctx, "")
	_, createErr := c.Webhooks.Create(ctx, "", WebhookRequest{})
	if listErr == nil || createErr == nil || len(s.requests()) != 0 {
		t.Errorf("%v, %v, %d requests", listErr, createErr, len(s.requests()))
	}
}
