package store_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// What a chart counts is what the log has: the newest of it, by what came of each.
func TestW18VolumeOfDeliveries(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory := rowID(s)
		hooks := []string{rowID(s), rowID(s), rowID(s)} // the last is of another factory
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for i, uid := range hooks {
				w := store.Webhook{Webhook: lineshaft.Webhook{UID: uid, FactoryUID: factory, Name: uid, AuthMode: lineshaft.AuthToken}}
				if i == 2 {
					w.FactoryUID = rowID(s)
				}
				if err := tx.PutWebhook(ctx, w); err != nil {
					return err
				}
			}
			return nil
		})
		results := []lineshaft.OutcomeResult{"", lineshaft.ResultStarted, lineshaft.ResultFollowedUp, lineshaft.ResultError, lineshaft.ResultFiltered}
		var all []store.DeliveryBrief // oldest first
		to := map[string]string{}
		for i := range 40 {
			d := newDelivery(s, hooks[[]int{0, 1, 1, 2}[i%4]])
			want := store.DeliveryBrief{ID: d.ID, Status: d.Status}
			switch result := results[i%5]; {
			case result == "":
				// A name that reads like a result is none.
				d.Outcomes = []lineshaft.DeliveryOutcome{{AutomationName: `"result":"started"`, Result: lineshaft.ResultSkipped}}
			case i%3 == 0:
				d.Status, d.Body = lineshaft.DeliveryRejectedAuth, nil
				want.Status = d.Status
			default:
				d.Outcomes = []lineshaft.DeliveryOutcome{{Result: lineshaft.ResultDisabled}, {Result: result}}
				want.Started = result == lineshaft.ResultStarted || result == lineshaft.ResultFollowedUp
				want.Failed = result == lineshaft.ResultError
			}
			insertDeliveries(t, s, d)
			all, to[d.ID] = append(all, want), d.WebhookUID
		}
		newest := func(floor string, limit int, hooks ...string) []store.DeliveryBrief {
			var found []store.DeliveryBrief
			for _, d := range slices.Backward(all) {
				if d.ID >= floor && len(found) < limit && slices.Contains(hooks, to[d.ID]) {
					found = append(found, d)
				}
			}
			return found
		}
		check := func(what string, got, want []store.DeliveryBrief, err error) {
			t.Helper()
			if !slices.Equal(got, want) || err != nil {
				t.Errorf("%s: %v\n%+v\nwant\n%+v", what, err, got, want)
			}
		}
		ctx := t.Context()
		for _, floor := range []string{"", all[13].ID} {
			for _, limit := range []int{1, 7, 100} {
				what := fmt.Sprintf("%d from %q", limit, floor)
				got, err := s.BriefDeliveries(ctx, store.DeliveryScope{WebhookUID: hooks[1]}, floor, limit)
				check("one webhook, "+what, got, newest(floor, limit, hooks[1]), err)
				got, err = s.BriefDeliveries(ctx, store.DeliveryScope{FactoryUIDs: []string{factory}}, floor, limit)
				check("a factory, "+what, got, newest(floor, limit, hooks[0], hooks[1]), err)
			}
		}
		got, err := s.BriefDeliveries(ctx, store.DeliveryScope{}, all[13].ID, 100_000)
		got = slices.DeleteFunc(got, func(d store.DeliveryBrief) bool { return to[d.ID] == "" }) // of a test beside this one
		check("all", got, newest(all[13].ID, 1000, hooks...), err)
		if !slices.IsSortedFunc(got, func(a, b store.DeliveryBrief) int { return cmp.Compare(b.ID, a.ID) }) {
			t.Error("they are not the newest first")
		}
		page, more, err := s.ListAllDeliveries(ctx, false, all[20].ID, all[13].ID, 100_000)
		page = slices.DeleteFunc(page, func(d lineshaft.Delivery) bool { return to[d.ID] == "" })
		if len(page) != 7 || more || err != nil || page[0].ID != all[19].ID {
			t.Errorf("between two times: %d, %v, %v", len(page), more, err)
		}
		page, more, err = s.ListDeliveriesOf(ctx, []string{factory}, all[20].ID, all[13].ID, 100_000)
		if len(page) != len(newest(all[13].ID, 1000, hooks[0], hooks[1]))-len(newest(all[20].ID, 1000, hooks[0], hooks[1])) || more || err != nil {
			t.Errorf("of a factory between two times: %d, %v, %v", len(page), more, err)
		}
	})
}
