package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// A log is the same whatever of it is settled: a naive list agrees with every way to read one,
// while deliveries come, are settled in parts and are removed.
func TestW11LogsWhileSettling(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		random := rand.New(rand.NewPCG(11, 11))
		factory := rowID(s)
		logs := map[string][]string{} // of each webhook, newest first
		var hooks []string
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for range 4 {
				w := store.Webhook{Webhook: lineshaft.Webhook{UID: rowID(s), FactoryUID: factory, Name: rowID(s), AuthMode: lineshaft.AuthToken}}
				hooks = append(hooks, w.UID)
				if err := tx.PutWebhook(ctx, w); err != nil {
					return err
				}
			}
			return nil
		})
		for range 60 {
			hook := hooks[random.IntN(len(hooks))]
			switch random.IntN(4) {
			case 0:
				write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SettleSomeDeliveries(ctx, random.IntN(5)) })
			case 1:
				if keep := random.IntN(6); keep > 0 {
					write(t, s, func(ctx context.Context, tx *store.Tx) error {
						_, err := tx.DeleteDeliveries(ctx, hook, time.Now().Add(time.Hour), keep, 1000)
						return err
					})
					logs[hook] = logs[hook][:min(keep, len(logs[hook]))]
				}
			default:
				d := newDelivery(s, hook)
				insertDeliveries(t, s, d)
				logs[hook] = slices.Insert(logs[hook], 0, d.ID)
			}
			checkLogs(t, s, factory, hooks, logs)
		}
	})
}

func checkLogs(t *testing.T, s *store.Store, factory string, hooks []string, logs map[string][]string) {
	t.Helper()
	var all, newest []string
	for _, hook := range hooks {
		all = append(all, logs[hook]...)
		if len(logs[hook]) > 0 {
			newest = append(newest, logs[hook][0])
		}
		wantDeliveries(t, "log", logOf(t, s, hook, 3), logs[hook])
		var payloads []lineshaft.Delivery
		must(t, s.EachPayload(t.Context(), hook, "", 100, func(p store.Payload) error {
			payloads = append(payloads, lineshaft.Delivery{ID: p.DeliveryID})
			return nil
		}))
		wantDeliveries(t, "payloads", payloads, logs[hook])
		for _, deliveryID := range logs[hook] {
			if d, err := s.GetDelivery(t.Context(), hook, deliveryID); err != nil || d.WebhookUID != hook {
				t.Fatalf("delivery %s of webhook %s: %+v, %v", deliveryID, hook, d, err)
			}
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	page, _, err := s.ListDeliveriesOf(t.Context(), []string{factory}, "", "", 5)
	must(t, err)
	wantDeliveries(t, "factory", page, all[:min(5, len(all))])
	last, err := s.LastDeliveries(t.Context(), factory)
	must(t, err)
	slices.SortFunc(last, func(a, b lineshaft.Delivery) int { return slices.Index(newest, a.ID) - slices.Index(newest, b.ID) })
	wantDeliveries(t, "last", last, newest)
}

func wantDeliveries(t *testing.T, what string, got []lineshaft.Delivery, want []string) {
	t.Helper()
	var ids []string
	for _, d := range got {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, want) {
		t.Fatalf("%s: got %v, want %v", what, ids, want)
	}
}

// Deliveries are settled when there are many, or when they have waited; a webhook that is
// deleted stays while one of its deliveries is not settled.
func TestW11ManyAreSettledTogether(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{Database: storetest.SQLite(t)})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	w := store.Webhook{Webhook: lineshaft.Webhook{UID: rowID(s), FactoryUID: rowID(s), Name: "h", AuthMode: lineshaft.AuthToken, DeletedAt: time.Now()}}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutWebhook(ctx, w) })
	unsettled := func() string {
		return texts(t, s.DB(), "SELECT COUNT(*) FROM deliveries WHERE webhook_uid = ''")[0][0]
	}
	insertDeliveries(t, s, newDelivery(s, w.UID))
	if more, err := s.SettleDeliveries(t.Context()); more || err != nil || unsettled() != "1" {
		t.Fatalf("one new delivery: more %v, %v, %s are not settled", more, err, unsettled())
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteWebhookRow(ctx, w.UID) })
	if found, err := s.WebhooksByUID(t.Context(), []string{w.UID}); err != nil || len(found) != 1 {
		t.Fatalf("webhook with a delivery: got %v, %v", found, err)
	}
	many := make([]store.NewDelivery, 600)
	for i := range many {
		many[i] = newDelivery(s, fmt.Sprint("hook", i%7))
	}
	insertDeliveries(t, s, many...)
	if more, err := s.SettleDeliveries(t.Context()); !more || err != nil || unsettled() != "88" {
		t.Fatalf("600 deliveries: more %v, %v, %s are not settled", more, err, unsettled())
	}
	old := newDelivery(s, w.UID)
	old.ID = "01900000" + old.ID[8:]
	insertDeliveries(t, s, old)
	if more, err := s.SettleDeliveries(t.Context()); more || err != nil || unsettled() != "0" {
		t.Fatalf("an old delivery: more %v, %v, %s are not settled", more, err, unsettled())
	}
}

// A backup with deliveries that are not settled is restored as logs, on either engine.
func TestW11RestoredLogs(t *testing.T) {
	t.Parallel()
	from := storetest.SQLite(t)
	s, err := store.Open(t.Context(), store.Options{Database: from})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	d := newDelivery(s, rowID(s))
	insertDeliveries(t, s, d)
	file, _ := backupOf(t, from)
	storetest.EachEmpty(t, func(t *testing.T, to string) {
		_, err := restoreInto(t, to, file)
		must(t, err)
		restored, err := store.Open(t.Context(), store.Options{Database: to})
		must(t, err)
		defer restored.Close()
		wantDeliveries(t, "restored", logOf(t, restored, d.WebhookUID, 3), []string{d.ID})
	})
}
