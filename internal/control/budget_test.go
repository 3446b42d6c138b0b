package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// spend makes a run of the factory consume something.
func (w *works) spend(runID string, cost int64) {
	w.Helper()
	job := w.claimOne(lineshaft.HostedWorker, runID)
	w.bench.begin(job)
	wantCode(w, w.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{w.usage(30, 10, cost/2), w.usage(1, 1, cost-cost/2)}}), "")
}

func TestX10DailyBudgetStopsAutomations(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("one", "")
		set := func(b lineshaft.Budget) *lineshaft.Factory {
			return must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{DailyBudget: &b}))
		}
		set(lineshaft.Budget{MaxCostMicros: 2_000_000})
		first := w.outcomes("1", `{}`)["one"]
		w.spend(first.RunID, 1_999_999)
		second := w.outcomes("2", `{}`)["one"]
		if second.Result != lineshaft.ResultStarted {
			w.Fatalf("with room: %+v", second)
		}
		w.spend(second.RunID, 1)
		if o := w.outcomes("3", `{}`)["one"]; o.Result != lineshaft.ResultLimit || o.RunID != "" || !strings.Contains(o.Reason, "$2.00 of $2.00") || !strings.Contains(o.Reason, "factory update") {
			w.Fatalf("without room: %+v", o)
		}
		f := must[*lineshaft.Factory](w.bench)(w.s.GetFactory(w.Context(), w.admin, w.factory))
		if f.SpentToday == nil || *f.SpentToday != (lineshaft.Spending{Tokens: 84, CostMicros: 2_000_000}) {
			w.Fatalf("spent: %+v", f.SpentToday)
		}
		// People are refused too; other factories and follow-ups to what lives are not.
		_, err := w.s.DispatchRun(w.Context(), w.admin, w.factory, factories.Dispatch{Prompt: "x", Source: lineshaft.SourceAPI}, nil)
		wantCode(w, err, lineshaft.CodeBudgetExceeded)
		w.followup(first.RunID, "go on")
		w.cancel(second.RunID)
		_, err = w.s.Followup(w.Context(), w.admin, lineshaft.NewFollowup{RunID: second.RunID, Message: "once more"}, nil)
		wantCode(w, err, lineshaft.CodeBudgetExceeded)
		w.want(second.RunID, lineshaft.Cancelled)
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"}))
		w.dispatch(other.UID, factories.Dispatch{Prompt: "x"}, nil)
		// More room, no budget, or another day let them start again.
		set(lineshaft.Budget{MaxTokens: 84})
		if o := w.outcomes("4", `{}`)["one"]; o.Result != lineshaft.ResultLimit || !strings.Contains(o.Reason, "84 of 84 tokens") {
			w.Fatalf("tokens: %+v", o)
		}
		if f := set(lineshaft.Budget{}); f.DailyBudget != (lineshaft.Budget{}) {
			w.Fatalf("%+v", f)
		}
		if o := w.outcomes("5", `{}`)["one"]; o.Result != lineshaft.ResultStarted {
			w.Fatalf("without a budget: %+v", o)
		}
		set(lineshaft.Budget{MaxTokens: 84})
		w.pass(24 * time.Hour)
		if o := w.outcomes("6", `{}`)["one"]; o.Result != lineshaft.ResultStarted {
			w.Fatalf("on the next day: %+v", o)
		}
	})
}

func TestX10DailyBudgetIsTheOperators(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		change := func(b lineshaft.Budget) error {
			_, err := w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{DailyBudget: &b})
			return err
		}
		wantCode(w, change(lineshaft.Budget{MaxTokens: -1}), lineshaft.CodeInvalidRequest)
		wantCode(w, change(lineshaft.Budget{MaxTokens: 5}), "")
		// It is not part of the definition: a folder neither has it nor changes it.
		exported := must[factories.Definition](w.bench)(w.s.ExportDefinition(w.Context(), w.admin, w.factory))
		for name, text := range exported.Files {
			if strings.Contains(text, "udget") {
				w.Errorf("%s: %s", name, text)
			}
		}
		must[factories.Applied](w.bench)(w.s.ApplyDefinition(w.Context(), w.admin, w.factory, factories.Application{Files: exported.Files}))
		if f := must[*lineshaft.Factory](w.bench)(w.s.GetFactory(w.Context(), w.admin, w.factory)); f.DailyBudget.MaxTokens != 5 {
			w.Errorf("after an apply: %+v", f.DailyBudget)
		}
	})
}

// A schedule says why it started nothing, and continues when there is room.
func TestX10DailyBudgetStopsSchedules(t *testing.T) {
	t.Parallel()
	eachTimed(t, func(w *timing) {
		f := w.factory("f", "")
		n := daily("s")
		n.AgentUID = must[[]lineshaft.Agent](w.bench)(w.store.ListAgents(w.Context(), f.UID))[0].UID
		made := w.schedule(n)
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, f.UID, factories.FactoryChange{DailyBudget: &lineshaft.Budget{MaxTokens: 1}}))
		spender := w.dispatch(f.UID, factories.Dispatch{Prompt: "x"}, nil)
		job := w.claimOne(lineshaft.HostedWorker, spender.RunID)
		w.bench.begin(job)
		wantCode(w, w.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{w.usage(1, 0, 0)}}), "")
		if runs := w.to("2026-06-01 12:00"); runs != 1 || !strings.Contains(w.get(made.ID).LastError, "1 of 1 tokens") {
			w.Fatalf("%d: %+v", runs, w.get(made.ID))
		}
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, f.UID, factories.FactoryChange{DailyBudget: &lineshaft.Budget{MaxTokens: 2}}))
		if runs := w.to("2026-06-02 12:00"); runs != 2 || w.get(made.ID).LastError != "" {
			w.Fatalf("%d: %+v", runs, w.get(made.ID))
		}
	})
}
