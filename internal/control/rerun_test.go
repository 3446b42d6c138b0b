package control_test

import (
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

func (b *bench) rerun(runID string, source lineshaft.Source) *lineshaft.Run {
	b.Helper()
	return b.run(must[runs.Started](b)(b.s.Rerun(b.Context(), b.admin, runID, source, nil)).RunID)
}

// Reruns know the first run and their number, the first knows them, and source is who asked.
func TestR13RerunsAreNumbered(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.ended(lineshaft.NewRun{Prompt: "one"}, "1")
		if first.Attempt != 1 || first.RerunOf != "" {
			b.Fatalf("%+v", first)
		}
		second := b.rerun(first.ID, lineshaft.SourceWebApp)
		third := b.rerun(second.ID, lineshaft.SourceCLI)
		for i, run := range []*lineshaft.Run{second, third} {
			if run.RerunOf != first.ID || run.Attempt != i+2 || run.Source != []lineshaft.Source{lineshaft.SourceWebApp, lineshaft.SourceCLI}[i] || len(run.Reruns) != 0 {
				b.Errorf("%+v", run)
			}
		}
		want := []lineshaft.Rerun{{RunID: second.ID, Attempt: 2, State: lineshaft.Queued}, {RunID: third.ID, Attempt: 3, State: lineshaft.Queued}}
		if got := must[*lineshaft.Run](b)(b.s.GetRun(b.Context(), b.admin, first.ID)).Reruns; !slices.Equal(got, want) {
			b.Errorf("%+v", got)
		}
		b.cancel(second.ID)
		b.cancel(third.ID)
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, first.ID), "")
		if run := b.rerun(third.ID, lineshaft.SourceAPI); run.RerunOf != first.ID || run.Attempt != 4 {
			b.Errorf("%+v", run)
		}
	})
}

// A rerun of what an automation started without a delivery keeps factory, agent, automation
// and environment, with the secrets that the automation names, and so does the next one.
func TestR13RerunKeepsItsAutomation(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.managed("OF_AUTOMATION", lineshaft.AccessGranted)
		w.environment("env")
		hand := w.agent(w.factory, "hand", func(*lineshaft.Agent) {})
		w.automation("first", "")
		made := w.automation("second", "", after(`{"automations": ["first"]}`), func(n *lineshaft.Automation) {
			n.Agent, n.Config.Secrets, n.Config.EnvironmentID = "hand", []string{"OF_AUTOMATION"}, "env"
		})
		w.watching()
		w.done(w.deliverRun("", "{}"), lineshaft.Succeeded)
		w.settle()
		started := w.named("second")[0]
		for runID := started.ID; ; {
			again := w.rerun(runID, lineshaft.SourceAPI)
			if again.FactoryUID != w.factory || again.AgentUID != hand.UID || again.Metadata[lineshaft.MetadataAutomation] != made.UID ||
				again.Config.EnvironmentID != "env" || !slices.Equal(again.Config.Secrets, []string{"OF_AUTOMATION"}) || again.RerunOf != started.ID {
				w.Errorf("%+v", again)
			}
			if runID = again.ID; again.Attempt == 3 {
				break
			}
		}
	})
}

// A run that continued a conversation begins again where it began.
func TestR13RerunOfAContinuation(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := b.ended(lineshaft.NewRun{Prompt: "one"}, "1")
		second := b.ended(lineshaft.NewRun{Prompt: "two", ConversationID: first.ConversationID}, "2")
		if again := b.rerun(second.ID, lineshaft.SourceAPI); again.Continues != first.ID || again.ConversationID != first.ConversationID || again.RerunOf != second.ID {
			b.Errorf("%+v", again)
		}
	})
}
