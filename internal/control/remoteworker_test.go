package control_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// remote is a process of the worker "box".
func (b *bench) remote(process string) *runs.RemoteWorker {
	b.Helper()
	return must[*runs.RemoteWorker](b)(b.s.Remote(b.caller(lineshaft.RoleWorker), "box", "box/"+process))
}

// forBox queues a run for the worker "box".
func (b *bench) forBox(attempts int) string {
	b.Helper()
	return b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box", MaxAttempts: &attempts}}).RunID
}

func (b *bench) claimAs(w *runs.RemoteWorker, limit int, known ...string) []lineshaft.Job {
	b.Helper()
	return must[[]lineshaft.Job](b)(w.Claim(b.Context(), lineshaft.ClaimRequest{Limit: limit, Capacity: limit, Version: "v"}, known))
}

func TestS3WhoMayBeARemoteWorker(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		worker := b.caller(lineshaft.RoleWorker)
		for _, tc := range []struct {
			name          string
			caller        lineshaft.Caller
			host, process string
			code          lineshaft.Code
		}{
			{"its id", worker, "box", "box/p1", ""},
			{"admin", b.admin, "box", "box/p1", ""},
			{"another id", worker, "farm", "farm/p1", lineshaft.CodeNotAuthorized},
			{"process of another id", worker, "box", "farm/p1", lineshaft.CodeInvalidRequest},
			{"process of an id that begins alike", worker, "box", "box2/p1", lineshaft.CodeInvalidRequest},
			{"process without a name", worker, "box", "box/", lineshaft.CodeInvalidRequest},
			{"process below", worker, "box", "box/a/b", lineshaft.CodeInvalidRequest},
			{"no id", worker, "", "", lineshaft.CodeInvalidRequest},
			{"the server's own", b.admin, "hosted", "hosted/p1", lineshaft.CodeInvalidRequest},
			{"its old name", b.admin, "warp", "warp/p1", lineshaft.CodeInvalidRequest},
			{"manager", b.caller(lineshaft.RoleManager), "box", "box/p1", lineshaft.CodeNotAuthorized},
			{"bound to a factory", b.caller(lineshaft.RoleWorker, b.factory("f", "").UID), "box", "box/p1", ""},
			{"bound to a factory, another id", b.caller(lineshaft.RoleWorker, b.factory("g", "").UID), "farm", "farm/p1", lineshaft.CodeNotAuthorized},
		} {
			if _, err := b.s.Remote(tc.caller, tc.host, tc.process); (err == nil) != (tc.code == "") || err != nil && lineshaft.CodeOf(err) != tc.code {
				b.Errorf("%s: %v, want %q", tc.name, err, tc.code)
			}
		}
	})
}

// A fencing token in wrong hands opens nothing: the execution must be of the id that
// the key is for.
func TestS3RemoteWorkersTouchTheirOwnExecutionsOnly(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{}).RunID
		job := b.claimOne(lineshaft.HostedWorker, runID)
		w, ref := b.remote("p1"), job.ExecutionRef
		answers, err := w.Report(b.Context(), []lineshaft.Report{{ExecutionRef: ref, First: 1, Started: true}})
		wantCode(b, err, "")
		wantCode(b, answers[0], lineshaft.CodeConflict)
		_, err = w.EndTurn(b.Context(), ref, lineshaft.TurnResult{State: lineshaft.Succeeded})
		wantCode(b, err, lineshaft.CodeConflict)
		read := &counted{Reader: strings.NewReader("x")}
		_, err = w.Upload(b.Context(), ref, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, read)
		wantCode(b, err, lineshaft.CodeConflict)
		if read.n != 0 {
			b.Error("the content was read before it was known whose it is")
		}
		_, err = w.Upload(b.Context(), ref, lineshaft.Upload{Kind: "secret"}, read)
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		_, err = w.Download(b.Context(), ref, "blob")
		wantCode(b, err, lineshaft.CodeConflict)
		directives := must[[]lineshaft.Directive](b)(w.Heartbeat(b.Context(), []lineshaft.ExecutionRef{ref}))
		if len(directives) != 1 || directives[0].Kind != lineshaft.DirectiveStop {
			b.Errorf("directives %+v", directives)
		}
		b.want(runID, lineshaft.Claimed)
	})
}

type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// One report of several that is not this worker's does not spoil the others.
func TestX1ReportsAreAnsweredOneByOne(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		w := b.remote("p1")
		foreign := b.claimOne(lineshaft.HostedWorker, b.start(lineshaft.NewRun{}).RunID)
		runID := b.forBox(1)
		job := b.claimAs(w, 1)[0]
		answers := must[[]error](b)(w.Report(b.Context(), []lineshaft.Report{
			{ExecutionRef: foreign.ExecutionRef, First: 1, Started: true},
			{ExecutionRef: job.ExecutionRef, First: 1, Started: true},
		}))
		wantCode(b, answers[0], lineshaft.CodeConflict)
		wantCode(b, answers[1], "")
		guessed := lineshaft.ExecutionRef{ExecutionID: job.ExecutionID, Token: "guessed"}
		answers = must[[]error](b)(w.Report(b.Context(), []lineshaft.Report{{ExecutionRef: guessed, First: 1}}))
		wantCode(b, answers[0], lineshaft.CodeConflict)
		b.want(runID, lineshaft.InProgress)
	})
}

// a process that starts again says what its earlier life held is over. What had
// not begun is queued again, what had begun ends as an error, and at once.
func TestX3ARestartedProcessGivesUpWhatItHeld(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		w, other := b.remote("p1"), b.remote("p2")
		fresh, begun, again, theirs := b.forBox(1), b.forBox(1), b.forBox(2), b.forBox(1)
		jobs := b.claimAs(w, 3)
		b.begin(jobs[1])
		b.begin(jobs[2])
		b.begin(b.claimAs(other, 1)[0])
		if ended := must[int](b)(w.Connect(b.Context())); ended != 3 {
			b.Errorf("%d executions were given up, want 3", ended)
		}
		b.want(fresh, lineshaft.Queued)
		run := b.want(begun, lineshaft.Errored)
		if run.Status.ErrorCode != lineshaft.CodeInfrastructureTimeout || run.Status.Retryable == nil || !*run.Status.Retryable || !strings.Contains(run.Status.Message, "restarted") {
			b.Errorf("status %+v", run.Status)
		}
		b.want(again, lineshaft.Queued)
		b.want(theirs, lineshaft.InProgress)
		if err := b.report(lineshaft.Report{ExecutionRef: jobs[1].ExecutionRef, First: 1}); lineshaft.CodeOf(err) != lineshaft.CodeConflict {
			b.Errorf("the earlier life may still report: %v", err)
		}
		if ended := must[int](b)(w.Connect(b.Context())); ended != 0 {
			b.Errorf("%d executions were given up again", ended)
		}
		b.sound(fresh, begun, again, theirs)
	})
}

// A claim whose answer was lost is made good by the next one.
func TestX1AClaimThatNeverArrivedIsQueuedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		w := b.remote("p1")
		first, second := b.forBox(1), b.forBox(1)
		lost := b.claimAs(w, 1)
		if len(lost) != 1 || lost[0].RunID != first {
			b.Fatalf("claimed %+v", lost)
		}
		held := b.claimAs(w, 2) // knows nothing of the first
		if len(held) != 2 || held[0].RunID != first || held[1].RunID != second {
			b.Fatalf("claimed %+v", held)
		}
		b.begin(held[1])
		third := b.forBox(1)
		if jobs := b.claimAs(w, 1, held[0].ExecutionID, held[1].ExecutionID); len(jobs) != 1 || jobs[0].RunID != third {
			b.Fatalf("claimed %+v", jobs)
		}
		b.want(first, lineshaft.Claimed)
		// A claim never gives up an execution that has begun: an old claim may arrive late.
		fourth := b.forBox(1)
		b.claimAs(w, 10)
		b.want(second, lineshaft.InProgress)
		b.sound(first, second, third, fourth)
	})
}

func TestX2RemoteClaimsAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		w := b.remote("p1")
		for _, req := range []lineshaft.ClaimRequest{{}, {Limit: -1, Capacity: 1}, {Limit: 2, Capacity: 1}, {Limit: 1 << 30, Capacity: 1 << 30}, {Limit: 1, Capacity: 1, Labels: []string{"os"}}} {
			_, err := w.Claim(b.Context(), req, nil)
			wantCode(b, err, lineshaft.CodeInvalidRequest)
		}
	})
}

// the labels of processes with one id are shown together.
func TestX2LabelsAreShown(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for process, labels := range map[string][]string{"p1": {"os=linux", "gpu=none"}, "p2": {"os=linux", "gpu=a100"}} {
			b.forBox(1)
			must[[]lineshaft.Job](b)(b.remote(process).Claim(b.Context(), lineshaft.ClaimRequest{Limit: 1, Capacity: 1, Labels: labels}, nil))
		}
		workers := must[[]runs.Worker](b)(b.s.Workers(b.Context(), b.admin))
		if len(workers) != 1 || !slices.Equal(workers[0].Labels, []string{"os=linux", "gpu=none", "gpu=a100"}) {
			b.Errorf("workers %+v", workers)
		}
	})
}

// processes of one id are counted together, and one that leaves is gone.
func TestX2ProcessesOfOneIDAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		one, two := b.remote("p1"), b.remote("p2")
		b.forBox(1)
		b.claimAs(one, 1)
		b.forBox(1)
		b.claimAs(two, 3)
		workers := must[[]runs.Worker](b)(b.s.Workers(b.Context(), b.admin))
		if len(workers) != 1 || workers[0].WorkerHost != "box" || workers[0].ConnectionCount != 2 || workers[0].Capacity != 4 {
			b.Errorf("workers %+v", workers)
		}
		wantCode(b, one.Leave(b.Context()), "")
		if workers := must[[]runs.Worker](b)(b.s.Workers(b.Context(), b.admin)); len(workers) != 1 || workers[0].ConnectionCount != 1 {
			b.Errorf("workers %+v", workers)
		}
	})
}

// A code that this server does not know, of whatever length, is not stored.
func TestX1RemoteWorkerReportsKnownCodes(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for code, want := range map[string]lineshaft.Code{
			"":                               "",
			string(lineshaft.CodeRunTimeout): lineshaft.CodeRunTimeout,
			"=HYPERLINK(\"x\")&state=FAILED": lineshaft.CodeAgentProcessFailed,
		} {
			w, runID := b.remote("p"), b.forBox(1)
			job := b.claimAs(w, 1)[0]
			b.begin(job)
			must[*lineshaft.Turn](b)(w.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{
				Turn: lineshaft.PromptTurn, State: lineshaft.Failed, Code: lineshaft.Code(code),
			}))
			if run := must[*lineshaft.Run](b)(b.s.GetRun(b.Context(), b.admin, runID)); run.Status.ErrorCode != want {
				b.Errorf("%q became %q, want %q", code, run.Status.ErrorCode, want)
			}
		}
	})
}
