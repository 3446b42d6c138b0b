package control_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
)

func TestW5ListenersAreWhatFallsSilent(t *testing.T) {
	t.Parallel()
	eachWorks(t, control.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "github"}, func(w *works) {
		other := must[control.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, control.NewWebhook{Name: "other"}))
		listen := func(name string, t lineshaft.Trigger) {
			must[*lineshaft.Automation](w.bench)(w.s.CreateAutomation(w.Context(), w.admin, w.factory, control.NewAutomation{
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
	eachWorks(t, control.NewWebhook{}, func(w *works) {
		other := must[control.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, control.NewWebhook{Name: "other"}))
		quiet := must[control.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, control.NewWebhook{Name: "quiet"}))
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

// Whoever chooses among the kinds finds every mode and scheme, once.
func TestW4EveryKindIsOffered(t *testing.T) {
	t.Parallel()
	kinds := control.WebhookKinds()
	seen := map[string]bool{}
	for _, k := range kinds {
		if seen[k.Name] || k.Title == "" || k.SecretFirst && (!k.Issued || k.Handshake == "") {
			t.Errorf("kind %+v", k)
		}
		seen[k.Name] = true
		if got := control.KindOf(lineshaft.Webhook{AuthMode: k.AuthMode, SignatureScheme: k.Scheme}); got != k {
			t.Errorf("the kind of %s is %+v", k.Name, got)
		}
	}
	for _, name := range append(control.SignatureSchemes(), "token", "url_token") {
		if !seen[name] {
			t.Errorf("%s is not offered", name)
		}
	}
	for _, first := range []string{"discord", "dropbox", "slack", "zoom"} {
		if !slices.ContainsFunc(kinds, func(k control.WebhookKind) bool { return k.Name == first && k.SecretFirst }) {
			t.Errorf("%s wants its answer at once", first)
		}
	}
	if got := control.KindOf(lineshaft.Webhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "gone"}); got.Title != "gone" {
		t.Errorf("an unknown scheme is %+v", got)
	}
}

func TestW3TrialOfTokens(t *testing.T) {
	t.Parallel()
	const url, secret = "http://127.0.0.1:1/webhooks/w/x", "it's-$secret"
	script := func(trial control.WebhookTrial) string {
		t.Helper()
		trial.URL, trial.Secret = url, secret
		text, err := trial.Script()
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(text, "$secret'"); told != trial.Told {
			t.Errorf("secret told %v, want %v:\n%s", told, trial.Told, text)
		}
		return text
	}
	for _, mode := range lineshaft.AuthModes() {
		for _, told := range []bool{true, false} {
			text := script(control.WebhookTrial{Webhook: lineshaft.Webhook{AuthMode: mode, SignatureScheme: "github"}, Told: told})
			// A shell reads it; curl is replaced by one that shows its arguments.
			out, err := exec.CommandContext(t.Context(), "bash", "-euc", `curl() { printf '%s\n' "$@"; }; `+text).CombinedOutput() //nolint:gosec // the script is what is tested
			if err != nil || !strings.Contains(string(out), url) {
				t.Errorf("%s: %v\n%s", mode, err, out)
			}
			if mode == lineshaft.AuthToken && told && !strings.Contains(string(out), "Authorization: Bearer "+secret+"\n") {
				t.Errorf("header:\n%s", out)
			}
		}
	}
	if text, err := (control.WebhookTrial{Webhook: lineshaft.Webhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "discord"}}).Script(); err != nil || text != "" {
		t.Errorf("discord: %q, %v", text, err)
	}
	if _, err := (control.WebhookTrial{Webhook: lineshaft.Webhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "gone"}}).Script(); err == nil {
		t.Error("an unknown scheme has a script")
	}
}

func TestW11WebhooksOfSeveralFactories(t *testing.T) {
	t.Parallel()
	eachWorks(t, control.NewWebhook{Name: "m"}, func(w *works) {
		for _, name := range []string{"z", "a"} {
			must[control.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, control.NewWebhook{Name: name}))
		}
		gone := must[control.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, control.NewWebhook{Name: "gone"}))
		wantCode(w, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, gone.UID), "")
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, control.NewFactory{Name: "other"}))
		must[control.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, other.UID, control.NewWebhook{Name: "b"}))
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
