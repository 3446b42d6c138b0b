package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// Attend says how long a command stays with a run that it started or continued.
type Attend struct {
	Wait   bool
	Follow bool
	// answered is a run as it was when it was blocked, before it got its answer.
	answered *client.Run
}

// Flags adds --wait and --follow.
func (a *Attend) Flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.Wait, "wait", "w", false, "wait until the run has ended; exit 1 unless it succeeded")
	cmd.Flags().BoolVarP(&a.Follow, "follow", "f", false, "show what the agent does; otherwise like --wait")
}

// Stay waits for or follows a run, after the given event, and fails unless it succeeds.
func (sh Commands) Stay(ctx context.Context, c *client.Client, runID string, after int64, a Attend) error {
	var run *client.Run
	var err error
	switch {
	case sh.OnTerminal():
		run, err = sh.followLive(ctx, c, runID, after, !a.Follow)
	case a.Follow:
		if seen, err := c.Runs.Get(ctx, runID); err == nil { // else the stream says what is wrong
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
		return sh.Left(ctx, runID, err)
	}
	switch {
	case sh.OnTerminal(): // it has shown the end itself
	case sh.ForPeople():
		sh.verdict(run)
	case !a.Follow:
		if err := sh.Document(run.RawJSON()); err != nil {
			return err
		}
	}
	if run.State != client.StateSucceeded {
		return shell.ErrTold
	}
	return nil
}

// news leaves out that a run is still seen waiting for what it was just answered.
func (a *Attend) news(tell func(*client.Run)) func(*client.Run) {
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
func (sh Commands) follow(ctx context.Context, c *client.Client, runID string, after int64) (*client.Run, error) {
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
// lastWord, the caller says how the run ended.
func (sh Commands) eventPrinter(runID string, lastWord bool) func(*client.Event) error {
	if sh.ForPeople() {
		r := &renderer{sh: sh, runID: runID, lastWord: lastWord}
		return r.event
	}
	first := true
	return func(e *client.Event) error {
		if sh.Format == shell.FormatYAML && !first {
			fmt.Fprintln(sh.Out, "---")
		}
		first = false
		if sh.Format == shell.FormatJSON {
			// A stream has no end to close a list with: one line for each.
			_, err := fmt.Fprintf(sh.Out, "%s\n", e.RawJSON())
			return err
		}
		return sh.Document(e.RawJSON())
	}
}

// progress shows a person at a terminal the state of a run that is waited for. Everyone
// learns that it waits for an answer: otherwise they would wait for nothing.
func (sh Commands) progress(run *client.Run) {
	if run.State.Terminal() || sh.ErrWidth == 0 && run.State != client.StateBlocked {
		return
	}
	r := &renderer{sh: sh, runID: run.RunID}
	r.state(client.StateData{To: run.State, Message: reasonOf(run)})
}

// tellHost says which worker a queued run waits for, and how to start one that is not
// connected: otherwise you would wait for nothing, and not know it.
func (sh Commands) tellHost(ctx context.Context, c *client.Client, run *client.Run) {
	if run.State != client.StateQueued || run.AgentConfig == nil || sh.tellAbsent(ctx, c, run) {
		return
	}
	if host := run.AgentConfig.WorkerHost; namedWorker(host) {
		fmt.Fprintln(sh.Err, sh.Paint(sh.ErrWidth, shell.StyleWait, "-- it waits for worker "+shell.OneLine(host)))
	}
}

// tellAbsent says that the worker of a queued run is not connected, if that is so.
func (sh Commands) tellAbsent(ctx context.Context, c *client.Client, run *client.Run) bool {
	if run.State != client.StateQueued || run.AgentConfig == nil || run.AgentConfig.WorkerHost == "" ||
		sh.connected(ctx, c, run.AgentConfig.WorkerHost) {
		return false
	}
	fmt.Fprintln(sh.Err, sh.Paint(sh.ErrWidth, shell.StyleWait, "-- it waits for "+absentWorker(run.AgentConfig.WorkerHost)))
	return true
}

// connected says whether a worker is connected; one that cannot be asked about counts as such.
func (sh Commands) connected(ctx context.Context, c *client.Client, host string) bool {
	list, err := c.Workers(ctx)
	return err != nil || slices.ContainsFunc(list, func(w client.Worker) bool { return w.WorkerHost == host })
}

// absentWorker says how to start a worker that is not connected, and what that takes.
func absentWorker(host string) string {
	if !namedWorker(host) {
		return "the server's own worker, which is not connected; start the server without --no-worker, " +
			"or give --host one that `lineshaft worker list` shows"
	}
	host = shell.OneLine(host)
	return "worker " + host + ", which is not connected (`lineshaft worker list` shows those that are); " +
		"start it with an API key that has the role worker: lineshaft worker --id " + shell.ShellWord(host)
}

// verdict is the last line: the state, and why.
func (sh Commands) verdict(run *client.Run) {
	line := sh.Paint(sh.OutWidth, stateStyle(run.State), string(run.State))
	if text := reasonOf(run); text != "" {
		line += ": " + shell.OneLine(text)
	}
	fmt.Fprintln(sh.Out, line)
}

// Left explains what an interrupted command leaves behind.
func (sh Commands) Left(ctx context.Context, runID string, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Fprintln(sh.Err, strings.Join([]string{
		"", "The run continues without you.",
		"  watch it again:  lineshaft runs logs -f " + runID,
		"  cancel it:       lineshaft runs cancel " + runID,
	}, "\n"))
	return shell.ErrTold
}

func (sh Commands) logsCommand() *cobra.Command {
	var follow bool
	var after int64
	cmd := &cobra.Command{
		Use:   "logs RUN_ID",
		Short: "Show what the agent said and did",
		Args:  shell.Needs(1, 1, runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if after < 0 {
				return shell.Usage("--after cannot be negative", "Give the number of the last event you have seen.")
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return sh.logs(cmd.Context(), c, args[0], after, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait until the run has ended")
	cmd.Flags().Int64Var(&after, "after", 0, "skip events up to this `NUMBER`")
	return cmd
}

func (sh Commands) logs(ctx context.Context, c *client.Client, runID string, after int64, follow bool) error {
	if follow && sh.OnTerminal() {
		_, err := sh.followLive(ctx, c, runID, after, false)
		return sh.Left(ctx, runID, err)
	}
	if follow {
		run, err := sh.follow(ctx, c, runID, after)
		if err != nil {
			return sh.Left(ctx, runID, err)
		}
		if sh.ForPeople() {
			sh.verdict(run)
		}
		return nil
	}
	events := []json.RawMessage{}
	show, end := sh.eventPrinter(runID, false), func() error { return nil }
	if sh.OnTerminal() {
		show, end = sh.sessionPrinter(runID)
	}
	for event, err := range c.Runs.AllEvents(ctx, runID, client.EventQuery{After: after}) {
		if err != nil {
			return err
		}
		if sh.Format == shell.FormatJSON || sh.Format == shell.FormatYAML {
			events = append(events, event.RawJSON())
			continue
		}
		if err := show(&event); err != nil {
			return err
		}
	}
	if sh.Format == shell.FormatJSON || sh.Format == shell.FormatYAML {
		return sh.Document(map[string]any{"events": events})
	}
	return end()
}

// sessionPrinter prints events on a terminal; end prints what waits for more.
func (sh Commands) sessionPrinter(runID string) (show func(*client.Event) error, end func() error) {
	s := newSession(runID, sh.OutWidth, sh.Colours())
	region := terminal.NewRegion(sh.Out, sh.Colours())
	write := func() error { return region.Update(sh.OutWidth, s.take(), nil) }
	show = func(e *client.Event) error {
		if err := s.event(e); err != nil {
			return err
		}
		return write()
	}
	return show, func() error {
		s.settle(notEnded)
		return write()
	}
}
