package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// backlogMost is how many waiting deliveries are counted: larger numbers look the same.
	backlogMost = 100_000
	// callbacksLate is the lag that is reported to people.
	callbacksLate = time.Minute
	// lateNote is how often the log reports it.
	lateNote = 10 * time.Minute
)

// CallbackBacklog is how far callbacks are behind.
type CallbackBacklog struct {
	// Lag is the age of the oldest state change that was not yet checked for callbacks.
	Lag time.Duration
	// HeldBy is the transaction in the database that a late change waits for, if it is one.
	HeldBy string
	// Pending counts deliveries that wait, those of disabled endpoints included.
	Pending int
	// Overdue is how long the delivery is due that waits longest for its attempt.
	Overdue time.Duration
}

// Late says that people should know of the lag.
func (b CallbackBacklog) Late() bool { return b.Lag >= callbacksLate }

// backlog is what this node last saw.
type backlog struct {
	mu    sync.Mutex
	seen  CallbackBacklog
	noted time.Time
}

// CallbackBacklog is how far callbacks were behind when WatchCallbacks last looked:
// reading metrics does not query the database.
func (s *Notifier) CallbackBacklog() CallbackBacklog {
	s.backlog.mu.Lock()
	defer s.backlog.mu.Unlock()
	return s.backlog.seen
}

// WatchCallbacks finds out how far callbacks are behind. The log says when they are
// late. What could not be read stays as it was.
func (s *Notifier) WatchCallbacks(ctx context.Context) error {
	seen := s.CallbackBacklog()
	now, err := s.TimerClock(ctx, s.Store)
	if err != nil {
		return err
	}
	err = errors.Join(s.lookAtFanout(ctx, now, &seen), s.lookAtDeliveries(ctx, now, &seen))
	switch {
	case !s.backlog.note(seen):
	case seen.HeldBy != "":
		s.Log.WarnContext(ctx, "callbacks are held back by a transaction that has not ended; end it, and they are sent", "lag", seen.Lag, "transaction", seen.HeldBy)
	default:
		s.Log.WarnContext(ctx, "callbacks are late; see the earlier warnings about making them", "lag", seen.Lag)
	}
	return err
}

// note keeps what was seen and says whether to log it.
func (b *backlog) note(seen CallbackBacklog) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = seen
	tell := seen.Late() && time.Since(b.noted) >= lateNote
	if tell {
		b.noted = time.Now()
	}
	return tell
}

func (s *Notifier) lookAtDeliveries(ctx context.Context, now time.Time, seen *CallbackBacklog) error {
	pending, err := s.Store.CountPending(ctx, backlogMost)
	if err != nil {
		return err
	}
	seen.Pending = pending
	due, err := s.Store.DueNotifications(ctx)
	if err != nil {
		return err
	}
	seen.Overdue = 0
	for _, d := range due {
		seen.Overdue = max(seen.Overdue, now.Sub(d.Since))
	}
	return nil
}

// lookAtFanout asks the index for the first change after this node's position. Without
// an endpoint nobody follows, and nothing is late.
func (s *Notifier) lookAtFanout(ctx context.Context, now time.Time, seen *CallbackBacklog) error {
	endpoints, err := followed(ctx, s.Store)
	if err != nil {
		return err
	}
	var oldest time.Time
	var txid int64
	if len(endpoints) > 0 {
		at, err := s.fanoutPlace(ctx)
		if err != nil {
			return err
		}
		if oldest, txid, err = s.Store.NextStateChange(ctx, at); err != nil {
			return err
		}
	}
	seen.Lag, seen.HeldBy = 0, ""
	if oldest.IsZero() {
		return nil
	}
	since := slices.MinFunc(endpoints, func(a, b store.Notification) int { return a.EnabledAt.Compare(b.EnabledAt) }).EnabledAt
	if oldest.Before(since) {
		oldest = since // the position may begin before what the first endpoint wants
	}
	if seen.Lag = max(0, now.Sub(oldest)); !seen.Late() {
		return nil
	}
	if horizon, err := s.Store.Horizon(ctx); err != nil || txid < horizon {
		return err
	}
	_, seen.HeldBy, err = s.Store.HeldBack(ctx)
	return err
}

// fanoutPlace is this node's position: the noted one may be behind while there is nothing
// to do. It does not wait for a round, which may be stuck.
func (s *Notifier) fanoutPlace(ctx context.Context) (store.StatePosition, error) {
	if at := s.fanout.At.Load(); at != nil {
		return *at, nil
	}
	noted, err := s.Store.GetSetting(ctx, notificationSetting)
	if err != nil {
		return store.StatePosition{}, err
	}
	return store.DecodePosition(noted)
}
