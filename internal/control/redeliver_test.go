package control_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

func (w *works) again(deliveryID string, dryRun bool) trigger.Redelivery {
	return trigger.Redelivery{FactoryUID: w.factory, WebhookUID: w.hook.UID, DeliveryID: deliveryID, DryRun: dryRun}
}

func (w *works) redeliver(deliveryID string, dryRun bool) trigger.Redelivered {
	w.Helper()
	return must[trigger.Redelivered](w.bench)(w.s.Redeliver(w.Context(), w.admin, w.again(deliveryID, dryRun), nil))
}

func TestW15RedeliverWithTheAutomationsOfToday(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(1), ReplayGuard: true}, func(w *works) {
		w.automation("old", `{"action":["opened"]}`)
		first := w.deliver("1", opened)
		w.automation("new", `{"action":["opened"]}`)
		w.automation("other", `{"action":["closed"]}`)
		w.update(factories.WebhookChange{Enabled: new(false)})
		result := w.redeliver(first.ID, false) // over its rate, known, disabled: it was asked for
		outcomes := byName(result.Outcomes)
		if len(outcomes) != 2 || outcomes["old"].Result != lineshaft.ResultStarted || outcomes["new"].Result != lineshaft.ResultStarted || result.DeliveryID == first.ID {
			w.Fatalf("%+v", result)
		}
		detail := must[trigger.DeliveryDetail](w.bench)(w.s.GetDelivery(w.Context(), w.admin, w.factory, w.hook.UID, result.DeliveryID, false))
		if detail.RedeliveryOf != first.ID || detail.Identity != result.DeliveryID || detail.IdentitySource != "redelivery" || detail.Status != lineshaft.DeliveryAccepted ||
			detail.NotMatched != 1 || string(detail.Payload) != opened || detail.Size != int64(len(opened)) || fmt.Sprint(detail.Outcomes) != fmt.Sprint(result.Outcomes) {
			w.Errorf("%+v", detail)
		}
		if run := w.run(outcomes["new"].RunID); run.Metadata["delivery_id"] != result.DeliveryID {
			w.Errorf("%+v", run.Metadata)
		}
		entries := w.audits(result.DeliveryID)
		if len(entries) != 1 || entries[0].Action != "delivery.redeliver" || entries[0].Detail["redelivery_of"] != first.ID || entries[0].Actor.UID != w.admin.Principal.UID {
			w.Errorf("%+v", entries)
		}
		// It can be done again, also with the result, and the old row stays as it was.
		second := w.redeliver(result.DeliveryID, false)
		if log := w.log(); len(log) != 3 || log[2].ID != second.DeliveryID || log[2].RedeliveryOf != result.DeliveryID || fmt.Sprint(log[0]) != fmt.Sprint(first) {
			w.Errorf("%+v", log)
		}
	})
}

// runStates is the state of every run and when it last changed.
func (w *works) runStates() string {
	var text strings.Builder
	for _, run := range w.runs() {
		fmt.Fprintln(&text, run.ID, run.State, run.UpdatedAt, run.LastSequence)
	}
	return text.String()
}

func TestW15DryRun(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("a follow", "", concurrency("k", lineshaft.PolicyFollowup))
		w.automation("b cancel", "", concurrency("c", lineshaft.PolicyCancelPrevious))
		first := w.deliver("1", opened)
		w.automation("c new", "")
		w.automation("d filtered", `{"issue":{"number":[7],"state":["open"]},"action":["closed"]}`)
		w.automation("e disabled", "", func(n *lineshaft.Automation) { n.Enabled = false })
		w.automation("f braked", "", func(n *lineshaft.Automation) { n.MaxRunsPerHour = 1 })
		runs, log := w.runStates(), fmt.Sprint(w.log())
		for range 2 { // the second finds the brake untouched
			result := w.redeliver(first.ID, true)
			live := first.Outcomes[0].RunID
			want := []lineshaft.DeliveryOutcome{
				{AutomationName: "a follow", Result: lineshaft.ResultFollowedUp, RunID: live},
				{AutomationName: "b cancel", Result: lineshaft.ResultStarted},
				{AutomationName: "c new", Result: lineshaft.ResultStarted},
				{AutomationName: "d filtered", Result: lineshaft.ResultFiltered, Reason: `payload.issue.state must be one of ["open"]; it is missing`},
				{AutomationName: "e disabled", Result: lineshaft.ResultDisabled, Reason: "the automation is disabled"},
				{AutomationName: "f braked", Result: lineshaft.ResultStarted},
			}
			for i := range result.Outcomes {
				result.Outcomes[i].AutomationID = ""
			}
			if result.DeliveryID != first.ID || fmt.Sprint(result.Outcomes) != fmt.Sprint(want) {
				w.Errorf("got  %+v\nwant %+v", result, want)
			}
		}
		if w.runStates() != runs || fmt.Sprint(w.log()) != log || len(w.audits(first.ID)) != 0 {
			w.Error("a dry run left something behind")
		}
	})
}

func TestW15WhatCannotBeRedelivered(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		first := w.deliver("1", opened)
		duplicate := w.deliver("1", opened)
		_, err := w.s.Redeliver(w.Context(), w.admin, w.again(duplicate.ID, false), nil)
		wantConflict(w, err, first.ID)
		wantCode(w, w.fail(w.ready(), "192.0.2.1"), "")
		bad := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), trigger.Received{Hook: w.ready(), Body: []byte("{"), InvalidJSON: true}))
		for _, d := range []lineshaft.Delivery{w.log()[2], bad.Delivery} {
			_, err = w.s.Redeliver(w.Context(), w.admin, w.again(d.ID, false), nil)
			wantConflict(w, err, string(d.Status))
		}
		_, err = w.s.Redeliver(w.Context(), w.admin, w.again("nothing", false), nil)
		wantCode(w, err, lineshaft.CodeNotFound)
		other := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "other"}))
		foreign := w.again(first.ID, false)
		foreign.WebhookUID = other.UID
		_, err = w.s.Redeliver(w.Context(), w.admin, foreign, nil)
		wantCode(w, err, lineshaft.CodeNotFound)
		_, err = w.s.Redeliver(w.Context(), w.caller(lineshaft.RoleManager, "elsewhere"), w.again(first.ID, false), nil)
		wantCode(w, err, lineshaft.CodeNotFound)
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID), "")
		for _, dryRun := range []bool{false, true} {
			_, err = w.s.Redeliver(w.Context(), w.admin, w.again(first.ID, dryRun), nil)
			wantConflict(w, err, "deleted")
		}
		if n := len(w.log()); n != 4 {
			w.Errorf("%d rows", n)
		}
	})
}

func TestH9RedeliverOnce(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("it", "")
		first := w.deliver("1", opened)
		results, errs := make([]trigger.Redelivered, 8), make([]error, 8)
		together(len(errs), func(i int) {
			results[i], errs[i] = w.s.Redeliver(w.Context(), w.admin, w.again(first.ID, false), idem("/redeliver", "1"))
		})
		wantCode(w, errors.Join(errs...), "")
		for _, r := range results {
			if r.DeliveryID != results[0].DeliveryID || len(r.Outcomes) != 1 || r.Outcomes[0].RunID != results[0].Outcomes[0].RunID {
				w.Errorf("%+v", r)
			}
		}
		if len(w.log()) != 2 || len(w.runs()) != 2 {
			w.Errorf("%d rows, %d runs", len(w.log()), len(w.runs()))
		}
	})
}

// While the factory is changed all the time, a redelivery goes by what holds when it
// is stored.
func TestW15RedeliverWhileTheFactoryChanges(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		it := w.automation("it", "")
		first := w.deliver("1", opened)
		together(2, func(i int) {
			for n := range 10 {
				if i == 0 {
					on := n%2 == 0
					if _, err := w.s.UpdateAutomation(w.Context(), w.admin, w.factory, it.UID, factories.AutomationChange{Enabled: &on}); err != nil {
						w.Error(err)
					}
					continue
				}
				result, err := w.s.Redeliver(w.Context(), w.admin, w.again(first.ID, false), nil)
				if err != nil && lineshaft.CodeOf(err) != lineshaft.CodeUnavailable || err == nil && len(result.Outcomes) != 1 {
					w.Errorf("%+v, %v", result, err)
				}
			}
		})
	})
}
