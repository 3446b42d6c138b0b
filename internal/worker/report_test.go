package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// talker emits n numbered lines.
func talker(n int) scripted {
	return scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
		for i := range n {
			emit(output(fmt.Sprint(i, "\n")))
		}
		return done()
	}}
}

func inOrder(t *testing.T, got []string, n int) {
	t.Helper()
	if len(got) != n {
		t.Errorf("%d events, want %d", len(got), n)
		return
	}
	for i, text := range got {
		if text != fmt.Sprint(i, "\n") {
			t.Errorf("event %d is %q", i, text)
			return
		}
	}
}

// whatever calls fail, before or after they had their effect, every event
// arrives once and in order, and the turn ends after them.
func TestX3EventsSurviveAnyOutage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(rt, "fails before")
		after := rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(rt, "answer lost")
		events := rapid.IntRange(0, 2000).Draw(rt, "events")
		synctest.Test(t, func(t *testing.T) {
			c := newControl(t)
			var mu sync.Mutex
			next := func(list *[]bool) error {
				mu.Lock()
				defer mu.Unlock()
				if len(*list) == 0 {
					return nil
				}
				fails := (*list)[0]
				*list = (*list)[1:]
				if fails {
					return errOutage
				}
				return nil
			}
			c.fail = func(string) error { return next(&before) }
			c.lose = func(method string) error {
				if method == "Claim" {
					return nil // the lease brings a job back whose claim got lost
				}
				return next(&after)
			}
			run, unlock := c.lock("a")
			run.next = []lineshaft.Turn{{FollowupID: "f", Message: "again"}}
			unlock()
			turns := 0
			begin(t, c, Config{}, scripted{func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
				if turns++; turn.FollowupID != "" {
					return done()
				}
				return talker(events).turn(ctx, env, turn, emit)
			}})
			c.jobs <- job("a", "")
			if result := c.ended("a", 2); result.State != lineshaft.Succeeded || result.Turn != "f" {
				t.Errorf("result %+v", result)
			}
			inOrder(t, c.texts("a", lineshaft.EventOutput), events)
			if turns != 2 {
				t.Errorf("%d turns were run, want 2", turns)
			}
		})
	})
}

// While one call is out, what all executions say gathers into the next.
func TestX3ReportsAreBatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		hold := make(chan struct{})
		var once sync.Once
		c.fail = func(method string) error {
			if method == "Report" {
				once.Do(func() { <-hold })
			}
			return nil
		}
		begin(t, c, Config{Slots: 4}, talker(100))
		for _, id := range []string{"a", "b", "c"} {
			c.jobs <- job(id, "")
		}
		synctest.Wait()
		close(hold)
		for _, id := range []string{"a", "b", "c"} {
			c.ended(id, 1)
			inOrder(t, c.texts(id, lineshaft.EventOutput), 100)
		}
		if n := c.count("Report"); n > 2 {
			t.Errorf("%d calls, want at most 2: the one that was held, and the rest", n)
		}
	})
}

// An agent that says more than can be passed on waits; nothing is lost.
func TestX3BackPressure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const events = 3 * outboxEvents
		c := newControl(t)
		hold := make(chan struct{})
		c.fail = func(method string) error {
			if method == "Report" {
				<-hold
			}
			return nil
		}
		said := 0
		begin(t, c, Config{}, scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			for i := range events {
				emit(output(fmt.Sprint(i, "\n")))
				said++
			}
			return done()
		}})
		c.jobs <- job("a", "")
		synctest.Wait()
		if said != outboxEvents {
			t.Errorf("the agent said %d before it had to wait, want %d", said, outboxEvents)
		}
		close(hold)
		c.ended("a", 1)
		inOrder(t, c.texts("a", lineshaft.EventOutput), events)
	})
}

func TestX3BackPressureByBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(lineshaft.ExecutionRef{}, 0, func() {})
		ctx, cancel := context.WithCancel(t.Context())
		put := 0
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for ctx.Err() == nil {
				o.put(ctx, output(strings.Repeat("x", 1<<20)))
				put++
			}
		}()
		synctest.Wait()
		if put != 4 {
			t.Errorf("%d MiB without an answer, want 4", put)
		}
		report, ok := o.take()
		if !ok || len(report.Events) != 1 || report.First != 1 {
			t.Errorf("report of %d from %d", len(report.Events), report.First)
		}
		o.acknowledge()
		synctest.Wait()
		if report, _ := o.take(); put != 5 || report.First != 2 {
			t.Errorf("%d MiB, next report from %d", put, report.First)
		}
		cancel()
		<-stopped
	})
}

func TestX3OutboxKeepsMarksInOrder(t *testing.T) {
	t.Parallel()
	o := newOutbox(lineshaft.ExecutionRef{ExecutionID: "e"}, 0, func() {})
	o.tell(markStarted)
	o.put(t.Context(), output("1"))
	o.put(t.Context(), output("2"))
	o.tell(markBlocked)
	o.tell(markUnblocked)
	o.put(t.Context(), output("3"))
	var got []string
	for {
		r, ok := o.take()
		if !ok {
			break
		}
		if again, _ := o.take(); again.First != r.First || len(again.Events) != len(r.Events) {
			t.Errorf("taken again: %+v, first %+v", again, r)
		}
		got = append(got, fmt.Sprintf("%d+%d %v %v %v", r.First, len(r.Events), r.Started, r.Blocked, r.Unblocked))
		o.acknowledge()
	}
	want := []string{"1+2 true false false", "3+0 false true false", "3+1 false false true"}
	if !slices.Equal(got, want) {
		t.Errorf("reports %q, want %q", got, want)
	}
}

func TestX3ReportSizes(t *testing.T) {
	t.Parallel()
	o := newOutbox(lineshaft.ExecutionRef{}, 0, func() {})
	for range reportEvents + 1 {
		o.put(t.Context(), output("x"))
	}
	if r, _ := o.take(); len(r.Events) != reportEvents {
		t.Errorf("%d events in one report", len(r.Events))
	}
	o.acknowledge()
	o.put(t.Context(), output(strings.Repeat("x", reportBytes)))
	if r, _ := o.take(); len(r.Events) != 1 || r.First != reportEvents+1 {
		t.Errorf("%d events from %d", len(r.Events), r.First)
	}
	o.acknowledge()
	if r, _ := o.take(); len(r.Events) != 1 {
		t.Error("an event larger than a report does not go out")
	}
}

// a report that is answered with a conflict ends the agent at once, and
// nothing more is reported but that it is gone.
func TestX1ConflictEndsTheAgent(t *testing.T) {
	t.Parallel()
	for _, answer := range []error{lineshaft.Conflict("taken over"), lineshaft.NotFound("execution", "a")} {
		t.Run(string(lineshaft.CodeOf(answer)), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newControl(t)
				cause := make(chan error, 1)
				begin(t, c, Config{}, scripted{func(ctx context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
					<-time.After(time.Second)
					run, unlock := c.lock("a")
					run.answer = answer
					unlock()
					emit(output("one"))
					<-ctx.Done()
					cause <- context.Cause(ctx)
					emit(output("two"))
					return done()
				}})
				c.jobs <- job("a", "")
				if err := <-cause; !errors.Is(err, errLost) {
					t.Errorf("ended with %v", err)
				}
				if result := c.ended("a", 1); result.State != lineshaft.Cancelled || !result.Dead {
					t.Errorf("last word %+v", result)
				}
				run, unlock := c.lock("a")
				defer unlock()
				if run.reports != 2 { // started, then the refused one
					t.Errorf("%d reports, want 2", run.reports)
				}
			})
		})
	}
}

// A report that can never be taken must not be sent for ever.
func TestX3RefusedReportEndsTheExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		run, unlock := c.lock("a")
		run.answer = lineshaft.Invalid("events", "not understood")
		unlock()
		begin(t, c, Config{}, scripted{untilEnd})
		c.jobs <- job("a", "")
		if result := c.ended("a", 1); result.State != lineshaft.Errored || result.Code != lineshaft.CodeInternal {
			t.Errorf("result %+v", result)
		}
	})
}

// A call that is refused as a whole because of one report costs only that one.
func TestX3RefusedCallFindsTheOneToBlame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &refusingControl{newControl(t)}
		w, err := New(Config{
			WorkerID: "w1", DataDir: t.TempDir(), Slots: 8,
			Harnesses: harness.Set{Harnesses: []harness.Harness{talker(20)}, Default: "scripted"},
		}, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b", "bad", "c", "d"} {
			c.jobs <- job(id, "")
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if result := c.ended("bad", 1); result.State != lineshaft.Errored {
			t.Errorf("result %+v", result)
		}
		for _, id := range []string{"a", "b", "c", "d"} {
			if result := c.ended(id, 1); result.State != lineshaft.Succeeded {
				t.Errorf("%s: %+v", id, result)
			}
			inOrder(t, c.texts(id, lineshaft.EventOutput), 20)
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// refusingControl refuses every call with a report of the execution "bad".
type refusingControl struct{ *fakeControl }

func (r *refusingControl) Report(ctx context.Context, reports []lineshaft.Report) ([]error, error) {
	for _, report := range reports {
		if report.ExecutionID == "bad" {
			return nil, lineshaft.Invalid("reports", "not understood")
		}
	}
	return r.fakeControl.Report(ctx, reports)
}

// One execution's trouble is not the others'.
func TestX3OneUnavailableReportDoesNotHoldTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		run, unlock := c.lock("bad")
		run.answer = lineshaft.Unavailable(nil, "its run is locked")
		unlock()
		begin(t, c, Config{Slots: 2}, talker(10))
		c.jobs <- job("bad", "")
		c.jobs <- job("good", "")
		c.ended("good", 1)
		run, unlock = c.lock("bad")
		run.answer = nil
		unlock()
		c.ended("bad", 1)
		inOrder(t, c.texts("bad", lineshaft.EventOutput), 10)
	})
}

// TestX1NumbersGoOnAfterTakeOver: events of an execution that another process had
// before are numbered after that one's.
func TestX1NumbersGoOnAfterTakeOver(t *testing.T) {
	t.Parallel()
	o := newOutbox(lineshaft.ExecutionRef{ExecutionID: "e"}, 5, func() {})
	o.put(t.Context(), lineshaft.Draft{Type: lineshaft.EventNotice})
	if report, ok := o.take(); !ok || report.First != 6 || len(report.Events) != 1 {
		t.Errorf("%+v", report)
	}
}
