package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Notification is an endpoint with what only the server knows about it.
type Notification struct {
	lineshaft.Notification

	// Credential is sealed; OldCredential signs too until OldUntil.
	Credential    string
	OldCredential string
	OldUntil      time.Time
	// Since identifies changes that happened before the endpoint wanted to know.
	Since Snapshot
	// Until is what had happened when it was disabled, until all of that is in its log;
	// then it is zero. Gaps are the times since Since when it was disabled.
	Until Snapshot
	Gaps  []SnapshotGap
	// EnabledAt is when it was last made or enabled.
	EnabledAt time.Time
	DeletedAt time.Time
	// Damaged is what cannot be read of its row. The endpoint then counts as disabled
	// and can only be deleted: its filters may be lost.
	Damaged error
}

// Followed says whether state changes are checked for the endpoint.
func (n Notification) Followed() bool { return n.Enabled || n.Until.Max > 0 }

// Covers says whether a change happened while the endpoint was enabled.
func (n Notification) Covers(txid int64) bool {
	if n.Since.Has(txid) || !n.Enabled && !n.Until.Has(txid) {
		return false
	}
	return !slices.ContainsFunc(n.Gaps, func(g SnapshotGap) bool { return g.To.Has(txid) && !g.From.Has(txid) })
}

// SnapshotGap is what happened between two moments.
type SnapshotGap struct {
	From, To Snapshot
}

// Snapshot says which transactions had committed at some moment: those below Min, and
// those below Max that were not Running then.
type Snapshot struct {
	Min, Max int64
	Running  []int64
}

// Has says whether a transaction had committed.
func (s Snapshot) Has(txid int64) bool {
	return txid < s.Min || txid < s.Max && !slices.Contains(s.Running, txid)
}

// Start is the place from which the state changes that a snapshot does not have follow.
func (s Snapshot) Start() StatePosition { return StatePosition{Txid: s.Min} }

// String writes it as PostgreSQL does, for the database.
func (s Snapshot) String() string {
	var running []string
	for _, txid := range s.Running {
		running = append(running, strconv.FormatInt(txid, 10))
	}
	return fmt.Sprintf("%d:%d:%s", s.Min, s.Max, strings.Join(running, ","))
}

func parseSnapshot(text string) (s Snapshot, err error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return s, fmt.Errorf("read snapshot %q", text)
	}
	numbers := parts[:2]
	if parts[2] != "" {
		numbers = append(numbers, strings.Split(parts[2], ",")...)
	}
	for i, part := range numbers {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return s, fmt.Errorf("read snapshot: %w", err)
		}
		switch i {
		case 0:
			s.Min = n
		case 1:
			s.Max = n
		default:
			s.Running = append(s.Running, n)
		}
	}
	return s, nil
}

// Snapshot is what has committed now. SQLite has one writer: everything before this
// transaction has.
func (tx *Tx) Snapshot(ctx context.Context) (Snapshot, error) {
	if tx.d.snapshot == "" {
		return Snapshot{Min: tx.number, Max: tx.number}, nil
	}
	var text string
	if err := tx.one(ctx, "SELECT "+tx.d.snapshot, nil, &text); err != nil {
		return Snapshot{}, fmt.Errorf("read snapshot: %w", err)
	}
	return parseSnapshot(text)
}

const notificationColumns = `id, name, description, url, states, factory_uids, run_name, enabled, disabled_reason, disabled_at,
	credential, old_credential, old_until, since, until, gaps, enabled_at, last_success_at, last_failure_at, created_at, updated_at, deleted_at`

func scanNotification(scan rowScan) (*Notification, error) {
	var n Notification
	var states, factories, since, until, gaps string
	if err := scan(&n.ID, &n.Name, &n.Description, &n.URL, &states, &factories, &n.RunName, toFlag(&n.Enabled), &n.DisabledReason, toTime(&n.DisabledAt),
		&n.Credential, &n.OldCredential, toTime(&n.OldUntil), &since, &until, &gaps, toTime(&n.EnabledAt), toTime(&n.LastSuccessAt), toTime(&n.LastFailureAt),
		toTime(&n.CreatedAt), toTime(&n.UpdatedAt), toTime(&n.DeletedAt)); err != nil {
		return nil, fmt.Errorf("scan notification: %w", err)
	}
	var err, untilErr error
	n.Since, err = parseSnapshot(since)
	n.Until, untilErr = parseSnapshot(until)
	damaged := errors.Join(jsonColumn{&n.States}.Scan(states), jsonColumn{&n.FactoryUIDs}.Scan(factories), jsonColumn{&n.Gaps}.Scan(gaps), err, untilErr)
	if damaged != nil { // the others continue without it
		n.Damaged = fmt.Errorf("decode notification: %w", damaged)
		n.States, n.FactoryUIDs, n.Until, n.Gaps = nil, nil, Snapshot{}, nil
		n.Enabled, n.DisabledAt, n.DisabledReason = false, n.UpdatedAt, "what is stored of it cannot be read; delete it and create it again"
	}
	return &n, nil
}

// PutNotification stores an endpoint, new or changed. How its deliveries went is
// noted by others and stays.
func (tx *Tx) PutNotification(ctx context.Context, n Notification) error {
	states, err := encode(n.States)
	if err != nil {
		return err
	}
	factories, err := encode(n.FactoryUIDs)
	if err != nil {
		return err
	}
	gaps, err := encode(n.Gaps)
	if err != nil {
		return err
	}
	return tx.do(ctx, "put notification", `INSERT INTO notifications (`+notificationColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, url = excluded.url, states = excluded.states,
		factory_uids = excluded.factory_uids, run_name = excluded.run_name, enabled = excluded.enabled, disabled_reason = excluded.disabled_reason,
		disabled_at = excluded.disabled_at, credential = excluded.credential, old_credential = excluded.old_credential, old_until = excluded.old_until,
		since = excluded.since, until = excluded.until, gaps = excluded.gaps, enabled_at = excluded.enabled_at, updated_at = excluded.updated_at, deleted_at = excluded.deleted_at`,
		n.ID, n.Name, n.Description, n.URL, states, factories, n.RunName, flag(n.Enabled), n.DisabledReason, micros(n.DisabledAt),
		n.Credential, n.OldCredential, micros(n.OldUntil), n.Since.String(), n.Until.String(), gaps, micros(n.EnabledAt), micros(n.LastSuccessAt), micros(n.LastFailureAt),
		micros(n.CreatedAt), micros(n.UpdatedAt), micros(n.DeletedAt))
}

// GetNotification reads a live endpoint.
func (r reader) GetNotification(ctx context.Context, id string) (*Notification, error) {
	return r.notification(ctx, id, "")
}

// LockNotification reads a live endpoint and keeps others from changing it until the
// transaction ends.
func (tx *Tx) LockNotification(ctx context.Context, id string) (*Notification, error) {
	return tx.notification(ctx, id, tx.d.forUpdate)
}

func (r reader) notification(ctx context.Context, id, lock string) (*Notification, error) {
	return only(r.notifications(ctx, "WHERE id = $1 AND deleted_at = 0"+lock, id)).orNotFound("notification", id)
}

// ListNotifications reads all live endpoints in the order of their making. There are
// few (lineshaft.MaxNotifications).
func (r reader) ListNotifications(ctx context.Context) ([]Notification, error) {
	return r.notifications(ctx, "WHERE deleted_at = 0 ORDER BY id")
}

// DeletedNotifications reads the ids of endpoints of which only the log is left.
func (r reader) DeletedNotifications(ctx context.Context, limit int) ([]string, error) {
	return r.texts(ctx, "SELECT id FROM notifications WHERE deleted_at > 0 ORDER BY id LIMIT $1", limit)
}

// RemoveNotification removes the row of a deleted endpoint, unless its log has rows.
func (tx *Tx) RemoveNotification(ctx context.Context, id string) error {
	return tx.do(ctx, "remove notification", `DELETE FROM notifications WHERE id = $1 AND deleted_at > 0
		AND NOT EXISTS (SELECT 1 FROM notification_deliveries WHERE notification_id = $1)`, id)
}

// SetNotificationCredentials replaces the sealed credentials if they are still the
// given ones.
func (tx *Tx) SetNotificationCredentials(ctx context.Context, was Notification, credential, old string) error {
	_, err := tx.exec(ctx, "UPDATE notifications SET credential = $4, old_credential = $5 WHERE id = $1 AND credential = $2 AND old_credential = $3",
		was.ID, was.Credential, was.OldCredential, credential, old)
	return err
}

// NoteCallback notes when an endpoint took something, or did not.
func (tx *Tx) NoteCallback(ctx context.Context, id string, delivered bool, at time.Time) error {
	column := "last_failure_at"
	if delivered {
		column = "last_success_at"
	}
	return tx.do(ctx, "note callback", "UPDATE notifications SET "+column+" = $2 WHERE id = $1", id, micros(at))
}

func (r reader) notifications(ctx context.Context, where string, args ...any) ([]Notification, error) {
	return collect(ctx, r, "read notifications", "SELECT "+notificationColumns+" FROM notifications "+where, args, scanNotification)
}
