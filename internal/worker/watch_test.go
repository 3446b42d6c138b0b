package worker

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
)

// limited runs an agent under limits and returns its result and how long it took.
func limited(t *testing.T, timeout, stall int, agent scripted) (lineshaft.TurnResult, time.Duration) {
	t.Helper()
	c := newControl(t)
	begin(t, c, Config{}, agent)
	j := job("a", "")
	j.Config.TimeoutMinutes, j.Config.StallMinutes = number(timeout), number(stall)
	began := time.Now()
	c.jobs <- j
	result := c.ended("a", 1)
	return result, time.Since(began)
}

// chatty says something every minute until its turn ends.
func chatty(ctx context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	for {
		emit(output("still here\nstep two\n"))
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return lineshaft.TurnResult{}, context.Cause(ctx)
		}
	}
}

func TestX13Timeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		result, took := limited(t, 30, 5, scripted{chatty})
		if took != 30*time.Minute {
			t.Errorf("took %v", took)
		}
		if result.State != lineshaft.Failed || result.Code != lineshaft.CodeRunTimeout || !result.Dead ||
			result.Message != `stopped: the run took longer than 30 minutes; last seen: output "step two"` {
			t.Errorf("result %+v", result)
		}
	})
}

func TestX13Stall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		draft []lineshaft.Draft
		want  string
	}{
		{"nothing", nil, "nothing"},
		{"a tool", []lineshaft.Draft{lineshaft.NewDraft(lineshaft.EventToolCall, time.Time{}, lineshaft.ToolCallData{Name: "run_command"})}, "tool_call run_command"},
		{"a plan", []lineshaft.Draft{lineshaft.NewDraft(lineshaft.EventPlan, time.Time{}, map[string]any{})}, "plan"},
		{"long output", []lineshaft.Draft{output(strings.Repeat("x", 500))}, `output "` + strings.Repeat("x", 199) + `…"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				result, took := limited(t, 60, 7, scripted{func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
					<-time.After(3 * time.Minute)
					for _, d := range test.draft {
						emit(d)
					}
					return untilEnd(ctx, env, turn, emit)
				}})
				want := 7 * time.Minute
				if len(test.draft) > 0 {
					want = 10 * time.Minute
				}
				if took != want {
					t.Errorf("took %v, want %v", took, want)
				}
				if result.State != lineshaft.Failed || result.Code != lineshaft.CodeRunTimeout ||
					result.Message != "stopped: nothing was seen of the agent for 7 minutes; last seen: "+test.want {
					t.Errorf("result %+v", result)
				}
			})
		})
	}
}

// What was last seen is shown after masking, and cut after it.
func TestS2LastSeenIsMasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		result, _ := limited(t, 60, 1, scripted{func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			emit(lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Text: strings.Repeat("x", 190) + harnesstest.Token}))
			return untilEnd(ctx, env, turn, emit)
		}})
		if strings.Contains(result.Message, harnesstest.Token[:8]) {
			t.Errorf("message %q", result.Message)
		}
	})
}

// both clocks stop while the agent waits for an answer.
func TestX13BlockedStopsTheClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			<-time.After(4 * time.Minute)
			env.Blocked(true)
			env.Blocked(true)
			<-time.After(5 * time.Hour)
			env.Blocked(false)
			return untilEnd(ctx, env, turn, emit)
		}})
		j := job("a", "")
		j.Config.TimeoutMinutes, j.Config.StallMinutes = number(8), number(5)
		began := time.Now()
		c.jobs <- j
		advance(5*time.Hour + time.Minute)
		result := c.ended("a", 1)
		// Four minutes before, then another four: the timeout comes before the stall.
		if took := time.Since(began); took != 5*time.Hour+8*time.Minute {
			t.Errorf("took %v", took)
		}
		if !strings.Contains(result.Message, "longer than 8 minutes") {
			t.Errorf("result %+v", result)
		}
		if got := c.marks("a"); got != "started blocked unblocked" {
			t.Errorf("marks %s", got)
		}
	})
}

// The time between turns is not the agent's, but all turns share one limit.
func TestX13TimeoutIsForTheWholeExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f", Message: "second"}}
		unlock()
		begin(t, c, Config{}, scripted{func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			if turn.FollowupID != "" {
				return chatty(ctx, env, turn, emit)
			}
			<-time.After(6 * time.Minute)
			return done()
		}})
		j := job("a", "")
		j.Config.TimeoutMinutes = number(10)
		began := time.Now()
		c.jobs <- j
		if result := c.ended("a", 2); result.Code != lineshaft.CodeRunTimeout {
			t.Errorf("result %+v", result)
		}
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// A turn that is interrupted while blocked leaves no run blocked.
func TestR8InterruptWhileBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			env.Blocked(true)
			return untilEnd(ctx, env, turn, emit)
		}})
		c.jobs <- job("a", "")
		advance(time.Minute)
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
		advance(time.Minute)
		if got := c.marks("a"); got != "started blocked unblocked" {
			t.Errorf("marks %s", got)
		}
	})
}
