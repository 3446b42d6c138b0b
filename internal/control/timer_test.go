package control_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// Slots that were missed while the server was down run once, for the newest slot.
func TestF6MissedFiresRunOnce(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		for i, cron := range []string{"*/5 * * * *", "@every 45m", "0 12 * * *"} {
			n := daily(fmt.Sprint(i))
			n.Timing.Cron = cron
			w.schedule(n)
		}
		if w.to("2026-06-11 11:33") != 3 {
			w.Fatalf("%d runs", len(w.runs()))
		}
		for _, run := range w.runs() {
			want := map[string]string{"0": "2026-06-11T11:30", "1": "2026-06-11T11:30:00Z", "2": "2026-06-10T12:00"}[run.Title]
			if run.FiredBy.Slot != want {
				w.Errorf("%s is for %s, want %s", run.FiredBy.Cron, run.FiredBy.Slot, want)
			}
		}
		if w.to("2026-06-11 11:35") != 4 {
			w.Error("then it does not go on as before")
		}
	})
}

// A clock that is set back fires nothing again, whatever the timers say.
func TestF6AClockSetBackFiresNothingAgain(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		n := daily("h")
		n.Timing.Cron = "@hourly"
		made := w.schedule(n)
		w.to("2026-06-01 11:00")
		if w.to("2026-06-01 12:00") != 2 {
			w.Fatal("it does not fire")
		}
		w.at.set(time.Date(2026, 6, 1, 10, 30, 0, 0, time.UTC))
		for _, enabled := range []bool{false, true} { // now its timer begins at 11 again
			must[*lineshaft.Schedule](w.bench)(w.s.SetScheduleEnabled(w.Context(), w.admin, made.ID, enabled))
		}
		if w.to("2026-06-01 11:00") != 2 || w.to("2026-06-01 12:00") != 2 {
			w.Error("slots fire again")
		}
		if w.to("2026-06-01 13:00") != 3 {
			w.Error("it does not go on")
		}
	})
}

func TestF6OverlapOfRuns(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		for _, overlap := range []lineshaft.Overlap{lineshaft.OverlapAllow, lineshaft.OverlapSkip, lineshaft.OverlapQueue} {
			n := daily("overlap " + string(overlap))
			n.Timing.Cron, n.Timing.Overlap, n.Config.WorkerHost = "@hourly", overlap, "host-"+string(overlap)
			w.schedule(n)
		}
		w.to("2026-06-01 11:00")
		job := map[string]lineshaft.Job{}
		for _, host := range []string{"host-", "host-skip", "host-queue"} {
			jobs := w.claimFor(host, 5)
			if len(jobs) != 1 {
				w.Fatalf("%d jobs for %s", len(jobs), host)
			}
			w.begin(jobs[0])
			job[host] = jobs[0]
		}
		if w.to("2026-06-01 12:00") != 6 {
			w.Fatalf("%d runs", len(w.runs()))
		}
		for _, run := range w.runs()[3:] {
			skipped := strings.HasPrefix(run.Status.Message, "skipped")
			if want := run.Title == "overlap skip"; skipped != want || want != (run.State == lineshaft.Cancelled) {
				w.Errorf("%s: %s, %s", run.Title, run.State, run.Status.Message)
			}
		}
		if jobs := w.claimable("host-"); len(jobs) != 1 {
			w.Errorf("without a policy %d runs can go on beside the first", len(jobs))
		}
		if jobs := w.claimable("host-queue"); len(jobs) != 0 {
			w.Errorf("%d runs do not wait", len(jobs))
		}
		w.end(job["host-queue"], lineshaft.Succeeded)
		w.end(job["host-skip"], lineshaft.Succeeded)
		if jobs := w.claimable("host-queue"); len(jobs) != 1 {
			w.Errorf("%d runs go on when the first has ended", len(jobs))
		}
		w.to("2026-06-01 13:00")
		if jobs := w.claimable("host-skip"); len(jobs) != 1 {
			w.Errorf("%d runs start after the one that was skipped", len(jobs))
		}
	})
}

// poison makes every insert or update that meets a condition fail in the database.
func (w *timing) poison(name, event, table, when string) {
	w.Helper()
	if !store.IsPostgres(w.database) {
		storetest.Exec(w.T, w.database, "CREATE TRIGGER "+name+" BEFORE "+event+" ON "+table+" WHEN "+when+" BEGIN SELECT RAISE(ABORT, 'poison'); END")
		return
	}
	storetest.Exec(w.T, w.database,
		"CREATE FUNCTION "+name+"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poison'; END $$",
		"CREATE TRIGGER "+name+" BEFORE "+event+" ON "+table+" FOR EACH ROW WHEN ("+when+") EXECUTE FUNCTION "+name+"()")
}

func (w *timing) cure(name, table string) {
	w.Helper()
	on := ""
	if store.IsPostgres(w.database) {
		on = " ON " + table
	}
	storetest.Exec(w.T, w.database, "DROP TRIGGER "+name+on)
}

// One timer whose run cannot be written, for whatever reason, holds up nobody.
func TestF6OneFailingTimerHoldsUpNobody(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		var bad *lineshaft.Schedule
		for i := range 8 {
			n := daily(fmt.Sprintf("s%d", i))
			if i == 3 {
				n.Name = "poison"
				bad = w.schedule(n)
				continue
			}
			w.schedule(n)
		}
		w.poison("bad_run", "INSERT", "runs", "NEW.title = 'poison'")
		if w.to("2026-06-01 12:00") != 7 {
			w.Fatalf("%d runs", len(w.runs()))
		}
		if got := w.get(bad.ID); !strings.Contains(got.LastError, "log says why") || strings.Contains(got.LastError, "poison") || got.NextRun.Day() != 2 {
			w.Errorf("%+v", got)
		}
		w.cure("bad_run", "runs")
		if w.to("2026-06-02 12:00") != 15 || w.get(bad.ID).LastError != "" {
			w.Errorf("%d runs, %+v", len(w.runs()), w.get(bad.ID))
		}
	})
}

// When the transaction breaks after the run was written, there is no run; and the
// slot is not lost.
func TestF6ABrokenTransactionLeavesNothing(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		made := w.schedule(daily("s"))
		w.poison("stuck", "UPDATE", "timers", "NEW.slot <> ''")
		w.at.set(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
		for range 3 {
			if _, err := w.s.FireDue(w.Context()); err == nil {
				w.Error("nobody is told")
			}
			if len(w.runs()) != 0 || w.get(made.ID).NextRun.Hour() != 12 {
				w.Fatalf("%d runs are left, next is %s", len(w.runs()), w.get(made.ID).NextRun)
			}
		}
		w.cure("stuck", "timers")
		w.fire()
		if runs := w.runs(); len(runs) != 1 || runs[0].FiredBy.Slot != "2026-06-01T12:00" {
			w.Errorf("%+v", runs)
		}
	})
}

// Fires are forgotten after a while, but not those of the last days.
func TestF6OldFiresArePurged(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		made := w.schedule(daily("s"))
		for day := 1; day <= 20; day++ {
			w.to(fmt.Sprintf("2026-06-%02d 12:00", day))
		}
		wantCode(w, w.s.Purge(w.Context()), "")
		for slot, kept := range map[string]bool{"2026-06-01T12:00": false, "2026-06-12T12:00": false, "2026-06-17T12:00": true, "2026-06-20T12:00": true} {
			var forgotten bool
			wantCode(w, w.store.Write(w.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
				forgotten, err = tx.ClaimFire(ctx, "schedule/"+made.ID, slot, time.Now())
				return err
			}), "")
			if forgotten == kept {
				w.Errorf("slot %s: forgotten: %t", slot, forgotten)
			}
		}
	})
}

// Without a clock of its own the service goes by the database's.
func TestF6TheClockIsTheDatabases(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		n := daily("s")
		n.Timing.Cron = "@every 1m"
		began := time.Now()
		made := must[*lineshaft.Schedule](b)(b.s.CreateSchedule(b.Context(), b.admin, n))
		if next := made.NextRun; next.Before(began.Add(50*time.Second)) || next.After(time.Now().Add(70*time.Second)) {
			b.Errorf("the next run is in %s", time.Until(next))
		}
		b.clock.advance(time.Hour) // of the process
		if fired := must[int](b)(b.s.FireDue(b.Context())); fired != 0 {
			b.Errorf("%d timers fired", fired)
		}
	})
}

// schedules are triggers of an automation.
func cronTriggers(timings ...lineshaft.Timing) []lineshaft.Trigger {
	var list []lineshaft.Trigger
	for _, timing := range timings {
		list = append(list, lineshaft.Trigger{Provider: lineshaft.ProviderSchedule, Event: lineshaft.EventCronFired, Schedule: &timing})
	}
	return list
}

func timedAutomation(name string, crons ...string) lineshaft.Automation {
	var timings []lineshaft.Timing
	for _, cron := range crons {
		timings = append(timings, lineshaft.Timing{Cron: cron})
	}
	return lineshaft.Automation{Name: name, Prompt: "tidy up", Enabled: true, Triggers: cronTriggers(timings...)}
}
