package notify

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	controlsecrets "github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

const (
	// callbackTime is what one request may take.
	callbackTime = 15 * time.Second
	// CallbackLease is how long nobody else takes a delivery that a node attempts: the
	// request, and noting how it went, with room to spare.
	CallbackLease = time.Minute
	// callbacksAtOnce bounds the requests of a node to one endpoint. There are at most
	// lineshaft.MaxNotifications endpoints, so it also bounds them in all, and a slow
	// endpoint takes nothing from the others.
	callbacksAtOnce = 8
	// callbackPoll is how often to look without a wake-up.
	callbackPoll = 5 * time.Second
	// callbackDrain is how long requests may take to end when the server stops.
	callbackDrain = 3 * time.Second
	// statusGone is the answer of an endpoint that wants nothing any more.
	statusGone = 410
)

// CallbackOutcome is the result of an attempt, for logs and metrics.
type CallbackOutcome string

// The outcomes of an attempt.
const (
	CallbackDelivered CallbackOutcome = "delivered"
	// CallbackRetried failed and will be tried again.
	CallbackRetried CallbackOutcome = "retried"
	// CallbackFailed failed for good.
	CallbackFailed CallbackOutcome = "failed"
)

// callbacks are the requests that this node is making.
type callbacks struct {
	mu   sync.Mutex
	busy map[string]int // by endpoint
	wg   sync.WaitGroup
	// freed has a wake-up when a request has ended.
	freed chan struct{}
}

func (b *callbacks) free(notificationID string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return callbacksAtOnce - b.busy[notificationID]
}

func (b *callbacks) add(notificationID string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[notificationID] += n; b.busy[notificationID] == 0 {
		delete(b.busy, notificationID)
	}
}

// SendCallbacks sends what is due to the endpoints until ctx ends. Any number of nodes
// may do it.
func (s *Notifier) SendCallbacks(ctx context.Context) {
	sub := s.Hub.Subscribe(stream.CallbacksTopic)
	defer sub.Close()
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.Loop(ctx, "send callbacks", sub.C, s.callbacks.freed, func(context.Context) (time.Duration, error) { return s.startDue(life) })
	s.drainCallbacks(ctx, end)
}

// drainCallbacks lets requests end, breaks off those that have not in time, and leaves
// one that does not heed that: its lease ends, and another node sends it again.
func (s *Notifier) drainCallbacks(ctx context.Context, end func()) {
	over := make(chan struct{})
	go func() {
		s.callbacks.wg.Wait()
		close(over)
	}()
	for range 2 {
		timer := time.NewTimer(callbackDrain)
		select {
		case <-over:
			timer.Stop()
			return
		case <-timer.C:
			end()
		}
	}
	s.Log.WarnContext(ctx, "callbacks are still under way; they will be sent again")
}

// SendDue sends what is due now, as far as there is room, and waits until all of it has
// ended. It says how many attempts that were.
func (s *Notifier) SendDue(ctx context.Context) (int, error) {
	for {
		started, next, err := s.takeDue(ctx)
		s.callbacks.wg.Wait()
		if started > 0 || next > 0 || err != nil {
			return started, err
		}
	}
}

// startDue begins the attempts that are due and says when to look again.
func (s *Notifier) startDue(ctx context.Context) (time.Duration, error) {
	_, next, err := s.takeDue(ctx)
	return min(max(next, 0), callbackPoll), err
}

// takeDue begins attempts of each endpoint. Trouble with one does not keep the others; a
// next of 0 says that there was more to end than one transaction should.
func (s *Notifier) takeDue(ctx context.Context) (started int, next time.Duration, err error) {
	next = callbackPoll
	if s.Cfg.Callbacks == nil {
		return 0, next, nil
	}
	due, err := s.Store.DueNotifications(ctx)
	if err != nil || len(due) == 0 {
		return 0, next, err
	}
	now, err := s.TimerClock(ctx, s.Store)
	if err != nil {
		return 0, next, err
	}
	var errs error
	for _, d := range due {
		if wait := d.Next.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		n, again, err := s.takeCallbacks(ctx, d.ID, now)
		errs = errors.Join(errs, err)
		started += n
		if again {
			next = 0
		}
	}
	if errs != nil {
		next = callbackPoll
	}
	return started, next, errs
}

// takeCallbacks claims what is due of one endpoint and attempts it. It reports whether to
// look again at once.
func (s *Notifier) takeCallbacks(ctx context.Context, notificationID string, now time.Time) (started int, again bool, err error) {
	room := s.callbacks.free(notificationID)
	if room <= 0 {
		return 0, false, nil // checked again when one of them has ended
	}
	var claims []store.NotificationClaim
	var endpoint *store.Notification
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		claims, again = nil, false
		endpoint, err = tx.GetNotification(ctx, notificationID)
		if err != nil || !endpoint.Enabled {
			return base.IgnoreNotFound(err)
		}
		claims, again, err = claimCallbacks(ctx, tx, endpoint, now, room)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	s.callbacks.add(notificationID, len(claims))
	for _, claim := range claims {
		s.callbacks.wg.Go(func() {
			s.attempt(ctx, endpoint, claim)
			s.callbacks.add(notificationID, -1)
			select {
			case s.callbacks.freed <- struct{}{}:
			default: // one is pending already
			}
		})
	}
	return len(claims), again, nil
}

// claimCallbacks claims what to send. Deliveries that expired while the endpoint was
// disabled have failed, and so have those that its filters leave out by now. Both are
// settled here, some at a time: there may be very many, and no transaction should take long.
func claimCallbacks(ctx context.Context, tx *store.Tx, n *store.Notification, now time.Time, room int) (claims []store.NotificationClaim, again bool, err error) {
	ended, err := tx.ExpireNotificationDeliveries(ctx, n.ID, n.EnabledAt, now, expiredDisabled, base.PurgeBatch)
	if err != nil || ended == base.PurgeBatch {
		return nil, true, err
	}
	all, err := tx.ClaimNotificationDeliveries(ctx, n, now, now.Add(CallbackLease), room)
	for _, c := range all {
		if err == nil && !c.DeliveredFor(n.Notification) {
			c.Status, c.LastError, c.NextAttemptAt, c.FinishedAt = lineshaft.NotificationFailed, unwanted, time.Time{}, now
			again = true
			_, err = tx.FinishNotificationAttempt(ctx, c)
			continue
		}
		claims = append(claims, c)
	}
	return claims, again, err
}

// attempt makes one request and notes how it went. No transaction is open meanwhile.
func (s *Notifier) attempt(ctx context.Context, n *store.Notification, claim store.NotificationClaim) {
	result := s.TraceCallback(ctx, claim, func(ctx context.Context) lineshaft.CallbackResult { return s.request(ctx, n, claim) })
	note := context.WithoutCancel(ctx) // whatever happens, how it went is noted
	var err error
	if ctx.Err() != nil && !result.Delivered() {
		err = s.Store.Write(note, func(ctx context.Context, tx *store.Tx) error {
			now, err := s.TimerClock(ctx, tx)
			if err != nil {
				return err
			}
			return tx.ReleaseNotificationDelivery(ctx, claim, now)
		})
	} else {
		err = s.noteAttempt(note, claim, result)
	}
	if err != nil {
		s.Log.ErrorContext(note, "record callback; it will be sent again", "notification_id", n.ID, "delivery_id", claim.ID, "err", err)
	}
}

func (s *Notifier) request(ctx context.Context, n *store.Notification, claim store.NotificationClaim) lineshaft.CallbackResult {
	const problem = "the secret of the notification cannot be read; rotate it"
	now, err := s.TimerClock(ctx, s.Store)
	if err != nil {
		return lineshaft.CallbackResult{Error: "the database did not answer"}
	}
	var secrets []string
	for i, sealed := range []string{n.Credential, n.OldCredential} {
		if sealed == "" || i == 1 && !s.Store.Now().Before(n.OldUntil) {
			continue
		}
		secret, err := s.secrets.OpenSealed(controlsecrets.NotificationSeal(n.ID), sealed)
		if err != nil {
			return lineshaft.CallbackResult{Error: problem}
		}
		secrets = append(secrets, string(secret))
	}
	ctx, cancel := context.WithTimeout(ctx, callbackTime)
	defer cancel()
	return s.Cfg.Callbacks.Send(ctx, lineshaft.Callback{
		URL: n.URL, ID: claim.EventID, Time: now, Body: claim.Body, Secrets: secrets, TraceParent: tracing.Parent(ctx),
	})
}

// noteAttempt stores how an attempt went, and disables an endpoint that is gone.
func (s *Notifier) noteAttempt(ctx context.Context, c store.NotificationClaim, result lineshaft.CallbackResult) error {
	var outcome CallbackOutcome
	var endpoint *store.Notification
	mine, disabled := false, ""
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now, err := s.TimerClock(ctx, tx)
		if err != nil {
			return err
		}
		// The endpoint comes first, as for anyone who enables it and changes its deliveries.
		if endpoint, err = tx.LockNotification(ctx, c.NotificationID); err != nil {
			mine = false
			return base.IgnoreNotFound(err) // it was deleted meanwhile
		}
		done := c
		outcome = attempted(&done, result, now)
		if mine, err = tx.FinishNotificationAttempt(ctx, done); err != nil || !mine {
			return err
		}
		disabled = disableReason(endpoint, &done, result, outcome)
		if disabled != "" {
			err = s.disableNotification(ctx, tx, endpoint, disabled)
		}
		if err == nil {
			err = tx.NoteCallback(ctx, endpoint.ID, outcome == CallbackDelivered, now)
		}
		return err
	})
	if err != nil || !mine {
		return err
	}
	s.tellAttempt(ctx, endpoint, c, result, outcome)
	if disabled != "" {
		s.Log.WarnContext(ctx, "notification disabled", "notification_id", endpoint.ID, "name", endpoint.Name, "target", lineshaft.CallbackTarget(endpoint.URL), "reason", disabled)
	}
	return nil
}

// attempted changes a delivery by an attempt.
func attempted(c *store.NotificationClaim, result lineshaft.CallbackResult, now time.Time) CallbackOutcome {
	c.AttemptCount++
	c.Tries++
	c.LastStatusCode, c.LastError = result.StatusCode, result.Error
	log := append(c.Attempts[:len(c.Attempts):len(c.Attempts)], lineshaft.NotificationAttempt{
		Number: c.AttemptCount, Time: now.Add(-result.Took).UTC(), StatusCode: result.StatusCode, Error: result.Error, DurationMS: result.Took.Milliseconds(),
	})
	c.Attempts = log[max(0, len(log)-lineshaft.MaxNotificationAttempts):]
	c.NextAttemptAt, c.FinishedAt = time.Time{}, now
	if result.Delivered() {
		c.Status = lineshaft.NotificationDelivered
		return CallbackDelivered
	}
	c.Status = lineshaft.NotificationFailed
	if result.StatusCode != statusGone {
		c.NextAttemptAt = lineshaft.NextNotificationAttempt(now, c.ExpiresAt, c.Tries, result.RetryAfter, 0.9+rand.Float64()/5) // spreads load, keeps no secret
	}
	if c.NextAttemptAt.IsZero() {
		return CallbackFailed
	}
	c.Status, c.FinishedAt = lineshaft.NotificationPending, time.Time{}
	return CallbackRetried
}

// disableReason says why to disable an endpoint after an attempt, if there is a reason:
// the endpoint says that it is gone, or it was enabled for the whole time of a delivery
// and accepted nothing.
func disableReason(n *store.Notification, c *store.NotificationClaim, result lineshaft.CallbackResult, outcome CallbackOutcome) string {
	made := c.ExpiresAt.Add(-lineshaft.NotificationPeriod)
	switch {
	case !n.Enabled || outcome != CallbackFailed:
		return ""
	case result.StatusCode == statusGone:
		return "it answered 410 Gone"
	case n.LastSuccessAt.Before(made) && !n.EnabledAt.After(made):
		return "nothing was delivered for 72 hours; the last attempt: " + result.Error
	}
	return ""
}

func (s *Notifier) disableNotification(ctx context.Context, tx *store.Tx, n *store.Notification, reason string) error {
	n.Enabled, n.DisabledReason, n.DisabledAt = false, reason, s.Now()
	n.UpdatedAt = n.DisabledAt
	tx.Wake(stream.NotificationsTopic)
	if err := stopNotification(ctx, tx, n); err != nil {
		return err
	}
	if err := tx.PutNotification(ctx, *n); err != nil {
		return err
	}
	return s.auditNotification(ctx, tx, base.System(), "notification.disable", n, map[string]string{"reason": reason})
}

// tellAttempt writes the line of an attempt and counts it.
func (s *Notifier) tellAttempt(ctx context.Context, n *store.Notification, c store.NotificationClaim, result lineshaft.CallbackResult, outcome CallbackOutcome) {
	if s.Cfg.ObserveCallback != nil {
		s.Cfg.ObserveCallback(string(outcome), result.Took)
	}
	attrs := []slog.Attr{
		slog.String("outcome", string(outcome)), slog.String("notification_id", n.ID), slog.String("delivery_id", c.ID), slog.String("event_id", c.EventID),
		slog.String("type", c.Type), slog.String("run_id", c.RunID), slog.String("state", string(c.State)), slog.Int("attempt", c.AttemptCount+1), slog.String("trace_id", tracing.TraceIDOf(c.TraceParent)),
		slog.String("target", lineshaft.CallbackTarget(n.URL)), slog.Int("status", result.StatusCode), slog.Duration("took", result.Took),
	}
	if result.Error != "" {
		attrs = append(attrs, slog.String("error", result.Error))
	}
	s.Log.LogAttrs(ctx, slog.LevelInfo, "callback", attrs...)
}
