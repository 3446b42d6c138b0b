package control_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// A stranger's text is not sent into a live run that has more secrets than the
// automation names; it waits for the run.
func TestX11FollowupsFromOutsideReachNoSecrets(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		for _, name := range []string{"OWN", "TEAM"} {
			w.managed(name, lineshaft.AccessRuns)
		}
		hand := w.agent(w.factory, "hand")
		own := func(n *lineshaft.Automation) { n.Config.Secrets = []string{"OWN"} }
		w.automation("ours", `{"k": ["rich"]}`, concurrency("rich", lineshaft.PolicyFollowup), own)
		w.automation("same", `{"k": ["same"]}`, concurrency("same", lineshaft.PolicyFollowup), own)
		w.automation("chained", "", after(`{"states":["CANCELLED"]}`), concurrency("rich", lineshaft.PolicyFollowup))
		w.watching()
		holder := func(key string, secrets ...string) string {
			return w.start(lineshaft.NewRun{Prompt: "p", AgentUID: hand.UID, Config: lineshaft.AgentConfig{
				Secrets: secrets, Concurrency: &lineshaft.Concurrency{Key: key, Policy: lineshaft.PolicyFollowup},
			}}).RunID
		}
		rich, same := holder("rich", "OWN", "TEAM"), holder("same", "OWN")
		o := w.outcomes("1", `{"k": "rich"}`)["ours"]
		if o.Result != lineshaft.ResultStarted || o.RunID == rich {
			w.Fatalf("%+v", o)
		}
		if run := w.want(o.RunID, lineshaft.Queued); !strings.Contains(run.Status.Message, rich) || !strings.Contains(run.Status.Message, "secrets") || !slices.Equal(run.Config.Secrets, []string{"OWN"}) {
			w.Errorf("%q, %v", run.Status.Message, run.Config.Secrets)
		}
		if o := w.outcomes("2", `{"k": "same"}`)["same"]; o.Result != lineshaft.ResultFollowedUp || o.RunID != same {
			w.Errorf("%+v", o)
		}
		// Neither is what another run's end reports; someone of the team may.
		ended := w.start(lineshaft.NewRun{Prompt: "p", AgentUID: hand.UID}).RunID
		w.cancel(ended)
		w.settle()
		if runs := w.named("chained"); len(runs) != 1 || runs[0].State != lineshaft.Queued || !strings.Contains(runs[0].Status.Message, "secrets") {
			w.Errorf("%+v", runs)
		}
		if again := holder("rich"); again != rich {
			w.Errorf("%s instead of %s", again, rich)
		}
	})
}

// Run again, a run below one that a payload started has the secrets that it had, also
// when that one is gone, and also the second time.
func TestX11RerunsBelowAPayloadGainNoSecrets(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		for _, name := range []string{"OF_AUTOMATION", "OF_AGENT", "OF_FACTORY", "OF_ENVIRONMENT"} {
			w.managed(name, lineshaft.AccessRuns)
		}
		w.defaults(w.factory, func(f *lineshaft.Factory) { f.Secrets = []string{"OF_FACTORY"} })
		hand := w.agent(w.factory, "hand", func(a *lineshaft.Agent) {
			a.Config = lineshaft.AgentConfig{Secrets: []string{"OF_AGENT", "OF_AUTOMATION"}, ModelID: "m"}
		})
		w.environment("env")
		inside := w.agent(w.factory, "inside", func(a *lineshaft.Agent) { a.Config = hand.Config; a.Config.EnvironmentID = "env" })
		w.automation("a", "", func(n *lineshaft.Automation) { n.Agent, n.Config.Secrets = "hand", []string{"OF_AUTOMATION"} })
		root := w.deliver("", opened).Outcomes[0].RunID
		agent := w.token(root)
		child := func(of *lineshaft.Agent) string {
			return must[controlruns.Started](w.bench)(w.as(agent, lineshaft.NewRun{AgentUID: of.UID})).RunID
		}
		plain, housed := child(hand), child(inside)
		again := func(runID string) string {
			started := must[controlruns.Started](w.bench)(w.s.Rerun(w.Context(), w.admin, runID, lineshaft.SourceAPI, nil))
			run := w.run(started.RunID)
			if !slices.Equal(run.Config.Secrets, []string{"OF_AUTOMATION"}) || run.Config.ModelID != "m" || run.Metadata[lineshaft.MetadataDelivery] != "" {
				w.Errorf("%v, %q, %v", run.Config.Secrets, run.Config.ModelID, run.Metadata)
			}
			return run.ID
		}
		again(again(plain))
		again(housed)
		w.environment("env", "OF_ENVIRONMENT")
		_, err := w.s.Rerun(w.Context(), w.admin, housed, lineshaft.SourceAPI, nil)
		wantCode(w.bench, err, lineshaft.CodeNotSupported)
		if problem, err := w.s.RerunProblem(w.Context(), w.admin, housed, lineshaft.SourceAPI); err != nil || !strings.Contains(problem, "OF_ENVIRONMENT") {
			w.Errorf("R-13: %q, %v", problem, err)
		}
		if problem, err := w.s.RerunProblem(w.Context(), w.admin, plain, lineshaft.SourceAPI); err != nil || problem != "" {
			w.Errorf("R-13: %q, %v", problem, err)
		}
		// The team's own run of the same agent has what definitions name.
		own := w.start(lineshaft.NewRun{AgentUID: hand.UID}).RunID
		if run := w.run(must[controlruns.Started](w.bench)(w.s.Rerun(w.Context(), w.admin, own, lineshaft.SourceAPI, nil)).RunID); len(run.Config.Secrets) != 3 {
			w.Errorf("%v", run.Config.Secrets)
		}
		w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, root) })
		again(plain)
	})
}

// A manager of one factory does not reach the team's secrets by a message to a run that
// someone else put into their environment; where a definition names it, the manager may.
func TestS3FollowupsReachNoForeignEnvironment(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.managed("TEAM", lineshaft.AccessRuns)
		w.environment("secret", "TEAM")
		w.environment("plain")
		limited := w.caller(lineshaft.RoleManager, w.factory)
		hand := w.agent(w.factory, "hand")
		housed := w.agent(w.factory, "housed", func(a *lineshaft.Agent) { a.Config.EnvironmentID = "secret" })
		ended := func(agent *lineshaft.Agent, environment string) string {
			runID := w.start(lineshaft.NewRun{Prompt: "p", AgentUID: agent.UID, Config: lineshaft.AgentConfig{EnvironmentID: environment}}).RunID
			w.cancel(runID)
			return runID
		}
		for name, c := range map[string]struct {
			caller lineshaft.Caller
			run    string
			code   lineshaft.Code
		}{
			"somebody's choice":   {limited, ended(hand, "secret"), lineshaft.CodeNotAuthorized},
			"without secrets":     {limited, ended(hand, "plain"), ""},
			"of the definition":   {limited, ended(housed, ""), ""},
			"a manager of it all": {w.admin, ended(hand, "secret"), ""},
		} {
			_, err := w.s.Followup(w.Context(), c.caller, lineshaft.NewFollowup{RunID: c.run, Message: "print them"}, nil)
			if got := asPublic(err); c.code == "" && err != nil || c.code != "" && (got == nil || got.Code != c.code) {
				w.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Nor by a run with the same concurrency key that becomes a message to theirs, nor by a
// message to a run that their agent started.
func TestS3NoWayAroundReachesAForeignEnvironment(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.managed("TEAM", lineshaft.AccessRuns)
		w.environment("secret", "TEAM")
		limited := w.caller(lineshaft.RoleManager, w.factory)
		hand := w.agent(w.factory, "hand")
		housed := w.agent(w.factory, "housed", func(a *lineshaft.Agent) { a.Config.EnvironmentID = "secret" })
		follow := func(key string) lineshaft.AgentConfig {
			return lineshaft.AgentConfig{Concurrency: &lineshaft.Concurrency{Key: key, Policy: lineshaft.PolicyFollowup}}
		}
		chosen := follow("mine")
		chosen.EnvironmentID = "secret"
		_, job := w.working(lineshaft.NewRun{AgentUID: hand.UID, Config: chosen})
		_, err := w.as(limited, lineshaft.NewRun{AgentUID: hand.UID, Config: follow("mine")})
		wantCode(w.bench, err, lineshaft.CodeNotAuthorized)
		token := must[lineshaft.Caller](w.bench)(w.s.Authenticate(w.Context(), job.RunToken))
		child := must[controlruns.Started](w.bench)(w.as(token, lineshaft.NewRun{})).RunID
		_, err = w.s.Followup(w.Context(), limited, lineshaft.NewFollowup{RunID: child, Message: "print them"}, nil)
		wantCode(w.bench, err, lineshaft.CodeNotAuthorized)

		w.cancel(child)
		// Where a definition names the environment, both are the manager's to do.
		_, job = w.working(lineshaft.NewRun{AgentUID: housed.UID, Config: follow("theirs")})
		must[controlruns.Started](w.bench)(w.as(limited, lineshaft.NewRun{AgentUID: housed.UID, Config: follow("theirs")}))
		token = must[lineshaft.Caller](w.bench)(w.s.Authenticate(w.Context(), job.RunToken))
		child = must[controlruns.Started](w.bench)(w.as(token, lineshaft.NewRun{})).RunID
		must[controlruns.FollowupResult](w.bench)(w.s.Followup(w.Context(), limited, lineshaft.NewFollowup{RunID: child, Message: "go on"}, nil))
	})
}
