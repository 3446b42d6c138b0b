package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

func automationFormPage(form automationForm, stored lineshaft.Automation) page {
	p := page{Title: "New automation", Section: "automations", Crumbs: automationCrumbs(form.Factory), Data: &form}
	if form.UID != "" {
		p.Title, p.Crumbs = "Edit automation", append(p.Crumbs, crumb{stored.Name, automationAddress(form.Factory.UID, form.UID)})
	}
	return p
}

// newestDelivery is the delivery to begin a trial with.
func newestDelivery(past []pastDelivery) string {
	if len(past) == 0 {
		return ""
	}
	return past[0].ID
}

func (s *server) newAutomationPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	form, err := s.newAutomationForm(r, c, f)
	if err != nil {
		return err
	}
	form.Enabled = true
	form.Subject.Delivery = newestDelivery(form.Past)
	t := lineshaft.Trigger{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived}
	if hook := r.URL.Query().Get("webhook"); hook != "" { // from the page of a webhook
		t.Filter.Webhooks = []string{hookName(form.Hooks, hook)}
	} else if len(form.Hooks) == 1 {
		t.Filter.Webhooks = []string{form.Hooks[0].Name}
	}
	form.Triggers = []triggerForm{form.trigger(0, t, "")}
	return s.render(w, r, c, "automationedit", automationFormPage(form, form.Automation))
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

func (s *server) editAutomationPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, a, err := s.automationOf(r, c)
	if err != nil {
		return err
	}
	form, err := s.newAutomationForm(r, c, f)
	if err != nil {
		return err
	}
	form.show(*a)
	form.Subject.Delivery = newestDelivery(form.Past)
	return s.render(w, r, c, "automationedit", automationFormPage(form, *a))
}

// typedForm is the form as it was sent, with the automation that it began with.
func (s *server) typedForm(r *http.Request, c lineshaft.Caller, uid string) (automationForm, lineshaft.Automation, error) {
	var stored lineshaft.Automation
	f, err := s.factoryOf(r, c)
	if err != nil {
		return automationForm{}, stored, err
	}
	if uid != "" {
		a, err := s.Control.GetAutomation(r.Context(), c, f.UID, uid)
		if err != nil {
			return automationForm{}, stored, err
		}
		stored = *a
	}
	form, err := s.newAutomationForm(r, c, f)
	if err != nil {
		return form, stored, err
	}
	form.read(r, stored)
	return form, stored, nil
}

func (s *server) createAutomation(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form, stored, err := s.typedForm(r, c, "")
	if err != nil {
		return err
	}
	asked, err := form.asked()
	var made *lineshaft.Automation
	if err == nil {
		made, err = s.Control.CreateAutomation(r.Context(), c, form.Factory.UID, asked)
	}
	if err != nil {
		return s.renderAgain(w, r, c, "automationedit", automationFormPage(form, stored), err)
	}
	return s.done(w, r, automationAddress(made.FactoryUID, made.UID), "The automation is created.")
}

func (s *server) saveAutomation(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form, stored, err := s.typedForm(r, c, r.PathValue("uid"))
	if err != nil {
		return err
	}
	asked, err := form.asked()
	if err == nil {
		_, err = s.Control.UpdateAutomation(r.Context(), c, form.Factory.UID, form.UID, wholeChange(asked))
	}
	if err != nil {
		return s.renderAgain(w, r, c, "automationedit", automationFormPage(form, stored), err)
	}
	return s.done(w, r, automationAddress(form.Factory.UID, form.UID), "The automation is changed.")
}

// draftAutomation answers questions about a form that is not saved: with a part of the
// page for htmx, with the whole page for browsers without scripts. What is asked is in
// "do": add:PROVIDER, remove:N, check:N, try or backtest.
func (s *server) draftAutomation(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form, stored, err := s.typedForm(r, c, r.PostFormValue("uid"))
	if err != nil {
		return err
	}
	do, what, _ := strings.Cut(r.PostFormValue("do"), ":")
	at, _ := strconv.Atoi(what)
	part, data := "triggers", any(&form)
	switch do {
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
		if at < 0 || at >= len(form.Triggers) {
			return lineshaft.Invalid("do", "there is no trigger %d", at)
		}
		form.Triggers[at].Check.Told = true
		part, data = "check", form.Triggers[at].Check
	case "try":
		sound, mistakes := form.soundTriggers()
		if form.Trial = s.try(r.Context(), c, form.Factory.UID, sound, form.Subject); mistakes > 0 {
			form.Trial.Problem = "A trigger has a mistake and is left out. Mend it to try it."
		}
		part, data = "trial", form.Trial
	default:
		s.backtestForm(r, c, &form)
		part = "backtest"
	}
	if r.Header.Get("Hx-Request") == "true" {
		return s.fragment(w, r, "automationedit", part, data)
	}
	return s.render(w, r, c, "automationedit", automationFormPage(form, stored))
}

// backtestForm counts what the form would make of the stored deliveries.
func (s *server) backtestForm(r *http.Request, c lineshaft.Caller, form *automationForm) {
	sound, mistakes := form.soundTriggers()
	if mistakes > 0 {
		form.BacktestProblem = "A trigger has a mistake. Mend it to count."
		return
	}
	found, err := s.Control.BacktestAutomation(r.Context(), c, form.Factory.UID, form.UID, lineshaft.Automation{
		Name: form.Automation.Name, Enabled: form.Enabled, Agent: form.Agent, Triggers: sound,
	})
	if err != nil {
		form.BacktestProblem = s.problemText(r.Context(), err)
		return
	}
	form.Backtest = &found
}
