package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// NewNotification asks for an endpoint. What is left out gets its default.
type NewNotification struct {
	URL         string
	Name        string
	Description string
	States      []lineshaft.RunState
	FactoryUIDs []string
	RunName     string
	// Enabled is true when nil.
	Enabled *bool
	// Secret is nil to generate one.
	Secret *string
	// Once, if given, makes a second call with it a Conflict: the secret cannot be shown again.
	Once *base.Idempotency
}

// NotificationChange says what to change; nil keeps.
type NotificationChange struct {
	URL         *string
	Name        *string
	Description *string
	States      *[]lineshaft.RunState
	FactoryUIDs *[]string
	// AllFactories removes the limit to factories: an empty list does not.
	AllFactories bool
	RunName      *string
	Enabled      *bool
}

// NotificationRotation asks for a new secret.
type NotificationRotation struct {
	// Secret is nil to generate a new one.
	Secret *string
	// Overlap is how long the old secret also signs; 0 ends it at once.
	Overlap time.Duration
	// Once, if given, makes a second call with it a Conflict: it would end the secret that
	// the first one showed.
	Once *base.Idempotency
}

// IssuedNotification is an endpoint with the secret that was generated for it. The
// secret is shown only this time; it is empty when people brought their own.
type IssuedNotification struct {
	lineshaft.Notification

	Secret string
}

// maxGaps is how often an endpoint may be disabled and enabled while state changes wait
// for their turn.
const maxGaps = 16

// CreateNotification makes an endpoint. It gets every change that commits after this
// has returned, and none from before it was called.
func (s *Notifier) CreateNotification(ctx context.Context, c lineshaft.Caller, n NewNotification) (IssuedNotification, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return IssuedNotification{}, err
	}
	if err := namesFactories(n.FactoryUIDs); err != nil {
		return IssuedNotification{}, err
	}
	id, at := s.Store.NewID()
	made := store.Notification{Notification: lineshaft.Notification{
		ID: id, Name: n.Name, Description: n.Description, URL: n.URL, States: n.States, FactoryUIDs: n.FactoryUIDs, RunName: n.RunName,
		Enabled: n.Enabled == nil || *n.Enabled, CreatedAt: at, UpdatedAt: at,
	}}
	if err := s.checkNotification(&made.Notification); err != nil {
		return IssuedNotification{}, err
	}
	if !made.Enabled {
		made.DisabledAt = at
	}
	sealed, shown, err := s.callbackSecret(id, n.Secret)
	if err != nil {
		return IssuedNotification{}, err
	}
	made.Credential = sealed
	err = s.changeNotifications(ctx, func(ctx context.Context, tx *store.Tx, position string) error {
		if err := base.CheckReach(ctx, tx, c, made.FactoryUIDs); err != nil {
			return err
		}
		others, err := tx.ListNotifications(ctx)
		if err != nil {
			return err
		}
		own := slices.DeleteFunc(slices.Clone(others), func(n store.Notification) bool { return !reaches(c, &n.Notification) })
		if len(c.FactoryUIDs) > 0 && len(own) >= lineshaft.MaxNotificationsLimited {
			return lineshaft.Conflict("the factories of your key have %d notifications, which is the limit for the key; delete one first", len(own))
		}
		if len(others) >= lineshaft.MaxNotifications {
			return lineshaft.Conflict("there are %d notifications, which is the limit; delete one first", len(others))
		}
		if err := s.beginNotification(ctx, tx, &made, others, position); err != nil {
			return err
		}
		name := made.Name
		again, err := s.Idempotently(ctx, tx, c, n.Once, &name, func() error {
			if err := tx.PutNotification(ctx, made); err != nil {
				return err
			}
			return s.auditNotification(ctx, tx, c, "notification.create", &made, nil)
		})
		if err == nil && again {
			return lineshaft.Conflict("the notification %s was already created and its secret shown once; if you did not see it, rotate the secret", name)
		}
		return err
	})
	if err != nil {
		return IssuedNotification{}, err
	}
	return IssuedNotification{Notification: s.toldNotification(c, &made), Secret: shown}, nil
}

// checkNotification checks an endpoint and fills in its name.
func (s *Notifier) checkNotification(n *lineshaft.Notification) error {
	if err := n.Validate(); err != nil {
		return err
	}
	if s.Cfg.Callbacks != nil {
		if err := s.Cfg.Callbacks.Check(n.URL); err != nil {
			return err
		}
	}
	u, err := lineshaft.ParseCallbackURL(n.URL)
	if err != nil {
		return err
	}
	n.Name = cmp.Or(strings.TrimSpace(n.Name), lineshaft.Clip(u.Host, lineshaft.MaxNotificationName))
	n.States = slices.Compact(slices.Sorted(slices.Values(n.States)))
	n.FactoryUIDs = slices.Compact(slices.Sorted(slices.Values(n.FactoryUIDs)))
	return nil
}

// namesFactories refuses an empty list: nowhere does none mean all (S-3).
func namesFactories(uids []string) error {
	if uids != nil && len(uids) == 0 {
		return lineshaft.Invalid("factory_uids", "an empty list reaches nothing; name factories, or leave the field out")
	}
	return nil
}

// chooseFactories changes whose runs an endpoint is notified of.
func (change NotificationChange) chooseFactories(n *lineshaft.Notification) error {
	if change.AllFactories {
		if change.FactoryUIDs != nil {
			return lineshaft.Invalid("all_factories", "cannot be used with factory_uids; give one of the two")
		}
		n.FactoryUIDs = nil
		return nil
	}
	if change.FactoryUIDs == nil {
		return nil
	}
	if len(*change.FactoryUIDs) == 0 {
		return lineshaft.Invalid("factory_uids", "an empty list reaches nothing; name factories, or give all_factories true")
	}
	n.FactoryUIDs = *change.FactoryUIDs
	return nil
}

// reaches says whether a caller may see an endpoint: all that it reports.
func reaches(c lineshaft.Caller, n *lineshaft.Notification) bool {
	if len(c.FactoryUIDs) == 0 {
		return true
	}
	return len(n.FactoryUIDs) > 0 && !slices.ContainsFunc(n.FactoryUIDs, func(uid string) bool { return !c.MaySeeFactory(uid) })
}

// callbackSecret seals the secret that was given, or a new one, which must be shown.
func (s *Notifier) callbackSecret(id string, given *string) (sealed, shown string, err error) {
	const scheme = "standard_webhooks"
	var value string
	if given == nil {
		value = signature.Generate(scheme)
		shown = value
	} else {
		value = *given
		if !strings.HasPrefix(value, "whsec_") {
			return "", "", lineshaft.Invalid("secret", "must be whsec_ followed by base64; leave it out to have one generated")
		}
		if _, err := signature.New(scheme, signature.HMAC{}, value); err != nil {
			return "", "", err
		}
	}
	sealed, err = s.secrets.SealValue(secrets.NotificationSeal(id), []byte(value))
	if err != nil {
		return "", "", fmt.Errorf("seal secret of notification: %w", err)
	}
	return sealed, shown, nil
}

// changeNotifications is a transaction that changes endpoints. The position of the fan-out
// is locked: which endpoints are enabled, and from where on, does not change meanwhile.
func (s *Notifier) changeNotifications(ctx context.Context, fn func(ctx context.Context, tx *store.Tx, position string) error) error {
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.EnsureSetting(ctx, notificationSetting, store.StatePosition{}.Encode()); err != nil {
			return err
		}
		position, err := tx.LockSetting(ctx, notificationSetting)
		if err != nil {
			return err
		}
		tx.Wake(stream.NotificationsTopic)
		return fn(ctx, tx, position)
	})
	if err == nil {
		s.fanout.idle.Store(false) // this node looks at once; others are notified
	}
	return err
}

// beginNotification makes an endpoint that is enabled begin here. While none was, nobody
// followed the changes: the first one brings the position along.
func (s *Notifier) beginNotification(ctx context.Context, tx *store.Tx, n *store.Notification, others []store.Notification, position string) error {
	var err error
	if n.Since, err = tx.Snapshot(ctx); err != nil || !n.Enabled {
		return err
	}
	if n.EnabledAt, err = s.TimerClock(ctx, tx); err != nil {
		return err
	}
	if slices.ContainsFunc(others, func(other store.Notification) bool { return other.Followed() && other.ID != n.ID }) {
		return nil
	}
	return tx.ReplaceSetting(ctx, notificationSetting, position, n.Since.Start().Encode())
}

func (s *Notifier) changeNotification(ctx context.Context, c lineshaft.Caller, id string, fn func(ctx context.Context, tx *store.Tx, n *store.Notification, position string) error) error {
	return s.changeNotifications(ctx, func(ctx context.Context, tx *store.Tx, position string) error {
		n, err := lockedNotification(ctx, tx, c, id)
		if err != nil {
			return err
		}
		n.UpdatedAt = s.Now()
		return fn(ctx, tx, n, position)
	})
}

func lockedNotification(ctx context.Context, tx *store.Tx, c lineshaft.Caller, id string) (*store.Notification, error) {
	n, err := tx.LockNotification(ctx, id)
	if err == nil && !reaches(c, &n.Notification) {
		return nil, lineshaft.NotFound("notification", id)
	}
	return n, err
}

// damagedNotification refuses to change an endpoint whose row cannot be read: its filters
// would be gone, and it would be notified of everything.
func damagedNotification(n *store.Notification) error {
	return lineshaft.Conflict("the stored notification %q cannot be read; delete it and create it again", n.Name)
}

// toldNotification is an endpoint as a caller sees it. Chat services hand out addresses
// that are their own key; a caller who may not change the endpoint does not need it.
func (s *Notifier) toldNotification(c lineshaft.Caller, n *store.Notification) lineshaft.Notification {
	out := n.Notification
	if !c.Role.May(lineshaft.PermissionFactoriesManage) {
		out.URL = lineshaft.ShortCallbackURL(out.URL)
	}
	if n.OldCredential != "" && s.Store.Now().Before(n.OldUntil) {
		out.OldSecretUntil = n.OldUntil
	}
	return out
}

// GetNotification reads an endpoint that the caller's key reaches.
func (s *Notifier) GetNotification(ctx context.Context, c lineshaft.Caller, id string) (lineshaft.Notification, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return lineshaft.Notification{}, err
	}
	n, err := s.Store.GetNotification(ctx, id)
	if err != nil {
		return lineshaft.Notification{}, err
	}
	if !reaches(c, &n.Notification) {
		return lineshaft.Notification{}, lineshaft.NotFound("notification", id)
	}
	return s.toldNotification(c, n), nil
}

// ListNotifications reads the endpoints that the caller's key reaches, the oldest first.
func (s *Notifier) ListNotifications(ctx context.Context, c lineshaft.Caller) ([]lineshaft.Notification, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	stored, err := s.Store.ListNotifications(ctx)
	var list []lineshaft.Notification
	for i := range stored {
		if reaches(c, &stored[i].Notification) {
			list = append(list, s.toldNotification(c, &stored[i]))
		}
	}
	return list, err
}

// UpdateNotification changes an endpoint. What waits for it goes to its new address.
func (s *Notifier) UpdateNotification(ctx context.Context, c lineshaft.Caller, id string, change NotificationChange) (lineshaft.Notification, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return lineshaft.Notification{}, err
	}
	var changed lineshaft.Notification
	err := s.changeNotification(ctx, c, id, func(ctx context.Context, tx *store.Tx, n *store.Notification, position string) error {
		if n.Damaged != nil {
			return damagedNotification(n)
		}
		was := *n
		base.Assign(&n.URL, change.URL)
		base.Assign(&n.Name, change.Name)
		base.Assign(&n.Description, change.Description)
		base.Assign(&n.States, change.States)
		if err := change.chooseFactories(&n.Notification); err != nil {
			return err
		}
		base.Assign(&n.RunName, change.RunName)
		if err := s.checkNotification(&n.Notification); err != nil {
			return err
		}
		if !slices.Equal(n.FactoryUIDs, was.FactoryUIDs) {
			if err := base.CheckReach(ctx, tx, c, n.FactoryUIDs); err != nil {
				return err
			}
		}
		if change.Enabled != nil && *change.Enabled != n.Enabled {
			if err := s.switchNotification(ctx, tx, n, *change.Enabled, position); err != nil {
				return err
			}
		}
		changed = s.toldNotification(c, n)
		if err := tx.PutNotification(ctx, *n); err != nil {
			return err
		}
		return s.auditNotificationChange(ctx, tx, c, &was, n)
	})
	return changed, err
}

// switchNotification enables or disables an endpoint. One that is enabled again gets at
// once what has waited and is not too old.
func (s *Notifier) switchNotification(ctx context.Context, tx *store.Tx, n *store.Notification, enabled bool, position string) error {
	n.Enabled, n.DisabledReason, n.DisabledAt = enabled, "", time.Time{}
	if !enabled {
		n.DisabledAt = n.UpdatedAt
		return stopNotification(ctx, tx, n)
	}
	tx.Wake(stream.CallbacksTopic)
	if n.Until.Max > 0 {
		return s.resumeNotification(ctx, tx, n)
	}
	others, err := tx.ListNotifications(ctx)
	if err != nil {
		return err
	}
	n.Gaps = nil
	return s.beginNotification(ctx, tx, n, others, position)
}

// stopNotification notes what had happened when an endpoint was disabled: changes that
// are not in its log yet still reach it.
func stopNotification(ctx context.Context, tx *store.Tx, n *store.Notification) (err error) {
	n.Until, err = tx.Snapshot(ctx)
	return err
}

// resumeNotification enables an endpoint before all that happened until it was disabled
// is in its log. It continues where it was; what happened meanwhile is a gap. Of very
// many gaps the oldest is given up: better to report too much than too little.
func (s *Notifier) resumeNotification(ctx context.Context, tx *store.Tx, n *store.Notification) error {
	now, err := tx.Snapshot(ctx)
	if err != nil {
		return err
	}
	n.Gaps = append(n.Gaps, store.SnapshotGap{From: n.Until, To: now})
	n.Gaps = n.Gaps[max(0, len(n.Gaps)-maxGaps):]
	n.Until = store.Snapshot{}
	n.EnabledAt, err = s.TimerClock(ctx, tx)
	return err
}

// RotateNotification replaces the secret of an endpoint. During the overlap everything
// is signed with both.
func (s *Notifier) RotateNotification(ctx context.Context, c lineshaft.Caller, id string, r NotificationRotation) (IssuedNotification, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return IssuedNotification{}, err
	}
	if r.Overlap < 0 || r.Overlap > lineshaft.MaxOverlap {
		return IssuedNotification{}, lineshaft.Invalid("overlap_seconds", "must be 0 to %d", int(lineshaft.MaxOverlap/time.Second))
	}
	sealed, shown, err := s.callbackSecret(id, r.Secret)
	if err != nil {
		return IssuedNotification{}, err
	}
	issued := IssuedNotification{Secret: shown}
	err = s.changeNotification(ctx, c, id, func(ctx context.Context, tx *store.Tx, n *store.Notification, _ string) error {
		if n.Damaged != nil {
			return damagedNotification(n)
		}
		done := false
		again, err := s.Idempotently(ctx, tx, c, r.Once, &done, func() error { return nil })
		if err != nil {
			return err
		}
		if again {
			return lineshaft.Conflict("this secret was already created and shown once; if you did not see it, open the page again and rotate again")
		}
		if r.Overlap > 0 && n.OldCredential != "" && n.OldUntil.After(n.UpdatedAt) {
			return lineshaft.Conflict("the secret before this one still signs until %s; wait until then, or rotate without overlap, which ends both", n.OldUntil.Format(time.RFC3339))
		}
		old, until := "", time.Time{}
		if r.Overlap > 0 {
			old, until = n.Credential, n.UpdatedAt.Add(r.Overlap)
		}
		n.Credential, n.OldCredential, n.OldUntil = sealed, old, until
		issued.Notification = s.toldNotification(c, n)
		if err := tx.PutNotification(ctx, *n); err != nil {
			return err
		}
		return s.auditNotification(ctx, tx, c, "notification.rotate", n, map[string]string{"overlap_seconds": strconv.Itoa(int(r.Overlap / time.Second))})
	})
	if err != nil {
		return IssuedNotification{}, err
	}
	return issued, nil
}

// DeleteNotification ends an endpoint: nothing more is sent to it. Its log goes soon.
func (s *Notifier) DeleteNotification(ctx context.Context, c lineshaft.Caller, id string) error {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return err
	}
	return s.changeNotification(ctx, c, id, func(ctx context.Context, tx *store.Tx, n *store.Notification, _ string) error {
		n.Enabled, n.Credential, n.OldCredential, n.OldUntil, n.DeletedAt = false, "", "", time.Time{}, n.UpdatedAt
		if err := tx.PutNotification(ctx, *n); err != nil {
			return err
		}
		return s.auditNotification(ctx, tx, c, "notification.delete", n, nil)
	})
}

// auditNotification records a change. Of the address it names the host.
func (s *Notifier) auditNotification(ctx context.Context, tx *store.Tx, c lineshaft.Caller, action string, n *store.Notification, detail map[string]string) error {
	if detail == nil {
		detail = map[string]string{}
	}
	detail["name"], detail["target"] = n.Name, lineshaft.CallbackTarget(n.URL)
	return s.Audit(ctx, tx, c, action, "notification", n.ID, detail)
}

// auditNotificationChange records what changed: the switch separately, all else by name.
func (s *Notifier) auditNotificationChange(ctx context.Context, tx *store.Tx, c lineshaft.Caller, was, n *store.Notification) error {
	var changed []string
	for _, field := range []struct {
		name    string
		differs bool
	}{
		{"url", was.URL != n.URL},
		{"name", was.Name != n.Name},
		{"description", was.Description != n.Description},
		{"states", !slices.Equal(was.States, n.States)},
		{"factory_uids", !slices.Equal(was.FactoryUIDs, n.FactoryUIDs)},
		{"run_name", was.RunName != n.RunName},
	} {
		if field.differs {
			changed = append(changed, field.name)
		}
	}
	if len(changed) > 0 {
		detail := map[string]string{"changed": strings.Join(changed, ", ")}
		if err := s.auditNotification(ctx, tx, c, "notification.update", n, detail); err != nil {
			return err
		}
	}
	if was.Enabled == n.Enabled {
		return nil
	}
	action := "notification.disable"
	if n.Enabled {
		action = "notification.enable"
	}
	return s.auditNotification(ctx, tx, c, action, n, nil)
}
