package control_test

import (
	"context"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/store"
)

// at sets the clock of the store.
func (b *bench) at(t time.Time) { b.clock.offset.Store(int64(time.Until(t))) }

// halfPast is in the middle of an hour, so that a test that takes its time stays in it.
func halfPast() time.Time { return time.Date(2031, 5, 14, 12, 32, 0, 0, time.UTC) }

// past puts a run into the store that ended at a time. It waited a second and worked a minute.
func (b *bench) past(factory string, state lineshaft.RunState, at time.Time, code lineshaft.Code) string {
	b.Helper()
	id := b.inFactory(factory, lineshaft.NewRun{})
	b.write(func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, id)
		if err != nil {
			return err
		}
		made := b.run(id).CreatedAt
		h.State, h.Status.ErrorCode = state, code
		h.StartedAt, h.UpdatedAt, h.FinishedAt, h.RunTime = made.Add(time.Second), at, at, time.Minute
		return tx.SaveRun(ctx, h)
	})
	return id
}

func (b *bench) overview(c lineshaft.Caller, over overview.OverviewRange) *overview.Overview {
	b.Helper()
	return must[*overview.Overview](b)(b.s.Overview(b.Context(), c, over, ""))
}

// counts are the ends of each outcome: succeeded, failed, errored, cancelled.
func counts(p overview.Period) [4]int64 {
	return [4]int64{p.Succeeded, p.Failed, p.Errored, p.Cancelled}
}

// folded counts everything that has ended, and returns how much that was.
func (b *bench) folded() int {
	b.Helper()
	sum := 0
	for {
		n := must[int](b)(b.s.FoldRates(b.Context()))
		if sum += n; n == 0 {
			return sum
		}
	}
}

// edges puts runs on both sides of the edges of bars, and some elsewhere.
func (b *bench) edges(now time.Time) {
	hour := now.Truncate(time.Hour)
	b.past("f1", lineshaft.Succeeded, hour, "")
	b.past("f1", lineshaft.Failed, hour.Add(-time.Microsecond), lineshaft.CodeAgentProcessFailed)
	b.past("", lineshaft.Cancelled, now.Add(-time.Minute), "")
	b.past("", lineshaft.Errored, hour.Add(-23*time.Hour), lineshaft.CodeRunTimeout)
	b.past("f2", lineshaft.Succeeded, hour.Add(-23*time.Hour-time.Microsecond), "")
	b.past("f2", lineshaft.Failed, hour.Add(-6*24*time.Hour), lineshaft.CodeRunTimeout)
	b.past("f2", lineshaft.Failed, now.Add(-16*24*time.Hour), lineshaft.CodeRunTimeout) // long ago
}

func (b *bench) wantEdges(when string) {
	b.Helper()
	hour := halfPast().Truncate(time.Hour)
	day := b.overview(b.admin, overview.LastDay)
	bars := map[int][4]int64{0: {0, 0, 1, 0}, 22: {0, 1, 0, 0}, 23: {1, 0, 0, 1}}
	for i, bar := range day.Bars {
		if counts(bar) != bars[i] || !bar.From.Equal(hour.Add(time.Duration(i-23)*time.Hour)) || bar.Until.Sub(bar.From) != time.Hour {
			b.Errorf("%s, bar %d from %s: %v, want %v", when, i, bar.From, counts(bar), bars[i])
		}
	}
	if len(day.Bars) != 24 || counts(day.Total) != [4]int64{1, 1, 1, 1} || day.Total.Judged() != 3 || len(day.Reasons) != 2 {
		b.Errorf("%s, day: %d bars, %v, %v", when, len(day.Bars), counts(day.Total), day.Reasons)
	}
	week := b.overview(b.admin, overview.LastWeek)
	if len(week.Bars) != 28 || counts(week.Total) != [4]int64{2, 2, 1, 1} || counts(week.Bars[27]) != [4]int64{1, 0, 0, 1} || counts(week.Bars[26]) != [4]int64{0, 1, 0, 0} {
		b.Errorf("%s, week: %d bars, %v, last %v %v", when, len(week.Bars), counts(week.Total), counts(week.Bars[26]), counts(week.Bars[27]))
	}
	if week.Reasons[0] != (overview.Reason{Code: lineshaft.CodeAgentProcessFailed, Count: 1}) && week.Reasons[0].Count != 2 {
		b.Errorf("%s, reasons %v", when, week.Reasons)
	}
	last := b.overview(b.admin, overview.LastHour)
	if len(last.Bars) != 12 || counts(last.Total) != [4]int64{1, 1, 0, 1} || counts(last.Bars[5]) != [4]int64{1, 0, 0, 0} || counts(last.Bars[4]) != [4]int64{0, 1, 0, 0} {
		b.Errorf("%s, hour: %d bars, %v, %v %v", when, len(last.Bars), counts(last.Total), counts(last.Bars[4]), counts(last.Bars[5]))
	}
	for _, latency := range []struct {
		got  overview.Latency
		want time.Duration
	}{{day.Total.Start, time.Second}, {day.Total.Work, time.Minute}} {
		for _, d := range []time.Duration{latency.got.P50, latency.got.P95} {
			if latency.got.Count != 4 || d < latency.want*95/100 || d > latency.want*105/100 {
				b.Errorf("%s: %+v, want %s", when, latency.got, latency.want)
			}
		}
	}
	some := b.overview(b.caller(lineshaft.RoleViewer, "f1", "f3"), overview.LastDay)
	if counts(some.Total) != [4]int64{1, 1, 0, 0} || len(some.Reasons) != 1 {
		b.Errorf("%s, of f1 and f3: %v", when, counts(some.Total))
	}
}

func TestI2OverviewCountsEachEndInItsBar(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		now := halfPast()
		b.at(now)
		b.edges(now)
		b.wantEdges("before they are counted")
		if n := b.folded(); n != 6 {
			b.Errorf("%d ends counted, want 6: one is too old", n)
		}
		b.wantEdges("after they were counted")
		b.wantEdges("and again")
		if n := b.folded(); n != 0 {
			b.Errorf("%d ends counted twice", n)
		}
		wantCode(b, b.s.PurgeRates(b.Context()), "")
		b.wantEdges("after what is old was removed")
		// Nothing is left when it is out of every range.
		b.at(now.Add(16 * 24 * time.Hour))
		wantCode(b, b.s.PurgeRates(b.Context()), "")
		if week := b.overview(b.admin, overview.LastWeek); week.Total.Ended() != 0 || week.Unused {
			b.Errorf("later: %+v", week)
		}
	})
}

// The newest ends may still be on their way into the store: they are left to the next time.
func TestEndsAreCountedWhenTheyAreSettled(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		now := halfPast()
		b.at(now)
		b.past("", lineshaft.Succeeded, now.Add(-time.Minute), "")
		b.past("", lineshaft.Succeeded, now.Add(-5*time.Second), "")
		b.past("", lineshaft.Succeeded, now.Add(5*time.Minute), "") // a clock that is ahead
		want := func(when string, at time.Time, ended int64, fold int) {
			b.Helper()
			b.at(at) // what came before took as long as it took
			if n := b.folded(); n != fold {
				b.Errorf("%s: %d counted, want %d", when, n, fold)
			}
			if view := b.overview(b.admin, overview.LastHour); view.Total.Ended() != ended || view.Late {
				b.Errorf("%s: %d ended, want %d", when, view.Total.Ended(), ended)
			}
		}
		want("now", now, 3, 1)
		late := b.past("", lineshaft.Failed, now.Add(-20*time.Second), "") // its transaction took long
		want("one came late", now, 4, 0)
		want("a minute later", now.Add(time.Minute), 4, 2)
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, late), "")
		want("what is counted stays", now.Add(time.Minute), 4, 0)
		want("the clocks meet", now.Add(6*time.Minute), 4, 1)
	})
}

// However many nodes count, each end is counted once, and a node that was stopped for
// long catches up in steps.
func TestEndsAreCountedOnceByManyNodes(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		now := halfPast()
		b.at(now)
		const n = 1100
		b.write(func(ctx context.Context, tx *store.Tx) error {
			var runs []*store.NewRun
			for i := range n {
				id, at := b.store.NewID()
				runs = append(runs, &store.NewRun{Title: "t", Source: lineshaft.SourceAPI, CreatedAt: at, RootRunID: id, ConversationID: id, SessionID: id, Head: store.RunHead{RunLife: lineshaft.RunLife{
					ID: id, State: lineshaft.Succeeded, WorkerHost: lineshaft.HostedWorker, CreatorUID: b.admin.Principal.UID,
					UpdatedAt: at, QueuedAt: at, FinishedAt: now.Add(-time.Duration(i) * time.Minute),
				}}})
			}
			return tx.InsertRuns(ctx, runs)
		})
		b.at(now) // however long that took
		sums := make([]int, 4)
		together(len(sums), func(i int) { sums[i] = b.folded() })
		if sum := sums[0] + sums[1] + sums[2] + sums[3]; sum != n-1 { // one is of this minute
			b.Errorf("%v counted, want %d", sums, n-1)
		}
		if got := b.overview(b.admin, overview.LastDay).Total.Ended(); got != n {
			b.Errorf("%d ended, want %d", got, n)
		}
	})
}

// A run that is continued ends again: that counts, unless the first end was not yet
// counted when it was continued.
func TestRunThatEndsTwice(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.at(halfPast())
		runID, job := b.working(lineshaft.NewRun{})
		b.end(job, lineshaft.Failed)
		again := func(want int64) {
			b.Helper()
			b.followup(runID, "again")
			job := b.claimOne(lineshaft.HostedWorker, runID)
			b.begin(job)
			b.end(job, lineshaft.Succeeded)
			if got := b.overview(b.admin, overview.LastHour).Total.Ended(); got != want {
				b.Errorf("%d ended, want %d", got, want)
			}
		}
		again(1)
		b.clock.advance(time.Minute)
		if n := b.folded(); n != 1 {
			b.Fatalf("%d counted", n)
		}
		again(2)
		b.clock.advance(time.Minute)
		if n := b.folded(); n != 1 {
			b.Fatalf("%d counted", n)
		}
		if got := counts(b.overview(b.admin, overview.LastHour).Total); got != [4]int64{2, 0, 0, 0} {
			b.Errorf("%v", got)
		}
	})
}

func TestOverviewOfNothingAndForWhom(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		view := b.overview(b.admin, overview.LastDay)
		if !view.Unused || view.Late || len(view.Attention) != 0 || len(view.Bars) != 24 || len(view.Active) != 5 || view.Total.Start != (overview.Latency{}) {
			b.Errorf("%+v", view)
		}
		_, err := b.s.Overview(b.Context(), b.admin, "2h", "")
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		_, job := b.working(lineshaft.NewRun{})
		for _, c := range []lineshaft.Caller{must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken)), b.caller(lineshaft.RoleWorker)} {
			_, err = b.s.Overview(b.Context(), c, overview.LastDay, "")
			wantCode(b, err, lineshaft.CodeNotAuthorized)
		}
		b.past("f1", lineshaft.Succeeded, time.Now().Add(-30*24*time.Hour), "")
		if b.overview(b.admin, overview.LastDay).Unused || b.overview(b.caller(lineshaft.RoleViewer, "f1"), overview.LastDay).Unused || !b.overview(b.caller(lineshaft.RoleViewer, "f2"), overview.LastDay).Unused {
			b.Error("a server with an old run is not new, except to those who cannot see it")
		}
	})
}

func TestOverviewCountsWhatIsActive(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.inFactory("f1", lineshaft.NewRun{})
		b.inFactory("f1", lineshaft.NewRun{})
		b.clock.advance(time.Hour)
		b.start(lineshaft.NewRun{})
		jobs := b.claim(1) // the oldest, in f1
		b.begin(jobs[0])
		want := func(who lineshaft.Caller, queued, running int, age time.Duration) {
			b.Helper()
			view := b.overview(who, overview.LastHour)
			got := map[lineshaft.RunState]int{}
			for _, a := range view.Active {
				got[a.State] = a.Count
			}
			if got[lineshaft.Queued] != queued || got[lineshaft.InProgress] != running || got[lineshaft.Blocked] != 0 {
				b.Errorf("%s %v: %v", who.Role, who.FactoryUIDs, got)
			}
			if since := view.At.Sub(view.OldestQueued); queued > 0 && (since < age || since > age+time.Minute) || queued == 0 && !view.OldestQueued.IsZero() {
				b.Errorf("oldest since %s, want %s", since, age)
			}
		}
		want(b.admin, 2, 1, time.Hour)
		want(b.caller(lineshaft.RoleViewer, "f1", "f2"), 1, 1, time.Hour)
		want(b.caller(lineshaft.RoleViewer, "f2"), 0, 0, 0)
		must[bool](b)(b.s.SettleRuns(b.Context()))
		want(b.admin, 2, 1, time.Hour)
		b.end(b.claim(1)[0], lineshaft.Succeeded)
		want(b.admin, 1, 1, 0) // one of those that are settled has changed
		must[bool](b)(b.s.SettleRuns(b.Context()))
		want(b.admin, 1, 1, 0)
	})
}
