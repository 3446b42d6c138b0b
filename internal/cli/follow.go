package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// attend says how long a command stays with a run that it started or continued.
type attend struct {
	wait   bool
	follow bool
	// answered is a run as it was when it was blocked, before it got its answer.
	answered *client.Run
}

func (a *attend) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.wait, "wait", "w", false, "stay until the run has ended; exit 1 unless it succeeded")
	cmd.Flags().BoolVarP(&a.follow, "follow", "f", false, "show what the agent does; otherwise like --wait")
}

// stay waits for or follows a run, after the given event, and fails unless it succeeds.
func (sh *shell) stay(ctx context.Context, c *client.Client, runID string, after int64, a attend) error {
	var run *client.Run
	var err error
	switch {
	case sh.onTerminal():
		run, err = sh.followLive(ctx, c, runID, after, !a.follow)
	case a.follow:
		if seen, err := c.Runs.Get(ctx, runID); err == nil { // else the stream tells what is wrong
			sh.tellHost(ctx, c, seen)
		}
		run, err = sh.follow(ctx, c, runID, after)
	default:
		run, err = c.Runs.Wait(ctx, runID, client.WaitOptions{OnChange: a.news(func(run *client.Run) {
			sh.progress(run)
			sh.tellHost(ctx, c, run)
		})})
	}
	if err != nil {
		return sh.left(ctx, runID, err)
	}
	switch {
	case sh.onTerminal(): // it told the end itself
	case sh.forPeople():
		sh.verdict(run)
	case !a.follow:
		if err := sh.document(run.RawJSON()); err != nil {
			return err
		}
	}
	if run.State != client.StateSucceeded {
		return errTold
	}
	return nil
}

// news leaves out that a run is still seen waiting for what it was just answered.
func (a *attend) news(tell func(*client.Run)) func(*client.Run) {
	first := true
	return func(run *client.Run) {
		same := first && a.answered != nil && run.State == a.answered.State && reasonOf(run) == reasonOf(a.answered)
		first = false
		if !same {
			tell(run)
		}
	}
}

func reasonOf(run *client.Run) string {
	if run.StatusMessage == nil {
		return ""
	}
	return run.StatusMessage.Message
}

// follow shows a run's log to its end and returns how the run ended.
func (sh *shell) follow(ctx context.Context, c *client.Client, runID string, after int64) (*client.Run, error) {
	show := sh.eventPrinter(runID, true)
	for event, err := range c.Runs.Stream(ctx, runID, after) {
		if err == nil {
			err = show(&event)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.Runs.Get(ctx, runID)
}

// eventPrinter prints events as they come: for people, or a document each. With
// lastWord, the caller tells how the run ended.
func (sh *shell) eventPrinter(runID string, lastWord bool) func(*client.Event) error {
	if sh.forPeople() {
		r := &renderer{sh: sh, runID: runID, lastWord: lastWord}
		return r.event
	}
	first := true
	return func(e *client.Event) error {
		if sh.format == formatYAML && !first {
			fmt.Fprintln(sh.out, "---")
		}
		first = false
		if sh.format == formatJSON {
			// A stream has no end to close a list with: one line for each.
			_, err := fmt.Fprintf(sh.out, "%s\n", e.RawJSON())
			return err
		}
		return sh.document(e.RawJSON())
	}
}

// progress tells a person at a terminal how a run that is waited for gets on. That
// it waits for an answer is told to everyone: else it would be waited for in vain.
func (sh *shell) progress(run *client.Run) {
	if run.State.Terminal() || sh.errWidth == 0 && run.State != client.StateBlocked {
		return
	}
	r := &renderer{sh: sh, runID: run.RunID}
	r.state(client.StateData{To: run.State, Message: reasonOf(run)})
}

// tellHost says which worker a queued run waits for, and how to start one that is not
// there: else it would be waited for in vain, and nobody told.
func (sh *shell) tellHost(ctx context.Context, c *client.Client, run *client.Run) {
	if run.State != client.StateQueued || run.AgentConfig == nil || !namedWorker(run.AgentConfig.WorkerHost) {
		return
	}
	host := oneLine(run.AgentConfig.WorkerHost)
	text := "-- it waits for worker " + host
	if !sh.connected(ctx, c, run.AgentConfig.WorkerHost) {
		text = "-- it waits for worker " + startWorker(host)
	}
	fmt.Fprintln(sh.err, sh.paint(sh.errWidth, styleWait, text))
}

// connected says whether a worker is there; one that cannot be asked about counts as such.
func (sh *shell) connected(ctx context.Context, c *client.Client, host string) bool {
	list, err := c.Workers(ctx)
	return err != nil || slices.ContainsFunc(list, func(w client.Worker) bool { return w.WorkerHost == host })
}

// startWorker says how to start a worker that is not there, and what that takes.
func startWorker(host string) string {
	return oneLine(host) + ", which is not connected; start it with an API key of role worker: lineshaft worker --id " + shellWord(oneLine(host))
}

// verdict is the last line: the state, and why.
func (sh *shell) verdict(run *client.Run) {
	line := sh.paint(sh.outWidth, stateStyle(run.State), string(run.State))
	if text := reasonOf(run); text != "" {
		line += ": " + oneLine(text)
	}
	fmt.Fprintln(sh.out, line)
}

// left explains what an interrupted command leaves behind.
func (sh *shell) left(ctx context.Context, runID string, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Fprintln(sh.err, strings.Join([]string{
		"", "The run goes on without you.",
		"  watch it again:  lineshaft runs logs -f " + runID,
		"  cancel it:       lineshaft runs cancel " + runID,
	}, "\n"))
	return errTold
}
