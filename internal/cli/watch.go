package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) watchCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Watch runs on the whole terminal, live; steer them with single keys",
		Long: "Show runs on the whole terminal and keep them up to date. Enter opens one with its log, ? shows\n" +
			"all keys and q ends. It takes the filters of `lineshaft runs list`.\n\n" +
			"With --output ndjson it needs no terminal: each change of a state is a line of JSON, from now on.",
		Args: needs(0, 0, ""),
		Example: example(
			"lineshaft runs watch", "all runs, the newest change first",
			"lineshaft runs watch --factory shop --state blocked", "what waits for an answer",
			"lineshaft runs watch -o ndjson --state failed", "a line for each run that fails, for programs",
		),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(sh); err != nil {
				return err
			}
			return sh.watch(cmd.Context(), f)
		},
	}
	f.filters(cmd)
	cmd.Flags().IntVar(&f.query.Limit, "limit", 100, "`NUMBER` of runs, 1 to 500")
	return cmd
}

func (sh *shell) watch(ctx context.Context, f listFlags) error {
	if sh.forPeople() && !sh.onTerminal() {
		return usage("`lineshaft runs watch` draws on a terminal, and this is none", "Use `lineshaft runs list`, or `lineshaft runs watch --output ndjson` for a line of JSON for each change.")
	}
	if sh.forPeople() {
		// It shows itself that the connection is gone, so nothing must hide it.
		sh.deps.clientOptions = append(sh.deps.clientOptions, client.WithStreamRetries(0), client.WithMaxRetries(0))
	}
	c, err := sh.connect(ctx)
	if err != nil {
		return err
	}
	if f.query.FactoryUIDs, err = sh.factoryUIDs(ctx, c, f.factories); err != nil {
		return err
	}
	if sh.forPeople() {
		return sh.watchScreen(ctx, c, f.query)
	}
	show := sh.eventPrinter("", false)
	for change, err := range c.Runs.StreamStates(ctx, f.query) {
		if err == nil {
			err = show(&change.Event)
		}
		if ctx.Err() != nil {
			return nil // being stopped is how it ends
		}
		if err != nil {
			return err
		}
	}
	return nil
}
