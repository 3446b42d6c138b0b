package control_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func (b *callbackBench) found(id string) lineshaft.Notification {
	b.Helper()
	return must[lineshaft.Notification](b.bench)(b.s.GetNotification(b.Context(), b.admin, id))
}

func (b *callbackBench) notices() []overview.Attention {
	b.Helper()
	view := must[*overview.Overview](b.bench)(b.s.Overview(b.Context(), b.admin, overview.LastDay, ""))
	return slices.DeleteFunc(view.Attention, func(a overview.Attention) bool { return a.Kind != overview.AttentionCallback })
}

// An endpoint that says it is gone is disabled at once, and everyone is notified.
func TestC1GoneDisablesAtOnce(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{URL: "https://example.com/hidden?token=hidden"})
		b.receiver.says(status(410))
		first := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.send()
		found := b.found(n.ID)
		if found.Enabled || !strings.Contains(found.DisabledReason, "410") || found.DisabledAt.IsZero() || found.LastFailureAt.IsZero() {
			b.Fatalf("%+v", found)
		}
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationFailed), b.stateIDs(first))
		entries := b.audits(n.ID)
		last := entries[len(entries)-1]
		if last.Action != "notification.disable" || last.Actor.UID != "system" || last.Detail["reason"] != found.DisabledReason {
			b.Errorf("audit: %+v", last)
		}
		if got := b.notices(); len(got) != 1 || got[0].ID != n.ID || got[0].Reason != found.DisabledReason {
			b.Errorf("notices: %+v", got)
		}
		if log := b.log.String(); !strings.Contains(log, "level=WARN msg=\"notification disabled\"") || strings.Contains(log, "hidden") || !strings.Contains(log, "target=https://example.com ") {
			b.Errorf("log: %s", log)
		}
		b.start(lineshaft.NewRun{})
		b.fan()
		b.receiver.says(nil)
		b.enable(n.ID, true)
		if got := b.notices(); len(got) != 0 {
			b.Errorf("notices: %+v", got)
		}
		b.wantEvents(b.deliveries(n.ID, ""), b.stateIDs(first)) // what happened meanwhile is not made up
	})
}

// The last attempt is made when the 72 hours end. Then the delivery has failed, and an
// endpoint that took nothing all the time is disabled; what waits for it stays.
func TestC1NothingFor72HoursDisables(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		b.receiver.says(status(500))
		first := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.passes(71 * time.Hour)
		second := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.passes(59 * time.Minute)
		if !b.found(n.ID).Enabled {
			b.Fatal("it was disabled too early")
		}
		b.passes(2 * time.Minute)
		found := b.found(n.ID)
		if found.Enabled || !strings.Contains(found.DisabledReason, "72 hours") || !strings.Contains(found.DisabledReason, "it answered 500") {
			b.Fatalf("%+v", found)
		}
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationFailed), b.stateIDs(first))
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationPending), b.stateIDs(second))
		if len(b.notices()) != 1 {
			b.Error("nobody is told")
		}
		tried := len(b.receiver.taken(n.URL))
		b.passes(10 * time.Hour)
		if now := len(b.receiver.taken(n.URL)); now != tried {
			b.Errorf("%d attempts while it was disabled", now-tried)
		}
		b.receiver.says(nil)
		b.enable(n.ID, true)
		b.send()
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), b.stateIDs(second))
	})
}

// One event that the receiver does not take disables nothing while it takes others.
func TestC1OneBadEventDisablesNothing(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		bad := b.stateIDs(b.start(lineshaft.NewRun{}).RunID)[0]
		b.receiver.says(func(c lineshaft.Callback) lineshaft.CallbackResult {
			if c.ID == bad {
				return lineshaft.CallbackResult{StatusCode: 400, Error: "it answered 400"}
			}
			return lineshaft.CallbackResult{StatusCode: 200}
		})
		b.fan()
		b.passes(30 * time.Hour)
		b.start(lineshaft.NewRun{})
		b.fan()
		b.passes(43 * time.Hour)
		if found := b.found(n.ID); !found.Enabled {
			b.Fatalf("%+v", found)
		}
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationFailed), []string{bad})
	})
}

// A server that was stopped for longer than the 72 hours tries some times before it gives
// up: its deliveries were not tried for all of that time.
func TestC1AClockThatJumpsLosesNothing(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		runID := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.clock.advance(100 * time.Hour)
		b.receiver.says(status(502)) // the network is not there yet
		b.passes(time.Minute)
		if tried := len(b.receiver.taken(n.URL)); !b.found(n.ID).Enabled || tried != 3 {
			b.Fatalf("%d attempts, then %+v", tried, b.found(n.ID))
		}
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationPending), b.stateIDs(runID))
		b.receiver.says(nil)
		b.passes(5 * time.Minute)
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), b.stateIDs(runID))

		b.start(lineshaft.NewRun{})
		b.fan()
		b.clock.advance(100 * time.Hour)
		b.receiver.says(status(502))
		b.passes(time.Hour)
		if d := b.deliveries(n.ID, lineshaft.NotificationFailed); len(d) != 1 || d[0].AttemptCount != lineshaft.MinNotificationAttempts || b.found(n.ID).Enabled {
			b.Fatalf("an endpoint that is really gone: %+v", d)
		}
	})
}

// A delivery that waits for a disabled endpoint longer than its 72 hours has failed.
func TestC1WaitingForADisabledEndpointEnds(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		purged, enabled := b.endpoint(notify.NewNotification{}), b.endpoint(notify.NewNotification{})
		runID := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.enable(purged.ID, false)
		b.enable(enabled.ID, false)
		if found := b.found(purged.ID); found.DisabledReason != "" || found.DisabledAt.IsZero() || len(b.notices()) != 0 {
			b.Errorf("people disabled it: %+v", found)
		}
		b.clock.advance(73 * time.Hour)
		wantCode(b, b.s.PurgeNotifications(b.Context()), "")
		b.wantEvents(b.deliveries(purged.ID, lineshaft.NotificationFailed), b.stateIDs(runID))
		b.enable(enabled.ID, true)
		b.send()
		b.wantEvents(b.deliveries(enabled.ID, lineshaft.NotificationFailed), b.stateIDs(runID))
		if d := b.deliveries(enabled.ID, "")[0]; !strings.Contains(d.LastError, "disabled") || !strings.Contains(d.LastError, "replay") {
			b.Errorf("%+v", d)
		}
		if len(b.receiver.taken(purged.URL)) != 0 {
			b.Error("it was sent")
		}
	})
}

func TestC1RetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		b.start(lineshaft.NewRun{})
		b.fan()
		for _, tc := range []struct{ asked, least, most time.Duration }{
			{20 * time.Minute, 20 * time.Minute, 20 * time.Minute},
			{time.Second, 27 * time.Second, 33 * time.Second}, // not sooner than without
			{1000 * time.Hour, 8 * time.Hour, 8 * time.Hour},  // not later than ever
		} {
			b.receiver.says(func(lineshaft.Callback) lineshaft.CallbackResult {
				return lineshaft.CallbackResult{StatusCode: 429, Error: "it answered 429", RetryAfter: tc.asked}
			})
			from := b.clock.now()
			b.send()
			wait := b.deliveries(n.ID, "")[0].NextAttemptAt.Sub(from)
			if wait < tc.least || wait > tc.most+b.clock.now().Sub(from)+time.Second {
				b.Errorf("asked for %s, waits %s", tc.asked, wait)
			}
			b.clock.advance(wait)
		}
	})
}

// A rotation with overlap signs with both secrets until the old one ends.
func TestC1RotationOverlaps(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		signed := func() []string {
			b.Helper()
			must[*lineshaft.NotificationDelivery](b.bench)(b.s.TestNotification(b.Context(), b.admin, n.ID))
			b.send()
			return b.receiver.last().Secrets
		}
		if got := signed(); !slices.Equal(got, []string{n.Secret}) || !strings.HasPrefix(n.Secret, "whsec_") {
			b.Fatalf("signed with %d secrets", len(got))
		}
		rotate := func(r notify.NotificationRotation) (notify.IssuedNotification, error) {
			return b.s.RotateNotification(b.Context(), b.admin, n.ID, r)
		}
		fresh := must[notify.IssuedNotification](b.bench)(rotate(notify.NotificationRotation{Overlap: time.Hour}))
		if got := signed(); !slices.Equal(got, []string{fresh.Secret, n.Secret}) || fresh.OldSecretUntil.IsZero() {
			b.Fatalf("signed with %d secrets: %+v", len(got), fresh.Notification)
		}
		_, err := rotate(notify.NotificationRotation{Overlap: time.Hour})
		wantCode(b, err, lineshaft.CodeConflict)
		b.clock.advance(time.Hour + time.Second)
		if got := signed(); !slices.Equal(got, []string{fresh.Secret}) || !b.found(n.ID).OldSecretUntil.IsZero() {
			b.Fatalf("signed with %d secrets after the overlap", len(got))
		}
		own := "whsec_" + strings.Repeat("QUJD", 8)
		if given := must[notify.IssuedNotification](b.bench)(rotate(notify.NotificationRotation{Secret: &own})); given.Secret != "" {
			b.Error("a secret that was given is shown")
		}
		if got := signed(); !slices.Equal(got, []string{own}) {
			b.Fatalf("signed with %d secrets", len(got))
		}
		for _, bad := range []string{"", "hello", "whsec_", "whsec_!!!!", "whsec_QUJD", "whpk_" + strings.Repeat("QUJD", 11)} {
			_, err := rotate(notify.NotificationRotation{Secret: &bad})
			wantCode(b, err, lineshaft.CodeInvalidRequest)
		}
		_, err = rotate(notify.NotificationRotation{Overlap: 1000 * time.Hour})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if log := b.log.String(); strings.Contains(log, n.Secret) || strings.Contains(log, own) || strings.Contains(fmt.Sprint(b.audits(n.ID)), "whsec_") {
			b.Error("a secret is in the log")
		}
	})
}

// A replay keeps id and body, and has another 72 hours.
func TestC1Replay(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n, other := b.endpoint(notify.NewNotification{}), b.endpoint(notify.NewNotification{URL: "https://example.com/other"})
		b.receiver.says(status(500))
		runID := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.send()
		first := b.receiver.got[0]
		b.passes(73 * time.Hour)
		failed := b.deliveries(n.ID, lineshaft.NotificationFailed)
		b.wantEvents(failed, b.stateIDs(runID))
		replay := func(id, delivery string) (*lineshaft.NotificationDelivery, error) {
			return b.s.ReplayNotificationDelivery(b.Context(), b.admin, id, delivery)
		}
		_, err := replay(n.ID, failed[0].ID)
		wantCode(b, err, lineshaft.CodeConflict) // it was disabled
		b.enable(n.ID, true)
		b.enable(other.ID, true)
		_, err = replay(other.ID, failed[0].ID)
		wantCode(b, err, lineshaft.CodeNotFound)
		again := must[*lineshaft.NotificationDelivery](b.bench)(replay(n.ID, failed[0].ID))
		if again.Status != lineshaft.NotificationPending || !again.FinishedAt.IsZero() || again.EventID != failed[0].EventID || again.AttemptCount != failed[0].AttemptCount {
			b.Fatalf("%+v", again)
		}
		b.passes(71 * time.Hour)
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationPending), b.stateIDs(runID))
		b.receiver.says(nil)
		b.passes(2 * time.Hour)
		last := b.receiver.last()
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), b.stateIDs(runID))
		if last.ID != first.ID || string(last.Body) != string(first.Body) {
			b.Errorf("%s %s became %s %s", first.ID, first.Body, last.ID, last.Body)
		}
		must[*lineshaft.NotificationDelivery](b.bench)(replay(n.ID, failed[0].ID)) // also of one that arrived
		b.send()
		one := must[*lineshaft.NotificationDelivery](b.bench)(b.s.GetNotificationDelivery(b.Context(), b.admin, n.ID, failed[0].ID))
		if one.AttemptCount != one.Attempts[len(one.Attempts)-1].Number || one.Status != lineshaft.NotificationDelivered {
			b.Errorf("%+v", one)
		}
	})
}

// However often a delivery is replayed, its log stays small.
func TestC1TheLogOfAttemptsIsBounded(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		d := must[*lineshaft.NotificationDelivery](b.bench)(b.s.TestNotification(b.Context(), b.admin, n.ID))
		for range lineshaft.MaxNotificationAttempts + 5 {
			b.send()
			must[*lineshaft.NotificationDelivery](b.bench)(b.s.ReplayNotificationDelivery(b.Context(), b.admin, n.ID, d.ID))
		}
		got := must[*lineshaft.NotificationDelivery](b.bench)(b.s.GetNotificationDelivery(b.Context(), b.admin, n.ID, d.ID))
		if len(got.Attempts) != lineshaft.MaxNotificationAttempts || got.AttemptCount != lineshaft.MaxNotificationAttempts+5 || got.Attempts[0].Number != 6 {
			b.Fatalf("%d attempts of %d", len(got.Attempts), got.AttemptCount)
		}
	})
}

// Old rows go, those of deleted endpoints at once; what waits stays.
func TestC1PurgeOfTheLog(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		kept, deleted := b.endpoint(notify.NewNotification{}), b.endpoint(notify.NewNotification{})
		for range 250 { // more than a batch
			b.start(lineshaft.NewRun{})
		}
		b.fan()
		wantCode(b, b.s.DeleteNotification(b.Context(), b.admin, deleted.ID), "")
		_, err := b.s.GetNotification(b.Context(), b.admin, deleted.ID)
		wantCode(b, err, lineshaft.CodeNotFound)
		_, err = b.s.ListNotificationDeliveries(b.Context(), b.admin, deleted.ID, notify.NotificationDeliveryQuery{Limit: 5})
		wantCode(b, err, lineshaft.CodeNotFound)
		wantCode(b, b.s.PurgeNotifications(b.Context()), "")
		left, err := b.store.ListNotificationDeliveries(b.Context(), deleted.ID, "", "", 10)
		if err != nil || len(left) > 0 || len(b.deliveries(kept.ID, "")) != 250 {
			b.Fatalf("left %d of the deleted one, %d of the other; %v", len(left), len(b.deliveries(kept.ID, "")), err)
		}
		b.send()
		waiting := b.deliveries(kept.ID, "")[0]
		must[*lineshaft.NotificationDelivery](b.bench)(b.s.ReplayNotificationDelivery(b.Context(), b.admin, kept.ID, waiting.ID))
		b.clock.advance(lineshaft.NotificationKeep + time.Minute)
		wantCode(b, b.s.PurgeNotifications(b.Context()), "")
		b.wantEvents(b.deliveries(kept.ID, ""), []string{waiting.EventID})
	})
}

// A new master key also reaches the secrets of endpoints.
func TestS1NotificationSecretsFollowTheMasterKey(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database, under(t, "first"))
		made := must[notify.IssuedNotification](b)(b.s.CreateNotification(t.Context(), b.admin, notify.NewNotification{URL: "https://example.com/"}))
		must[notify.IssuedNotification](b)(b.s.RotateNotification(t.Context(), b.admin, made.ID, notify.NotificationRotation{Overlap: time.Hour}))
		second := b.with(under(t, "second", "first"))
		if n := must[int](b)(second.s.RewrapSecrets(t.Context())); n != 2 {
			t.Fatalf("%d were wrapped anew", n)
		}
		r := &receiver{}
		third := b.with(func(cfg *base.Config) { under(t, "second")(cfg); cfg.Callbacks = r })
		must[*lineshaft.NotificationDelivery](b)(third.s.TestNotification(t.Context(), b.admin, made.ID))
		must[int](b)(third.s.SendDue(t.Context()))
		if got := r.last().Secrets; len(got) != 2 || got[1] != made.Secret {
			t.Fatalf("signed with %d secrets", len(got))
		}
	})
}

// A request that heeds nothing does not keep the server from stopping.
func TestC1AHangingRequestDoesNotKeepTheServer(t *testing.T) {
	t.Parallel()
	b := openCallbacks(t, storetest.SQLite(t), &receiver{})
	n := b.endpoint(notify.NewNotification{})
	ctx, stop := context.WithCancel(b.Context())
	release, sent := make(chan struct{}), make(chan struct{})
	b.receiver.says(func(lineshaft.Callback) lineshaft.CallbackResult {
		close(sent)
		<-release
		return lineshaft.CallbackResult{Error: "at last"}
	})
	must[*lineshaft.NotificationDelivery](b.bench)(b.s.TestNotification(b.Context(), b.admin, n.ID))
	over := make(chan struct{})
	go func() {
		b.s.SendCallbacks(ctx)
		close(over)
	}()
	<-sent
	stop()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Error("it waits for the request")
	}
	if !strings.Contains(b.log.String(), "still under way") {
		t.Error("nobody is told")
	}
	close(release)
	b.send() // waits until the request has ended
}
