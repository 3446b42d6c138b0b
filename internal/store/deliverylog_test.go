package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// A log over several webhooks is what their logs are together, newest first, however long
// its pages are.
func TestW11LogOverWebhooks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factories := []string{rowID(s), rowID(s)}
		var hooks []string
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for i := range 5 {
				w := store.Webhook{Webhook: lineshaft.Webhook{UID: rowID(s), FactoryUID: factories[i%2], AuthMode: lineshaft.AuthToken}}
				w.Name = "h" + w.UID
				if i == 4 {
					w.DeletedAt = time.Now()
				}
				hooks = append(hooks, w.UID)
				if err := tx.PutWebhook(ctx, w); err != nil {
					return err
				}
			}
			return nil
		})
		want := map[string][]string{} // by factory; "refused" has those
		for i := range 60 {
			hook := []int{0, 1, 2, 0, 4, 0, 0, 3}[i%8]
			d := newDelivery(s, hooks[hook])
			if i%5 == 0 {
				d.Status, d.Body = lineshaft.DeliveryRejectedAuth, nil
				want["refused"] = append(want["refused"], d.ID)
			}
			insertDeliveries(t, s, d)
			want["all"] = append(want["all"], d.ID)
			if hook < 4 {
				want[factories[hook%2]] = append(want[factories[hook%2]], d.ID)
			}
		}
		for _, limit := range []int{1, 7, 100} {
			for name, read := range map[string]func(before string) ([]lineshaft.Delivery, bool, error){
				"all": func(before string) ([]lineshaft.Delivery, bool, error) {
					return s.ListAllDeliveries(t.Context(), false, before, "", limit)
				},
				"refused": func(before string) ([]lineshaft.Delivery, bool, error) {
					return s.ListAllDeliveries(t.Context(), true, before, "", limit)
				},
				factories[0]: func(before string) ([]lineshaft.Delivery, bool, error) {
					return s.ListDeliveriesOf(t.Context(), factories[:1], before, "", limit)
				},
				factories[1]: func(before string) ([]lineshaft.Delivery, bool, error) {
					return s.ListDeliveriesOf(t.Context(), factories[1:], before, "", limit)
				},
			} {
				var got []string
				for before, more := "", true; more; {
					page, further, err := read(before)
					must(t, err)
					for _, d := range page {
						if !slices.Contains(hooks, d.WebhookUID) { // of a test beside this one
							continue
						}
						got = append(got, d.ID)
					}
					if more = further; more {
						before = page[len(page)-1].ID
					}
				}
				slices.Reverse(got)
				if !slices.Equal(got, want[name]) {
					t.Errorf("%s by %d: %d deliveries, want %d\n%v\n%v", name, limit, len(got), len(want[name]), got, want[name])
				}
			}
		}
		found, err := s.WebhooksByUID(t.Context(), append(hooks[3:], "nobody"))
		if err != nil || len(found) != 2 {
			t.Errorf("%+v, %v", found, err)
		}
		if page, more, err := s.ListDeliveriesOf(t.Context(), []string{"nobody"}, "", "", 5); len(page) != 0 || more || err != nil {
			t.Errorf("%v, %v, %v", page, more, err)
		}
		if none, err := s.WebhooksByUID(t.Context(), nil); len(none) != 0 || err != nil {
			t.Errorf("%v, %v", none, err)
		}
	})
}
