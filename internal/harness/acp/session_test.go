package acp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/acp"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// An interrupt is a message to the agent; the same process takes the next turn.
func TestR8ACPInterrupt(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, environment(t, s), acp.Options{})
		good(t, session, log, "pid")
		interrupt(t, session, log, "waiting", "say half", "wait", "say rest")
		good(t, session, log, "pid")
		got := messages(log)
		if len(got) != 3 || got[0] != got[2] || got[1] != "halfrest" {
			t.Errorf("messages %q", got)
		}
	})
}

// An agent that left a tool open may have left its processes: it is ended with all
// it started, and its session continues in a new process.
func TestR8ACPInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, environment(t, s, "resume"), acp.Options{})
		interrupt(t, session, log, "waiting", "spawn", `update {"sessionUpdate":"tool_call","toolCallId":"1","title":"sleep 1000","kind":"execute","status":"in_progress"}`, "wait")
		if got := story(log); !strings.Contains(got, `"state":"failed","output":{"text":"The turn was ended before the tool was."}`) {
			t.Errorf("story %s", got)
		}
		good(t, session, log, "history")
		if got := log.Text("stderr"); !strings.Contains(got, "session/resume of") {
			t.Errorf("it was not started anew: %q", got)
		}
		if got := strings.Join(messages(log), ""); !strings.Contains(got, "spawn") {
			t.Errorf("the session is another: %q", got)
		}
	})
}

// One that cannot load a session is kept, and the log says so.
func TestR8ACPInterruptKeepsTheOnlyProcess(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	session := open(t, environment(t, none()), acp.Options{})
	good(t, session, log, "pid")
	interrupt(t, session, log, "waiting", `update {"sessionUpdate":"tool_call","toolCallId":"1","title":"sleep 1000","kind":"execute","status":"in_progress"}`, "wait")
	good(t, session, log, "pid")
	if got := messages(log); len(got) != 2 || got[0] != got[1] {
		t.Errorf("messages %q", got)
	}
	if got := strings.Join(texts(log, lineshaft.EventNotice), ""); !strings.Contains(got, "may have left processes") {
		t.Errorf("notices %q", got)
	}
}

// An agent that does not listen is ended, also one that ignores SIGTERM; the next
// turn continues in a new process.
func TestR8ACPInterruptHangingAgent(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, environment(t, s, "load", "deaf"), acp.Options{CancelTime: 300 * time.Millisecond})
		interrupt(t, session, log, "hanging", "say first", "hang")
		good(t, session, log, "say second", "history")
		if got := strings.Join(messages(log), "|"); !strings.Contains(got, "second") || !strings.Contains(got, "say first") || strings.Contains(got, "replayed") {
			t.Errorf("messages %q", got)
		}
	})
}

// An interrupt before the agent has said hello ends it at once.
func TestR8ACPInterruptWhileStarting(t *testing.T) {
	t.Parallel()
	session := open(t, environment(t, none(), "mute"), acp.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted by the test")
	cancel(cause)
	if _, err := session.Turn(ctx, lineshaft.Turn{Message: "say x"}, harnesstest.NewLog().Emit); !errors.Is(err, cause) {
		t.Errorf("turn ended with %v", err)
	}
}

// The end of the execution ends the agent with everything.
func TestX4ACPExecutionEnds(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		session, err := acp.New(acp.Options{}).Open(ctx, environment(t, s, "deaf"))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		cause := errors.New("the run is cancelled")
		go func() {
			_, err := session.Turn(ctx, lineshaft.Turn{Message: "spawn\nhang"}, log.Emit)
			ended <- err
		}()
		awaitStderr(t, log, "hanging")
		cancel(cause)
		if err := <-ended; !errors.Is(err, cause) {
			t.Errorf("turn ended with %v", err)
		}
		if err := session.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// handOff is an execution that finds the workspace of an earlier one.
func handOff(t *testing.T, s sandbox.Sandbox, first, second []string) (*harnesstest.Log, harness.Environment) {
	t.Helper()
	log := harnesstest.NewLog()
	env := environment(t, s, first...)
	session, err := acp.New(acp.Options{}).Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	good(t, session, log, "say one")
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	env.Job.Number, env.Job.Resumed = 2, true
	env.Job.Config.Harness = &lineshaft.HarnessConfig{Type: "acp", Command: append(env.Job.Config.Harness.Command[:2:2], second...)}
	return harnesstest.NewLog(), env
}

func TestR6ACPHandOff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		flags  []string
		how    string
		notice string
	}{
		{[]string{"load"}, "session/load of", ""},
		{[]string{"load", "hasty"}, "session/load of", ""},
		{[]string{"resume"}, "session/resume of", ""},
		{[]string{"load", "resume"}, "session/resume of", ""},
		{nil, "new in", "cannot load sessions"},
		{[]string{"load", "forgetful"}, "new in", "no such session"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.flags, " "), func(t *testing.T) {
			t.Parallel()
			harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
				log, env := handOff(t, s, test.flags, test.flags)
				session := open(t, env, acp.Options{})
				good(t, session, log, "say two", "history")
				said := strings.Join(messages(log), "|")
				if known := strings.Contains(said, "say one"); known != (test.notice == "") || strings.Contains(said, "replayed") {
					t.Errorf("messages %q", said)
				}
				if got := log.Text("stderr"); !strings.Contains(got, test.how) {
					t.Errorf("stderr %q", got)
				}
				notices := strings.Join(texts(log, lineshaft.EventNotice), "|")
				if (notices == "") != (test.notice == "") || !strings.Contains(notices, test.notice) {
					t.Errorf("notices %q", notices)
				}
			})
		})
	}
}

// A session is for the agent that made it, and a spoiled file is as good as none.
func TestR6ACPHandOffToAnother(t *testing.T) {
	t.Parallel()
	log, env := handOff(t, none(), []string{"load"}, []string{"load", "other"})
	session := open(t, env, acp.Options{})
	good(t, session, log, "history")
	if got := strings.Join(messages(log), ""); strings.Contains(got, "say one") || !strings.Contains(got, "conversation.md has what was said") {
		t.Errorf("messages %q", got)
	}
	if got := strings.Join(texts(log, lineshaft.EventNotice), ""); !strings.Contains(got, "gets the transcript") {
		t.Errorf("notices %q", got)
	}
	log, env = handOff(t, none(), []string{"load"}, []string{"load"})
	if err := os.WriteFile(filepath.Join(env.Dir, ".lineshaft", "session-acp.json"), []byte("{{{"), 0o600); err != nil {
		t.Fatal(err)
	}
	good(t, open(t, env, acp.Options{}), log, "say fine")
}

// The run's tool servers, model and thinking reach the agent.
func TestX9ACPSettings(t *testing.T) {
	t.Parallel()
	servers := []harness.ToolServer{
		{Name: "local", Command: "/bin/mcp", Args: []string{"-x"}, Env: []string{"A=b=c"}},
		{Name: "plain", Command: "/bin/mcp"},
		{Name: "far", URL: "http://127.0.0.1:1/mcp", Headers: map[string]string{"X-Key": "k"}},
	}
	for _, http := range []bool{true, false} {
		log := harnesstest.NewLog()
		flags := []string{"options"}
		if http {
			flags = append(flags, "http")
		}
		env := environment(t, none(), flags...)
		env.ToolServers = servers
		env.Job.Config.ModelID = "ignored"
		env.Job.Config.Harness.ModelID, env.Job.Config.Harness.ReasoningLevel = "big", "high"
		good(t, open(t, env, acp.Options{}), log, "say x")
		got := log.Text("stderr")
		for _, want := range []string{
			"new in " + env.Dir + " with ", `{"args":["-x"],"command":"/bin/mcp","env":[{"name":"A","value":"b=c"}],"name":"local"}`, `{"args":[],"command":"/bin/mcp","env":[],"name":"plain"}`,
			"set model=x/big", "set effort=high",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %q", want, got)
			}
		}
		if passed := strings.Contains(got, `"headers":[{"name":"X-Key","value":"k"}],"name":"far","type":"http","url":"http://127.0.0.1:1/mcp"`); passed != http {
			t.Errorf("http server passed on %t, %q", passed, got)
		}
		if said := strings.Contains(strings.Join(texts(log, lineshaft.EventNotice), ""), "far is left out"); said == http {
			t.Errorf("notice %t", said)
		}
	}
}
