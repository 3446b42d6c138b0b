package worker

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// tooled is a job with tool servers.
func tooled(secrets lineshaft.SecretValues) lineshaft.Job {
	j := job("a", "x")
	j.ToolSecrets = secrets
	j.Config.MCPServers = map[string]lineshaft.MCPServer{
		"stdio": {Command: "serve", Args: []string{"-v"}, Env: map[string]string{"B": "2", "A": "key={{PASSWORD}}"}},
		"http":  {URL: "https://t.test/mcp", Headers: map[string]string{"Authorization": "Bearer {{PASSWORD}}"}},
		"gone":  {WarpID: "linear"},
	}
	return j
}

// a tool server whose way through the gateway cannot be opened is left out: its
// secrets do not go into the sandbox instead.
func TestX7ToolServerWithoutAWayIsLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		w := begin(t, c, Config{Gateway: gateway.New(gateway.Config{})}, scripted{untilEnd})
		e := newExecution(w, tooled(lineshaft.SecretValues{"PASSWORD": password}), 0)
		e.gate.over = true // no session opens any more
		if err := e.fillTools(); err != nil {
			t.Fatal(err)
		}
		if len(e.tools) != 1 || e.tools[0].Name != "stdio" {
			t.Errorf("tools %+v", e.tools)
		}
		said := ""
		for _, entry := range e.outbox.entries {
			said += string(entry.draft.Data)
		}
		if !strings.Contains(said, "Tool server http is left out") || strings.Contains(said, password) {
			t.Errorf("said %s", said)
		}
		e.endLife(errOver)
		e.lease.end()
		e.watch.end()
	})
}

// tool servers come with their secrets, which are masked and not in the agent's
// own environment.
func TestX7ToolServersWithSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		var got harness.Environment
		begin(t, c, Config{}, scripted{func(_ context.Context, env harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			got = env
			emit(lineshaft.NewDraft(lineshaft.EventMessage, env.Now(), lineshaft.MessageData{Role: "assistant", Text: "I have " + password}))
			return done()
		}})
		c.jobs <- tooled(lineshaft.SecretValues{"PASSWORD": password})
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			t.Fatalf("result %+v", result)
		}
		want := []harness.ToolServer{
			{Name: "http", URL: "https://t.test/mcp", Headers: map[string]string{"Authorization": "Bearer " + password}},
			{Name: "stdio", Command: "serve", Args: []string{"-v"}, Env: []string{"A=key=" + password, "B=2"}},
		}
		if !reflect.DeepEqual(got.ToolServers, want) {
			t.Errorf("tool servers %+v", got.ToolServers)
		}
		if strings.Contains(strings.Join(got.Env, "\n"), password) || len(got.Job.ToolSecrets) > 0 {
			t.Error("the agent itself has the secret of its tool servers")
		}
		all, _ := c.text("a")
		if strings.Contains(all, password) {
			t.Errorf("the log has the secret: %s", all)
		}
		if notices := c.texts("a", lineshaft.EventNotice); len(notices) != 1 || !strings.Contains(notices[0], `Tool server gone is left out`) {
			t.Errorf("notices %q", notices)
		}
	})
}

func TestX7ToolServerWithoutItsSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{echo})
		c.jobs <- tooled(nil)
		result := c.ended("a", 1)
		if result.State != lineshaft.Failed || result.Code != lineshaft.CodeEnvironmentSetupFailed || !strings.Contains(result.Message, "secret PASSWORD") {
			t.Errorf("result %+v", result)
		}
	})
}
