package control_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// Sixty are let in, the next is not; one that waits as long as it is asked to gets in.
func TestW12SixtyInAMinute(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(60)}, func(w *works) {
		h, began := w.ready(), time.Now()
		for i := range 60 {
			r := received(h, fmt.Sprint(i/2), fmt.Sprintf(`{"n":%d}`, i/2)) // duplicates also count
			if i%10 == 9 {
				r = trigger.Received{Hook: h, Body: []byte("{"), InvalidJSON: true} // and so does what is not JSON
			}
			must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), r))
		}
		late := received(h, "late", `{}`)
		_, err := w.s.Accept(w.Context(), late)
		wait := limited(w, err)
		if wait > time.Minute || wait < time.Minute-time.Since(began)-time.Second { // since the first
			w.Errorf("wait %s", wait)
		}
		if n := len(w.log()); n != 60 {
			w.Errorf("%d rows", n)
		}
		w.pass(wait - 20*time.Second)
		_, err = w.s.Accept(w.Context(), late)
		if again := limited(w, err); again > 20*time.Second {
			w.Errorf("told to wait for another %s", again)
		}
		w.pass(20 * time.Second)
		if receipt := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), late)); receipt.Delivery.Status != lineshaft.DeliveryAccepted {
			w.Errorf("%+v", receipt)
		}
	})
}

func TestW12RateOfManyNodesAndSenders(t *testing.T) {
	t.Parallel()
	w := newWorks(t, storetest.Postgres(t), factories.NewWebhook{RateLimit: new(60)})
	nodes := []*works{w, w.node()}
	hooks := []*trigger.Hook{nodes[0].ready(), nodes[1].ready()}
	var passed, refused atomic.Int64
	together(150, func(i int) {
		_, err := nodes[i%2].s.Accept(t.Context(), received(hooks[i%2], fmt.Sprint(i), `{}`))
		switch {
		case err == nil:
			passed.Add(1)
		case asPublic(err) != nil && asPublic(err).Limited:
			refused.Add(1)
		default:
			t.Error(err)
		}
	})
	if passed.Load() != 60 || refused.Load() != 90 || len(w.log()) != 60 {
		t.Errorf("%d passed, %d refused, %d rows", passed.Load(), refused.Load(), len(w.log()))
	}
}

// A limit that was raised holds at once, also for one that was asked to wait.
func TestW12ChangedLimit(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(1)}, func(w *works) {
		h := w.ready()
		must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), received(h, "1", `{}`)))
		_, err := w.s.Accept(w.Context(), received(h, "2", `{}`))
		limited(w, err)
		w.update(factories.WebhookChange{RateLimit: new(2)})
		h = w.ready()
		must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), received(h, "2", `{}`)))
		_, err = w.s.Accept(w.Context(), received(h, "3", `{}`))
		limited(w, err)
		w.update(factories.WebhookChange{RateLimit: new(0)})
		w.deliver("3", `{}`)
	})
}

// Webhooks have windows of their own.
func TestW12RateIsPerWebhook(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(1)}, func(w *works) {
		other := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "second", RateLimit: new(1)}))
		w.deliver("1", `{}`)
		must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), received(w.s.Hook(w.Context(), other.UID), "1", `{}`)))
		for _, h := range []*trigger.Hook{w.s.Hook(w.Context(), w.hook.UID), w.s.Hook(w.Context(), other.UID)} {
			_, err := w.s.Accept(w.Context(), received(h, "2", `{}`))
			limited(w, err)
		}
	})
}

// The brake of an automation leaves the delivery and other automations alone.
func TestW7RunsPerHour(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("braked", "", func(n *lineshaft.Automation) { n.MaxRunsPerHour = 2 })
		w.automation("free", "")
		h := w.ready()
		_, errs := w.s.AcceptTogether(w.Context(), received(h, "1", `{}`), received(h, "2", `{}`))
		wantCode(w, errors.Join(errs...), "")
		third := w.outcomes("3", `{}`)
		if o := third["braked"]; o.Result != lineshaft.ResultLimit || o.RunID != "" || !strings.Contains(o.Reason, "2 runs per hour") || third["free"].Result != lineshaft.ResultStarted {
			w.Errorf("%+v", third)
		}
		w.pass(time.Hour)
		if o := w.outcomes("4", `{}`)["braked"]; o.Result != lineshaft.ResultStarted {
			w.Errorf("%+v", o)
		}
	})
}
