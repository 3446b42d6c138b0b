package control_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// rounds is how often a race is tried: all in make soak, a third in make test-all, a
// tenth else.
func rounds(full int) int {
	switch {
	case os.Getenv("LINESHAFT_SOAK") != "":
		return full
	case os.Getenv("LINESHAFT_TEST_ALL") != "":
		return full / 3
	}
	return full / 10
}

// longRounds are a tenth in make test-all, and all of them in make soak.
func longRounds(full int) int {
	switch {
	case os.Getenv("LINESHAFT_SOAK") != "":
		return full
	case os.Getenv("LINESHAFT_TEST_ALL") != "":
		return full / 10
	}
	return full / 40
}

func TestR6QueuedPromptIsAppended(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{Prompt: "one"}).RunID
		for _, message := range []string{"two", "three"} {
			if result := b.followup(runID, message); result.Outcome != lineshaft.OutcomeQueuedPrompt || result.FollowupID != "" {
				b.Fatalf("%+v", result)
			}
		}
		if run := b.run(runID); run.Prompt != "one" || run.Submitted != "one\n\ntwo\n\nthree" {
			b.Fatalf("%q, %q", run.Prompt, run.Submitted)
		}
		job := b.claimOne(lineshaft.HostedWorker, runID)
		if job.Turn.Message != "one\n\ntwo\n\nthree" {
			b.Fatalf("the agent gets %q", job.Turn.Message)
		}
		if next := b.end(job, lineshaft.Succeeded); next != nil {
			b.Fatalf("it comes again: %+v", next)
		}
		b.sound(runID)
	})
}

// A message with files waits as a turn of its own; later messages must not overtake it
// by way of the prompt.
func TestR6OrderIsKeptBehindFiles(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{Prompt: "prompt"}).RunID
		b.followup(runID, "first")
		files := []lineshaft.NewAttachment{{FileName: "f.txt", Data: []byte("x")}}
		result := must[runs.FollowupResult](b)(b.s.Followup(b.Context(), b.admin, lineshaft.NewFollowup{RunID: runID, Message: "second", Attachments: files}, nil))
		if result.Outcome != lineshaft.OutcomeQueuedPrompt || result.FollowupID == "" {
			b.Fatalf("%+v", result)
		}
		b.followup(runID, "third")
		got, turns := b.conversation(b.claimOne(lineshaft.HostedWorker, runID))
		if want := []string{"prompt\n\nfirst", "second", "third"}; !slices.Equal(got, want) {
			b.Fatalf("the agent got %q, want %q", got, want)
		}
		if files := turns[1].Attachments; len(files) != 1 || files[0].FileName != "f.txt" || len(turns[0].Attachments)+len(turns[2].Attachments) > 0 {
			b.Fatalf("files of the turns: %+v", turns)
		}
	})
}

// conversation lets an execution work until nothing is left and returns what the agent
// was given.
func (b *bench) conversation(job lineshaft.Job) (messages []string, turns []lineshaft.Turn) {
	b.Helper()
	for turn := &job.Turn; turn != nil; turn = b.end(job, lineshaft.Succeeded) {
		turns = append(turns, *turn)
		messages = append(messages, turn.Message)
	}
	return messages, turns
}

// A run that was cancelled in the queue and continued has two messages to come; the
// first sent is delivered first.
func TestR6OrderIsKeptAfterCancelInQueue(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{Prompt: "prompt"}).RunID
		b.cancel(runID)
		if result := b.followup(runID, "one"); result.Outcome != lineshaft.OutcomeHandoff {
			b.Fatalf("%+v", result)
		}
		b.followup(runID, "two")
		got, _ := b.conversation(b.claimOne(lineshaft.HostedWorker, runID))
		if want := []string{"prompt", "one", "two"}; !slices.Equal(got, want) {
			b.Fatalf("the agent got %q, want %q", got, want)
		}
		b.sound(runID)
	})
}

func TestR6OutcomesByState(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{Prompt: "p"}).RunID
		job := b.claimOne(lineshaft.HostedWorker, runID)
		want := func(message string, outcome lineshaft.FollowupOutcome) {
			b.Helper()
			if result := b.followup(runID, message); result.Outcome != outcome || result.FollowupID == "" || result.RunID != runID {
				b.Fatalf("%+v, want %s", result, outcome)
			}
		}
		want("claimed", lineshaft.OutcomePending)
		b.begin(job)
		want("working", lineshaft.OutcomeLiveSession)
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Blocked: true}), "")
		b.want(runID, lineshaft.Blocked)
		want("blocked", lineshaft.OutcomeLiveSession)
		next := b.end(job, lineshaft.Succeeded)
		if next == nil || next.Message != "claimed" {
			b.Fatalf("%+v", next)
		}
		b.want(runID, lineshaft.InProgress) // the answer unblocked it
		if rest, _ := b.conversation(job); !slices.Equal(rest, []string{"p", "working", "blocked"}) {
			b.Fatalf("%q", rest) // the first is the job's own turn
		}
		for _, end := range []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Errored} {
			want("after", lineshaft.OutcomeHandoff)
			b.want(runID, lineshaft.Queued)
			want("after that", lineshaft.OutcomePending)
			job = b.claimOne(lineshaft.HostedWorker, runID)
			if job.Turn.Message != "after" || !job.Resumed {
				b.Fatalf("%+v", job)
			}
			b.begin(job)
			if next := b.end(job, end); next == nil || next.Message != "after that" {
				b.Fatalf("%+v", next)
			}
			b.end(job, end)
			b.want(runID, end)
		}
		b.sound(runID)
	})
}

// A message is in the log, with the id that the turn will have.
func TestR6MessagesAreInTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		before := b.run(runID).UpdatedAt
		sent := b.followup(runID, "hello")
		if !b.run(runID).UpdatedAt.After(before) {
			b.Error("a follow-up does not count as an update")
		}
		events := b.events(runID)
		data := decode[lineshaft.MessageData](b, events[len(events)-1])
		if data != (lineshaft.MessageData{Role: "user", Text: "hello", FollowupID: sent.FollowupID}) {
			b.Fatalf("%+v", data)
		}
		if turn := b.end(job, lineshaft.Succeeded); turn.FollowupID != sent.FollowupID {
			b.Fatalf("%+v", turn)
		}
	})
}

// A session that cannot continue leaves its unread messages to a new execution.
func TestR6DeadSessionRequeues(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		b.followup(runID, "one")
		b.followup(runID, "two")
		next, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Failed, Dead: true, Message: "crashed"})
		if err != nil || next != nil {
			b.Fatal(next, err)
		}
		run := b.want(runID, lineshaft.Queued)
		if !run.FinishedAt.IsZero() || run.SandboxRunning {
			b.Fatalf("%+v", run)
		}
		states := b.states(runID)
		if !slices.Equal(states[len(states)-2:], []lineshaft.RunState{lineshaft.Failed, lineshaft.Queued}) {
			b.Fatalf("it went %v", states)
		}
		got, _ := b.conversation(b.claimOne(lineshaft.HostedWorker, runID))
		if !slices.Equal(got, []string{"one", "two"}) {
			b.Fatalf("%q", got)
		}
		b.sound(runID)
	})
}

func TestR6CancelDropsUnreadAndRunCanGoOn(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		b.followup(runID, "dropped")
		b.cancel(runID)
		b.end(job, lineshaft.Cancelled)
		b.want(runID, lineshaft.Cancelled)
		if result := b.followup(runID, "instead"); result.Outcome != lineshaft.OutcomeHandoff {
			b.Fatalf("%+v", result)
		}
		got, _ := b.conversation(b.claimOne(lineshaft.HostedWorker, runID))
		if !slices.Equal(got, []string{"instead"}) {
			b.Fatalf("the agent got %q", got) // neither what was dropped nor the prompt again
		}
		b.sound(runID)
	})
}

// A follow-up that comes between the last turn and the finish is either the next
// turn or brings the run back into the queue; it is never lost.
func TestR6FollowupRacingTheEndIsNeverLost(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		turns, requeued := 0, 0
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		for i := range longRounds(2000) {
			message := fmt.Sprint("message ", i)
			var next *lineshaft.Turn
			var endErr, sendErr error
			together(2, func(who int) {
				if who == 0 {
					next, endErr = b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
				} else {
					_, sendErr = b.s.Followup(b.Context(), b.admin, lineshaft.NewFollowup{RunID: runID, Message: message}, nil)
				}
			})
			wantCode(b, endErr, "")
			wantCode(b, sendErr, "")
			if next == nil {
				requeued++
				job = b.claimOne(lineshaft.HostedWorker, runID)
				next = &job.Turn
			} else {
				turns++
			}
			if next.Message != message {
				b.Fatalf("round %d: the agent got %q", i, next.Message)
			}
		}
		if after := b.end(job, lineshaft.Succeeded); after != nil {
			b.Fatalf("in the end it got %q again", after.Message)
		}
		b.want(runID, lineshaft.Succeeded)
		b.sound(runID)
		b.Logf("%d as next turn, %d as new execution", turns, requeued)
	})
}

// A worker that never got the answer to EndTurn sends it again. The turn that the
// lost answer held must not count as done.
func TestR6EndTurnSentAgainLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		b.followup(runID, "one")
		b.followup(runID, "two")
		end := func(turn string) *lineshaft.Turn {
			b.Helper()
			return must[*lineshaft.Turn](b)(b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded, Turn: turn}))
		}
		first, again := end(lineshaft.PromptTurn), end(lineshaft.PromptTurn)
		if first == nil || again == nil || first.Message != "one" || again.FollowupID != first.FollowupID {
			b.Fatalf("%+v, then %+v", first, again)
		}
		second, again := end(first.Name()), end(first.Name())
		if second == nil || again == nil || second.Message != "two" || again.FollowupID != second.FollowupID {
			b.Fatalf("%+v, then %+v", second, again)
		}
		if last := end(second.Name()); last != nil {
			b.Fatalf("%+v", last)
		}
		_, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded, Turn: second.Name()})
		wantCode(b, err, lineshaft.CodeConflict)
		b.want(runID, lineshaft.Succeeded)
	})
}

// However many are sent at once, each is delivered once.
func TestR6ManyMessagesAtOnceAreAllTold(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: "p"})
		together(20, func(i int) {
			if _, err := b.s.Followup(b.Context(), b.admin, lineshaft.NewFollowup{RunID: runID, Message: fmt.Sprint("m", i)}, nil); err != nil {
				b.Error(err)
			}
		})
		var logged []string
		for _, e := range b.events(runID) {
			if e.Type == lineshaft.EventMessage {
				logged = append(logged, decode[lineshaft.MessageData](b, e).Text)
			}
		}
		got, _ := b.conversation(job)
		slices.Sort(logged)
		slices.Sort(got)
		if len(got) != 21 || !slices.Equal(got, logged) {
			b.Fatalf("logged %q, told %q", logged, got)
		}
		b.sound(runID)
	})
}

func TestR6RefusedFollowups(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{}).RunID
		for name, test := range map[string]struct {
			req  lineshaft.NewFollowup
			code lineshaft.Code
		}{
			"empty":   {lineshaft.NewFollowup{RunID: runID}, lineshaft.CodeInvalidRequest},
			"large":   {lineshaft.NewFollowup{RunID: runID, Message: strings.Repeat("x", lineshaft.MaxPromptBytes+1)}, lineshaft.CodeInvalidRequest},
			"NUL":     {lineshaft.NewFollowup{RunID: runID, Message: "\x00"}, lineshaft.CodeInvalidRequest},
			"unknown": {lineshaft.NewFollowup{RunID: b.newID(), Message: "x"}, lineshaft.CodeNotFound},
			"no id":   {lineshaft.NewFollowup{RunID: "../etc", Message: "x"}, lineshaft.CodeNotFound},
		} {
			if _, err := b.s.Followup(b.Context(), b.admin, test.req, nil); lineshaft.CodeOf(err) != test.code {
				b.Errorf("%s: %v", name, err)
			}
		}
		if entries := b.audits(runID); len(entries) != 1 {
			b.Errorf("refused calls left entries: %+v", entries)
		}
	})
}
