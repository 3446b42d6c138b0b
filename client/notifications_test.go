package client

import (
	"context"
	"encoding/json"
	"testing"
)

func TestC1NotificationCalls(t *testing.T) {
	t.Parallel()
	text, notification := example[Notification](t, "notification")
	issuedText, issued := example[Notification](t, "create_notification_response")
	listText, list := example[struct {
		Notifications []Notification `json:"notifications"`
	}](t, "list_notifications_response")
	_, request := example[NotificationRequest](t, "create_notification_request")
	_, update := example[NotificationUpdate](t, "update_notification_request")
	_, rotation := example[NotificationRotation](t, "rotate_notification_request")
	if issued.Secret == "" || notification.LastSuccessAt == nil || len(notification.States) != 3 {
		t.Fatalf("%+v", notification)
	}
	body := func(v any) string {
		t.Helper()
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	const path = "/api/v1/notifications"
	for _, tc := range []callCase{
		{
			"create", 201, issuedText,
			func(ctx context.Context, c *Client) (any, error) { return c.Notifications.Create(ctx, *request) },
			seen{method: "POST", path: path, body: body(request)},
			issued,
		},
		{
			"list", 200, listText,
			func(ctx context.Context, c *Client) (any, error) { return c.Notifications.List(ctx) },
			seen{method: "GET", path: path},
			list.Notifications,
		},
		{
			"get", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Notifications.Get(ctx, "a/b") },
			seen{method: "GET", path: path + "/a%2Fb"},
			notification,
		},
		{
			"update", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Notifications.Update(ctx, "n", *update) },
			seen{method: "PATCH", path: path + "/n", body: body(update)},
			notification,
		},
		{
			"rotate", 200, issuedText,
			func(ctx context.Context, c *Client) (any, error) { return c.Notifications.Rotate(ctx, "n", *rotation) },
			seen{method: "POST", path: path + "/n/rotate", body: body(rotation)},
			issued,
		},
		{
			"delete", 204, "",
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Notifications.Delete(ctx, "n") },
			seen{method: "DELETE", path: path + "/n"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestC1NotificationDeliveryCalls(t *testing.T) {
	t.Parallel()
	deliveryText, delivery := example[NotificationDelivery](t, "notification_delivery")
	pageText, page := example[NotificationDeliveryPage](t, "list_notification_deliveries_response")
	if len(delivery.Attempts) != 2 || len(delivery.Payload) == 0 || delivery.FinishedAt == nil || !page.PageInfo.HasNextPage {
		t.Fatalf("%+v", delivery)
	}
	const path = "/api/v1/notifications"
	for _, tc := range []callCase{
		{
			"test", 202, deliveryText,
			func(ctx context.Context, c *Client) (any, error) { return c.Notifications.Test(ctx, "n") },
			seen{method: "POST", path: path + "/n/test"},
			delivery,
		},
		{
			"deliveries", 200, pageText,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Notifications.Deliveries(ctx, "n", NotificationDeliveryQuery{Status: "failed", Limit: 7, Cursor: "c"})
			},
			seen{method: "GET", path: path + "/n/deliveries", query: "cursor=c&limit=7&status=failed"},
			page,
		},
		{
			"delivery", 200, deliveryText,
			func(ctx context.Context, c *Client) (any, error) { return c.Notifications.Delivery(ctx, "n", "d/e") },
			seen{method: "GET", path: path + "/n/deliveries/d%2Fe"},
			delivery,
		},
		{
			"replay", 202, deliveryText,
			func(ctx context.Context, c *Client) (any, error) { return c.Notifications.Replay(ctx, "n", "d") },
			seen{method: "POST", path: path + "/n/deliveries/d/replay"},
			delivery,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestC1AllDeliveriesGoesThroughThePages(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{"deliveries":[{"id":"1"},{"id":"2"}],"page_info":{"has_next_page":true,"next_cursor":"x"}}`), answer(200, `{"deliveries":[{"id":"3"}],"page_info":{"has_next_page":false}}`))
	var got string
	for d, err := range c.Notifications.AllDeliveries(t.Context(), "n", NotificationDeliveryQuery{Status: "pending"}) {
		if err != nil {
			t.Fatal(err)
		}
		got += d.ID
	}
	if asked := s.requests(); got != "123" || len(asked) != 2 || asked[1].query != "cursor=x&status=pending" {
		t.Errorf("got %s by %+v", got, asked)
	}
	if _, err := c.Notifications.Get(t.Context(), ".."); err == nil {
		t.Error("an id that is a way up is sent")
	}
}
