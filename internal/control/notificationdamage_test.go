package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// An endpoint whose row cannot be read holds up nobody. It is listed as disabled with what
// to do, and can only be deleted: without its filters it would be notified of everything.
func TestC1ADamagedEndpointHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"states", "factory_uids", "gaps", "since", "until"} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			eachCallback(t, func(b *callbackBench) {
				bad, good := b.endpoint(notify.NewNotification{URL: "https://bad.example/"}), b.endpoint(notify.NewNotification{URL: "https://good.example/"})
				before := b.start(lineshaft.NewRun{}).RunID
				b.fan()
				storetest.Exec(b.T, b.database, "UPDATE notifications SET "+column+" = '[\"' WHERE id = '"+bad.ID+"'")
				after := b.start(lineshaft.NewRun{}).RunID
				b.fan()
				b.send()
				b.wantEvents(b.deliveries(good.ID, lineshaft.NotificationDelivered), append(b.stateIDs(before), b.stateIDs(after)...))
				b.wantEvents(b.deliveries(bad.ID, lineshaft.NotificationPending), b.stateIDs(before))
				b.clock.advance(time.Hour)
				due, err := b.store.DueNotifications(b.Context())
				wantCode(b, err, "")
				if got := b.backlog(); len(due) != 0 || got.Overdue != 0 || got.Pending != len(b.stateIDs(before)) {
					b.Errorf("nothing is due: %+v %+v", due, got)
				}
				wantCode(b, b.s.PurgeNotifications(b.Context()), "")
				if told := b.found(bad.ID); told.Enabled || !strings.Contains(told.DisabledReason, "delete it") || len(b.notices()) != 1 || strings.Count(b.log.String(), bad.ID) != 1 {
					b.Errorf("%+v; %s", told, b.log)
				}
				_, err = b.s.UpdateNotification(b.Context(), b.admin, bad.ID, notify.NotificationChange{Enabled: new(true)})
				wantCode(b, err, lineshaft.CodeConflict)
				_, err = b.s.RotateNotification(b.Context(), b.admin, bad.ID, notify.NotificationRotation{})
				wantCode(b, err, lineshaft.CodeConflict)
				_, err = b.s.TestNotification(b.Context(), b.admin, bad.ID)
				wantCode(b, err, lineshaft.CodeConflict)
				wantCode(b, b.s.DeleteNotification(b.Context(), b.admin, bad.ID), "")
				b.enable(good.ID, false)
				wantCode(b, b.s.PurgeNotifications(b.Context()), "")
			})
		})
	}
}

// A run whose metadata cannot be read is reported with what is left, and so are the others.
func TestC1ADamagedRunHoldsUpNobody(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		bad, good := b.start(lineshaft.NewRun{Title: "Damaged"}).RunID, b.start(lineshaft.NewRun{}).RunID
		ids := append(b.stateIDs(bad), b.stateIDs(good)...)
		storetest.Exec(b.T, b.database, "UPDATE run_bodies SET metadata = '{' WHERE run_id = '"+bad+"'")
		b.fan()
		b.send()
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), ids)
		if log := b.log.String(); !strings.Contains(log, bad) || !strings.Contains(log, "metadata") {
			b.Error(log)
		}
	})
}

// A log of attempts that cannot be read is given up; the delivery continues, and so do
// the others of its endpoint and of those after it.
func TestC1ADamagedDeliveryHoldsUpNobody(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		first, second := b.endpoint(notify.NewNotification{URL: "https://first.example/"}), b.endpoint(notify.NewNotification{URL: "https://second.example/"})
		ids := append(b.stateIDs(b.start(lineshaft.NewRun{}).RunID), b.stateIDs(b.start(lineshaft.NewRun{}).RunID)...)
		b.fan()
		b.receiver.says(status(500))
		b.send()
		bad := b.deliveries(first.ID, "")[0].ID
		storetest.Exec(b.T, b.database, "UPDATE notification_deliveries SET attempts = '[{' WHERE id = '"+bad+"'")
		b.receiver.says(nil)
		b.passes(time.Minute)
		for _, n := range []notify.IssuedNotification{first, second} {
			b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), ids)
		}
		d := must[*lineshaft.NotificationDelivery](b.bench)(b.s.GetNotificationDelivery(b.Context(), b.admin, first.ID, bad))
		if d.AttemptCount != 2 || len(d.Attempts) != 1 {
			b.Errorf("%+v", d)
		}
	})
}
