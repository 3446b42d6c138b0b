package client

import (
	"context"
	"iter"
	"net/http"
)

const notificationsPath = "/notifications"

// NotificationsService manages the endpoints that get the state changes of runs as
// callbacks. It is part of a Client.
type NotificationsService struct{ c *Client }

// NotificationDeliveryQuery selects a part of an endpoint's log.
type NotificationDeliveryQuery struct {
	// Status is pending, delivered or failed; empty is all.
	Status string
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// Create makes an endpoint. It is not repeated when its answer is lost: the secret
// would be lost with it.
func (s *NotificationsService) Create(ctx context.Context, req NotificationRequest) (*Notification, error) {
	var out Notification
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: notificationsPath, body: req, out: &out}))
}

// List reads all endpoints that the key may see, the oldest first.
func (s *NotificationsService) List(ctx context.Context) ([]Notification, error) {
	var page struct {
		Notifications []Notification `json:"notifications"`
	}
	err := s.c.do(ctx, call{method: http.MethodGet, path: notificationsPath, out: &page, replay: true})
	return page.Notifications, err
}

// Get reads one endpoint.
func (s *NotificationsService) Get(ctx context.Context, id string) (*Notification, error) {
	path, err := notificationPath(id, "")
	if err != nil {
		return nil, err
	}
	return get[Notification](ctx, s.c, path, nil)
}

// Update changes what the request names. Sending it twice does the same.
func (s *NotificationsService) Update(ctx context.Context, id string, req NotificationUpdate) (*Notification, error) {
	path, err := notificationPath(id, "")
	if err != nil {
		return nil, err
	}
	var out Notification
	return result(&out, s.c.do(ctx, call{method: http.MethodPatch, path: path, body: req, out: &out, replay: true}))
}

// Rotate replaces the secret.
func (s *NotificationsService) Rotate(ctx context.Context, id string, req NotificationRotation) (*Notification, error) {
	path, err := notificationPath(id, "/rotate")
	if err != nil {
		return nil, err
	}
	var out Notification
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out}))
}

// Delete ends an endpoint: nothing more is sent to it.
func (s *NotificationsService) Delete(ctx context.Context, id string) error {
	path, err := notificationPath(id, "")
	if err != nil {
		return err
	}
	return s.c.remove(ctx, path)
}

// Test sends a callback of type notification.test, as state changes are sent.
func (s *NotificationsService) Test(ctx context.Context, id string) (*NotificationDelivery, error) {
	path, err := notificationPath(id, "/test")
	if err != nil {
		return nil, err
	}
	var out NotificationDelivery
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, out: &out}))
}

// Deliveries reads one page of the log of an endpoint.
func (s *NotificationsService) Deliveries(ctx context.Context, id string, q NotificationDeliveryQuery) (*NotificationDeliveryPage, error) {
	path, err := notificationPath(id, "/deliveries")
	if err != nil {
		return nil, err
	}
	query := pageQuery(q.Limit, q.Cursor)
	if q.Status != "" {
		query.Set("status", q.Status)
	}
	return get[NotificationDeliveryPage](ctx, s.c, path, query)
}

// AllDeliveries goes through the log of an endpoint, newest first, page by page.
func (s *NotificationsService) AllDeliveries(ctx context.Context, id string, q NotificationDeliveryQuery) iter.Seq2[NotificationDelivery, error] {
	return pages(q.Cursor, func(cursor string) ([]NotificationDelivery, PageInfo, error) {
		q.Cursor = cursor
		page, err := s.Deliveries(ctx, id, q)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return page.Deliveries, page.PageInfo, nil
	})
}

// Delivery reads one delivery with its attempts and payload.
func (s *NotificationsService) Delivery(ctx context.Context, id, deliveryID string) (*NotificationDelivery, error) {
	path, err := notificationDeliveryPath(id, deliveryID, "")
	if err != nil {
		return nil, err
	}
	return get[NotificationDelivery](ctx, s.c, path, nil)
}

// Replay sends a delivery again, with the same webhook-id and payload.
func (s *NotificationsService) Replay(ctx context.Context, id, deliveryID string) (*NotificationDelivery, error) {
	path, err := notificationDeliveryPath(id, deliveryID, "/replay")
	if err != nil {
		return nil, err
	}
	var out NotificationDelivery
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, out: &out, replay: true}))
}

func notificationPath(id, rest string) (string, error) {
	part, err := segment("notification", id)
	if err != nil {
		return "", err
	}
	return notificationsPath + "/" + part + rest, nil
}

func notificationDeliveryPath(id, deliveryID, rest string) (string, error) {
	part, err := segment("delivery", deliveryID)
	if err != nil {
		return "", err
	}
	return notificationPath(id, "/deliveries/"+part+rest)
}
