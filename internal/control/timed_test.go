package control_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store"
)

func (w *timing) automateAt(factoryUID string, n lineshaft.Automation) *lineshaft.Automation {
	w.Helper()
	return must[*lineshaft.Automation](w.bench)(w.s.CreateAutomation(w.Context(), w.admin, factoryUID, n))
}

func (w *timing) change(a *lineshaft.Automation, change factories.AutomationChange) {
	w.Helper()
	must[*lineshaft.Automation](w.bench)(w.s.UpdateAutomation(w.Context(), w.admin, a.FactoryUID, a.UID, change))
}

// crons are the timers of a factory, in order.
func (w *timing) crons(factoryUID string) []string {
	w.Helper()
	var list []string
	for _, timer := range must[[]store.Timer](w.bench)(w.store.ListTimers(w.Context(), factoryUID)) {
		list = append(list, timer.Timing.Cron)
	}
	slices.Sort(list)
	return list
}

func TestF6TimersFollowTheirAutomations(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f := w.factory("f", "")
		want := func(what string, crons ...string) {
			w.Helper()
			if got := w.crons(f.UID); !slices.Equal(got, crons) {
				w.Errorf("%s: timers %q, want %q", what, got, crons)
			}
		}
		a := w.automateAt(f.UID, timedAutomation("a", "0 12 * * *", "0 13 * * *", "0 12 * * *"))
		want("made", "0 12 * * *", "0 13 * * *")
		w.change(a, factories.AutomationChange{Prompt: ref("other")})
		want("another prompt", "0 12 * * *", "0 13 * * *")
		before := must[[]store.Timer](w.bench)(w.store.ListTimers(w.Context(), f.UID))
		w.at.set(w.at.now().AddDate(0, 0, 3)) // both are due
		w.change(a, factories.AutomationChange{Triggers: timedAutomation("", "0 14 * * *", "0 13 * * *").Triggers})
		want("other triggers", "0 13 * * *", "0 14 * * *")
		for _, timer := range must[[]store.Timer](w.bench)(w.store.ListTimers(w.Context(), f.UID)) {
			kept := slices.ContainsFunc(before, func(b store.Timer) bool { return b.Owner == timer.Owner && b.NextAt.Equal(timer.NextAt) })
			if kept != (timer.Timing.Cron == "0 13 * * *") {
				w.Errorf("the timer of %s is %+v", timer.Timing.Cron, timer)
			}
		}
		w.change(a, factories.AutomationChange{Enabled: ref(false)})
		want("disabled")
		w.change(a, factories.AutomationChange{Enabled: ref(true)})
		want("enabled", "0 13 * * *", "0 14 * * *")
		w.automateAt(f.UID, timedAutomation("b", "@daily"))
		want("another", "0 13 * * *", "0 14 * * *", "@daily")
		wantCode(w, w.s.DeleteAutomation(w.Context(), w.admin, f.UID, a.UID), "")
		want("deleted", "@daily")
		wantCode(w, w.s.DeleteFactory(w.Context(), w.admin, f.UID), "")
		want("no factory")
	})
}

// A schedule with a name stays the same one when its cron expression changes; under another
// name it is another one.
func TestF6NamedSchedulesKeepTheirTimer(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f := w.factory("f", "")
		named := func(name, cron string) []lineshaft.Trigger {
			list := timedAutomation("", cron).Triggers
			list[0].Schedule.Name = name
			return list
		}
		owner := func() string {
			return must[[]store.Timer](w.bench)(w.store.ListTimers(w.Context(), f.UID))[0].Owner
		}
		made := timedAutomation("a", "@daily")
		made.Triggers = named("night", "@daily")
		a := w.automateAt(f.UID, made)
		first := owner()
		w.change(a, factories.AutomationChange{Triggers: named("night", "@hourly")})
		if owner() != first || !slices.Equal(w.crons(f.UID), []string{"@hourly"}) {
			w.Errorf("another cron made another schedule: %s, was %s", owner(), first)
		}
		w.change(a, factories.AutomationChange{Triggers: named("day", "@hourly")})
		if owner() == first {
			w.Error("another name is still the same schedule")
		}
	})
}

func TestF6AnAutomationFires(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f := w.factory("f", "")
		for _, name := range []string{"OWN", "AGENT", "FACTORY"} {
			must[lineshaft.Secret](w.bench)(w.s.CreateSecret(w.Context(), w.admin, lineshaft.Secret{Name: name, Access: lineshaft.AccessGranted}, "value of "+name))
		}
		var agentUID string
		w.write(func(ctx context.Context, tx *store.Tx) error {
			agents, err := tx.ListAgents(ctx, f.UID)
			if err != nil {
				return err
			}
			agents[0].Prompt, agents[0].Config = "You are thorough.", lineshaft.AgentConfig{ModelID: "m", Secrets: []string{"AGENT"}}
			agentUID = agents[0].UID
			shared := *f
			shared.Secrets = []string{"FACTORY"}
			return errors.Join(tx.PutAgent(ctx, agents[0]), tx.UpdateFactory(ctx, shared))
		})
		n := timedAutomation("tidy", "0 12 * * *")
		n.Triggers[0].Schedule.Timezone = "Europe/Berlin"
		n.Config.Secrets = []string{"OWN"}
		a := w.automateAt(f.UID, n)
		if w.to("2026-06-01 12:00") != 0 || w.to("2026-06-02 10:00") != 1 { // today's noon was at ten
			w.Fatalf("%d runs", len(w.runs()))
		}
		run := w.runs()[0]
		if run.Title != "tidy" || run.Source != lineshaft.SourceSchedule || run.FactoryUID != f.UID || run.AgentUID != agentUID || run.Config.Name != "tidy" ||
			run.Config.ModelID != "m" || run.Config.BasePrompt != "You are thorough." || run.Metadata[lineshaft.MetadataAutomation] != a.UID ||
			run.Creator.UID != "automation_"+a.UID || run.ScheduleID != "automation/"+a.UID {
			w.Fatalf("%+v", run)
		}
		if want := "tidy up\n\n(Started by its schedule \"0 12 * * *\" for 2026-06-02T12:00, Europe/Berlin.)"; run.Prompt != want {
			w.Errorf("the prompt is %q", run.Prompt)
		}
		if want := (lineshaft.FiredBy{ScheduleID: "automation/" + a.UID, Name: "tidy", Cron: "0 12 * * *", Slot: "2026-06-02T12:00"}); *run.FiredBy != want {
			w.Errorf("fired by %+v", run.FiredBy)
		}
		jobs := w.claim(1)
		for _, name := range []string{"OWN", "FACTORY"} {
			if len(jobs) != 1 || jobs[0].Secrets[name] != "value of "+name || len(jobs[0].Secrets) != 2 {
				w.Errorf("the run has %v, not %s", jobs, name)
			}
		}
	})
}

// What keeps a delivery from starting a run keeps a schedule from it, and is reported.
func TestF6AnAutomationThatDoesNotStart(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f := w.factory("f", "")
		var list []*lineshaft.Automation
		for name, change := range map[string]func(n *lineshaft.Automation){
			"no payload": func(n *lineshaft.Automation) {
				n.Config.Concurrency = &lineshaft.Concurrency{Key: "{{payload.x}}"}
				n.Triggers = append(n.Triggers, lineshaft.Trigger{Provider: "github", Event: "push"}) // which has one
			},
			"brake": func(n *lineshaft.Automation) { n.MaxRunsPerHour = 1 },
			"skip":  func(n *lineshaft.Automation) { n.Triggers[0].Schedule.Overlap = lineshaft.OverlapSkip },
			"good":  func(*lineshaft.Automation) {},
		} {
			n := timedAutomation(name, "*/10 * * * *")
			change(&n)
			list = append(list, w.automateAt(f.UID, n))
		}
		w.to("2026-06-01 10:10")
		w.to("2026-06-01 10:20")
		count := map[string]int{}
		for _, run := range w.runs() {
			if count[run.Title]++; run.State == lineshaft.Cancelled {
				count[run.Title+" skipped"]++
			}
		}
		if count["good"] != 2 || count["brake"] != 1 || count["no payload"] != 0 || count["skip"] != 2 || count["skip skipped"] != 1 {
			w.Errorf("there are %v", count)
		}
		reasons := map[string]string{"no payload": "needs a payload", "brake": "at most 1 runs per hour"}
		for _, a := range list {
			told := ""
			for _, e := range w.audits(a.UID) {
				if e.Action == "automation.fire_failed" {
					told += e.Detail["reason"] + e.Detail["slot"]
				}
			}
			if want := reasons[a.Name]; want == "" && told != "" || !strings.Contains(told, want) {
				w.Errorf("%s: the audit log says %q", a.Name, told)
			}
		}
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, f.UID, factories.FactoryChange{Paused: ref(true)}))
		if before := len(w.runs()); w.to("2026-06-01 10:30") != before {
			w.Error("a paused factory starts runs")
		}
		w.write(func(ctx context.Context, tx *store.Tx) error {
			agents, err := tx.ListAgents(ctx, f.UID)
			return errors.Join(err, tx.DeleteAgent(ctx, agents[0].UID))
		})
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, f.UID, factories.FactoryChange{Paused: ref(false)}))
		if before := len(w.runs()); w.to("2026-06-01 10:40") != before {
			w.Error("runs start without an agent")
		}
	})
}

func TestF6BadTriggersAreRefused(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f := w.factory("f", "")
		good := w.automateAt(f.UID, timedAutomation("good", "@daily", "@hourly"))
		for field, timing := range map[string]lineshaft.Timing{
			"triggers[1].schedule.cron":     {Cron: "0 0 30 2 *"},
			"triggers[1].schedule.timezone": {Cron: "@daily", Timezone: "Mars/Olympus"},
			"triggers[1].schedule.overlap":  {Cron: "@daily", Overlap: lineshaft.OverlapQueue},
		} {
			n := timedAutomation("bad", "@daily")
			n.Triggers = append(n.Triggers, cronTriggers(timing)...)
			n.Config.Concurrency = &lineshaft.Concurrency{Key: "k"}
			_, created := w.s.CreateAutomation(w.Context(), w.admin, f.UID, n)
			_, updated := w.s.UpdateAutomation(w.Context(), w.admin, f.UID, good.UID, factories.AutomationChange{Triggers: n.Triggers, Concurrency: n.Config.Concurrency})
			for _, err := range []error{created, updated} {
				if public, ok := errors.AsType[*lineshaft.Error](err); !ok || public.Code != lineshaft.CodeInvalidRequest || public.Field != field {
					w.Errorf("%v, want an error of %s", err, field)
				}
			}
		}
	})
}

// Changes of a factory and fires of its timers meet: none waits for the other in a
// circle, and no slot is lost or doubled.
func TestF6FiresMeetChanges(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f := w.factory("f", "")
		var list []*lineshaft.Automation
		for _, name := range []string{"a", "b", "c"} {
			n := timedAutomation(name, "* * * * *", "*/2 * * * *")
			n.Config.Concurrency = &lineshaft.Concurrency{Key: "shared", Policy: lineshaft.PolicyQueue}
			list = append(list, w.automateAt(f.UID, n))
		}
		one := daily("s")
		one.Timing.Cron, one.Timing.Overlap = "* * * * *", lineshaft.OverlapQueue
		made := w.schedule(one)
		steps := longRounds(200)
		for range steps {
			w.at.set(w.at.now().Add(60_000_000_000))
			together(5, func(who int) {
				var err error
				switch who {
				case 0, 1:
					_, err = w.s.FireDue(w.Context())
				case 2:
					_, err = w.s.UpdateAutomation(w.Context(), w.admin, f.UID, list[0].UID, factories.AutomationChange{Prompt: ref("p")})
				case 3:
					_, err = w.s.UpdateAutomation(w.Context(), w.admin, f.UID, list[1].UID, factories.AutomationChange{Triggers: list[1].Triggers})
				case 4:
					_, err = w.s.UpdateSchedule(w.Context(), w.admin, made.ID, one)
				}
				if err != nil {
					w.Error(err)
				}
			})
			w.fire()
		}
		count := map[string]int{}
		for _, run := range w.runs() {
			count[run.Title]++
			if count[run.Title+run.FiredBy.Cron+run.FiredBy.Slot]++; count[run.Title+run.FiredBy.Cron+run.FiredBy.Slot] > 1 {
				w.Errorf("%s fired twice for %s", run.Title, run.FiredBy.Slot)
			}
		}
		for _, name := range []string{"a", "b", "c"} {
			if want := steps + steps/2; count[name] != want {
				w.Errorf("%s has %d runs, want %d", name, count[name], want)
			}
		}
		if count["s"] != steps {
			w.Errorf("the schedule has %d runs, want %d", count["s"], steps)
		}
		if n := w.store.Deadlocks(); n > 0 {
			w.Errorf("%d transactions waited for each other in a circle", n)
		}
	})
}
