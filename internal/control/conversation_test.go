package control_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// ended starts a run that says something, leaves a snapshot and succeeds.
func (b *bench) ended(req lineshaft.NewRun, says string) *lineshaft.Run {
	b.Helper()
	runID, job := b.working(req)
	wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{
		lineshaft.NewDraft(lineshaft.EventMessage, b.store.Now(), lineshaft.MessageData{Role: "assistant", Text: says}),
	}}), "")
	must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobSnapshot, FileName: "workspace.tar.gz"}, strings.NewReader("files of "+says)))
	b.end(job, lineshaft.Succeeded)
	return b.run(runID)
}

func (b *bench) download(job lineshaft.Job, blob string) string {
	b.Helper()
	content := must[io.ReadCloser](b)(b.s.Download(b.Context(), job.ExecutionRef, blob))
	defer func() { _ = content.Close() }()
	return string(must[[]byte](b)(io.ReadAll(content)))
}

// A run that continues a conversation gets the workspace and the messages of its last run.
func TestR2ConversationIsContinued(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.ended(lineshaft.NewRun{Prompt: "the word is heron"}, "noted")
		second := b.run(b.start(lineshaft.NewRun{Prompt: "which word?", ConversationID: first.ConversationID}).RunID)
		if second.ConversationID != first.ConversationID || second.SessionID == first.SessionID || second.Continues != first.ID {
			b.Fatalf("%+v", second)
		}
		job := b.claimOne(lineshaft.HostedWorker, second.ID)
		if job.Continues == nil || *job.Continues != (lineshaft.Continued{RunID: first.ID, Executions: 1}) || job.Resumed {
			b.Fatalf("%+v", job)
		}
		if got := b.download(job, job.Snapshot); got != "files of noted" {
			b.Fatalf("snapshot %q", got)
		}
		if got := b.download(job, lineshaft.TranscriptBlob); !strings.Contains(got, "the word is heron") || !strings.Contains(got, "noted") {
			b.Fatalf("transcript %q", got)
		}
		b.begin(job)
		b.end(job, lineshaft.Succeeded)
		third := b.ended(lineshaft.NewRun{Prompt: "and now?", ConversationID: first.ConversationID, Config: lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "claude"}}}, "also noted")
		if third.Continues != second.ID {
			b.Fatalf("%+v", third)
		}
		runs, next, err := b.s.ListConversation(b.Context(), b.admin, first.ConversationID, "", 2)
		if err != nil || len(runs) != 2 || runs[0] != first.ID || next != third.ID {
			b.Fatal(runs, next, err)
		}
		session, found, err := b.s.SessionByConversation(b.Context(), first.ConversationID)
		if err != nil || !found || session != third.SessionID {
			b.Fatal(session, found, err)
		}
		conversation, found, err := b.s.RunBySession(b.Context(), first.SessionID)
		if err != nil || !found || conversation != first.ConversationID {
			b.Fatal(conversation, found, err)
		}
	})
}

// Values that a run leaves out come from the run that it continues; a run that is for
// another agent does not get the sessions of the one before.
func TestR2ConversationKeepsItsAgent(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		claude := lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "claude"}, ModelID: "m-1"}
		first := b.ended(lineshaft.NewRun{Prompt: "one", Config: claude}, "1")
		second := b.start(lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID}).RunID
		origins := must[map[string]string](b)(b.s.ExplainRun(b.Context(), b.admin, second))
		if run := b.run(second); run.Config.Harness == nil || run.Config.Harness.Type != "claude" || run.Config.ModelID != "m-1" || origins["harness"] != "conversation" {
			b.Fatalf("%+v, %v", run.Config, origins)
		}
		job := b.claimOne(lineshaft.HostedWorker, second)
		if job.Continues.OtherAgent {
			b.Error("it is the same agent")
		}
		b.begin(job)
		b.end(job, lineshaft.Succeeded)
		third := b.ended(lineshaft.NewRun{Prompt: "three", ConversationID: first.ConversationID}, "3")
		if run := b.run(third.ID); run.Config.Harness == nil || run.Config.Harness.Type != "claude" || run.Config.ModelID != "m-1" {
			b.Errorf("the third run has %+v, want what the first one named", run.Config)
		}
		fourth := b.start(lineshaft.NewRun{Prompt: "four", ConversationID: first.ConversationID, Config: lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "codex"}}}).RunID
		if job := b.claimOne(lineshaft.HostedWorker, fourth); !job.Continues.OtherAgent {
			b.Error("it is another agent")
		}
	})
}

func TestR2ConversationRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.ended(lineshaft.NewRun{Prompt: "one"}, "1")
		next := lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID}
		_, err := b.s.StartRun(b.Context(), b.admin, lineshaft.NewRun{Prompt: " \n", ConversationID: first.ConversationID}, nil)
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		_, err = b.as(b.caller(lineshaft.RoleMember), next)
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, err = b.as(b.caller(lineshaft.RoleManager, b.factory("elsewhere", "").UID), next)
		wantCode(b, err, lineshaft.CodeNotFound)

		second, job := b.working(next)
		_, err = b.as(b.admin, next)
		wantCode(b, err, lineshaft.CodeConflict)
		if !strings.Contains(err.Error(), second) || !strings.Contains(err.Error(), "followups") {
			b.Errorf("%v", err)
		}
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, first.ID), lineshaft.CodeConflict)
		// A message to the first run would now be in neither.
		_, err = b.s.Followup(b.Context(), b.admin, lineshaft.NewFollowup{RunID: first.ID, Message: "and"}, nil)
		wantCode(b, err, lineshaft.CodeConflict)
		b.cancel(second)
		_, err = b.as(b.admin, next) // its agent may still be writing
		wantCode(b, err, lineshaft.CodeConflict)
		b.end(job, lineshaft.Cancelled)
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, second), "")
		if third := b.run(b.start(next).RunID); third.Continues != first.ID {
			b.Errorf("it continues %s", third.Continues)
		}
	})
}

// After its last run was deleted a conversation does not exist, and nothing is started
// with half of it.
func TestR2ConversationIsDeleted(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.ended(lineshaft.NewRun{Prompt: "one"}, "1")
		second := b.start(lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID}).RunID
		// Retention on a node of another version does not ask which run continues it.
		wantCode(b, b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, first.ID) }), "")
		if job := b.claimOne(lineshaft.HostedWorker, second); job.Fault == "" || job.Snapshot != "" || !strings.Contains(job.Fault, first.ID) {
			b.Fatalf("%+v", job)
		}
		third := b.ended(lineshaft.NewRun{Prompt: "three"}, "3")
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, third.ID), "")
		_, err := b.as(b.admin, lineshaft.NewRun{Prompt: "four", ConversationID: third.ConversationID})
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// Two that continue a conversation at once: one does, the other is referred to it.
func TestR2ConversationIsContinuedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.ended(lineshaft.NewRun{Prompt: "one"}, "1")
		codes := make(chan lineshaft.Code, 8)
		for range cap(codes) {
			go func() {
				_, err := b.as(b.admin, lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID})
				if err == nil {
					codes <- ""
					return
				}
				codes <- lineshaft.CodeOf(err)
			}()
		}
		started := 0
		for range cap(codes) {
			switch code := <-codes; code {
			case "":
				started++
			case lineshaft.CodeConflict:
			default:
				b.Errorf("%s", code)
			}
		}
		if started != 1 {
			b.Errorf("%d started", started)
		}
	})
}

// An agent continues what agents started below its own run, and nothing else.
func TestX15ConversationOutsideTheTree(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		foreign := b.ended(lineshaft.NewRun{Prompt: "foreign"}, "secret words")
		_, job := b.working(lineshaft.NewRun{Prompt: "parent"})
		token := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		_, err := b.as(token, lineshaft.NewRun{Prompt: "x", ConversationID: foreign.ConversationID})
		wantCode(b, err, lineshaft.CodeNotFound)
		_, err = b.as(token, lineshaft.NewRun{Prompt: "x", ConversationID: b.run(job.RunID).ConversationID})
		if err == nil {
			b.Error("it continued itself")
		}
		child := must[controlruns.Started](b)(b.as(token, lineshaft.NewRun{Prompt: "child"})).RunID
		below := b.claimOne(lineshaft.HostedWorker, child)
		b.begin(below)
		b.end(below, lineshaft.Succeeded)
		next := must[controlruns.Started](b)(b.as(token, lineshaft.NewRun{Prompt: "more", ConversationID: b.run(child).ConversationID})).RunID
		if run := b.run(next); run.Continues != child || run.ParentRunID != job.RunID {
			b.Errorf("%+v", run)
		}
		other := b.claimOne(lineshaft.HostedWorker, next)
		_, err = b.s.Download(b.Context(), other.ExecutionRef, must[string](b)(b.store.NewestSnapshot(b.Context(), foreign.ID)))
		if err == nil {
			b.Error("it read the files of another conversation")
		}
	})
}

// A stranger's text in a conversation gets no secrets that its runs did not have, and
// neither do runs below one that continues it.
func TestX11ConversationFromOutside(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.teamSecret("ENVIRONMENT_KEY", "a value of these tests")
		config := lineshaft.AgentConfig{EnvironmentID: b.environment(strings.Repeat("e", 22), "ENVIRONMENT_KEY")}
		first := b.ended(lineshaft.NewRun{Prompt: "one"}, "1")
		wantCode(b, b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
			h, err := tx.LockRun(ctx, first.ID)
			return errors.Join(err, tx.MarkOutside(ctx, h))
		}), "")
		next := b.run(b.start(lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID, Config: config}).RunID)
		starts := must[[]store.RunStart](b)(b.store.RunStarts(b.Context(), next.ID, next.ID))
		if len(next.Config.Secrets) != 0 || len(starts) != 1 || !starts[0].Outside {
			b.Errorf("secrets %v, %+v", next.Config.Secrets, starts)
		}
		b.cancel(next.ID)
		own := b.ended(lineshaft.NewRun{Prompt: "one", Config: config}, "1")
		if run := b.run(b.start(lineshaft.NewRun{Prompt: "two", ConversationID: own.ConversationID}).RunID); len(run.Config.Secrets) != 1 {
			b.Errorf("secrets %v", run.Config.Secrets)
		}
	})
}

// A conversation stays in its factory: when its agent is gone, someone must name another.
func TestR2ConversationStaysInItsFactory(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		mine, other := b.factory("mine", ""), b.factory("other", "")
		hand, elsewhere := b.agent(mine.UID, "hand"), b.agent(other.UID, "elsewhere")
		first := b.ended(lineshaft.NewRun{Prompt: "one", AgentUID: hand.UID}, "1")
		next := lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID}
		wantCode(b, b.s.DeleteAgent(b.Context(), b.admin, hand.UID), "")
		_, err := b.as(b.admin, next)
		wantCode(b, err, lineshaft.CodeConflict)
		next.AgentUID = elsewhere.UID
		_, err = b.as(b.admin, next)
		wantCode(b, err, lineshaft.CodeConflict)
		next.AgentUID = b.agent(mine.UID, "another").UID
		if run := b.run(b.start(next).RunID); run.FactoryUID != mine.UID {
			b.Errorf("it is in factory %q, want %q", run.FactoryUID, mine.UID)
		}
	})
}

// The runs after a run also name what it named: a secret that is no longer for runs is not
// for them, and an environment with secrets is not for a key that may not choose it.
func TestR2ConversationPassesOnNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.managed("KEY", lineshaft.AccessRuns)
		first := w.ended(lineshaft.NewRun{Prompt: "one", Config: keyedConfig("KEY")}, "1")
		granted := lineshaft.AccessGranted
		must[lineshaft.Secret](w.bench)(w.s.UpdateSecret(w.Context(), w.admin, "KEY", secrets.SecretChange{Access: &granted}))
		next := w.start(lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID}).RunID
		if job := w.claimOne(lineshaft.HostedWorker, next); job.Fault == "" || len(job.ModelKey) != 0 {
			w.Errorf("fault %q, key of %d bytes; want no key", job.Fault, len(job.ModelKey))
		}
	})
}

// A run is continued on the machine that it named, and by one run only.
func TestR2ConversationKeepsItsWorker(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.ended(lineshaft.NewRun{Prompt: "one", Config: lineshaft.AgentConfig{WorkerHost: "box"}}, "1")
		second := b.start(lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID}).RunID
		if host := b.run(second).Config.WorkerHost; host != "box" {
			b.Errorf("it is for worker %q, want box", host)
		}
		job := b.claimOne("box", second)
		b.begin(job)
		b.end(job, lineshaft.Succeeded)
		// This one looked for the last run before the second was there.
		_, err := b.as(b.admin, lineshaft.NewRun{Prompt: "three", ConversationID: first.ConversationID, Continues: first.ID})
		if late, ok := errors.AsType[*lineshaft.Error](err); !ok || late.Code != lineshaft.CodeConflict || !late.Retryable {
			b.Errorf("a fork: %v, want a conflict to be tried again", err)
		}
	})
}

// two messages at once, to two ended runs of one conversation or to one of them and as a
// new run, make one live run.
func TestR2OneLiveRunOfAConversation(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database)
		other := b
		if store.IsPostgres(database) {
			other = open(t, database)
		}
		for round := range 12 {
			first := b.ended(lineshaft.NewRun{}, "x")
			second := b.ended(lineshaft.NewRun{ConversationID: first.ConversationID}, "y")
			taken := make([]error, 2)
			together(2, func(n int) {
				switch {
				case n == 0:
					_, taken[n] = b.s.Followup(b.Context(), b.admin, lineshaft.NewFollowup{RunID: first.ID, Message: "m"}, nil)
				case round%2 == 0:
					_, taken[n] = other.s.Followup(b.Context(), b.admin, lineshaft.NewFollowup{RunID: second.ID, Message: "m"}, nil)
				default:
					req := lineshaft.NewRun{Prompt: "p", Source: lineshaft.SourceAPI, ConversationID: first.ConversationID}
					_, taken[n] = other.s.StartRun(b.Context(), b.admin, req, nil)
				}
			})
			live := b.list(lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Queued}})
			if len(live) != 1 {
				t.Errorf("round %d: %d live runs of one conversation, want 1; the calls ended with %v", round, len(live), taken)
			}
			for _, run := range live {
				b.cancel(run)
			}
		}
	})
}
