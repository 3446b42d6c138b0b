package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/pause"
)

// crossingControl stops an execution while the answer to its end is on its way, as a
// heartbeat does that comes just after the end.
type crossingControl struct {
	*fakeControl
	answer time.Duration // how long the answer takes after the stop
}

func (c *crossingControl) EndTurn(ctx context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	next, err := c.fakeControl.EndTurn(ctx, ref, result)
	if result.State == lineshaft.Succeeded {
		c.stop(ref.ExecutionID)
		if !pause.For(ctx, c.answer) {
			return nil, ctx.Err()
		}
	}
	return next, err
}

func TestX1StopCrossesTheEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer time.Duration
		calls  int
	}{
		{"the answer comes", time.Second, 1},
		{"the answer never comes", time.Hour, 2}, // the second is the last word
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newControl(t)
				w, err := New(Config{
					WorkerID: "w1", DataDir: t.TempDir(),
					Harnesses: harness.Set{Harnesses: []harness.Harness{scripted{echo}}, Default: "scripted"},
				}, &crossingControl{c, tc.answer})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				c.jobs <- job("a", "hello")
				c.ended("a", tc.calls)
				synctest.Wait()
				if took := time.Since(began); took > stopTime {
					t.Errorf("it took %s", took)
				}
				if err := w.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				if n := c.count("EndTurn"); n != tc.calls {
					t.Errorf("%d calls, want %d", n, tc.calls)
				}
			})
		})
	}
}

// Only a stop is outlasted: a worker that has to end now does.
func TestX1OnlyAStopIsOutlasted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for cause, lasts := range map[error]time.Duration{errStopped: stopTime, errLeaseLost: 0, errDraining: 0} {
			life, end := context.WithCancelCause(t.Context())
			ctx, cancel := outlastStop(life)
			defer cancel()
			began := time.Now()
			end(cause)
			<-ctx.Done()
			if took := time.Since(began); took != lasts {
				t.Errorf("%v: the call had %s", cause, took)
			}
		}
	})
}
