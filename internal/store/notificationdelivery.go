package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

const (
	deliveryInfoColumns = `id, notification_id, event_id, type, run_id, run_name, factory_uid, state, status, attempt_count, next_at, expires_at, last_status, last_error,
	created_at, finished_at, trace_parent`
	// bodyOfDeleted says that the run of a delivery was deleted, and its body should go.
	bodyOfDeleted           = "run_id <> '' AND (SELECT 1 FROM runs WHERE runs.id = notification_deliveries.run_id) IS NULL"
	newNotificationDelivery = "notification_deliveries (" + deliveryInfoColumns + ", tries, tried_at, claim, body, attempts)"
)

// CallbackRun is what a callback says about a run.
type CallbackRun struct {
	ID         string
	Title      string
	Name       string
	FactoryUID string
	CreatedAt  time.Time
	Metadata   map[string]string
	// TraceParent is what its callbacks continue.
	TraceParent string
	// Damaged is what of its row cannot be read, which is then left out.
	Damaged error
}

// ListCallbackRuns reads runs by their ids; those that were deleted are left out.
func (r reader) ListCallbackRuns(ctx context.Context, ids []string) (map[string]CallbackRun, error) {
	found := map[string]CallbackRun{}
	if len(ids) == 0 {
		return found, nil
	}
	var args []any
	err := r.each(ctx, `SELECT r.id, r.title, COALESCE(r.name, ''), COALESCE(r.factory_uid, ''), r.created_at, r.trace_parent, b.metadata
		FROM runs r JOIN run_bodies b ON b.run_id = r.id WHERE r.id IN `+list(&args, ids), args, func(scan rowScan) error {
		var run CallbackRun
		var created int64
		var metadata string
		if err := scan(&run.ID, &run.Title, &run.Name, &run.FactoryUID, &created, &run.TraceParent, &metadata); err != nil {
			return fmt.Errorf("scan run: %w", err)
		}
		run.CreatedAt = fromMicros(created)
		if err := json.Unmarshal([]byte(metadata), &run.Metadata); err != nil { // the others continue
			run.Metadata, run.Damaged = nil, fmt.Errorf("decode metadata of run %s: %w", run.ID, err)
		}
		found[run.ID] = run
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read runs of callbacks: %w", err)
	}
	return found, nil
}

// InsertNotificationDeliveries stores deliveries that are due at once. One of an event
// that its endpoint has already is left out.
func (tx *Tx) InsertNotificationDeliveries(ctx context.Context, deliveries []lineshaft.NotificationDelivery) error {
	rows := inserts{into: newNotificationDelivery, suffix: " ON CONFLICT (notification_id, event_id) DO NOTHING"}
	for _, d := range deliveries {
		rows.row(d.ID, d.NotificationID, d.EventID, d.Type, d.RunID, d.RunName, d.FactoryUID, d.State, lineshaft.NotificationPending, 0, micros(d.NextAttemptAt), micros(d.ExpiresAt), 0, "",
			micros(d.CreatedAt), 0, d.TraceParent, 0, micros(d.CreatedAt), "", string(d.Body), "[]")
	}
	return tx.sendRows(ctx, &rows)
}

// DueNotification is an enabled endpoint that something waits for.
type DueNotification struct {
	ID   string
	Next time.Time
	// Since is when it became due, or will: when the endpoint was enabled, if that was
	// after the last attempt.
	Since time.Time
}

// DueNotifications reads when each enabled endpoint has its next attempt. It leaves out
// endpoints with none, and those that cannot be read: they count as disabled. A delivery
// last tried before its endpoint was enabled is due. It asks the index twice for each
// endpoint, however much waits.
func (r reader) DueNotifications(ctx context.Context) ([]DueNotification, error) {
	var found []DueNotification
	err := r.each(ctx, `SELECT `+notificationColumns+`, (SELECT MIN(d.next_at) FROM notification_deliveries d WHERE d.notification_id = n.id AND d.status = 'pending'),
		CASE WHEN EXISTS (SELECT 1 FROM notification_deliveries d WHERE d.notification_id = n.id AND d.status = 'pending' AND d.tried_at < n.enabled_at) THEN 1 ELSE 0 END
		FROM notifications n WHERE n.enabled = 1 AND n.deleted_at = 0`, nil, func(scan rowScan) error {
		var next *int64
		var woken int
		n, err := scanNotification(func(dest ...any) error { return scan(append(dest, &next, &woken)...) })
		if err != nil || next == nil || n.Damaged != nil {
			return err
		}
		due := DueNotification{ID: n.ID, Since: n.EnabledAt}
		if woken == 0 {
			due.Next, due.Since = fromMicros(*next), fromMicros(*next)
		}
		found = append(found, due)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read due notifications: %w", err)
	}
	return found, nil
}

// CountPending counts the deliveries that wait, including those for disabled endpoints, up to a number.
func (r reader) CountPending(ctx context.Context, most int) (n int, err error) {
	err = r.one(ctx, "SELECT COUNT(*) FROM (SELECT notification_id FROM notification_deliveries WHERE status = 'pending' LIMIT $1) AS waiting", []any{most}, &n)
	if err != nil {
		return 0, fmt.Errorf("count pending deliveries: %w", err)
	}
	return n, nil
}

// NotificationClaim is a delivery that one attempt is made of.
type NotificationClaim struct {
	lineshaft.NotificationDelivery

	// Claim names the node that makes the attempt; after the lease another one may.
	Claim string
	// Tries is how many attempts were made since the delivery was made or replayed.
	Tries int
}

// ClaimNotificationDeliveries takes deliveries of an endpoint that are due, the longest
// due first, and then those that were last tried before it was enabled. Until the lease
// ends nobody else takes them.
func (tx *Tx) ClaimNotificationDeliveries(ctx context.Context, n *Notification, now, lease time.Time, limit int) ([]NotificationClaim, error) {
	claim := tx.newID()
	var found []NotificationClaim
	tried := max(micros(now), micros(n.EnabledAt)) // or it would be taken again at once
	for _, due := range []struct {
		where string
		at    time.Time
	}{{"next_at <= $2 ORDER BY next_at, id", now}, {"tried_at < $2 ORDER BY tried_at", n.EnabledAt}} {
		if limit == len(found) {
			break
		}
		err := tx.each(ctx, `WITH picked AS (
			SELECT id FROM notification_deliveries WHERE notification_id = $1 AND status = 'pending' AND `+due.where+` LIMIT $5`+tx.d.skipLocked+`)
			UPDATE notification_deliveries SET claim = $4, next_at = $3, tried_at = $6 WHERE id IN (SELECT id FROM picked)
			RETURNING `+deliveryInfoColumns+", tries, body, attempts", []any{n.ID, micros(due.at), micros(lease), claim, limit - len(found), tried},
			func(scan rowScan) error {
				c := NotificationClaim{Claim: claim}
				var body []byte
				var attempts string
				d, err := scanNotificationDelivery(scan, &c.Tries, &body, &attempts)
				if err != nil {
					return err
				}
				d.Body, d.Attempts = body, decodeAttempts(attempts)
				c.NotificationDelivery = d
				found = append(found, c)
				return nil
			})
		if err != nil {
			return nil, fmt.Errorf("claim notification deliveries: %w", err)
		}
	}
	return found, nil
}

// FinishNotificationAttempt stores how an attempt went, if it was still the claim's to
// make. A zero NextAttemptAt ends the delivery; if its run was deleted, its body goes.
func (tx *Tx) FinishNotificationAttempt(ctx context.Context, c NotificationClaim) (mine bool, err error) {
	attempts, err := encode(c.Attempts)
	if err != nil {
		return false, err
	}
	n, err := tx.exec(ctx, `UPDATE notification_deliveries SET status = $3, attempt_count = $4, tries = $5, next_at = $6, claim = '', last_status = $7, last_error = $8,
		finished_at = $9, attempts = $10, body = CASE WHEN CAST($6 AS BIGINT) = 0 AND `+bodyOfDeleted+` THEN '' ELSE body END WHERE id = $1 AND claim = $2 AND status = 'pending'`,
		c.ID, c.Claim, c.Status, c.AttemptCount, c.Tries, micros(c.NextAttemptAt), c.LastStatusCode, c.LastError, micros(c.FinishedAt), attempts)
	if err != nil {
		return false, fmt.Errorf("finish notification attempt: %w", err)
	}
	return n == 1, nil
}

// ReleaseNotificationDelivery gives back a claim whose attempt was broken off.
func (tx *Tx) ReleaseNotificationDelivery(ctx context.Context, c NotificationClaim, due time.Time) error {
	return tx.do(ctx, "release notification delivery",
		"UPDATE notification_deliveries SET next_at = $3, claim = '' WHERE id = $1 AND claim = $2 AND status = 'pending'", c.ID, c.Claim, micros(due))
}

// ReplayNotificationDelivery makes a delivery pending again, due at a time. An attempt
// that is being made does not count any more.
func (tx *Tx) ReplayNotificationDelivery(ctx context.Context, notificationID, id string, due, expires time.Time) error {
	return tx.change(ctx, "replay notification delivery", "delivery", id,
		`UPDATE notification_deliveries SET status = 'pending', tries = 0, next_at = $3, expires_at = $4, claim = '', finished_at = 0
		WHERE id = $2 AND notification_id = $1`, notificationID, id, micros(due), micros(expires))
}

// ExpireNotificationDeliveries ends what waits for an endpoint and expired before a given
// time, up to a limit.
func (tx *Tx) ExpireNotificationDeliveries(ctx context.Context, notificationID string, over, now time.Time, why string, limit int) (int, error) {
	n, err := tx.exec(ctx, `UPDATE notification_deliveries SET status = 'failed', next_at = 0, claim = '', finished_at = $2, last_error = $3,
		body = CASE WHEN `+bodyOfDeleted+` THEN '' ELSE body END WHERE id IN (
		SELECT id FROM notification_deliveries WHERE notification_id = $1 AND status = 'pending' AND expires_at <= $5 ORDER BY expires_at LIMIT $4)`,
		notificationID, micros(now), why, limit, micros(over))
	if err != nil {
		return 0, fmt.Errorf("expire notification deliveries: %w", err)
	}
	return int(n), nil
}

// DeleteNotificationDeliveries removes deliveries that have ended and are older than an
// id, up to a limit.
func (tx *Tx) DeleteNotificationDeliveries(ctx context.Context, before string, limit int) (int, error) {
	n, err := tx.exec(ctx, "DELETE FROM notification_deliveries WHERE id IN (SELECT id FROM notification_deliveries WHERE id < $1 AND status <> 'pending' ORDER BY id LIMIT $2)", before, limit)
	if err != nil {
		return 0, fmt.Errorf("delete notification deliveries: %w", err)
	}
	return int(n), nil
}

// DeleteNotificationLog removes deliveries of an endpoint, up to a limit.
func (tx *Tx) DeleteNotificationLog(ctx context.Context, notificationID string, limit int) (int, error) {
	n, err := tx.exec(ctx, "DELETE FROM notification_deliveries WHERE id IN (SELECT id FROM notification_deliveries WHERE notification_id = $1 ORDER BY id LIMIT $2)", notificationID, limit)
	if err != nil {
		return 0, fmt.Errorf("delete log of notification: %w", err)
	}
	return int(n), nil
}

// ListNotificationDeliveries reads deliveries of an endpoint, newest first, from before
// an id on; an empty status is any. With factories it reads only those of their runs, and
// tests.
func (r reader) ListNotificationDeliveries(ctx context.Context, notificationID string, status lineshaft.NotificationStatus, before string, limit int, factories ...string) ([]lineshaft.NotificationDelivery, error) {
	args := []any{notificationID, limit}
	where := "WHERE notification_id = $1"
	if status != "" {
		args = append(args, status)
		where += fmt.Sprintf(" AND status = $%d", len(args))
	}
	if before != "" {
		args = append(args, before)
		where += fmt.Sprintf(" AND id < $%d", len(args))
	}
	if len(factories) > 0 {
		where += " AND (run_id = '' OR factory_uid IN " + list(&args, factories) + ")"
	}
	var found []lineshaft.NotificationDelivery
	err := r.each(ctx, "SELECT "+deliveryInfoColumns+" FROM notification_deliveries "+where+" ORDER BY id DESC LIMIT $2", args, func(scan rowScan) error {
		d, err := scanNotificationDelivery(scan)
		found = append(found, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read notification deliveries: %w", err)
	}
	return found, nil
}

// GetNotificationDelivery reads a delivery of an endpoint with its body and attempts. If its
// run was deleted there is no body, even while it waits to be sent.
func (r reader) GetNotificationDelivery(ctx context.Context, notificationID, id string) (*lineshaft.NotificationDelivery, error) {
	var found *lineshaft.NotificationDelivery
	err := r.each(ctx, "SELECT "+deliveryInfoColumns+", CASE WHEN "+bodyOfDeleted+" THEN '' ELSE body END, attempts FROM notification_deliveries WHERE id = $1 AND notification_id = $2", []any{id, notificationID},
		func(scan rowScan) error {
			var body []byte
			var attempts string
			d, err := scanNotificationDelivery(scan, &body, &attempts)
			d.Body, d.Attempts, found = body, decodeAttempts(attempts), &d
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read notification delivery: %w", err)
	}
	if found == nil {
		return nil, lineshaft.NotFound("delivery", id)
	}
	return found, nil
}

// decodeAttempts reads the log of a delivery. A log that cannot be read is given up: it
// is for people, and must not hold up the delivery and everything else that its endpoint
// waits for.
func decodeAttempts(text string) (attempts []lineshaft.NotificationAttempt) {
	if json.Unmarshal([]byte(text), &attempts) != nil {
		return nil
	}
	return attempts
}

func scanNotificationDelivery(scan func(...any) error, extra ...any) (lineshaft.NotificationDelivery, error) {
	var d lineshaft.NotificationDelivery
	var next time.Time
	dest := append([]any{
		&d.ID, &d.NotificationID, &d.EventID, &d.Type, &d.RunID, &d.RunName, &d.FactoryUID, &d.State, &d.Status, &d.AttemptCount, toTime(&next), toTime(&d.ExpiresAt), &d.LastStatusCode, &d.LastError,
		toTime(&d.CreatedAt), toTime(&d.FinishedAt), &d.TraceParent,
	}, extra...)
	if err := scan(dest...); err != nil {
		return d, fmt.Errorf("scan notification delivery: %w", err)
	}
	if d.Status == lineshaft.NotificationPending {
		d.NextAttemptAt = next
	}
	return d, nil
}
