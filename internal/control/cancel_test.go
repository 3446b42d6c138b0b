package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

func TestR7CancelInEveryState(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, state := range []lineshaft.RunState{lineshaft.Queued, lineshaft.Claimed, lineshaft.InProgress, lineshaft.Blocked} {
			runID := b.start(lineshaft.NewRun{}).RunID
			var job lineshaft.Job
			if state != lineshaft.Queued {
				job = b.claimOne(lineshaft.HostedWorker, runID)
			}
			if state == lineshaft.InProgress || state == lineshaft.Blocked {
				b.begin(job)
			}
			if state == lineshaft.Blocked {
				wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Blocked: true}), "")
			}
			b.want(runID, state)
			b.cancel(runID)
			run := b.want(runID, lineshaft.Cancelled)
			if run.FinishedAt.IsZero() || !strings.Contains(run.Status.Message, b.admin.Principal.DisplayName) {
				b.Errorf("%s: %+v", state, run.Status)
			}
			if state != lineshaft.Queued {
				b.refusedButEnds(job)
			}
			if b.run(runID).SandboxRunning {
				b.Errorf("%s: the sandbox still counts as running", state)
			}
			_, err := b.s.Cancel(b.Context(), b.admin, runID, false, nil)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
			b.sound(runID)
		}
		if left := b.claimable(lineshaft.HostedWorker); len(left) > 0 {
			b.Errorf("cancelled runs can be claimed: %+v", left)
		}
	})
}

// refusedButEnds: every call reports to an execution that it lost its run, until it
// says that nothing is left of it.
func (b *bench) refusedButEnds(job lineshaft.Job) {
	b.Helper()
	runID := job.RunID
	last := b.run(runID).LastSequence
	wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{b.output("late")}, Started: true}), lineshaft.CodeConflict)
	for _, state := range []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Queued} {
		_, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: state})
		wantCode(b, err, lineshaft.CodeConflict)
	}
	_, err := b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "f"}, strings.NewReader("x"))
	wantCode(b, err, lineshaft.CodeConflict)
	if run := b.run(runID); run.LastSequence != last {
		b.Fatalf("late reports reached the log: %d to %d", last, run.LastSequence)
	}
	b.end(job, lineshaft.Cancelled)
	_, err = b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Cancelled})
	wantCode(b, err, lineshaft.CodeConflict)
}

func (b *bench) output(text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventOutput, b.clock.now(), lineshaft.OutputData{Stream: "stdout", Text: text})
}

func TestR7EndedRunsCannotBeCancelled(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, state := range []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Errored} {
			runID, job := b.working(lineshaft.NewRun{})
			b.end(job, state)
			_, err := b.s.Cancel(b.Context(), b.admin, runID, false, nil)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
			b.want(runID, state)
		}
		_, err := b.s.Cancel(b.Context(), b.admin, b.newID(), false, nil)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

func TestR7CascadeCancelsDescendants(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		root := b.start(lineshaft.NewRun{}).RunID
		child := b.start(lineshaft.NewRun{ParentRunID: root}).RunID
		grandchild := b.start(lineshaft.NewRun{ParentRunID: child}).RunID
		ended := b.start(lineshaft.NewRun{ParentRunID: root}).RunID
		b.cancel(ended)
		other := b.start(lineshaft.NewRun{}).RunID
		key := idem("c", "")
		must[runs.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, child, false, nil))
		b.want(grandchild, lineshaft.Queued) // without cascade
		must[runs.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, root, true, key))
		for _, runID := range []string{root, child, grandchild, ended} {
			b.want(runID, lineshaft.Cancelled)
		}
		b.want(other, lineshaft.Queued)
		// A second call with the same key finishes what the first may have left.
		late := b.start(lineshaft.NewRun{ParentRunID: root}).RunID
		result := must[runs.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, root, true, key))
		if !result.Replayed {
			b.Error("it was done twice")
		}
		b.want(late, lineshaft.Cancelled)
		if entries := b.audits(root); len(entries) != 2 {
			b.Errorf("%d entries for one cancel", len(entries)-1)
		}
	})
}

func TestR7CancelRacingTheEndGivesOneState(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		count := map[lineshaft.RunState]int{}
		for range longRounds(1000) {
			runID, job := b.working(lineshaft.NewRun{})
			var endErr, cancelErr error
			together(2, func(who int) {
				if who == 0 {
					_, endErr = b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
				} else {
					_, cancelErr = b.s.Cancel(b.Context(), b.admin, runID, false, nil)
				}
			})
			run := b.run(runID)
			count[run.State]++
			switch run.State {
			case lineshaft.Succeeded:
				wantCode(b, endErr, "")
				wantCode(b, cancelErr, lineshaft.CodeInvalidRequest)
			case lineshaft.Cancelled:
				wantCode(b, cancelErr, "")
				wantCode(b, endErr, lineshaft.CodeConflict)
				b.end(job, lineshaft.Cancelled)
			default:
				b.Fatalf("it ended as %s (%v, %v)", run.State, endErr, cancelErr)
			}
			ends := 0
			for _, state := range b.states(runID) {
				if state.Terminal() {
					ends++
				}
			}
			if ends != 1 {
				b.Fatalf("the log has %d ends", ends)
			}
			b.sound(runID)
		}
		b.Logf("ended %v", count)
	})
}

// A run that was cancelled while a worker held it and then continued must wait:
// the old processes may still be alive.
func TestX1ContinuedRunWaitsForTheOldProcesses(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]func(b *bench, job lineshaft.Job){
		"told":  func(b *bench, job lineshaft.Job) { b.end(job, lineshaft.Cancelled) },
		"lease": func(b *bench, job lineshaft.Job) { b.lost(job) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(b *bench) {
				runID, job := b.working(lineshaft.NewRun{})
				b.cancel(runID)
				b.followup(runID, "go on")
				b.want(runID, lineshaft.Queued)
				if jobs := b.claimable(lineshaft.HostedWorker); len(jobs) > 0 {
					b.Fatal("it was claimed while the old execution may be alive")
				}
				wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1}), lineshaft.CodeConflict)
				over(b, job)
				b.want(runID, lineshaft.Queued)
				next := b.claimOne(lineshaft.HostedWorker, runID)
				if next.Turn.Message != "go on" || next.ExecutionID == job.ExecutionID {
					b.Fatalf("%+v", next)
				}
				wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1}), lineshaft.CodeConflict)
				b.begin(next)
				b.end(next, lineshaft.Succeeded)
				b.sound(runID)
			})
		})
	}
}

func TestR12CancelByFilter(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var mine []string
		for i := range 3 {
			mine = append(mine, b.start(lineshaft.NewRun{Metadata: map[string]string{"batch": "1"}, Title: fmt.Sprint(i)}).RunID)
		}
		other := b.start(lineshaft.NewRun{Metadata: map[string]string{"batch": "2"}}).RunID
		b.cancel(mine[1])
		filter := lineshaft.RunFilter{Metadata: map[string]string{"batch": "1"}}
		got := must[[]string](b)(b.s.CancelMatching(b.Context(), b.admin, filter))
		if !slices.Equal(got, []string{mine[0], mine[2]}) {
			b.Fatalf("cancelled %v of %v", got, mine)
		}
		b.want(other, lineshaft.Queued)
		filter.States = []lineshaft.RunState{lineshaft.Cancelled, lineshaft.InProgress}
		if got := must[[]string](b)(b.s.CancelMatching(b.Context(), b.admin, filter)); len(got) != 0 {
			b.Fatalf("cancelled again: %v", got)
		}
		for _, role := range []lineshaft.Role{lineshaft.RoleMember, lineshaft.RoleViewer} {
			_, err := b.s.CancelMatching(b.Context(), b.caller(role), lineshaft.RunFilter{})
			wantCode(b, err, lineshaft.CodeNotAuthorized)
		}
		limited := b.caller(lineshaft.RoleManager, "f1")
		if got := must[[]string](b)(b.s.CancelMatching(b.Context(), limited, lineshaft.RunFilter{})); len(got) != 0 {
			b.Fatalf("a limited manager cancelled %v", got)
		}
		b.want(other, lineshaft.Queued)
	})
}

// More runs than one page of the scan.
func TestR12CancelByFilterTakesAllPages(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		together(8, func(int) {
			for range 14 {
				if _, err := b.as(b.admin, lineshaft.NewRun{}); err != nil {
					b.Error(err)
				}
			}
		})
		if got := must[[]string](b)(b.s.CancelMatching(b.Context(), b.admin, lineshaft.RunFilter{})); len(got) != 112 {
			b.Fatalf("%d were cancelled", len(got))
		}
		if left := b.list(lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Queued}}); len(left) > 0 {
			b.Fatalf("%d are left", len(left))
		}
	})
}

// the log says of follow-ups that no agent got them.
func TestR7CancelTellsOfFollowupsThatWereDropped(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for n, want := range []string{"", "1 follow-up was not delivered", "2 follow-ups were not delivered"} {
			runID, _ := b.working(lineshaft.NewRun{})
			for range n {
				b.followup(runID, "more")
			}
			must[runs.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, runID, false, nil))
			events := b.events(runID)
			told := ""
			for _, e := range events {
				if e.Type == lineshaft.EventNotice {
					told += string(e.Data)
				}
			}
			if want == "" && told != "" || !strings.Contains(told, want) {
				b.Errorf("of %d it says %q", n, told)
			}
			if last := events[len(events)-1]; last.Type != lineshaft.EventState {
				b.Errorf("the log ends with %s", last.Type)
			}
		}
	})
}

func TestR8InterruptReachesTheWorkerOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		held := []lineshaft.ExecutionRef{job.ExecutionRef}
		wantCode(b, b.s.Interrupt(b.Context(), b.admin, runID), "")
		status := func() string { return must[*lineshaft.Run](b)(b.s.GetRun(b.Context(), b.admin, runID)).Status.Message }
		if b.want(runID, lineshaft.InProgress); status() != "interrupted; a follow-up continues the run" {
			b.Fatalf("the status is %q", status())
		}
		count := 0
		for range 2 {
			for _, d := range must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", held)) {
				if d.Kind == lineshaft.DirectiveInterrupt && d.ExecutionID == job.ExecutionID {
					count++
				}
			}
		}
		if count != 1 {
			b.Fatalf("it was told %d times", count)
		}
		// An interrupt that comes too late is not for the next turn.
		wantCode(b, b.s.Interrupt(b.Context(), b.admin, runID), "")
		b.followup(runID, "next")
		if next := b.end(job, lineshaft.Succeeded); next == nil {
			b.Fatal("no next turn")
		}
		if status() != "the agent is working" {
			b.Fatalf("in the next turn the status is %q", status())
		}
		if d := must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", held)); len(d) > 0 {
			b.Fatalf("the next turn is interrupted: %+v", d)
		}
		b.end(job, lineshaft.Succeeded)
		wantCode(b, b.s.Interrupt(b.Context(), b.admin, runID), lineshaft.CodeConflict)
		queued := b.start(lineshaft.NewRun{}).RunID
		wantCode(b, b.s.Interrupt(b.Context(), b.admin, queued), lineshaft.CodeConflict)
		wantCode(b, b.s.Interrupt(b.Context(), b.admin, b.newID()), lineshaft.CodeNotFound)
	})
}
