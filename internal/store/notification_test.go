package store_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// A transaction's writes are before a snapshot made after it, and after one made
// before, whichever began first.
func TestC1SnapshotsTellBeforeFromAfter(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		take := func() (snapshot store.Snapshot) {
			t.Helper()
			write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				snapshot, err = tx.Snapshot(ctx)
				return err
			})
			return snapshot
		}
		first := take()
		insertRun(t, s, func(*store.NewRun) {})
		second := take()
		changes, err := s.ListUnsettled(t.Context(), store.StatePosition{})
		must(t, err)
		if len(changes) != 1 {
			t.Fatalf("%d changes", len(changes))
		}
		if first.Has(changes[0].Txid) || !second.Has(changes[0].Txid) {
			t.Errorf("change %d: %v %v", changes[0].Txid, first, second)
		}
		if first.Start().Compare(changes[0]) >= 0 {
			t.Errorf("%v begins after %v", first.Start(), changes[0])
		}
	})
}

// A transaction that runs while a snapshot is made comes after it, although its number
// is smaller.
func TestC1SnapshotsKnowWhoIsRunning(t *testing.T) {
	t.Parallel()
	s := store.Snapshot{Min: 10, Max: 20, Running: []int64{10, 15}}
	for txid, want := range map[int64]bool{1: true, 9: true, 10: false, 11: true, 15: false, 19: true, 20: false, 99: false} {
		if got := s.Has(txid); got != want {
			t.Errorf("%d: %v", txid, got)
		}
	}
}

// A change is for an endpoint if it happened while that was enabled.
func TestC1EndpointsCoverWhenTheyWereEnabled(t *testing.T) {
	t.Parallel()
	moment := func(txid int64) store.Snapshot { return store.Snapshot{Min: txid, Max: txid} }
	n := store.Notification{Since: moment(10), Gaps: []store.SnapshotGap{{From: moment(20), To: moment(30)}}}
	n.Enabled = true
	off := n
	off.Enabled, off.Until = false, moment(40)
	released := off
	released.Until = store.Snapshot{}
	for txid, want := range map[int64][3]bool{9: {}, 10: {true, true}, 19: {true, true}, 20: {}, 29: {}, 30: {true, true}, 39: {true, true}, 40: {true}} {
		if got := [3]bool{n.Covers(txid), off.Covers(txid), released.Covers(txid)}; got != want {
			t.Errorf("%d: %v", txid, got)
		}
	}
	if !n.Followed() || !off.Followed() || released.Followed() {
		t.Error("followed")
	}
}

// Every field of an endpoint comes back.
func TestC1NotificationRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		for _, n := range []store.Notification{
			{Notification: lineshaft.Notification{ID: "bare", CreatedAt: at, UpdatedAt: at}},
			{
				Notification: lineshaft.Notification{
					ID: "full", Name: "n", Description: "d", URL: "u", States: []lineshaft.RunState{lineshaft.Failed}, FactoryUIDs: []string{"f", "g"}, RunName: "r", Enabled: true,
					DisabledReason: "x", DisabledAt: at, LastSuccessAt: at.Add(1), LastFailureAt: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at.Add(time.Minute),
				},
				Credential: "c", OldCredential: "o", OldUntil: at.Add(time.Second), Since: store.Snapshot{Min: 3, Max: 9, Running: []int64{3, 7}}, EnabledAt: at,
				Until: store.Snapshot{Min: 11, Max: 12}, Gaps: []store.SnapshotGap{{From: store.Snapshot{Min: 4, Max: 5}, To: store.Snapshot{Min: 6, Max: 7, Running: []int64{6}}}},
			},
		} {
			n.LastSuccessAt = n.LastSuccessAt.Truncate(time.Microsecond)
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutNotification(ctx, n) })
			got, err := s.GetNotification(t.Context(), n.ID)
			must(t, err)
			if !slices.Equal(got.States, n.States) || !slices.Equal(got.FactoryUIDs, n.FactoryUIDs) || got.Since.String() != n.Since.String() ||
				got.Until.String() != n.Until.String() || !reflect.DeepEqual(got.Gaps, n.Gaps) {
				t.Errorf("%+v became %+v", n, got)
			}
			got.States, got.FactoryUIDs, got.Since = n.States, n.FactoryUIDs, n.Since
			if got.Notification.Name != n.Name || got.DisabledAt != n.DisabledAt || got.OldUntil != n.OldUntil || got.EnabledAt != n.EnabledAt || got.Credential != n.Credential ||
				got.OldCredential != n.OldCredential || got.Enabled != n.Enabled || got.LastSuccessAt != n.LastSuccessAt || got.LastFailureAt != n.LastFailureAt ||
				got.RunName != n.RunName || got.URL != n.URL || got.Description != n.Description || got.DisabledReason != n.DisabledReason || got.UpdatedAt != n.UpdatedAt {
				t.Errorf("%+v became %+v", n, got)
			}
		}
	})
}

// An endpoint has each event once, anyone who brings it.
func TestC1AnEventIsOnceInTheLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, id := range []string{"d1", "d2"} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertNotificationDeliveries(ctx, []lineshaft.NotificationDelivery{
					{ID: id, NotificationID: "n", EventID: "e", Body: []byte("{}")}, {ID: id + "x", NotificationID: "m" + id, EventID: "e", Body: []byte("{}")},
				})
			})
		}
		found, err := s.ListNotificationDeliveries(t.Context(), "n", "", "", 10)
		if err != nil || len(found) != 1 || found[0].ID != "d1" {
			t.Fatalf("%+v %v", found, err)
		}
	})
}

// fillCallbacks makes endpoints n0 to n49 with many deliveries, one in ten of them
// pending; n7 waits for nothing.
func fillCallbacks(t *testing.T, s *store.Store, n int) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, query := range []string{
			`INSERT INTO notifications (id, name, description, url, states, factory_uids, run_name, enabled, disabled_reason, disabled_at,
				credential, old_credential, old_until, since, until, gaps, enabled_at, last_success_at, last_failure_at, created_at, updated_at, deleted_at)
				SELECT 'n' || i, '', '', '', '[]', '[]', '', 1, '', 0, '', '', 0, '0:0:', '0:0:', '[]', 1, 1, 1, 1, 1, CASE WHEN i = 49 THEN 1 ELSE 0 END FROM numbers WHERE i < 50`,
			`INSERT INTO notification_deliveries (id, notification_id, event_id, type, run_id, run_name, factory_uid, state, status, attempt_count, tries, next_at, tried_at, expires_at, claim, last_status, last_error,
				created_at, finished_at, trace_parent, body, attempts)
				SELECT '01900000-0000-7000-8000-000' || n, 'n' || (i % 50), 'e' || n, '', '01900000-0000-7000-8000-000' || n, '', '', '', CASE WHEN i % 50 <> 7 AND i % 10 = 8 THEN 'pending' WHEN i % 3 = 0 THEN 'failed' ELSE 'delivered' END,
				0, 0, i, 1000 + i, 1000000 + i, '', 0, '', 1, 1, '', '{}', '[]' FROM numbers`,
		} {
			if _, err := tx.Exec(ctx, hookNumbers+query, n); err != nil {
				return err
			}
		}
		return nil
	})
}

func callbackLookups(s *store.Store) map[string]lookup {
	at := func(micro int64) time.Time { return time.UnixMicro(micro) }
	id := bulkID(108) // of n8
	enabled := func(id string, micro int64) *store.Notification {
		return &store.Notification{Notification: lineshaft.Notification{ID: id}, EnabledAt: at(micro)}
	}
	reads := func(most int, read func(ctx context.Context) error) lookup { return lookup{most, read, nil} }
	work := func(most int, work func(ctx context.Context, tx *store.Tx) error) lookup {
		return lookup{most, nil, work}
	}
	return map[string]lookup{
		"due":  reads(50, func(ctx context.Context) error { return second(s.DueNotifications(ctx)) }),
		"list": reads(10, func(ctx context.Context) error { return second(s.ListNotificationDeliveries(ctx, "n8", "", "", 10)) }),
		"older": reads(10, func(ctx context.Context) error {
			return second(s.ListNotificationDeliveries(ctx, "n8", "", bulkID(2000), 10))
		}),
		"by status": reads(10, func(ctx context.Context) error {
			return second(s.ListNotificationDeliveries(ctx, "n8", "pending", "", 10))
		}),
		"older by status": reads(10, func(ctx context.Context) error {
			return second(s.ListNotificationDeliveries(ctx, "n9", "failed", bulkID(2000), 10))
		}),
		"none of a status": reads(0, func(ctx context.Context) error {
			return second(s.ListNotificationDeliveries(ctx, "n7", "pending", "", 10))
		}),
		"delivery": reads(2, func(ctx context.Context) error { return second(s.GetNotificationDelivery(ctx, "n8", id)) }),
		"claim": work(8, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ClaimNotificationDeliveries(ctx, enabled("n8", 1), at(1<<40), at(1<<41), 8))
		}),
		"claim none": work(0, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ClaimNotificationDeliveries(ctx, enabled("n7", 1<<40), at(1<<40), at(1<<41), 8))
		}),
		"claim what waited": work(8, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ClaimNotificationDeliveries(ctx, enabled("n8", 1<<40), at(0), at(1<<41), 8))
		}),
		"claim nothing new": work(0, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ClaimNotificationDeliveries(ctx, enabled("n8", 1), at(0), at(1<<41), 8))
		}),
		"bodies of a run": reads(1, func(ctx context.Context) error { return s.ForgetBodies(ctx, id) }),
		"expire": work(30, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ExpireNotificationDeliveries(ctx, "n8", at(1<<40), at(1), "", 10))
		}),
		"expire none": work(0, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ExpireNotificationDeliveries(ctx, "n8", at(1), at(1), "", 10))
		}),
		"finish": work(2, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.FinishNotificationAttempt(ctx, store.NotificationClaim{NotificationDelivery: lineshaft.NotificationDelivery{ID: id, Status: lineshaft.NotificationDelivered}}))
		}),
		"release": work(1, func(ctx context.Context, tx *store.Tx) error {
			return tx.ReleaseNotificationDelivery(ctx, store.NotificationClaim{NotificationDelivery: lineshaft.NotificationDelivery{ID: id}}, at(1))
		}),
		"replay": work(1, func(ctx context.Context, tx *store.Tx) error {
			return tx.ReplayNotificationDelivery(ctx, "n8", id, at(1), at(2))
		}),
		"note": work(50, func(ctx context.Context, tx *store.Tx) error { return tx.NoteCallback(ctx, "n8", true, at(2)) }),
		"old": work(20, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.DeleteNotificationDeliveries(ctx, bulkID(1<<20), 10))
		}),
		"log": work(10, func(ctx context.Context, tx *store.Tx) error { return second(tx.DeleteNotificationLog(ctx, "n8", 10)) }),
		"row": work(50, func(ctx context.Context, tx *store.Tx) error { return tx.RemoveNotification(ctx, "n49") }),
	}
}

// Every statement on the log of deliveries reads as many rows as it is for.
func TestC1StatementsFollowAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillRuns(t, s, 0, planSize(s))
		fillCallbacks(t, s, planSize(s))
		analyze(t, s)
		reads := s.Record()
		for name, look := range callbackLookups(s) {
			t.Log(name) // shown with what fails
			if look.read != nil {
				must(t, look.read(t.Context()))
				checkCallbacks(t, s, reads.Take(), look.most)
				continue
			}
			var sent []store.Statement
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				recorder := tx.Record()
				err := look.work(ctx, tx)
				sent = recorder.Take()
				return errors.Join(err, errUndo)
			})
			if !errors.Is(err, errUndo) || strings.Contains(err.Error(), "delivery") {
				must(t, err)
			}
			checkCallbacks(t, s, sent, look.most)
			reads.Take()
		}
	})
}

// checkCallbacks is checkHooks, but the endpoints themselves are few and may be read all.
func checkCallbacks(t *testing.T, s *store.Store, sent []store.Statement, most int) {
	t.Helper()
	if len(sent) == 0 {
		t.Fatal("no statement")
	}
	for _, st := range sent {
		checkReads(t, s, st, most, false)
		bad := unindexed(t, s, st)
		if bad != "" && bad != "SCAN n" && bad != "Seq Scan notifications" {
			t.Errorf("%s\n%s %v", bad, st.Text, st.Args)
		}
	}
}
