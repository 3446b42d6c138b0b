package control_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// Names are names of files in a definition: two that differ only in case could not be
// exported together.
func TestF5NamesThatDifferOnlyInCaseAreRefused(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{Name: "issues"}, func(w *works) {
		a := w.automation("triage", "")
		other := w.automation("other", "")
		agent := w.agent(w.factory, "hand", func(*lineshaft.Agent) {})
		second := w.agent(w.factory, "second", func(*lineshaft.Agent) {})
		_, hook := w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "Issues"})
		_, created := w.s.CreateAutomation(w.Context(), w.admin, w.factory, lineshaft.Automation{Name: "Triage", Prompt: "p", Triggers: a.Triggers})
		_, renamed := w.s.UpdateAutomation(w.Context(), w.admin, w.factory, other.UID, factories.AutomationChange{Name: ref("TRIAGE")})
		_, hired := w.s.CreateAgent(w.Context(), w.admin, lineshaft.Agent{FactoryUID: w.factory, Name: "Hand"})
		_, moved := w.s.UpdateAgent(w.Context(), w.admin, second.UID, factories.AgentChange{Name: ref("HAND")})
		for what, err := range map[string]error{"webhook": hook, "automation": created, "renamed automation": renamed, "agent": hired, "renamed agent": moved} {
			if lineshaft.CodeOf(err) != lineshaft.CodeConflict {
				w.Errorf("%s: %v", what, err)
			}
		}
		_, err := w.s.UpdateAgent(w.Context(), w.admin, agent.UID, factories.AgentChange{Name: ref("Hand")}) // its own
		wantCode(w, err, "")
		_, err = w.s.UpdateAutomation(w.Context(), w.admin, w.factory, a.UID, factories.AutomationChange{Name: ref("Triage")})
		wantCode(w, err, "")
	})
}

// Folding is Unicode's full one, whatever keeps the names: a sigma at the end of a word is one.
func TestF2NamesAreFoldedFully(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{Name: "σας"}, func(w *works) {
		a := w.automation("straße", "")
		must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "one", Alias: "σας"}))
		_, factory := w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "two", Alias: "ΣΑΣ"})
		_, hook := w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "ΣΑΣ"})
		same := lineshaft.Automation{Name: "STRASSE", Prompt: "p", Triggers: a.Triggers}
		_, automation := w.s.CreateAutomation(w.Context(), w.admin, w.factory, same)
		for what, err := range map[string]error{"factory": factory, "webhook": hook, "automation": automation} {
			if lineshaft.CodeOf(err) != lineshaft.CodeConflict {
				w.Errorf("%s: %v", what, err)
			}
		}
		found, err := w.s.ListFactories(w.Context(), w.admin, factories.FactoryQuery{Search: "ΣΑΣ", Limit: 10})
		if err != nil || len(found.Factories) != 1 {
			w.Errorf("search: %+v, %v", found, err)
		}
	})
}

// Chains follow an automation that gets another name, and name only what there is.
func TestF6ChainsFollowARenamedAutomation(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		a := w.automation("A", "")
		b := w.automation("B", "", after(`{"automations":{"in":["A"],"not_in":["B"]}}`))
		must[*lineshaft.Automation](w.bench)(w.s.UpdateAutomation(w.Context(), w.admin, w.factory, a.UID, factories.AutomationChange{Name: ref("first")}))
		got := must[*lineshaft.Automation](w.bench)(w.s.GetAutomation(w.Context(), w.admin, w.factory, b.UID)).Triggers[0].Filter.Set(lineshaft.KeyAutomations)
		if len(got.In) != 1 || got.In[0] != "first" || got.NotIn[0] != "B" {
			w.Errorf("B waits for %+v", got)
		}
		n := lineshaft.Automation{Name: "C", Prompt: "p"}
		after(`{"automations":["A"]}`)(&n)
		_, err := w.s.CreateAutomation(w.Context(), w.admin, w.factory, n)
		wantCode(w, err, lineshaft.CodeInvalidRequest)
		if asPublic(err).Field != "triggers[0].filter.automations" {
			w.Error(err)
		}
		_, err = w.s.UpdateAutomation(w.Context(), w.admin, w.factory, b.UID, factories.AutomationChange{Triggers: n.Triggers})
		wantCode(w, err, lineshaft.CodeInvalidRequest)
		// A part that is deleted later stays named: the automation can still be changed, and exported.
		wantCode(w, w.s.DeleteAutomation(w.Context(), w.admin, w.factory, a.UID), "")
		after(`{"automations":["first"]}`)(&n)
		_, err = w.s.UpdateAutomation(w.Context(), w.admin, w.factory, b.UID, factories.AutomationChange{Triggers: n.Triggers})
		wantCode(w, err, "")
		w.reapply()
	})
}

// An automation that names a deleted webhook by its uid stays, and so the export applies.
func TestF5ExportAppliesWithoutADeletedWebhook(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("silent", "", func(n *lineshaft.Automation) {
			n.Triggers[0].Filter.Webhooks, n.Triggers[0].Filter.WebhookIDs = nil, []string{w.hook.UID}
		})
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID), "")
		w.reapply()
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"}))
		_, err := w.s.ApplyDefinition(w.Context(), w.admin, other.UID, factories.Application{Files: w.export(w.factory).Files})
		wantCode(w, err, lineshaft.CodeInvalidRequest) // it never had that webhook
	})
}

// reapply applies what the factory exports, which changes nothing.
func (w *works) reapply() {
	w.Helper()
	applied, err := w.s.ApplyDefinition(w.Context(), w.admin, w.factory, factories.Application{Files: w.export(w.factory).Files})
	if err != nil || len(applied.Changes) > 0 {
		w.Fatalf("%+v, %s", applied, tell(err))
	}
}

// The secret that a webhook generated is changed by its name like any other, and taken
// over when the webhook is switched on, or its definition applies.
func TestS1GeneratedSecretIsChangedByItsName(t *testing.T) {
	t.Parallel()
	eachHook(t, func(b *hookBench) {
		f := b.works()
		made := b.hook(f, factories.NewWebhook{Name: "ci"})
		update := func(value string) error {
			_, err := b.s.UpdateSecret(b.Context(), b.admin, made.SecretName, secrets.SecretChange{Value: &value})
			return err
		}
		wantCode(b, update("short"), lineshaft.CodeInvalidRequest)
		wantCode(b, update(longToken), "")
		if b.inForce(made.Webhook) != made.Secret {
			b.Error("the new value came by itself")
		}
		wantCode(b, b.toggle(made.Webhook), "")
		if b.inForce(made.Webhook) != longToken {
			b.Error("the new value did not come when the webhook was enabled")
		}
		wantCode(b, update(longToken+"-2"), "")
		_, err := b.s.ApplyDefinition(b.Context(), b.admin, f, factories.Application{Files: b.export(f).Files})
		if err != nil || b.inForce(made.Webhook) != longToken+"-2" {
			b.Errorf("the new value did not come when the definition applied: %s", tell(err))
		}
		rotated := must[factories.IssuedWebhook](b.bench)(b.rotate(made.Webhook, factories.WebhookRotation{}))
		if b.inForce(made.Webhook) != rotated.Secret {
			b.Error("the webhook cannot be rotated any more")
		}
	})
}
