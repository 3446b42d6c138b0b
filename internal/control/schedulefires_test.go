package control_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

func stamps(times []time.Time) string {
	var list []string
	for _, at := range times {
		list = append(list, at.Format("2006-01-02T15:04-07:00"))
	}
	return strings.Join(list, " ")
}

// The times that are shown are those that fire, by the clock of their zone, also over
// the night when clocks are changed.
func TestF6NextFiresAreToldInTheirZone(t *testing.T) {
	t.Parallel()
	berlin := lineshaft.Timing{Cron: "30 2 * * *", Timezone: "Europe/Berlin"}
	first := time.Date(2026, 10, 24, 0, 30, 0, 0, time.UTC)
	for want, got := range map[string][]time.Time{
		"2026-10-24T02:30+02:00 2026-10-25T02:30+02:00 2026-10-26T02:30+01:00": trigger.NextFires(berlin, first, 3),
		"2026-10-24T00:30+00:00 2026-10-24T06:30+00:00":                        trigger.NextFires(lineshaft.Timing{Cron: "@every 6h"}, first, 2),
		"": slices.Concat(trigger.NextFires(berlin, time.Time{}, 3), trigger.NextFires(lineshaft.Timing{Cron: "x"}, first, 3), trigger.NextFires(berlin, first, 0)),
	} {
		if stamps(got) != want {
			t.Errorf("%s, want %s", stamps(got), want)
		}
	}
}

func TestF6PreviewIsWhatASavedScheduleDoes(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		for _, timing := range []lineshaft.Timing{{Cron: "0 9 * * 1-5", Timezone: "Asia/Tokyo"}, {Cron: "@every 90m"}, {Cron: "@monthly"}} {
			preview := must[[]time.Time](w.bench)(w.s.PreviewFires(w.Context(), w.admin, timing, 3))
			made := w.schedule(trigger.NewSchedule{Name: "n", Timing: timing, Enabled: true, Prompt: "p"})
			if told := stamps(trigger.NextFires(made.Timing, made.NextRun, 3)); told != stamps(preview) || len(preview) != 3 {
				w.Errorf("%s: %s, then %s", timing.Cron, stamps(preview), told)
			}
		}
		for _, timing := range []lineshaft.Timing{{}, {Cron: "0 9"}, {Cron: "@daily", Timezone: "Berlin"}, {Cron: strings.Repeat("1", 300)}, {Cron: "0 0 30 2 *"}} {
			_, err := w.s.PreviewFires(w.Context(), w.admin, timing, 3)
			wantCode(w, err, lineshaft.CodeInvalidRequest)
		}
	})
}

func TestF6TimedAutomationsAreListed(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f, g := w.factory("f", ""), w.factory("g", "")
		late := w.automateAt(f.UID, timedAutomation("late", "0 13 * * *"))
		soon := w.automateAt(g.UID, timedAutomation("soon", "0 12 * * *"))
		names := func(c lineshaft.Caller) string {
			var list []string
			for _, one := range must[[]trigger.TimedAutomation](w.bench)(w.s.ListTimed(w.Context(), c)) {
				list = append(list, one.Factory+"/"+one.Automation+" "+one.Timing.Cron)
			}
			return strings.Join(list, ", ")
		}
		if got := names(w.admin); got != "g/soon 0 12 * * *, f/late 0 13 * * *" {
			w.Errorf("listed: %s", got)
		}
		if got := names(w.caller(lineshaft.RoleViewer, f.UID)); got != "f/late 0 13 * * *" {
			w.Errorf("to a key of f: %s", got)
		}
		w.change(late, factories.AutomationChange{Enabled: ref(false)})
		if got := names(w.admin); got != "g/soon 0 12 * * *" {
			w.Errorf("disabled: %s", got)
		}
		w.at.set(w.at.now().AddDate(0, 0, 1))
		must[int](w.bench)(w.s.FireDue(w.Context()))
		timed := must[[]trigger.TimedAutomation](w.bench)(w.s.ListTimed(w.Context(), w.admin))
		runs := must[map[string]trigger.ScheduledRun](w.bench)(w.s.NewestScheduled(w.Context(), w.admin, []string{timed[0].RunsID(), "none"}))
		if run, ok := runs[automationTimerOf(soon)]; !ok || len(runs) != 1 || run.Title != "soon" || run.FactoryUID != g.UID || run.State != lineshaft.Queued {
			w.Errorf("runs %+v", runs)
		}
		hidden := must[map[string]trigger.ScheduledRun](w.bench)(w.s.NewestScheduled(w.Context(), w.caller(lineshaft.RoleViewer, f.UID), []string{timed[0].RunsID()}))
		if len(hidden) != 0 {
			w.Errorf("a key of f sees %+v", hidden)
		}
	})
}

func automationTimerOf(a *lineshaft.Automation) string { return "automation/" + a.UID }
