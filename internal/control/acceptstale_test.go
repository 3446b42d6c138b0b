package control_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// change is a change after which a copy of the webhook must not be used.
type change struct {
	name string
	do   func(w *works) error
}

func changes() []change {
	return []change{
		{"disable", func(w *works) error {
			_, err := w.s.UpdateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookChange{Enabled: new(false)})
			return err
		}},
		{"enable", func(w *works) error {
			_, err := w.s.UpdateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookChange{Enabled: new(true)})
			return err
		}},
		{"rotate", func(w *works) error {
			_, err := w.s.RotateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookRotation{})
			return err
		}},
		{"pause", func(w *works) error {
			_, err := w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{Paused: new(true)})
			return err
		}},
		{"add automation", func(w *works) error {
			_, err := w.s.CreateAutomation(w.Context(), w.admin, w.factory, lineshaft.Automation{
				Name: "new " + w.newID(), Prompt: "x", Triggers: []lineshaft.Trigger{w.trigger("")},
			})
			return err
		}},
		{"delete", func(w *works) error { return w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID) }},
		{"delete factory", func(w *works) error { return w.s.DeleteFactory(w.Context(), w.admin, w.factory) }},
	}
}

func TestW5StaleCopiesAcceptNothing(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		for _, c := range changes() {
			h := w.s.Hook(w.Context(), w.hook.UID)
			if c.name != "enable" && c.name != "delete factory" { // there is a webhook before
				h = w.ready()
			} else if h == nil {
				h = w.stale()
			}
			before := len(w.log())
			if err := c.do(w); err != nil {
				w.Fatalf("%s: %v", c.name, err)
			}
			_, err := w.s.Accept(w.Context(), received(h, "after "+c.name, `{}`))
			if !errors.Is(err, trigger.ErrStale) {
				w.Errorf("%s: Accept = %v", c.name, err)
			}
			if err := w.s.Reject(w.Context(), trigger.Rejected{Hook: h, Status: lineshaft.DeliveryRejectedAuth}); !errors.Is(err, trigger.ErrStale) {
				w.Errorf("%s: Reject = %v", c.name, err)
			}
			if len(w.log()) != before || len(w.runs()) != 0 {
				w.Errorf("%s: something was written", c.name)
			}
		}
		wantCode(w, w.s.RefreshHooks(w.Context()), "")
		if w.s.Hook(w.Context(), w.hook.UID) != nil {
			w.Error("a webhook of a deleted factory takes deliveries")
		}
	})
}

// stale is an older copy of the webhook, of whatever state.
func (w *works) stale() *trigger.Hook {
	w.Helper()
	return must[*trigger.Hook](w.bench)(w.s.LoadHook(w.Context(), w.factory, w.hook.UID))
}

// Changes elsewhere are none of a webhook's business.
func TestW5OtherFactoriesDoNotDisturb(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		h := w.ready()
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"}))
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, other.UID, factories.FactoryChange{Paused: new(true)}))
		must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), received(h, "1", `{}`)))
	})
}

// While senders push with the copy that they have, the webhook is changed on another
// node. Nothing that is sent after the change has returned is accepted, and what was
// accepted is in the log.
func TestW5NeverAcceptedAfterAChange(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		w := newWorks(t, database, factories.NewWebhook{})
		w.automation("it", "")
		nodes := []*works{w, w}
		if w.store.Engine() == "postgres" {
			nodes[1] = w.node()
		}
		accepted := 0
		for round := range 12 {
			c := changes()[round%3] // those that can be done again and again
			if c.name != "enable" {
				w.update(factories.WebhookChange{Enabled: new(true)})
			}
			accepted += raceWith(nodes, fmt.Sprint("round ", round), func() error { return c.do(w) })
		}
		if count := w.statuses(); count[lineshaft.DeliveryAccepted] != accepted || accepted == 0 || len(w.runs()) != min(accepted, 500) {
			t.Errorf("%d were told that they are accepted; log %v, %d runs", accepted, count, len(w.runs()))
		}
	})
}

// raceWith sends through both nodes until everyone was refused and returns how many
// were accepted; once the change has returned, none may.
func raceWith(nodes []*works, round string, change func() error) int {
	var accepted, number atomic.Int64
	var returned atomic.Bool
	hooks := make([]*trigger.Hook, len(nodes))
	for i, w := range nodes {
		wantCode(w, w.s.RefreshHooks(w.Context()), "")
		if hooks[i] = w.s.Hook(w.Context(), w.hook.UID); hooks[i] == nil {
			hooks[i] = w.stale() // disabled: it is about to be enabled
		}
	}
	var senders sync.WaitGroup
	for i := range 6 {
		w, h := nodes[i%len(nodes)], hooks[i%len(nodes)]
		senders.Go(func() {
			for {
				late := returned.Load()
				_, err := w.s.Accept(w.Context(), received(h, fmt.Sprint(round, "/", number.Add(1)), `{}`))
				switch {
				case errors.Is(err, trigger.ErrStale):
					return
				case err != nil:
					w.Error(err)
					return
				case late:
					w.Error("accepted after the change had returned")
					return
				}
				accepted.Add(1)
			}
		})
	}
	for accepted.Load() < 5 && !nodes[0].Failed() {
		runtime.Gosched()
	}
	if err := change(); err != nil {
		nodes[0].Error(err)
	}
	returned.Store(true)
	senders.Wait()
	return int(accepted.Load())
}
