package control_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// keyedConfig is that of an agent which calls its model with the key in a secret.
func keyedConfig(secret string) lineshaft.AgentConfig {
	return lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "claude", Auth: ownKey(secret)}}
}

// TestS1ModelKeyOfAnAgent: a definition grants the key, runs of payloads have it too,
// because no agent ever sees it, and nobody takes it for a run of theirs.
func TestS1ModelKeyOfAnAgent(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.managed("KEY", lineshaft.AccessGranted)
		hand := w.agent(w.factory, "hand", func(a *lineshaft.Agent) { a.Config = keyedConfig("KEY") })
		w.automation("a", "", func(n *lineshaft.Automation) { n.Agent = "hand" })
		wantCode(w, w.s.DeleteSecret(w.Context(), w.admin, "KEY"), lineshaft.CodeConflict)
		partly := lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{ReasoningLevel: "high"}}
		own := w.claimOne(lineshaft.HostedWorker, w.start(lineshaft.NewRun{AgentUID: hand.UID, Config: partly}).RunID)
		if own.Fault != "" || string(own.ModelKey) != hidden || len(own.Secrets)+len(own.ToolSecrets) != 0 {
			w.Errorf("%q, %v %v, key %v", own.Fault, own.Secrets, own.ToolSecrets, own.ModelKey)
		}
		delivered := w.deliver("", opened).Outcomes[0].RunID
		job := w.claimOne(lineshaft.HostedWorker, delivered)
		if string(job.ModelKey) != hidden || len(job.Secrets) != 0 {
			w.Errorf("of a delivery: %q, %v", job.Fault, job.ModelKey)
		}
		w.begin(job)
		token := must[lineshaft.Caller](w.bench)(w.s.Authenticate(w.Context(), job.RunToken))
		child := must[runs.Started](w.bench)(w.as(token, lineshaft.NewRun{Config: lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Permissions: lineshaft.PermissionsDeny}}}))
		if job := w.claimOne(lineshaft.HostedWorker, child.RunID); string(job.ModelKey) != hidden {
			w.Errorf("of a child: %q, %v", job.Fault, job.ModelKey)
		}
		_, err := w.as(w.admin, lineshaft.NewRun{Config: keyedConfig("KEY")})
		if lineshaft.CodeOf(err) != lineshaft.CodeNotAuthorized || fieldOf(err) != "config.harness.auth.secret_name" {
			w.Errorf("a run of one's own: %v", err)
		}
	})
}

// TestS1ModelKeyThatCannotBe is refused when it is written, and fails the run later.
func TestS1ModelKeyThatCannotBe(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		at := b.store.Now()
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertSecret(ctx, store.Secret{Secret: lineshaft.Secret{Name: "HOOK", Kind: lineshaft.SecretWebhook, Access: lineshaft.AccessGranted, CreatedAt: at, UpdatedAt: at}, Sealed: "x"})
		})
		b.managed("FREE", lineshaft.AccessRuns)
		worker := lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "codex", Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthWorkerEnvironment}}}
		typeless := lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Auth: ownKey("FREE")}}
		for field, config := range map[string]lineshaft.AgentConfig{
			"config.harness.auth.secret_name": keyedConfig("NONE"), "config.harness.auth.source": worker, "config.harness.auth": typeless,
		} {
			_, err := b.s.CreateAgent(b.Context(), b.admin, lineshaft.Agent{FactoryUID: f, Name: "a", Config: config})
			if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || fieldOf(err) != field {
				b.Errorf("an agent with %+v: %v", config.Harness, err)
			}
			_, err = b.as(b.admin, lineshaft.NewRun{Config: config})
			if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || fieldOf(err) != field {
				b.Errorf("a run with %+v: %v", config.Harness, err)
			}
		}
		_, err := b.s.CreateAgent(b.Context(), b.admin, lineshaft.Agent{FactoryUID: f, Name: "a", Config: keyedConfig("HOOK")})
		if err == nil || !strings.Contains(err.Error(), "credential of a webhook") {
			b.Errorf("with a webhook's: %v", err)
		}
		runID := b.start(lineshaft.NewRun{Config: keyedConfig("FREE")}).RunID
		wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, "FREE"), "")
		if job := b.claimOne(lineshaft.HostedWorker, runID); !strings.Contains(job.Fault, "secret FREE does not exist any more") || job.ModelKey != "" {
			b.Errorf("fault %q", job.Fault)
		}
	})
}

// TestF8AChangeLeavesAnEmptyList: an agent whose definition says that it has no secrets
// does not inherit any because something else of it was changed.
func TestF8AChangeLeavesAnEmptyList(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		agent := b.agent(f, "a", func(a *lineshaft.Agent) { a.Config.Secrets = []string{} })
		changed := must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), b.admin, agent.UID, factories.AgentChange{Description: ref("d")}))
		if changed.Config.Secrets == nil || b.getAgent(agent.UID).Config.Secrets == nil {
			b.Errorf("%+v", changed.Config)
		}
	})
}
