package control_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// Below a run that the end of another started, children are counted from that run.
func TestX15DescendantsBelowAChainAreCounted(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("A", "")
		w.automation("B", "", after(`{"automations":["A"]}`))
		w.watching()
		w.done(w.deliverRun("1", opened), lineshaft.Succeeded)
		w.settle()
		token := w.token(w.named("B")[0].ID)
		for range 3 {
			must[runs.Started](w.bench)(w.as(token, lineshaft.NewRun{}))
		}
		_, err := w.as(token, lineshaft.NewRun{})
		wantCode(w.bench, err, lineshaft.CodeInvalidRequest)
	}, func(cfg *base.Config) { cfg.Trees.Descendants = 3 })
}

// Usage of models for a run that was cancelled meanwhile is counted with the last word
// of its execution: cancelling gives nothing back.
func TestX15CancellingGivesNoTokensBack(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		root, job := b.working(lineshaft.NewRun{Config: lineshaft.AgentConfig{Budget: &lineshaft.Budget{MaxTokens: 1000}}})
		token := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		child := must[runs.Started](b)(b.as(token, lineshaft.NewRun{})).RunID
		doing := b.claimOne(lineshaft.HostedWorker, child)
		b.begin(doing)
		must[runs.CancelResult](b)(b.s.Cancel(b.Context(), token, child, false, nil))
		last := lineshaft.TurnResult{State: lineshaft.Cancelled, Used: []lineshaft.LateUsage{
			{UsageData: lineshaft.UsageData{ModelID: "m", OutputTokens: 900}}, {UsageData: lineshaft.UsageData{ModelID: "m", OutputTokens: 200}, Number: 1},
		}}
		for range 2 { // the second time it is over
			_, _ = b.s.EndTurn(b.Context(), doing.ExecutionRef, last)
		}
		if run := b.run(child); run.Usage.OutputTokens != 1100 || run.State != lineshaft.Cancelled {
			b.Errorf("%+v %s", run.Usage, run.State)
		}
		if run := b.want(root, lineshaft.Failed); run.Status.ErrorCode != lineshaft.CodeBudgetExceeded {
			b.Errorf("%+v", run.Status)
		}
	})
}

// An event that was stored before the run was cancelled, and whose acknowledgement got
// lost, comes again with the last word. It counts once.
func TestX15ALostAcknowledgementCountsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		used := []lineshaft.LateUsage{
			{UsageData: lineshaft.UsageData{ModelID: "m", OutputTokens: 1}, Number: 1},
			{UsageData: lineshaft.UsageData{ModelID: "m", OutputTokens: 20}, Number: 2},
			{UsageData: lineshaft.UsageData{ModelID: "m", OutputTokens: 300}},
		}
		stored := lineshaft.NewDraft(lineshaft.EventUsage, b.clock.now(), used[0].UsageData)
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{stored}}), "")
		b.cancel(runID)
		_, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Cancelled, Used: used})
		wantCode(b, err, "")
		if run := b.run(runID); run.Usage.OutputTokens != 321 {
			b.Errorf("%+v", run.Usage)
		}
	})
}

// A key that is bound to factories cannot act as a process that works for others.
func TestX15BoundKeysAreNoOtherProcess(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ours, theirs := b.factory("a", "").UID, b.factory("b", "").UID
		agent := b.agent(theirs, "hand", func(a *lineshaft.Agent) { a.Config.WorkerHost = "box" })
		for process, key := range map[string]lineshaft.Caller{"box/p1": b.caller(lineshaft.RoleWorker, theirs), "box/p2": b.caller(lineshaft.RoleWorker)} {
			runID := b.start(lineshaft.NewRun{AgentUID: agent.UID}).RunID
			b.begin(b.claimAs(must[*runs.RemoteWorker](b)(b.s.Remote(key, "box", process)), 5)[0])
			bad := must[*runs.RemoteWorker](b)(b.s.Remote(b.caller(lineshaft.RoleWorker, ours), "box", process))
			_, connect := bad.Connect(b.Context())
			_, claim := bad.Claim(b.Context(), lineshaft.ClaimRequest{Limit: 1, Capacity: 1}, nil)
			_, heartbeat := bad.Heartbeat(b.Context(), nil)
			_, directives := bad.Directives(b.Context())
			for name, err := range map[string]error{"connect": connect, "claim": claim, "heartbeat": heartbeat, "directives": directives, "leave": bad.Leave(b.Context())} {
				if err == nil || lineshaft.CodeOf(err) != lineshaft.CodeNotAuthorized {
					b.Errorf("%s as %s: %v", name, process, err)
				}
			}
			b.want(runID, lineshaft.InProgress)
		}
	})
}

// A run's children are its own: it cannot start one below another run of its tree, nor
// write to what a person started there.
func TestX15ChildrenAreOnesOwn(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.managed("DEPLOY_KEY", lineshaft.AccessGranted)
		rich := w.agent(w.factory, "rich", func(a *lineshaft.Agent) { a.Config.Secrets = []string{"DEPLOY_KEY"} })
		w.automation("a", "")
		root := w.deliver("", opened).Outcomes[0].RunID
		token := w.token(root)
		persons := w.start(lineshaft.NewRun{ParentRunID: root, AgentUID: rich.UID}).RunID
		own := must[runs.Started](w.bench)(w.as(token, lineshaft.NewRun{})).RunID
		for _, parent := range []string{persons, own} {
			_, err := w.as(token, lineshaft.NewRun{ParentRunID: parent})
			wantCode(w.bench, err, lineshaft.CodeNotAuthorized)
		}
		for runID, code := range map[string]lineshaft.Code{persons: lineshaft.CodeNotAuthorized, own: ""} {
			_, err := w.s.Followup(w.Context(), token, lineshaft.NewFollowup{RunID: runID, Message: "print it"}, nil)
			wantCode(w.bench, err, code)
		}
		_, err := w.as(token, lineshaft.NewRun{Metadata: map[string]string{lineshaft.MetadataDelivery: "another"}})
		wantCode(w.bench, err, lineshaft.CodeNotAuthorized)
	})
}

// A stranger's text reaches no secrets by way of a person's run: neither when it is
// sent into one, nor in a run that the end of one starts.
func TestX11WhatReachedARunFromOutsideStays(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.managed("DEPLOY_KEY", lineshaft.AccessGranted)
		hand := w.agent(w.factory, "hand")
		rich := w.agent(w.factory, "rich", func(a *lineshaft.Agent) { a.Config.Secrets = []string{"DEPLOY_KEY"} })
		w.automation("ours", `{"k": ["x"]}`, concurrency("x", lineshaft.PolicyFollowup))
		w.automation("next", "", after(`{"agents":["hand"]}`))
		w.watching()
		persons := w.start(lineshaft.NewRun{Prompt: "p", AgentUID: hand.UID, Config: lineshaft.AgentConfig{
			Concurrency: &lineshaft.Concurrency{Key: "x", Policy: lineshaft.PolicyFollowup},
		}}).RunID
		token := w.token(persons)
		secrets := func(token lineshaft.Caller) []string {
			started := must[runs.Started](w.bench)(w.as(token, lineshaft.NewRun{AgentUID: rich.UID}))
			defer w.cancel(started.RunID)
			return w.run(started.RunID).Config.Secrets
		}
		if got := secrets(token); !slices.Equal(got, []string{"DEPLOY_KEY"}) {
			w.Errorf("before: %v", got)
		}
		if o := w.outcomes("1", `{"k": "x"}`)["ours"]; o.Result != lineshaft.ResultFollowedUp {
			w.Fatalf("%+v", o)
		}
		if got := secrets(token); len(got) != 0 {
			w.Errorf("after: %v", got)
		}
		w.done(w.start(lineshaft.NewRun{Prompt: "p", AgentUID: hand.UID}).RunID, lineshaft.Succeeded)
		w.settle()
		if got := secrets(w.token(w.named("next")[0].ID)); len(got) != 0 {
			w.Errorf("in a chain: %v", got)
		}
	})
}

// Ended children that are continued count among the live ones.
func TestX15ContinuedChildrenAreLimited(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		token := b.token(b.start(lineshaft.NewRun{}).RunID)
		var ended []string
		for range 4 {
			child := must[runs.Started](b)(b.as(token, lineshaft.NewRun{})).RunID
			b.cancel(child)
			ended = append(ended, child)
		}
		for i, child := range ended {
			_, err := b.s.Followup(b.Context(), token, lineshaft.NewFollowup{RunID: child, Message: "go on"}, nil)
			if i < 2 {
				wantCode(b, err, "")
				continue
			}
			wantCode(b, err, lineshaft.CodeConflict)
			if !strings.Contains(err.Error(), "live children") {
				b.Errorf("%v", err)
			}
		}
	}, func(cfg *base.Config) { cfg.Trees.LiveChildren = 2 })
}
