package worker

import (
	"context"
	"errors"
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

// asker asks once for each line of a turn's message and says each answer.
func asker(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	for question := range strings.Lines(turn.Message) {
		answer, err := env.Ask(ctx, lineshaft.PermissionData{Title: strings.TrimSpace(question)})
		if err != nil {
			return lineshaft.TurnResult{}, err
		}
		emit(output(answer))
	}
	return done()
}

// reply answers the next question of an execution.
func (c *fakeControl) reply(id string, answer lineshaft.Turn) {
	run, unlock := c.lock(id)
	run.answers = append(run.answers, answer)
	unlock()
	c.directives <- lineshaft.Directive{ExecutionID: id, Kind: lineshaft.DirectiveFollowup}
}

// asked gives the questions of an execution, as the control plane knows them.
func (c *fakeControl) asked(id string) string {
	run, unlock := c.lock(id)
	defer unlock()
	return strings.Join(run.asks, ", ")
}

// questions are the titles of the permission events.
func (c *fakeControl) questions(id string) int {
	return len(c.texts(id, lineshaft.EventPermission))
}

// questions are answered one after the other, and while people think the
// clocks stand still.
func TestX7QuestionsAreAnsweredWithinTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{asker})
		j := job("a", "first?\nsecond?")
		j.Config.TimeoutMinutes, j.Config.StallMinutes = number(2), number(1)
		c.jobs <- j
		advance(3 * time.Hour)
		if got := c.asked("a"); got != "prompt 1" || c.questions("a") != 1 {
			t.Fatalf("asked %q with %d events", got, c.questions("a"))
		}
		c.reply("a", lineshaft.Turn{FollowupID: "f1", Message: "yes"})
		advance(3 * time.Hour)
		if got := c.asked("a"); got != "prompt 1, prompt 2" || c.questions("a") != 2 {
			t.Fatalf("asked %q with %d events", got, c.questions("a"))
		}
		c.reply("a", lineshaft.Turn{FollowupID: "f2", Message: "no"})
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded || result.Turn != lineshaft.PromptTurn || result.Ask != "" {
			t.Errorf("result %+v", result)
		}
		if got := c.texts("a", lineshaft.EventOutput); !slices.Equal(got, []string{"yes", "no"}) {
			t.Errorf("answers %q", got)
		}
		if got := c.marks("a"); got != "started" {
			t.Errorf("marks %q: the answer itself says that the run goes on", got)
		}
	})
}

// The heartbeat makes good a directive that was lost, and an answer that was lost is
// asked for again.
func TestX7AnswerIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		lost := 0
		c.lose = func(method string) error {
			if method == "EndTurn" && lost < 3 {
				lost++
				return errOutage
			}
			return nil
		}
		begin(t, c, Config{}, scripted{asker})
		c.jobs <- job("a", "may I?")
		advance(time.Minute)
		run, unlock := c.lock("a")
		lost = 0
		run.answers = []lineshaft.Turn{{FollowupID: "f1", Message: "yes"}}
		run.next = []lineshaft.Turn{{FollowupID: "f0", Message: "later?"}} // makes the heartbeat report it
		unlock()
		c.await("the answer", func() bool { return len(c.runs["a"].asks) == 2 })
		if got := c.texts("a", lineshaft.EventOutput); !slices.Equal(got, []string{"yes"}) {
			t.Errorf("answers %q", got)
		}
		if got := c.asked("a"); got != "prompt 1, f0 2" {
			t.Errorf("asked %q", got)
		}
	})
}

func TestX7ParallelQuestionsWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					answer, err := env.Ask(ctx, lineshaft.PermissionData{Title: "may I?"})
					if err != nil {
						t.Error(err)
					}
					emit(output(answer))
				})
			}
			all.Wait()
			return done()
		}})
		c.jobs <- job("a", "x")
		for i, answer := range []string{"one", "two", "three"} {
			advance(time.Minute)
			if n := c.questions("a"); n != i+1 {
				t.Fatalf("%d questions are seen, want %d", n, i+1)
			}
			c.reply("a", lineshaft.Turn{FollowupID: answer, Message: answer})
		}
		c.ended("a", 1)
		if got := c.texts("a", lineshaft.EventOutput); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("answers %q", got)
		}
	})
}

// an interrupt ends the question with its turn; an answer that crossed it is
// handed back.
func TestR8InterruptWhileAsking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			if turn.FollowupID != "" {
				return echo(ctx, env, turn, emit)
			}
			return asker(ctx, env, turn, emit)
		}})
		c.jobs <- job("a", "may I?")
		advance(time.Minute)
		c.directives <- lineshaft.Directive{ExecutionID: "a", Kind: lineshaft.DirectiveInterrupt}
		advance(time.Second)
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f1", Message: "do this instead"}}
		unlock()
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled || result.Ask != "1" || result.Dead {
			t.Errorf("interrupted turn %+v", result)
		}
		if result := c.ended("a", 2); result.State != lineshaft.Succeeded || result.Ask != "" {
			t.Errorf("next turn %+v", result)
		}
		if got := c.marks("a"); got != "started unblocked" {
			t.Errorf("marks %q", got)
		}
	})
}

// a cancel ends a question at once.
func TestR7CancelWhileAsking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		var cause error
		begin(t, c, Config{}, scripted{func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (result lineshaft.TurnResult, err error) {
			result, err = asker(ctx, env, turn, emit)
			cause = err
			return result, err
		}})
		c.jobs <- job("a", "may I?")
		advance(time.Minute)
		c.stop("a")
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled || !result.Dead {
			t.Errorf("result %+v", result)
		}
		if !errors.Is(cause, errStopped) {
			t.Errorf("the agent was told %v", cause)
		}
	})
}

// S-1: a secret in a question is masked; X-13: a question is a sign of life.
func TestS1QuestionIsMasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{asker})
		c.jobs <- job("a", "may I use "+harnesstest.Token+"?")
		advance(time.Minute)
		run, unlock := c.lock("a")
		defer unlock()
		for _, d := range run.events {
			if strings.Contains(string(d.Data), harnesstest.Token) {
				t.Errorf("the log has the run's token: %s", d.Data)
			}
		}
	})
}

// The files of an answer are in the workspace when the agent gets it.
func TestR6AnswerWithFiles(t *testing.T) {
	t.Parallel()
	files := []lineshaft.Attachment{{FileName: "a.txt"}, {FileName: "b.txt"}}
	if got := attached(files); got != "\n\nFiles in the workspace: a.txt, b.txt" {
		t.Errorf("%q", got)
	}
	if got := attached(nil); got != "" {
		t.Errorf("%q", got)
	}
}

// An agent that gives up a question continues its turn.
func TestX7QuestionGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if _, err := env.Ask(short, lineshaft.PermissionData{Title: "may I?"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the question ended with %v", err)
			}
			return done()
		}})
		c.jobs <- job("a", "x")
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded || result.Ask != "1" {
			t.Errorf("result %+v", result)
		}
		if got := c.marks("a"); got != "started unblocked" {
			t.Errorf("marks %q", got)
		}
	})
}
