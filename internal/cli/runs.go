package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

const runIDs = "a run id (`lineshaft runs list` shows them)"

func (sh *shell) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "runs",
		Aliases: []string{"tasks"},
		Short:   "List, read and steer runs",
		Example: example(
			"lineshaft runs list", "what happened lately",
			"lineshaft runs logs -f RUN_ID", "watch one",
			`lineshaft runs followup RUN_ID "Now add a test"`, "continue one",
		),
	}
	cmd.AddCommand(
		sh.listCommand(), sh.getCommand(), sh.logsCommand(), sh.followupCommand(), sh.rerunCommand(), sh.openCommand(),
		sh.cancelCommand(), sh.interruptCommand(), sh.deleteCommand(),
	)
	group(cmd)
	return cmd
}

func (sh *shell) getCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "get RUN_ID",
		Short:   "Show one run in full",
		Args:    needs(1, 1, runIDs),
		Example: example("lineshaft runs get RUN_ID", "state, times, settings, prompt", "lineshaft runs get RUN_ID -o json", "everything the server knows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.connect()
			if err != nil {
				return err
			}
			run, err := c.Runs.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return sh.document(run.RawJSON())
			}
			sh.showRun(run)
			return nil
		},
	}
}

func (sh *shell) logsCommand() *cobra.Command {
	var follow bool
	var after int64
	cmd := &cobra.Command{
		Use:   "logs RUN_ID",
		Short: "Show what the agent said and did",
		Args:  needs(1, 1, runIDs),
		Example: example(
			"lineshaft runs logs RUN_ID", "the log so far",
			"lineshaft runs logs -f RUN_ID", "stay until the run has ended",
			"lineshaft runs logs RUN_ID -o ndjson", "each event as a line of JSON",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if after < 0 {
				return usage("--after cannot be negative", "Give the number of the last event you have seen.")
			}
			c, err := sh.connect()
			if err != nil {
				return err
			}
			return sh.logs(cmd.Context(), c, args[0], after, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "stay until the run has ended")
	cmd.Flags().Int64Var(&after, "after", 0, "leave out events up to this `NUMBER`")
	return cmd
}

func (sh *shell) logs(ctx context.Context, c *client.Client, runID string, after int64, follow bool) error {
	if follow {
		run, err := sh.follow(ctx, c, runID, after)
		if err != nil {
			return sh.left(ctx, runID, err)
		}
		if sh.forPeople() {
			sh.verdict(run)
		}
		return nil
	}
	events := []json.RawMessage{}
	show := sh.eventPrinter(runID, false)
	for event, err := range c.Runs.AllEvents(ctx, runID, client.EventQuery{After: after}) {
		if err != nil {
			return err
		}
		if sh.format == formatJSON || sh.format == formatYAML {
			events = append(events, event.RawJSON())
			continue
		}
		if err := show(&event); err != nil {
			return err
		}
	}
	if sh.format == formatJSON || sh.format == formatYAML {
		return sh.document(map[string]any{"events": events})
	}
	return nil
}

func (sh *shell) cancelCommand() *cobra.Command {
	var cascade bool
	cmd := sh.eachRun(eachRun{
		use: "cancel RUN_ID...", short: "Stop runs", done: "cancelled",
		example: example("lineshaft runs cancel RUN_ID", "stop it now", "lineshaft runs cancel RUN_ID --cascade", "and all runs that it started"),
		do: func(ctx context.Context, c *client.Client, id string) error {
			if cascade {
				return c.Runs.CancelCascade(ctx, id)
			}
			return c.Runs.Cancel(ctx, id)
		},
	})
	cmd.Flags().BoolVar(&cascade, "cascade", false, "also stop the runs that it started")
	return cmd
}

func (sh *shell) interruptCommand() *cobra.Command {
	return sh.eachRun(eachRun{
		use: "interrupt RUN_ID...", short: "Stop what the agent does now; the run goes on", done: "interrupted",
		example: example("lineshaft runs interrupt RUN_ID", "then tell it what to do with `runs followup`"),
		do:      func(ctx context.Context, c *client.Client, id string) error { return c.Runs.Interrupt(ctx, id) },
	})
}

func (sh *shell) deleteCommand() *cobra.Command {
	return sh.eachRun(eachRun{
		use: "delete RUN_ID...", short: "Delete ended runs and their logs for good", done: "deleted",
		example: example("lineshaft runs delete RUN_ID", "cancel it first if it still works"),
		do:      func(ctx context.Context, c *client.Client, id string) error { return c.Runs.Delete(ctx, id) },
	})
}

// eachRun is a command that does one thing to each of several runs.
type eachRun struct {
	use, short, done, example string
	do                        func(ctx context.Context, c *client.Client, id string) error
}

func (sh *shell) eachRun(e eachRun) *cobra.Command {
	return &cobra.Command{
		Use: e.use, Short: e.short, Example: e.example, Args: needs(1, -1, runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.connect()
			if err != nil {
				return err
			}
			return sh.each(cmd.Context(), args, e.done, func(ctx context.Context, id string) error { return e.do(ctx, c, id) })
		},
	}
}

// each does one thing to several ids, tells how each went, and fails if one did.
func (sh *shell) each(ctx context.Context, ids []string, done string, do func(context.Context, string) error) error {
	type outcome struct {
		ID     string `json:"id"`
		Result string `json:"result"`
	}
	outcomes := []outcome{}
	var failed []error
	for _, id := range ids {
		if err := do(ctx, id); err != nil {
			failed = append(failed, err)
			if len(ids) > 1 {
				fmt.Fprintf(sh.err, "%s: %s\n", clean(id), clean(sh.explain(err).message))
			}
			continue
		}
		outcomes = append(outcomes, outcome{id, done})
		if sh.forPeople() {
			fmt.Fprintf(sh.out, "%s %s\n", done, clean(id))
		}
	}
	if !sh.forPeople() {
		if err := documents(sh, outcomes, outcomes); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}
