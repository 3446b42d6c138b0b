package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
)

// echo says each message, and waits for the end of the turn when it is "wait".
func echo(ctx context.Context, _ harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	emit(output(turn.Message))
	if turn.Message == "wait" {
		<-ctx.Done()
		return lineshaft.TurnResult{}, context.Cause(ctx)
	}
	return done()
}

func TestR6FollowupsAreTurnsOfTheSameSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f1", Message: "two"}, {FollowupID: "f2", Message: "three"}}
		unlock()
		begin(t, c, Config{}, scripted{echo})
		c.jobs <- job("a", "one")
		c.ended("a", 3)
		if got := c.texts("a", lineshaft.EventOutput); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("said %q", got)
		}
		if n := c.count("Claim"); n != 2 {
			t.Errorf("%d claims, want 2: one job, one waiting", n)
		}
		if got := c.marks("a"); got != "started" {
			t.Errorf("marks %s", got)
		}
	})
}

func TestR8InterruptThenFollowup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{echo})
		c.jobs <- job("a", "wait")
		synctest.Wait()
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
		advance(5 * time.Minute)
		if n := c.count("EndTurn"); n != 0 {
			t.Errorf("the interrupt ended the run: %d results", n)
		}
		if got := c.texts("a", lineshaft.EventNotice); len(got) != 1 || !strings.Contains(got[0], "within 10 minutes") {
			t.Errorf("notices %q", got)
		}
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f1", Message: "instead"}}
		unlock()
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveFollowup}
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled || result.Dead {
			t.Errorf("interrupted turn %+v", result)
		}
		if result := c.ended("a", 2); result.State != lineshaft.Succeeded {
			t.Errorf("follow-up %+v", result)
		}
		if got := c.texts("a", lineshaft.EventOutput); !slices.Equal(got, []string{"wait", "instead"}) {
			t.Errorf("said %q", got)
		}
	})
}

func TestR8InterruptNotContinued(t *testing.T) {
	t.Parallel()
	for idle, message := range map[int]string{
		3: "interrupted and not continued within 3 minutes", 1: "interrupted and not continued within 1 minute", 0: "interrupted and not continued within 0 minutes",
	} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newControl(t)
				begin(t, c, Config{}, scripted{echo})
				j := job("a", "wait")
				j.Config.IdleTimeoutMinutes = number(idle)
				c.jobs <- j
				synctest.Wait()
				began := time.Now()
				c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
				if result := c.ended("a", 1); result.State != lineshaft.Cancelled || result.Message != message {
					t.Errorf("result %+v", result)
				}
				if took := time.Since(began); took != time.Duration(idle)*time.Minute {
					t.Errorf("waited %v", took)
				}
			})
		})
	}
}

// A follow-up that was sent before the interrupt is done at once, also when an
// earlier one of two was done before.
func TestR8InterruptWithFollowupWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{echo})
		c.jobs <- job("a", "wait")
		synctest.Wait()
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f1", Message: "wait"}, {FollowupID: "f2", Message: "last"}}
		unlock()
		for range 2 {
			c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveFollowup}
		}
		synctest.Wait()
		began := time.Now()
		for range 2 {
			c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
			synctest.Wait()
		}
		c.ended("a", 3)
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %v although follow-ups were there", took)
		}
		if got := c.texts("a", lineshaft.EventOutput); !slices.Equal(got, []string{"wait", "wait", "last"}) {
			t.Errorf("said %q", got)
		}
	})
}

func TestR7StopWhileInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		w := begin(t, c, Config{}, scripted{echo})
		c.jobs <- job("a", "wait")
		synctest.Wait()
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
		synctest.Wait()
		c.stop("a")
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled || !result.Dead {
			t.Errorf("result %+v", result)
		}
		synctest.Wait()
		if w.Running() != 0 {
			t.Error("still running")
		}
	})
}

// the agent learns why, and nothing is reported after the directive but
// that it is gone.
func TestR7StopDirective(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		cause := make(chan error, 1)
		begin(t, c, Config{}, scripted{func(ctx context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			emit(output("before"))
			<-ctx.Done()
			cause <- context.Cause(ctx)
			emit(output("after"))
			return done()
		}})
		c.jobs <- job("a", "")
		synctest.Wait()
		c.stop("a")
		if err := <-cause; !errors.Is(err, errStopped) {
			t.Errorf("ended with %v", err)
		}
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled {
			t.Errorf("last word %+v", result)
		}
		if got := c.texts("a", lineshaft.EventOutput); !slices.Equal(got, []string{"before"}) {
			t.Errorf("said %q", got)
		}
	})
}

// A cancel may be faster than the answer to the claim.
func TestR7StopBeforeTheJobIsHere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{echo})
		for range 3 * maxEarly {
			c.directives <- lineshaft.Directive{ExecutionID: "another", Kind: lineshaft.DirectiveStop}
		}
		c.stop("a")
		synctest.Wait()
		c.jobs <- job("a", "hello")
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled || !result.Dead {
			t.Errorf("result %+v", result)
		}
		c.jobs <- job("b", "hello")
		if result := c.ended("b", 1); result.State != lineshaft.Succeeded {
			t.Errorf("another job: %+v", result)
		}
	})
}

// An interrupt that comes while the workspace is being prepared is for the turn
// that is about to begin.
func TestR8InterruptBeforeTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{echo})
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
		synctest.Wait()
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f1", Message: "instead"}}
		unlock()
		c.jobs <- job("a", "wait")
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled || result.Turn != lineshaft.PromptTurn {
			t.Errorf("interrupted turn %+v", result)
		}
		if result := c.ended("a", 2); result.State != lineshaft.Succeeded || result.Turn != "f1" {
			t.Errorf("follow-up %+v", result)
		}
	})
}

// What was said about a follow-up before it was given says nothing about now.
func TestR8OldDirectiveDoesNotEndTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{echo})
		c.jobs <- job("a", "wait")
		synctest.Wait()
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveFollowup}
		synctest.Wait()
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
		advance(5 * time.Minute)
		if n := c.count("EndTurn"); n != 0 {
			t.Errorf("the interrupted run ended although nothing waited: %d results", n)
		}
	})
}

func TestX6UnknownHarnessFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{echo})
		j := job("a", "hello")
		j.Config.Harness = &lineshaft.HarnessConfig{Type: "claude"}
		c.jobs <- j
		result := c.ended("a", 1)
		if result.State != lineshaft.Failed || result.Code != lineshaft.CodeFeatureNotAvailable || !result.Dead || !strings.Contains(result.Message, "claude") {
			t.Errorf("result %+v", result)
		}
	})
}

func TestX6ErrorsOfTheHarness(t *testing.T) {
	t.Parallel()
	secret := errors.New("open /var/lib/private: " + harnesstest.Token)
	tests := []struct {
		name string
		err  error
		want lineshaft.TurnResult
	}{
		{
			"of the caller", &lineshaft.Error{Code: lineshaft.CodeInvalidRequest, Message: "no such model", Cause: secret},
			lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Failed, Code: lineshaft.CodeInvalidRequest, Message: "no such model"},
		},
		{
			"of the platform", secret,
			lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Errored, Code: lineshaft.CodeInternal, Message: "the agent could not be run; the log of worker w1 says why", Dead: true},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newControl(t)
				begin(t, c, Config{}, scripted{func(context.Context, harness.Environment, lineshaft.Turn, harness.Emit) (lineshaft.TurnResult, error) {
					return lineshaft.TurnResult{}, test.err
				}})
				c.jobs <- job("a", "")
				if got := c.ended("a", 1); !reflect.DeepEqual(got, test.want) {
					t.Errorf("result %+v, want %+v", got, test.want)
				}
			})
		})
	}
}

// A supervisor that ended the agent for want of feeding means a lost lease, not a
// failed agent.
func TestX1StarvedAgentIsNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		w := begin(t, c, Config{}, scripted{func(context.Context, harness.Environment, lineshaft.Turn, harness.Emit) (lineshaft.TurnResult, error) {
			return lineshaft.TurnResult{}, harness.ErrStarved
		}})
		c.jobs <- job("a", "")
		advance(time.Minute)
		if w.Running() != 0 {
			t.Error("still running")
		}
		if n := c.count("EndTurn"); n != 0 {
			t.Errorf("%d results were reported", n)
		}
	})
}

// The run cannot succeed before it is in progress, whatever a harness leaves out.
func TestR1StartedComesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		start(t, c, Config{Harnesses: harness.Set{Harnesses: []harness.Harness{silent{}}, Default: "silent"}})
		c.jobs <- job("a", "")
		c.ended("a", 1)
		if got := c.marks("a"); got != "started" {
			t.Errorf("marks %s", got)
		}
	})
}

// silent is a harness that does nothing at all.
type silent struct{}

func (silent) Name() string                                                         { return "silent" }
func (silent) WithoutWorkspace()                                                    {}
func (s silent) Open(context.Context, harness.Environment) (harness.Session, error) { return s, nil }
func (silent) Close(context.Context) error                                          { return nil }
func (silent) Turn(context.Context, lineshaft.Turn, harness.Emit) (lineshaft.TurnResult, error) {
	return done()
}

func TestR9OutputCaps(t *testing.T) {
	t.Parallel()
	tests := map[string]Config{
		"events": {OutputEvents: 5},
		"bytes":  {OutputBytes: int64(5 * len(output("0123456789").Data))},
	}
	for name, config := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newControl(t)
				begin(t, c, config, scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
					for range 20 {
						emit(output("0123456789"))
					}
					emit(lineshaft.NewDraft(lineshaft.EventUsage, time.Now(), lineshaft.UsageData{InputTokens: 7}))
					emit(lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "assistant", Text: "dropped"}))
					return done()
				}})
				c.jobs <- job("a", "")
				if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
					t.Errorf("result %+v", result)
				}
				if got := c.texts("a", lineshaft.EventOutput); len(got) != 5 {
					t.Errorf("%d output events", len(got))
				}
				if got := c.texts("a", lineshaft.EventNotice); len(got) != 1 || !strings.Contains(got[0], "limit") {
					t.Errorf("notices %q", got)
				}
				if n := len(c.texts("a", lineshaft.EventUsage)) + 10*len(c.texts("a", lineshaft.EventMessage)); n != 1 {
					t.Errorf("usage and messages: %d", n)
				}
			})
		})
	}
}

func TestR11PullRequestsAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			emit(output("opened https://github.com/o/r/pul"))
			emit(output("l/1"))
			emit(output("2\n"))
			emit(lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "user", Text: "like https://github.com/o/r/pull/1"}))
			emit(lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "assistant", Text: "see https://github.com/o/r/pull/12 and https://github.com/o/r/pull/13"}))
			emit(lineshaft.NewDraft(lineshaft.EventOutput, time.Now(), lineshaft.OutputData{Stream: "stderr", ToolCallID: "t", Text: "https://gitlab.com/o/r/-/merge_requests/4"}))
			emit(lineshaft.NewDraft(lineshaft.EventToolResult, time.Now(), lineshaft.ToolResultData{ID: "t"}))
			emit(output("https://github.com/o/r/pull/99"))
			return done()
		}})
		c.jobs <- job("a", "")
		c.ended("a", 1)
		want := []string{"https://github.com/o/r/pull/12", "https://github.com/o/r/pull/13", "https://gitlab.com/o/r/-/merge_requests/4", "https://github.com/o/r/pull/99"}
		if got := c.texts("a", lineshaft.EventArtifact); !slices.Equal(got, want) {
			t.Errorf("pull requests %q, want %q", got, want)
		}
	})
}

// What a harness forgot to mask is masked all the same.
func TestS2EventsAndResultsAreMasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			emit(lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "assistant", Text: "it is " + harnesstest.Token}))
			emit(lineshaft.NewDraft(lineshaft.EventToolCall, time.Now(), lineshaft.ToolCallData{ID: "t", Input: map[string]any{"url": "x?" + harnesstest.Token}}))
			return lineshaft.TurnResult{State: lineshaft.Failed, Message: "bad token " + harnesstest.Token}, nil
		}})
		c.jobs <- job("a", "")
		if result := c.ended("a", 1); strings.Contains(result.Message, harnesstest.Token) {
			t.Errorf("result %+v", result)
		}
		run, unlock := c.lock("a")
		defer unlock()
		for _, d := range run.events {
			if bytes.Contains(d.Data, []byte(harnesstest.Token)) {
				t.Errorf("%s %s", d.Type, d.Data)
			}
		}
	})
}

// EndTurn is called until it is answered, and only after the events are there.
func TestX3EndTurnIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		var mu sync.Mutex
		tries := 0
		c.fail = func(method string) error {
			mu.Lock()
			defer mu.Unlock()
			if method == "EndTurn" {
				if got := len(c.texts("a", lineshaft.EventOutput)); got != 50 {
					t.Errorf("EndTurn with %d of 50 events", got)
				}
				if tries++; tries < 4 {
					return errOutage
				}
			}
			return nil
		}
		begin(t, c, Config{}, talker(50))
		c.jobs <- job("a", "")
		c.ended("a", 1)
		if tries != 4 {
			t.Errorf("%d tries", tries)
		}
	})
}

func TestI5OneWideLinePerExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		var log bytes.Buffer
		w := begin(t, c, Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))}, talker(3))
		c.jobs <- job("a", "")
		c.ended("a", 1)
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 1 {
			t.Fatalf("log %q", lines)
		}
		for _, word := range []string{`"run_id":"run-a"`, `"execution_id":"a"`, `"worker":"w1"`, `"harness":"scripted"`, `"turns":1`, `"events":3`, `"outcome":"SUCCEEDED"`, `"duration":`} {
			if !strings.Contains(lines[0], word) {
				t.Errorf("%s is not in %s", word, lines[0])
			}
		}
		if strings.Contains(log.String(), harnesstest.Token) {
			t.Error("the token is in the log")
		}
	})
}
