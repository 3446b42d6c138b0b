package control_test

import (
	"context"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// changes are the calls that continue or end a run.
func (b *bench) changes(c lineshaft.Caller, runID string) map[string]error {
	_, followup := b.s.Followup(b.Context(), c, lineshaft.NewFollowup{RunID: runID, Message: "x"}, nil)
	interrupt := b.s.Interrupt(b.Context(), c, runID)
	_, cancel := b.s.Cancel(b.Context(), c, runID, false, nil)
	remove := b.s.DeleteRun(b.Context(), c, runID)
	return map[string]error{"follow-up": followup, "interrupt": interrupt, "cancel": cancel, "delete": remove}
}

// wantAll checks that every change gave the same code; "" means that it was let
// through, whatever the run's state made of it.
func (b *bench) wantAll(c lineshaft.Caller, runID string, code lineshaft.Code) {
	b.Helper()
	for call, err := range b.changes(c, runID) {
		code, got := code, lineshaft.CodeOf(err)
		if call == "delete" && !c.Role.May(lineshaft.PermissionRunsManage) {
			code = lineshaft.CodeNotAuthorized
		}
		let := err == nil || got == lineshaft.CodeConflict || got == lineshaft.CodeInvalidRequest
		if code == "" && !let || code != "" && (err == nil || got != code) {
			b.Errorf("%s by %s: %v, want %q", call, c.Role, err, code)
		}
	}
}

func TestS3WhoMayChangeARun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		member, other := b.caller(lineshaft.RoleMember), b.caller(lineshaft.RoleMember)
		own := func() string {
			b.Helper()
			runID := must[runs.Started](b)(b.as(member, lineshaft.NewRun{})).RunID
			b.begin(b.claimOne(lineshaft.HostedWorker, runID))
			return runID
		}
		runID := own()
		b.wantAll(other, runID, lineshaft.CodeNotAuthorized)
		b.wantAll(b.caller(lineshaft.RoleViewer), runID, lineshaft.CodeNotAuthorized)
		b.wantAll(b.caller(lineshaft.RoleWorker), runID, lineshaft.CodeNotAuthorized)
		b.wantAll(b.caller(lineshaft.RoleManager, "f1"), runID, lineshaft.CodeNotFound)
		if run := b.want(runID, lineshaft.InProgress); run.LastSequence != 5 {
			b.Fatal("a refused call left an event")
		}
		if entries := b.audits(runID); len(entries) != 1 {
			b.Fatalf("refused calls left entries: %+v", entries)
		}
		if _, err := b.s.GetRun(b.Context(), other, runID); err != nil {
			b.Errorf("everybody sees all runs: %v", err)
		}
		b.wantAll(member, runID, "")
		b.wantAll(b.caller(lineshaft.RoleManager), own(), "")
		b.wantAll(b.admin, own(), "")
	})
}

// inFactory puts a run into a factory, as agents of one will.
func (b *bench) inFactory(factory string, req lineshaft.NewRun) string {
	b.Helper()
	id, at := b.store.NewID()
	config, _ := lineshaft.Resolve(lineshaft.Layer{Config: req.Config}, lineshaft.Layer{Config: lineshaft.AgentConfig{WorkerHost: lineshaft.HostedWorker}})
	n := &store.NewRun{
		Title: "in " + factory, Source: lineshaft.SourceAPI, CreatedAt: at, RootRunID: id, ConversationID: b.newID(), SessionID: b.newID(),
		Body: store.RunBody{Prompt: "p", Submitted: "p", Config: config, Metadata: req.Metadata},
		Head: store.RunHead{RunLife: lineshaft.RunLife{
			ID: id, State: lineshaft.Queued, WorkerHost: config.WorkerHost, CreatorUID: b.admin.Principal.UID, FactoryUID: factory,
			UpdatedAt: at, QueuedAt: at, QueueDeadline: at.AddDate(0, 0, 1), MaxAttempts: 1,
		}},
	}
	first := lineshaft.NewDraft(lineshaft.EventState, at, lineshaft.StateData{To: lineshaft.Queued})
	err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertRun(ctx, n, []lineshaft.Draft{first}) })
	wantCode(b, err, "")
	return id
}

func TestS3FactoryKeysSeeTheirFactoriesOnly(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		inside, outside, none := b.inFactory("f1", lineshaft.NewRun{}), b.inFactory("f2", lineshaft.NewRun{}), b.start(lineshaft.NewRun{}).RunID
		limited := b.caller(lineshaft.RoleManager, "f1", "f3")
		for _, runID := range []string{outside, none} {
			_, err := b.s.GetRun(b.Context(), limited, runID)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.s.Events(b.Context(), limited, runID, 0, 10)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.s.Follow(b.Context(), limited, runID, 0)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.s.ExplainRun(b.Context(), limited, runID)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.s.Attachments(b.Context(), limited, runID)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.s.Executions(b.Context(), limited, runID)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.s.Rerun(b.Context(), limited, runID, lineshaft.SourceAPI, nil)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.as(limited, lineshaft.NewRun{ParentRunID: runID})
			wantCode(b, err, lineshaft.CodeInvalidRequest)
			_, err = b.s.RunByConversation(b.Context(), limited, b.run(runID).ConversationID)
			wantCode(b, err, lineshaft.CodeNotFound)
			_, err = b.s.ListRuns(b.Context(), limited, lineshaft.RunQuery{Filter: lineshaft.RunFilter{AncestorRunID: runID}, Sort: lineshaft.SortCreated, Limit: 5})
			wantCode(b, err, lineshaft.CodeNotFound)
			b.wantAll(limited, runID, lineshaft.CodeNotFound)
		}
		if run := must[*lineshaft.Run](b)(b.s.GetRun(b.Context(), limited, inside)); run.FactoryUID != "f1" {
			b.Fatalf("%+v", run)
		}
		// It cannot start what it could not see, and a child is in its parent's factory.
		_, err := b.as(limited, lineshaft.NewRun{})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		child := must[runs.Started](b)(b.as(limited, lineshaft.NewRun{ParentRunID: inside})).RunID
		if run := b.run(child); run.FactoryUID != "f1" {
			b.Fatalf("%+v", run)
		}
		b.wantAll(limited, child, "")
	})
}

func TestS3ListsStayInTheKeysFactories(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		inside := b.inFactory("f1", lineshaft.NewRun{})
		b.inFactory("f2", lineshaft.NewRun{})
		b.start(lineshaft.NewRun{})
		limited := b.caller(lineshaft.RoleViewer, "f1", "f3")
		for name, test := range map[string]struct {
			factories []string
			want      int
		}{"none asked": {nil, 1}, "own": {[]string{"f1"}, 1}, "own and foreign": {[]string{"f1", "f2"}, 1}, "foreign": {[]string{"f2"}, 0}, "own, empty": {[]string{"f3"}, 0}} {
			q := lineshaft.RunQuery{Filter: lineshaft.RunFilter{FactoryUIDs: test.factories}, Sort: lineshaft.SortUpdated, Limit: 10}
			page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), limited, q))
			if len(page.Runs) != test.want || test.want == 1 && page.Runs[0].ID != inside {
				b.Errorf("%s: %d runs", name, len(page.Runs))
			}
		}
		states, err := b.s.FollowStates(b.Context(), limited, lineshaft.RunFilter{}, "")
		wantCode(b, err, "")
		defer states.Close()
		foreign, err := b.s.FollowStates(b.Context(), limited, lineshaft.RunFilter{FactoryUIDs: []string{"f2"}}, "")
		wantCode(b, err, "")
		defer foreign.Close()
		b.inFactory("f2", lineshaft.NewRun{})
		seen := b.inFactory("f1", lineshaft.NewRun{})
		changes, err := states.Next(b.Context())
		if err != nil || len(changes) != 1 || changes[0].Event.RunID != seen {
			b.Fatalf("%+v %v", changes, err)
		}
	})
}

// A run's own token reaches its run and what is below it.
func TestX7RunTokenReachesItsTree(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Title: "agent", Metadata: map[string]string{"t": "1"}})
		foreign, foreignJob := b.working(lineshaft.NewRun{})
		token := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		if token.Role != lineshaft.RoleRun || token.RunID != runID || token.KeyID != job.ExecutionID || token.Principal.DisplayName != "agent" {
			b.Fatalf("%+v", token)
		}
		child := b.run(must[runs.Started](b)(b.as(token, lineshaft.NewRun{})).RunID)
		if child.ParentRunID != runID || child.Depth != 1 || child.Metadata["t"] != "1" || child.Creator.UID != token.Principal.UID || child.Creator.DisplayName != "agent" {
			b.Fatalf("%+v", child)
		}
		grandchild := b.start(lineshaft.NewRun{ParentRunID: child.ID}).RunID
		for _, visible := range []string{runID, child.ID, grandchild} {
			must[*lineshaft.Run](b)(b.s.GetRun(b.Context(), token, visible))
		}
		_, err := b.s.GetRun(b.Context(), token, foreign)
		wantCode(b, err, lineshaft.CodeNotFound)
		b.wantAll(token, foreign, lineshaft.CodeNotFound)
		b.wantAll(token, runID, lineshaft.CodeNotAuthorized) // it cannot cancel itself
		for _, req := range []lineshaft.NewRun{{ParentRunID: foreign}, {ConversationID: b.run(foreign).ConversationID}} {
			if _, err := b.as(token, req); err == nil {
				b.Errorf("it started %+v", req)
			}
		}
		page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), token, lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 10}))
		if len(page.Runs) != 3 {
			b.Errorf("it lists %d runs, want its own and the two below it", len(page.Runs))
		}
		outside := lineshaft.RunFilter{AncestorRunID: foreign}
		_, err = b.s.ListRuns(b.Context(), token, lineshaft.RunQuery{Filter: outside, Sort: lineshaft.SortCreated, Limit: 10})
		wantCode(b, err, lineshaft.CodeNotFound)
		_, err = b.s.FollowStates(b.Context(), token, outside, "")
		wantCode(b, err, lineshaft.CodeNotFound)
		_, err = b.s.CancelMatching(b.Context(), token, lineshaft.RunFilter{})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		b.wantAll(token, child.ID, "")
		b.wantAll(token, grandchild, lineshaft.CodeNotAuthorized) // a person started it
		b.want(foreign, lineshaft.InProgress)
		b.end(foreignJob, lineshaft.Succeeded)
	})
}

// A token dies with its execution: ended, lost or taken away.
func TestX7RunTokenDiesWithItsExecution(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]func(b *bench, job lineshaft.Job){
		"ended":     func(b *bench, job lineshaft.Job) { b.end(job, lineshaft.Succeeded) },
		"lost":      func(b *bench, job lineshaft.Job) { b.lost(job) },
		"expired":   func(b *bench, job lineshaft.Job) { b.expire(job) },
		"cancelled": func(b *bench, job lineshaft.Job) { b.cancel(job.RunID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(b *bench) {
				runID, job := b.working(lineshaft.NewRun{})
				token := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
				over(b, job)
				_, err := b.s.Authenticate(b.Context(), job.RunToken)
				wantCode(b, err, lineshaft.CodeAuthenticationRequired)
				if name == "expired" {
					return // it still holds the run, and may continue if it renews in time
				}
				// A call that was let in just before cannot leave a child that nobody cancels.
				_, err = b.as(token, lineshaft.NewRun{})
				wantCode(b, err, lineshaft.CodeNotAuthorized)
				if children := b.list(lineshaft.RunFilter{AncestorRunID: runID}); len(children) > 0 {
					b.Fatalf("%d children", len(children))
				}
			})
		})
	}
}

// An agent that starts children while it is cancelled with all its descendants
// leaves none alive.
func TestX7CascadeRacingItsChildren(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for range rounds(100) {
			runID, job := b.working(lineshaft.NewRun{})
			token := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
			together(3, func(who int) {
				if who == 0 {
					if _, err := b.s.Cancel(b.Context(), b.admin, runID, true, nil); err != nil {
						b.Error(err)
					}
					return
				}
				for range 3 {
					if _, err := b.as(token, lineshaft.NewRun{}); err != nil && lineshaft.CodeOf(err) != lineshaft.CodeNotAuthorized {
						b.Error(err)
					}
				}
			})
			alive := lineshaft.RunFilter{AncestorRunID: runID, States: []lineshaft.RunState{lineshaft.Queued}}
			if left := b.list(alive); len(left) > 0 {
				b.Fatalf("%d children outlived the cancel", len(left))
			}
			b.end(job, lineshaft.Cancelled)
		}
	})
}
