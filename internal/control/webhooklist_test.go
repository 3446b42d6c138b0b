package control_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

func TestW5ListenersAreWhatFallsSilent(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "github"}, func(w *works) {
		other := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "other"}))
		listen := func(name string, t lineshaft.Trigger) {
			must[*lineshaft.Automation](w.bench)(w.s.CreateAutomation(w.Context(), w.admin, w.factory, lineshaft.Automation{
				Name: name, Prompt: "p", Triggers: []lineshaft.Trigger{t},
			}))
		}
		received := func(f lineshaft.TriggerFilter) lineshaft.Trigger {
			return lineshaft.Trigger{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived, Filter: f}
		}
		listen("z by uid", received(lineshaft.TriggerFilter{WebhookIDs: []string{w.hook.UID}}))
		listen("B by name", received(lineshaft.TriggerFilter{Webhooks: []string{w.hook.Name}}))
		listen("a forge", lineshaft.Trigger{Provider: lineshaft.ProviderGitHub, Event: "issue_opened"})
		listen("elsewhere", received(lineshaft.TriggerFilter{WebhookIDs: []string{other.UID}}))
		names := func(uid string) (list []string) {
			for _, a := range must[[]lineshaft.Automation](w.bench)(w.s.Listeners(w.Context(), w.admin, w.factory, uid)) {
				list = append(list, a.Name)
			}
			return list
		}
		if got := names(w.hook.UID); !slices.Equal(got, []string{"B by name", "a forge", "z by uid"}) {
			w.Errorf("listeners %q", got)
		}
		if got := names(other.UID); !slices.Equal(got, []string{"elsewhere"}) {
			w.Errorf("listeners of the other %q", got)
		}
		limited := w.admin
		limited.FactoryUIDs = []string{"another"}
		_, err := w.s.Listeners(w.Context(), limited, w.factory, w.hook.UID)
		wantCode(w, err, lineshaft.CodeNotFound)
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, other.UID), "")
		_, err = w.s.Listeners(w.Context(), w.admin, w.factory, other.UID)
		wantCode(w, err, lineshaft.CodeNotFound)
	})
}

func TestW11LastDeliveryOfEachWebhook(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		other := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "other"}))
		quiet := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "quiet"}))
		here := []lineshaft.Factory{{UID: w.factory}, {UID: "another"}}
		first, second := w.fill(w.hook.UID, 5, w.clock.now()), w.fill(other.UID, 3, w.clock.now())
		last := must[map[string]lineshaft.Delivery](w.bench)(w.s.LastDeliveries(w.Context(), w.admin, here))
		if last[w.hook.UID].ID != first[0] || last[other.UID].ID != second[0] || last[quiet.UID].ID != "" {
			w.Errorf("last %+v", last)
		}
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, other.UID), "")
		if last := must[map[string]lineshaft.Delivery](w.bench)(w.s.LastDeliveries(w.Context(), w.admin, here)); last[other.UID].ID != "" {
			w.Error("a deleted webhook is listed")
		}
		limited := w.admin
		limited.FactoryUIDs = []string{"another"}
		if last := must[map[string]lineshaft.Delivery](w.bench)(w.s.LastDeliveries(w.Context(), limited, here)); len(last) > 0 {
			w.Errorf("a key of another factory sees %+v", last)
		}
	})
}

func TestW11WebhooksOfSeveralFactories(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{Name: "m"}, func(w *works) {
		for _, name := range []string{"z", "a"} {
			must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: name}))
		}
		gone := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "gone"}))
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, gone.UID), "")
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"}))
		must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, other.UID, factories.NewWebhook{Name: "b"}))
		both := []lineshaft.Factory{{UID: w.factory}, *other}
		names := func(c lineshaft.Caller) string {
			found := must[map[string][]lineshaft.Webhook](w.bench)(w.s.WebhooksOf(w.Context(), c, both))
			var list []string
			for _, f := range both {
				for _, hook := range found[f.UID] {
					list = append(list, hook.Name)
				}
			}
			return strings.Join(list, " ")
		}
		if got := names(w.admin); got != "a m z b" {
			w.Errorf("webhooks %s", got)
		}
		limited := w.admin
		limited.FactoryUIDs = []string{other.UID}
		if got := names(limited); got != "b" {
			w.Errorf("a key of one factory sees %s", got)
		}
		if found := must[map[string][]lineshaft.Webhook](w.bench)(w.s.WebhooksOf(w.Context(), w.admin, nil)); len(found) > 0 {
			w.Errorf("of no factory: %+v", found)
		}
	})
}
