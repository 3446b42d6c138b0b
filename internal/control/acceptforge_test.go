package control_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

func githubHook() factories.NewWebhook {
	return factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "github", Secret: new("a secret of some length")}
}

// on gives an automation triggers of a forge: event, then the filter as JSON.
func on(provider string, pairs ...string) func(*lineshaft.Automation) {
	return func(n *lineshaft.Automation) {
		n.Triggers = nil
		for i := 0; i < len(pairs); i += 2 {
			t := lineshaft.Trigger{Provider: provider, Event: pairs[i]}
			if err := json.Unmarshal([]byte(pairs[i+1]), &t.Filter); err != nil {
				panic(err)
			}
			n.Triggers = append(n.Triggers, t)
		}
	}
}

// told has a body accepted that a forge sent with an event.
func (w *works) told(identity, event, body string) lineshaft.Delivery {
	w.Helper()
	r := received(w.ready(), identity, body)
	r.Event = event
	return must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), r)).Delivery
}

const issueOpened = `{"action":"opened","issue":{"user":{"login":"ann"},"labels":[{"name":"bug"}]},"repository":{"full_name":"acme/web"}}`

func TestF6ForgeTriggersStartRuns(t *testing.T) {
	t.Parallel()
	eachWorks(t, githubHook(), func(w *works) {
		w.automation("a opened", "", on("github", "issue_opened", `{"labels":["bug"]}`))
		w.automation("b any", "", on("github", "issue_closed", `{}`, "issue_*", `{}`))
		both := func(n *lineshaft.Automation) {
			on("github", "issue_opened", `{}`)(n)
			n.Triggers = append(n.Triggers, w.trigger(""))
		}
		w.automation("c both", "", both)
		w.automation("d all", "")
		w.automation("e other event", "", on("github", "push", `{}`))
		w.automation("f other label", "", on("github", "issue_opened", `{"labels":["docs"]}`))
		w.automation("g other forge", "", on("gitlab", "issue_opened", `{}`))
		w.automation("h named", "", on("github", "issue_opened", `{"webhooks":["issues"]}`))
		w.automation("i off", "", on("github", "issue_opened", `{}`), func(n *lineshaft.Automation) { n.Enabled = false })
		w.automation("j payload", "", on("github", "issue_opened", `{"payload":{"action":["closed"]}}`))
		d := w.told("1", "issues", issueOpened)
		if d.Event != "issues" || w.log()[0].Event != "issues" {
			w.Errorf("the event is %q, in the log %q", d.Event, w.log()[0].Event)
		}
		var got []string
		for _, o := range d.Outcomes {
			source := ""
			if o.RunID != "" {
				source = string(w.want(o.RunID, lineshaft.Queued).Source)
			}
			got = append(got, strings.TrimSpace(fmt.Sprint(o.AutomationName, " ", o.Result, " ", source)))
		}
		want := []string{
			"a opened started GITHUB_WEBHOOK", "b any started GITHUB_WEBHOOK", "c both started GITHUB_WEBHOOK", "d all started CUSTOM_WEBHOOK",
			"h named started GITHUB_WEBHOOK", "i off disabled",
		}
		if !slices.Equal(got, want) || d.NotMatched != 3 {
			w.Errorf("%q, %d do not match\nwant %q", got, d.NotMatched, want)
		}
		run := w.want(d.Outcomes[0].RunID, lineshaft.Queued)
		if len(run.Metadata) != 3 || run.Metadata[lineshaft.MetadataDelivery] != d.ID || !strings.Contains(run.Prompt, "~~~~ webhook delivery\n") {
			w.Errorf("%+v", run)
		}
		if again := w.told("1", "issues", issueOpened); again.Status != lineshaft.DeliveryDuplicate {
			w.Errorf("sent again: %+v", again)
		}
		// Without the header nobody knows what it is about.
		if d := w.told("2", "", issueOpened); fmt.Sprint(slices.Sorted(maps.Keys(byName(d.Outcomes)))) != "[c both d all]" {
			w.Errorf("without an event: %+v", d.Outcomes)
		}
	})
}

func TestF6GitLabRuns(t *testing.T) {
	t.Parallel()
	hook := githubHook()
	hook.SignatureScheme = "gitlab"
	eachWorks(t, hook, func(w *works) {
		w.automation("mr", "", on("gitlab", "merge_request", `{"base_branches":["main"]}`))
		w.automation("not github", "", on("github", "push", `{}`))
		body := `{"object_kind":"merge_request","object_attributes":{"action":"open","target_branch":"main"}}`
		d := w.told("1", "Merge Request Hook", body)
		if len(d.Outcomes) != 1 || w.want(d.Outcomes[0].RunID, lineshaft.Queued).Source != lineshaft.SourceGitLab {
			w.Errorf("%+v", d)
		}
	})
}

// A token in a header proves nothing about who sends: such a webhook has no events.
func TestF6ForgeTriggersNeedTheScheme(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("it", "", on("github", "issue_*", `{}`))
		if h := w.ready(); h.EventHeader() != "" {
			w.Errorf("events from header %q", h.EventHeader())
		}
		if d := w.told("1", "issues", issueOpened); len(d.Outcomes)+d.NotMatched != 0 {
			w.Errorf("%+v", d)
		}
	})
}

func TestF6RefusedForgeTriggers(t *testing.T) {
	t.Parallel()
	eachWorks(t, githubHook(), func(w *works) {
		other := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "plain"}))
		for name, tc := range map[string]struct{ provider, event, filter, field string }{
			"unknown event":   {"github", "issue_opend", `{}`, "triggers[1].event"},
			"no such filter":  {"github", "issue_opened", `{"paths":["a"]}`, "triggers[1].filter.paths"},
			"payload":         {"github", "issue_opened", `{"payload":{"a":1}}`, "triggers[1].filter.payload.a"},
			"unknown webhook": {"github", "issue_opened", `{"webhooks":["none"]}`, "triggers[1].filter.webhooks[0]"},
			"other scheme":    {"gitlab", "push", `{"webhooks":["issues"]}`, "triggers[1].filter.webhooks[0]"},
			"no scheme":       {"github", "push", `{"webhook_ids":["` + other.UID + `"]}`, "triggers[1].filter.webhook_ids[0]"},
		} {
			n := lineshaft.Automation{Name: "it", Prompt: "p"}
			on(tc.provider, "push", `{}`, tc.event, tc.filter)(&n)
			_, err := w.s.CreateAutomation(w.Context(), w.admin, w.factory, n)
			wantCode(w, err, lineshaft.CodeInvalidRequest)
			if pub := asPublic(err); pub == nil || pub.Field != tc.field {
				w.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestF6ForgeRedeliveryAndReasons(t *testing.T) {
	t.Parallel()
	eachWorks(t, githubHook(), func(w *works) {
		w.automation("a opened", "", on("github", "issue_opened", `{}`))
		w.automation("b docs", "", on("github", "issue_closed", `{}`, "issue_*", `{"labels":["docs"],"authors":{"not_in":["ann"]}}`))
		d := w.told("1", "issues", issueOpened)
		detail := must[trigger.DeliveryDetail](w.bench)(w.s.GetDelivery(w.Context(), w.admin, w.factory, w.hook.UID, d.ID, true))
		if len(detail.Missed) != 1 || detail.Missed[0].Name != "b docs" {
			w.Fatalf("%+v", detail.Missed)
		}
		var got []string
		for _, c := range detail.Missed[0].Checks {
			got = append(got, fmt.Sprintf("%d %s %s %s %s", c.Trigger, c.Path, c.Operator, c.Expected, c.Seen))
		}
		want := []string{`0 event in ["issue_closed"] "issue_opened"`, `1 labels in ["docs"] "bug"`, `1 authors not_in ["ann"] "ann"`}
		if !slices.Equal(got, want) {
			w.Errorf("%q", got)
		}
		req := trigger.Redelivery{FactoryUID: w.factory, WebhookUID: w.hook.UID, DeliveryID: d.ID}
		again := must[trigger.Redelivered](w.bench)(w.s.Redeliver(w.Context(), w.admin, req, nil))
		if len(again.Outcomes) != 1 || w.want(again.Outcomes[0].RunID, lineshaft.Queued).Source != lineshaft.SourceGitHub {
			w.Errorf("%+v", again)
		}
		if made := must[*lineshaft.Delivery](w.bench)(w.store.FindDelivery(w.Context(), again.DeliveryID)); made.Event != "issues" {
			w.Errorf("redelivered with the event %q", made.Event)
		}
		req.DryRun = true
		foretold := byName(must[trigger.Redelivered](w.bench)(w.s.Redeliver(w.Context(), w.admin, req, nil)).Outcomes)
		if o := foretold["b docs"]; o.Result != lineshaft.ResultFiltered || o.Reason != `event must be one of ["issue_closed"]; it is "issue_opened"` {
			w.Errorf("%+v", foretold)
		}
	})
}

func TestW16ForgeTestFilter(t *testing.T) {
	t.Parallel()
	eachWorks(t, githubHook(), func(w *works) {
		d := w.told("1", "issues", issueOpened)
		plain := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "plain"}))
		labels := lineshaft.TriggerFilter{Payload: json.RawMessage(`{"action":["opened"]}`), Sets: map[string]*lineshaft.Choice{"labels": {In: []string{"bug"}}}}
		for name, tc := range map[string]struct {
			test factories.FilterTest
			want []string
		}{
			"stored": {factories.FilterTest{Provider: "github", Event: "issue_opened", Filter: labels, DeliveryID: d.ID}, []string{
				`true webhook in [] "` + w.hook.UID + `"`, `true signature_scheme in ["github"] "github"`, `true event in ["issue_opened"] "issue_opened"`,
				`true labels in ["bug"] "bug"`, `true payload.action in ["opened"] "opened"`,
			}},
			"as another event": {factories.FilterTest{Provider: "github", Event: "push", DeliveryID: d.ID}, []string{
				`true webhook in [] "` + w.hook.UID + `"`, `true signature_scheme in ["github"] "github"`, `false event in ["push"] "issue_opened"`,
			}},
			"bare": {factories.FilterTest{Provider: "github", Event: "issue_*", PayloadEvent: "issues", Payload: json.RawMessage(`{}`)}, []string{
				`true webhook in []`, `true event in ["issue_*"] "issue"`,
			}},
			"gitlab needs no header": {factories.FilterTest{Provider: "gitlab", Event: "push", Payload: json.RawMessage(`{"object_kind":"push"}`)}, []string{
				`true webhook in []`, `true event in ["push"] "push"`,
			}},
			"wrong scheme": {factories.FilterTest{Provider: "github", Event: "push", PayloadEvent: "push", Payload: json.RawMessage(`{}`), WebhookID: plain.UID}, []string{
				`true webhook in [] "` + plain.UID + `"`, `false signature_scheme in ["github"]`, `true event in ["push"] "push"`,
			}},
		} {
			verdict := must[factories.FilterVerdict](w.bench)(w.s.TestFilter(w.Context(), w.admin, w.factory, tc.test))
			failed := slices.ContainsFunc(tc.want, func(line string) bool { return strings.HasPrefix(line, "false") })
			if got := checks(verdict); !slices.Equal(got, tc.want) || verdict.WouldTrigger == failed {
				w.Errorf("%s: %q", name, got)
			}
		}
		for field, test := range map[string]factories.FilterTest{
			"payload_event":    {Provider: "github", Event: "push", Payload: json.RawMessage(`{}`)},
			"provider":         {Provider: "run", Event: "finished", Payload: json.RawMessage(`{}`)},
			"event":            {Provider: "github", Event: "pushed", DeliveryID: d.ID},
			"filter.labels":    {Filter: labels, DeliveryID: d.ID},
			"filter.paths":     {Provider: "github", Event: "issue_opened", Filter: lineshaft.TriggerFilter{Sets: map[string]*lineshaft.Choice{"paths": labels.Set("labels")}}, DeliveryID: d.ID},
			"filter.payload.a": {Provider: "github", Event: "push", Filter: lineshaft.TriggerFilter{Payload: json.RawMessage(`{"a":1}`)}, DeliveryID: d.ID},
		} {
			if _, err := w.s.TestFilter(w.Context(), w.admin, w.factory, test); asPublic(err) == nil || asPublic(err).Field != field {
				w.Errorf("%s: %v", field, err)
			}
		}
	})
}

// Most webhooks have no forge behind them: they must not pay for the triggers of one.
func BenchmarkEvaluate(b *testing.B) {
	plain := []lineshaft.Trigger{{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{Webhooks: []string{"it"}, Payload: json.RawMessage(`{"action":["opened"]}`)}}}
	told := []lineshaft.Trigger{{Provider: "github", Event: "issue_opened", Filter: lineshaft.TriggerFilter{Sets: map[string]*lineshaft.Choice{"labels": {In: []string{"bug"}}}}}}
	for name, triggers := range map[string][]lineshaft.Trigger{"webhook": plain, "github": told} {
		h, err := control.BareHook(lineshaft.Webhook{Name: "it", AuthMode: lineshaft.AuthSignature, SignatureScheme: "github"}, triggers)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if control.Evaluate(h, "issues", []byte(issueOpened)) != 1 {
					b.Fatal("does not match")
				}
			}
		})
	}
}
