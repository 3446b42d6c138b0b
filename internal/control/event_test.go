package control_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/stream"
)

func TestR9EventsArePaged(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: b.outputs(1, 450)}), "") // more than one insert
		var got []int64
		for {
			page := must[runs.EventPage](b)(b.s.Events(b.Context(), b.admin, runID, int64(len(got)), 100))
			for _, e := range page.Events {
				got = append(got, e.Sequence)
				if e.RunID != runID || e.ID == "" || e.Time.IsZero() {
					b.Fatalf("%+v", e)
				}
			}
			if !page.More {
				break
			}
		}
		if len(got) != 455 || !slices.IsSorted(got) {
			b.Fatalf("%d events", len(got))
		}
		page := must[runs.EventPage](b)(b.s.Events(b.Context(), b.admin, runID, 455, 10))
		if len(page.Events) != 0 || page.More {
			b.Fatalf("%+v", page)
		}
		_, err := b.s.Events(b.Context(), b.admin, b.newID(), 0, 10)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// A follower sees every event once and in order while it is written, and the end.
func TestR9FollowSeesEverything(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		follower := must[*stream.Follower](b)(b.s.Follow(b.Context(), b.admin, runID, 2))
		defer follower.Close()
		done := make(chan []int64)
		go func() {
			var got []int64
			for {
				items, err := follower.Next(b.Context())
				if errors.Is(err, io.EOF) {
					done <- got
					return
				}
				if err != nil {
					b.Error(err)
					done <- got
					return
				}
				for _, item := range items {
					got = append(got, item.Event.Sequence)
				}
			}
		}()
		for i := range 20 {
			wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: int64(i + 1), Events: b.outputs(i+1, i+1)}), "")
		}
		b.end(job, lineshaft.Succeeded)
		got := <-done
		want := b.events(runID)[2:]
		if len(got) != len(want) {
			b.Fatalf("saw %v, want 3 to %d", got, len(want)+2)
		}
		for i, sequence := range got {
			if sequence != int64(i+3) {
				b.Fatalf("saw %v", got)
			}
		}
	})
}

func TestR9StatesOfAllRuns(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ended := lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed}, Metadata: map[string]string{"watch": "1"}}
		follow := must[*stream.States](b)(b.s.FollowStates(b.Context(), b.admin, ended, ""))
		defer follow.Close()
		var want []string
		var cursor string
		for i, state := range []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Cancelled, lineshaft.Failed} {
			runID, job := b.working(lineshaft.NewRun{Metadata: map[string]string{"watch": "1"}})
			_, other := b.working(lineshaft.NewRun{})
			b.end(other, lineshaft.Succeeded)
			b.end(job, state)
			if i != 1 {
				want = append(want, runID)
			}
		}
		var got []string
		for len(got) < len(want) {
			for _, change := range must[[]stream.StateChange](b)(follow.Next(b.Context())) {
				got = append(got, change.Event.RunID)
				if len(got) == 1 {
					cursor = change.Cursor
				}
			}
		}
		if !slices.Equal(got, want) {
			b.Fatalf("saw %v, want %v", got, want)
		}
		resumed := must[*stream.States](b)(b.s.FollowStates(b.Context(), b.admin, ended, cursor))
		defer resumed.Close()
		if changes := must[[]stream.StateChange](b)(resumed.Next(b.Context())); len(changes) != 1 || changes[0].Event.RunID != want[1] {
			b.Fatalf("resumed with %+v", changes)
		}
		_, err := b.s.FollowStates(b.Context(), b.admin, ended, "garbage")
		wantCode(b, err, lineshaft.CodeInvalidRequest)
	})
}

func TestH1ReadyNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.s.AddPart("sweeper", func() string { return "" })
		b.s.AddPart("worker", func() string { return "stopped" })
		problems := func() map[string]string {
			found := map[string]string{}
			for _, part := range b.s.Ready(b.Context()) {
				found[part.Name] = part.Problem
			}
			return found
		}
		if got := problems(); len(got) != 4 || got["store"] != "" || got["schema"] != "" || got["sweeper"] != "" || got["worker"] != "stopped" {
			b.Fatalf("%v", got)
		}
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		if got := problems(); got["store"] == "" || got["schema"] == "" || got["sweeper"] != "" {
			b.Fatalf("%v", got)
		}
	})
}

func TestR3ServerDefaultsAreTheWidestLayer(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run(b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{StallMinutes: new(3)}}).RunID)
		if run.Config.ModelID != "house" || *run.Config.TimeoutMinutes != 7 || *run.Config.StallMinutes != 3 || *run.Config.IdleTimeoutMinutes != 10 {
			b.Fatalf("%+v", run.Config)
		}
		if run.Config.WorkerHost != "box" {
			b.Fatalf("worker is %q", run.Config.WorkerHost)
		}
		origins := must[map[string]string](b)(b.s.ExplainRun(b.Context(), b.admin, run.ID))
		if origins["model_id"] != "server" || origins["stall_minutes"] != "run" {
			b.Fatalf("%v", origins)
		}
		job := b.claimOne("box", run.ID)
		if job.Lease != time.Minute || job.Config.ModelID != "house" {
			b.Fatalf("%+v", job)
		}
		if b.start(lineshaft.NewRun{}).AtCapacity { // the worker of the defaults has claimed, with one slot
			return
		}
		b.Fatal("the slots of another worker were counted")
	}, func(c *base.Config) {
		c.Defaults = lineshaft.AgentConfig{ModelID: "house", TimeoutMinutes: new(7), StallMinutes: new(99), WorkerHost: "box"}
	})
}
