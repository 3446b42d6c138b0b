package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

const notificationsPath = "/notifications"

// NotificationsService manages the endpoints that get the state changes of runs as
// callbacks. It is part of a Client.
type NotificationsService struct{ c *Client }

// Notification is an endpoint that gets the state changes of runs.
type Notification struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	URL         string `json:"url"`
	Description string `json:"description"`
	// States and RunName select changes when they are not empty, FactoryUIDs unless AllFactories is set.
	States       []RunState `json:"states"`
	FactoryUIDs  []string   `json:"factory_uids"`
	AllFactories bool       `json:"all_factories,omitempty"`
	RunName      string     `json:"run_name"`
	Enabled      bool       `json:"enabled"`
	// DisabledReason is why the server disabled it; empty when people did.
	DisabledReason string     `json:"disabled_reason,omitempty"`
	DisabledAt     *time.Time `json:"disabled_at,omitempty"`
	// OldSecretUntil is until when the secret of before the last rotation signs, too.
	OldSecretUntil *time.Time `json:"old_secret_until,omitempty"`
	LastSuccessAt  *time.Time `json:"last_success_at,omitempty"`
	LastFailureAt  *time.Time `json:"last_failure_at,omitempty"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
	// Secret is what the server generated. Only Create and Rotate return it, once.
	Secret string `json:"secret,omitempty"`
}

// NotificationRequest asks for an endpoint; only the URL is needed.
type NotificationRequest struct {
	URL string `json:"url"`
	// Name is the host of the URL when empty.
	Name        string     `json:"name,omitempty"`
	Description string     `json:"description,omitempty"`
	States      []RunState `json:"states,omitempty"`
	FactoryUIDs []string   `json:"factory_uids,omitempty"`
	// AllFactories may be given in place of FactoryUIDs; it is what their absence means.
	AllFactories *bool  `json:"all_factories,omitempty"`
	RunName      string `json:"run_name,omitempty"`
	// Enabled is true when nil.
	Enabled *bool `json:"enabled,omitempty"`
	// Secret is whsec_ and base64; empty has one generated.
	Secret string `json:"secret,omitempty"`
}

// NotificationUpdate changes an endpoint: nil keeps, an empty list selects all.
type NotificationUpdate struct {
	URL         *string     `json:"url,omitempty"`
	Name        *string     `json:"name,omitempty"`
	Description *string     `json:"description,omitempty"`
	States      *[]RunState `json:"states,omitempty"`
	FactoryUIDs *[]string   `json:"factory_uids,omitempty"`
	// AllFactories is given in place of FactoryUIDs; an empty list is refused.
	AllFactories bool    `json:"all_factories,omitempty"`
	RunName      *string `json:"run_name,omitempty"`
	Enabled      *bool   `json:"enabled,omitempty"`
}

// NotificationRotation asks for a new secret.
type NotificationRotation struct {
	// Secret is the new one; empty has one generated.
	Secret string `json:"secret,omitempty"`
	// OverlapSeconds is how long callbacks are signed with the old one, too.
	OverlapSeconds int `json:"overlap_seconds,omitempty"`
}

// NotificationDelivery is one event for one endpoint.
type NotificationDelivery struct {
	ID             string `json:"id"`
	NotificationID string `json:"notification_id"`
	// EventID is that of the run's log; the receiver sees it as webhook-id.
	EventID string `json:"event_id"`
	// Type is run.state_changed or notification.test.
	Type string `json:"type"`
	// RunID and State are empty for a test.
	RunID string   `json:"run_id,omitempty"`
	State RunState `json:"state,omitempty"`
	// Status is pending, delivered or failed.
	Status       string `json:"status"`
	AttemptCount int    `json:"attempt_count"`
	// NextAttemptAt is nil once there is none.
	NextAttemptAt *time.Time `json:"next_attempt_at,omitempty"`
	// LastStatusCode is 0 when there was no answer.
	LastStatusCode int        `json:"last_status_code,omitempty"`
	LastError      string     `json:"last_error,omitempty"`
	CreatedAt      time.Time  `json:"created_at"`
	FinishedAt     *time.Time `json:"finished_at,omitempty"`
	// Attempts and Payload are what only Delivery returns.
	Attempts []NotificationAttempt `json:"attempts,omitempty"`
	Payload  json.RawMessage       `json:"payload,omitempty"`
}

// NotificationAttempt is one request of a delivery.
type NotificationAttempt struct {
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	// StatusCode is 0 when there was no answer; Error then says why.
	StatusCode int    `json:"status_code,omitempty"`
	Error      string `json:"error,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// NotificationDeliveryQuery selects a part of an endpoint's log.
type NotificationDeliveryQuery struct {
	// Status is pending, delivered or failed; empty is all.
	Status string
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// NotificationDeliveryPage is one page of an endpoint's log, newest first.
type NotificationDeliveryPage struct {
	Deliveries []NotificationDelivery `json:"deliveries"`
	PageInfo   PageInfo               `json:"page_info"`
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
