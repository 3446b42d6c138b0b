package control_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// fill logs n deliveries, one each second, the newest now, and returns their ids,
// newest first.
func (w *works) fill(webhookUID string, n int, newest time.Time) []string {
	w.Helper()
	var rows []store.NewDelivery
	var ids []string
	for i := range n {
		deliveryID, _ := id.New(func() time.Time { return newest.Add(-time.Duration(i) * time.Second) }).Next()
		ids = append(ids, deliveryID)
		rows = append(rows, store.NewDelivery{Body: []byte("1"), Delivery: lineshaft.Delivery{ID: deliveryID, WebhookUID: webhookUID, Status: lineshaft.DeliveryAccepted, Size: 1}})
	}
	for part := range slices.Chunk(rows, 100) {
		wantCode(w, w.store.Write(w.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertDeliveries(ctx, part) }), "")
	}
	return ids
}

// page walks through the log and returns the ids.
func (w *works) page(q trigger.DeliveryQuery) []string {
	w.Helper()
	var ids []string
	for {
		page := must[trigger.DeliveryPage](w.bench)(w.s.ListDeliveries(w.Context(), w.admin, w.factory, w.hook.UID, q))
		if len(page.Items) > q.Limit {
			w.Fatalf("%d rows", len(page.Items))
		}
		for _, d := range page.Items {
			ids = append(ids, d.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids
		}
	}
}

func TestH8PagesOfTheLog(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		now := w.clock.now().Truncate(time.Microsecond)
		ids := w.fill(w.hook.UID, 25, now)
		other := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "other"}))
		w.fill(other.UID, 3, now)
		for _, limit := range []int{1, 7, 24, 25, 26} {
			if got := w.page(trigger.DeliveryQuery{Limit: limit}); !slices.Equal(got, ids) {
				w.Errorf("limit %d: %v", limit, got)
			}
		}
		span := trigger.DeliveryQuery{After: now.Add(-10 * time.Second), Before: now.Add(-3 * time.Second), Limit: 3}
		if got := w.page(span); !slices.Equal(got, ids[4:11]) { // after is inclusive, before exclusive
			w.Errorf("%d rows: %v", len(got), got)
		}
		page := must[trigger.DeliveryPage](w.bench)(w.s.ListDeliveries(w.Context(), w.admin, w.factory, w.hook.UID, trigger.DeliveryQuery{Limit: 3}))
		for name, q := range map[string]trigger.DeliveryQuery{
			"garbage": {Limit: 3, Cursor: "garbage"}, "another span": {Limit: 3, Cursor: page.Next, Before: now},
		} {
			_, err := w.s.ListDeliveries(w.Context(), w.admin, w.factory, w.hook.UID, q)
			if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				w.Errorf("%s: %v", name, err)
			}
		}
		_, err := w.s.ListDeliveries(w.Context(), w.admin, w.factory, other.UID, trigger.DeliveryQuery{Limit: 3, Cursor: page.Next})
		wantCode(w, err, lineshaft.CodeInvalidRequest)
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID), "")
		if got := w.page(trigger.DeliveryQuery{Limit: 10}); !slices.Equal(got, ids) {
			w.Errorf("the log of the deleted webhook: %v", got)
		}
	})
}

func TestS3LogsOfOtherFactories(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		d := w.deliver("1", opened)
		limited := w.caller(lineshaft.RoleViewer, "elsewhere")
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"})).UID
		for name, at := range map[string]struct {
			c       lineshaft.Caller
			factory string
			hook    string
		}{"foreign key": {limited, w.factory, w.hook.UID}, "wrong factory": {w.admin, other, w.hook.UID}, "no webhook": {w.admin, w.factory, "x"}} {
			_, listErr := w.s.ListDeliveries(w.Context(), at.c, at.factory, at.hook, trigger.DeliveryQuery{Limit: 1})
			_, getErr := w.s.GetDelivery(w.Context(), at.c, at.factory, at.hook, d.ID, true)
			for _, err := range []error{listErr, getErr} {
				if err == nil || lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
					w.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}

func TestW11PayloadAndExplanation(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("match", "")
		missed := w.automation("missed", `{"action":["closed"],"issue":{"number":[7]}}`, func(n *lineshaft.Automation) {
			elsewhere := w.trigger(`{"never":[1]}`)
			elsewhere.Filter.WebhookIDs, elsewhere.Filter.Webhooks = []string{w.second()}, nil
			n.Triggers = append(n.Triggers, elsewhere, w.trigger(`{"issue":{"number":{"not_in":[7.0]},"title":{"exists":true}}}`))
		})
		raw := `{"action":"opened", "issue":{"number":7},"issue":{"number":7.00}, "huge":1e400}`
		d := w.deliver("1", raw)
		get := func(explain bool) trigger.DeliveryDetail {
			return must[trigger.DeliveryDetail](w.bench)(w.s.GetDelivery(w.Context(), w.admin, w.factory, w.hook.UID, d.ID, explain))
		}
		if detail := get(false); string(detail.Payload) != raw || detail.Missed != nil || fmt.Sprint(detail.Delivery) != fmt.Sprint(d) {
			w.Errorf("%+v", detail)
		}
		check := func() {
			w.Helper()
			detail := get(true)
			if len(detail.Missed) != 1 || detail.Missed[0].UID != missed.UID || detail.Missed[0].Name != "missed" {
				w.Fatalf("%+v", detail.Missed)
			}
			var got []string
			for _, c := range detail.Missed[0].Checks {
				got = append(got, fmt.Sprintf("%d %s %s %s %s %v", c.Trigger, c.Path, c.Operator, c.Expected, c.Seen, c.Passed))
			}
			want := []string{`0 payload.action in ["closed"] "opened" false`, `2 payload.issue.number not_in [7.0] 7.00 false`, `2 payload.issue.title exists true  false`}
			if !slices.Equal(got, want) {
				w.Errorf("got  %q\nwant %q", got, want)
			}
		}
		check()
		w.update(factories.WebhookChange{Enabled: new(false)})
		check()
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID), "")
		check()
	})
}

// second makes another webhook and returns its uid.
func (w *works) second() string {
	w.Helper()
	return must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "second"})).UID
}

const day = 24 * time.Hour

// At seven days and a second the newest 50 stay; younger ones all do.
func TestW11Retention(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		now := w.clock.now()
		few := w.second()
		w.fill(w.hook.UID, 450, now.Add(-7*day-time.Second))
		w.fill(few, 40, now.Add(-100*day))
		young := w.fill(w.hook.UID, 60, now.Add(-7*day+time.Hour))
		wantCode(w, w.s.PurgeDeliveries(w.Context()), "")
		if got := w.page(trigger.DeliveryQuery{Limit: 100}); !slices.Equal(got, young) {
			w.Errorf("%d rows of 60 young ones are left", len(got))
		}
		if left, _, err := w.store.ListDeliveries(w.Context(), few, "", "", 100); err != nil || len(left) != 40 {
			w.Errorf("%d of the newest ones are left: %v", len(left), err)
		}
		w.clock.advance(2 * time.Hour)
		wantCode(w, w.s.PurgeDeliveries(w.Context()), "")
		if got := w.page(trigger.DeliveryQuery{Limit: 100}); !slices.Equal(got, young[:50]) {
			w.Errorf("%d rows are left", len(got))
		}
		_, err := w.store.GetPayload(w.Context(), young[55])
		wantCode(w, err, lineshaft.CodeNotFound)
		must[[]byte](w.bench)(w.store.GetPayload(w.Context(), young[49]))
	})
}

// The settings work upward only.
func TestW11RetentionIsSetUpward(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		retention time.Duration
		keep      int
		left      int
	}{"smaller": {time.Hour, 5, 50}, "more rows": {0, 70, 70}, "longer": {9 * day, 0, 100}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorks(t, factories.NewWebhook{}, func(w *works) {
				w.fill(w.hook.UID, 100, w.clock.now().Add(-8*day))
				wantCode(w, w.s.PurgeDeliveries(w.Context()), "")
				if left := len(w.log()); left != tc.left {
					w.Errorf("%d left, want %d", left, tc.left)
				}
			}, func(cfg *base.Config) { cfg.DeliveryRetention, cfg.DeliveryKeep = tc.retention, tc.keep })
		})
	}
}

// Identities outlive the log: a sender that repeats itself after weeks is a duplicate
// still. After 30 days it is forgotten.
func TestW10IdentitiesOutliveTheLog(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		first := w.deliver("1", opened)
		step := func(d time.Duration) {
			w.pass(d)
			w.fill(w.hook.UID, 51, w.clock.now())
			wantCode(w, w.s.PurgeDeliveries(w.Context()), "")
		}
		step(8 * day)
		_, err := w.store.GetDelivery(w.Context(), w.hook.UID, first.ID)
		wantCode(w, err, lineshaft.CodeNotFound)
		step(21 * day)
		if d := w.deliver("1", opened); d.Status != lineshaft.DeliveryDuplicate || d.DuplicateOf != first.ID {
			w.Fatalf("%+v", d)
		}
		step(2 * day)
		if d := w.deliver("1", opened); d.Status != lineshaft.DeliveryAccepted {
			w.Errorf("%+v", d)
		}
	})
}

// A deleted webhook loses its whole log in time, then its row; a run keeps its file.
func TestW5TheLogOfADeletedWebhook(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(1000)}, func(w *works) {
		w.automation("it", "")
		d := w.deliver("1", opened)
		job := w.claim(1)[0]
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID), "")
		wantCode(w, w.s.PurgeDeliveries(w.Context()), "")
		if got := w.page(trigger.DeliveryQuery{Limit: 10}); !slices.Equal(got, []string{d.ID}) {
			w.Errorf("%v", got)
		}
		w.clock.advance(7*day + time.Minute)
		wantCode(w, w.s.PurgeDeliveries(w.Context()), "")
		_, err := w.s.ListDeliveries(w.Context(), w.admin, w.factory, w.hook.UID, trigger.DeliveryQuery{Limit: 10})
		wantCode(w, err, lineshaft.CodeNotFound)
		if got := w.download(job, job.Turn.Attachments[0].BlobID); got != opened {
			w.Errorf("the file of the run is %q", got)
		}
	})
}

func TestW12IdleRateWindowsGo(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(1)}, func(w *works) {
		w.deliver("1", `{}`)
		wantCode(w, w.fail(w.ready(), "192.0.2.1"), "")
		wantCode(w, w.s.PurgeDeliveries(w.Context()), "")
		_, err := w.s.Accept(w.Context(), received(w.ready(), "2", `{}`))
		limited(w, err) // what is in use stays
		storetest.Exec(w.T, w.database, fmt.Sprintf("UPDATE rate_windows SET last_at = last_at - %d", (3*time.Hour).Microseconds()))
		wantCode(w, w.s.PurgeDeliveries(w.Context()), "")
		w.clock.advance(time.Minute) // what is remembered in memory expires
		w.deliver("2", `{}`)
	})
}
