package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

// Enabling an endpoint changes none of what waits for it, however much that is: all of it
// is due without a write, and what ended meanwhile fails in small steps.
func TestD3EnablingTouchesNoDelivery(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		b.receiver.says(status(500))
		for range 10 {
			b.start(lineshaft.NewRun{})
		}
		b.fan()
		b.send()
		b.enable(n.ID, false)
		before := b.deliveries(n.ID, lineshaft.NotificationPending)
		b.enable(n.ID, true)
		for i, d := range b.deliveries(n.ID, lineshaft.NotificationPending) {
			if !d.NextAttemptAt.Equal(before[i].NextAttemptAt) || !d.NextAttemptAt.After(b.clock.now()) {
				b.Fatalf("%+v became %+v", before[i], d)
			}
		}
		b.send() // at once, and not for ever
		for _, d := range b.deliveries(n.ID, lineshaft.NotificationPending) {
			if d.AttemptCount != 2 {
				b.Fatalf("%d attempts", d.AttemptCount)
			}
		}
		b.enable(n.ID, false)
		b.clock.advance(73 * time.Hour)
		b.enable(n.ID, true)
		if got := len(b.deliveries(n.ID, lineshaft.NotificationPending)); got != 10 {
			b.Fatalf("%d wait", got)
		}
		tried := len(b.receiver.taken(n.URL))
		b.send()
		if got := len(b.deliveries(n.ID, lineshaft.NotificationFailed)); got != 10 || len(b.receiver.taken(n.URL)) != tried {
			b.Fatalf("%d failed after %d requests", got, len(b.receiver.taken(n.URL))-tried)
		}
	})
}

// A round of the fan-out makes some hundred deliveries, not all of all endpoints.
func TestD3AFanOutRoundIsBounded(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		var ids []string
		for range 40 {
			ids = append(ids, b.endpoint(notify.NewNotification{}).ID)
		}
		const runs = 20
		for range runs {
			b.start(lineshaft.NewRun{})
		}
		total := func() (n int) {
			for _, id := range ids {
				n += len(b.deliveries(id, ""))
			}
			return n
		}
		b.settle()
		if more := must[bool](b.bench)(b.s.FanOut(b.Context())); !more || total() == 0 || total() > 300 {
			b.Fatalf("one round made %d deliveries", total())
		}
		b.fan()
		if total() != runs*len(ids) {
			b.Fatalf("%d deliveries", total())
		}
	})
}

// What happened while an endpoint was enabled comes to it, although it was disabled before
// anyone had looked; what happened meanwhile does not.
func TestC1DisablingLosesNothing(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		want := b.stateIDs(b.start(lineshaft.NewRun{}).RunID)
		for range 20 { // more than are kept apart, and then none is lost
			b.enable(n.ID, false)
			b.enable(n.ID, true)
		}
		b.enable(n.ID, false)
		b.start(lineshaft.NewRun{})
		b.enable(n.ID, true)
		want = append(want, b.stateIDs(b.start(lineshaft.NewRun{}).RunID)...)
		b.enable(n.ID, false)
		b.start(lineshaft.NewRun{})
		b.fan()
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationPending), want)
		b.fan() // nothing is left to look at
		b.start(lineshaft.NewRun{})
		b.enable(n.ID, true)
		want = append(want, b.stateIDs(b.start(lineshaft.NewRun{}).RunID)...)
		b.fan()
		b.wantEvents(b.deliveries(n.ID, ""), want)
		b.send()
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), want)
	})
}

// An endpoint that is narrowed keeps what it was sent about other factories from keys
// that may not see these, and sends no more of it.
func TestS3NarrowingAnEndpointShowsNothingForeign(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		own, foreign := b.factory("own", "own").UID, b.factory("foreign", "foreign").UID
		limited := b.caller(lineshaft.RoleManager, own)
		n := b.endpoint(notify.NewNotification{FactoryUIDs: []string{own, foreign}})
		mine, other := b.inFactory(own, lineshaft.NewRun{}), b.inFactory(foreign, lineshaft.NewRun{})
		b.receiver.says(status(500))
		b.fan()
		b.send()
		test := must[*lineshaft.NotificationDelivery](b.bench)(b.s.TestNotification(b.Context(), b.admin, n.ID))
		must[lineshaft.Notification](b.bench)(b.s.UpdateNotification(b.Context(), b.admin, n.ID, notify.NotificationChange{FactoryUIDs: &[]string{own}}))
		page := must[notify.NotificationDeliveryPage](b.bench)(b.s.ListNotificationDeliveries(b.Context(), limited, n.ID, notify.NotificationDeliveryQuery{Limit: 9}))
		b.wantEvents(page.Deliveries, append(b.stateIDs(mine), test.EventID))
		for _, d := range b.deliveries(n.ID, "") {
			_, get := b.s.GetNotificationDelivery(b.Context(), limited, n.ID, d.ID)
			_, replay := b.s.ReplayNotificationDelivery(b.Context(), limited, n.ID, d.ID)
			if hidden := d.RunID == other; hidden != (lineshaft.CodeOf(get) == lineshaft.CodeNotFound && get != nil) || hidden != (lineshaft.CodeOf(replay) == lineshaft.CodeNotFound && replay != nil) {
				b.Errorf("delivery of %s: %v, %v", d.RunID, get, replay)
			}
			if d.RunID == other {
				_, err := b.s.ReplayNotificationDelivery(b.Context(), b.admin, n.ID, d.ID)
				wantCode(b, err, lineshaft.CodeConflict)
			}
		}
		must[lineshaft.Notification](b.bench)(b.s.UpdateNotification(b.Context(), limited, n.ID, notify.NotificationChange{URL: new("https://elsewhere.example/")}))
		b.receiver.says(nil)
		b.clock.advance(time.Minute)
		b.send()
		for _, id := range b.receiver.taken("https://elsewhere.example/") {
			if id == b.stateIDs(other)[0] {
				b.Error("a foreign event went to the new address")
			}
		}
		failed := b.deliveries(n.ID, lineshaft.NotificationFailed)
		b.wantEvents(failed, b.stateIDs(other))
		if !strings.Contains(failed[0].LastError, "filters") {
			b.Errorf("%+v", failed[0])
		}
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), append(b.stateIDs(mine), test.EventID))
	})
}

// A node whose own clock is wrong passes over nothing.
func TestC1TheFanOutGoesByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		runID := b.start(lineshaft.NewRun{}).RunID
		at := b.clock.now()
		ahead := b.with(func(cfg *base.Config) { under(b.T, "callbacks")(cfg); cfg.Clock = func() time.Time { return at } })
		b.clock.advance(100 * time.Hour) // that of the nodes, but not of the database
		b.settle()
		must[bool](b.bench)(ahead.s.FanOut(b.Context()))
		b.wantEvents(b.deliveries(n.ID, ""), b.stateIDs(runID))
	})
}

// Changes that are too old are skipped, and that is reported.
func TestC1OldChangesArePassedOver(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		b.start(lineshaft.NewRun{})
		b.clock.advance(73 * time.Hour)
		b.fan()
		b.wantEvents(b.deliveries(n.ID, ""), nil)
		if log := b.log.String(); !strings.Contains(log, "no callbacks are made") || !strings.Contains(log, "72 hours") {
			b.Errorf("log: %s", log)
		}
	})
}

// A key that is limited to factories cannot use up what is meant for all.
func TestS3LimitedKeysMakeFewNotifications(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		own := b.factory("own", "own").UID
		limited := b.caller(lineshaft.RoleManager, own)
		asked := notify.NewNotification{URL: "https://example.com/", FactoryUIDs: []string{own}}
		for range lineshaft.MaxNotificationsLimited {
			must[notify.IssuedNotification](b.bench)(b.s.CreateNotification(b.Context(), limited, asked))
		}
		_, err := b.s.CreateNotification(b.Context(), limited, asked)
		wantCode(b, err, lineshaft.CodeConflict)
		b.endpoint(asked)
	})
}
