package control_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// podOf is the process that works on an execution alone, with its run token.
func (b *bench) podOf(job lineshaft.Job, host, word string) *runs.RemoteWorker {
	b.Helper()
	c := must[lineshaft.Caller](b)(b.s.AuthenticateExecution(b.Context(), job.RunToken))
	if c.Role != lineshaft.RoleRun || c.KeyID != job.ExecutionID || c.RunID != job.RunID {
		b.Fatalf("%+v", c)
	}
	return must[*runs.RemoteWorker](b)(b.s.Remote(c, host, host+"/"+job.ExecutionID+"."+word))
}

// toldToStop says whether a heartbeat was answered with a stop.
func toldToStop(b *bench, directives []lineshaft.Directive, err error) bool {
	b.Helper()
	wantCode(b, err, "")
	for _, d := range directives {
		if d.Kind == lineshaft.DirectiveStop {
			return true
		}
	}
	return false
}

// TestX1TakeOver: an execution goes from the launcher to its pod and back, and only the
// one that has it keeps its lease and is notified.
func TestX1TakeOver(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.forBox(1)
		launcher := b.remote("launcher")
		job := b.claimAs(launcher, 1)[0]
		held := []lineshaft.ExecutionRef{job.ExecutionRef}
		note := lineshaft.NewDraft(lineshaft.EventNotice, b.store.Now(), lineshaft.NoticeData{Text: "no node"})
		answers, err := launcher.Report(b.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{note}}})
		wantCode(b, err, "")
		wantCode(b, answers[0], "")

		pod := b.podOf(job, "box", "p1")
		if directives, err := pod.Heartbeat(b.Context(), held); !toldToStop(b, directives, err) {
			b.Error("a pod that has not taken over keeps the lease")
		}
		answers, err = pod.Report(b.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 2}})
		wantCode(b, err, "")
		wantCode(b, answers[0], lineshaft.CodeConflict)
		for range 2 { // an answer may be lost
			if last := must[int64](b)(pod.TakeOver(b.Context(), job.ExecutionRef, false)); last != 1 {
				b.Errorf("last event %d", last)
			}
		}
		if directives, err := pod.Heartbeat(b.Context(), held); toldToStop(b, directives, err) {
			b.Error("the pod does not keep the lease")
		}
		if directives, err := launcher.Heartbeat(b.Context(), held); !toldToStop(b, directives, err) {
			b.Error("the launcher keeps a lease that is the pod's")
		}
		// A second pod, or a launcher that thinks it has not started, does not get it.
		_, err = b.podOf(job, "box", "p2").TakeOver(b.Context(), job.ExecutionRef, true)
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = b.remote("next").TakeOver(b.Context(), job.ExecutionRef, false)
		wantCode(b, err, lineshaft.CodeConflict)
		// A launcher that starts again gives up nothing of the pod.
		if ended := must[int](b)(launcher.Connect(b.Context())); ended != 0 {
			b.Errorf("%d given up", ended)
		}
		b.begin(job)
		b.want(runID, lineshaft.InProgress)
		// The pod is dead: the launcher takes it back, and the pod is asked to stop.
		if last := must[int64](b)(b.remote("next").TakeOver(b.Context(), job.ExecutionRef, true)); last != 1 {
			b.Errorf("last event %d", last)
		}
		if directives, err := pod.Heartbeat(b.Context(), held); !toldToStop(b, directives, err) {
			b.Error("the pod still keeps the lease")
		}
		_, err = pod.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = b.remote("next").EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Queued, Message: "evicted", Dead: true})
		wantCode(b, err, "")
		b.want(runID, lineshaft.Errored)
		_, err = b.remote("next").TakeOver(b.Context(), job.ExecutionRef, true)
		wantCode(b, err, lineshaft.CodeConflict)
	})
}

// TestX1TakeOverAfterTheLease: a lease that has run out is not revived.
func TestX1TakeOverAfterTheLease(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.forBox(1)
		job := b.claimAs(b.remote("launcher"), 1)[0]
		pod := b.podOf(job, "box", "p1")
		wantCode(b, b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.ExpireLease(ctx, job.ExecutionID) }), "")
		_, err := pod.TakeOver(b.Context(), job.ExecutionRef, false)
		wantCode(b, err, lineshaft.CodeConflict)
	})
}

// TestS3RunTokenWorksForItsOwnExecutionOnly: with the token alone nothing can be done,
// and with another execution's fencing token neither.
func TestS3RunTokenWorksForItsOwnExecutionOnly(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.forBox(1)
		b.forBox(1)
		jobs := b.claimAs(b.remote("launcher"), 2)
		mine, other := jobs[0], jobs[1]
		pod := b.podOf(mine, "box", "p1")
		must[int64](b)(pod.TakeOver(b.Context(), mine.ExecutionRef, false))
		guessed := lineshaft.ExecutionRef{ExecutionID: mine.ExecutionID, Token: "guessed"}
		for _, ref := range []lineshaft.ExecutionRef{other.ExecutionRef, guessed} {
			_, err := pod.TakeOver(b.Context(), ref, true)
			wantCode(b, err, lineshaft.CodeConflict)
			answers, err := pod.Report(b.Context(), []lineshaft.Report{{ExecutionRef: ref, First: 1, Started: true}})
			wantCode(b, err, "")
			wantCode(b, answers[0], lineshaft.CodeConflict)
			_, err = pod.EndTurn(b.Context(), ref, lineshaft.TurnResult{State: lineshaft.Succeeded})
			wantCode(b, err, lineshaft.CodeConflict)
			_, err = pod.Upload(b.Context(), ref, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, strings.NewReader("x"))
			wantCode(b, err, lineshaft.CodeConflict)
			var body io.ReadCloser
			body, err = pod.Download(b.Context(), ref, "blob")
			if wantCode(b, err, lineshaft.CodeConflict); body != nil {
				b.Error("something was opened")
			}
		}
		_, err := pod.Heartbeat(b.Context(), []lineshaft.ExecutionRef{mine.ExecutionRef, other.ExecutionRef})
		wantCode(b, err, lineshaft.CodeConflict)
		c := must[lineshaft.Caller](b)(b.s.AuthenticateExecution(b.Context(), mine.RunToken))
		for _, process := range []string{"box/launcher", "box/" + other.ExecutionID + ".p", "box/" + mine.ExecutionID, "box/" + mine.ExecutionID + ".", "box/" + mine.ExecutionID + ".a/b"} {
			_, err := b.s.Remote(c, "box", process)
			wantCode(b, err, lineshaft.CodeNotAuthorized)
		}
		// The token outlives its execution here, only to hear that it is over.
		_, err = pod.EndTurn(b.Context(), mine.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
		wantCode(b, err, "")
		if directives, err := b.podOf(mine, "box", "p1").Heartbeat(b.Context(), []lineshaft.ExecutionRef{mine.ExecutionRef}); !toldToStop(b, directives, err) {
			b.Error("an execution that is over goes on")
		}
		_, err = b.s.Authenticate(b.Context(), mine.RunToken)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		for _, token := range []string{"", "ls_run_nobody", "ls_key", adminKey, "ls_run_" + strings.Repeat("x", 300)} {
			_, err = b.s.AuthenticateExecution(b.Context(), token)
			wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		}
	})
}

// a caller that only has the token of a run makes the server keep nothing.
func TestX7RunTokenAloneIsToldNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.forBox(1)
		job := b.claimAs(b.remote("launcher"), 1)[0]
		c := must[lineshaft.Caller](b)(b.s.AuthenticateExecution(b.Context(), job.RunToken))
		long := strings.Repeat("h", 3000)
		for _, host := range []string{"", "other", long} {
			_, err := b.s.Remote(c, host, host+"/"+job.ExecutionID+".p1")
			wantCode(b, err, lineshaft.CodeNotAuthorized)
			if strings.Contains(err.Error(), long) {
				b.Error("the answer repeats what came")
			}
		}
		impatient, cancel := context.WithCancel(b.Context())
		cancel()
		listening := func(word string, heard bool) {
			b.Helper()
			_, err := b.podOf(job, "box", word).Directives(impatient)
			if errors.Is(err, context.Canceled) != heard || !heard && lineshaft.CodeOf(err) != lineshaft.CodeConflict {
				b.Errorf("process %s: %v", word, err)
			}
		}
		listening("p1", false) // not placed yet
		pod := b.podOf(job, "box", "p1")
		must[int64](b)(pod.TakeOver(b.Context(), job.ExecutionRef, false))
		listening("p2", false)
		listening("p1", true)
		_, err := pod.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
		wantCode(b, err, "")
		listening("p1", false)
		_, err = pod.Report(b.Context(), nil)
		wantCode(b, err, lineshaft.CodeConflict)
		wantCode(b, b.podOf(job, "box", "p1").Leave(b.Context()), "")
	})
}

// toldInterrupts counts the interrupts among the answers to a heartbeat.
func toldInterrupts(b *bench, directives []lineshaft.Directive, err error) (interrupts int) {
	b.Helper()
	wantCode(b, err, "")
	for _, d := range directives {
		if d.Kind == lineshaft.DirectiveInterrupt {
			interrupts++
		}
	}
	return interrupts
}

// an interrupt that comes before the pod has its execution goes to the launcher, which
// has no agent to stop, and then to the pod: once each, whichever launcher that is by then.
func TestR8InterruptBeforeThePodHasItsExecution(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.forBox(1)
		launcher := b.remote("launcher")
		job := b.claimAs(launcher, 1)[0]
		held := []lineshaft.ExecutionRef{job.ExecutionRef}
		wantCode(b, b.s.Interrupt(b.Context(), b.admin, runID), "")
		for _, want := range []int{1, 0} {
			if directives, err := launcher.Heartbeat(b.Context(), held); toldInterrupts(b, directives, err) != want {
				b.Errorf("the launcher hears %+v, want %d interrupts", directives, want)
			}
		}
		next := b.remote("launcher2")
		must[int64](b)(next.TakeOver(b.Context(), job.ExecutionRef, false))
		if directives, err := next.Heartbeat(b.Context(), held); toldInterrupts(b, directives, err) != 1 {
			b.Errorf("the next launcher hears %+v", directives)
		}
		pod := b.podOf(job, "box", "p1")
		must[int64](b)(pod.TakeOver(b.Context(), job.ExecutionRef, false))
		pod = b.podOf(job, "box", "p1")
		for _, want := range []int{1, 0} {
			if directives, err := pod.Heartbeat(b.Context(), held); toldInterrupts(b, directives, err) != want {
				b.Errorf("the pod hears %+v, want %d interrupts", directives, want)
			}
		}
		answers, err := pod.Report(b.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Started: true}})
		wantCode(b, err, "")
		wantCode(b, answers[0], "")
		b.want(runID, lineshaft.InProgress)
		if run := must[*lineshaft.Run](b)(b.s.GetRun(b.Context(), b.admin, runID)); run.Status.Message != "interrupted; a follow-up continues the run" {
			b.Errorf("status %q", run.Status.Message)
		}
		if directives, err := pod.Heartbeat(b.Context(), held); toldInterrupts(b, directives, err) != 0 {
			b.Errorf("the pod hears %+v once more", directives)
		}
	})
}
