package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/acp"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func TestMain(m *testing.M) {
	if code, ok := harnesstest.Supervise(context.Background()); ok {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "fake-agent" {
		os.Exit(runFakeAgent(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// environment is one whose workspace has the fake agent in it, as ./agent: an
// isolated agent sees nothing else of ours.
func environment(t *testing.T, s sandbox.Sandbox, flags ...string) harness.Environment {
	t.Helper()
	job := lineshaft.Job{Config: lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "acp"}}}
	env := harnesstest.Environment(t, s, job)
	install(t, filepath.Join(env.Dir, "agent"))
	env.Env = append(env.Env, "GORACE=atexit_sleep_ms=0")
	command := []string{s.Guest(env.Dir, "agent"), "fake-agent"}
	env.Job.Config.Harness.Command = append(command, flags...)
	env.ReadFile = func(name string) (string, error) {
		text, err := os.ReadFile(filepath.Join(env.Dir, ".lineshaft", name))
		return string(text), err
	}
	return env
}

func install(t *testing.T, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, path) == nil {
		return
	}
	// Copied by another process: children of other tests cannot have the copy open then, which would keep it from starting.
	if out, err := exec.CommandContext(t.Context(), "cp", self, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func none() sandbox.Sandbox { return sandbox.NewNone(harnesstest.Options()) }

func open(t *testing.T, env harness.Environment, options acp.Options) harness.Session {
	t.Helper()
	session, err := acp.New(options).Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := session.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return session
}

// do does one turn that must end on its own without an error of the platform.
func do(t *testing.T, session harness.Session, log *harnesstest.Log, lines ...string) lineshaft.TurnResult {
	t.Helper()
	result, err := session.Turn(t.Context(), lineshaft.Turn{Message: strings.Join(lines, "\n"), FollowupID: "f"}, log.Emit)
	if err != nil {
		t.Fatalf("turn: %v; stderr %q", err, log.Text("stderr"))
	}
	return result
}

func good(t *testing.T, session harness.Session, log *harnesstest.Log, lines ...string) {
	t.Helper()
	if result := do(t, session, log, lines...); result.State != lineshaft.Succeeded {
		t.Fatalf("result %+v; stderr %q", result, log.Text("stderr"))
	}
}

// messages are what was said, one for each event.
func messages(log *harnesstest.Log) []string {
	return texts(log, lineshaft.EventMessage)
}

func texts(log *harnesstest.Log, kind lineshaft.EventType) []string {
	var out []string
	for _, d := range log.Drafts(kind) {
		var data struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(d.Data, &data) == nil {
			out = append(out, data.Text)
		}
	}
	return out
}

// story is all events but output and notices, one on a line.
func story(log *harnesstest.Log) string {
	var out strings.Builder
	for _, d := range log.Drafts("") {
		if d.Type != lineshaft.EventOutput || strings.Contains(string(d.Data), "tool_call_id") {
			out.WriteString(string(d.Type) + " " + string(d.Data) + "\n")
		}
	}
	return out.String()
}

// awaitStderr blocks until the agent has said a text on its standard error.
func awaitStderr(t *testing.T, log *harnesstest.Log, text string) {
	t.Helper()
	log.AwaitStream(t, "stderr", text)
}

// interrupt does a turn and ends it from outside once the agent has said a text.
func interrupt(t *testing.T, session harness.Session, log *harnesstest.Log, until string, lines ...string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted by the test")
	ended := make(chan error, 1)
	go func() {
		_, err := session.Turn(ctx, lineshaft.Turn{Message: strings.Join(lines, "\n"), FollowupID: "f"}, log.Emit)
		ended <- err
	}()
	awaitStderr(t, log, until)
	cancel(cause)
	select {
	case err := <-ended:
		if !errors.Is(err, cause) {
			t.Errorf("turn ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the turn did not end")
	}
}
