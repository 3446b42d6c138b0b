package control_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/vault"
)

// works is a control plane with a factory that has one webhook, ready to deliver to.
type works struct {
	*bench
	database string
	factory  string
	hook     factories.IssuedWebhook
	settings []func(*base.Config)
}

// eachWorks runs fn on every engine. The webhook has no limit unless hook sets one.
func eachWorks(t *testing.T, hook factories.NewWebhook, fn func(w *works), settings ...func(*base.Config)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) { fn(newWorks(t, database, hook, settings...)) })
}

func newWorks(t *testing.T, database string, hook factories.NewWebhook, settings ...func(*base.Config)) *works {
	t.Helper()
	key, err := vault.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	settings = append(settings, func(cfg *base.Config) { cfg.Vault = vault.New(key) })
	w := &works{bench: open(t, database, settings...), database: database, settings: settings}
	w.factory = must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(t.Context(), w.admin, factories.NewFactory{Name: "works"})).UID
	if hook.Name == "" {
		hook.Name = "issues"
	}
	if hook.RateLimit == nil {
		hook.RateLimit = new(0)
	}
	w.hook = must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(t.Context(), w.admin, w.factory, hook))
	return w
}

// node is another control plane on the same database.
func (w *works) node() *works {
	w.Helper()
	other := *w
	other.bench = open(w.T, w.database, w.settings...)
	return &other
}

// automation adds one that listens to the webhook; an empty filter matches all.
func (w *works) automation(name, filter string, change ...func(*lineshaft.Automation)) *lineshaft.Automation {
	w.Helper()
	n := lineshaft.Automation{Name: name, Prompt: "Work on it: " + name, Enabled: true, Triggers: []lineshaft.Trigger{w.trigger(filter)}}
	for _, fn := range change {
		fn(&n)
	}
	return must[*lineshaft.Automation](w.bench)(w.s.CreateAutomation(w.Context(), w.admin, w.factory, n))
}

func (w *works) trigger(filter string) lineshaft.Trigger {
	return lineshaft.Trigger{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{Webhooks: []string{w.hook.Name}, Payload: json.RawMessage(filter)}}
}

// concurrency sets the rule of an automation.
func concurrency(key string, policy lineshaft.ConcurrencyPolicy) func(*lineshaft.Automation) {
	return func(n *lineshaft.Automation) {
		n.Config.Concurrency = &lineshaft.Concurrency{Key: key, Policy: policy}
	}
}

// ready is the webhook as of now.
func (w *works) ready() *trigger.Hook {
	w.Helper()
	if err := w.s.RefreshHooks(w.Context()); err != nil {
		w.Fatal(err)
	}
	h := w.s.Hook(w.Context(), w.hook.UID)
	if h == nil {
		w.Fatal("the webhook takes no deliveries")
	}
	return h
}

// received is an authentic request with a body and an id; without one the body is it.
func received(h *trigger.Hook, identity, body string) trigger.Received {
	r := trigger.Received{Hook: h, Body: []byte(body), Identity: identity, IdentitySource: "header X-Id", RemoteAddr: "192.0.2.1"}
	if identity == "" {
		sum := sha256.Sum256(r.Body)
		r.Identity, r.IdentitySource = hex.EncodeToString(sum[:]), "hash of the body"
	}
	return r
}

// deliver has a body accepted and returns its row.
func (w *works) deliver(identity, body string) lineshaft.Delivery {
	w.Helper()
	return must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), received(w.ready(), identity, body))).Delivery
}

// outcomes delivers a body and returns what each automation made of it.
func (w *works) outcomes(identity, body string) map[string]lineshaft.DeliveryOutcome {
	w.Helper()
	return byName(w.deliver(identity, body).Outcomes)
}

func byName(list []lineshaft.DeliveryOutcome) map[string]lineshaft.DeliveryOutcome {
	outcomes := map[string]lineshaft.DeliveryOutcome{}
	for _, o := range list {
		outcomes[o.AutomationName] = o
	}
	return outcomes
}

// log is the webhook's log, oldest first.
func (w *works) log() []lineshaft.Delivery {
	w.Helper()
	list, more, err := w.store.ListDeliveries(w.Context(), w.hook.UID, "", "", 10_000)
	if err != nil || more {
		w.Fatal(err, more)
	}
	slices.Reverse(list)
	return list
}

// statuses counts the rows of the log.
func (w *works) statuses() map[lineshaft.DeliveryStatus]int {
	w.Helper()
	count := map[lineshaft.DeliveryStatus]int{}
	for _, d := range w.log() {
		count[d.Status]++
	}
	return count
}

// runs are the runs of the factory, newest first.
func (w *works) runs() []lineshaft.Run {
	w.Helper()
	q := lineshaft.RunQuery{Filter: lineshaft.RunFilter{FactoryUIDs: []string{w.factory}}, Sort: lineshaft.SortCreated, Limit: 500}
	return must[lineshaft.RunPage](w.bench)(w.s.ListRuns(w.Context(), w.admin, q)).Runs
}

// pass lets time go by, for the control plane and in the rate windows, which the
// database dates.
func (w *works) pass(d time.Duration) {
	w.Helper()
	w.clock.advance(d)
	storetest.Exec(w.T, w.database,
		fmt.Sprintf("UPDATE rate_hits SET at = at - %d", d.Microseconds()),
		fmt.Sprintf("UPDATE rate_windows SET last_at = last_at - %d", d.Microseconds()))
}

// limited checks that an error is the caller's own limit and returns the wait.
func limited(tb testing.TB, err error) time.Duration {
	tb.Helper()
	wantCode(tb, err, lineshaft.CodeUnavailable)
	var pub *lineshaft.Error
	if pub = asPublic(err); pub == nil || !pub.Limited || pub.RetryAfter <= 0 {
		tb.Fatalf("%v is not a limit", err)
	}
	return pub.RetryAfter
}

// update changes the webhook.
func (w *works) update(change factories.WebhookChange) {
	w.Helper()
	must[lineshaft.Webhook](w.bench)(w.s.UpdateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, change))
}

// changed writes to the factory as a change of it does.
func (w *works) changed(fn func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	err := w.store.Write(w.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockFactory(ctx, w.factory, w.clock.now()); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	wantCode(w, err, "")
}
