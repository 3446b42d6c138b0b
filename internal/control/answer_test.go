package control_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
)

// ask puts the question of that name, or asks for its answer again.
func (b *bench) ask(job lineshaft.Job, turn, name string) *lineshaft.Turn {
	b.Helper()
	return must[*lineshaft.Turn](b)(b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{Turn: turn, State: lineshaft.Blocked, Ask: name}))
}

func (b *bench) wantState(runID string, want lineshaft.RunState) {
	b.Helper()
	if got := b.run(runID).State; got != want {
		b.Fatalf("the run is %s, want %s", got, want)
	}
}

// a follow-up answers a question within the turn and is not done again.
func TestR6FollowupAnswersAQuestion(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		b.followup(runID, "for later") // was said before the question
		if got := b.ask(job, lineshaft.PromptTurn, "1"); got != nil {
			b.Fatalf("the answer was there before the question: %+v", got)
		}
		b.wantState(runID, lineshaft.Blocked)
		if got := b.ask(job, lineshaft.PromptTurn, "1"); got != nil {
			b.Fatalf("what was said before is no answer: %+v", got)
		}
		if result := b.followup(runID, "yes"); result.Outcome != lineshaft.OutcomeLiveSession {
			b.Fatalf("%+v", result)
		}
		b.followup(runID, "and then this")
		for range 3 { // the same again, however often the answer is lost
			if got := b.ask(job, lineshaft.PromptTurn, "1"); got == nil || got.Message != "yes" {
				b.Fatalf("the answer is %+v", got)
			}
			b.wantState(runID, lineshaft.InProgress)
		}
		if got := b.ask(job, lineshaft.PromptTurn, "2"); got != nil {
			b.Fatalf("the second question has the answer %+v", got)
		}
		b.wantState(runID, lineshaft.Blocked)
		b.followup(runID, "no")
		if got := b.ask(job, lineshaft.PromptTurn, "2"); got == nil || got.Message != "no" {
			b.Fatalf("the second answer is %+v", got)
		}
		for _, want := range []string{"for later", "and then this"} {
			if next := b.end(job, lineshaft.Succeeded); next == nil || next.Message != want {
				b.Fatalf("the next turn is %+v, want %q", next, want)
			}
		}
		if next := b.end(job, lineshaft.Succeeded); next != nil {
			b.Fatalf("an answer is done again: %+v", next)
		}
		b.wantState(runID, lineshaft.Succeeded)
		b.sound(runID)
	})
}

// a question in the turn of a follow-up, and the end of that turn sent twice.
func TestR6QuestionInTheTurnOfAFollowup(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		first, second := b.followup(runID, "one").FollowupID, b.followup(runID, "two").FollowupID
		end := func(turn string) *lineshaft.Turn {
			return must[*lineshaft.Turn](b)(b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{Turn: turn, State: lineshaft.Succeeded}))
		}
		if next := end(lineshaft.PromptTurn); next == nil || next.FollowupID != first {
			b.Fatalf("next is %+v", next)
		}
		if _, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Blocked, Ask: "9"}); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
			b.Fatalf("a question of a turn that is over: %v", err)
		}
		b.ask(job, first, "1")
		b.followup(runID, "yes")
		if got := b.ask(job, first, "1"); got == nil || got.Message != "yes" {
			b.Fatalf("the answer is %+v", got)
		}
		for range 2 {
			if next := end(first); next == nil || next.FollowupID != second {
				b.Fatalf("next is %+v", next)
			}
		}
		if next := end(second); next != nil {
			b.Fatalf("next is %+v", next)
		}
		b.sound(runID)
	})
}

// a worker that is lost with an answer loses nothing: with another attempt it
// comes as a turn of its own, and does not answer what the new execution asks.
func TestR6AnswerOfALostWorker(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		attempts := 2
		runID, job := b.working(lineshaft.NewRun{Prompt: "p", Config: lineshaft.AgentConfig{MaxAttempts: &attempts}})
		b.ask(job, lineshaft.PromptTurn, "1")
		b.followup(runID, "used")
		b.ask(job, lineshaft.PromptTurn, "1")
		b.ask(job, lineshaft.PromptTurn, "2")
		b.followup(runID, "taken")
		if got := b.ask(job, lineshaft.PromptTurn, "2"); got == nil {
			b.Fatal("no answer")
		}
		b.lost(job)
		again := b.claimOne(lineshaft.HostedWorker, runID)
		b.begin(again)
		if again.Turn.Message != "p" {
			b.Fatalf("the second attempt does %+v", again.Turn)
		}
		for range 2 {
			if got := b.ask(again, lineshaft.PromptTurn, "1"); got != nil {
				b.Fatalf("an answer to another question: %+v", got)
			}
		}
		b.followup(runID, "yes")
		if got := b.ask(again, lineshaft.PromptTurn, "1"); got == nil || got.Message != "yes" {
			b.Fatalf("the answer is %+v", got)
		}
		if next := b.end(again, lineshaft.Succeeded); next == nil || next.Message != "taken" {
			b.Fatalf("next is %+v", next)
		}
		if next := b.end(again, lineshaft.Succeeded); next != nil {
			b.Fatalf("next is %+v", next)
		}
		b.sound(runID)
	})
}

// without another attempt the turn is over, but not what was answered in it.
func TestR6AnswerOfAWorkerLostForGood(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		attempts := 1
		runID, job := b.working(lineshaft.NewRun{Prompt: "p", Config: lineshaft.AgentConfig{MaxAttempts: &attempts}})
		b.ask(job, lineshaft.PromptTurn, "1")
		b.followup(runID, "used")
		b.ask(job, lineshaft.PromptTurn, "1")
		b.ask(job, lineshaft.PromptTurn, "2")
		b.followup(runID, "taken")
		if got := b.ask(job, lineshaft.PromptTurn, "2"); got == nil || got.Message != "taken" {
			b.Fatalf("the answer is %+v", got)
		}
		b.lost(job)
		again := b.claimOne(lineshaft.HostedWorker, runID)
		if again.Turn.Message != "taken" {
			b.Fatalf("the next execution does %+v", again.Turn)
		}
		b.begin(again)
		if next := b.end(again, lineshaft.Succeeded); next != nil {
			b.Fatalf("next is %+v", next)
		}
		b.want(runID, lineshaft.Succeeded)
		b.sound(runID)
	})
}

// an answer that crossed an interrupt is not lost.
func TestR8AnswerThatWasNotUsed(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		b.ask(job, lineshaft.PromptTurn, "1")
		b.followup(runID, "do this instead")
		b.ask(job, lineshaft.PromptTurn, "1") // its answer is not heard
		next := must[*lineshaft.Turn](b)(b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{
			Turn: lineshaft.PromptTurn, State: lineshaft.Cancelled, Ask: "1",
		}))
		if next == nil || next.Message != "do this instead" {
			b.Fatalf("next is %+v", next)
		}
		b.end(job, lineshaft.Succeeded)
		b.sound(runID)
	})
}

// a message after an interrupt is not an answer.
func TestR8NoAnswerAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		b.ask(job, lineshaft.PromptTurn, "1")
		if err := b.s.Interrupt(b.Context(), b.admin, runID); err != nil {
			b.Fatal(err)
		}
		b.followup(runID, "do this instead")
		if got := b.ask(job, lineshaft.PromptTurn, "1"); got != nil {
			b.Fatalf("the answer is %+v", got)
		}
		if next := b.end(job, lineshaft.Cancelled); next == nil || next.Message != "do this instead" {
			b.Fatalf("next is %+v", next)
		}
	})
}

// a run that waits for an answer can be cancelled, and asks no more.
func TestR7CancelWhileBlocked(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		b.ask(job, lineshaft.PromptTurn, "1")
		b.cancel(runID)
		b.wantState(runID, lineshaft.Cancelled)
		_, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Blocked, Ask: "1"})
		wantCode(b, err, lineshaft.CodeConflict)
		b.end(job, lineshaft.Cancelled)
		b.sound(runID)
	})
}

func TestX7QuestionWithoutAName(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		_, job := b.working(lineshaft.NewRun{Prompt: "p"})
		_, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Blocked})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
	})
}
