package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

const (
	// notificationSetting is how far state changes were checked for callbacks, by
	// whichever node. While no endpoint is enabled it stays where it is.
	notificationSetting = "notification_position"
	// fanoutDeliveries is about how many deliveries a round makes: on SQLite nobody else
	// writes meanwhile.
	fanoutDeliveries = 250
	// fanoutGather is how long changes that come together are gathered.
	fanoutGather = 20 * time.Millisecond
	// fanoutIdle is how often a node without endpoints looks whether there is one, in
	// case it was not notified.
	fanoutIdle = 30 * time.Second
)

// fanout is how far this node is.
type fanout struct {
	// idle says that no endpoint was followed when this node last looked.
	idle    atomic.Bool
	settled bool
	base.Bookmark
}

// FollowNotifications makes deliveries of the state changes of runs, until ctx ends. Any
// number of nodes may do it: each change is one delivery for each endpoint.
func (s *Notifier) FollowNotifications(ctx context.Context) {
	changes, endpoints := s.Hub.Subscribe(stream.StatesTopic), s.Hub.Subscribe(stream.NotificationsTopic)
	defer changes.Close()
	defer endpoints.Close()
	for {
		more, err := s.FanOut(ctx)
		s.EndRound(ctx, "make callbacks of state changes", err)
		if more && err == nil {
			continue
		}
		wake, wait := changes.C, base.ChangePoll
		if s.fanout.idle.Load() {
			wake, wait = nil, fanoutIdle // a busy server without endpoints is not asked for each change
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-wake:
			pause(ctx, fanoutGather)
		case <-endpoints.C:
			s.fanout.idle.Store(false)
		case <-timer.C:
			s.fanout.idle.Store(false)
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// FanOut looks at some state changes of runs and makes deliveries for the endpoints that
// want them. It reports whether there may be more.
func (s *Notifier) FanOut(ctx context.Context) (more bool, err error) {
	f := &s.fanout
	f.Lock()
	defer f.Unlock()
	if f.idle.Load() {
		return false, nil
	}
	endpoints, err := followed(ctx, s.Store)
	if err != nil || len(endpoints) == 0 {
		f.idle.Store(err == nil)
		return false, err
	}
	if err := s.settleFanout(ctx); err != nil {
		return false, err
	}
	if err := f.Resume(ctx, s.Store); err != nil {
		return false, err
	}
	horizon, err := s.Store.Horizon(ctx) // before the changes: those below it are all among them
	if err != nil {
		return false, err
	}
	changes, err := s.Store.ListStateChanges(ctx, *f.At.Load(), base.ChangeBatch)
	if err != nil {
		return false, err
	}
	if len(changes) == 0 {
		return false, s.releaseNotifications(ctx, endpoints, horizon)
	}
	// Whoever asked before the last of these changes committed is seen now.
	if endpoints, err = followed(ctx, s.Store); err != nil {
		return false, err
	}
	deliveries, seen, err := s.draftCallbacks(ctx, s.Store, endpoints, changes)
	if err != nil {
		return false, err
	}
	more, to := len(changes) == base.ChangeBatch, changes[seen-1].Position
	if len(deliveries) == 0 {
		return more, f.Pass(ctx, s.Store, to)
	}
	return true, s.storeCallbacks(ctx, deliveries, to)
}

// followed are the enabled endpoints, and those that were disabled before all that had
// happened until then was checked.
func followed(ctx context.Context, r callbackReader) ([]store.Notification, error) {
	all, err := r.ListNotifications(ctx)
	return slices.DeleteFunc(all, func(n store.Notification) bool { return !n.Followed() }), err
}

// releaseNotifications ends the following of disabled endpoints for which everything was
// checked that had happened when they were disabled.
func (s *Notifier) releaseNotifications(ctx context.Context, endpoints []store.Notification, horizon int64) error {
	for _, n := range endpoints {
		if n.Enabled || n.Until.Max > horizon {
			continue
		}
		if err := s.changeNotifications(ctx, func(ctx context.Context, tx *store.Tx, _ string) error {
			now, err := tx.LockNotification(ctx, n.ID)
			if err != nil || now.Enabled || now.Until.String() != n.Until.String() {
				return base.IgnoreNotFound(err)
			}
			now.Until, now.Gaps = store.Snapshot{}, nil
			return tx.PutNotification(ctx, *now)
		}); err != nil {
			return err
		}
	}
	return nil
}

// settleFanout is for a database that was moved to another machine: the numbers of
// transactions may begin again, and nothing would come after a position that is ahead
// of them. Such a position is moved to now.
func (s *Notifier) settleFanout(ctx context.Context) error {
	if s.fanout.settled {
		return nil
	}
	err := s.changeNotifications(ctx, func(ctx context.Context, tx *store.Tx, position string) error {
		now, err := tx.Snapshot(ctx)
		if err != nil {
			return err
		}
		at, err := store.DecodePosition(position)
		if err != nil {
			return err
		}
		if at.Txid > now.Max {
			if err := tx.ReplaceSetting(ctx, notificationSetting, position, now.Start().Encode()); err != nil {
				return err
			}
		}
		endpoints, err := tx.ListNotifications(ctx)
		for i := range endpoints {
			if err == nil && endpoints[i].Damaged == nil && max(endpoints[i].Since.Max, endpoints[i].Until.Max) > now.Max {
				endpoints[i].Since, endpoints[i].Until, endpoints[i].Gaps = now, store.Snapshot{}, nil
				err = tx.PutNotification(ctx, endpoints[i])
			}
		}
		return err
	})
	s.fanout.settled = err == nil
	return err
}

func (s *Notifier) storeCallbacks(ctx context.Context, deliveries []lineshaft.NotificationDelivery, to store.StatePosition) error {
	return s.fanout.Move(ctx, s.Store, to, func(ctx context.Context, tx *store.Tx) error {
		live, err := tx.ListNotifications(ctx)
		if err != nil {
			return err
		}
		// An endpoint that was deleted meanwhile would leave rows that nobody removes.
		kept := slices.DeleteFunc(slices.Clone(deliveries), func(d lineshaft.NotificationDelivery) bool {
			return !slices.ContainsFunc(live, func(n store.Notification) bool { return n.ID == d.NotificationID })
		})
		tx.Wake(stream.CallbacksTopic)
		return tx.InsertNotificationDeliveries(ctx, kept)
	})
}

// FanOutRun makes the deliveries of a run that is about to be deleted: of its changes that
// were not checked yet, most often its end. If a follower makes them as well, one of the
// two is left out. The position is locked, so that no endpoint goes meanwhile.
func (s *Notifier) FanOutRun(ctx context.Context, tx *store.Tx, run *store.RunHead) error {
	endpoints, err := followed(ctx, tx)
	if err != nil || len(endpoints) == 0 {
		return err // the position does not move, and may be far behind
	}
	position, err := tx.GetSetting(ctx, notificationSetting)
	if err != nil {
		return err
	}
	at, err := store.DecodePosition(position)
	if err != nil {
		return err
	}
	changes, err := tx.ListRunStateChanges(ctx, at, run.ID, run.LastSequence)
	if err != nil || len(changes) == 0 {
		return err
	}
	if _, err := tx.LockSetting(ctx, notificationSetting); err != nil {
		return err
	}
	if endpoints, err = followed(ctx, tx); err != nil {
		return err
	}
	tx.Wake(stream.CallbacksTopic)
	for len(changes) > 0 {
		deliveries, seen, err := s.draftCallbacks(ctx, tx, endpoints, changes)
		if err != nil {
			return err
		}
		if err := tx.InsertNotificationDeliveries(ctx, deliveries); err != nil {
			return err
		}
		changes = changes[seen:]
	}
	return nil
}

// callbackReader is a store or a transaction of it.
type callbackReader interface {
	Clock(ctx context.Context) (time.Time, error)
	ListNotifications(ctx context.Context) ([]store.Notification, error)
	ListCallbackRuns(ctx context.Context, ids []string) (map[string]store.CallbackRun, error)
}

// draftCallbacks makes the deliveries of changes, in their order, until they are enough for
// a round. It says how many of the changes it checked.
func (s *Notifier) draftCallbacks(ctx context.Context, r callbackReader, endpoints []store.Notification, changes []store.StateChange) (made []lineshaft.NotificationDelivery, seen int, err error) {
	var ids []string
	for _, change := range changes {
		ids = append(ids, change.Event.RunID)
	}
	runs, err := r.ListCallbackRuns(ctx, slices.Compact(slices.Sorted(slices.Values(ids))))
	if err != nil {
		return nil, 0, err
	}
	now, err := s.TimerClock(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	passed := map[string]int{}
	for _, change := range changes {
		if len(made) >= fanoutDeliveries {
			break
		}
		seen++
		run, there := runs[change.Event.RunID]
		if !there {
			continue // the deletion made them
		}
		var data lineshaft.StateData
		if why := passedOver(change.Event, &data, now); why != "" {
			passed[why]++
			continue
		}
		if run.Damaged != nil {
			s.Log.WarnContext(ctx, "callbacks of a run say less, because part of it cannot be read", "run_id", run.ID, "err", run.Damaged)
		}
		var body []byte
		for _, n := range endpoints {
			if !n.Covers(change.Position.Txid) || !n.Wants(data.To, run.FactoryUID, run.Name) {
				continue
			}
			if body == nil {
				if body, err = s.callbackBody(run, change.Event, data); err != nil {
					return nil, 0, err
				}
			}
			id, _ := s.Store.NewID()
			made = append(made, lineshaft.NotificationDelivery{
				ID: id, NotificationID: n.ID, EventID: change.Event.ID, Type: lineshaft.NotificationStateChanged, RunID: run.ID, RunName: run.Name, FactoryUID: run.FactoryUID, State: data.To,
				NextAttemptAt: now, ExpiresAt: now.Add(lineshaft.NotificationPeriod), CreatedAt: now, Body: body, TraceParent: run.TraceParent,
			})
		}
	}
	for why, n := range passed {
		s.Log.WarnContext(ctx, "no callbacks are made of state changes", "changes", n, "reason", why)
	}
	return made, seen, nil
}

// passedOver says why a state change is not reported, if that is so. Its age goes by
// the database's clock: that of this node may be wrong, and the others would never see
// the change.
func passedOver(e lineshaft.Event, data *lineshaft.StateData, now time.Time) string {
	switch {
	case json.Unmarshal(e.Data, data) != nil:
		return "they cannot be read"
	case now.Sub(e.Time) > lineshaft.NotificationPeriod:
		return "they are older than 72 hours"
	}
	return ""
}

func (s *Notifier) callbackBody(run store.CallbackRun, e lineshaft.Event, data lineshaft.StateData) ([]byte, error) {
	change := stateChanged{
		EventID: e.ID, Sequence: e.Sequence, RunID: run.ID, State: data.To, PreviousState: data.From, Message: data.Message, ErrorCode: data.ErrorCode,
		Title: run.Title, Name: run.Name, FactoryUID: run.FactoryUID, AutomationID: run.Metadata[lineshaft.MetadataAutomation],
		WebhookID: run.Metadata[lineshaft.MetadataWebhook], DeliveryID: run.Metadata[lineshaft.MetadataDelivery], CreatedAt: wireTime(run.CreatedAt),
	}
	if data.To.Terminal() {
		change.FinishedAt = wireTime(e.Time)
	}
	if s.Cfg.RunURL != nil {
		change.URL = s.Cfg.RunURL(run.ID)
	}
	return encodeCallback(lineshaft.NotificationStateChanged, e.Time, change)
}

// stateChanged is the data of a callback about a run.
type stateChanged struct {
	EventID       string             `json:"event_id"`
	Sequence      int64              `json:"sequence"`
	RunID         string             `json:"run_id"`
	State         lineshaft.RunState `json:"state"`
	PreviousState lineshaft.RunState `json:"previous_state,omitempty"`
	Message       string             `json:"message,omitempty"`
	ErrorCode     lineshaft.Code     `json:"error_code,omitempty"`
	Title         string             `json:"title"`
	Name          string             `json:"name,omitempty"`
	FactoryUID    string             `json:"factory_uid,omitempty"`
	AutomationID  string             `json:"automation_id,omitempty"`
	WebhookID     string             `json:"webhook_id,omitempty"`
	DeliveryID    string             `json:"delivery_id,omitempty"`
	CreatedAt     string             `json:"created_at"`
	FinishedAt    string             `json:"finished_at,omitempty"`
	URL           string             `json:"url"`
}

func encodeCallback(kind string, at time.Time, data any) ([]byte, error) {
	body, err := json.Marshal(struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      any    `json:"data"`
	}{kind, wireTime(at), data})
	if err != nil {
		return nil, fmt.Errorf("encode callback: %w", err)
	}
	return body, nil
}

// wireTime is a time as the API writes it.
func wireTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000Z") }
