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
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			return sh.each(cmd.Context(), args, e.done, func(ctx context.Context, id string) error { return e.do(ctx, c, id) })
		}),
	}
}

// each does one thing to several ids, tells how each went, and fails if one did. The end
// only counts what failed where the failures have been told one by one.
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
	if len(ids) == 1 || len(failed) == 0 {
		return errors.Join(failed...)
	}
	were := "were"
	if len(failed) == 1 {
		were = "was"
	}
	out := &hintError{code: sh.explain(failed[0]).code, cause: errors.Join(failed...), message: fmt.Sprintf("%d of %d %s not %s", len(failed), len(ids), were, done)}
	var hints []string
	for _, err := range failed {
		if hint := sh.explain(err).hint; hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	out.hint = strings.Join(hints, "\n")
	return out
}
