package control_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

func TestW16BacktestOfADraft(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		saved := w.automation("triage", `{"action": ["opened"]}`)
		for i, action := range []string{"opened", "opened", "closed", "edited", "closed"} {
			w.deliver(fmt.Sprint(i), fmt.Sprintf(`{"action": %q}`, action))
		}
		draft := func(filter string, change ...func(*lineshaft.Automation)) lineshaft.Automation {
			n := lineshaft.Automation{Name: "triage", Prompt: "x", Enabled: true, Triggers: []lineshaft.Trigger{w.trigger(filter)}}
			for _, fn := range change {
				fn(&n)
			}
			return n
		}
		elsewhere := func(n *lineshaft.Automation) { n.Triggers[0].Filter.Webhooks = []string{"other"} }
		for name, c := range map[string]struct {
			uid   string
			draft lineshaft.Automation
			want  factories.DraftBacktest
		}{
			"wider":     {saved.UID, draft(`{"action": ["opened", "closed"]}`), factories.DraftBacktest{Deliveries: 5, Would: 4, Now: 2}},
			"new":       {"", draft(`{"action": ["edited"]}`), factories.DraftBacktest{Deliveries: 5, Would: 1}},
			"all":       {"", draft(""), factories.DraftBacktest{Deliveries: 5, Would: 5}},
			"disabled":  {saved.UID, draft("", func(n *lineshaft.Automation) { n.Enabled = false }), factories.DraftBacktest{Deliveries: 5, Now: 2}},
			"elsewhere": {saved.UID, draft("", elsewhere), factories.DraftBacktest{Deliveries: 5, Now: 2}},
			"nowhere":   {"", draft("", elsewhere), factories.DraftBacktest{}},
			"no agent":  {"", draft("", func(n *lineshaft.Automation) { n.Agent = "gone" }), factories.DraftBacktest{Deliveries: 5}},
		} {
			got := must[factories.DraftBacktest](w.bench)(w.s.BacktestAutomation(w.Context(), w.admin, w.factory, c.uid, c.draft))
			if got != c.want {
				w.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		}
		_, err := w.s.BacktestAutomation(w.Context(), w.admin, w.factory, "", draft(`{"action": "opened"}`))
		wantCode(w.bench, err, lineshaft.CodeInvalidRequest)
		_, err = w.s.BacktestAutomation(w.Context(), w.admin, w.factory, "missing", draft(""))
		wantCode(w.bench, err, lineshaft.CodeNotFound)
		limited := w.admin
		limited.FactoryUIDs = []string{"another"}
		_, err = w.s.BacktestAutomation(w.Context(), limited, w.factory, "", draft(""))
		wantCode(w.bench, err, lineshaft.CodeNotFound)
		// It only looked.
		if now := must[*lineshaft.Automation](w.bench)(w.s.GetAutomation(w.Context(), w.admin, w.factory, saved.UID)); !now.UpdatedAt.Equal(saved.UpdatedAt) {
			w.Errorf("%+v", now)
		}
	})
}

// A list of factories counts the runs of each, of those that a key reaches (I-2).
func TestI2RunsOfFactoriesAreCounted(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("one", "")
		for n := range factories.MaxRunCount + 1 {
			w.deliver(strconv.Itoa(n), "{}")
		}
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"}))
		list := []lineshaft.Factory{{UID: w.factory}, *other}
		for _, c := range []struct {
			states []lineshaft.RunState
			only   []string
			want   map[string]int
		}{
			{[]lineshaft.RunState{lineshaft.Queued}, nil, map[string]int{w.factory: factories.MaxRunCount, other.UID: 0}},
			{[]lineshaft.RunState{lineshaft.Failed}, nil, map[string]int{w.factory: 0, other.UID: 0}},
			{[]lineshaft.RunState{lineshaft.Queued}, []string{other.UID}, map[string]int{other.UID: 0}},
		} {
			caller := w.admin
			caller.FactoryUIDs = c.only
			if got := must[map[string]int](w.bench)(w.s.CountRuns(w.Context(), caller, list, lineshaft.RunFilter{States: c.states})); !reflect.DeepEqual(got, c.want) {
				w.Errorf("%v of %v: %v", c.states, c.only, got)
			}
		}
	})
}

func TestF1PartsAreCounted(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("one", "")
		w.automation("two", "")
		gone := must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, w.factory, factories.NewWebhook{Name: "gone"}))
		wantCode(w.bench, w.s.DeleteWebhook(w.Context(), w.admin, w.factory, gone.UID), "")
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"}))
		list := []lineshaft.Factory{{UID: w.factory}, *other}
		want := map[string]factories.PartCounts{w.factory: {Agents: 1, Automations: 2, Webhooks: 1}, other.UID: {Agents: 1}}
		if got := must[map[string]factories.PartCounts](w.bench)(w.s.CountParts(w.Context(), w.admin, list)); !reflect.DeepEqual(got, want) {
			w.Errorf("%+v", got)
		}
		limited := w.admin
		limited.FactoryUIDs = []string{other.UID}
		delete(want, w.factory)
		if got := must[map[string]factories.PartCounts](w.bench)(w.s.CountParts(w.Context(), limited, list)); !reflect.DeepEqual(got, want) {
			w.Errorf("%+v", got)
		}
	})
}

func TestW15TriggerTextIsCheckedWithoutAStore(t *testing.T) {
	t.Parallel()
	hook := lineshaft.TriggerFilter{Webhooks: []string{"issues"}}
	for name, c := range map[string]struct {
		trigger   lineshaft.Trigger
		text      string
		line      int
		file, say string
	}{
		"fine":       {lineshaft.Trigger{Provider: "webhook", Event: "received", Filter: hook}, "action: [opened]", 0, "", ""},
		"mistake":    {lineshaft.Trigger{Provider: "webhook", Event: "received", Filter: hook}, "action: opened", 1, "", "without an array"},
		"no webhook": {lineshaft.Trigger{Provider: "webhook", Event: "received"}, "", 0, "filter", "name 1 to 50 webhooks"},
		"event":      {lineshaft.Trigger{Provider: "github", Event: "issue_opend"}, "labels: [bug]", 0, "event", "issue_opend"},
		"cron":       {lineshaft.Trigger{Provider: "schedule", Event: "cron_fired", Schedule: &lineshaft.Timing{Cron: "0 9 * *"}}, "", 0, "", ""},
		"zone":       {lineshaft.Trigger{Provider: "schedule", Event: "cron_fired", Schedule: &lineshaft.Timing{Cron: "@daily", Timezone: "Europe/Berlim"}}, "", 0, "", "Europe/Berlin"},
	} {
		_, problems := factories.ReadTrigger(c.trigger, c.text)
		if name == "fine" {
			if len(problems) > 0 {
				t.Errorf("%s: %+v", name, problems)
			}
			continue
		}
		if len(problems) != 1 || problems[0].Line != c.line || c.file != "" && problems[0].File != c.file || !strings.Contains(problems[0].Message+problems[0].Hint, c.say) {
			t.Errorf("%s: %+v", name, problems)
		}
	}
	if fires, err := trigger.TriggerFires(lineshaft.Timing{Cron: "0 9 * * *"}, time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC), 2); err != nil || len(fires) != 2 || fires[1] != time.Date(2026, 1, 3, 9, 0, 0, 0, time.UTC) {
		t.Errorf("%v, %v", fires, err)
	}
	for text, doubt := range map[string]bool{
		`{"action": {"notIn": ["x"]}}`: true, `{"a": {"b": {"exist": {"x": [1]}}}}`: true, `{"action": {"not_in": ["x"]}}`: false, `{"issue": {"id": [1]}}`: false, ``: false,
	} {
		if got := factories.FilterDoubt([]byte(text)); (got != "") != doubt {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestF1AutomationsOfAllFactoriesPage(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		timed := lineshaft.Automation{Prompt: "x", Triggers: []lineshaft.Trigger{{Provider: "schedule", Event: "cron_fired", Schedule: &lineshaft.Timing{Cron: "@daily"}}}}
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"})).UID
		var want []string
		for _, factory := range []string{w.factory, other} {
			for _, name := range []string{"B", "a", "c-1"} {
				timed.Name = name
				want = append(want, factory+must[*lineshaft.Automation](w.bench)(w.s.CreateAutomation(w.Context(), w.admin, factory, timed)).Name)
			}
		}
		read := func(c lineshaft.Caller) (got []string) {
			for cursor := ""; ; {
				page := must[factories.AutomationPage](w.bench)(w.s.AllAutomations(w.Context(), c, 2, cursor))
				for _, a := range page.Items {
					got = append(got, a.FactoryUID+a.Name)
				}
				if cursor = page.Next; cursor == "" {
					return got
				}
			}
		}
		sorted := func(list []string) []string { slices.Sort(list); return list }
		if got := read(w.admin); !slices.Equal(sorted(got), sorted(want)) {
			w.Errorf("%v, want %v", got, want)
		}
		limited := w.admin
		limited.FactoryUIDs = []string{other}
		if got := read(limited); len(got) != 3 || !strings.HasPrefix(got[0], other) {
			w.Errorf("%v", got)
		}
		_, err := w.s.AllAutomations(w.Context(), w.admin, 2, "nonsense")
		wantCode(w.bench, err, lineshaft.CodeInvalidRequest)
	})
}
