package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// automation asks for one that listens to webhooks by uid.
func automation(name string, webhookIDs ...string) lineshaft.Automation {
	return lineshaft.Automation{Name: name, Prompt: "do it", Enabled: true, Triggers: triggers(lineshaft.TriggerFilter{WebhookIDs: webhookIDs})}
}

func triggers(filters ...lineshaft.TriggerFilter) []lineshaft.Trigger {
	var list []lineshaft.Trigger
	for _, f := range filters {
		list = append(list, lineshaft.Trigger{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived, Filter: f})
	}
	return list
}

func (b *bench) automate(factoryUID, name string, webhookIDs ...string) *lineshaft.Automation {
	b.Helper()
	return must[*lineshaft.Automation](b)(b.s.CreateAutomation(b.Context(), b.admin, factoryUID, automation(name, webhookIDs...)))
}

// hookFactory adds a webhook and two automations on it to a factory.
func (b *bench) hookFactory(factoryUID string) []string {
	b.Helper()
	hook := b.listener(factoryUID, "hook")
	return []string{b.automate(factoryUID, "one", hook).UID, b.automate(factoryUID, "two", hook).UID}
}

func (b *bench) getAutomation(a *lineshaft.Automation) *lineshaft.Automation {
	b.Helper()
	return must[*lineshaft.Automation](b)(b.s.GetAutomation(b.Context(), b.admin, a.FactoryUID, a.UID))
}

func TestMAutomationKeepsWhatItWasGiven(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "")
		hook := b.listener(f.UID, "hook")
		req := lineshaft.Automation{
			Name: "Triage 1", Prompt: "look", Agent: "foreman", MaxRunsPerHour: 7,
			Triggers: triggers(
				lineshaft.TriggerFilter{WebhookIDs: []string{hook}, Payload: json.RawMessage(`{"n":[1.0,12345678901234567890],"b":{"a":{"exists":true}}}`)},
				lineshaft.TriggerFilter{Webhooks: []string{"hook"}}),
			Config: lineshaft.AgentConfig{
				ModelID: "m", WorkerHost: "box", TimeoutMinutes: ref(5), Concurrency: &lineshaft.Concurrency{Key: "n-{{ payload.n.x }}{{payload.y}}", Policy: lineshaft.PolicySkip},
			},
		}
		made := must[*lineshaft.Automation](b)(b.s.CreateAutomation(b.Context(), b.admin, f.UID, req))
		read := b.getAutomation(made)
		if !id.Valid(made.UID) || read.UID != made.UID || read.FactoryUID != f.UID || read.Name != req.Name || read.Prompt != req.Prompt || read.Enabled ||
			read.Agent != req.Agent || read.MaxRunsPerHour != 7 || !reflect.DeepEqual(read.Config, req.Config) || read.CreatedAt.IsZero() {
			b.Fatalf("%+v", read)
		}
		if !reflect.DeepEqual(read.Triggers, req.Triggers) {
			b.Fatalf("%+v", read.Triggers)
		}
		if made = b.automate(f.UID, "plain", hook); !made.Enabled || made.Agent != "" {
			b.Fatalf("%+v", made)
		}
	})
}

// Its runs belong to a service account that bears its name, also a new one.
func TestMAutomationHasAnAccount(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "")
		made := b.automate(f.UID, "first", b.listener(f.UID, "hook"))
		account := lineshaft.Principal{UID: "automation_" + made.UID, Type: lineshaft.ServiceAccount}
		run := must[runs.Started](b)(b.as(lineshaft.Caller{Principal: account, Role: lineshaft.RoleManager}, lineshaft.NewRun{})).RunID
		if creator := b.run(run).Creator; creator.DisplayName != "first" || creator.Type != lineshaft.ServiceAccount {
			b.Fatalf("%+v", creator)
		}
		must[*lineshaft.Automation](b)(b.s.UpdateAutomation(b.Context(), b.admin, f.UID, made.UID, factories.AutomationChange{Name: ref("second")}))
		if creator := b.run(run).Creator; creator.DisplayName != "second" || creator.UID != account.UID {
			b.Fatalf("%+v", creator)
		}
		wantCode(b, b.s.DeleteAutomation(b.Context(), b.admin, f.UID, made.UID), "")
		if creator := b.run(run).Creator; creator.DisplayName != "second" {
			b.Fatalf("%+v", creator)
		}
	})
}

func TestMBadAutomations(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f, other := b.factory("f", ""), b.factory("other", "")
		hook, foreign := b.listener(f.UID, "hook"), b.listener(other.UID, "foreign")
		gone := b.listener(f.UID, "gone")
		b.deleteListener(f.UID, gone)
		for name, test := range map[string]struct {
			change func(*lineshaft.Automation)
			code   lineshaft.Code
			text   string
		}{
			"no name":        {func(n *lineshaft.Automation) { n.Name = "" }, lineshaft.CodeInvalidRequest, "name"},
			"name with path": {func(n *lineshaft.Automation) { n.Name = "../x" }, lineshaft.CodeInvalidRequest, "name"},
			"no prompt":      {func(n *lineshaft.Automation) { n.Prompt = " " }, lineshaft.CodeInvalidRequest, "prompt"},
			"huge prompt":    {func(n *lineshaft.Automation) { n.Prompt = strings.Repeat("x", 1<<20+1) }, lineshaft.CodeInvalidRequest, "prompt"},
			"no triggers":    {func(n *lineshaft.Automation) { n.Triggers = nil }, lineshaft.CodeInvalidRequest, "triggers"},
			"brake":          {func(n *lineshaft.Automation) { n.MaxRunsPerHour = -1 }, lineshaft.CodeInvalidRequest, "max_runs_per_hour"},
			"no such agent":  {func(n *lineshaft.Automation) { n.Agent = "nobody" }, lineshaft.CodeInvalidRequest, "agent: the factory has no agent of this name; it has: foreman"},
			"config":         {func(n *lineshaft.Automation) { n.Config.TimeoutMinutes = ref(0) }, lineshaft.CodeInvalidRequest, "config.timeout_minutes"},
			"other trigger": {
				func(n *lineshaft.Automation) { n.Triggers[0].Provider, n.Triggers[0].Event = "pigeon", "landed" },
				lineshaft.CodeInvalidRequest, "triggers[0].provider: ",
			},
			"no webhook":      {func(n *lineshaft.Automation) { n.Triggers = triggers(lineshaft.TriggerFilter{}) }, lineshaft.CodeInvalidRequest, "triggers[0].filter: "},
			"foreign webhook": {func(n *lineshaft.Automation) { n.Triggers[0].Filter.WebhookIDs = []string{hook, foreign} }, lineshaft.CodeInvalidRequest, "triggers[0].filter.webhook_ids[1]: \"" + foreign},
			"deleted webhook": {func(n *lineshaft.Automation) { n.Triggers[0].Filter.WebhookIDs[0] = gone }, lineshaft.CodeInvalidRequest, "webhook_ids[0]: \"" + gone},
			"foreign name": {
				func(n *lineshaft.Automation) { n.Triggers[0].Filter.Webhooks = []string{"foreign"} },
				lineshaft.CodeInvalidRequest, `triggers[0].filter.webhooks[0]: "foreign" is not a webhook of this factory; it may be deleted or belong to another factory`,
			},
			"deleted name":   {func(n *lineshaft.Automation) { n.Triggers[0].Filter.Webhooks = []string{"hook", "gone"} }, lineshaft.CodeInvalidRequest, `webhooks[1]: "gone"`},
			"name for a uid": {func(n *lineshaft.Automation) { n.Triggers[0].Filter.WebhookIDs[0] = "hook" }, lineshaft.CodeInvalidRequest, "webhook_ids[0]"},
			"long reference": {func(n *lineshaft.Automation) { n.Triggers[0].Filter.Webhooks = []string{strings.Repeat("é", 5000)} }, lineshaft.CodeInvalidRequest, "é…"},
			"bad filter": {
				func(n *lineshaft.Automation) { n.Triggers[0].Filter.Payload = json.RawMessage(`{"a":{"b":"x"}}`) },
				lineshaft.CodeInvalidRequest, "triggers[0].filter.payload.a.b: ",
			},
			"bad second filter": {func(n *lineshaft.Automation) {
				n.Triggers = append(n.Triggers, triggers(lineshaft.TriggerFilter{Webhooks: []string{"hook"}, Payload: json.RawMessage(`[]`)})...)
			}, lineshaft.CodeInvalidRequest, "triggers[1].filter.payload: "},
			"unclosed template": {withKey("a-{{payload.x"), lineshaft.CodeInvalidRequest, "concurrency.key"},
			"other template":    {withKey("{{payload.x}}-{{delivery.id}}"), lineshaft.CodeInvalidRequest, "concurrency.key"},
			"empty template":    {withKey("{{payload.}}"), lineshaft.CodeInvalidRequest, "concurrency.key"},
			"no key":            {withKey(""), lineshaft.CodeInvalidRequest, "concurrency.key"},
		} {
			req := automation("a", hook)
			test.change(&req)
			_, err := b.s.CreateAutomation(b.Context(), b.admin, f.UID, req)
			if err == nil || lineshaft.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) || len(err.Error()) > 500 {
				b.Errorf("%s: %.600v", name, err)
			}
		}
		if page := must[factories.AutomationPage](b)(b.s.ListAutomations(b.Context(), b.admin, f.UID, 10, "")); len(page.Items) != 0 {
			b.Fatalf("refused ones are there: %+v", page)
		}
		_, err := b.s.CreateAutomation(b.Context(), b.admin, b.newID(), automation("a", hook))
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

func withKey(key string) func(*lineshaft.Automation) {
	return func(n *lineshaft.Automation) { n.Config.Concurrency = &lineshaft.Concurrency{Key: key} }
}

func (b *bench) deleteListener(factoryUID, uid string) {
	b.Helper()
	b.write(func(ctx context.Context, tx *store.Tx) error {
		w, err := tx.GetWebhook(ctx, factoryUID, uid)
		if err != nil {
			return err
		}
		w.DeletedAt = b.clock.now()
		return tx.PutWebhook(ctx, *w)
	})
}

func TestMAutomationNamesAreUniqueInTheirFactory(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f, other := b.factory("f", ""), b.factory("other", "")
		hook := b.listener(f.UID, "hook")
		first, second := b.automate(f.UID, "a", hook), b.automate(f.UID, "b", hook)
		b.automate(other.UID, "a", b.listener(other.UID, "hook"))
		_, err := b.s.CreateAutomation(b.Context(), b.admin, f.UID, automation("a", hook))
		wantCode(b, err, lineshaft.CodeConflict)
		if !strings.Contains(err.Error(), `"a"`) {
			b.Errorf("unclear: %v", err)
		}
		_, err = b.s.UpdateAutomation(b.Context(), b.admin, f.UID, second.UID, factories.AutomationChange{Name: ref("a")})
		wantCode(b, err, lineshaft.CodeConflict)
		must[*lineshaft.Automation](b)(b.s.UpdateAutomation(b.Context(), b.admin, f.UID, first.UID, factories.AutomationChange{Name: ref("a")}))
		for round := range rounds(20) {
			name := fmt.Sprint("race ", round)
			won := make(chan bool, 4)
			together(4, func(who int) {
				var err error
				if who == 0 {
					_, err = b.s.UpdateAutomation(b.Context(), b.admin, f.UID, first.UID, factories.AutomationChange{Name: ref(name)})
				} else {
					_, err = b.s.CreateAutomation(b.Context(), b.admin, f.UID, automation(name, hook))
				}
				if err != nil && (lineshaft.CodeOf(err) != lineshaft.CodeConflict || !strings.Contains(err.Error(), name)) {
					b.Error(err)
				}
				won <- err == nil
			})
			close(won)
			winners := 0
			for ok := range won {
				if ok {
					winners++
				}
			}
			if winners != 1 {
				b.Fatalf("%d have the name", winners)
			}
		}
	})
}

func TestMUpdateAutomation(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "")
		hook := b.listener(f.UID, "hook")
		req := automation("a", hook)
		req.Agent, req.MaxRunsPerHour = "foreman", 3
		req.Config = lineshaft.AgentConfig{ModelID: "m", Concurrency: &lineshaft.Concurrency{Key: "k"}}
		was := must[*lineshaft.Automation](b)(b.s.CreateAutomation(b.Context(), b.admin, f.UID, req))
		for _, step := range []struct {
			change factories.AutomationChange
			apply  func(*lineshaft.Automation)
		}{
			{factories.AutomationChange{}, func(*lineshaft.Automation) {}},
			{factories.AutomationChange{Enabled: ref(false)}, func(a *lineshaft.Automation) { a.Enabled = false }},
			{factories.AutomationChange{Prompt: ref("new"), Agent: ref(""), MaxRunsPerHour: ref(0)}, func(a *lineshaft.Automation) { a.Prompt, a.Agent, a.MaxRunsPerHour = "new", "", 0 }},
			{
				factories.AutomationChange{Config: &lineshaft.AgentConfig{BasePrompt: "b"}},
				func(a *lineshaft.Automation) {
					a.Config = lineshaft.AgentConfig{BasePrompt: "b", Concurrency: &lineshaft.Concurrency{Key: "k"}}
				},
			},
			{
				factories.AutomationChange{Concurrency: &lineshaft.Concurrency{Key: "{{payload.x}}", Policy: lineshaft.PolicyQueue}},
				func(a *lineshaft.Automation) {
					a.Config.Concurrency = &lineshaft.Concurrency{Key: "{{payload.x}}", Policy: lineshaft.PolicyQueue}
				},
			},
			{factories.AutomationChange{Concurrency: &lineshaft.Concurrency{}}, func(a *lineshaft.Automation) { a.Config.Concurrency = nil }},
			{
				factories.AutomationChange{Triggers: triggers(lineshaft.TriggerFilter{Webhooks: []string{"hook"}})},
				func(a *lineshaft.Automation) {
					a.Triggers = triggers(lineshaft.TriggerFilter{Webhooks: []string{"hook"}})
				},
			},
			{factories.AutomationChange{Name: ref("b")}, func(a *lineshaft.Automation) { a.Name = "b" }},
		} {
			changed := must[*lineshaft.Automation](b)(b.s.UpdateAutomation(b.Context(), b.admin, f.UID, was.UID, step.change))
			if changed.UpdatedAt.Before(was.UpdatedAt) {
				b.Errorf("%+v goes back in time", changed)
			}
			read := b.getAutomation(was)
			want := *was
			step.apply(&want)
			want.CreatedAt, want.UpdatedAt = read.CreatedAt, read.UpdatedAt
			if !reflect.DeepEqual(*read, want) {
				b.Fatalf("%+v gave\n%+v, want\n%+v", step.change, *read, want)
			}
			was = read
		}
		for name, change := range map[string]factories.AutomationChange{
			"no name": {Name: ref("")}, "no prompt": {Prompt: ref("")}, "no triggers": {Triggers: []lineshaft.Trigger{}}, "no such agent": {Agent: ref("x")},
			"unknown webhook": {Triggers: triggers(lineshaft.TriggerFilter{Webhooks: []string{"none"}})}, "brake": {MaxRunsPerHour: ref(100_001)},
			"bad filter": {Triggers: triggers(lineshaft.TriggerFilter{Webhooks: []string{"hook"}, Payload: json.RawMessage(`{"a":{}}`)})},
			"template":   {Concurrency: &lineshaft.Concurrency{Key: "{{x}}"}}, "config": {Config: &lineshaft.AgentConfig{StallMinutes: ref(0)}},
		} {
			if _, err := b.s.UpdateAutomation(b.Context(), b.admin, f.UID, was.UID, change); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", name, err)
			}
		}
		if read := b.getAutomation(was); !reflect.DeepEqual(read, was) {
			b.Fatalf("a refused change left %+v", read)
		}
		_, err := b.s.UpdateAutomation(b.Context(), b.admin, f.UID, b.newID(), factories.AutomationChange{})
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// An automation outlives its webhook, and can still be changed (W-5).
func TestW5AutomationOutlivesItsWebhook(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "")
		hook := b.listener(f.UID, "hook")
		made := b.automate(f.UID, "a", hook)
		b.deleteListener(f.UID, hook)
		if read := b.getAutomation(made); !slices.Equal(read.Triggers[0].Filter.WebhookIDs, []string{hook}) {
			b.Fatalf("%+v", read)
		}
		must[*lineshaft.Automation](b)(b.s.UpdateAutomation(b.Context(), b.admin, f.UID, made.UID, factories.AutomationChange{Enabled: ref(false), Name: ref("b"), Agent: ref("")}))
		_, err := b.s.UpdateAutomation(b.Context(), b.admin, f.UID, made.UID, factories.AutomationChange{Triggers: made.Triggers})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
	})
}

func TestMListAutomationsIsPagedByName(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f, empty := b.factory("f", ""), b.factory("empty", "")
		hook := b.listener(f.UID, "hook")
		want := []string{"10", "9", "C", "a", "a b", "a-b", "aB", "b"}
		for _, name := range []string{"a-b", "b", "9", "C", "10", "aB", "a", "a b"} {
			b.automate(f.UID, name, hook)
		}
		for limit := 1; limit <= len(want)+1; limit++ {
			var got []string
			for cursor := ""; ; {
				page := must[factories.AutomationPage](b)(b.s.ListAutomations(b.Context(), b.admin, f.UID, limit, cursor))
				for _, a := range page.Items {
					got = append(got, a.Name)
				}
				if cursor = page.Next; cursor == "" {
					break
				}
				if len(page.Items) != limit {
					b.Fatalf("a page of %d has a next one", len(page.Items))
				}
			}
			if !slices.Equal(got, want) {
				b.Errorf("%d a page: %q", limit, got)
			}
		}
		if page := must[factories.AutomationPage](b)(b.s.ListAutomations(b.Context(), b.admin, empty.UID, 10, "")); len(page.Items) != 0 {
			b.Errorf("%+v", page)
		}
	})
}

// A definition names secrets that exist, and no webhook's credential (S-1).
func TestS1AutomationsNameSecretsThatExist(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "")
		b.secret("CREDENTIAL")
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertSecret(ctx, store.Secret{Secret: lineshaft.Secret{Name: "TOKEN", Kind: lineshaft.SecretManaged, Access: lineshaft.AccessGranted}, Sealed: "x"})
		})
		req := automation("a", b.listener(f.UID, "hook"))
		for _, name := range []string{"MISSING", "CREDENTIAL"} {
			req.Config.Secrets = []string{"TOKEN", name}
			_, err := b.s.CreateAutomation(b.Context(), b.admin, f.UID, req)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
		}
		req.Config.Secrets = []string{"TOKEN"}
		made := must[*lineshaft.Automation](b)(b.s.CreateAutomation(b.Context(), b.admin, f.UID, req))
		change := factories.AutomationChange{Config: &lineshaft.AgentConfig{Secrets: []string{"MISSING"}}}
		_, err := b.s.UpdateAutomation(b.Context(), b.admin, f.UID, made.UID, change)
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if read := b.getAutomation(made); !slices.Equal(read.Config.Secrets, []string{"TOKEN"}) {
			b.Fatalf("%+v", read.Config)
		}
		wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, "TOKEN"), lineshaft.CodeConflict)
	})
}

func TestS5ChangesOfAutomationsAreRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "")
		made := b.automate(f.UID, "a", b.listener(f.UID, "hook"))
		change := factories.AutomationChange{Prompt: ref("text that no log needs"), Enabled: ref(false)}
		must[*lineshaft.Automation](b)(b.s.UpdateAutomation(b.Context(), b.admin, f.UID, made.UID, change))
		wantCode(b, b.s.DeleteAutomation(b.Context(), b.admin, f.UID, made.UID), "")
		wantCode(b, b.s.DeleteAutomation(b.Context(), b.admin, f.UID, made.UID), lineshaft.CodeNotFound)
		_, err := b.s.GetAutomation(b.Context(), b.admin, f.UID, made.UID)
		wantCode(b, err, lineshaft.CodeNotFound)
		entries := b.audits(made.UID)
		if got := b.actions(made.UID); !slices.Equal(got, []string{"automation.create", "automation.update", "automation.delete"}) {
			b.Fatalf("%v", got)
		}
		for _, e := range entries {
			if e.TargetType != "automation" || e.Detail["name"] != "a" || e.Detail["factory"] != f.UID || e.Actor.UID != b.admin.Principal.UID {
				b.Errorf("%+v", e)
			}
		}
		if d := entries[1].Detail; d["changed"] != "prompt, enabled" || d["enabled"] != "false" {
			b.Errorf("%v", d)
		}
	})
}

// A list of automations reads the newest runs of each, ten at most (I-2).
func TestI2LastRunsOfEachAutomation(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		busy, quiet := w.automation("busy", ""), w.automation("quiet", `{"never":["x"]}`)
		all := []lineshaft.Automation{*busy, *quiet, {UID: "gone"}}
		var want []string
		for n := range factories.MaxLastRuns + 1 {
			want = append([]string{w.outcomes(strconv.Itoa(n), "{}")["busy"].RunID}, want...)
		}
		last := must[map[string][]factories.LastRun](w.bench)(w.s.LastRuns(w.Context(), w.admin, all))
		var got []string
		for _, run := range last[busy.UID] {
			got = append(got, run.ID)
		}
		if len(last) != 1 || want[0] == "" || !slices.Equal(got, want[:factories.MaxLastRuns]) {
			w.Errorf("last runs %+v, want %v", last, want)
		}
		limited := w.admin
		limited.FactoryUIDs = []string{"another"}
		if last := must[map[string][]factories.LastRun](w.bench)(w.s.LastRuns(w.Context(), limited, all)); len(last) > 0 {
			w.Errorf("a key of another factory sees %+v", last)
		}
		if last := must[map[string][]factories.LastRun](w.bench)(w.s.LastRuns(w.Context(), w.admin, nil)); len(last) > 0 {
			w.Errorf("of no automation: %+v", last)
		}
	})
}
