package cli

import (
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
		sh.listCommand(), sh.watchCommand(), sh.getCommand(), sh.logsCommand(), sh.followupCommand(), sh.rerunCommand(), sh.openCommand(),
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
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			run, err := c.Runs.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return sh.document(run.RawJSON())
			}
			sh.showRun(run)
			return nil
		}),
	}
}
