package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const week = 7 * 24 * time.Hour

// receivedAt makes deliveries that were received at a time, one microsecond after
// the other.
func receivedAt(webhookUID string, at time.Time, n int) []store.NewDelivery {
	ids := id.New(func() time.Time { return at })
	made := make([]store.NewDelivery, n)
	for i := range made {
		made[i] = store.NewDelivery{Body: []byte("1"), Delivery: lineshaft.Delivery{ID: ids.NewString(), WebhookUID: webhookUID, Status: lineshaft.DeliveryAccepted}}
	}
	return made
}

func deleteDeliveries(t *testing.T, s *store.Store, webhookUID string, before time.Time, keep, limit int) (gone int) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		gone, err = tx.DeleteDeliveries(ctx, webhookUID, before, keep, limit)
		return err
	})
	return gone
}

// A delivery goes when it is older than seven days and not among the newest fifty.
func TestW11Retention(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_750_000_000_000_000)
	type some struct {
		age time.Duration
		n   int
	}
	cases := []struct {
		name  string
		log   []some // the oldest first
		gone  int
		limit int
	}{
		{"empty", nil, 0, 100},
		{"the newest fifty stay", []some{{week + time.Second, 50}}, 0, 100},
		{"the fifty-first goes", []some{{week + time.Second, 51}}, 1, 100},
		{"all but fifty go", []some{{9 * week, 20}, {week + time.Second, 60}}, 30, 100},
		{"young ones are among the newest", []some{{week + time.Second, 60}, {week - time.Second, 10}}, 20, 100},
		{"young ones all stay", []some{{week - time.Second, 90}, {0, 30}}, 0, 100},
		{"many young ones push out all old", []some{{week + time.Second, 5}, {week - time.Second, 70}}, 5, 100},
		{"few old ones of many young", []some{{week + time.Microsecond, 1}, {week, 1}, {0, 60}}, 1, 100},
		{"in chunks", []some{{week + time.Second, 70}}, 20, 7},
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		other := receivedAt("other", now.Add(-9*week), 60)
		insertDeliveries(t, s, other...)
		for _, c := range cases {
			var all []string
			for _, part := range c.log {
				made := receivedAt(c.name, now.Add(-part.age), part.n)
				insertDeliveries(t, s, made...)
				for _, d := range made {
					all = append(all, d.ID)
				}
			}
			gone, last := 0, c.limit
			for last == c.limit {
				last = deleteDeliveries(t, s, c.name, now.Add(-week), 50, c.limit)
				gone += last
			}
			slices.Reverse(all)
			want := all[:len(all)-c.gone]
			var got []string
			for _, d := range logOf(t, s, c.name, 1000) {
				got = append(got, d.ID)
			}
			if gone != c.gone || !slices.Equal(got, want) {
				t.Errorf("%s: %d gone, %d left; want %d and %d", c.name, gone, len(got), c.gone, len(want))
			}
			for i, deliveryID := range all { // the body goes with the row
				if _, err := s.GetPayload(t.Context(), deliveryID); (err == nil) != (i < len(want)) {
					t.Errorf("%s: body %d of %d: %v", c.name, i, len(all), err)
				}
			}
		}
		if left := logOf(t, s, "other", 1000); len(left) != len(other) {
			t.Errorf("the other webhook has %d deliveries left", len(left))
		}
		if gone := deleteDeliveries(t, s, "other", now, 0, 1000); gone != len(other) { // a deleted webhook keeps none
			t.Errorf("%d gone of %d", gone, len(other))
		}
	})
}

// runOf stores a run that a delivery started, with its body as a file.
func runOf(t *testing.T, s *store.Store, deliveryID string) string {
	t.Helper()
	run := insertRun(t, s, func(n *store.NewRun) {
		n.Body.Metadata = map[string]string{lineshaft.MetadataDelivery: deliveryID, lineshaft.MetadataWebhook: "w"}
	})
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.AttachFiles(ctx, []string{run}, []lineshaft.Attachment{payloadFile(s, deliveryID)})
	})
	return run
}

// payloadFile is the body of a delivery as a file of a run.
func payloadFile(s *store.Store, deliveryID string) lineshaft.Attachment {
	return lineshaft.Attachment{
		ID: rowID(s), FileName: lineshaft.PayloadFile, MimeType: "application/json", Size: 1, BlobID: store.PayloadBlob(deliveryID),
	}
}

func removeRun(ctx context.Context, s *store.Store, run string) error {
	err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, run) })
	if err != nil {
		return err
	}
	return s.DeleteRunRows(ctx, run)
}

func hasPayload(t *testing.T, s *store.Store, deliveryID string) bool {
	t.Helper()
	return len(texts(t, s.DB(), "SELECT delivery_id FROM delivery_payloads WHERE delivery_id = $1", deliveryID)) > 0
}

// A body lives as long as its delivery or a run of it, whichever goes last.
func TestW11BodyGoesWithTheLastThatNeedsIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, order := range []string{"delivery one two", "one delivery two", "one two delivery", "two one delivery"} {
			made := receivedAt(order, time.UnixMicro(1_700_000_000_000_000), 2)
			insertDeliveries(t, s, made...)
			old, newest := made[0].ID, made[1].ID
			kept := runOf(t, s, newest)
			remove := map[string]func(){
				"delivery": func() {
					if gone := deleteDeliveries(t, s, order, time.Now(), 1, 10); gone != 1 {
						t.Errorf("%s: %d deliveries gone", order, gone)
					}
				},
			}
			for _, name := range []string{"one", "two"} {
				run := runOf(t, s, old)
				remove[name] = func() { must(t, removeRun(t.Context(), s, run)) }
			}
			steps := strings.Fields(order)
			for i, step := range steps {
				if !hasPayload(t, s, old) {
					t.Errorf("%s: the body is gone before step %d", order, i)
				}
				remove[step]()
			}
			if hasPayload(t, s, old) {
				t.Errorf("%s: the body is left", order)
			}
			must(t, removeRun(t.Context(), s, kept))
			if !hasPayload(t, s, newest) {
				t.Errorf("%s: the body of a delivery in the log is gone", order)
			}
		}
	})
}

// Two nodes that remove the last two reasons for a body at once leave none.
func TestW11BodyIsNotForgottenByTwoNodes(t *testing.T) {
	t.Parallel()
	a, b, waits := twoNodes(t)
	made := receivedAt("w", time.UnixMicro(1_700_000_000_000_000), 2)
	insertDeliveries(t, a, made...)
	run := runOf(t, a, made[0].ID)
	clean := func(ctx context.Context, tx *store.Tx) error {
		return second(tx.DeleteDeliveries(ctx, "w", time.Now(), 1, 10))
	}
	checkLock(t, a, waits, lockCase{clean, func(ctx context.Context) error { return removeRun(ctx, b, run) }, true})
	if hasPayload(t, a, made[0].ID) {
		t.Error("the body is left by a delivery and a run")
	}
	one, two := runOf(t, a, made[1].ID), runOf(t, a, made[1].ID)
	deleteDeliveries(t, a, "w", time.Now(), 0, 10)
	checkLock(t, a, waits, lockCase{
		func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAttachments(ctx, one) },
		func(ctx context.Context) error { return removeRun(ctx, b, two) }, true,
	})
	if hasPayload(t, a, made[1].ID) {
		t.Error("the body is left by two runs")
	}
}

// A follow-up that brought another delivery's body keeps it like a run of its own.
func TestW11BodyOfAFollowup(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		made := receivedAt("w", time.UnixMicro(1_700_000_000_000_000), 2)
		insertDeliveries(t, s, made...)
		run := runOf(t, s, made[0].ID)
		message := follow(t, s, run, "again")
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertAttachments(ctx, run, message, []lineshaft.Attachment{payloadFile(s, made[1].ID)})
		})
		deleteDeliveries(t, s, "w", time.Now(), 0, 10)
		for _, d := range made {
			if has, err := s.Attached(t.Context(), run, store.PayloadBlob(d.ID)); err != nil || !has || !hasPayload(t, s, d.ID) {
				t.Errorf("attached %v, %v; stored %v", has, err, hasPayload(t, s, d.ID))
			}
		}
		if has, err := s.Attached(t.Context(), "another", store.PayloadBlob(made[0].ID)); err != nil || has {
			t.Errorf("another run has the body (%v)", err)
		}
		must(t, removeRun(t.Context(), s, run))
		for _, d := range made {
			if hasPayload(t, s, d.ID) {
				t.Error("a body is left")
			}
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.AttachFiles(ctx, nil, nil) }) // none does no harm
	})
}

// Identities outlive the log, and go after their time once the delivery is gone.
func TestW10IdentitiesOutliveTheLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		now := time.UnixMicro(1_750_000_000_000_000)
		const month = 30 * 24 * time.Hour
		logged, ancient := receivedAt("w", now.Add(-month-time.Second), 1), receivedAt("gone", now.Add(-month-5*time.Microsecond), 5)
		edge := receivedAt("gone", now.Add(-month), 1)
		insertDeliveries(t, s, slices.Concat(logged, ancient, edge)...)
		var claims, again []store.Identity
		for _, d := range slices.Concat(logged, ancient, edge) {
			claims = append(claims, store.Identity{Digest: "d" + d.ID, DeliveryID: d.ID})
			again = append(again, store.Identity{Digest: "d" + d.ID, DeliveryID: "a later one"})
		}
		_, _, err := claimAll(t.Context(), s, claims)
		must(t, err)
		forget := func(limit int) (gone int64) {
			write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				gone, err = tx.DeleteIdentities(ctx, now.Add(-month), limit)
				return err
			})
			return gone
		}
		if gone := forget(100); gone != 0 {
			t.Errorf("%d identities gone, but all deliveries are in the log", gone)
		}
		if gone := deleteDeliveries(t, s, "gone", now, 0, 100); gone != 6 {
			t.Fatalf("%d deliveries gone", gone)
		}
		if taken, _, err := claimAll(t.Context(), s, again); err != nil || len(taken) != len(claims) {
			t.Errorf("taken %v, %v: the log took identities with it", taken, err)
		}
		var chunks []int64
		for range 4 {
			chunks = append(chunks, forget(2))
		}
		if want := []int64{2, 2, 1, 0}; !slices.Equal(chunks, want) {
			t.Errorf("gone %v, want %v", chunks, want)
		}
		left := texts(t, s.DB(), "SELECT delivery_id FROM delivery_identities ORDER BY delivery_id")
		if len(left) != 2 || left[0][0] != logged[0].ID || left[1][0] != edge[0].ID {
			t.Errorf("left %v", left)
		}
	})
}

// The row of a deleted webhook goes when its log is empty, a live one never.
func TestW5DeletedWebhookGoesAfterItsLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory := rowID(s)
		live, empty, logged := newWebhook(s, factory, "live"), newWebhook(s, factory, "empty"), newWebhook(s, factory, "logged")
		empty.DeletedAt, logged.DeletedAt = empty.CreatedAt, logged.CreatedAt
		insertDeliveries(t, s, newDelivery(s, logged.UID))
		drop := func() {
			for _, w := range []store.Webhook{live, empty, logged} {
				write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteWebhookRow(ctx, w.UID) })
			}
		}
		for _, w := range []store.Webhook{live, empty, logged} {
			putWebhook(t, s, w)
		}
		drop()
		wantWebhook(t, s, live)
		wantWebhook(t, s, logged)
		_, err := s.GetWebhook(t.Context(), factory, empty.UID)
		wantCode(t, err, lineshaft.CodeNotFound)
		deleteDeliveries(t, s, logged.UID, time.Now().Add(time.Hour), 0, 10)
		drop()
		wantWebhook(t, s, live)
		_, err = s.GetWebhook(t.Context(), factory, logged.UID)
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}
