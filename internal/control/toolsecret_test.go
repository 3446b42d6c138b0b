package control_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// toolsWith has one tool server that names a secret in a header.
func toolsWith(secret string) map[string]lineshaft.MCPServer {
	return map[string]lineshaft.MCPServer{"tickets": {URL: "https://t.test", Headers: map[string]string{"Authorization": "Bearer {{" + secret + "}}"}}}
}

func usingTools(secret string) lineshaft.NewRun {
	return lineshaft.NewRun{Config: lineshaft.AgentConfig{MCPServers: toolsWith(secret)}}
}

// S-1: secrets that a tool server names are given like others, and apart from the agent's own.
func TestS1SecretsOfToolServers(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("OPEN", lineshaft.AccessRuns)
		b.managed("SHUT", lineshaft.AccessGranted)
		for name, want := range map[string]lineshaft.Code{"SHUT": lineshaft.CodeNotAuthorized, "MISSING": lineshaft.CodeInvalidRequest, "lower": lineshaft.CodeInvalidRequest} {
			_, err := b.as(b.admin, usingTools(name))
			wantCode(b, err, want)
			if field := fieldOf(err); field != "config.mcp_servers" {
				b.Errorf("%s blames %q", name, field)
			}
		}
		runID := must[runs.Started](b)(b.as(b.admin, usingTools("OPEN"))).RunID
		job := b.claimOne(lineshaft.HostedWorker, runID)
		if len(job.Secrets) != 0 || job.ToolSecrets["OPEN"] != hidden || job.Fault != "" {
			b.Errorf("secrets %d, for tools %d, fault %q", len(job.Secrets), len(job.ToolSecrets), job.Fault)
		}
		used := 0
		for _, e := range b.audits(runID) {
			if e.Action == "secret.use" && e.Detail["secrets"] == "OPEN" {
				used++
			}
		}
		if used != 1 {
			b.Errorf("its use was audited %d times", used)
		}
		// An agent that has it for its tools alone cannot get at it through a child.
		agent := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		_, err := b.as(agent, naming("OPEN"))
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		must[runs.Started](b)(b.as(agent, usingTools("OPEN"))) // the same server, for the same use
	})
}

// fieldOf is the field that an error blames.
func fieldOf(err error) string {
	public, ok := err.(*lineshaft.Error) //nolint:errorlint // as it is returned
	if !ok {
		return ""
	}
	return public.Field
}

// S-1: a secret that is gone at the claim fails the run and says so.
func TestS1SecretOfAToolServerIsGone(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("GONE", lineshaft.AccessRuns)
		runID := must[runs.Started](b)(b.as(b.admin, usingTools("GONE"))).RunID
		wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, "GONE"), "")
		job := b.claimOne(lineshaft.HostedWorker, runID)
		if !strings.Contains(job.Fault, "secret GONE does not exist any more") || len(job.ToolSecrets) > 0 {
			b.Errorf("fault %q with %d secrets", job.Fault, len(job.ToolSecrets))
		}
	})
}

// S-1, X-11: a definition grants what its tool servers name, keeps it from being
// deleted, and strangers' payloads do not get at it unless the automation says so.
func TestX11ToolServersOfDefinitions(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.managed("OF_AGENT", lineshaft.AccessGranted)
		w.managed("OF_AUTOMATION", lineshaft.AccessGranted)
		hand := w.agent(w.factory, "hand", func(a *lineshaft.Agent) {
			a.Config.MCPServers = map[string]lineshaft.MCPServer{
				"theirs": {Command: "c", Env: map[string]string{"K": "{{OF_AGENT}}"}},
				"ours":   {Command: "c", Env: map[string]string{"K": "{{OF_AUTOMATION}}"}},
				"plain":  {Command: "c"},
			}
		})
		wantCode(w, w.s.DeleteSecret(w.Context(), w.admin, "OF_AGENT"), lineshaft.CodeConflict)
		own := w.run(w.start(lineshaft.NewRun{AgentUID: hand.UID}).RunID)
		if len(own.Config.MCPServers) != 3 {
			w.Errorf("the team's own run has %v", own.Config.MCPServers)
		}
		if job := w.claimOne(lineshaft.HostedWorker, own.ID); job.ToolSecrets["OF_AGENT"] != hidden || job.ToolSecrets["OF_AUTOMATION"] != hidden || job.Fault != "" {
			w.Errorf("fault %q, %d secrets", job.Fault, len(job.ToolSecrets))
		}
		w.automation("a", "", func(n *lineshaft.Automation) { n.Agent, n.Config.Secrets = "hand", []string{"OF_AUTOMATION"} })
		root := w.deliver("", opened).Outcomes[0].RunID
		check := func(runID string) {
			w.Helper()
			servers := w.run(runID).Config.MCPServers
			if _, theirs := servers["theirs"]; theirs || len(servers) != 2 {
				w.Errorf("a run from outside has the servers %v", servers)
			}
		}
		check(root)
		agent := w.token(root)
		check(must[runs.Started](w.bench)(w.as(agent, lineshaft.NewRun{AgentUID: hand.UID})).RunID)
	})
}
