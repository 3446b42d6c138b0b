package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// ended makes a run that has ended and was not checked for callbacks.
func (b *callbackBench) ended() string {
	b.Helper()
	runID, job := b.working(lineshaft.NewRun{Title: "Confidential"})
	b.end(job, lineshaft.Succeeded)
	return runID
}

// told says whether the payload of a delivery can be read.
func (b *callbackBench) told(n notify.IssuedNotification, deliveryID string) bool {
	b.Helper()
	d := must[*lineshaft.NotificationDelivery](b.bench)(b.s.GetNotificationDelivery(b.Context(), b.admin, n.ID, deliveryID))
	return strings.Contains(string(d.Body), "Confidential")
}

// A run that is deleted right after its end is reported to the end, once, whether or not
// a follower reads the same changes.
func TestR12ADeletedRunIsToldOfToItsEnd(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n, off := b.endpoint(notify.NewNotification{}), b.endpoint(notify.NewNotification{Enabled: new(false)})
		runID := b.ended()
		late := b.endpoint(notify.NewNotification{})
		ids := b.stateIDs(runID)
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, runID), "")
		wantCode(b, b.s.RemoveDeleted(b.Context()), "")
		b.fan()
		b.send()
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), ids)
		b.wantEvents(b.deliveries(off.ID, ""), nil)
		b.wantEvents(b.deliveries(late.ID, ""), nil)
		if got := len(b.receiver.taken(n.URL)); got != len(ids) || !strings.Contains(string(b.receiver.last().Body), "Confidential") {
			b.Errorf("%d requests, the last with %s", got, b.receiver.last().Body)
		}
		if log := b.log.String(); strings.Contains(log, "no callbacks are made") {
			b.Error(log)
		}
	})
}

// Old runs are deleted by their retention in the same way.
func TestR12RetentionTellsOfTheEnd(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := openCallbacks(t, database, &receiver{})
		n := b.endpoint(notify.NewNotification{})
		runID := b.ended()
		ids := b.stateIDs(runID)
		b.clock.advance(48 * time.Hour)
		short := b.with(func(c *base.Config) {
			under(t, "callbacks")(c)
			c.RunRetention = 24 * time.Hour
			c.Clock = b.clock.now
		})
		must[bool](short)(short.s.SettleRuns(b.Context()))
		wantCode(b, short.s.Purge(b.Context()), "")
		_, err := b.s.GetRun(b.Context(), b.admin, runID)
		wantCode(b, err, lineshaft.CodeNotFound)
		b.fan()
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationPending), ids)
	})
}

// What callbacks said about a run goes with it: at once for people, and from the database.
// The log stays, and what waits is sent before it goes.
func TestR12PayloadsGoWithTheirRun(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		taken, waits, expires := b.endpoint(notify.NewNotification{URL: "https://a.example/"}), b.endpoint(notify.NewNotification{URL: "https://b.example/"}), b.endpoint(notify.NewNotification{URL: "https://c.example/"})
		kept, runID := b.ended(), b.ended()
		ids := b.stateIDs(runID)
		b.fan()
		b.enable(expires.ID, false)
		b.receiver.says(func(c lineshaft.Callback) lineshaft.CallbackResult {
			if c.URL == waits.URL {
				return lineshaft.CallbackResult{StatusCode: 500, Error: "it answered 500"}
			}
			return lineshaft.CallbackResult{StatusCode: 200}
		})
		b.send()
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, runID), "")
		for _, n := range []notify.IssuedNotification{taken, waits, expires} {
			for _, d := range b.deliveries(n.ID, "") {
				if told := b.told(n, d.ID); told != (d.RunID == kept) {
					b.Errorf("of a run that is deleted (%v) the payload is there: %v", d.RunID == runID, told)
				}
			}
		}
		wantCode(b, b.s.RemoveDeleted(b.Context()), "")
		if left := b.bodies(runID); left != 2*len(ids) {
			b.Errorf("%d payloads are left, want those of %d that wait", left, 2*len(ids))
		}
		for _, d := range b.deliveries(taken.ID, "") {
			_, err := b.s.ReplayNotificationDelivery(b.Context(), b.admin, taken.ID, d.ID)
			if d.RunID == kept {
				wantCode(b, err, "")
			} else {
				wantCode(b, err, lineshaft.CodeConflict)
			}
		}
		b.receiver.says(nil)
		b.passes(time.Minute)
		if got := b.receiver.last(); !strings.Contains(string(got.Body), "Confidential") {
			b.Errorf("sent %s", got.Body)
		}
		b.clock.advance(73 * time.Hour)
		wantCode(b, b.s.PurgeNotifications(b.Context()), "")
		if left := b.bodies(runID); left != 0 {
			b.Errorf("%d payloads are left after all of them have ended", left)
		}
		b.wantEvents(b.deliveries(taken.ID, ""), append(b.stateIDs(kept), ids...))
		b.wantEvents(b.deliveries(waits.ID, lineshaft.NotificationDelivered), append(b.stateIDs(kept), ids...))
	})
}

// bodies counts the payloads of a run that are in the database.
func (b *callbackBench) bodies(runID string) int {
	b.Helper()
	return storetest.Count(b.T, b.database, "SELECT COUNT(*) FROM notification_deliveries WHERE body <> '' AND run_id = '"+runID+"'")
}
