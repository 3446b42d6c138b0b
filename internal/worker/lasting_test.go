package worker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// lasting is an agent of one process for all turns, as those of the Agent Client
// Protocol are: it is started with the session, and runs each prompt as a command.
type lasting struct{}

func (lasting) Name() string { return "lasting" }

func (lasting) Open(ctx context.Context, env harness.Environment) (harness.Session, error) {
	stdin, orders := io.Pipe()
	told, stdout := io.Pipe()
	p, err := env.Start(ctx, harness.Program{
		Command: []string{"/bin/sh", "-c", `while read -r line; do ( eval "$line" ) 2>&1 && echo DONE || echo FAILED; done`},
		Stdin:   stdin, Stdout: stdout,
	})
	if err != nil {
		return nil, err
	}
	go func() { <-p.Done(); _ = stdout.Close() }()
	return &lastingSession{env, p, orders, bufio.NewScanner(told)}, nil
}

type lastingSession struct {
	env     harness.Environment
	process *sandbox.Process
	orders  *io.PipeWriter
	told    *bufio.Scanner
}

func (s *lastingSession) Turn(_ context.Context, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	text, err := s.env.ReadFile("session-lasting.json")
	if err != nil {
		text = ""
	}
	if _, err := s.env.WriteFile("session-lasting.json", text+"turn "); err != nil {
		return lineshaft.TurnResult{}, err
	}
	if _, err := fmt.Fprintln(s.orders, turn.Message); err != nil {
		return lineshaft.TurnResult{}, err
	}
	for s.told.Scan() && s.told.Text() != "DONE" {
		emit(output(s.told.Text() + "\n"))
		if s.told.Text() == "FAILED" {
			return lineshaft.TurnResult{State: lineshaft.Failed}, nil
		}
	}
	return done()
}

func (s *lastingSession) Close(context.Context) error {
	_ = s.orders.Close()
	_, err := s.process.Wait()
	return err
}

// An agent that lives over all turns can use everything that each of them brings,
// also after it has put something else in the place of our folder.
func TestX4LastingAgentUsesItsFiles(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		c.blobs["blob-1"], c.blobs["blob-2"] = []byte("first\n"), []byte("second\n")
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{
			{
				FollowupID: "f", Message: "cat more.txt && echo x >>more.txt && echo two >$LINESHAFT_ARTIFACTS/two.txt && cat .lineshaft/session-lasting.json && echo",
				Attachments: []lineshaft.Attachment{{FileName: "more.txt", BlobID: "blob-2"}},
			},
			{FollowupID: "g", Message: "rm -r .lineshaft && mkdir .lineshaft && mkfifo .lineshaft/session-lasting.json"},
			{FollowupID: "h", Message: "cat .lineshaft/session-lasting.json && echo && echo three >$LINESHAFT_ARTIFACTS/three.txt"},
		}
		unlock()
		start(t, c, Config{Sandbox: s, Harnesses: harness.Set{Harnesses: []harness.Harness{lasting{}}, Default: "lasting"}})
		j := job("a", "cat event-payload.json && echo x >>event-payload.json && echo one >$LINESHAFT_ARTIFACTS/one.txt")
		j.Turn.Attachments = []lineshaft.Attachment{{FileName: "event-payload.json", BlobID: "blob-1", Size: 6}}
		c.jobs <- j
		for n := range 4 {
			if result := c.ended("a", n+1); result.State != lineshaft.Succeeded {
				t.Errorf("turn %d: %+v", n+1, result)
			}
		}
		if got := strings.Join(c.texts("a", lineshaft.EventOutput), ""); got != "first\nsecond\nturn turn \nturn \n" {
			t.Errorf("said %q", got)
		}
		uploads := strings.Join(c.uploads("a"), "\n")
		for _, name := range []string{"one.txt", "two.txt", "three.txt"} {
			if !strings.Contains(uploads, name) {
				t.Errorf("%s is not kept: %s", name, uploads)
			}
		}
	})
}
