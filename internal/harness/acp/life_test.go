package acp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/acp"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// An agent that leaves between two turns is started again for the next.
func TestX6ACPAgentLeaves(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"resume"}, {"load"}, nil} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			t.Parallel()
			log := harnesstest.NewLog()
			session := open(t, environment(t, none(), flags...), acp.Options{})
			good(t, session, log, "say first", "leave")
			acp.Left(session) // it answers before it goes
			good(t, session, log, "say second", "history")
			said := strings.Join(messages(log), "|")
			if !strings.Contains(said, "second") || strings.Contains(said, "replayed") || strings.Contains(said, "say first") != (flags != nil) || strings.Contains(said, "conversation.md") != (flags == nil) {
				t.Errorf("messages %q", said)
			}
			if noticed := strings.Contains(strings.Join(texts(log, lineshaft.EventNotice), ""), "gets the transcript"); noticed != (flags == nil) {
				t.Errorf("notice %t", noticed)
			}
		})
	}
}

// The first prompt comes with the base prompt, also a very long one.
func TestX7ACPPrompt(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	env := environment(t, none())
	env.Job.Config.BasePrompt = "say base\n" + strings.Repeat("#", lineshaft.MaxPromptBytes/2)
	session := open(t, env, acp.Options{})
	result, err := session.Turn(t.Context(), lineshaft.Turn{Message: "say asked"}, log.Emit)
	if err != nil || result.State != lineshaft.Succeeded {
		t.Fatalf("result %+v, %v", result, err)
	}
	good(t, session, log, "say alone")
	if got := strings.Join(messages(log), "|"); got != "baseasked|alone" {
		t.Errorf("messages %q", got)
	}
}

// An agent whose lease is not renewed is ended by its supervisor, and the worker
// learns that it was that.
func TestX1ACPStarved(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		env := environment(t, s)
		env.Start = func(ctx context.Context, p harness.Program) (*sandbox.Process, error) {
			return s.Start(ctx, sandbox.Spec{
				Dir: env.Dir, Command: p.Command, Env: append(env.Env[:len(env.Env):len(env.Env)], p.Env...),
				Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, FeedWithin: 3 * time.Second, // it has started by then
			})
		}
		session := open(t, env, acp.Options{})
		if _, err := session.Turn(t.Context(), lineshaft.Turn{Message: "hang"}, harnesstest.NewLog().Emit); !errors.Is(err, harness.ErrStarved) {
			t.Errorf("turn ended with %v", err)
		}
	})
}

// What cannot be started is an error of the platform, or of the run's end.
func TestX6ACPOpenFails(t *testing.T) {
	t.Parallel()
	env := environment(t, none())
	broken := errors.New("no room")
	env.Start = func(context.Context, harness.Program) (*sandbox.Process, error) { return nil, broken }
	if _, err := acp.New(acp.Options{}).Open(t.Context(), env); !errors.Is(err, broken) || lineshaft.CodeOf(err) != lineshaft.CodeInternal {
		t.Errorf("open: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the run is cancelled")
	cancel(cause)
	if _, err := acp.New(acp.Options{}).Open(ctx, environment(t, none())); !errors.Is(err, cause) {
		t.Errorf("open after the end: %v", err)
	}
}

// A turn that is interrupted says what it has consumed.
func TestX6ACPUsageOfAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	session := open(t, environment(t, none()), acp.Options{})
	interrupt(t, session, log, "waiting", `answer {"usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7}}`, "wait")
	all := log.Drafts(lineshaft.EventUsage)
	if len(all) != 1 || !strings.Contains(string(all[0].Data), `"input_tokens":3,"output_tokens":4`) {
		t.Errorf("usage %v", all)
	}
}

// Two sessions of one harness do not know of each other.
func TestX6ACPSessionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	h := acp.New(acp.Options{})
	logs := []*harnesstest.Log{harnesstest.NewLog(), harnesstest.NewLog(), harnesstest.NewLog()}
	ended := make(chan error, len(logs))
	for i, log := range logs {
		session, err := h.Open(t.Context(), environment(t, none()))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := session.Turn(t.Context(), lineshaft.Turn{Message: "many 500\nsay " + strings.Repeat("!", i+1)}, log.Emit)
			ended <- errors.Join(err, session.Close(t.Context()))
		}()
	}
	for range logs {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for i, log := range logs {
		if got := strings.Join(messages(log), ""); got != strings.Repeat("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", 50)+strings.Repeat("!", i+1) {
			t.Errorf("session %d said %.80q", i, got)
		}
	}
}
