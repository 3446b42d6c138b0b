package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/worker"
)

const (
	// settle is how long the server is left alone before and after a request, so
	// that it is idle and nothing but the start is measured.
	settle = 250 * time.Millisecond
	// runWithin bounds one run.
	runWithin = 30 * time.Second
	// feedWithin is what the worker gives to the supervisor: two thirds of the lease.
	feedWithin = 20 * time.Second

	startPrompt = "Tell the time."
)

// clockCommand is the agent: it prints the moment at which it runs, in nanoseconds.
func clockCommand() []string { return []string{"date", "+%s%N"} }

// startLoad starts agents through a server and without one.
type startLoad struct {
	order   startsOrder
	client  *client.Client
	sandbox sandbox.Sandbox
	starts  int
}

// newStartLoad takes the sandbox that the server takes: bubblewrap where it works.
func newStartLoad(ctx context.Context, order startsOrder) (*startLoad, error) {
	c, err := newClient(order.URL)
	if err != nil {
		return nil, err
	}
	options := sandbox.Options{Supervisor: order.Supervisor, Hide: []string{order.DataDir}}
	load := &startLoad{order: order, client: c, sandbox: sandbox.NewBubblewrap(options)}
	if load.sandbox.Check(ctx) != nil {
		load.sandbox = sandbox.NewNone(options)
	}
	return load, nil
}

// through starts one agent by a request to the server.
func (l *startLoad) through(ctx context.Context) (sample startSample, err error) {
	ctx, cancel := context.WithTimeout(ctx, runWithin)
	defer cancel()
	sample.Sent = time.Now()
	started, err := l.client.Runs.Create(ctx, client.RunRequest{
		Prompt: startPrompt, Config: &client.AgentConfig{Harness: &client.Harness{Type: "command", Command: clockCommand()}},
	})
	if err != nil {
		return sample, fmt.Errorf("create run: %w", err)
	}
	sample.Answered = time.Now()
	if !pause.For(ctx, settle) { // reading the log at once would disturb what is measured
		return sample, ctx.Err()
	}
	var printed strings.Builder
	for event, err := range l.client.Runs.Stream(ctx, started.RunID, 0) {
		if err == nil {
			err = sample.take(event, &printed)
		}
		if err != nil {
			return sample, fmt.Errorf("follow run %s: %w", started.RunID, err)
		}
	}
	sample.Running, err = readClock(printed.String())
	return sample, err
}

// take notes what an event reports.
func (t *startSample) take(event client.Event, printed *strings.Builder) error {
	switch event.Type {
	case client.EventState:
		var data client.StateData
		if err := event.Decode(&data); err != nil {
			return err
		}
		switch data.To {
		case client.StateQueued:
			t.Queued = event.Time
		case client.StateClaimed:
			t.Claimed = event.Time
		case client.StateFailed, client.StateError, client.StateCancelled:
			return fmt.Errorf("the run ended as %s: %s", data.To, data.Message)
		default: // not measured
		}
	case client.EventOutput:
		var data client.OutputData
		if err := event.Decode(&data); err != nil {
			return err
		}
		printed.WriteString(data.Text)
	default: // nothing about the start
	}
	return nil
}

// direct starts the same process in the same sandbox, with what the worker would
// have given it.
func (l *startLoad) direct(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, runWithin)
	defer cancel()
	l.starts++
	dir := filepath.Join(l.order.Dir, strconv.Itoa(l.starts))
	if err := os.MkdirAll(filepath.Join(dir, ".lineshaft", "artifacts"), 0o700); err != nil {
		return 0, fmt.Errorf("make workspace: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".lineshaft", "prompt.md"), []byte(startPrompt), 0o600); err != nil {
		return 0, fmt.Errorf("make workspace: %w", err)
	}
	home := l.sandbox.Guest(dir, ".")
	var printed bytes.Buffer
	sent := time.Now()
	p, err := l.sandbox.Start(ctx, sandbox.Spec{
		Dir: dir, Command: clockCommand(), FeedWithin: feedWithin, Stdin: strings.NewReader(startPrompt), Stdout: &printed,
		Env: []string{
			"PATH=" + worker.DefaultPath, "LANG=C.UTF-8", "HOME=" + home, "LINESHAFT_WORKSPACE=" + home, "LINESHAFT_ARTIFACTS=" + home + "/.lineshaft/artifacts",
			"LINESHAFT_RUN_ID=01900000-0000-7000-8000-000000000000", "LINESHAFT_RUN_TOKEN=none", "LINESHAFT_API_URL=" + l.order.URL,
			"LINESHAFT_PROMPT=" + startPrompt, "LINESHAFT_PROMPT_FILE=" + home + "/.lineshaft/prompt.md",
		},
	})
	if err != nil {
		return 0, fmt.Errorf("start directly: %w", err)
	}
	exit, err := p.Wait()
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("it ended with code %d", exit.Code)
	}
	if err != nil {
		return 0, fmt.Errorf("start directly: %w", err)
	}
	running, err := readClock(printed.String())
	if err != nil {
		return 0, err
	}
	return running.Sub(sent), os.RemoveAll(dir)
}

// readClock reads what the agent printed.
func readClock(printed string) (time.Time, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(printed), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the agent's clock: %w", err)
	}
	return time.Unix(0, n), nil
}
