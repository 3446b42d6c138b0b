package factories

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	controltrigger "github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func automationFormPage(form *automationForm, stored lineshaft.Automation) page.Page {
	p := page.Page{Title: "New automation", Section: "automations", Crumbs: automationCrumbs(form.Factory), Data: form}
	if form.UID != "" {
		p.Title, p.Crumbs = "Edit automation", p.Crumbs.To(stored.Name, page.AutomationAddress(form.Factory.UID, form.UID))
	}
	return p
}

func (s pages) newAutomationPage(r *page.Request, f *lineshaft.Factory) (p page.Page, err error) {
	form, err := s.newAutomationForm(r, f)
	if err != nil {
		return p, err
	}
	form.show(lineshaft.Automation{Enabled: true})
	t := lineshaft.Trigger{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived}
	if hook := r.URL.Query().Get("webhook"); hook != "" { // from the page of a webhook
		t.Filter.Webhooks = []string{hookName(form.Hooks, hook)}
	} else if len(form.Hooks) == 1 {
		t.Filter.Webhooks = []string{form.Hooks[0].Name}
	}
	form.Triggers = []triggerForm{form.trigger(0, t, "")}
	return automationFormPage(form, form.Automation), nil
}

// hookName is the name of the webhook that a link names, by its uid or by its name.
func hookName(hooks []lineshaft.Webhook, ref string) string {
	for _, h := range hooks {
		if h.UID == ref {
			return h.Name
		}
	}
	return ref
}

func (s pages) editAutomationPage(r *page.Request, of automationOf) (p page.Page, err error) {
	form, err := s.newAutomationForm(r, of.Factory)
	if err != nil {
		return p, err
	}
	form.show(*of.Automation)
	return automationFormPage(form, *of.Automation), nil
}

// typedForm is the form as it was sent, with the automation that it began with.
func (s pages) typedForm(r *page.Request, uid string) (*automationForm, lineshaft.Automation, error) {
	var stored lineshaft.Automation
	f, err := s.factoryOf(r)
	if err != nil {
		return nil, stored, err
	}
	if uid != "" {
		a, err := s.Control.GetAutomation(r.Context(), r.Caller, f.UID, uid)
		if err != nil {
			return nil, stored, err
		}
		stored = *a
	}
	form, err := s.newAutomationForm(r, f)
	if err == nil {
		form.read(r, stored)
	}
	return form, stored, err
}

// saveAutomation makes a new automation, or changes one.
func (s pages) saveAutomation(r *page.Request) error {
	form, stored, err := s.typedForm(r, r.PathValue("uid"))
	if err != nil {
		return err
	}
	saved, notice := &stored, "The automation is changed."
	asked, err := form.asked()
	switch {
	case err != nil:
	case form.UID == "":
		notice = "The automation is created."
		saved, err = s.Control.CreateAutomation(r.Context(), r.Caller, form.Factory.UID, asked)
	default:
		_, err = s.Control.UpdateAutomation(r.Context(), r.Caller, form.Factory.UID, form.UID, wholeChange(asked))
	}
	if err != nil {
		form.Tools.blame(err)
		return r.Again("automationedit", automationFormPage(form, stored), err)
	}
	return r.Done(page.AutomationAddress(form.Factory.UID, saved.UID), notice)
}

// draftAutomation answers questions about a form that is not saved: with a part of the
// page for htmx, with the whole page for browsers without scripts. The question is in
// "do": add:PROVIDER, remove:N, moretool, lesstool:N, check:N, fields:N, use:N:PATH, try or backtest.
func (s pages) draftAutomation(r *page.Request) error {
	form, stored, err := s.typedForm(r, r.PostFormValue("uid"))
	if err != nil {
		return err
	}
	do, what, _ := strings.Cut(r.PostFormValue("do"), ":")
	number, path, _ := strings.Cut(what, ":")
	at, _ := strconv.Atoi(number)
	if slices.Contains([]string{"check", "fields", "use"}, do) && (at < 0 || at >= len(form.Triggers)) {
		return lineshaft.Invalid("do", "there is no trigger %d", at)
	}
	part, data := "triggers", any(form)
	switch do {
	case "moretool", "lesstool":
		form.Tools.change(r.PostFormValue("do"))
		part, data = "tools", form.Tools
	case "add":
		form.addTrigger(what)
	case "remove":
		if at >= 0 && at < len(form.Triggers) {
			form.Triggers = slices.Delete(form.Triggers, at, at+1)
		}
		for i := range form.Triggers {
			form.Triggers[i].Index, form.Triggers[i].Check.Index = i, i
		}
	case "check":
		form.Triggers[at].Check.Told = true
		part, data = "check", form.Triggers[at].Check
	case "fields":
		s.offerFields(r, form, &form.Triggers[at])
		part, data = "fields", form.Triggers[at]
	case "use":
		s.useField(r, form, &form.Triggers[at], path)
	case "try":
		sound, mistakes := form.soundTriggers()
		if form.Trial = s.try(r, form.Factory.UID, sound, form.Hooks, form.Subject); mistakes > 0 {
			form.Trial.Problem = "A trigger has a mistake and is left out. Fix it to try it."
		}
		part, data = "trial", form.Trial
	default:
		s.backtestForm(r, form)
		part = "backtest"
	}
	if r.Asked() {
		return r.Fragment("automationedit", part, data)
	}
	return r.Render("automationedit", automationFormPage(form, stored))
}

// backtestForm counts what the form would make of the stored deliveries.
func (s pages) backtestForm(r *page.Request, form *automationForm) {
	sound, mistakes := form.soundTriggers()
	if mistakes > 0 {
		form.BacktestProblem = "A trigger has a mistake. Fix it to count."
		return
	}
	found, err := s.Control.BacktestAutomation(r.Context(), r.Caller, form.Factory.UID, form.UID, lineshaft.Automation{
		Name: form.Automation.Name, Enabled: form.Enabled, Agent: form.Agent, Triggers: sound,
	})
	if err != nil {
		form.BacktestProblem = s.problemText(r.Context(), err)
		return
	}
	form.Backtest = &found
}

// How many stored deliveries a trial offers, of each webhook and together.
const (
	pastOfEach = 10
	pastMost   = 25
)

// pastDelivery is a stored delivery that an automation can be tried on.
type pastDelivery struct {
	ID, Webhook, Event string
	Size               int64
	// When is the time of receipt in people's words.
	When string
}

// listening are the webhooks whose deliveries may concern triggers.
func listening(triggers []lineshaft.Trigger, hooks []lineshaft.Webhook) []lineshaft.Webhook {
	var heard []lineshaft.Webhook
	for _, h := range hooks {
		if slices.ContainsFunc(triggers, func(t lineshaft.Trigger) bool {
			named := slices.Contains(t.Filter.WebhookIDs, h.UID) || slices.Contains(t.Filter.Webhooks, h.Name)
			return named || t.Sent() && h.SignatureScheme == t.Provider
		}) {
			heard = append(heard, h)
		}
	}
	return heard
}

// pastDeliveries are the newest stored deliveries with a payload, newest first.
func (s pages) pastDeliveries(r *page.Request, factoryUID string, hooks []lineshaft.Webhook) ([]pastDelivery, error) {
	var list []pastDelivery
	for _, h := range hooks {
		found, err := s.Control.ListDeliveries(r.Context(), r.Caller, factoryUID, h.UID, controltrigger.DeliveryQuery{Limit: pastOfEach})
		if err != nil {
			return nil, err
		}
		for _, d := range found.Items {
			if d.Status == lineshaft.DeliveryAccepted {
				list = append(list, pastDelivery{ID: d.ID, Webhook: h.Name, Event: d.Event, Size: d.Size, When: fmt.Sprintf("%s (%s)", page.AgoText(d.ReceivedAt, time.Now()), d.ReceivedAt.UTC().Format("15:04:05 UTC"))})
			}
		}
	}
	slices.SortFunc(list, func(a, b pastDelivery) int { return strings.Compare(b.ID, a.ID) })
	return list[:min(len(list), pastMost)], nil
}

// trialSubject is what triggers are tried on: a stored delivery, or a body.
type trialSubject struct{ Delivery, Body, Event string }

// trial is what triggers make of one delivery.
type trial struct {
	Subject trialSubject
	// Would says that one trigger at least fires, Judged that one at least could be tried.
	Would    bool
	Judged   bool
	Verdicts []verdict
	// Problem is why it could not be tried.
	Problem string
}

type verdict struct {
	Number int
	Head   string
	Would  bool
	Checks []shownCheck
	// Problem is why this trigger could not be tried.
	Problem string
}

// shownCheck is a check as a page shows it.
type shownCheck struct {
	Path, Operator, Wanted, Seen string
	Missing, Passed              bool
}

// try asks control what each trigger makes of a delivery.
func (s pages) try(r *page.Request, factoryUID string, triggers []lineshaft.Trigger, hooks []lineshaft.Webhook, subject trialSubject) *trial {
	if strings.TrimSpace(subject.Body) != "" {
		subject.Delivery = "" // what was pasted is newer than what was chosen
	}
	t := &trial{Subject: subject}
	if subject.Delivery == "" && strings.TrimSpace(subject.Body) == "" {
		t.Problem = "Choose a stored delivery, or paste a body."
		return t
	}
	for i, trigger := range triggers {
		v := verdict{Number: i + 1, Head: triggerHead(trigger, hooks)}
		if !trigger.Delivered() {
			v.Problem = "No delivery fires this trigger."
			t.Verdicts = append(t.Verdicts, v)
			continue
		}
		test := factories.FilterTest{Provider: trigger.Provider, Event: trigger.Event, Filter: trigger.Filter, DeliveryID: subject.Delivery, PayloadEvent: subject.Event}
		if subject.Delivery == "" {
			test.Payload = json.RawMessage(subject.Body)
		}
		found, err := s.Control.TestFilter(r.Context(), r.Caller, factoryUID, test)
		if err != nil {
			v.Problem = s.problemText(r.Context(), err)
		}
		v.Would = err == nil && found.WouldTrigger
		t.Would, t.Judged = t.Would || v.Would, t.Judged || err == nil
		for _, check := range found.Checks {
			v.Checks = append(v.Checks, showCheck(check))
		}
		t.Verdicts = append(t.Verdicts, v)
	}
	return t
}

// problemText is what a reader may know of an error.
func (s pages) problemText(ctx context.Context, err error) string {
	if told, ok := errors.AsType[*lineshaft.Error](err); ok && told.Code != lineshaft.CodeInternal {
		return told.Message
	}
	if ctx.Err() == nil { // a reader that went away is nobody's error
		s.Logger.ErrorContext(ctx, "try automation", "err", err)
	}
	return "Something went wrong here. The log has the details."
}

func showCheck(check factories.Check) shownCheck {
	operators := map[string]string{"in": "is one of", "not_in": "is none of", "exists": "exists", "object": "is an object like"}
	return shownCheck{
		Path: strings.TrimPrefix(check.Path, "payload."), Operator: cmp.Or(operators[check.Operator], check.Operator), Wanted: string(check.Expected),
		Seen: string(check.Seen), Missing: check.Seen == nil, Passed: check.Passed,
	}
}
