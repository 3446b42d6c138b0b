package notify

import (
	"context"
	"errors"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

const (
	// expiredDisabled is what the log says of a delivery that waited for a disabled endpoint.
	expiredDisabled = "its 72 hours passed while the notification was disabled; replay it if it is still needed"
	// unwanted is what the log says of a delivery that its endpoint's new filters leave out.
	unwanted = "the notification's filters have changed and leave it out"
)

// NotificationDeliveryQuery selects a page of an endpoint's log.
type NotificationDeliveryQuery struct {
	// Status is empty for all.
	Status lineshaft.NotificationStatus
	Limit  int
	Cursor string
}

// NotificationDeliveryPage is a page of an endpoint's log, newest first.
type NotificationDeliveryPage struct {
	Deliveries []lineshaft.NotificationDelivery
	Next       string
}

// ListNotificationDeliveries reads a page of the log of an endpoint.
func (s *Notifier) ListNotificationDeliveries(ctx context.Context, c lineshaft.Caller, notificationID string, q NotificationDeliveryQuery) (NotificationDeliveryPage, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return NotificationDeliveryPage{}, err
	}
	var page NotificationDeliveryPage
	if _, err := s.GetNotification(ctx, c, notificationID); err != nil {
		return page, err
	}
	list, before := base.Fingerprint("callbacks\x00"+notificationID+"\x00"+string(q.Status)), ""
	if q.Cursor != "" {
		key, err := base.DecodeCursor[string](list, q.Cursor)
		if err != nil {
			return page, err
		}
		before = *key
	}
	found, err := s.Store.ListNotificationDeliveries(ctx, notificationID, q.Status, before, q.Limit+1, c.FactoryUIDs...)
	if err != nil {
		return page, err
	}
	page.Deliveries = found
	if len(found) > q.Limit {
		page.Deliveries = found[:q.Limit]
		page.Next, err = base.EncodeCursor(list, found[q.Limit-1].ID)
	}
	return page, err
}

// GetNotificationDelivery reads a delivery with its body and attempts.
func (s *Notifier) GetNotificationDelivery(ctx context.Context, c lineshaft.Caller, notificationID, deliveryID string) (*lineshaft.NotificationDelivery, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	if _, err := s.GetNotification(ctx, c, notificationID); err != nil {
		return nil, err
	}
	d, err := s.Store.GetNotificationDelivery(ctx, notificationID, deliveryID)
	if err == nil && !seesDelivery(c, d) {
		return nil, lineshaft.NotFound("delivery", deliveryID)
	}
	return d, err
}

// seesDelivery says whether a caller may see a delivery: its endpoint may have reported
// other factories once.
func seesDelivery(c lineshaft.Caller, d *lineshaft.NotificationDelivery) bool {
	return d.RunID == "" || c.MaySeeFactory(d.FactoryUID)
}

// ReplayNotificationDelivery sends a delivery again, with the same body and webhook-id
// and another 72 hours.
func (s *Notifier) ReplayNotificationDelivery(ctx context.Context, c lineshaft.Caller, notificationID, deliveryID string) (*lineshaft.NotificationDelivery, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	var replayed *lineshaft.NotificationDelivery
	err := s.sendTo(ctx, c, notificationID, func(ctx context.Context, tx *store.Tx, n *store.Notification) error {
		was, err := tx.GetNotificationDelivery(ctx, notificationID, deliveryID)
		switch {
		case err != nil:
			return err
		case !seesDelivery(c, was):
			return lineshaft.NotFound("delivery", deliveryID)
		case len(was.Body) == 0:
			return lineshaft.Conflict("the run of this delivery was deleted with its payload; there is nothing to send again")
		case !was.DeliveredFor(n.Notification):
			return lineshaft.Conflict("the filters of notification %q leave this delivery out; change them first", n.Name)
		}
		now, err := s.TimerClock(ctx, tx)
		if err != nil {
			return err
		}
		if err := tx.ReplayNotificationDelivery(ctx, notificationID, deliveryID, now, now.Add(lineshaft.NotificationPeriod)); err != nil {
			return err
		}
		replayed, err = tx.GetNotificationDelivery(ctx, notificationID, deliveryID)
		if err != nil {
			return err
		}
		return s.auditNotification(ctx, tx, c, "notification.replay", n, map[string]string{"delivery_id": deliveryID})
	})
	return replayed, err
}

// TestNotification sends something to an endpoint, as state changes are sent.
func (s *Notifier) TestNotification(ctx context.Context, c lineshaft.Caller, notificationID string) (*lineshaft.NotificationDelivery, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	deliveryID, _ := s.Store.NewID()
	eventID, at := s.Store.NewID()
	body, err := encodeCallback(lineshaft.NotificationTest, at, map[string]string{"event_id": eventID, "notification_id": notificationID})
	if err != nil {
		return nil, err
	}
	var made *lineshaft.NotificationDelivery
	traceParent := tracing.Parent(ctx)
	err = s.sendTo(ctx, c, notificationID, func(ctx context.Context, tx *store.Tx, n *store.Notification) error {
		now, err := s.TimerClock(ctx, tx)
		if err != nil {
			return err
		}
		if err := tx.InsertNotificationDeliveries(ctx, []lineshaft.NotificationDelivery{{
			ID: deliveryID, NotificationID: n.ID, EventID: eventID, Type: lineshaft.NotificationTest,
			NextAttemptAt: now, ExpiresAt: now.Add(lineshaft.NotificationPeriod), CreatedAt: now, Body: body, TraceParent: traceParent,
		}}); err != nil {
			return err
		}
		made, err = tx.GetNotificationDelivery(ctx, n.ID, deliveryID)
		if err != nil {
			return err
		}
		return s.auditNotification(ctx, tx, c, "notification.test", n, map[string]string{"delivery_id": deliveryID})
	})
	return made, err
}

// sendTo is a transaction that has something sent to an enabled endpoint.
func (s *Notifier) sendTo(ctx context.Context, c lineshaft.Caller, notificationID string, fn func(ctx context.Context, tx *store.Tx, n *store.Notification) error) error {
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := lockedNotification(ctx, tx, c, notificationID)
		if err != nil {
			return err
		}
		if !n.Enabled {
			return lineshaft.Conflict("notification %q is disabled, so nothing is sent to it; enable it first", n.Name)
		}
		tx.Wake(stream.CallbacksTopic)
		return fn(ctx, tx, n)
	})
}

// PurgeNotifications removes old entries of the log of deliveries, and what deleted
// endpoints left, in small steps. Deliveries that wait for a disabled endpoint expire.
func (s *Notifier) PurgeNotifications(ctx context.Context) error {
	now, err := s.TimerClock(ctx, s.Store)
	if err != nil {
		return err
	}
	endpoints, err := s.Store.ListNotifications(ctx)
	if err != nil {
		return err
	}
	var errs error
	for _, n := range endpoints {
		if n.Enabled {
			continue // each of them gets its last attempt
		}
		if n.Damaged != nil {
			s.Log.WarnContext(ctx, "a notification cannot be read and gets nothing; delete it and create it again", "notification_id", n.ID, "name", n.Name, "err", n.Damaged)
		}
		errs = errors.Join(errs, s.InBatches(ctx, "expire notification deliveries", func(ctx context.Context, tx *store.Tx) (int, error) {
			return tx.ExpireNotificationDeliveries(ctx, n.ID, now, now, expiredDisabled, base.PurgeBatch)
		}))
	}
	oldest := id.Floor(s.Store.Now().Add(-lineshaft.NotificationKeep))
	return errors.Join(errs, s.InBatches(ctx, "purge notification deliveries", func(ctx context.Context, tx *store.Tx) (int, error) {
		return tx.DeleteNotificationDeliveries(ctx, oldest, base.PurgeBatch)
	}), s.purgeDeletedNotifications(ctx))
}

func (s *Notifier) purgeDeletedNotifications(ctx context.Context) error {
	deleted, err := s.Store.DeletedNotifications(ctx, base.PurgeBatch)
	if err != nil {
		return err
	}
	for _, gone := range deleted {
		if err := s.InBatches(ctx, "purge log of deleted notification", func(ctx context.Context, tx *store.Tx) (int, error) {
			return tx.DeleteNotificationLog(ctx, gone, base.PurgeBatch)
		}); err != nil {
			return err
		}
		if err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.RemoveNotification(ctx, gone) }); err != nil {
			return err
		}
	}
	return nil
}
