package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
)

func asPublic(err error) *lineshaft.Error {
	pub, _ := errors.AsType[*lineshaft.Error](err)
	return pub
}

const opened = `{"action":"opened","issue":{"number":7}}`

func TestW7OneRunForEachMatch(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		all := w.automation("all", "")
		match := w.automation("match", `{"action":["opened"]}`)
		w.automation("other", `{"action":["closed"]}`)
		w.automation("elsewhere", "", func(n *lineshaft.Automation) {
			other := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "elsewhere"}))
			n.Triggers[0].Filter = lineshaft.TriggerFilter{WebhookIDs: []string{other.UID}}
		})
		receipt := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), received(w.ready(), "id-1", opened)))
		d := receipt.Delivery
		if receipt.DeliveryID != d.ID || d.Status != lineshaft.DeliveryAccepted || d.NotMatched != 1 || len(d.Outcomes) != 2 {
			w.Fatalf("%+v", receipt)
		}
		if stored := w.log(); len(stored) != 1 || fmt.Sprint(stored[0]) != fmt.Sprint(d) {
			w.Errorf("stored %+v\nwant   %+v", stored, d)
		}
		if d.Identity != "id-1" || d.IdentitySource != "header X-Id" || d.RemoteAddr != "192.0.2.1" || d.Size != int64(len(opened)) || d.WebhookUID != w.hook.UID {
			w.Errorf("%+v", d)
		}
		for i, a := range []*lineshaft.Automation{all, match} { // by name
			o := d.Outcomes[i]
			if o.AutomationID != a.UID || o.AutomationName != a.Name || o.Result != lineshaft.ResultStarted || o.RunID == "" || o.Reason != "" {
				w.Fatalf("%+v", o)
			}
			w.checkRun(o.RunID, a, d)
		}
		if n := len(w.runs()); n != 2 {
			w.Errorf("%d runs", n)
		}
	})
}

// checkRun checks what W-13 says about a run of a delivery.
func (w *works) checkRun(runID string, a *lineshaft.Automation, d lineshaft.Delivery) {
	w.Helper()
	run := w.want(runID, lineshaft.Queued)
	want := map[string]string{"webhook_id": w.hook.UID, "delivery_id": d.ID, "automation_id": a.UID}
	if run.Source != lineshaft.SourceWebhook || run.FactoryUID != w.factory || run.Title != a.Name || fmt.Sprint(run.Metadata) != fmt.Sprint(want) {
		w.Errorf("%+v", run)
	}
	if run.Creator.UID != "automation_"+a.UID || run.Creator.DisplayName != a.Name || !strings.HasPrefix(run.Prompt, a.Prompt+"\n\n~~~~ webhook delivery\n") {
		w.Errorf("creator %+v, prompt %q", run.Creator, run.Prompt)
	}
	if run.CreatedAt.Before(d.ReceivedAt) {
		w.Errorf("created %v, before the delivery at %v", run.CreatedAt, d.ReceivedAt)
	}
	w.sound(runID)
	if entries := w.audits(runID); len(entries) > 0 { // the delivery's outcome has it
		w.Errorf("%+v", entries)
	}
}

func TestW14SeveralTriggersStartOneRun(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("many", "", func(n *lineshaft.Automation) {
			byID := w.trigger(`{"issue":{"number":[7]}}`)
			byID.Filter.Webhooks, byID.Filter.WebhookIDs = nil, []string{w.hook.UID}
			n.Triggers = []lineshaft.Trigger{w.trigger(`{"action":["closed"]}`), w.trigger(`{"action":["opened"]}`), byID, w.trigger("")}
		})
		w.automation("never", `{"action":[]}`, func(n *lineshaft.Automation) { n.Triggers = append(n.Triggers, w.trigger(`{"no":{"exists":true}}`)) })
		d := w.deliver("", opened)
		if len(d.Outcomes) != 1 || d.NotMatched != 1 || len(w.runs()) != 1 {
			w.Errorf("%+v, %d runs", d, len(w.runs()))
		}
	})
}

func TestW7AtMostHundredRuns(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		const count = 104
		// Made in another order than that of their names. Each change of a factory
		// writes its whole definition, so all but one are rows.
		model := *w.automation("a011", "")
		w.changed(func(ctx context.Context, tx *store.Tx) error {
			for i := 1; i < count; i++ {
				n := (i*37 + 11) % count
				a := model
				a.UID, _ = w.store.NewID()
				a.Name, a.Enabled = fmt.Sprintf("a%03d", n), n != 5
				if n == 7 {
					a.Config.Concurrency = &lineshaft.Concurrency{Key: "{{payload.missing}}", Policy: lineshaft.PolicyQueue}
				}
				if err := tx.PutAutomation(ctx, a); err != nil {
					return err
				}
			}
			return nil
		})
		d := w.deliver("", opened)
		if len(d.Outcomes) != count || len(w.runs()) != 100 {
			w.Fatalf("%d outcomes, %d runs", len(d.Outcomes), len(w.runs()))
		}
		for i, o := range d.Outcomes {
			want := lineshaft.ResultStarted
			switch {
			case i == 5:
				want = lineshaft.ResultDisabled // and takes nobody's place
			case i == 7:
				want = lineshaft.ResultError
			case i > 101:
				want = lineshaft.ResultLimit
			}
			if o.AutomationName != fmt.Sprintf("a%03d", i) || o.Result != want || (o.RunID == "") == (want == lineshaft.ResultStarted) {
				w.Fatalf("outcome %d: %+v, want %s", i, o, want)
			}
		}
		if stored := w.log()[0]; fmt.Sprint(stored.Outcomes) != fmt.Sprint(d.Outcomes) {
			w.Error("the log tells it otherwise")
		}
	})
}

// An automation that is known to start nothing says why; the delivery counts all the same.
func TestW11OutcomesWithoutARun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(w *works)
		body    string
		result  lineshaft.OutcomeResult
		reason  string
	}{
		"disabled": {func(w *works) { w.automation("it", "", func(n *lineshaft.Automation) { n.Enabled = false }) }, opened, lineshaft.ResultDisabled, "disabled"},
		"paused": {func(w *works) {
			w.automation("it", "")
			must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{Paused: new(true)}))
		}, opened, lineshaft.ResultSkipped, "paused"},
		"no agent": {func(w *works) {
			a := *w.automation("it", "")
			a.Agent = "gone"
			w.changed(func(ctx context.Context, tx *store.Tx) error { return tx.PutAutomation(ctx, a) })
		}, opened, lineshaft.ResultError, `no agent "gone"`},
		"refused": {func(w *works) {
			w.automation("it", "")
			w.s.RefuseWebhookRuns("agents are not isolated here")
		}, opened, lineshaft.ResultError, "not isolated"},
		"filter cannot be evaluated": {func(w *works) { w.automation("it", `{"a":[1]}`) }, `{"a":`, lineshaft.ResultError, "could not be evaluated"},
		"concurrency key":            {func(w *works) { w.automation("it", "", concurrency("k-{{payload.missing}}", "queue")) }, opened, lineshaft.ResultError, "payload.missing"},
		"key is an object":           {func(w *works) { w.automation("it", "", concurrency("{{payload.issue}}", "queue")) }, opened, lineshaft.ResultError, "payload.issue"},
		"long key": {
			func(w *works) { w.automation("it", "", concurrency("{{payload.a}}", "queue")) },
			`{"a":"` + strings.Repeat("x", 257) + `"}`, lineshaft.ResultError, "257 bytes",
		},
		"NUL in the key": {func(w *works) { w.automation("it", "", concurrency("{{payload.a}}", "queue")) }, `{"a":"\u0000"}`, lineshaft.ResultError, "NUL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorks(t, factories.NewWebhook{}, func(w *works) {
				tc.prepare(w)
				d := w.deliver("x", tc.body)
				if len(d.Outcomes) != 1 || d.Outcomes[0].Result != tc.result || !strings.Contains(d.Outcomes[0].Reason, tc.reason) || d.Outcomes[0].RunID != "" {
					w.Errorf("%+v", d.Outcomes)
				}
				if d.Status != lineshaft.DeliveryAccepted || len(w.runs()) != 0 || len(w.log()) != 1 {
					w.Errorf("%s, %d runs, %d rows", d.Status, len(w.runs()), len(w.log()))
				}
				if payload := must[[]byte](w.bench)(w.store.GetPayload(w.Context(), d.ID)); string(payload) != tc.body {
					w.Errorf("payload %q", payload)
				}
			})
		})
	}
}

func TestW11DeliveryWithoutAutomations(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		if d := w.deliver("", `"only text"`); d.Status != lineshaft.DeliveryAccepted || len(d.Outcomes) != 0 || d.NotMatched != 0 {
			w.Errorf("%+v", d)
		}
	})
}

// Bodies that are not JSON are logged without payload and identity; handshakes with
// both. Neither starts anything.
func TestW11InvalidJSONAndHandshake(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("all", "")
		h := w.ready()
		bad := trigger.Received{Hook: h, Body: []byte("{"), InvalidJSON: true}
		for range 2 {
			receipt := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), bad))
			if d := receipt.Delivery; d.Status != lineshaft.DeliveryRejectedJSON || d.Size != 1 || d.Identity != "" || len(d.Outcomes) != 0 {
				w.Errorf("%+v", d)
			}
			_, err := w.store.GetPayload(w.Context(), receipt.DeliveryID)
			wantCode(w, err, lineshaft.CodeNotFound)
		}
		ping := received(h, "ping-1", `{"zen":"x"}`)
		ping.Handshake = true
		first := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), ping))
		if o := first.Delivery.Outcomes; first.Delivery.Status != lineshaft.DeliveryAccepted || len(o) != 1 || o[0] != (lineshaft.DeliveryOutcome{Result: lineshaft.ResultHandshake}) {
			w.Errorf("%+v", first)
		}
		again := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), ping))
		if again.DeliveryID != first.DeliveryID || again.Delivery.Status != lineshaft.DeliveryDuplicate {
			w.Errorf("%+v", again)
		}
		if len(w.runs()) != 0 || len(w.log()) != 4 {
			w.Errorf("%d runs, %d rows", len(w.runs()), len(w.log()))
		}
	})
}

func TestX10ConcurrencyOfDeliveries(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		policies := []lineshaft.ConcurrencyPolicy{lineshaft.PolicyQueue, lineshaft.PolicySkip, lineshaft.PolicyCancelPrevious, lineshaft.PolicyFollowup}
		for _, policy := range policies {
			w.automation(string(policy), "", concurrency(string(policy)+"-{{ payload.issue.number }}", policy))
		}
		first := w.outcomes("1", opened)
		other := w.outcomes("other", `{"issue":{"number":"8"}}`)
		for _, policy := range policies {
			name := string(policy)
			if first[name].Result != lineshaft.ResultStarted || other[name].Result != lineshaft.ResultStarted || w.run(first[name].RunID).Config.Concurrency.Key != name+"-7" {
				w.Fatalf("%+v, %+v", first[name], other[name])
			}
		}
		second := w.outcomes("2", `{"issue":{"number":7},"more":true}`)
		if o := second["queue"]; o.Result != lineshaft.ResultStarted || o.RunID == first["queue"].RunID || !strings.Contains(w.want(o.RunID, lineshaft.Queued).Status.Message, first["queue"].RunID) {
			w.Errorf("queue: %+v", o)
		}
		if o := second["skip"]; o.Result != lineshaft.ResultSkipped || !strings.Contains(o.Reason, first["skip"].RunID) || w.want(o.RunID, lineshaft.Cancelled).ID == "" {
			w.Errorf("skip: %+v", o)
		}
		if o := second["cancel_previous"]; o.Result != lineshaft.ResultStarted || o.RunID == first["cancel_previous"].RunID {
			w.Errorf("cancel_previous: %+v", o)
		}
		w.want(first["cancel_previous"].RunID, lineshaft.Cancelled)
		w.want(second["cancel_previous"].RunID, lineshaft.Queued)
		if o := second["followup"]; o.Result != lineshaft.ResultFollowedUp || o.RunID != first["followup"].RunID || o.Reason != "" {
			w.Errorf("followup: %+v", o)
		}
		for _, outcomes := range []map[string]lineshaft.DeliveryOutcome{first, second, other} {
			for _, o := range outcomes {
				w.sound(o.RunID)
			}
		}
	})
}

// The rule holds also between deliveries of one transaction.
func TestX10ConcurrencyInsideABatch(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("it", "", concurrency("k", lineshaft.PolicyFollowup))
		h := w.ready()
		receipts, errs := w.s.AcceptTogether(w.Context(), received(h, "1", `{"n":1}`), received(h, "2", `{"n":2}`), received(h, "3", `{"n":3}`))
		wantCode(w, errors.Join(errs...), "")
		run := receipts[0].Delivery.Outcomes[0]
		for i, want := range []lineshaft.OutcomeResult{lineshaft.ResultStarted, lineshaft.ResultFollowedUp, lineshaft.ResultFollowedUp} {
			if o := receipts[i].Delivery.Outcomes[0]; o.Result != want || o.RunID != run.RunID {
				w.Errorf("%d: %+v", i, o)
			}
		}
		if len(w.runs()) != 1 {
			w.Errorf("%d runs", len(w.runs()))
		}
	})
}
