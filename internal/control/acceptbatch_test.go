package control_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// sendAtOnce sends the same delivery n times, by turns through several nodes.
func sendAtOnce(n int, nodes ...*works) ([]trigger.Receipt, error) {
	hooks := make([]*trigger.Hook, len(nodes))
	for i, w := range nodes {
		hooks[i] = w.ready()
	}
	receipts, errs := make([]trigger.Receipt, n), make([]error, n)
	together(n, func(i int) {
		at := i % len(nodes)
		receipts[i], errs[i] = nodes[at].s.Accept(nodes[at].Context(), received(hooks[at], "the-id", opened))
	})
	return receipts, errors.Join(errs...)
}

// oneAccepted checks that of n deliveries one was accepted, started one run, and
// that all were answered with its id.
func (w *works) oneAccepted(receipts []trigger.Receipt) {
	w.Helper()
	first := receipts[0].DeliveryID
	accepted := 0
	for _, r := range receipts {
		if r.DeliveryID != first {
			w.Fatalf("answered with %s and %s", first, r.DeliveryID)
		}
		switch r.Delivery.Status {
		case lineshaft.DeliveryAccepted:
			accepted++
			if r.Delivery.ID != first || r.Delivery.DuplicateOf != "" {
				w.Errorf("%+v", r)
			}
		case lineshaft.DeliveryDuplicate:
			if r.Delivery.ID == first || r.Delivery.DuplicateOf != first || len(r.Delivery.Outcomes) != 0 {
				w.Errorf("%+v", r)
			}
		default:
			w.Errorf("%+v", r)
		}
	}
	count := w.statuses()
	if accepted != 1 || count[lineshaft.DeliveryAccepted] != 1 || count[lineshaft.DeliveryDuplicate] != len(receipts)-1 {
		w.Errorf("%d accepted; log %v", accepted, count)
	}
	if runs := w.runs(); len(runs) != 1 || runs[0].Metadata["delivery_id"] != first {
		w.Errorf("%d runs", len(runs))
	}
}

func TestW10SentTwoHundredTimesAtOnce(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]factories.NewWebhook{"plain": {}, "replay guard": {ReplayGuard: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorks(t, hook, func(w *works) {
				w.automation("it", "")
				receipts, err := sendAtOnce(200, w)
				wantCode(w, err, "")
				w.oneAccepted(receipts)
			})
		})
	}
}

func TestW10SentAtOnceToTwoNodes(t *testing.T) {
	t.Parallel()
	w := newWorks(t, storetest.Postgres(t), factories.NewWebhook{ReplayGuard: true})
	w.automation("it", "")
	receipts, err := sendAtOnce(200, w, w.node())
	wantCode(t, err, "")
	w.oneAccepted(receipts)
}

// An identity belongs to a webhook, and a refused delivery has none.
func TestW10IdentitiesAreScoped(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		first := w.deliver("x", opened)
		other := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "second"}))
		w.ready()
		elsewhere := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), received(w.s.Hook(w.Context(), other.UID), "x", opened)))
		if elsewhere.Delivery.Status != lineshaft.DeliveryAccepted {
			w.Errorf("%+v", elsewhere)
		}
		if d := w.deliver("y", opened); d.Status != lineshaft.DeliveryAccepted {
			w.Errorf("the same body under another id: %+v", d)
		}
		if d := w.deliver("x", `{"changed":true}`); d.Status != lineshaft.DeliveryDuplicate || d.DuplicateOf != first.ID {
			w.Errorf("another body under the same id: %+v", d)
		}
	})
}

func TestW10ReplayGuard(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{ReplayGuard: true}, func(w *works) {
		w.automation("it", "")
		first := w.deliver("1", opened)
		if d := w.deliver("2", opened); d.Status != lineshaft.DeliveryDuplicate || d.DuplicateOf != first.ID {
			w.Fatalf("%+v", d)
		}
		// The id of a duplicate is not taken: another body under it is new.
		second := w.deliver("2", `{"n":2}`)
		if second.Status != lineshaft.DeliveryAccepted {
			w.Fatalf("%+v", second)
		}
		// Id of one, body of another: a duplicate of the id's.
		if d := w.deliver("2", opened); d.Status != lineshaft.DeliveryDuplicate || d.DuplicateOf != second.ID {
			w.Errorf("%+v, want a duplicate of %s", d, second.ID)
		}
		if len(w.runs()) != 2 {
			w.Errorf("%d runs", len(w.runs()))
		}
	})
}

// In one transaction: the same body under several ids, the same id with several
// bodies, and strangers.
func TestW10ReplayGuardInsideABatch(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{ReplayGuard: true, RateLimit: new(8)}, func(w *works) {
		w.automation("it", "")
		h := w.ready()
		receipts, errs := w.s.AcceptTogether(
			w.Context(), received(h, "1", `{"a":1}`), received(h, "2", `{"a":1}`), received(h, "1", `{"a":2}`), received(h, "1", `{"a":1}`),
			received(h, "3", `{"a":3}`), received(h, "4", `{"a":3}`), received(h, "2", `{"a":4}`), trigger.Received{Hook: h, Body: []byte("x"), InvalidJSON: true},
		)
		wantCode(w, errors.Join(errs...), "")
		// The body under id 2 must wait until it is known whether the first counts; by
		// then its id belongs to the one with a:4.
		for i, want := range []int{-1, 6, 0, 0, -1, 4, -1} {
			d := receipts[i].Delivery
			switch {
			case want < 0 && d.Status != lineshaft.DeliveryAccepted, want >= 0 && d.DuplicateOf != receipts[want].DeliveryID:
				w.Errorf("%d: %+v", i, d)
			}
		}
		if got := fmt.Sprint(w.statuses()); got != "map[accepted:3 duplicate:4 rejected_invalid_json:1]" || len(w.runs()) != 3 {
			w.Errorf("%s, %d runs", got, len(w.runs()))
		}
		// Each counted once, also those that were tried again: eight fit, no ninth.
		_, err := w.s.Accept(w.Context(), received(h, "9", `{}`))
		limited(w, err)
	})
}

// A batch with one that is stale, one over its rate and one that cannot be stored
// does the others.
func TestW7AMemberDoesNotHarmItsBatch(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(2)}, func(w *works) {
		stale := w.ready()
		w.automation("it", "")
		h := w.ready()
		wild := received(h, "wild", `{}`)
		wild.RemoteAddr = "\xff\x00" // what no address is; PostgreSQL takes it for broken text
		_, errs := w.s.AcceptTogether(w.Context(), received(stale, "0", `{}`), received(h, "1", `{}`), received(h, "2", `{}`), received(h, "3", `{}`))
		if !errors.Is(errs[0], trigger.ErrStale) || errs[1] != nil || errs[2] != nil {
			w.Fatalf("%v", errs)
		}
		limited(w, errs[3])
		w.pass(time.Minute)
		receipts, errs := w.s.AcceptTogether(w.Context(), wild, received(h, "4", `{}`))
		if errs[1] != nil || receipts[1].Delivery.Status != lineshaft.DeliveryAccepted {
			w.Errorf("%v", errs)
		}
		if w.store.Engine() == "postgres" && errs[0] == nil {
			w.Error("broken text was stored")
		}
	})
}

// Many senders with many ids, some of them again and again: each is accepted once.
func TestW14EachIdentityOnce(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("a", "")
		w.automation("b", `{"n":{"not_in":[3]}}`)
		h := w.ready()
		const ids, senders = 20, 8
		var mu sync.Mutex
		answers := map[string]map[string]bool{}
		together(senders, func(sender int) {
			for i := range ids {
				n := (i + sender*3) % ids
				identity := fmt.Sprint("id-", n)
				receipt, err := w.s.Accept(w.Context(), received(h, identity, fmt.Sprintf(`{"n":%d}`, n)))
				if err != nil {
					w.Error(err)
					return
				}
				mu.Lock()
				if answers[identity] == nil {
					answers[identity] = map[string]bool{}
				}
				answers[identity][receipt.DeliveryID] = true
				mu.Unlock()
			}
		})
		for identity, seen := range answers {
			if len(seen) != 1 {
				w.Errorf("%s was answered with %v", identity, seen)
			}
		}
		if count := w.statuses(); count[lineshaft.DeliveryAccepted] != ids || count[lineshaft.DeliveryDuplicate] != ids*(senders-1) {
			w.Errorf("%v", count)
		}
		seen := map[string]bool{}
		for _, run := range w.runs() {
			key := run.Metadata["automation_id"] + run.Metadata["delivery_id"]
			if seen[key] {
				w.Errorf("two runs for %s", key)
			}
			seen[key] = true
		}
		if len(seen) != 2*ids-1 {
			w.Errorf("%d runs", len(seen))
		}
	})
}
