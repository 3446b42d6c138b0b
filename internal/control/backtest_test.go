package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// plainMatch says what a payload filter means in the plainest way; it shares nothing
// with what it judges.
func plainMatch(filter, body any) bool {
	pattern, ok := filter.(map[string]any)
	if !ok || len(pattern) == 0 {
		return true
	}
	switch value := body.(type) {
	case []any:
		return slices.ContainsFunc(value, func(one any) bool {
			object, ok := one.(map[string]any)
			return ok && plainMatch(pattern, object)
		})
	case map[string]any:
		for key, want := range pattern {
			got, present := value[key]
			if !plainField(want, got, present) {
				return false
			}
		}
		return true
	}
	return false
}

func plainField(want, got any, present bool) bool {
	in := func(set any) bool {
		values, many := got.([]any)
		if !many {
			values = []any{got}
		}
		list, _ := set.([]any)
		return present && slices.ContainsFunc(list, func(w any) bool { return slices.Contains(values, w) })
	}
	object, nested := want.(map[string]any)
	if !nested {
		return in(want)
	}
	operators := 0
	for key, argument := range object {
		switch key {
		case "in":
			operators++
			if !in(argument) {
				return false
			}
		case "not_in":
			operators++
			if in(argument) {
				return false
			}
		case "exists":
			operators++
			if argument != present {
				return false
			}
		}
	}
	return operators > 0 || present && plainMatch(object, got)
}

func plainJSON(text string) (value any) {
	if text != "" {
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			panic(err)
		}
	}
	return value
}

// pastCase is an automation before and after; an empty list of hooks is none.
type pastCase struct {
	name          string
	before, after pastRule
}

type pastRule struct {
	hooks    []string
	filters  []string // one trigger for each
	disabled bool
}

func (r pastRule) file() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nenabled: %t\ntriggers:\n", !r.disabled)
	for _, f := range r.filters {
		fmt.Fprintf(&b, "  - provider: webhook\n    event: received\n    filter:\n      webhooks: [%s]\n", strings.Join(r.hooks, ", "))
		if f != "" {
			fmt.Fprintf(&b, "      payload: %s\n", f)
		}
	}
	return b.String() + "---\nDo it.\n"
}

func (r pastRule) starts(hook string, body any) bool {
	return !r.disabled && slices.Contains(r.hooks, hook) && slices.ContainsFunc(r.filters, func(f string) bool { return plainMatch(plainJSON(f), body) })
}

func pastCases() []pastCase {
	all := []string{"a", "b", "c"}
	rule := func(hooks []string, filters ...string) pastRule { return pastRule{hooks: hooks, filters: filters} }
	off := rule(all, `{"action": ["opened"]}`)
	off.disabled = true
	return []pastCase{
		{"narrowed", rule(all, ""), rule(all, `{"action": ["opened"]}`)},
		{"widened", rule(all, `{"action": ["opened"], "issue": {"labels": {"name": ["bug"]}}}`), rule(all, `{"issue": {"labels": {"name": {"in": ["bug", "ui"]}}}}`)},
		{"turned", rule(all, `{"number": {"not_in": [1, 2, 3]}}`), rule(all, `{"number": [1, 2, 3]}`)},
		{"moved", rule([]string{"a"}, `{"action": ["closed"]}`), rule([]string{"b"}, `{"action": ["closed"]}`)},
		{"several", rule(all, `{"draft": {"exists": true}}`, `{"draft": [true]}`), rule(all, `{"draft": [false]}`, `{"number": [7]}`, `{"draft": {"exists": false}, "action": ["opened"]}`)},
		{"switched on", off, rule(all, `{"action": ["opened"]}`)},
		{"switched off", rule(all, `{"action": ["opened"]}`), off},
		{"added", pastRule{}, rule([]string{"b", "c"}, `{"tags": {"not_in": ["x"]}}`)},
		{"removed", rule([]string{"b", "c"}, `{"tags": ["x"]}`), pastRule{}},
		{"same", rule(all, `{"action": ["opened"]}`), rule(all, `{"action": ["opened"]}`)},
	}
}

func pastFolder(pick func(pastCase) pastRule) definition.Files {
	files := definition.Files{"factory.yaml": "schemaVersion: v1alpha1\nname: Past\n", "agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\n"}
	for _, hook := range []string{"a", "b", "c"} {
		files["webhooks/"+hook+".yaml"] = "secretName: ISSUES\n"
	}
	for _, c := range pastCases() {
		if rule := pick(c); len(rule.hooks) > 0 {
			files["automations/"+c.name+"/automation.md"] = rule.file()
		}
	}
	return files
}

func pastBody(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	draft := pick(`"draft": true,`, `"draft": false,`, `"draft": null,`, "")
	return pick("", "[", "", "", "") + fmt.Sprintf(`{%s "action": %s, "number": %d, "tags": %s, "issue": {"labels": [{"name": %s}, {"name": %s}]}}`, draft,
		pick(`"opened"`, `"closed"`, `"edited"`), r.IntN(9), pick(`["x"]`, `["y", "x"]`, `[]`, `"z"`), pick(`"bug"`, `"ui"`, `"doc"`), pick(`"bug"`, `"ui"`, `null`))
}

// The numbers of a plan are those of a recount of all stored deliveries.
func TestF4BacktestEqualsARecount(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.teamSecret("ISSUES", issuesSecret)
		uid := b.plain("plain")
		b.apply(uid, pastFolder(func(c pastCase) pastRule { return c.before }))
		random := rand.New(rand.NewPCG(20261115, 4))
		want := map[string]factories.Backtest{}
		var rows []store.NewDelivery
		for range max(longRounds(10_000), 2_000) {
			hook := []string{"a", "b", "c"}[random.IntN(3)]
			text := pastBody(random)
			if strings.HasPrefix(text, "[") {
				text += "]"
			}
			id, _ := b.store.NewID()
			row := store.NewDelivery{Delivery: lineshaft.Delivery{ID: id, WebhookUID: b.webhookUID(uid, hook), Status: lineshaft.DeliveryAccepted, Size: int64(len(text))}, Body: []byte(text)}
			switch random.IntN(20) {
			case 0: // a duplicate has no body
				row.Status, row.Body = lineshaft.DeliveryDuplicate, nil
			case 1:
				row.Outcomes = []lineshaft.DeliveryOutcome{{Result: lineshaft.ResultHandshake}}
			default:
				recount(want, hook, plainJSON(text))
			}
			rows = append(rows, row)
		}
		for chunk := range slices.Chunk(rows, 1000) {
			b.write(func(ctx context.Context, tx *store.Tx) error { return tx.InsertDeliveries(ctx, chunk) })
		}
		begun := time.Now()
		plan := must[factories.Plan](b)(b.s.PlanDefinition(b.Context(), b.admin, uid, pastFolder(func(c pastCase) pastRule { return c.after })))
		b.Logf("back-test of %d deliveries and %d automations: %v", len(rows), len(plan.Backtests), time.Since(begun))
		got := map[string]factories.Backtest{}
		for _, one := range plan.Backtests {
			name := one.Automation
			if one.Automation, one.Action = "", ""; one.Starts+one.Stops == 0 {
				b.Errorf("%s proves nothing: %+v", name, one)
			}
			got[name] = one
		}
		if !reflect.DeepEqual(got, want) {
			b.Errorf("back-test\n%+v\nrecount\n%+v", got, want)
		}
		if len(got) != 9 || len(plan.Changes) != 9 || plan.Revision != 2 {
			b.Errorf("%d tests, %v, revision %d", len(got), changesOf(plan.Changes), plan.Revision)
		}
	})
}

func (b *bench) webhookUID(factory, name string) string {
	b.Helper()
	return b.webhookNamed(factory, name).UID
}

// recount adds one delivery to what a back-test should say.
func recount(want map[string]factories.Backtest, hook string, body any) {
	for _, c := range pastCases() {
		if c.name == "same" || !slices.Contains(c.before.hooks, hook) && !slices.Contains(c.after.hooks, hook) {
			continue
		}
		one := want[c.name]
		one.Deliveries++
		starts, would := c.before.starts(hook, body), c.after.starts(hook, body)
		if would && !starts {
			one.Starts++
		}
		if starts && !would {
			one.Stops++
		}
		want[c.name] = one
	}
}

// A webhook that goes starts nothing any more; one that comes has no deliveries yet.
func TestF4BacktestOfWebhooksThatGo(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		hook := b.webhookUID(uid, "issues")
		wantCode(b, b.s.RefreshHooks(b.Context()), "")
		for i := range 3 {
			must[trigger.Receipt](b)(b.s.Accept(b.Context(), received(b.s.Hook(b.Context(), hook), fmt.Sprint(i), opened)))
		}
		moved := with(shop(), "webhooks/issues.yaml", "", "webhooks/fresh.yaml", "secretName: ISSUES\n",
			"automations/triage/automation.md", strings.ReplaceAll(shop()["automations/triage/automation.md"], "[issues]", "[fresh]"))
		plan := must[factories.Plan](b)(b.s.PlanDefinition(b.Context(), b.admin, uid, moved))
		if want := []factories.Backtest{{Automation: "triage", Action: definition.ActionChange, Deliveries: 3, Stops: 3}}; !reflect.DeepEqual(plan.Backtests, want) {
			b.Errorf("%+v", plan.Backtests)
		}
		if !slices.ContainsFunc(plan.Changes, func(c definition.Change) bool { return c.Kind == definition.KindWebhook && c.Note != "" }) {
			b.Errorf("nothing tells that the address changes: %+v", plan.Changes)
		}
		// Other changes need no back-test, and a plan changes nothing.
		other := must[factories.Plan](b)(b.s.PlanDefinition(b.Context(), b.admin, uid, replaced(shop(), "automations/triage/automation.md", "Label the issue.", "Label it.")))
		if len(other.Backtests) > 0 || len(other.Changes) != 1 {
			b.Errorf("%+v", other)
		}
		if out := b.export(uid); out.Revision != 2 || must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, uid)).Revision != 2 {
			b.Errorf("revision %d", out.Revision)
		}
		// Stored filters are written in another way than those in files; that is not a change.
		if changes := b.drift(uid, b.export(uid).Files); len(changes) > 0 {
			b.Errorf("%+v", changes)
		}
	})
}

// Triggers of a forge are tried with the event that the delivery came with, and only
// while the webhook has the forge's scheme.
func TestF4BacktestOfForgeTriggers(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.shopSecrets()
		uid := b.plain("plain")
		signed := with(shop(), "webhooks/issues.yaml", "authMode: signature\nsignatureScheme: github\nsecretName: ISSUES\n")
		b.apply(uid, signed)
		var rows []store.NewDelivery
		for i, event := range []string{"push", "push", "issues", "push", "ping"} {
			id, _ := b.store.NewID()
			body := fmt.Sprintf(`{"ref":"refs/heads/main","number":%d,"action":"opened","repository":{"full_name":"acme/shop"}}`, i)
			rows = append(rows, store.NewDelivery{Delivery: lineshaft.Delivery{ID: id, WebhookUID: b.webhookUID(uid, "issues"), Status: lineshaft.DeliveryAccepted, Event: event}, Body: []byte(body)})
		}
		b.write(func(ctx context.Context, tx *store.Tx) error { return tx.InsertDeliveries(ctx, rows) })
		pushes := "---\ntriggers:\n  - provider: github\n    event: push\n    filter:\n      branches: [main]\n---\nLook.\n"
		added := with(signed, "automations/pushes/automation.md", pushes)
		plan := must[factories.Plan](b)(b.s.PlanDefinition(b.Context(), b.admin, uid, added))
		if want := []factories.Backtest{{Automation: "pushes", Action: definition.ActionAdd, Deliveries: 5, Starts: 3}}; !reflect.DeepEqual(plan.Backtests, want) {
			b.Errorf("%+v", plan.Backtests)
		}
		// With another scheme the webhook does not name events any more.
		plan = must[factories.Plan](b)(b.s.PlanDefinition(b.Context(), b.admin, uid, with(added, "webhooks/issues.yaml", shop()["webhooks/issues.yaml"])))
		if want := []factories.Backtest{{Automation: "pushes", Action: definition.ActionAdd}}; !reflect.DeepEqual(plan.Backtests, want) {
			b.Errorf("%+v", plan.Backtests)
		}
	})
}
