package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/harness/shell"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func TestMain(m *testing.M) {
	if code, ok := harnesstest.Supervise(context.Background()); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// blocks is a prompt with one fenced script for each argument.
func blocks(scripts ...string) string {
	var prompt strings.Builder
	for _, script := range scripts {
		fmt.Fprintf(&prompt, "Do this:\n```sh\n%s\n```\n", script)
	}
	return prompt.String()
}

func open(t *testing.T, env harness.Environment) harness.Session {
	t.Helper()
	session, err := shell.Shell{}.Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return session
}

func turn(t *testing.T, session harness.Session, prompt string, log *harnesstest.Log) lineshaft.TurnResult {
	t.Helper()
	result, err := session.Turn(t.Context(), lineshaft.Turn{Message: prompt}, log.Emit)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestX6ShellRunsBlocksInOrder(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, harnesstest.Environment(t, s, lineshaft.Job{Number: 3}))
		result := turn(t, session, blocks("echo one > file; echo out; echo err >&2", "cat file; pwd; cat"), log)
		if result.State != lineshaft.Succeeded {
			t.Fatalf("result %+v; stderr %q", result, log.Text("stderr"))
		}
		if got := log.Text("stdout"); !strings.HasPrefix(got, "out\none\n/") || log.Text("stderr") != "err\n" {
			t.Errorf("stdout %q, stderr %q", got, log.Text("stderr"))
		}
		var calls []lineshaft.ToolCallData
		for _, d := range log.Drafts(lineshaft.EventToolCall) {
			var call lineshaft.ToolCallData
			if err := json.Unmarshal(d.Data, &call); err != nil {
				t.Fatal(err)
			}
			calls = append(calls, call)
		}
		if len(calls) != 2 || calls[0].ID != "shell-3-1" || calls[1].ID != "shell-3-2" ||
			calls[0].Category != "command" || calls[0].Name != "run_command" ||
			calls[0].Input["command"] != "echo one > file; echo out; echo err >&2" {
			t.Errorf("calls %+v", calls)
		}
		kinds := ""
		for _, d := range log.Drafts("") {
			kinds += string(d.Type) + " "
		}
		if !strings.HasPrefix(kinds, "tool_call output") || !strings.HasSuffix(kinds, "output tool_result ") {
			t.Errorf("order %s", kinds)
		}
		for _, d := range log.Drafts(lineshaft.EventToolResult) {
			var end lineshaft.ToolResultData
			if err := json.Unmarshal(d.Data, &end); err != nil || end.State != lineshaft.ToolCompleted || end.Output["exit_code"] != 0.0 {
				t.Errorf("tool result %+v, %v", end, err)
			}
		}
	})
}

func TestX6ShellStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, harnesstest.Environment(t, s, lineshaft.Job{}))
		result := turn(t, session, blocks("false; echo goes on", "exit 7", "echo never"), log)
		if result.State != lineshaft.Failed || result.Code != lineshaft.CodeAgentProcessFailed || result.Message != "block 2 of 3: sh exited with code 7" {
			t.Errorf("result %+v", result)
		}
		if got := log.Text("stdout"); got != "goes on\n" {
			t.Errorf("stdout %q", got)
		}
		ends := log.Drafts(lineshaft.EventToolResult)
		var end lineshaft.ToolResultData
		if err := json.Unmarshal(ends[len(ends)-1].Data, &end); err != nil || len(ends) != 2 ||
			end.State != lineshaft.ToolFailed || end.Output["exit_code"] != 7.0 {
			t.Errorf("%d tool results, the last %+v, %v", len(ends), end, err)
		}
		// The session continues with a follow-up.
		if result := turn(t, session, blocks("echo again"), log); result.State != lineshaft.Succeeded {
			t.Errorf("follow-up %+v", result)
		}
	})
}

func TestX6ShellWithoutBlockSaysWhatToDo(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	session := open(t, harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), lineshaft.Job{}))
	result := turn(t, session, "please fix the bug", log)
	if result.State != lineshaft.Failed || result.Code != lineshaft.CodeInvalidRequest ||
		!strings.Contains(result.Message, "```sh") || !strings.Contains(result.Message, "set up a model") || strings.Contains(result.Message, "--") {
		t.Errorf("result %+v", result)
	}
	if n := len(log.Drafts("")); n != 0 {
		t.Errorf("%d events", n)
	}
}

func TestX6ShellBasePromptOnFirstTurnOnly(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	job := lineshaft.Job{Config: lineshaft.AgentConfig{BasePrompt: blocks("echo base")}}
	session := open(t, harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), job))
	turn(t, session, blocks("echo prompt"), log)
	if _, err := session.Turn(t.Context(), lineshaft.Turn{Message: blocks("echo more"), FollowupID: "f"}, log.Emit); err != nil {
		t.Fatal(err)
	}
	if got := log.Text("stdout"); got != "base\nprompt\nmore\n" {
		t.Errorf("stdout %q", got)
	}
}

func TestX6ShellLongScript(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	session := open(t, harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), lineshaft.Job{}))
	script := strings.Repeat(": a line of a long script\n", 20_000) + "echo done" // 500 KB: too long for an argument
	if result := turn(t, session, blocks(script), log); result.State != lineshaft.Succeeded || log.Text("stdout") != "done\n" {
		t.Errorf("result %+v, stdout %q", result, log.Text("stdout"))
	}
}

func TestX6ShellMissingProgram(t *testing.T) {
	t.Parallel()
	env := harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), lineshaft.Job{})
	start := env.Start
	env.Start = func(ctx context.Context, p harness.Program) (*sandbox.Process, error) {
		p.Command[0] = "bash-that-is-not-there"
		return start(ctx, p)
	}
	_, err := open(t, env).Turn(t.Context(), lineshaft.Turn{Message: blocks("true")}, harnesstest.NewLog().Emit)
	if lineshaft.CodeOf(err) != lineshaft.CodeAgentProcessFailed || !strings.Contains(err.Error(), "not found") {
		t.Errorf("error %v", err)
	}
}

// The end of the context ends the turn with everything it started, and the
// session can take another.
func TestR8ShellInterrupt(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		env := harnesstest.Environment(t, s, lineshaft.Job{})
		session := open(t, env)
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("interrupted by the test")
		ended := make(chan error)
		go func() {
			_, err := session.Turn(ctx, lineshaft.Turn{Message: blocks("trap '' TERM; setsid sleep 1000 & echo up; sleep 1000", "echo never")}, log.Emit)
			ended <- err
		}()
		log.Await(t, "up")
		cancel(cause)
		if err := <-ended; !errors.Is(err, cause) {
			t.Errorf("turn ended with %v", err)
		}
		if strings.Contains(log.Text("stdout"), "never") {
			t.Error("the next block ran")
		}
		if n := len(log.Drafts(lineshaft.EventToolResult)); n != 1 {
			t.Errorf("%d tool results", n)
		}
		if result := turn(t, session, blocks("echo again"), log); result.State != lineshaft.Succeeded {
			t.Errorf("next turn %+v", result)
		}
	})
}

// The token must not come out, neither from the script nor from what it prints.
func TestS2ShellMasksTheToken(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	session := open(t, harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), lineshaft.Job{}))
	script := `printf %s "$LINESHAFT_RUN_TOKEN" | head -c 10; sleep 0.2; printf %s "$LINESHAFT_RUN_TOKEN" | tail -c +11; echo
echo ` + harnesstest.Token
	if result := turn(t, session, blocks(script), log); result.State != lineshaft.Succeeded {
		t.Fatalf("result %+v", result)
	}
	for _, d := range log.Drafts("") {
		if strings.Contains(string(d.Data), harnesstest.Token) {
			t.Errorf("the token is in %s %s", d.Type, d.Data)
		}
	}
	if strings.Contains(log.Text("stdout"), harnesstest.Token) {
		t.Error("the token is spread over output events")
	}
}

func TestX6ShellWriteError(t *testing.T) {
	t.Parallel()
	env := harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), lineshaft.Job{})
	if err := os.WriteFile(filepath.Join(env.Dir, ".lineshaft"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, env).Turn(t.Context(), lineshaft.Turn{Message: blocks("true")}, harnesstest.NewLog().Emit); err == nil {
		t.Error("no error although the script could not be written")
	}
}
