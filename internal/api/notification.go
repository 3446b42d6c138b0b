package api

import (
	"context"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

// NotificationStatus is the status of a delivery to an endpoint.
type NotificationStatus string

// Schema implements huma.SchemaProvider.
func (NotificationStatus) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "NotificationStatus", lineshaft.NotificationStatuses(), "The status of a delivery to an endpoint. A pending one is waiting for its first or next attempt.")
}

// Notification is an endpoint that gets the state changes of runs as callbacks. Its
// secret is never in it.
type Notification struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	URL            string     `json:"url"`
	Description    string     `json:"description"`
	States         []RunState `json:"states" doc:"Changes to these states; empty means every state."`
	FactoryUIDs    []string   `json:"factory_uids" doc:"Runs of these factories; empty with all_factories."`
	AllFactories   bool       `json:"all_factories,omitempty" doc:"Runs of all factories, and runs without one."`
	RunName        string     `json:"run_name" doc:"Runs with this configuration name; empty means any."`
	Enabled        bool       `json:"enabled"`
	DisabledReason string     `json:"disabled_reason,omitempty" doc:"Why the server disabled it; absent if a person did."`
	DisabledAt     string     `json:"disabled_at,omitempty" format:"date-time"`
	OldSecretUntil string     `json:"old_secret_until,omitempty" format:"date-time" doc:"Until when the secret before the last rotation also signs."`
	LastSuccessAt  string     `json:"last_success_at,omitempty" format:"date-time"`
	LastFailureAt  string     `json:"last_failure_at,omitempty" format:"date-time"`
	CreatedAt      string     `json:"created_at" format:"date-time"`
	UpdatedAt      string     `json:"updated_at" format:"date-time"`
}

// IssuedNotification adds the secret that was generated, this one time.
type IssuedNotification struct {
	Notification
	Secret string `json:"secret,omitempty" doc:"The signing secret, if the server generated it. It is shown only now."`
}

// CreateNotificationRequest asks for an endpoint.
type CreateNotificationRequest struct {
	URL         string     `json:"url" minLength:"1" maxLength:"2048" doc:"Where callbacks are sent: https and a public address, unless the server runs with --callback-allow-private. Callers who may not manage factories see only its host."`
	Name        string     `json:"name,omitempty" maxLength:"100" doc:"The host of the URL when absent."`
	Description string     `json:"description,omitempty" maxLength:"1000"`
	States      []RunState `json:"states,omitempty" maxItems:"50" doc:"Changes to these states; if absent, every state."`
	FactoryUIDs []string   `json:"factory_uids,omitempty" minItems:"1" maxItems:"100" doc:"Runs of these factories; if absent, all runs. A key that is limited to factories must name some of them."`
	// AllFactories says explicitly what an absent factory_uids means.
	AllFactories *bool   `json:"all_factories,omitempty" doc:"True in place of factory_uids: all runs, as when both are absent."`
	RunName      string  `json:"run_name,omitempty" maxLength:"200" doc:"Runs with this configuration name."`
	Enabled      *bool   `json:"enabled,omitempty" doc:"True when absent."`
	Secret       *string `json:"secret,omitempty" maxLength:"4096" doc:"The secret to sign with: whsec_ and base64. Generated when absent."`
}

// UpdateNotificationRequest changes an endpoint; what is absent stays.
type UpdateNotificationRequest struct {
	URL          *string     `json:"url,omitempty" minLength:"1" maxLength:"2048" doc:"Pending deliveries also go there."`
	Name         *string     `json:"name,omitempty" maxLength:"100"`
	Description  *string     `json:"description,omitempty" maxLength:"1000"`
	States       *[]RunState `json:"states,omitempty" maxItems:"50" doc:"Replaced as a whole; empty means every state."`
	FactoryUIDs  *[]string   `json:"factory_uids,omitempty" minItems:"1" maxItems:"100" doc:"Replaced as a whole."`
	AllFactories bool        `json:"all_factories,omitempty" doc:"True in place of factory_uids: all runs from now on."`
	RunName      *string     `json:"run_name,omitempty" maxLength:"200" doc:"Empty means any."`
	Enabled      *bool       `json:"enabled,omitempty" doc:"When it is enabled again, it gets at once the pending deliveries that are younger than 72 hours."`
}

// RotateNotificationRequest asks for a new secret.
type RotateNotificationRequest struct {
	Secret         *string `json:"secret,omitempty" maxLength:"4096" doc:"The new secret: whsec_ and base64. Generated when absent."`
	OverlapSeconds int     `json:"overlap_seconds,omitempty" minimum:"0" maximum:"259200" doc:"How long callbacks are also signed with the old secret; if absent, it ends at once."`
}

// ListNotificationsResponse lists endpoints, the oldest first.
type ListNotificationsResponse struct {
	Notifications []Notification `json:"notifications"`
	PageInfo      PageInfo       `json:"page_info"`
}

// NotificationDelivery is one event for one endpoint.
type NotificationDelivery struct {
	ID             string             `json:"id"`
	NotificationID string             `json:"notification_id"`
	EventID        string             `json:"event_id" doc:"The id of the event in the log of the run; sent as webhook-id."`
	Type           string             `json:"type" enum:"run.state_changed,notification.test"`
	RunID          string             `json:"run_id,omitempty" doc:"Absent in a test."`
	State          RunState           `json:"state,omitempty" doc:"The state that the run changed to; absent in a test."`
	Status         NotificationStatus `json:"status"`
	AttemptCount   int                `json:"attempt_count"`
	NextAttemptAt  string             `json:"next_attempt_at,omitempty" format:"date-time" doc:"For a pending delivery: when it is tried next. During an attempt: when another one may be made."`
	LastStatusCode int                `json:"last_status_code,omitempty" doc:"Absent when there was no answer."`
	LastError      string             `json:"last_error,omitempty"`
	CreatedAt      string             `json:"created_at" format:"date-time"`
	FinishedAt     string             `json:"finished_at,omitempty" format:"date-time"`
}

// NotificationDeliveryDetail adds what only a look at one delivery shows.
type NotificationDeliveryDetail struct {
	NotificationDelivery
	Attempts []NotificationAttempt `json:"attempts" doc:"The newest 50, in order."`
	Payload  AnyJSON               `json:"payload" doc:"The body as it is sent; null once the run was deleted."`
}

// NotificationAttempt is one request of a delivery.
type NotificationAttempt struct {
	Number     int    `json:"number"`
	Time       string `json:"time" format:"date-time"`
	StatusCode int    `json:"status_code,omitempty" doc:"Absent when there was no answer."`
	Error      string `json:"error,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// ListNotificationDeliveriesResponse is a page of an endpoint's log, newest first.
type ListNotificationDeliveriesResponse struct {
	Deliveries []NotificationDelivery `json:"deliveries"`
	PageInfo   PageInfo               `json:"page_info"`
}

// NotificationPath is the part of a path that names an endpoint.
type NotificationPath struct {
	NotificationID string `path:"notificationId" doc:"The id of a notification."`
}

type ofNotification[T any] struct {
	NotificationPath
	Body T
}

// NotificationDeliveryPath is the part of a path that names a delivery to an endpoint.
type NotificationDeliveryPath struct {
	NotificationPath
	DeliveryID string `path:"deliveryId" doc:"The id of a delivery."`
}

type listNotificationDeliveriesInput struct {
	NotificationPath
	Status NotificationStatus `query:"status" doc:"Only these."`
	PageQuery
}

func (s *server) createNotification(ctx context.Context, in *given[CreateNotificationRequest]) (*issued[IssuedNotification], error) {
	b := in.Body
	if all := b.AllFactories; all != nil && *all == (len(b.FactoryUIDs) > 0) {
		return nil, lineshaft.Invalid("all_factories", "give factory_uids, or all_factories: true, and not both")
	}
	return issuedNotification(s.Control.CreateNotification(ctx, callerOf(ctx), notify.NewNotification{
		URL: b.URL, Name: b.Name, Description: b.Description, States: lineshaft.Convert[lineshaft.RunState](b.States), FactoryUIDs: b.FactoryUIDs, RunName: b.RunName,
		Enabled: b.Enabled, Secret: b.Secret,
	}))
}

func (s *server) listNotifications(ctx context.Context, in *ListQuery) (*answer[ListNotificationsResponse], error) {
	list, err := s.Control.ListNotifications(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	idOf := func(n *lineshaft.Notification) string { return n.ID }
	notifications, info, err := fillWith(wireNotification)(base.PageOf(list, "notifications", in.Cursor, in.Limit, idOf, strings.Compare))
	return reply(ListNotificationsResponse{notifications, info}, err)
}

func (s *server) getNotification(ctx context.Context, in *NotificationPath) (*answer[Notification], error) {
	return shown(at(wireNotification))(s.Control.GetNotification(ctx, callerOf(ctx), in.NotificationID))
}

func (s *server) updateNotification(ctx context.Context, in *ofNotification[UpdateNotificationRequest]) (*answer[Notification], error) {
	b := in.Body
	change := notify.NotificationChange{
		URL: b.URL, Name: b.Name, Description: b.Description, FactoryUIDs: b.FactoryUIDs, AllFactories: b.AllFactories, RunName: b.RunName, Enabled: b.Enabled,
	}
	if b.States != nil {
		change.States = new(lineshaft.Convert[lineshaft.RunState](*b.States))
	}
	return shown(at(wireNotification))(s.Control.UpdateNotification(ctx, callerOf(ctx), in.NotificationID, change))
}

func (s *server) rotateNotification(ctx context.Context, in *ofNotification[*RotateNotificationRequest]) (*issued[IssuedNotification], error) {
	var wanted notify.NotificationRotation
	if in.Body != nil {
		wanted = notify.NotificationRotation{Secret: in.Body.Secret, Overlap: time.Duration(in.Body.OverlapSeconds) * time.Second}
	}
	return issuedNotification(s.Control.RotateNotification(ctx, callerOf(ctx), in.NotificationID, wanted))
}

func (s *server) deleteNotification(ctx context.Context, in *NotificationPath) (*struct{}, error) {
	return nil, s.Control.DeleteNotification(ctx, callerOf(ctx), in.NotificationID)
}

func (s *server) testNotification(ctx context.Context, in *NotificationPath) (*answer[NotificationDelivery], error) {
	return shown(wireNotificationDelivery)(s.Control.TestNotification(ctx, callerOf(ctx), in.NotificationID))
}

func (s *server) listNotificationDeliveries(ctx context.Context, in *listNotificationDeliveriesInput) (*answer[ListNotificationDeliveriesResponse], error) {
	page, err := s.Control.ListNotificationDeliveries(ctx, callerOf(ctx), in.NotificationID, notify.NotificationDeliveryQuery{
		Status: lineshaft.NotificationStatus(in.Status), Limit: in.Limit, Cursor: in.Cursor,
	})
	if err != nil {
		return nil, err
	}
	return reply(ListNotificationDeliveriesResponse{each(page.Deliveries, wireNotificationDelivery), pageInfo(page.Next)}, err)
}

func (s *server) getNotificationDelivery(ctx context.Context, in *NotificationDeliveryPath) (*answer[NotificationDeliveryDetail], error) {
	found, err := s.Control.GetNotificationDelivery(ctx, callerOf(ctx), in.NotificationID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	out := NotificationDeliveryDetail{NotificationDelivery: wireNotificationDelivery(found), Attempts: each(found.Attempts, wireAttempt)}
	if len(found.Body) > 0 {
		out.Payload = AnyJSON(found.Body)
	}
	return reply(out, nil)
}

func wireAttempt(a *lineshaft.NotificationAttempt) NotificationAttempt {
	return NotificationAttempt{Number: a.Number, Time: stamp(a.Time), StatusCode: a.StatusCode, Error: a.Error, DurationMS: a.DurationMS}
}

func (s *server) replayNotificationDelivery(ctx context.Context, in *NotificationDeliveryPath) (*answer[NotificationDelivery], error) {
	return shown(wireNotificationDelivery)(s.Control.ReplayNotificationDelivery(ctx, callerOf(ctx), in.NotificationID, in.DeliveryID))
}

func issuedNotification(made notify.IssuedNotification, err error) (*issued[IssuedNotification], error) {
	return issue(IssuedNotification{Notification: wireNotification(&made.Notification), Secret: made.Secret}, err)
}

func wireNotification(n *lineshaft.Notification) Notification {
	return Notification{
		ID: n.ID, Name: n.Name, URL: n.URL, Description: n.Description, States: orEmpty(lineshaft.Convert[RunState](n.States)), FactoryUIDs: append([]string{}, n.FactoryUIDs...), AllFactories: len(n.FactoryUIDs) == 0, RunName: n.RunName,
		Enabled: n.Enabled, DisabledReason: n.DisabledReason, DisabledAt: stampOrEmpty(n.DisabledAt), OldSecretUntil: stampOrEmpty(n.OldSecretUntil),
		LastSuccessAt: stampOrEmpty(n.LastSuccessAt), LastFailureAt: stampOrEmpty(n.LastFailureAt), CreatedAt: stamp(n.CreatedAt), UpdatedAt: stamp(n.UpdatedAt),
	}
}

func wireNotificationDelivery(d *lineshaft.NotificationDelivery) NotificationDelivery {
	return NotificationDelivery{
		ID: d.ID, NotificationID: d.NotificationID, EventID: d.EventID, Type: d.Type, RunID: d.RunID, State: RunState(d.State), Status: NotificationStatus(d.Status),
		AttemptCount: d.AttemptCount, NextAttemptAt: stampOrEmpty(d.NextAttemptAt), LastStatusCode: d.LastStatusCode, LastError: d.LastError,
		CreatedAt: stamp(d.CreatedAt), FinishedAt: stampOrEmpty(d.FinishedAt),
	}
}
