package control_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// stopped is a clock that only a test moves.
type stopped struct{ at atomic.Int64 }

func (c *stopped) now() time.Time  { return time.UnixMicro(c.at.Load()).UTC() }
func (c *stopped) set(t time.Time) { c.at.Store(t.UnixMicro()) }

// timing is a bench whose schedules go by a stopped clock.
type timing struct {
	*bench
	at       *stopped
	database string
}

// eachTimed runs fn on every engine at ten o'clock on the first of June 2026, UTC.
func eachTimed(t *testing.T, fn func(w *timing)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		at := &stopped{}
		at.set(time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC))
		fn(&timing{bench: open(t, database, func(cfg *base.Config) { cfg.Clock = at.now }), at: at, database: database})
	})
}

// to moves the clock to a time and fires what is due; it returns how many runs
// there are after that.
func (w *timing) to(clock string) int {
	w.Helper()
	at, err := time.Parse("2006-01-02 15:04", clock)
	if err != nil {
		w.Fatal(err)
	}
	w.at.set(at)
	w.fire()
	return len(w.runs())
}

func (w *timing) fire() {
	w.Helper()
	for n := 1; n > 0; {
		n = must[int](w.bench)(w.s.FireDue(w.Context()))
	}
}

// runs are all runs, oldest first.
func (w *timing) runs() []*lineshaft.Run {
	w.Helper()
	var all []*lineshaft.Run
	q := lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 500}
	for {
		page := must[lineshaft.RunPage](w.bench)(w.s.ListRuns(w.Context(), w.admin, q))
		for i := range page.Runs {
			all = append(all, &page.Runs[i])
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Reverse(all)
			return all
		}
	}
}

func daily(name string) trigger.NewSchedule {
	return trigger.NewSchedule{Name: name, Timing: lineshaft.Timing{Cron: "0 12 * * *"}, Enabled: true, Prompt: "look around"}
}

func (w *timing) schedule(n trigger.NewSchedule) *lineshaft.Schedule {
	w.Helper()
	return must[*lineshaft.Schedule](w.bench)(w.s.CreateSchedule(w.Context(), w.admin, n))
}

func (w *timing) get(id string) *lineshaft.Schedule {
	w.Helper()
	return must[*lineshaft.Schedule](w.bench)(w.s.GetSchedule(w.Context(), w.admin, id))
}

func TestF9AScheduleFromBeginningToEnd(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		n := daily("Watch")
		n.Config, n.Metadata = lineshaft.AgentConfig{ModelID: "m1", WorkerHost: "box"}, map[string]string{"team": "web"}
		made := w.schedule(n)
		if !made.NextRun.Equal(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)) || !made.LastRun.IsZero() || made.Creator.UID != w.admin.Principal.UID || made.Editor.UID != made.Creator.UID {
			w.Fatalf("%+v", made)
		}
		if w.to("2026-06-01 11:59") != 0 || w.to("2026-06-01 12:00") != 1 || w.to("2026-06-01 12:30") != 1 {
			w.Fatal("it fires at another time")
		}
		run := w.runs()[0]
		if run.Title != "Watch" || run.Prompt != "look around" || run.Source != lineshaft.SourceSchedule || run.ScheduleID != made.ID || run.Config.ModelID != "m1" ||
			run.Config.WorkerHost != "box" || run.Metadata["team"] != "web" || run.State != lineshaft.Queued {
			w.Fatalf("%+v", run)
		}
		if want := (lineshaft.FiredBy{ScheduleID: made.ID, Name: "Watch", Cron: "0 12 * * *", Slot: "2026-06-01T12:00"}); run.FiredBy == nil || *run.FiredBy != want {
			w.Fatalf("fired by %+v", run.FiredBy)
		}
		if run.Creator.UID != "schedule_"+made.ID || run.Creator.Type != lineshaft.ServiceAccount || run.Creator.DisplayName != "Watch" {
			w.Fatalf("made by %+v", run.Creator)
		}
		if found := w.list(lineshaft.RunFilter{ScheduleID: made.ID}); len(found) != 1 {
			w.Errorf("the filter finds %v", found)
		}
		if got := w.get(made.ID); !got.LastRun.Equal(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)) || !got.NextRun.Equal(time.Date(2026, 6, 2, 12, 0, 0, 0, time.UTC)) {
			w.Errorf("%+v", got)
		}
		n.Name, n.Prompt, n.Metadata = "Watch more", "look closely", nil
		changed := must[*lineshaft.Schedule](w.bench)(w.s.UpdateSchedule(w.Context(), w.admin, made.ID, n))
		if changed.Name != "Watch more" || changed.Metadata != nil || changed.LastRun.IsZero() || changed.NextRun.Day() != 2 {
			w.Errorf("%+v", changed)
		}
		if w.to("2026-06-02 12:00") != 2 || w.runs()[1].Prompt != "look closely" || w.runs()[0].Creator.DisplayName != "Watch more" || w.runs()[0].FiredBy.Name != "Watch" {
			w.Errorf("after the change: %+v", w.runs())
		}
		wantCode(w, w.s.DeleteSchedule(w.Context(), w.admin, made.ID), "")
		if w.to("2026-06-05 12:00") != 2 {
			w.Error("it fires after its end")
		}
		_, err := w.s.GetSchedule(w.Context(), w.admin, made.ID)
		wantCode(w, err, lineshaft.CodeNotFound)
		wantCode(w, w.s.DeleteSchedule(w.Context(), w.admin, made.ID), lineshaft.CodeNotFound)
		if got := w.actions(made.ID); !slices.Equal(got, []string{"schedule.create", "schedule.update", "schedule.delete"}) {
			w.Errorf("the audit log has %v", got)
		}
	})
}

func TestF9PauseAndResume(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		hourly := daily("h")
		hourly.Timing.Cron = "@hourly"
		made := w.schedule(hourly)
		paused := must[*lineshaft.Schedule](w.bench)(w.s.SetScheduleEnabled(w.Context(), w.admin, made.ID, false))
		if paused.Enabled || !paused.NextRun.IsZero() {
			w.Fatalf("%+v", paused)
		}
		if w.to("2026-06-03 10:30") != 0 {
			w.Fatal("a paused schedule fires")
		}
		resumed := must[*lineshaft.Schedule](w.bench)(w.s.SetScheduleEnabled(w.Context(), w.admin, made.ID, true))
		if !resumed.Enabled || resumed.NextRun.Hour() != 11 {
			w.Fatalf("%+v", resumed)
		}
		if w.to("2026-06-03 10:59") != 0 || w.to("2026-06-03 11:00") != 1 {
			w.Fatal("what was missed in the pause is made up")
		}
		// Resumed twice, and replaced with the same, it keeps its time.
		w.at.set(time.Date(2026, 6, 3, 12, 30, 0, 0, time.UTC)) // a fire is due
		must[*lineshaft.Schedule](w.bench)(w.s.SetScheduleEnabled(w.Context(), w.admin, made.ID, true))
		must[*lineshaft.Schedule](w.bench)(w.s.UpdateSchedule(w.Context(), w.admin, made.ID, hourly))
		if w.to("2026-06-03 12:31") != 2 {
			w.Error("a change that says nothing of the time has lost a fire")
		}
		// Another cron counts from now on.
		w.at.set(time.Date(2026, 6, 3, 13, 30, 0, 0, time.UTC))
		hourly.Timing.Cron = "15 * * * *"
		if got := must[*lineshaft.Schedule](w.bench)(w.s.UpdateSchedule(w.Context(), w.admin, made.ID, hourly)); got.NextRun.Hour() != 14 || got.NextRun.Minute() != 15 {
			w.Errorf("%+v", got)
		}
		if w.to("2026-06-03 13:31") != 2 || w.to("2026-06-03 14:15") != 3 {
			w.Error("the new cron fires at another time")
		}
		created := daily("later")
		created.Enabled = false
		if got := w.schedule(created); got.Enabled || !got.NextRun.IsZero() {
			w.Errorf("made disabled: %+v", got)
		}
		_, err := w.s.SetScheduleEnabled(w.Context(), w.admin, "nobody", true)
		wantCode(w, err, lineshaft.CodeNotFound)
		_, err = w.s.UpdateSchedule(w.Context(), w.admin, "nobody", hourly)
		wantCode(w, err, lineshaft.CodeNotFound)
	})
}

func TestF9BadSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		good := w.schedule(daily("good"))
		for name, test := range map[string]struct {
			field  string
			change func(n *trigger.NewSchedule)
		}{
			"name":        {"name", func(n *trigger.NewSchedule) { n.Name = " " }},
			"prompt":      {"prompt", func(n *trigger.NewSchedule) { n.Prompt = "" }},
			"cron":        {"cron_schedule", func(n *trigger.NewSchedule) { n.Timing.Cron = "0 25 * * *" }},
			"no cron":     {"cron_schedule", func(n *trigger.NewSchedule) { n.Timing.Cron = "" }},
			"never":       {"cron_schedule", func(n *trigger.NewSchedule) { n.Timing.Cron = "0 0 31 2 *" }},
			"zone":        {"timezone", func(n *trigger.NewSchedule) { n.Timing.Timezone = "Berlin" }},
			"overlap":     {"overlap", func(n *trigger.NewSchedule) { n.Timing.Overlap = "perhaps" }},
			"agent":       {"agent_uid", func(n *trigger.NewSchedule) { n.AgentUID = "0190f4f8-0000-7000-8000-000000000000" }},
			"environment": {"agent_config.environment_id", func(n *trigger.NewSchedule) { n.Config.EnvironmentID = "0190f4f8-0000-7000-8000-000000000000" }},
			"secret":      {"agent_config.secrets", func(n *trigger.NewSchedule) { n.Config.Secrets = []string{"NONE"} }},
			"metadata":    {"metadata", func(n *trigger.NewSchedule) { n.Metadata = map[string]string{"ä": "x"} }},
			"two rules": {"overlap", func(n *trigger.NewSchedule) {
				n.Timing.Overlap, n.Config.Concurrency = lineshaft.OverlapSkip, &lineshaft.Concurrency{Key: "k"}
			}},
		} {
			n := daily("bad")
			test.change(&n)
			_, created := w.s.CreateSchedule(w.Context(), w.admin, n)
			_, updated := w.s.UpdateSchedule(w.Context(), w.admin, good.ID, n)
			for _, err := range []error{created, updated} {
				if public, ok := errors.AsType[*lineshaft.Error](err); !ok || public.Code != lineshaft.CodeInvalidRequest || public.Field != test.field {
					w.Errorf("%s: %v, want an error of %s", name, err, test.field)
				}
			}
		}
		if all := must[base.Page[lineshaft.Schedule]](w.bench)(w.s.ListSchedules(w.Context(), w.admin, "", base.MaxPage, "")).Items; len(all) != 1 || all[0].Name != "good" {
			w.Errorf("there are %+v", all)
		}
	})
}

// Secrets of a schedule are named by the run's own request: those for definitions
// only are not for it.
func TestF9SecretsOfASchedule(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		for name, access := range map[string]lineshaft.SecretAccess{"FREE": lineshaft.AccessRuns, "GRANTED": lineshaft.AccessGranted} {
			must[lineshaft.Secret](w.bench)(w.s.CreateSecret(w.Context(), w.admin, lineshaft.Secret{Name: name, Access: access}, "a value of these tests"))
		}
		n := daily("s")
		n.Config.Secrets = []string{"GRANTED"}
		_, err := w.s.CreateSchedule(w.Context(), w.admin, n)
		wantCode(w, err, lineshaft.CodeNotAuthorized)
		n.Config.Secrets = []string{"FREE"}
		w.schedule(n)
		w.to("2026-06-01 12:00")
		if jobs := w.claim(5); len(jobs) != 1 || jobs[0].Secrets["FREE"] == "" || jobs[0].Fault != "" {
			w.Errorf("%+v", jobs)
		}
	})
}

func TestS3SchedulesOfLimitedKeys(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		mine, other := w.factory("mine", ""), w.factory("other", "")
		limited := w.caller(lineshaft.RoleManager, mine.UID)
		agent := func(f *lineshaft.Factory) string {
			return must[[]lineshaft.Agent](w.bench)(w.store.ListAgents(w.Context(), f.UID))[0].UID
		}
		free, inside, outside := daily("free"), daily("inside"), daily("outside")
		inside.AgentUID, outside.AgentUID = agent(mine), agent(other)
		_, err := w.s.CreateSchedule(w.Context(), limited, free)
		wantCode(w, err, lineshaft.CodeNotAuthorized)
		_, err = w.s.CreateSchedule(w.Context(), limited, outside)
		wantCode(w, err, lineshaft.CodeInvalidRequest)
		made := must[*lineshaft.Schedule](w.bench)(w.s.CreateSchedule(w.Context(), limited, inside))
		hidden := []string{w.schedule(free).ID, w.schedule(outside).ID}
		all := must[base.Page[lineshaft.Schedule]](w.bench)(w.s.ListSchedules(w.Context(), limited, "", base.MaxPage, "")).Items
		if len(all) != 1 || all[0].ID != made.ID {
			w.Errorf("it sees %+v", all)
		}
		for _, id := range hidden {
			_, get := w.s.GetSchedule(w.Context(), limited, id)
			_, put := w.s.UpdateSchedule(w.Context(), limited, id, inside)
			_, pause := w.s.SetScheduleEnabled(w.Context(), limited, id, false)
			for _, err := range []error{get, put, pause, w.s.DeleteSchedule(w.Context(), limited, id)} {
				wantCode(w, err, lineshaft.CodeNotFound)
			}
		}
		_, err = w.s.UpdateSchedule(w.Context(), limited, made.ID, outside)
		wantCode(w, err, lineshaft.CodeInvalidRequest)
		if w.to("2026-06-01 12:00") != 3 {
			w.Fatalf("%d runs", len(w.runs()))
		}
		for _, run := range w.runs() {
			want := map[string]string{"free": "", "inside": mine.UID, "outside": other.UID}[run.Title]
			if run.FactoryUID != want || (run.AgentUID == "") != (want == "") {
				w.Errorf("%s is of factory %q, agent %q", run.Title, run.FactoryUID, run.AgentUID)
			}
		}
	})
}

// Why a fire started nothing is shown until one does.
func TestF9LastSpawnError(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f := w.factory("f", "")
		n := daily("s")
		n.AgentUID = must[[]lineshaft.Agent](w.bench)(w.store.ListAgents(w.Context(), f.UID))[0].UID
		made := w.schedule(n)
		set := func(paused bool) {
			must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, f.UID, factories.FactoryChange{Paused: &paused}))
		}
		set(true)
		if w.to("2026-06-01 12:00") != 0 || !strings.Contains(w.get(made.ID).LastError, "paused") || !w.get(made.ID).LastRun.IsZero() {
			w.Fatalf("%+v", w.get(made.ID))
		}
		set(false)
		if w.to("2026-06-01 12:10") != 0 || w.to("2026-06-02 12:00") != 1 || w.get(made.ID).LastError != "" {
			w.Fatalf("%+v", w.get(made.ID))
		}
		w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAgent(ctx, n.AgentUID) })
		if w.to("2026-06-03 12:00") != 1 || !strings.Contains(w.get(made.ID).LastError, "no agent") || w.get(made.ID).NextRun.Day() != 4 {
			w.Fatalf("%+v", w.get(made.ID))
		}
		wantCode(w, w.s.DeleteFactory(w.Context(), w.admin, f.UID), "")
		if w.to("2026-06-04 12:00") != 1 || w.get(made.ID).LastError == "" {
			w.Fatalf("%+v", w.get(made.ID))
		}
	})
}
