package command_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/command"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func TestMain(m *testing.M) {
	if code, ok := harnesstest.Supervise(context.Background()); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

func job(program ...string) lineshaft.Job {
	return lineshaft.Job{Config: lineshaft.AgentConfig{
		BasePrompt: "Be brief.", Harness: &lineshaft.HarnessConfig{Type: "command", Command: program},
	}}
}

func script(text string) []string { return []string{"/bin/sh", "-c", text, "agent", "argument"} }

func open(t *testing.T, env harness.Environment, standard ...string) harness.Session {
	t.Helper()
	session, err := command.New(standard).Open(t.Context(), env)
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

// The prompt comes three ways, and all of them are the same.
func TestX6CommandGetsThePrompt(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, harnesstest.Environment(t, s, job(script(
			`cat; echo "|"; cat "$LINESHAFT_PROMPT_FILE"; echo "|"; echo "$LINESHAFT_PROMPT|$1"; echo oops >&2`)...)))
		result, err := session.Turn(t.Context(), lineshaft.Turn{Message: "say hello"}, log.Emit)
		if err != nil || result.State != lineshaft.Succeeded {
			t.Fatalf("result %+v, %v, stderr %q", result, err, log.Text("stderr"))
		}
		const prompt = "Be brief.\n\nsay hello"
		if got, want := log.Text("stdout"), prompt+"|\n"+prompt+"|\n"+prompt+"|argument\n"; got != want {
			t.Errorf("stdout %q, want %q", got, want)
		}
		if got := log.Text("stderr"); got != "oops\n" {
			t.Errorf("stderr %q", got)
		}
	})
}

func TestR6CommandFollowupComesAlone(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	session := open(t, harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), job(script(`cat; cat kept; echo kept >kept`)...)))
	for _, turn := range []lineshaft.Turn{{Message: "one\n"}, {Message: "two\n", FollowupID: "f"}} {
		if result, err := session.Turn(t.Context(), turn, log.Emit); err != nil || result.State != lineshaft.Succeeded {
			t.Errorf("result %+v, %v", result, err)
		}
	}
	if got := log.Text("stdout"); got != "Be brief.\n\none\ntwo\nkept\n" {
		t.Errorf("stdout %q", got)
	}
}

// A prompt over 96 KiB is not in the variable, and one that nobody reads is not an error.
func TestX6CommandLongPrompt(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		const head = len("Be brief.\n\n")
		for size, want := range map[int]string{
			96<<10 - head:            "98304 98304\n",
			96<<10 - head + 1:        "98305 unset\n",
			lineshaft.MaxPromptBytes: "1048587 unset\n",
		} {
			log := harnesstest.NewLog()
			session := open(t, harnesstest.Environment(t, s, job(script(
				`set=unset; if [ -n "$LINESHAFT_PROMPT" ]; then set=${#LINESHAFT_PROMPT}; fi; echo $(wc -c <"$LINESHAFT_PROMPT_FILE") $set`)...)))
			result, err := session.Turn(t.Context(), lineshaft.Turn{Message: strings.Repeat("x", size)}, log.Emit)
			if err != nil || result.State != lineshaft.Succeeded || log.Text("stdout") != want {
				t.Errorf("%d bytes: %q, want %q; %+v, %v, stderr %q", size, log.Text("stdout"), want, result, err, log.Text("stderr"))
			}
		}
	})
}

func TestX6CommandExitCodeDecides(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, harnesstest.Environment(t, s, job(script("echo trying; exit 3")...)))
		result, err := session.Turn(t.Context(), lineshaft.Turn{Message: "x"}, log.Emit)
		if err != nil || result.State != lineshaft.Failed || result.Code != lineshaft.CodeAgentProcessFailed || result.Message != "/bin/sh exited with code 3" {
			t.Errorf("result %+v, %v", result, err)
		}
		if log.Text("stdout") != "trying\n" {
			t.Errorf("stdout %q", log.Text("stdout"))
		}
	})
}

func TestX6CommandOfTheServer(t *testing.T) {
	t.Parallel()
	none := sandbox.NewNone(harnesstest.Options())
	log := harnesstest.NewLog()
	session := open(t, harnesstest.Environment(t, none, lineshaft.Job{}), "echo", "standard")
	if result, err := session.Turn(t.Context(), lineshaft.Turn{Message: "x"}, log.Emit); err != nil || result.State != lineshaft.Succeeded {
		t.Errorf("result %+v, %v", result, err)
	}
	session = open(t, harnesstest.Environment(t, none, job("echo", "own")), "echo", "standard")
	if result, err := session.Turn(t.Context(), lineshaft.Turn{Message: "x"}, log.Emit); err != nil || result.State != lineshaft.Succeeded {
		t.Errorf("result %+v, %v", result, err)
	}
	if got := log.Text("stdout"); got != "standard\nown\n" {
		t.Errorf("stdout %q", got)
	}
	_, err := command.New(nil).Open(t.Context(), harnesstest.Environment(t, none, lineshaft.Job{}))
	if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || !strings.Contains(err.Error(), "config.harness.command") || !strings.Contains(err.Error(), "--agent-command") {
		t.Errorf("without a program: %v", err)
	}
	_, err = open(t, harnesstest.Environment(t, none, job("no-such-agent"))).Turn(t.Context(), lineshaft.Turn{Message: "x"}, log.Emit)
	if lineshaft.CodeOf(err) != lineshaft.CodeAgentProcessFailed || !strings.Contains(err.Error(), "no-such-agent") {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestR8CommandInterrupt(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, harnesstest.Environment(t, s, job(script("trap '' TERM; echo up; cat; sleep 1000")...)))
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("interrupted by the test")
		ended := make(chan error)
		go func() {
			_, err := session.Turn(ctx, lineshaft.Turn{Message: "x"}, log.Emit)
			ended <- err
		}()
		log.Await(t, "up")
		cancel(cause)
		if err := <-ended; !errors.Is(err, cause) {
			t.Errorf("turn ended with %v", err)
		}
	})
}
